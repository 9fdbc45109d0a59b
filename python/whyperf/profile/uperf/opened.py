"""What the connects and accepts of a profile ask for: protocol, far hosts, socket options."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from whyperf.profile.factors import Level
from whyperf.profile.uperf.flowops import OPENING
from whyperf.profile.uperf.tokens import in_one_line
from whyperf.profile.uperf.tree import Flowop, Tree

Value = TypeVar("Value")

#: Protocols that uperf knows, or knew, and that whyperf does not carry.
NOT_CARRIED = {
    "ssl": "whyperf has no TLS; take protocol=tcp for the same operations without encryption",
    "sctp": "whyperf has no SCTP; take protocol=tcp or udp",
    "vsock": "whyperf has no VSOCK; take protocol=tcp",
    "rds": "Linux hosts rarely have RDS, and whyperf has none; take protocol=udp or tcp",
    "udapl": "uperf refuses uDAPL too; take protocol=tcp",
    "tcp_zc": "take protocol=tcp, and --set zero_copy=true",
}


@dataclass(frozen=True)
class Opened:
    """What every connection of the profile has in common."""

    protocol: str
    #: Names and addresses of `remotehost=`, in the order of the profile.
    hosts: tuple[str, ...]
    #: Levels of factors.
    factors: dict[str, Level]


def opened(tree: Tree) -> Opened:
    """What the connects and accepts ask for.

    Raises:
        ValueError: they differ in what a run has once, or ask for what is not there; the sentence without the file.
    """
    flowops = [flowop for flowop in _flowops(tree) if flowop.type in OPENING]
    if not flowops:
        raise ValueError("no flowop connects or accepts, so there is nothing to measure; add a connect")
    for flowop in flowops:
        _refuse(flowop)
    protocols = _same(flowops, "protocol", lambda flowop: flowop.options.text("protocol").lower())
    factors: dict[str, Level] = {"transport": protocols}
    window = _same(flowops, "wndsz", lambda flowop: flowop.options.number("wndsz"))
    if window:
        factors |= {"send_buffer_bytes": window, "receive_buffer_bytes": window}
    if protocols == "tcp":
        if _same(flowops, "tcp_nodelay", lambda flowop: flowop.options.has("tcp_nodelay")):
            factors["no_delay"] = True
        congestion_control = _same(flowops, "cc", lambda flowop: flowop.options.text("cc"))
        if congestion_control:
            factors["congestion_control"] = congestion_control
    hosts = tuple(dict.fromkeys(in_one_line(flowop.options.text("remotehost")) for flowop in flowops))
    return Opened(protocols, hosts, factors)


def _flowops(tree: Tree) -> Iterable[Flowop]:
    for group in tree.groups:
        for transaction in group.transactions:
            yield from transaction.flowops


def _refuse(flowop: Flowop) -> None:
    options = flowop.options
    if not options.text("remotehost"):
        raise ValueError(f"line {flowop.line}: {flowop.type} names no far host; add remotehost=… to its options")
    protocol = options.text("protocol").lower()
    if not protocol:
        raise ValueError(f"line {flowop.line}: {flowop.type} names no protocol; add protocol=tcp or protocol=udp")
    if protocol not in {"tcp", "udp"}:
        remedy = NOT_CARRIED.get(protocol, "there are tcp and udp")
        raise ValueError(f"line {flowop.line}: protocol={protocol} cannot run; {remedy}")
    if options.number("count", 1) < 0:
        raise ValueError(f"line {flowop.line}: count={options.number('count')} is below 0; give 0 or more")


def _same(flowops: list[Flowop], name: str, value: Callable[[Flowop], Value]) -> Value:
    """The value that all of them have."""
    first = value(flowops[0])
    for flowop in flowops:
        if value(flowop) != first:
            problem = (
                f"{name} is not as in line {flowops[0].line}; a run has one for all connections: split the profile"
            )
            raise ValueError(f"line {flowop.line}: {problem}")
    return first
