"""The watched sockets: what each side's tables say of them, and which two are the ends of one connection."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from whyperf.analyze.read.watched import RECEIVED_PAYLOAD, SENT_PAYLOAD
from whyperf.foreign import quoted
from whyperf.record import RecordError
from whyperf.record.kinds import UNREADABLE

Host = Literal["near", "far"]
Role = Literal["sender", "receiver"]

#: More sockets than an agent is ever asked to watch one by one.
MAX_SOCKETS: Final = 100_000
#: Of a program's name or an address that is printed.
MAX_SHOWN: Final = 64


@dataclass(frozen=True)
class Socket:
    """One watched socket. `connection` is its number in the tables of `side`; bytes are those moved while it was
    watched, and times are of its host's CLOCK_MONOTONIC.
    """

    side: Host
    connection: int
    local: str
    remote: str
    cookie: int
    program: str
    process: int | None
    whole: bool
    first_ns: int
    last_ns: int
    listens: bool | None
    sent_bytes: int = 0
    received_bytes: int = 0

    @property
    def moved_bytes(self) -> int:
        """In both directions."""
        return self.sent_bytes + self.received_bytes


@dataclass(frozen=True)
class WatchedEnds:
    """A watched connection: its sockets by the host that they are on in the result, and the role of each."""

    sockets: Mapping[Host, Socket]
    roles: Mapping[Host, Role]

    @property
    def first(self) -> Socket:
        """The socket whose end is called local: the near one, where it was watched."""
        return next(iter(self.sockets.values()))

    @property
    def on_one_host(self) -> bool:
        """True where one agent watched both sockets."""
        return len(self.sockets) == 2 and len({socket.side for socket in self.sockets.values()}) == 1

    @property
    def moved_bytes(self) -> int:
        """In both directions, as the end saw it that saw more."""
        return max(socket.moved_bytes for socket in self.sockets.values())


def read_sockets(side: Host, tables: Mapping[str, Path]) -> list[Socket]:
    """The sockets of one side, in the order in which they were found.

    Raises:
        RecordError: the side sent no table of them, or one that cannot be read.
    """
    path = tables.get("watched")
    if path is None:
        raise RecordError(f"the {side} agent sent no list of the connections that it watched")
    try:
        rows = pl.read_parquet(path).unique("connection", keep="first", maintain_order=True)
        moved = _moved(tables.get("tcp_info"))
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise RecordError(f"the {side} agent's list of connections cannot be read: {reason}") from None
    if rows.height > MAX_SOCKETS:
        raise RecordError(f"the {side} agent sent {rows.height:,} connections; it may watch {MAX_SOCKETS:,} at most")
    return [_counted(_socket(side, row), moved.get(row["connection"])) for row in rows.iter_rows(named=True)]


def _socket(side: Host, row: Mapping[str, Any]) -> Socket:
    return Socket(
        side=side,
        connection=row["connection"],
        local=endpoint(row["local_address"]),
        remote=endpoint(row["remote_address"]),
        cookie=row["cookie"],
        program=quoted(row["program"], MAX_SHOWN),
        process=row["process"],
        whole=row["whole"],
        first_ns=row["first_mono_ns"],
        last_ns=row["last_mono_ns"],
        listens=row["listens"],
    )


def _moved(tcp_info: Path | None) -> Mapping[int, Mapping[str, int]]:
    """By connection, what the first and the last sample count of each direction."""
    if tcp_info is None:
        return {}
    counts = {"acked": SENT_PAYLOAD, "received": RECEIVED_PAYLOAD}
    found = (
        pl.scan_parquet(tcp_info)
        .select("connection", **counts)
        .group_by("connection")
        .agg(*(pl.col(name).min().alias(f"{name}_first") for name in counts), *(pl.col(name).max() for name in counts))
        .collect(engine="streaming")
    )
    return {row.pop("connection"): row for row in found.iter_rows(named=True)}


def _counted(socket: Socket, moved: Mapping[str, int] | None) -> Socket:
    """The socket with its bytes; what moved before it was found is not known to be of the time of the watch."""
    if moved is None:
        return socket
    before = (0, 0) if socket.whole else (moved["acked_first"], moved["received_first"])
    return replace(
        socket,
        sent_bytes=max(0, moved["acked"] - before[0]),
        received_bytes=max(0, moved["received"] - before[1]),
    )


def endpoint(text: str) -> str:
    """An address with its port as it is compared and printed: IPv4 mapped to IPv6 as IPv4, and nothing that a terminal
    would obey.

    >>> endpoint("[::ffff:10.0.0.1]:80"), endpoint("[2001:DB8::0:1]:80")
    ('10.0.0.1:80', '[2001:db8::1]:80')
    """
    host, _, port = text.rpartition(":")
    bare, percent, zone = host.strip("[]").partition("%")
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return quoted(text, MAX_SHOWN)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    shown = mapped or address
    return quoted(f"{shown}:{port}" if shown.version == 4 else f"[{shown}{percent}{zone}]:{port}", MAX_SHOWN)


def paired(near: Sequence[Socket], far: Sequence[Socket], *, same_host: bool = False) -> list[WatchedEnds]:
    """The connections, those that moved most first.

    Two sockets are the ends of one connection when the addresses and ports of one are those of the other swapped, and
    both were there at the same time. Where a far side was watched too, the second end is there; otherwise both may be
    on this host. `same_host` says that both agents ran on one host: then a socket that both watched counts once.
    """
    if same_host:
        known = {(socket.cookie, socket.local, socket.remote) for socket in near}
        far = [socket for socket in far if (socket.cookie, socket.local, socket.remote) not in known]
    found = list(_across(near, far)) if far else list(_within(near))
    return sorted(found, key=lambda ends: (-ends.moved_bytes, ends.first.first_ns, ends.first.connection))


def _across(near: Sequence[Socket], far: Sequence[Socket]) -> Iterator[WatchedEnds]:
    # The clocks of two hosts are not compared here: sockets with the same ends follow each other in the same order.
    waiting: dict[tuple[str, str], list[Socket]] = {}
    for socket in far:
        waiting.setdefault((socket.remote, socket.local), []).append(socket)
    for socket in near:
        partners = waiting.get((socket.local, socket.remote))
        yield _ends(socket, partners.pop(0) if partners else None)
    for partners in waiting.values():
        for socket in partners:
            yield _ends(socket, None)


def _within(near: Sequence[Socket]) -> Iterator[WatchedEnds]:
    waiting: dict[tuple[str, str], list[Socket]] = {}
    alone: dict[int, Socket] = {}
    for socket in near:
        partners = waiting.get((socket.remote, socket.local), [])
        partner = next((other for other in partners if _overlap(socket, other)), None)
        if partner is None:
            waiting.setdefault((socket.local, socket.remote), []).append(socket)
            alone[socket.connection] = socket
            continue
        partners.remove(partner)
        del alone[partner.connection]
        # The near socket is the one that opened the connection, as in a trial of our own.
        yield _ends(partner, socket) if socket.listens or partner.listens is False else _ends(socket, partner)
    for socket in alone.values():
        yield _ends(socket, None)


def _overlap(first: Socket, second: Socket) -> bool:
    return first.first_ns <= second.last_ns and second.first_ns <= first.last_ns


def _ends(near: Socket, far: Socket | None) -> WatchedEnds:
    if far is None:
        return WatchedEnds({near.side: near}, {near.side: "sender" if _sends(near) else "receiver"})
    sends = _sends(near) if near.moved_bytes >= far.moved_bytes else not _sends(far)
    roles: dict[Host, Role] = {"near": "sender", "far": "receiver"} if sends else {"near": "receiver", "far": "sender"}
    return WatchedEnds({"near": near, "far": far}, roles)


def _sends(socket: Socket) -> bool:
    """True where most payload left here. Where nothing moved, who opened the connection is taken for the sender."""
    if socket.sent_bytes == socket.received_bytes:
        return not socket.listens
    return socket.sent_bytes > socket.received_bytes
