"""Results come in the order of the tasks, and only so many tasks are under way."""

import random
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from whyperf.cluster.workers import TASKS_PER_THREAD, Workers
from whyperf.run.errors import RunError

THREADS = 3


class FakeFuture:
    """A task that is done after some looks at it."""

    def __init__(self, value: int, looks: float, error: BaseException | None = None) -> None:
        self.value = value
        self._looks = looks
        self._error = error

    def result(self, timeout: float) -> int:
        assert timeout > 0
        if self._looks > 0:
            self._looks -= 1
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self.value


class FakeClient:
    """A scheduler with workers that finish in any order, or not at all."""

    status = "running"

    def __init__(self, looks: Iterator[float], threads: int = THREADS, error: BaseException | None = None) -> None:
        self._looks = looks
        self._error = error
        self.threads = threads
        self.submitted = 0
        self.cancelled: list[FakeFuture] = []

    def nthreads(self) -> dict[str, int]:
        return {"tcp://w:1": self.threads} if self.threads else {}

    def submit(self, _run: Any, _versions: Any, _function: Any, task: tuple[int], *, pure: bool) -> FakeFuture:
        assert not pure
        self.submitted += 1
        return FakeFuture(task[0], next(self._looks), self._error)

    def cancel(self, futures: list[FakeFuture], **_: Any) -> None:
        self.cancelled += futures


def workers_of(client: FakeClient) -> Workers:
    return Workers(client, "tcp://head:1")  # type: ignore[arg-type]


def test_results_are_in_the_order_of_the_tasks_and_tasks_are_taken_as_needed() -> None:
    random_looks = random.Random(3)
    client = FakeClient(iter(lambda: random_looks.randrange(3), None))
    taken = 0
    for result in workers_of(client).in_order(abs, ((number,) for number in range(100))):
        assert result == taken
        taken += 1
        assert client.submitted <= taken - 1 + TASKS_PER_THREAD * THREADS
    assert (taken, client.submitted, client.cancelled) == (100, 100, [])


def test_what_was_submitted_is_cancelled_where_nobody_waits_for_it_any_more() -> None:
    client = FakeClient(iter(lambda: 0, None))
    results = workers_of(client).in_order(abs, ((number,) for number in range(100)))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert [future.value for future in client.cancelled] == list(range(TASKS_PER_THREAD * THREADS))


def test_workers_that_are_all_gone_for_long_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr("whyperf.cluster.workers.time.monotonic", lambda: next(now))
    client = FakeClient(iter(lambda: float("inf"), None), threads=0)
    with pytest.raises(RunError, match="tcp://head:1 has had no worker for 60 s; start some"):
        list(workers_of(client).in_order(abs, [(1,)]))
    # Looked at every ten seconds: no sooner, no later.
    assert next(now) == 80


def test_a_scheduler_that_is_gone_is_named() -> None:
    gone = FakeClient(iter(lambda: 0, None), error=CancelledError())
    silent = FakeClient(iter(lambda: float("inf"), None))
    silent.status = "closed"
    for client in (gone, silent):
        with pytest.raises(RunError, match="the connection to tcp://head:1 is lost"):
            list(workers_of(client).in_order(abs, [(1,)]))


def test_a_worker_without_whyperf_is_named() -> None:
    client = FakeClient(iter(lambda: 0, None), error=ModuleNotFoundError("no", name="whyperf"))
    with pytest.raises(RunError, match=r"a worker of tcp://head:1 cannot load whyperf; install whyperf\[cluster\] "):
        list(workers_of(client).in_order(abs, [(1,)]))
