"""What to change for each cause: factors of whyperf, and what a user of two real hosts does by hand.

Here alone what a trial was set up with is looked at, once the verdict stands: to name the factor that undoes the cause.
Named are only factors that the planner takes for the cell and that change it, and commands that raise what a host has.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from whyperf.explain.causes import Cause
from whyperf.explain.model import Change, Level
from whyperf.explain.rules.commands import (
    DEVICE,
    OFFLOADS,
    is_host_wide,
    largest,
    raise_mtu,
    raise_sysctls,
    switch_on_offloads,
)
from whyperf.explain.rules.datagrams import is_reader_busy
from whyperf.explain.rules.finding import Finding
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts, HostFacts

DEFAULT = "default"
NO_MODEL = "none"
_LARGE_WRITE, _LARGE_MTU = 131_072, 9000
_STRACE = "strace -f -T -e trace=network,desc,read,write -p PID"
_SLOWS = "strace, which slows the program meanwhile, shows"


def change_for(finding: Finding, facts: Facts, setup: Setup) -> Change | None:
    """The change that undoes the cause; None where there is nothing to change."""
    made = _CHANGES.get(finding.cause)
    if made is None:
        return None
    change = made(finding, facts, setup)
    if facts.is_turned:
        change = _of_turned(change, facts, setup)
    return change.model_copy(
        update={"factors": setup.possible(change.factors), "is_host_wide": is_host_wide(change.command)}
    )


_BY_ROLE = frozenset({"window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "pacing_rate_bps"})
"""Factors that shape what goes from the end that a trial calls the sender to the other one, and no other payload."""
_OTHER_WAY = {"path_loss": "path_loss_back", "path_loss_back": "path_loss"}
"""Settings of the path's way forward by those of the way back, and the other way round."""
_ONE_WAY = frozenset({"path_reorder", "path_ack_thinning"})
"""Settings of the path that concern only payload that goes forward."""


def _of_turned(change: Change, facts: Facts, setup: Setup) -> Change:
    """A change without the factors that would be made at the wrong end, or on the path's other way."""
    wrong = [name for name in change.factors if name in _BY_ROLE]
    elsewhere = _BY_ROLE | _ONE_WAY
    if setup.level("path_rate_back_bps") != "same":
        elsewhere |= {"path_rate_bps"}
    kept = {_OTHER_WAY.get(name, name): level for name, level in change.factors.items() if name not in elsewhere}
    why = f" {' and '.join(wrong)} would not do it: of a workload it shapes what the {facts.receiver.host} end sends."
    return change.model_copy(update={"factors": kept, "by_hand": f"{change.by_hand}{why if wrong else ''}"})


def _receive_buffer(finding: Finding, facts: Facts, setup: Setup) -> Change:
    wanted = _power(finding.targets.get("window_bytes", 1 << 20))
    return Change(
        factors=_buffer("receive_buffer_bytes", wanted, "r", facts.receiver, setup),
        by_hand="Leave SO_RCVBUF alone, so that the kernel sizes the buffer itself, or raise it; net.ipv4.tcp_rmem "
        "bounds what it may choose, net.core.rmem_max what setsockopt may.",
        command=_bounds("receive_buffer_bytes", wanted, "r", facts.receiver, setup),
        command_host=facts.receiver.host,
    )


def _send_buffer(finding: Finding, facts: Facts, setup: Setup) -> Change:
    wanted = _power(finding.targets.get("buffer_bytes", 1 << 20))
    return Change(
        factors=_buffer("send_buffer_bytes", wanted, "w", facts.sender, setup),
        by_hand="Leave SO_SNDBUF alone, so that the kernel sizes the buffer itself, or raise it; net.ipv4.tcp_wmem "
        "bounds what it may choose, net.core.wmem_max what setsockopt may.",
        command=_bounds("send_buffer_bytes", wanted, "w", facts.sender, setup),
        command_host=facts.sender.host,
    )


def _setter(name: str, setup: Setup) -> str | None:
    """The factor that sets this buffer in the cell; None where the kernel sizes it."""
    return next((one for one in (name, "window_bytes") if setup.level(one) != DEFAULT), None)


def _buffer(name: str, wanted: int, letter: Literal["r", "w"], end: HostFacts, setup: Setup) -> dict[str, Level]:
    """The factor that made the buffer what it is, back to the kernel's choice; where it was that already, a size.

    Nothing where the host's limits keep the buffer from growing: what setsockopt asks for is cut, and doubled
    (sk_setsockopt, net/core/sock.c).
    """
    host, now = setup.hosts.get(end.host, {}), end.sockets.buffer_bytes or 0
    if factor := _setter(name, setup):
        chosen = largest(host, f"net.ipv4.tcp_{letter}mem")
        return {factor: DEFAULT} if chosen is None or chosen > now else {}
    asked = largest(host, f"net.core.{letter}mem_max")
    size = wanted if asked is None else min(wanted, asked)
    return {name: size} if 2 * size > now else {}


def _bounds(name: str, wanted: int, letter: Literal["r", "w"], end: HostFacts, setup: Setup) -> str:
    """The host's bounds of buffers, as high as the wanted one needs: half of a buffer is for what is beside payload.

    What setsockopt may ask for matters only where a program asks.
    """
    least: dict[str, tuple[int, ...]] = {f"net.ipv4.tcp_{letter}mem": (0, 0, 2 * wanted)}
    if _setter(name, setup):
        least[f"net.core.{letter}mem_max"] = (wanted,)
    return raise_sysctls(setup.hosts.get(end.host, {}), least)


def _power(value: float) -> int:
    """The next power of two."""
    return 1 << max(12, int(value - 1).bit_length())


def _more(name: str, level: int, setup: Setup) -> dict[str, Level]:
    """The factor at that level, where the cell has less."""
    now = setup.level(name)
    return {} if isinstance(now, int | float) and now >= level else {name: level}


def _less(name: str, level: int, setup: Setup) -> dict[str, Level]:
    """The factor at that level, where the cell has more, or no bound."""
    now = setup.level(name)
    return {} if isinstance(now, int | float) and now <= level else {name: level}


def _mismatch(finding: Finding, _: Facts, setup: Setup) -> Change:
    window = _power(finding.targets.get("window_bytes", 65_536))
    # The kernel sizes a window as it needs it; a host of the model may have a small one of its own.
    is_set = setup.level("window_bytes") != DEFAULT and setup.level("hosts") == NO_MODEL
    return Change(
        factors={"window_bytes": DEFAULT} if is_set else _more("window_bytes", window, setup),
        by_hand=f"Let the window hold several writes: SO_RCVBUF and SO_SNDBUF of {window:,} bytes or the kernel's "
        "choice, or writes of a quarter of the window.",
    )


def _pauses(_: Finding, __: Facts, ___: Setup) -> Change:
    """A writer that sleeps, whatever it sleeps for."""
    return Change(
        factors={"write_rate_bps": DEFAULT, "think_us": 0},
        by_hand=f"Write earlier, or more at once; {_SLOWS} what it sleeps for.",
        command=_STRACE,
    )


def _reader(_: Finding, facts: Facts, __: Setup) -> Change:
    return Change(
        factors={"think_us": 0},
        by_hand="Read as soon as payload is there, in a thread of its own if what follows takes long; "
        f"{_SLOWS} what it does between its reads.",
        command=_STRACE,
        command_host=facts.receiver.host,
    )


def _computing(_: Finding, __: Facts, ___: Setup) -> Change:
    return Change(
        factors={"think_us": 0},
        by_hand="Make the application's own work cheaper, or spread it over threads on other CPUs; perf shows where it "
        "spends its time.",
        command="perf top -p PID",
    )


SEVERAL = 8
"""Exchanges that share a wait."""


def _round_trip(_: Finding, __: Facts, setup: Setup) -> Change:
    now = setup.level("outstanding")
    several = setup.possible(_more("outstanding", SEVERAL * now if isinstance(now, int) else SEVERAL, setup))
    if setup.level("outstanding") == 1 and not several:
        several = _more("connections", SEVERAL, setup)
    return Change(
        factors=several,
        by_hand="Have several requests under way at once (pipelining, or more connections), ask for more at a time, or "
        "move the ends closer together.",
    )


def _fixed(
    levels: Mapping[str, Level], by_hand: str, command: str = "", *, at: Literal["", "sender", "receiver"] = ""
) -> Callable[[Finding, Facts, Setup], Change]:
    """A change that does not depend on figures; the command is for the host `at` one end, or any."""

    def change(_: Finding, facts: Facts, __: Setup) -> Change:
        host = {"": "", "sender": facts.sender.host, "receiver": facts.receiver.host}[at]
        return Change(factors=dict(levels), by_hand=by_hand, command=command, command_host=host)

    return change


def _bottleneck(finding: Finding, facts: Facts, setup: Setup) -> Change:
    rate = setup.level("path_rate_bps")
    if facts.datagrams is not None:
        return Change(
            factors={},
            by_hand="Send no faster than arrives; half of the rate shows whether fewer are lost.",
            command=f"ethtool {DEVICE}; tc -s qdisc show dev {DEVICE}",
        )
    line = finding.targets.get("line_bps")
    named = "" if line is None else f" of {line / 1e6:,.0f} Mbit/s"
    return Change(
        factors={"path_rate_bps": 2 * rate} if isinstance(rate, int) else {},
        by_hand=f"Find the line{named} (an interface's speed, a shaper, a policer, a busy link) and make it faster.",
        command=f"ethtool {DEVICE}; tc -s qdisc show dev {DEVICE}",
    )


def _losses(finding: Finding, facts: Facts, setup: Setup) -> Change:
    """Losses on the path that are no queue's."""
    if facts.datagrams is not None:
        by_hand = "Find where datagrams are lost (ethtool -S and tc -s qdisc on both hosts, cable, radio, a policer)."
    elif finding.cause is Cause.BURST_LOSS:
        by_hand = (
            "Find where packets are lost in a row (a link that goes down for moments, radio, a switch's shared buffer)."
        )
    else:
        by_hand = "Find where packets are lost (ethtool -S on both ends, cable, radio, a policer)."
        if not _is_bbr(setup):
            by_hand += (
                " A congestion control that does not take loss for congestion (bbr, by setsockopt TCP_CONGESTION for "
                "one connection) suffers less."
            )
    return Change(factors={"path_loss": 0.0}, by_hand=by_hand, command=f"ethtool -S {DEVICE}")


def _is_bbr(setup: Setup) -> bool:
    return str(setup.level("congestion_control")).startswith("bbr")


def _small_queue(_: Finding, __: Facts, setup: Setup) -> Change:
    paces = "qdisc fq" if _is_bbr(setup) else "qdisc fq, or a congestion control that paces (bbr)"
    return Change(
        factors={"path_queue": "bdp"},
        by_hand="Give the bottleneck's queue room for a bandwidth-delay product (tc shows its limit), or send in "
        f"smaller bursts: {paces}.",
        command=f"tc -s qdisc show dev {DEVICE}",
    )


def _reordering(_: Finding, facts: Facts, setup: Setup) -> Change:
    host = setup.hosts.get(facts.sender.host, {})
    return Change(
        factors={"path_reorder": 0.0},
        by_hand="Send the packets of a connection over one path (a bond's transmit hash instead of round-robin, one "
        "queue), or let TCP allow for it (net.ipv4.tcp_reordering).",
        command=raise_sysctls(host, {"net.ipv4.tcp_reordering": (REORDERING_SEGMENTS,)}),
        command_host=facts.sender.host,
    )


REORDERING_SEGMENTS = 30
"""By how many segments one may come late without being taken for lost."""


def _shared(_: Finding, facts: Facts, setup: Setup) -> Change:
    cpus = [setup.hosts.get(end.host, {}).get("cpus") for end in (facts.sender, facts.receiver)]
    is_single = any(found is not None and len(found) < 2 for found in cpus)
    return Change(
        # Halves of one CPU are the same CPU.
        factors={} if is_single else {"near_cpus": "auto", "far_cpus": "auto"},
        by_hand="Give both ends CPUs of their own, and steer receive processing away from the application's "
        "(/proc/irq/N/smp_affinity, rps_cpus).",
        command="" if is_single else "taskset -pc CPU PID",
    )


def _receiver_loss(finding: Finding, facts: Facts, setup: Setup) -> Change:
    host = setup.hosts.get(facts.receiver.host, {})
    if facts.datagrams is None:
        backlog = raise_sysctls(host, {"net.core.netdev_max_backlog": (BACKLOG_PACKETS,)})
        return Change(
            by_hand="Enlarge the adapter's receive ring (ethtool -G, up to the maximum that ethtool -g shows) and the "
            "backlog (net.core.netdev_max_backlog), or steer receive processing to a CPU that has time.",
            command="; ".join(one for one in (f"ethtool -g {DEVICE}", backlog) if one),
            command_host=facts.receiver.host,
        )
    wanted = _power(max(LARGE_DATAGRAM_BUFFER_BYTES, 4 * (facts.receiver.sockets.buffer_bytes or 0)))
    limit = largest(host, "net.core.rmem_max")
    size = wanted if limit is None else min(wanted, limit)
    changed: dict[str, Level] = {}
    if is_reader_busy(facts):
        # A buffer only puts off what a reader that is always behind must drop.
        taken = int(finding.targets.get("taken_bps", 0))
        changed = (
            _less("write_rate_bps", taken, setup) if setup.level("datagram_merge") is True else {"datagram_merge": True}
        )
    elif 2 * size > (facts.receiver.sockets.buffer_bytes or 0):
        changed = _more("receive_buffer_bytes", size, setup)
    return Change(
        factors=changed,
        by_hand="Raise SO_RCVBUF (net.core.rmem_max bounds it) for bursts; take several datagrams with a call "
        "(recvmmsg, UDP_GRO), or read in several threads (SO_REUSEPORT), where the reader is too slow; or send no "
        "faster than it reads.",
        command="" if is_reader_busy(facts) else raise_sysctls(host, {"net.core.rmem_max": (wanted,)}),
        command_host=facts.receiver.host,
    )


BACKLOG_PACKETS = 10_000
"""Packets that may wait for a CPU's receive processing."""
LARGE_DATAGRAM_BUFFER_BYTES = 4 << 20
"""Room for some ms of a fast sender's datagrams, each of which counts with its buffer's size (skb->truesize)."""


def _tiny_writes(_: Finding, facts: Facts, setup: Setup) -> Change:
    if facts.datagrams is not None:
        return Change(
            factors=_more("datagram_batch", 16, setup),
            by_hand="Hand several datagrams to the kernel with a call: UDP_SEGMENT, or sendmmsg.",
        )
    return Change(
        factors=_more("write_size_bytes", _LARGE_WRITE, setup),
        by_hand="Collect what is to be sent in a buffer of 64 KiB and more, or hand over many pieces in one writev.",
    )


def _read_size(_: Finding, facts: Facts, setup: Setup) -> Change:
    is_small = (facts.receiver.calls.bytes_mean or 0) < _LARGE_WRITE
    return Change(
        factors=(_more if is_small else _less)("read_size_bytes", _LARGE_WRITE, setup),
        by_hand="Read into a buffer of 64 to 256 KiB with each call (recv, read).",
    )


def _connections(_: Finding, __: Facts, setup: Setup) -> Change:
    return Change(
        factors=_less("connections", 4, setup),
        by_hand="Send over fewer connections, each of which has more to send.",
    )


def _small_mtu(_: Finding, facts: Facts, setup: Setup) -> Change:
    """A larger MTU; where the cell asks for small segments itself, larger segments."""
    if setup.level("mss_bytes") != DEFAULT:
        return Change(
            factors={"mss_bytes": DEFAULT},
            by_hand="Do not set TCP_MAXSEG, nor advmss on the route, so that segments fill the MTU.",
        )
    commands = {end.host: raise_mtu(_mtu_bytes(end, setup), _LARGE_MTU) for end in (facts.sender, facts.receiver)}
    command, host = _at_hosts(commands)
    return Change(
        factors=_more("mtu_bytes", _LARGE_MTU, setup),
        by_hand="Raise the MTU on all of the path, if every device on it can.",
        command=command,
        command_host=host,
    )


def _mtu_bytes(end: HostFacts, setup: Setup) -> int | None:
    if setup.testbed == "veth":
        return int(setup.level("mtu_bytes"))
    found = setup.devices.get(end.host, {}).get("mtu_bytes")
    return None if found is None else int(found)


def _offloads_off(_: Finding, facts: Facts, setup: Setup) -> Change:
    commands = {end.host: switch_on_offloads(_offloads(end, setup)) for end in (facts.sender, facts.receiver)}
    command, host = _at_hosts(commands)
    return Change(
        factors=dict.fromkeys(OFFLOADS, True),
        by_hand="Switch the segmentation offloads on at both ends.",
        command=command,
        command_host=host,
    )


def _offloads(end: HostFacts, setup: Setup) -> Mapping[str, bool] | None:
    if setup.testbed == "veth":
        return {name: setup.level(name) is True for name in OFFLOADS}
    return setup.devices.get(end.host, {}).get("offloads")


def _at_hosts(commands: Mapping[str, str]) -> tuple[str, str]:
    """The command, and the host that needs it; "" for the host where both do."""
    needed = {host: command for host, command in commands.items() if command}
    if not needed:
        return "", ""
    # What is known of one host stands before what has to be looked up on the other.
    host = max(needed, key=lambda one: is_host_wide(needed[one]))
    is_both = len(needed) > 1 and len(set(needed.values())) == 1
    return needed[host], "" if is_both else host


_WHOLE_ROUTE = "ROUTE is its whole line in ip route show: what is left out of it is lost."

_CHANGES: Mapping[Cause, Callable[[Finding, Facts, Setup], Change]] = {
    Cause.RECEIVE_BUFFER: _receive_buffer,
    Cause.SEND_BUFFER: _send_buffer,
    Cause.WRITE_WINDOW_MISMATCH: _mismatch,
    Cause.SLOW_WRITER: _pauses,
    Cause.THINK_TIME: _pauses,
    Cause.SLOW_READER: _reader,
    Cause.SENDER_CPU: _computing,
    Cause.RECEIVER_CPU: _computing,
    Cause.ROUND_TRIP: _round_trip,
    Cause.BOTTLENECK: _bottleneck,
    Cause.SHARED_CPU: _shared,
    Cause.MANY_CONNECTIONS: _connections,
    Cause.READ_SIZE: _read_size,
    Cause.TINY_WRITES: _tiny_writes,
    Cause.RECEIVER_LOSS: _receiver_loss,
    Cause.NAGLE_DELAYED_ACK: _fixed(
        {"no_delay": True},
        "Send a message in one write (writev, MSG_MORE, TCP_CORK), or switch Nagle's rule off: setsockopt TCP_NODELAY.",
    ),
    Cause.DELAYED_ACK: _fixed(
        {"quick_ack": True},
        "Let the window hold four segments and more, or acknowledge at once: setsockopt TCP_QUICKACK, or quickack on "
        f"the route. {_WHOLE_ROUTE}",
        "ip route change ROUTE quickack 1",
        at="receiver",
    ),
    Cause.QUICK_ACK: _fixed(
        {"quick_ack": False},
        f"Do not set TCP_QUICKACK, nor quickack on the route. {_WHOLE_ROUTE}",
        "ip route change ROUTE quickack 0",
        at="receiver",
    ),
    Cause.PACING_RATE: _fixed(
        {"pacing_rate_bps": DEFAULT},
        "Do not set SO_MAX_PACING_RATE, or set it higher; a qdisc fq may have a maxrate too.",
        f"tc -s qdisc show dev {DEVICE}",
        at="sender",
    ),
    Cause.SLOW_START: _fixed(
        {},
        "Use a connection again instead of opening a new one, or begin with a larger congestion window (initcwnd of "
        "the route, 10 where ip route shows none).",
        "ip route show",
        at="sender",
    ),
    Cause.SMALL_QUEUE: _small_queue,
    Cause.RANDOM_LOSS: _losses,
    Cause.BURST_LOSS: _losses,
    Cause.REORDERING: _reordering,
    Cause.ACK_THINNING: _fixed(
        {"path_ack_thinning": 1, "path_loss_back": 0.0},
        "Find what drops or merges ACKs on the way back (ACK filters of modems and of the qdisc cake, a full line).",
        f"tc -s qdisc show dev {DEVICE}",
    ),
    Cause.SMALL_MTU: _small_mtu,
    Cause.OFFLOADS_OFF: _offloads_off,
    Cause.OTHER_LOAD: _fixed(
        {},
        "End the other work, or keep it off these CPUs (cpuset, taskset, nice).",
        "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head",
    ),
}
