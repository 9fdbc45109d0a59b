"""What to change for each cause: factors of whyperf, and what a user of two real hosts does by hand.

Here alone the factors of the cell are looked at, once the verdict stands: to name the one that undoes the cause.
"""

from collections.abc import Callable, Mapping

from whyperf.explain.causes import Cause
from whyperf.explain.facts import Facts
from whyperf.explain.model import Change, Level
from whyperf.explain.rules.datagrams import is_reader_busy
from whyperf.explain.rules.finding import Finding

Factors = Mapping[str, object]

DEFAULT = "default"
NO_MODEL = "none"
_DEVICE = "DEV"
_LARGE_WRITE, _LARGE_MTU = 131_072, 9000


def change_for(finding: Finding, facts: Facts, factors: Factors) -> Change | None:
    """The change that undoes the cause; None where there is nothing to change."""
    made = _CHANGES.get(finding.cause)
    if made is None:
        return None
    change = made(finding, facts, factors)
    return _of_turned(change, facts) if facts.is_turned else change


_BY_ROLE = frozenset({"window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "pacing_rate_bps"})
"""Factors that shape what goes from the end that a trial calls the sender to the other one, and no other payload."""


def _of_turned(change: Change, facts: Facts) -> Change:
    """A change without the factors that would be made at the wrong end."""
    wrong = [name for name in change.factors if name in _BY_ROLE]
    if not wrong:
        return change
    why = f"{' and '.join(wrong)} would not do it: of a workload it shapes what the {facts.receiver.host} end sends."
    kept = {name: level for name, level in change.factors.items() if name not in _BY_ROLE}
    return change.model_copy(update={"factors": kept, "by_hand": f"{change.by_hand} {why}"})


def _receive_buffer(finding: Finding, _: Facts, factors: Factors) -> Change:
    wanted = _power(finding.targets.get("window_bytes", 1 << 20))
    return Change(
        factors=_buffer("receive_buffer_bytes", wanted, factors),
        by_hand="Leave SO_RCVBUF alone, so that the kernel sizes the buffer itself, or raise it; net.ipv4.tcp_rmem "
        "bounds what it may choose, net.core.rmem_max what setsockopt may.",
        command=f'sysctl -w net.ipv4.tcp_rmem="4096 131072 {2 * wanted}" net.core.rmem_max={2 * wanted}',
    )


def _send_buffer(finding: Finding, _: Facts, factors: Factors) -> Change:
    wanted = _power(finding.targets.get("buffer_bytes", 1 << 20))
    return Change(
        factors=_buffer("send_buffer_bytes", wanted, factors),
        by_hand="Leave SO_SNDBUF alone, so that the kernel sizes the buffer itself, or raise it; net.ipv4.tcp_wmem "
        "bounds what it may choose, net.core.wmem_max what setsockopt may.",
        command=f'sysctl -w net.ipv4.tcp_wmem="4096 16384 {2 * wanted}" net.core.wmem_max={2 * wanted}',
    )


def _buffer(name: str, wanted: int, factors: Factors) -> dict[str, Level]:
    """The factor that made the buffer what it is, back to the kernel's choice; where it was that already, a size."""
    if factors.get(name, DEFAULT) != DEFAULT:
        return {name: DEFAULT}
    if factors.get("window_bytes", DEFAULT) != DEFAULT:
        return {"window_bytes": DEFAULT}
    return {name: wanted}


def _power(value: float) -> int:
    """The next power of two."""
    return 1 << max(12, int(value - 1).bit_length())


def _mismatch(finding: Finding, _: Facts, factors: Factors) -> Change:
    window = _power(finding.targets.get("window_bytes", 65_536))
    # The kernel sizes a window as it needs it; a host of the model may have a small one of its own.
    is_set = factors.get("window_bytes", DEFAULT) != DEFAULT and factors.get("hosts", NO_MODEL) == NO_MODEL
    return Change(
        factors={"window_bytes": DEFAULT if is_set else window},
        by_hand=f"Let the window hold several writes: SO_RCVBUF and SO_SNDBUF of {window:,} bytes or the kernel's "
        "choice, or writes of a quarter of the window.",
        command="",
    )


def _without_thinking(factors: Factors) -> dict[str, Level]:
    """Steps that think, where the cell has any, do not."""
    return {"think_us": 0} if factors.get("think_us", 0) != 0 else {}


def _pauses(_: Finding, __: Facts, factors: Factors) -> Change:
    """A writer that sleeps, whatever it sleeps for."""
    changed: dict[str, Level] = {}
    if factors.get("write_rate_bps", DEFAULT) != DEFAULT:
        changed["write_rate_bps"] = DEFAULT
    return Change(
        factors=changed | _without_thinking(factors),
        by_hand="Write earlier, or more at once; strace shows what the program sleeps for.",
        command="strace -f -T -e trace=network,desc,read,write -p PID",
    )


def _reader(_: Finding, __: Facts, factors: Factors) -> Change:
    return Change(
        factors=_without_thinking(factors),
        by_hand="Read as soon as payload is there, in a thread of its own if what follows takes long; strace shows "
        "what the program does between its reads.",
        command="strace -f -T -e trace=network,desc,read,write -p PID",
    )


def _computing(_: Finding, __: Facts, factors: Factors) -> Change:
    return Change(
        factors=_without_thinking(factors),
        by_hand="Make the application's own work cheaper, or spread it over threads on other CPUs; perf shows where it "
        "spends its time.",
        command="perf top -p PID",
    )


def _round_trip(_: Finding, __: Facts, factors: Factors) -> Change:
    several: dict[str, Level] = (
        {"outstanding": 8} if factors.get("workload", "stream") != "stream" else {"connections": 8}
    )
    return Change(
        factors=several,
        by_hand="Have several requests under way at once (pipelining, or more connections), ask for more at a time, or "
        "move the ends closer together.",
        command="",
    )


def _fixed(levels: Mapping[str, Level], by_hand: str, command: str = "") -> Callable[[Finding, Facts, Factors], Change]:
    """A change that does not depend on figures. Factors of a path are named where the cell has one."""

    def change(_: Finding, __: Facts, factors: Factors) -> Change:
        has_path = any(factors.get(name, "none") != "none" for name in ("path_rtt_ms", "path_rate_bps", "path_loss"))
        made = {name: level for name, level in levels.items() if has_path or not name.startswith("path_")}
        return Change(factors=made, by_hand=by_hand, command=command)

    return change


def _bottleneck(finding: Finding, _: Facts, factors: Factors) -> Change:
    rate = factors.get("path_rate_bps", "none")
    made: dict[str, Level] = {"path_rate_bps": 2 * rate} if isinstance(rate, int) else {}
    line = finding.targets.get("line_bps")
    told = "" if line is None else f" of {line / 1e6:,.0f} Mbit/s"
    return Change(
        factors=made,
        by_hand=f"Find the line{told} (an interface's speed, a shaper, a policer, a busy link) and make it faster.",
        command=f"ethtool {_DEVICE}; tc -s qdisc show dev {_DEVICE}",
    )


def _shared(_: Finding, __: Facts, ___: Factors) -> Change:
    return Change(
        factors={"near_cpus": "auto", "far_cpus": "auto"},
        by_hand="Give both ends CPUs of their own, and steer receive processing away from the application's "
        "(/proc/irq/N/smp_affinity, rps_cpus).",
        command="taskset -pc CPU PID",
    )


def _receiver_loss(finding: Finding, facts: Facts, factors: Factors) -> Change:
    if facts.datagrams is None:
        return Change(
            factors={},
            by_hand="Enlarge the adapter's receive ring and the backlog, or steer receive processing to a CPU that has "
            "time.",
            command=f"ethtool -G {_DEVICE} rx 4096; sysctl -w net.core.netdev_max_backlog=10000",
        )
    wanted = _power(max(LARGE_DATAGRAM_BUFFER_BYTES, 4 * (facts.receiver.buffer_bytes or 0)))
    changed: dict[str, Level] = {"receive_buffer_bytes": wanted}
    if is_reader_busy(facts):
        # A buffer only puts off what a reader that is always behind must drop.
        taken = int(finding.targets.get("taken_bps", 0))
        changed = {"write_rate_bps": taken} if factors.get("datagram_merge") is True else {"datagram_merge": True}
    return Change(
        factors=changed,
        by_hand="Raise SO_RCVBUF (net.core.rmem_max bounds it) for bursts; take several datagrams with a call "
        "(recvmmsg, UDP_GRO), or read in several threads (SO_REUSEPORT), where the reader is too slow; or send no "
        "faster than it reads.",
        command=f"sysctl -w net.core.rmem_max={wanted}",
    )


LARGE_DATAGRAM_BUFFER_BYTES = 4 << 20
"""Room for some ms of a fast sender's datagrams, each of which counts with its buffer's size (skb->truesize)."""


def _tiny_writes(_: Finding, facts: Facts, __: Factors) -> Change:
    if facts.datagrams is not None:
        return Change(
            factors={"datagram_batch": 16},
            by_hand="Hand several datagrams to the kernel with a call: UDP_SEGMENT, or sendmmsg.",
            command="",
        )
    return Change(
        factors={"write_size_bytes": _LARGE_WRITE},
        by_hand="Collect what is to be sent in a buffer of 64 KiB and more, or hand over many pieces in one writev.",
        command="",
    )


def _connections(_: Finding, __: Facts, ___: Factors) -> Change:
    return Change(
        factors={"connections": 4}, by_hand="Send over fewer connections, each of which has more to send.", command=""
    )


_CHANGES: Mapping[Cause, Callable[[Finding, Facts, Factors], Change]] = {
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
    Cause.READ_SIZE: _fixed(
        {"read_size_bytes": _LARGE_WRITE}, "Read into a buffer of 64 to 256 KiB with each call (recv, read)."
    ),
    Cause.TINY_WRITES: _tiny_writes,
    Cause.RECEIVER_LOSS: _receiver_loss,
    Cause.NAGLE_DELAYED_ACK: _fixed(
        {"no_delay": True},
        "Send a message in one write (writev, MSG_MORE, TCP_CORK), or switch Nagle's rule off: setsockopt TCP_NODELAY.",
    ),
    Cause.DELAYED_ACK: _fixed(
        {"quick_ack": True},
        "Let the window hold four segments and more, or acknowledge at once: setsockopt TCP_QUICKACK, or quickack on "
        "the route.",
        f"ip route change ROUTE dev {_DEVICE} quickack 1",
    ),
    Cause.QUICK_ACK: _fixed(
        {"quick_ack": False},
        "Do not set TCP_QUICKACK, nor quickack on the route.",
        f"ip route change ROUTE dev {_DEVICE} quickack 0",
    ),
    Cause.PACING_RATE: _fixed(
        {"pacing_rate_bps": DEFAULT},
        "Do not set SO_MAX_PACING_RATE, or set it higher; a qdisc fq may have a maxrate too.",
        f"tc -s qdisc show dev {_DEVICE}",
    ),
    Cause.SLOW_START: _fixed(
        {},
        "Use a connection again instead of opening a new one, or begin with a larger congestion window.",
        f"ip route change ROUTE dev {_DEVICE} initcwnd 40",
    ),
    Cause.SMALL_QUEUE: _fixed(
        {"path_queue": "bdp"},
        "Give the bottleneck's queue room for a bandwidth-delay product, or send in smaller bursts: qdisc fq, or a "
        "congestion control that paces (bbr).",
        f"tc qdisc change dev {_DEVICE} root tbf rate RATE burst 32k limit BYTES",
    ),
    Cause.RANDOM_LOSS: _fixed(
        {"path_loss": 0.0},
        "Find where packets are lost (ethtool -S on both ends, cable, radio, a policer); a congestion control that "
        "does not take loss for congestion (bbr) suffers less.",
        f"ethtool -S {_DEVICE}; sysctl -w net.ipv4.tcp_congestion_control=bbr",
    ),
    Cause.BURST_LOSS: _fixed(
        {"path_loss": 0.0},
        "Find where packets are lost in a row (a link that goes down for moments, radio, a switch's shared buffer).",
        f"ethtool -S {_DEVICE}",
    ),
    Cause.REORDERING: _fixed(
        {"path_reorder": 0.0},
        "Send the packets of a connection over one path (a bond's transmit hash instead of round-robin, one queue), or "
        "let TCP allow for it.",
        "sysctl -w net.ipv4.tcp_reordering=30",
    ),
    Cause.ACK_THINNING: _fixed(
        {"path_ack_thinning": 1, "path_loss_back": 0.0},
        "Find what drops or merges ACKs on the way back (ACK filters of modems and of the qdisc cake, a full line).",
        f"tc -s qdisc show dev {_DEVICE}",
    ),
    Cause.SMALL_MTU: _fixed(
        {"mtu_bytes": _LARGE_MTU},
        "Raise the MTU on all of the path, if every device on it can.",
        f"ip link set dev {_DEVICE} mtu 9000",
    ),
    Cause.OFFLOADS_OFF: _fixed(
        {"tso": True, "gso": True, "gro": True},
        "Switch the segmentation offloads on at both ends.",
        f"ethtool -K {_DEVICE} tso on gso on gro on",
    ),
    Cause.OTHER_LOAD: _fixed(
        {},
        "End the other work, or keep it off these CPUs (cpuset, taskset, nice).",
        "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head",
    ),
}
