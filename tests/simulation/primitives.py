"""What the controller's modules use of the system, in virtual time: threads, locks, clocks, processes, descriptors."""

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future
from contextlib import contextmanager, nullcontext
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.simulation.virtual_time import SECOND_NS, Scheduler, Task


def _ns(timeout_s: float | None) -> int | None:
    return None if timeout_s is None else round(timeout_s * SECOND_NS)


class Lock:
    """A lock; taking it is a point at which another thread may come first."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_held = False
        self._waiting: list[Task] = []

    def __enter__(self) -> "Lock":
        self._scheduler.pause()
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self) -> None:
        while self._is_held:
            self._waiting.append(self._scheduler.current())
            self._scheduler.block()
        self._is_held = True

    def release(self) -> None:
        self._is_held = False
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            self._scheduler.wake(task)


class Condition(Lock):
    """A condition with a lock of its own."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._notified: list[Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        task = self._scheduler.current()
        self._notified.append(task)
        self.release()
        try:
            return self._scheduler.block(_ns(timeout))
        finally:
            if task in self._notified:
                self._notified.remove(task)
            self.acquire()

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        assert timeout is None
        while not predicate():
            self.wait()
        return True

    def notify_all(self) -> None:
        notified, self._notified = self._notified, []
        for task in notified:
            self._scheduler.wake(task)


class Event(Condition):
    """A flag that others wait for."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        end_ns = None if timeout is None else self._scheduler.now_ns + round(timeout * SECOND_NS)
        while not self._is_set and (end_ns is None or self._scheduler.now_ns < end_ns):
            task = self._scheduler.current()
            self._notified.append(task)
            self._scheduler.block(None if end_ns is None else end_ns - self._scheduler.now_ns)
            if task in self._notified:
                self._notified.remove(task)
        return self._is_set


class Thread:
    """A thread that is a task."""

    def __init__(self, scheduler: Scheduler, target: Callable[[], None], name: str) -> None:
        self._scheduler = scheduler
        self._target, self._name = target, name
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._scheduler.spawn(self._name, self._target)

    def join(self, timeout: float | None = None) -> None:
        assert self._task is not None
        self._scheduler.join(self._task, _ns(timeout))


class Executor:
    """A pool with a thread for every call."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._tasks: list[Task] = []

    def submit(self, call: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(call(*arguments))
            except Exception as error:
                future.set_exception(error)

        self._tasks.append(self._scheduler.spawn(f"collect-{len(self._tasks)}", run))
        return future

    def shutdown(self, *, wait: bool = True, cancel_futures: bool = False) -> None:  # noqa: ARG002 - all have begun
        if wait:
            for task in self._tasks:
                self._scheduler.join(task, None)


class DoneAndNotDone(NamedTuple):
    """What `concurrent.futures.wait` returns."""

    done: set[Any]
    not_done: set[Any]


def wait_for_futures(
    scheduler: Scheduler, futures: Any, timeout: float | None = None, return_when: str = ""
) -> DoneAndNotDone:
    """As `concurrent.futures.wait`."""
    futures = set(futures)
    task = scheduler.current()

    def is_over() -> bool:
        failed = return_when == FIRST_EXCEPTION and any(future.done() and future.exception() for future in futures)
        return failed or all(future.done() for future in futures)

    waiting = [task]

    def wake(_: object) -> None:
        for found in waiting:
            scheduler.wake(found)

    for future in futures:
        future.add_done_callback(wake)
    end_ns = None if timeout is None else scheduler.now_ns + round(timeout * SECOND_NS)
    try:
        while not is_over() and (end_ns is None or scheduler.now_ns < end_ns):
            scheduler.block(None if end_ns is None else end_ns - scheduler.now_ns)
    finally:
        waiting.clear()
    done = {future for future in futures if future.done()}
    return DoneAndNotDone(done, futures - done)


class SystemCalls:
    """The module `os` as the controller's modules see it."""

    def __init__(self, processes: Any) -> None:
        self._processes = processes

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def readv(self, descriptor: int, buffers: list[Any]) -> int:
        data = self._processes.at(descriptor).read(len(buffers[0]))
        memoryview(buffers[0])[: len(data)] = data
        return len(data)

    def waitid(self, _kind: int, pid: int, _options: int) -> object | None:
        stopped: object | None = self._processes.stopped(pid)
        return stopped


class Poll:
    """A `select.poll` object for one descriptor."""

    def __init__(self, processes: Any) -> None:
        self._processes = processes
        self._descriptor = -1

    def register(self, descriptor: int, _events: int) -> None:
        self._descriptor = descriptor

    def poll(self, timeout_ms: float) -> list[int]:
        is_readable = self._processes.at(self._descriptor).wait_readable(round(timeout_ms * 1_000_000))
        return [self._descriptor] if is_readable else []


@contextmanager
def in_virtual_time(scheduler: Scheduler, processes: Any, **scaled: Any) -> Iterator[None]:
    """Has the controller's modules run on the scheduler, and start their agents as simulated processes.

    `scaled` are limits of the inbox, smaller than real ones, so that little data reaches them.
    """
    run = "whyperf.run."
    time = SimpleNamespace(
        monotonic=lambda: scheduler.now_ns / SECOND_NS,
        monotonic_ns=lambda: scheduler.now_ns,
        sleep=lambda seconds: scheduler.block(_ns(seconds)),
    )
    threads = SimpleNamespace(
        Lock=lambda: Lock(scheduler),
        Condition=lambda: Condition(scheduler),
        Thread=lambda target, name, daemon: Thread(scheduler, target, name),  # noqa: ARG005 - as the real one
    )
    started = SimpleNamespace(Popen=processes.start, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired)
    system = SystemCalls(processes)
    tokens = Random(scheduler.random.random())
    replaced: dict[str, Any] = {
        "agents.agent.threading": threads,
        "agents.agent.time": time,
        "agents.agent.subprocess": started,
        "agents.agent.os": system,
        "agents.agent.entrance": lambda _: nullcontext(),
        "agents.inbox.threading": threads,
        "agents.inbox.time": time,
        "agents.pulse.time": time,
        "agents.received.time": time,
        "agents.pulse.os": system,
        "agents.pulse.select": SimpleNamespace(poll=lambda: Poll(processes), POLLIN=1),
        "agents.pipes.local": lambda netns=None: ["agent", *([netns] if netns else [])],
        "agents.pipes.ssh": lambda host, netns=None: ["ssh", host, *([netns] if netns else [])],
        "agents.pipes.address_of": lambda host, _version: processes.address_of(host),
        "summed_progress.Lock": threads.Lock,
        "trial.time": time,
        "trial.ThreadPoolExecutor": lambda _: Executor(scheduler),
        "trial.wait": lambda *arguments, **options: wait_for_futures(scheduler, *arguments, **options),
        "experiment.time": time,
        "session.clean": lambda: None,
        "spec.secrets": SimpleNamespace(token_hex=lambda count: tokens.randbytes(count).hex()),
        **scaled,
    }
    patches = [patch(run + name, value) for name, value in replaced.items()]
    for entered in patches:
        entered.start()
    try:
        yield
    finally:
        for entered in reversed(patches):
            entered.stop()
