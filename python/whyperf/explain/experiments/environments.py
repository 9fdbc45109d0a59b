"""In which environments a watched command is run again: no socket of others is changed, and nothing stays changed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import raised_numbers
from whyperf.explain.experiments.changing import Levels
from whyperf.explain.experiments.tries import TRIES, Planned, together
from whyperf.explain.setup import Facts

CPUS, CONTROL = "cpus", "congestion_control"
RECEIVE, SEND = "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"
_LARGE_BYTES = 1 << 26
"""The bytes that 10 Gbit/s has in flight in a round trip of 50 ms."""
_USUAL: Mapping[str, tuple[int, int, int]] = {
    RECEIVE: (4096, 131_072, _LARGE_BYTES),
    SEND: (4096, 16_384, _LARGE_BYTES),
}
"""The kernel's own least and first size of a buffer (networking/ip-sysctl.rst), and the most that one may grow to."""
_BY_NAME = {each.name: each for each in TRIES}


@dataclass(frozen=True)
class FirstRun:
    """The evidence of the first run of a command on the environments that it can be given.

    Attributes:
        facts: of its host, as its network namespace shows them.
        owns_namespace: whether the user named that namespace, and it is not the host's own.
        sends: whether much of the payload left the command; `receives` likewise.
        fixed: the settings that do not reach its buffers, because the program sets their sizes; `unknown` likewise
            those of which nobody knows.
        peers: the addresses of the other ends.
        cpus: those that it may use; `possible`, those that it may be given.
        interrupted: the CPU with most time of softirqs, which take arriving packets; None where none has any.
    """

    facts: Facts
    owns_namespace: bool
    sends: bool
    receives: bool
    fixed: Collection[str] = ()
    unknown: Collection[str] = ()
    peers: tuple[str, ...] = ()
    cpus: frozenset[int] = frozenset()
    possible: frozenset[int] = frozenset()
    interrupted: int | None = None


def environments(first: FirstRun) -> list[Planned]:
    """Environments that can be tried: CPUs everywhere, others only in a namespace that the user named for it."""
    single = [*_of_cpus(first), *(_of_namespace(first) if first.owns_namespace else ())]
    return single + together([each for each in single if each.is_remedy], bool)


def not_tried(first: FirstRun) -> Iterator[str]:
    """Says what cannot be tried, and what would allow it: sentences."""
    if not first.owns_namespace:
        yield (
            "Buffers and congestion control are not tried: they are the host's own; --netns NAME runs the command in a "
            "network namespace in which whyperf may change them"
        )
        return
    for name in _buffers(first):
        if name in first.fixed:
            yield f"{name} is not tried: the program sets the size of this buffer itself"
        elif name in first.unknown:
            yield f"{name} is not tried: only BPF shows whether the program sets this buffer itself (run as root)"


def _of_cpus(first: FirstRun) -> Iterator[Planned]:
    if first.cpus < first.possible:
        yield _planned("free-cpus", {CPUS: cpu_list(first.possible)})
    elif first.interrupted in first.cpus and (others := first.cpus - {first.interrupted}):
        yield Planned("other-cpus", {CPUS: cpu_list(others)}, (Cause.SHARED_CPU, Cause.OTHER_LOAD))


def _of_namespace(first: FirstRun) -> Iterator[Planned]:
    """Limits of buffers at the command's own end: those of its peers are theirs."""
    sysctls = first.facts.get("sysctls", {})
    for name in _buffers(first):
        raised = raised_numbers(sysctls.get(name), _USUAL[name])
        if raised and name not in first.fixed and name not in first.unknown:
            yield _planned("receive-window" if name == RECEIVE else "send-buffer", {name: raised})
    now = str(sysctls.get("net.ipv4.tcp_congestion_control", ""))
    wanted = "cubic" if now.startswith("bbr") else "bbr"
    if first.sends and first.peers and now and wanted in first.facts.get("congestion_controls", ()):
        yield _planned("other-control", {CONTROL: wanted})


def _buffers(first: FirstRun) -> list[str]:
    return [name for name, is_used in ((RECEIVE, first.receives), (SEND, first.sends)) if is_used]


def _planned(name: str, factors: Levels) -> Planned:
    """The experiment of `whyperf why` that does the same, made by these settings."""
    return Planned(name, factors, _BY_NAME[name].relieves, _BY_NAME[name].is_remedy)


def cpu_list(cpus: Collection[int]) -> str:
    """As taskset(1) takes it: `0,2-3`.

    >>> cpu_list({3, 0, 2})
    '0,2-3'
    """
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and spans[-1][-1] == cpu - 1:
            spans[-1][1:] = [cpu]
        else:
            spans.append([cpu])
    return ",".join("-".join(map(str, span)) for span in spans)
