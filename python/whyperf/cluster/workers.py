"""Tasks on the workers of a scheduler, and their results in the order of the tasks."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from whyperf.cluster.versions import own_versions, run_checked
from whyperf.run.errors import RunError

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

#: Tasks for each thread of the workers that are submitted and not yet taken: one runs, others wait or have finished
#: and wait for one before them. Their results stay in the memory of the workers.
TASKS_PER_THREAD = 4
#: So often a wait looks whether there are workers at all.
POLL_S = 2.0
#: After this time without any worker nothing is to be expected.
NO_WORKERS_S = 60.0


class Workers:
    """The workers behind a client. Use `connected`."""

    def __init__(self, client: "Client", where: str, *, can_wait: bool = False) -> None:
        """`where` names the scheduler in errors; with `can_wait` workers may come back after any time."""
        self._client = client
        self._where = where
        self._can_wait = can_wait

    def in_order(self, function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
        """The result of `function(*task)` for each task, in the order of the tasks.

        A task is repeated where its worker died. `function` and what it takes and returns must be picklable, and
        whyperf installed on the workers. Tasks are submitted as results are taken.

        Raises:
            RunError: from the function; or a worker has other versions, workers died again and again, or none is left.
        """
        waiting = iter(tasks)
        submitted: deque[Future[Result]] = deque()
        try:
            while True:
                room = TASKS_PER_THREAD * max(self._threads(), 1) - len(submitted)
                for task in islice(waiting, max(room, 0 if submitted else 1)):
                    submitted.append(self._submit(function, task))
                if not submitted:
                    return
                yield self._result(submitted[0])
                submitted.popleft()
        finally:
            # What nobody waits for any more, where the scheduler is still there to be asked.
            with suppress(Exception):
                self._client.cancel(list(submitted), asynchronous=False)

    def _submit(self, function: Callable[..., Result], task: tuple[Any, ...]) -> "Future[Result]":
        return self._client.submit(run_checked, dict(own_versions()), function, task, pure=False)

    def _threads(self) -> int:
        """Threads of all workers; 0 where there is none or the scheduler does not answer."""
        try:
            return sum(self._client.nthreads().values())
        except OSError:
            return 0

    def _result(self, future: "Future[Result]") -> Result:
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - loads for a second

        without_since: float | None = None
        while True:
            try:
                return future.result(timeout=POLL_S)
            except KilledWorker as error:
                died = error.allowed_failures + 1
                raise RunError(
                    f"{died} workers of {self._where} died one after the other while each ran the same task, the last "
                    f"at {error.last_worker.address}; see their logs: they may lack memory"
                ) from None
            except ModuleNotFoundError as error:
                raise RunError(
                    f"a worker of {self._where} cannot load {error.name}; install whyperf[cluster] "
                    f"{own_versions()['whyperf']} there"
                ) from None
            except CancelledError:
                raise RunError(
                    f"the connection to {self._where} is lost; run the same command again to resume"
                ) from None
            except TimeoutError:
                # No task raises one.
                without_since = self._watch(without_since)

    def _watch(self, without_since: float | None) -> float | None:
        """Since when there has been no worker; None where there is one.

        Raises:
            RunError: for too long.
        """
        if self._client.status not in {"running", "connecting"}:
            raise RunError(f"the connection to {self._where} is lost; run the same command again to resume")
        if self._threads():
            return None
        now = time.monotonic()
        if without_since is None or self._can_wait:
            return now
        if now - without_since > NO_WORKERS_S:
            raise RunError(
                f"{self._where} has had no worker for {NO_WORKERS_S:.0f} s; start some and run the command again"
            )
        return without_since
