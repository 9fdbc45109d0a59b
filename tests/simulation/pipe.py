"""The simulated pipes between a controller and its agents: limited, with latency, and with a process at their end."""

import os
import subprocess
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.simulation.hosts import SimulatedAgent
from tests.simulation.trials import MS
from tests.simulation.virtual_time import SECOND_NS, Task

if TYPE_CHECKING:
    from tests.simulation.world import World

#: Smaller than a pipe of Linux, so that few bytes fill it.
PIPE_BYTES = 6_000
FIRST_DESCRIPTOR = 10_000


class Stream:
    """The end of a pipe that a controller holds."""

    def __init__(self, process: "Process", descriptor: int) -> None:
        self._process, self._descriptor = process, descriptor

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: bytes) -> int:
        self._process.write(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        if self._descriptor < 0:
            self._process.close_input()


class Process:
    """The local end of a pipe, as `subprocess.Popen`: the agent itself, or ssh."""

    def __init__(self, world: "World", label: str, host: str | None, errors: Any) -> None:
        self.world, self.label, self.host = world, label, host
        self.pid = 5000 + len(world.processes)
        self.returncode: int | None = None
        self.stdin, self.stdout = Stream(self, -1), Stream(self, FIRST_DESCRIPTOR + len(world.processes))
        self.closed_ns: int | None = None
        self.life = world.life
        self.stalled_until_ns = 0
        #: Not the controller's, which closes its own.
        self._errors = os.fdopen(os.dup(errors.fileno()), "wb", buffering=0)
        self._buffer = bytearray()
        self._in_flight = 0
        self._down_bytes = 0
        self._last_arrival = {"up": 0, "down": 0}
        self._is_at_end = False
        self._waiting: list[Task] = []
        random = world.scheduler.random
        self.latency_ns = random.randint(200_000, 40 * MS) if host else random.randint(20_000, 300_000)
        self.agent = SimulatedAgent(world, self)

    @property
    def _is_usable(self) -> bool:
        return self.life == self.world.life

    def write(self, data: bytes) -> None:
        """What a controller writes to its agent's standard input."""
        if not self._is_usable:
            raise BrokenPipeError
        scheduler = self.world.scheduler
        scheduler.pause()
        self.world.on_request(self, data)
        data = self.world.faults.on_bytes_down(self, data)
        while self._down_bytes + len(data) > max(PIPE_BYTES, len(data)) and self.returncode is None:
            self._waiting.append(scheduler.current())
            scheduler.block()
        if self.closed_ns is not None:
            raise ValueError("write to closed file")
        if self.returncode is not None:
            raise BrokenPipeError
        while data:
            cut = scheduler.random.choice((len(data), scheduler.random.randint(1, len(data))))
            piece, data = data[:cut], data[cut:]
            self._down_bytes += len(piece)
            self._deliver("down", partial(self.agent.receive, piece))

    def on_taken(self, count: int) -> None:
        """The agent has read bytes."""
        self._down_bytes -= count
        self._wake()

    def close_input(self) -> None:
        if self.closed_ns is None and self._is_usable:
            self.closed_ns = self.world.scheduler.now_ns
            self.world.scheduler.note(f"pipe of {self.label} closed")
            self._hang_up()

    def abandon(self) -> None:
        """The controller is gone."""
        if self.closed_ns is None:
            self.closed_ns = self.world.scheduler.now_ns
            self._hang_up()
        self._buffer.clear()
        self._is_at_end = True

    def _hang_up(self) -> None:
        # sshd(8) closes the agent's pipe when it has passed on what came before.
        if self.host is None:
            self.agent.hang_up()
        self._deliver("down", self.agent.end_of_input)

    def wait(self, timeout: float | None = None) -> int:
        scheduler = self.world.scheduler
        end_ns = None if timeout is None else scheduler.now_ns + round(timeout * SECOND_NS)
        while self.returncode is None:
            if end_ns is not None and scheduler.now_ns >= end_ns:
                raise subprocess.TimeoutExpired(self.label, timeout or 0)
            self._waiting.append(scheduler.current())
            scheduler.block(None if end_ns is None else end_ns - scheduler.now_ns)
        return self.returncode

    def kill(self) -> None:
        if self._is_usable:
            self.end(-9)

    def end(self, status: int, said: str = "") -> None:
        """The process ends; what it has sent can still be read."""
        if self.returncode is not None:
            return
        self.returncode = status
        self.world.scheduler.note(f"process of {self.label} ended with {status}")
        with self._errors:
            self._errors.write(said.encode())
        if self.host is None:
            self.agent.die()
        else:
            self._hang_up()
        self._deliver("up", self._reach_end)
        self._wake()

    def on_agent_gone(self, status: int, said: str) -> None:
        """The agent has ended."""
        if self.host is None:
            self.end(status, said)
        else:
            # ssh(1) passes the status on, and ends with 255 where what ran there was killed.
            self._deliver("up", lambda: self.end(255 if status < 0 else status, said))

    @property
    def up_room(self) -> int:
        """Bytes that the agent can write."""
        return PIPE_BYTES - self._in_flight - len(self._buffer)

    def send_up(self, data: bytes) -> None:
        """What the agent writes to its standard output."""
        self._in_flight += len(data)

        def arrive() -> None:
            self._in_flight -= len(data)
            if not self._is_at_end:
                self._buffer += data
            self._wake()

        self._deliver("up", arrive)

    def cut_after(self, data: bytes) -> None:
        """The command passes this on and then nothing more, in neither direction, and ends with status 0."""
        self.send_up(data)
        self._deliver("up", lambda: self.end(0))

    def read(self, count: int) -> bytes:
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        if data:
            self.world.scheduler.after(self.latency_ns, self.agent.pump)
        return data

    def wait_readable(self, timeout_ns: int) -> bool:
        scheduler = self.world.scheduler
        end_ns = scheduler.now_ns + timeout_ns
        while not self._is_readable and scheduler.now_ns < end_ns:
            self._waiting.append(scheduler.current())
            scheduler.block(end_ns - scheduler.now_ns)
        return self._is_readable

    @property
    def _is_readable(self) -> bool:
        return bool(self._buffer) or self._is_at_end

    def _reach_end(self) -> None:
        self._is_at_end = True
        self._wake()

    def _deliver(self, direction: str, call: Callable[[], None]) -> None:
        """After the latency, in order."""
        scheduler = self.world.scheduler
        due_ns = scheduler.now_ns + self.latency_ns + scheduler.random.randint(0, self.latency_ns)
        due_ns = max(due_ns, self._last_arrival[direction] + 1, self.stalled_until_ns)
        self._last_arrival[direction] = due_ns
        scheduler.at(due_ns, call)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            self.world.scheduler.wake(task)
