"""The requests of the connects and accepts of a profile: protocol, far hosts, socket options."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from whyperf.profile.factors import Level
from whyperf.profile.uperf.elements import Flowop, Group, Tree
from whyperf.profile.uperf.flowops import OPENING
from whyperf.profile.uperf.tokens import in_one_line

Value = TypeVar("Value")

#: Protocols that uperf knows, or knew, and that whyperf does not carry.
NOT_CARRIED = {
    "vsock": "whyperf has no VSOCK; take protocol=tcp",
    "rds": "Linux hosts rarely have RDS, and whyperf has none; take protocol=udp or tcp",
    "udapl": "uperf refuses uDAPL too; take protocol=tcp",
    "tcp_zc": "take protocol=tcp, and --set zero_copy=true",
}


@dataclass(frozen=True)
class Opened:
    """The properties that every connection of the profile has in common."""

    protocol: str
    #: Names and addresses of `remotehost=`, in the order of the profile.
    hosts: tuple[str, ...]
    #: Levels of factors.
    factors: dict[str, Level]


def opened(tree: Tree) -> Opened:
    """Collects what the connects and accepts ask for.

    Raises:
        ValueError: they differ in what a run has once, or ask for what is not there; the sentence without the file.
    """
    flowops = [flowop for flowop in _flowops(tree) if flowop.type in OPENING]
    if not flowops:
        raise ValueError("no flowop connects or accepts, so there is nothing to measure; add a connect")
    for flowop in flowops:
        _refuse(flowop)
    protocols = _same(flowops, "protocol", _protocol)
    factors: dict[str, Level] = {"transport": protocols}
    window = _same(flowops, "wndsz", lambda flowop: flowop.options.number("wndsz"))
    if window:
        factors |= {"send_buffer_bytes": window, "receive_buffer_bytes": window}
    if protocols == "sctp":
        factors |= _of_sctp(flowops)
    if protocols in {"tcp", "tls"}:
        if _same(flowops, "tcp_nodelay", lambda flowop: flowop.options.has("tcp_nodelay")):
            factors["no_delay"] = True
        congestion_control = _same(flowops, "cc", lambda flowop: flowop.options.text("cc"))
        if congestion_control:
            factors["congestion_control"] = congestion_control
    hosts = tuple(dict.fromkeys(host for group in tree.groups for host in hosts_of(group)))
    return Opened(protocols, hosts, factors)


def _of_sctp(flowops: list[Flowop]) -> dict[str, Level]:
    """Levels of the options of SCTP that there are: Nagle, and the streams, which are as many in both directions."""
    factors: dict[str, Level] = {}
    if _same(flowops, "sctp_nodelay", lambda flowop: flowop.options.has("sctp_nodelay")):
        factors["no_delay"] = True
    outgoing, incoming = (
        _same(flowops, name, lambda flowop, name=name: flowop.options.number(name))  # type: ignore[misc]
        for name in ("sctp_out_streams", "sctp_in_streams")
    )
    if outgoing and incoming and outgoing != incoming:
        raise ValueError(
            f"line {flowops[0].line}: sctp_out_streams={outgoing} and sctp_in_streams={incoming} differ; whyperf asks "
            "for as many in both directions: give one number for both"
        )
    if outgoing or incoming:
        factors["sctp_streams"] = outgoing or incoming
    return factors


def hosts_of(group: Group) -> list[str]:
    """The far hosts that a group names, in order."""
    flowops = (flowop for transaction in group.transactions for flowop in transaction.flowops)
    return [in_one_line(flowop.options.text("remotehost")) for flowop in flowops if flowop.type in OPENING]


def _flowops(tree: Tree) -> Iterable[Flowop]:
    for group in tree.groups:
        for transaction in group.transactions:
            yield from transaction.flowops


def _protocol(flowop: Flowop) -> str:
    """The transport that a flowop names; uperf calls TLS ssl."""
    protocol = flowop.options.text("protocol").lower()
    return {"ssl": "tls"}.get(protocol, protocol)


def _refuse(flowop: Flowop) -> None:
    options = flowop.options
    if not options.text("remotehost"):
        raise ValueError(f"line {flowop.line}: {flowop.type} names no far host; add remotehost=… to its options")
    protocol = _protocol(flowop)
    if not protocol:
        raise ValueError(f"line {flowop.line}: {flowop.type} names no protocol; add protocol=tcp or protocol=udp")
    if protocol not in {"tcp", "udp", "tls", "sctp"}:
        remedy = NOT_CARRIED.get(protocol, "there are tcp, udp, ssl and sctp")
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
