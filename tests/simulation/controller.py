"""A controller's process in a simulated world: how it runs, is interrupted or killed, and what is over after it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from greenlet import GreenletExit

from tests.simulation.faults import Fault, Faults
from tests.simulation.primitives import in_virtual_time
from tests.simulation.trials import OUTLIVES_NS, InvariantError
from tests.simulation.virtual_time import SECOND_NS, Scheduler, StuckError
from tests.simulation.world import World
from whyperf.run.agents import inbox as inbox_module
from whyperf.run.agents.agent import Agent

#: ARCHITECTURE.md: an agent that is killed or stopped is named within this time.
NAMED_NS = 3 * SECOND_NS
#: Limits of the inbox here; real ones need megabytes to be reached.
_MAX_MESSAGES, _MAX_PROGRESS, _TABLE_BYTES = 200, 50, 3_000
#: Until the agents of a controller that is over have ended, too.
_GONE_NS = 3 * SECOND_NS


class SimulatedController:
    """A seed under way."""

    def __init__(self, order: str, faults: list[Fault]) -> None:
        """``order`` decides who goes on when several can."""
        self.scheduler = Scheduler(order)
        self.faults = Faults(faults)
        self.world = World(self.scheduler, self.faults)
        self.faults.world = self.world
        self.faults.kill_controller = self.kill_controller
        self.faults.interrupt = self.interrupt
        self.inboxes: list[Any] = []
        self.is_killed = False
        self.scheduler.on_step = self._check_step

    def _check_step(self) -> None:
        self.world.check_step()
        for inbox in self.inboxes:
            if len(inbox._items) > _MAX_MESSAGES + 1:
                raise InvariantError(f"an inbox holds {len(inbox._items)} messages; its limit is {_MAX_MESSAGES}")

    def run_process(self, name: str, run: Callable[[], None], most_ns: int) -> None:
        """Run a process of the controller until it ends."""
        self.is_killed = False
        self.world.is_running = True
        self.scheduler.stopped_until_ns = 0
        self.inboxes.clear()
        self.main = self.scheduler.spawn(name, run)
        end_ns = self.scheduler.now_ns + most_ns

        def is_over() -> bool:
            if self.scheduler.now_ns > end_ns:
                raise StuckError(f"{name} takes over {most_ns // SECOND_NS} s")
            return self.main.is_done

        self.scheduler.run_until(is_over)
        self.world.is_running = False

    def interrupt(self) -> None:
        """Ctrl-C."""
        if not self.main.is_done and not self.is_killed:
            self.scheduler.throw(self.main, KeyboardInterrupt())

    def kill_controller(self) -> None:
        """As SIGKILL: nothing of the process runs any more, and nothing is tidied up."""
        self.is_killed = True
        self.world.is_running = False
        self.scheduler.note("the controller is killed")
        self.on_killed()
        self.world.end_controller()
        self.main.is_done = True
        if self.scheduler.is_in_task:
            raise GreenletExit

    def on_killed(self) -> None:
        """What else is gone with its process."""

    def check_agents_end(self) -> None:
        """Without a controller all agents end by themselves, but for those that cannot be reached."""
        until_ns = self.scheduler.now_ns + _GONE_NS
        self.scheduler.at(until_ns, lambda: None)
        self.scheduler.run_until(lambda: self.scheduler.now_ns >= until_ns)
        left = [
            agent.label
            for agent in self.world.living()
            if not agent.is_stopped and agent.process.stalled_until_ns + OUTLIVES_NS < until_ns
        ]
        if left:
            raise InvariantError(f"agents are left: {', '.join(left)}")

    @contextmanager
    def in_virtual_time(self, agent_class: str, *patches: Any) -> Iterator[None]:
        """The controller's modules in virtual time; at last nothing of the seed is left in memory."""

        def start_agent(label: str, argv: list[str], **options: Any) -> Agent:
            # The world has to know whose process it is.
            return Agent(label, [*argv, label], **options)

        def new_inbox() -> Any:
            self.inboxes.append(inbox_module.Inbox(_TABLE_BYTES))
            return self.inboxes[-1]

        limits = {"agents.inbox.MAX_MESSAGES": _MAX_MESSAGES, "agents.inbox.MAX_PROGRESS": _MAX_PROGRESS}
        with ExitStack() as stack:
            stack.enter_context(in_virtual_time(self.scheduler, self.world, **limits))
            new = (patch(agent_class, start_agent), patch("whyperf.run.agents.agent.Inbox", new_inbox))
            for patched in (*new, *patches):
                stack.enter_context(patched)
            try:
                yield
            finally:
                self.scheduler.end_tasks()
                for agent in self.world.living():
                    agent.machine.free()
                    agent.is_dead = True
