"""Tasks in virtual time: one runs at a time, and a seed decides which one goes on.

The controller's threads are greenlets here. A greenlet runs until it blocks. Time passes only when all block, and then
it jumps to the next moment at which something is due.
"""

import heapq
from collections.abc import Callable
from random import Random
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

SECOND_NS = 1_000_000_000
#: More steps than any run needs.
_MAX_STEPS = 400_000


class StuckError(Exception):
    """Everybody waits and nothing is due, or nothing comes to an end."""


class Task:
    """A thread of the controller."""

    def __init__(self, name: str, run: Callable[[], Any], hub: greenlet) -> None:
        self.name = name
        self.is_done = False
        self.is_ready = False
        self.timed_out = False
        self.pending: BaseException | None = None
        self.error: BaseException | None = None
        self.joining: list[Task] = []
        self.greenlet = greenlet(self._run, hub)
        self._call = run
        self.wait_number = 0

    def _run(self) -> None:
        try:
            self._call()
        except GreenletExit:
            pass
        except BaseException as error:
            self.error = error


class Scheduler:
    """Runs tasks and timers. `trace` has a line for each thing that happened; the same seed gives the same lines."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.now_ns = 1000 * SECOND_NS
        self.trace: list[str] = []
        self.tasks: list[Task] = []
        #: Until when the process of the tasks is stopped.
        self.stopped_until_ns = 0
        self.on_step: Callable[[], None] = lambda: None
        self._ready: list[Task] = []
        self._timers: list[tuple[int, float, int, Callable[[], None]]] = []
        self._number = 0
        self._hub = getcurrent()

    @property
    def now_s(self) -> float:
        return self.now_ns / SECOND_NS

    @property
    def is_in_task(self) -> bool:
        return getcurrent() is not self._hub

    def note(self, text: str) -> None:
        self.trace.append(f"{self.now_ns} {text}")

    def stop_tasks(self, duration_ns: int) -> None:
        """Stop the process of the tasks for some time."""
        self.stopped_until_ns = self.now_ns + duration_ns
        self.after(duration_ns, lambda: None)

    def at(self, due_ns: int, call: Callable[[], None]) -> None:
        """Call at a time; calls due at the same time come in an order of the seed."""
        self._number += 1
        heapq.heappush(self._timers, (max(due_ns, self.now_ns), self.random.random(), self._number, call))

    def after(self, delay_ns: int, call: Callable[[], None]) -> None:
        self.at(self.now_ns + delay_ns, call)

    def spawn(self, name: str, run: Callable[[], Any]) -> Task:
        task = Task(name, run, self._hub)
        self.tasks.append(task)
        self._make_ready(task)
        return task

    def current(self) -> Task:
        running = getcurrent()
        return next(task for task in self.tasks if task.greenlet is running)

    def block(self, timeout_ns: int | None = None) -> bool:
        """Wait until woken; whether that came before the timeout."""
        task = self.current()
        task.wait_number += 1
        task.timed_out = False
        if timeout_ns is not None:
            number = task.wait_number

            def expire() -> None:
                if task.wait_number == number and not task.is_ready and not task.is_done:
                    task.timed_out = True
                    self._make_ready(task)

            self.after(max(0, timeout_ns), expire)
        self._hub.switch()
        task.wait_number += 1
        if task.pending is not None:
            error, task.pending = task.pending, None
            raise error
        return not task.timed_out

    def pause(self) -> None:
        """Let others go first, if the seed says so."""
        if self.random.random() < 0.3:
            self._make_ready(self.current())
            self._hub.switch()

    def wake(self, task: Task) -> None:
        if not task.is_ready and not task.is_done:
            self._make_ready(task)

    def throw(self, task: Task, error: BaseException) -> None:
        """Raise an error in a task where it waits."""
        task.pending = error
        self.wake(task)

    def join(self, task: Task, timeout_ns: int | None) -> bool:
        end_ns = None if timeout_ns is None else self.now_ns + timeout_ns
        while not task.is_done and (end_ns is None or self.now_ns < end_ns):
            task.joining.append(self.current())
            self.block(None if end_ns is None else end_ns - self.now_ns)
        return task.is_done

    def run_until(self, is_over: Callable[[], bool]) -> None:
        """Run tasks and timers.

        Raises:
            StuckError: it never comes to that.
        """
        for _ in range(_MAX_STEPS):
            if is_over():
                return
            self.on_step()
            if self._ready and self.now_ns >= self.stopped_until_ns:
                task = self._ready.pop(self.random.randrange(len(self._ready)))
                task.is_ready = False
                task.greenlet.switch()
                if task.greenlet.dead:
                    self._on_done(task)
            elif self._timers:
                due_ns, _, _, call = heapq.heappop(self._timers)
                self.now_ns = max(self.now_ns, due_ns)
                call()
            else:
                waiting = [task.name for task in self.tasks if not task.is_done]
                raise StuckError(f"deadlock: {', '.join(waiting)} wait, and nothing is due")
        raise StuckError("it never ends")

    def end_tasks(self) -> None:
        """End all tasks where they are, as a kill of their process does."""
        for task in self.tasks:
            while not task.greenlet.dead and task.greenlet:
                task.greenlet.throw(GreenletExit)
            task.is_done = True
        self._ready.clear()

    def _make_ready(self, task: Task) -> None:
        task.is_ready = True
        self._ready.append(task)

    def _on_done(self, task: Task) -> None:
        task.is_done = True
        for waiting in task.joining:
            self.wake(waiting)
