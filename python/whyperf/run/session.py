"""A session: the agents, the testbed, and everything found out before the first trial."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from types import TracebackType
from typing import Any, NotRequired, Self, TypedDict

from whyperf.plan import LOCAL, Cell, Plan
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent
from whyperf.run.emulated import EmulatedPath
from whyperf.run.ends import FAR, NEAR, Cpus, End, labels, share_cpus
from whyperf.run.errors import Fault, NoAnswerError, RunError
from whyperf.run.firewall import refuse_missing_firewall
from whyperf.run.fleet import STARTS_AT_ONCE, LostPairs, at_once, own_address
from whyperf.run.leftovers import clean
from whyperf.run.offers import (
    congestion_controls,
    quic_controls,
    refuse_crowds,
    refuse_missing,
    refuse_missing_kernel_tls,
    refuse_missing_quic,
    refuse_missing_transports,
)
from whyperf.run.path import path_seed, path_spec
from whyperf.run.spec import roles
from whyperf.run.super_datagrams import refuse_super_datagrams
from whyperf.run.target import Kind, Target
from whyperf.run.testbed import TESTBED_FACTORS, refuse_missing_settings, request_for
from whyperf.wire import HostFacts, TestbedEnd, TestbedMiddle

LOOPBACK_ADDRESSES = {4: "127.0.0.1", 6: "::1"}


class BuiltTestbed(TypedDict):
    """The testbed for the record: what was asked, and all sides as they were read back."""

    host: HostFacts
    spec: Mapping[str, object]
    near: TestbedEnd
    far: TestbedEnd
    middle: NotRequired[TestbedMiddle]


class Session:
    """Agents at all ends of a plan's target. Leaving it ends them and removes what they built.

    The testbed is held by an agent of its own, in the host's namespace; the two ends' agents live inside. It is built
    anew when a cell asks for another MTU, other offloads or other CPUs.
    """

    def __init__(self, plan: Plan, target: Target) -> None:
        """Start the agents and check the plan against the hosts; nothing is recorded yet.

        Raises:
            RunError: a host cannot be reached, or cannot do what the plan asks.
        """
        self.plan = plan
        self.target = target
        self.kind = Kind(plan.testbed.kind)
        self.testbed: BuiltTestbed | None = None
        self._host: HostFacts | None = None
        self._testbed_key: tuple[Any, ...] | None = None
        self._holder: Agent | None = None
        self._ends: dict[str, End] = {}
        #: The commands that reach an agent on the hosts of a fleet.
        self._commands: dict[str, list[str]] = {}
        #: Lost pairs whose agents did not start a second time.
        self._given_up: set[int] = set()
        #: Called with the cell of each trial when its testbed and path are there, before its connections open.
        self.on_ready: Callable[[str], None] = lambda _: None
        #: The context that surrounds a trial of a cell from then on until it is over.
        self.disturb: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext()
        #: Called with a sentence for each agent that ended with the session, but not as agreed.
        self.on_left_silently: Callable[[str], None] = lambda _: None
        #: Why the session cannot go on: the first agent that was lost, or, of a fleet, the last pair.
        self.lost: RunError | None = None
        self.lost_pairs = LostPairs(len(target.near))
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @property
    def facts(self) -> dict[str, HostFacts]:
        """HostFacts by end (crates/schema/src/host.rs)."""
        names = [name for pair in self.pairs.values() for name in pair.values() if name in self._ends]
        return {name: self._ends[name].facts for name in names}

    def ends_for(self, cell: Cell) -> dict[str, End]:
        """All ends, on a testbed that is as this cell asks.

        Raises:
            RunError: the testbed cannot be built so.
        """
        if self.kind is Kind.VETH:
            self._build_testbed(cell)
        return self._ends

    def cpus_for(self, factors: Mapping[str, Any]) -> dict[str, Cpus]:
        """Each side's CPUs as these factors ask."""
        cpus: dict[str, Cpus] = {}
        for names in self.pairs.values():
            shared = share_cpus(self.kind, factors, {end: self._ends[name].facts for end, name in names.items()})
            cpus |= {names[end]: found for end, found in shared.items()}
        return cpus

    @property
    def pairs(self) -> dict[int, dict[str, str]]:
        """The names of both agents of each pair that is there, by its number and by side."""
        lost = self.lost_pairs.reasons
        return {pair: labels(pair) for pair in range(len(self.target.near)) if pair not in lost}

    def address(self, factors: Mapping[str, Any], pair: int = 0) -> str:
        """Address that the near agent of a pair connects to, and that its far agent listens on."""
        version = factors["ip_version"]
        # On one machine the first pair's address is that of all.
        numbers = (pair,) if self.target.fleet is not None else dict.fromkeys((pair, 0))
        ends = [self._ends[labels(number)[FAR]] for number in numbers]
        address = next((end.addresses[version] for end in ends if version in end.addresses), None)
        if not address:
            raise RunError(f"the far host has no IPv{version} address", Fault.USAGE)
        return address

    def path_for(self, cell: Cell, trial: str) -> EmulatedPath | None:
        """The emulated path between the ends in a trial of this cell; None without one."""
        spec = path_spec(cell.factors, path_seed(trial, self.plan.seed), cell.schedule or ())
        if spec is None or self._holder is None:
            return None
        middle = None if self.testbed is None else self.testbed.get("middle")
        return EmulatedPath(self._holder, spec, None if middle is None else middle["cpu"])

    def agents(self) -> list[Agent]:
        """The agents of all ends that are there."""
        return [end.agent for end in self._ends.values()]

    def discard_testbed(self) -> None:
        """Have the next trial build the testbed anew: this one may hold what a killed keeper did not undo."""
        if self.kind is Kind.VETH:
            self._close_ends()

    def hang_up(self) -> None:
        """Let all agents end, after the last trial, and leave it to `close` to wait until they are gone."""
        for agent in self.agents():
            agent.hang_up()
        if self._holder is not None:
            self._holder.hang_up()

    def close(self) -> None:
        """End all agents; the testbed goes with the one that holds it."""
        if self._holder is not None and self.lost is not None:
            self._holder.hang_up()
        self._close_ends()
        if self._holder is not None:
            self._holder.close()
            self._holder = None

    def __enter__(self) -> Self:
        """Use the session in a with statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def revive(self) -> bool:
        """Start the agents of lost pairs of a fleet once more; those that do not start then stay lost.

        Returns whether some were lost, and all of these are back.
        """
        lost = [pair for pair in self.lost_pairs.reasons if pair not in self._given_up]
        if not lost or self.lost is not None:
            return False
        for pair in lost:
            for name in labels(pair).values():
                if (end := self._ends.pop(name, None)) is not None:
                    end.agent.close()
        self._start_pairs(lost)
        self._given_up |= self.lost_pairs.reasons.keys()
        return not self._given_up.intersection(lost)

    def _on_lost(self, pair: int | None, reason: RunError) -> None:
        """Ends every wait for any agent: without the one that is lost no other's answer is worth waiting for.

        Of a fleet only its own pair's: the others go on.
        """
        if pair is not None and self.target.fleet is not None:
            self.lost_pairs.lose(pair, reason)
            if not self.lost_pairs.are_all:
                for name in labels(pair).values():
                    if (end := self._ends.get(name)) is not None:
                        end.agent.interrupt(reason)
                return
        # Several hosts may be lost for one reason: the first pair's says it best.
        reasons = self.lost_pairs.reasons
        self.lost = self.lost or (reasons[min(reasons)] if reasons else reason)
        for agent in (*self.agents(), *([self._holder] if self._holder is not None else [])):
            agent.interrupt(reason)

    def _open(self) -> None:
        # A killed run may have left agents that still hold CPUs and ports. What cannot be cleaned is no reason not
        # to measure; `whyperf doctor --clean` says why.
        with suppress(RunError):
            clean()
        if self.kind is Kind.VETH:
            self._holder = Agent("testbed", pipes.local(), shares_clock=True)
            self._holder.when_lost(lambda reason: self._on_lost(None, reason))
            self._host = describe_host(None)
            self._check({NEAR: self._host, FAR: self._host})
            refuse_missing_settings(self.plan.cells, self._host)
            self._check_paths()
            self._build_testbed(self.plan.cells[0])
            refuse_missing_firewall(self.plan.cells, self._ends[FAR].agent)
            return
        self._start_pairs(list(self.pairs))
        if self.lost is not None:
            raise self.lost
        self._check(self.facts)

    def _start_pairs(self, pairs: Sequence[int]) -> None:
        """Start the agents of these pairs; without a fleet one after the other, and all must.

        Raises:
            RunError: it does not start, and without it there is nothing to measure.
        """
        if self.target.fleet is None:
            for pair in pairs:
                self._start_pair(pair)
            return
        hosts = dict.fromkeys(host for pair in pairs for host in self._hosts_of(pair) if host is not None)
        for host in hosts:
            with suppress(RunError):
                quick = self._pipe.quick_argv(self._destination(host))
                self._commands |= {} if quick is None else {host: quick}
        missing = self._find_agents([host for host in hosts if host not in self._commands])
        failures = self._tried(pairs, missing)
        # Most hosts have the agent from an earlier run, and needed one connection for it. The others get it now, or it
        # is found out what is wrong with them.
        again = [pair for pair, error in failures.items() if not isinstance(error, NoAnswerError)]
        wanted = dict.fromkeys(host for pair in again for host in self._hosts_of(pair) if host is not None)
        missing = self._find_agents(list(wanted))
        failures = {pair: error for pair, error in failures.items() if pair not in again} | self._tried(again, missing)
        for pair in pairs:
            if pair not in failures:
                self.lost_pairs.find(pair)
        for pair, error in failures.items():
            self._on_lost(pair, error)

    def _find_agents(self, hosts: Sequence[str]) -> dict[str, RunError]:
        """Find or copy the agent on these hosts; why it is not there, by host."""
        found, missing = at_once(lambda host: self._pipe.argv(self._destination(host)), hosts, STARTS_AT_ONCE)
        self._commands |= found
        return missing

    def _tried(self, pairs: Sequence[int], missing: Mapping[str, RunError]) -> dict[int, RunError]:
        """Start the agents of these pairs but those of missing hosts; why a pair has none."""
        reasons = {pair: [missing[host] for host in self._hosts_of(pair) if host and host in missing] for pair in pairs}
        _, failures = at_once(self._start_pair, [pair for pair in pairs if not reasons[pair]], STARTS_AT_ONCE)
        return failures | {pair: errors[0] for pair, errors in reasons.items() if errors}

    def _start_pair(self, pair: int) -> None:
        near, far = self._hosts_of(pair)
        for (label, name), host in zip(labels(pair).items(), (near, far), strict=True):
            if name in self._ends:
                continue
            addresses = {} if label == NEAR else self._far_addresses(near, far)
            argv = pipes.local() if host is None else self._command_to(host)
            self._start(pair, name, argv, host, addresses)

    def _command_to(self, host: str) -> list[str]:
        """The command whose input and output reach an agent on a host."""
        if self.target.fleet is None:
            return pipes.ssh(host)
        return self._commands[host]

    @property
    def _pipe(self) -> pipes.PipeKind:
        return pipes.by_name(None if self.target.fleet is None else self.target.fleet.via)

    def _destination(self, host: str) -> str:
        """The destination that the pipe is given for a host."""
        return host if self.target.fleet is None else self.target.fleet.destinations.get(host, host)

    def _start(self, pair: int, name: str, argv: list[str], host: str | None, addresses: Mapping[int, str]) -> None:
        """Start an end's agent, on this host or by ssh on another."""
        shares_clock = host is None or self._pipe.is_here
        self._add(pair, name, Agent(name, argv, shares_clock=shares_clock, host=host), addresses)

    def _add(self, pair: int, name: str, agent: Agent, addresses: Mapping[int, str]) -> None:
        """Keep an end's agent, so that it is closed whatever comes, and ask it what its host is."""
        try:
            agent.when_lost(lambda reason: self._on_lost(pair, reason))
            self._ends[name] = End(agent, agent.call({"request": "describe_host"}), addresses)
        except BaseException:
            agent.close()
            raise

    def _hosts_of(self, pair: int) -> tuple[str | None, str | None]:
        """The near and the far host of a pair as for ssh; None for this one."""
        if self.target.fleet is not None:
            far: str | None = self.target.fleet.far[pair]
        elif self.target.host is None:
            far = None
        else:
            hosts = self.target.host.split(",")
            far = hosts[pair] if self.plan.far_parts else hosts[0]
        near: str | None = self.target.near[pair]
        return (None if near == LOCAL else near), (None if far == LOCAL else far)

    def _far_addresses(self, near: str | None, far: str | None) -> dict[int, str]:
        """Address of a far host for the data connections of a near one, by IP version.

        Raises:
            RunError: there is none.
        """
        versions = {int(cell.factors["ip_version"]) for cell in self.plan.cells}
        fleet = self.target.fleet
        address = self.target.address or (None if fleet is None else fleet.addresses.get(far or LOCAL))
        if address is not None:
            return dict.fromkeys(versions, address)
        if far is None and near is None:
            return LOOPBACK_ADDRESSES
        other = self._destination(str(near if far is None else far))
        address_of = pipes.address_of if fleet is None else self._pipe.address_of
        found = {version: address_of(other, version) for version in versions}
        return found if far is not None else {version: own_address(there) for version, there in found.items()}

    def _check(self, facts: Mapping[str, HostFacts]) -> None:
        """Refuse now what every trial of a cell would be refused for."""
        for cell in self.plan.cells:
            if self._ends:
                self.cpus_for(cell.factors)
            else:
                share_cpus(self.kind, cell.factors, facts)
            if cell.factors.get("transport") == "unix" and self.kind is Kind.NETWORK:
                problem = "transport unix needs both sides on one host; leave the host out, or choose another transport"
                raise RunError(problem, Fault.USAGE)
        refuse_crowds(self.plan.cells)
        hosts = {label: (found, self._agent_of(label)) for label, found in facts.items()}
        refuse_missing(congestion_controls(self.plan.cells), hosts)
        refuse_missing_transports(self.plan.cells, hosts)
        refuse_missing_quic(quic_controls(self.plan.cells), hosts)
        refuse_missing_kernel_tls(self.plan.cells, facts)
        refuse_super_datagrams(self.plan.cells, facts)

    def _agent_of(self, label: str) -> Agent:
        if label in self._ends:
            return self._ends[label].agent
        assert self._holder is not None
        return self._holder

    def _check_paths(self) -> None:
        """Refuse now the emulated paths that this host cannot carry."""
        built_for = None
        for cell in self.plan.cells:
            if self.path_for(cell, "") is None:
                continue
            if cell.factors["path_implementation"] != built_for:
                self._build_testbed(cell)
                built_for = cell.factors["path_implementation"]
            if (path := self.path_for(cell, "")) is not None:
                path.carry()

    def _build_testbed(self, cell: Cell) -> None:
        factors, roles_here = cell.factors, roles(cell.factors, cell.schedule or ())
        path = path_spec(factors, 0, cell.schedule or ())
        # The router keeps off the sender's CPUs where it can, so it matters who sends.
        on_path = () if path is None else (path["implementation"], *roles_here.values())
        key = (*(factors.get(name) for name in TESTBED_FACTORS), *on_path)
        if key == self._testbed_key and self._ends:
            return
        assert self._holder is not None
        assert self._host is not None
        host = self._host
        self._close_ends()
        self._testbed_key = None
        cpus = share_cpus(self.kind, factors, {NEAR: host, FAR: host})
        built = self._holder.call(asked := request_for(factors, host["cpus"], cpus, roles_here, path))
        spec = {key: value for key, value in asked.items() if key != "request"}
        near, far, middle = built["near"], built["far"], built["middle"]
        self.testbed = {"host": host, "spec": spec, "near": near, "far": far}
        if middle is not None:
            self.testbed["middle"] = middle
        addresses = {4: far["ipv4"], 6: far["ipv6"]}
        for pair, names in self.pairs.items():
            self._add(pair, names[NEAR], self._agent_inside(names[NEAR], near["netns"]), {})
            self._add(pair, names[FAR], self._agent_inside(names[FAR], far["netns"]), addresses)
        self._testbed_key = key

    def _agent_inside(self, label: str, netns: str) -> Agent:
        """Start an end's agent in its namespace; where that fails because the testbed is gone, say that."""
        try:
            return Agent(label, pipes.local(netns), shares_clock=True)
        except RunError:
            assert self._holder is not None
            self._holder.call({"request": "clock"})
            raise

    def _close_ends(self) -> None:
        # All at once: each may take a second to end.
        for end in self._ends.values():
            end.agent.hang_up()
        for end in self._ends.values():
            end.agent.close()
            if (reason := end.agent.left_silently) is not None and self.lost is None:
                self.on_left_silently(
                    f"{reason}. Its results are complete; what it changed on its host may be left, and "
                    "`whyperf doctor --clean` there removes it"
                )
        self._ends.clear()


def allowed_kind(wanted: Kind | None) -> tuple[Kind, str | None]:
    """The kind of testbed this host allows, and why it is not the veth testbed if it is not.

    Raises:
        RunError: ``veth`` is asked for by name and not allowed.
    """
    if wanted is Kind.LOOPBACK:
        return Kind.LOOPBACK, None
    abilities = {ability["name"]: ability for ability in describe_host(None)["abilities"]}
    namespaces = abilities["network_namespaces"]
    if namespaces["can"]:
        return Kind.VETH, None
    if wanted is Kind.VETH:
        raise RunError(f"--testbed veth needs network namespaces: {namespaces['reason']}, or use --testbed loopback")
    return Kind.LOOPBACK, str(namespaces["reason"])


def describe_host(host: str | None, *, with_hooks: bool = False, pipe: pipes.PipeKind = pipes.SSH) -> HostFacts:
    """HostFacts of this host, or of one reached by a pipe; trying the hooks of the evidence takes a moment more."""
    if host is None and not with_hooks:
        return _this_host()
    argv = pipes.local() if host is None else pipe.argv(host)
    with Agent(host or "local", argv, shares_clock=host is None, host=host) as agent:
        return agent.call({"request": "describe_host", "with_hooks": with_hooks})


@cache
def _this_host() -> HostFacts:
    """Asked once: where to measure, and what a plan may ask for, both follow from it before the agents start."""
    with Agent("local", pipes.local(), shares_clock=True) as agent:
        return agent.call({"request": "describe_host", "with_hooks": False})
