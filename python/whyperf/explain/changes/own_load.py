"""Changes for each cause: factors of whyperf, and what a user of two real hosts does by hand.

Here alone what a trial was set up with is looked at, once the verdict stands: to name the factor that undoes the cause.
Named are only factors that the planner takes for the cell and that change it, and commands that raise what a host has.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import (
    DEFAULT,
    DEVICE,
    HOST,
    OFFLOADS,
    bounds_of_buffer,
    is_host_wide,
    largest,
    raise_mtu,
    raise_sysctls,
    setter_of_buffer,
    size_of_buffer,
    switch_on_offloads,
)
from whyperf.explain.changes.cost_remedies import fast_queue, has_small_calls, remedy_for, starved_alpha
from whyperf.explain.changes.other_programs import with_steps
from whyperf.explain.explanation import Change, Level, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.limits.costs import BY_CLASS
from whyperf.explain.limits.limit import Limit
from whyperf.explain.limits.losses import is_reader_busy
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import known, render
from whyperf.profile.options import TRANSPORTS

NO_MODEL = "none"
_LARGE_WRITE, _LARGE_MTU = 131_072, 9000
_STRACE = "strace -f -T -e trace=network,desc,read,write -p PID"


def change_for(limit: Limit, facts: Facts, setup: Setup) -> Change | None:
    """The change that undoes the cause; None where there is nothing to change."""
    made = _CHANGES.get(limit.cause)
    if made is None:
        return None
    change = made(limit, facts, setup)
    if change is None:
        return None
    if facts.is_watched:
        return with_steps(change, limit, facts, setup)
    if not setup.has_linux_only:
        by_hand = render("remedy", f"{change.code}.not_linux", change.values)
        change = change.model_copy(update={"by_hand": by_hand, "command": "", "command_host": ""})
    if facts.is_turned:
        change = _of_turned(change, facts, setup)
    return change.model_copy(
        update={"factors": setup.possible(change.factors), "is_host_wide": is_host_wide(change.command)}
    )


_BY_ROLE = frozenset({"window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "pacing_rate_bps"})
"""Factors that affect what goes from the host that a trial calls the sender to the other one, and no other payload."""
_REVERSE = {"path_loss": "path_loss_back", "path_loss_back": "path_loss"}
"""Settings of the path's forward direction by those of the reverse direction, and the other way round."""
_FORWARD_ONLY = frozenset({"path_reorder", "path_ack_thinning"})
"""Settings of the path that affect only payload in the forward direction."""


def _of_turned(change: Change, facts: Facts, setup: Setup) -> Change:
    """A change without the factors that would act on the wrong host, or on the path's other direction."""
    wrong = [name for name in change.factors if name in _BY_ROLE]
    elsewhere = _BY_ROLE | _FORWARD_ONLY
    if setup.level("path_rate_back_bps") != "same":
        elsewhere |= {"path_rate_bps"}
    kept = {_REVERSE.get(name, name): level for name, level in change.factors.items() if name not in elsewhere}
    change = change.model_copy(update={"factors": kept})
    if not wrong:
        return change
    why = render("remedy", "wrong_side", {"factors": wrong, "host": facts.receiver.host})
    values = {**change.values, "wrong_factors": wrong, "wrong_host": facts.receiver.host}
    return change.model_copy(update={"by_hand": f"{change.by_hand} {why}", "values": values})


def _change(
    code: str, factors: Mapping[str, Level], command: str = "", host: str = "", **values: Value | None
) -> Change:
    """A change with its text; `command` is for the `host`, or for any."""
    return Change(
        code=code,
        values=known(values),
        factors=dict(factors),
        by_hand=render("remedy", code, values),
        command=command,
        command_host=host,
    )


def _is_library(facts: Facts) -> bool:
    """True where a library over UDP carries the payload: options and settings of the kernel's TCP change nothing."""
    carries = TRANSPORTS.get(facts.transport)
    return carries is not None and carries.is_library


def _is_tcp(facts: Facts) -> bool:
    """True where the kernel's TCP carries the payload. (TLS has its facts.)"""
    return facts.transport in {"tcp", "mptcp"}


def _receive_buffer(limit: Limit, facts: Facts, setup: Setup) -> Change:
    wanted = _power(limit.targets.get("window_bytes", 1 << 20))
    if _is_library(facts):
        factor = setter_of_buffer("receive_buffer_bytes", setup)
        # The libraries' own defaults are larger than what a path needs before their buffer is the limit.
        levels: Mapping[str, Level] = {factor: DEFAULT} if factor else {"receive_buffer_bytes": wanted}
        return _change(f"receive_buffer.{facts.transport}", levels)
    return _change(
        "receive_buffer",
        size_of_buffer("receive_buffer_bytes", wanted, "r", facts.receiver, setup),
        bounds_of_buffer("receive_buffer_bytes", wanted, "r", facts.receiver, setup),
        facts.receiver.host,
    )


def _send_buffer(limit: Limit, facts: Facts, setup: Setup) -> Change:
    wanted = _power(limit.targets.get("buffer_bytes", 1 << 20))
    return _change(
        "send_buffer" if setter_of_buffer("send_buffer_bytes", setup) else "send_buffer.of_kernel",
        size_of_buffer("send_buffer_bytes", wanted, "w", facts.sender, setup),
        bounds_of_buffer("send_buffer_bytes", wanted, "w", facts.sender, setup),
        facts.sender.host,
    )


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


def _mismatch(limit: Limit, _: Facts, setup: Setup) -> Change:
    window = _power(limit.targets.get("window_bytes", 65_536))
    # The kernel sizes a window as it needs it; a host of the model may have a small one of its own.
    is_set = setup.level("window_bytes") != DEFAULT and setup.level("hosts") == NO_MODEL
    factors = {"window_bytes": DEFAULT} if is_set else _more("window_bytes", window, setup)
    return _change("write_window_mismatch", factors, window_bytes=window)


def _pauses(limit: Limit, _: Facts, __: Setup) -> Change:
    """A writer that sleeps, whatever it sleeps for; what the workload itself pauses needs no search."""
    if limit.code == "think_time.asked":
        return _change(limit.code, {"think_us": 0})
    return _change(str(limit.cause), {"write_rate_bps": DEFAULT, "think_us": 0}, _STRACE)


def _asked_rate(_: Limit, facts: Facts, setup: Setup) -> Change:
    """A higher rate: for a stream any, for datagrams and transactions twice the present one."""
    if facts.datagrams is not None:
        rate = setup.level("write_rate_bps")
        return _change("asked_rate", {"write_rate_bps": 2 * rate} if isinstance(rate, int) else {})
    offered = setup.level("offered_rate_per_s")
    if isinstance(offered, int | float) and not isinstance(offered, bool):
        return _change("asked_rate", {"offered_rate_per_s": 2.0 * offered})
    return _change("asked_rate", {"write_rate_bps": DEFAULT})


def _kept_open(_: Limit, facts: Facts, setup: Setup) -> Change:
    """Connections that stay open; the shipped workload crr has the same exchange on such connections in rr."""
    levels: Mapping[str, Level] = {"workload": "rr"} if setup.level("workload") == "crr" else {}
    if not _is_tcp(facts):
        return _change("connection_setup.not_tcp", levels)
    return _change("connection_setup", levels, "ip route show")


def _reader(_: Limit, facts: Facts, __: Setup) -> Change:
    return _change("slow_reader", {"think_us": 0}, _STRACE, facts.receiver.host)


def _computing(limit: Limit, facts: Facts, setup: Setup) -> Change:
    if limit.variant.endswith("sampled"):
        return _of_cost(limit, facts, setup) or _change("cost.other", {})
    if limit.variant in {"packets", "packets.written"}:
        return _change("costly_packets", {}, "nft list ruleset")
    if limit.variant == "encrypting":
        return _change("encrypting", {}, "perf top -p PID")
    return _change(str(limit.cause), {"think_us": 0}, "perf top -p PID")


SEVERAL = 8
"""Exchanges that share a wait."""


def _round_trip(_: Limit, __: Facts, setup: Setup) -> Change:
    now = setup.level("outstanding")
    several = setup.possible(_more("outstanding", SEVERAL * now if isinstance(now, int) else SEVERAL, setup))
    if setup.level("outstanding") == 1 and not several:
        several = _more("connections", SEVERAL, setup)
    return _change("round_trip", several)


def _fixed(
    levels: Mapping[str, Level], command: str = "", *, at: Literal["", "sender", "receiver"] = ""
) -> Callable[[Limit, Facts, Setup], Change]:
    """A change that does not depend on figures; the command is for the host `at` one side, or any."""

    def change(limit: Limit, facts: Facts, _: Setup) -> Change:
        host = {"": "", "sender": facts.sender.host, "receiver": facts.receiver.host}[at]
        return _change(str(limit.cause), levels, command, host)

    return change


def _bottleneck(limit: Limit, facts: Facts, setup: Setup) -> Change:
    rate = setup.level("path_rate_bps")
    command = f"ethtool {DEVICE}; tc -s qdisc show dev {DEVICE}"
    if facts.datagrams is not None:
        decided = isinstance(rate, int) and limit.variant == "datagrams.full"
        return _change("bottleneck.datagrams", {"path_rate_bps": 2 * rate} if decided else {}, command)
    kind = limit.variant.partition(".")[0]
    if kind == "regrown" and (alpha := starved_alpha(setup)) is not None:
        return _change("small_queue.fast", {"path_queue": f"{fast_queue(alpha, setup)}p"}, command, alpha_count=alpha)
    faster: Mapping[str, Level] = {"path_rate_bps": 2 * rate} if isinstance(rate, int) else {}
    code = f"bottleneck.{kind}" if kind in {"regrown", "unfilled"} else "bottleneck"
    return _change(code, faster, command, link_bps=limit.targets.get("line_bps"))


def _losses(limit: Limit, facts: Facts, setup: Setup) -> Change:
    """Losses on the path that are no queue's."""
    code = str(limit.cause)
    if limit.variant == "outage":
        return _change("burst_loss.outage", {}, f"ethtool -S {DEVICE}")
    if facts.datagrams is not None:
        code = "random_loss.datagrams"
    elif limit.variant == "exchanges":
        code = str(limit.cause)
    elif limit.cause is not Cause.BURST_LOSS and not _is_bbr(setup):
        # Only where the transport has other congestion controls.
        code = "random_loss.not_bbr" if _is_tcp(facts) else "random_loss.quic" if facts.transport == "quic" else code
    return _change(code, {"path_loss": 0.0}, f"ethtool -S {DEVICE}")


def _ack_path(limit: Limit, _: Facts, __: Setup) -> Change:
    if limit.variant == "outage":
        return _change("burst_loss.outage", {"path_loss_back": 0.0}, f"ethtool -S {DEVICE}")
    levels: dict[str, Level] = {"path_rate_back_bps": "none", "path_loss_back": 0.0}
    return _change("ack_path", levels, f"tc -s qdisc show dev {DEVICE}")


def _is_bbr(setup: Setup) -> bool:
    return str(setup.level("congestion_control")).startswith("bbr")


def _small_queue(_: Limit, facts: Facts, setup: Setup) -> Change:
    if not _is_tcp(facts):
        code = "small_queue.quic" if facts.transport == "quic" and not _is_bbr(setup) else "small_queue.not_tcp"
        return _change(code, {"path_queue": "bdp"}, f"tc -s qdisc show dev {DEVICE}")
    if (alpha := starved_alpha(setup)) is not None:
        levels: Mapping[str, Level] = {"path_queue": f"{fast_queue(alpha, setup)}p"}
        return _change("small_queue.fast", levels, f"tc -s qdisc show dev {DEVICE}", alpha_count=alpha)
    code = "small_queue" if _is_bbr(setup) else "small_queue.not_bbr"
    return _change(code, {"path_queue": "bdp"}, f"tc -s qdisc show dev {DEVICE}")


def _reordering(_: Limit, facts: Facts, setup: Setup) -> Change:
    host = setup.hosts.get(facts.sender.host, {})
    command = raise_sysctls(host, {"net.ipv4.tcp_reordering": (REORDERING_SEGMENTS,)})
    return _change("reordering", {"path_reorder": 0.0}, command, facts.sender.host)


REORDERING_SEGMENTS = 30
"""By how many segments one may come late without being taken for lost."""


def _shared(_: Limit, facts: Facts, setup: Setup) -> Change:
    cpus = [setup.hosts.get(end.host, {}).get("cpus") for end in (facts.sender, facts.receiver)]
    is_single = any(found is not None and len(found) < 2 for found in cpus)
    # Halves of one CPU are the same CPU.
    factors: Mapping[str, Level] = {} if is_single else {"near_cpus": "auto", "far_cpus": "auto"}
    return _change("shared_cpu", factors, "" if is_single else "taskset -pc CPU PID")


def _receiver_loss(limit: Limit, facts: Facts, setup: Setup) -> Change:
    host = setup.hosts.get(facts.receiver.host, {})
    if facts.datagrams is None:
        backlog = raise_sysctls(host, {"net.core.netdev_max_backlog": (BACKLOG_PACKETS,)})
        command = "; ".join(filter(None, (f"ethtool -g {DEVICE}", backlog)))
        return _change("receiver_loss", {}, command, facts.receiver.host)
    wanted = _power(max(LARGE_DATAGRAM_BUFFER_BYTES, 4 * (facts.receiver.sockets.buffer_bytes or 0)))
    most = largest(host, "net.core.rmem_max")
    size = wanted if most is None else min(wanted, most)
    changed: dict[str, Level] = {}
    if is_reader_busy(facts):
        # A buffer only puts off what a reader that is always behind must drop.
        taken = int(limit.targets.get("taken_bps", 0))
        changed = (
            _less("write_rate_bps", taken, setup) if setup.level("datagram_merge") is True else {"datagram_merge": True}
        )
    elif 2 * size > (facts.receiver.sockets.buffer_bytes or 0):
        changed = _more("receive_buffer_bytes", size, setup)
    command = "" if is_reader_busy(facts) else raise_sysctls(host, {"net.core.rmem_max": (wanted,)})
    return _change("receiver_loss.datagrams", changed, command, facts.receiver.host)


BACKLOG_PACKETS = 10_000
"""Packets that may wait for a CPU's receive processing."""
LARGE_DATAGRAM_BUFFER_BYTES = 4 << 20
"""Room for some ms of a fast sender's datagrams, each of which counts with its buffer's size (skb->truesize)."""


def _tiny_writes(_: Limit, facts: Facts, setup: Setup) -> Change:
    if facts.datagrams is not None:
        return _change("tiny_writes.datagrams", _more("datagram_batch", 16, setup))
    code = "tiny_writes.library" if _is_library(facts) else "tiny_writes"
    return _change(code, _more("write_size_bytes", _LARGE_WRITE, setup))


def _read_size(_: Limit, facts: Facts, setup: Setup) -> Change:
    is_small = (facts.receiver.calls.bytes_mean or 0) < _LARGE_WRITE
    return _change("read_size", (_more if is_small else _less)("read_size_bytes", _LARGE_WRITE, setup))


def _connections(_: Limit, __: Facts, setup: Setup) -> Change:
    return _change("many_connections", _less("connections", 4, setup))


def _cpu_quota(limit: Limit, facts: Facts, _: Setup) -> Change:
    end = _end_of(limit, facts)
    quota = end.limits.quota
    if limit.variant == "unseen":
        return _change("cpu_quota.unseen", {}, "systemd-cgtop --once", end.host, **_named(limit, "role"))
    group = "" if quota is None else quota.group.rstrip("/")
    is_new = quota is not None and quota.kind == "cgroup v2"
    files = f"/sys/fs/cgroup{group}/cpu.max" if is_new else f"/sys/fs/cgroup/cpu{group}/cpu.cfs_quota_us"
    stat = f"{files.rpartition('/')[0]}/cpu.stat"
    return _change("cpu_quota", {}, f"cat {files} {stat}", end.host, **_named(limit, "group", "role"))


def _named(limit: Limit, *names: str) -> dict[str, Value | None]:
    """Values of the limit that its change names as well."""
    return {name: limit.values.get(name) for name in names}


def _end_of(limit: Limit, facts: Facts) -> HostFacts:
    """The side that the limit is about."""
    return facts.receiver if limit.values.get("role") == "receiver" else facts.sender


def _pause(limit: Limit, facts: Facts, _: Setup) -> Change:
    return _change("pause", {}, "cat /proc/PID/status /proc/PID/wchan", _end_of(limit, facts).host)


def _memory_limit(limit: Limit, facts: Facts, _: Setup) -> Change:
    end = _end_of(limit, facts)
    memory = end.limits.memory
    if memory is None:
        return _change("memory_limit", {}, "nstat -az; sysctl net.ipv4.tcp_mem", end.host)
    is_new = memory.kind == "cgroup v2"
    folder = f"/sys/fs/cgroup{'' if is_new else '/memory'}{memory.group.rstrip('/')}"
    command = f"cat {folder}/{'memory.max' if is_new else 'memory.limit_in_bytes'}"
    return _change("memory_limit.group", {}, command, end.host, **_named(limit, "group", "role"))


def _local_queue(limit: Limit, facts: Facts, _: Setup) -> Change:
    command = f"tc -s qdisc show dev {limit.values.get('device', DEVICE)}"
    return _change(limit.code, {}, command, facts.sender.host, **_named(limit, "device", "kind"))


def _window_scaling(_: Limit, facts: Facts, setup: Setup) -> Change:
    """The setting of the host that has it off; where both have it on, something between them removes the option."""
    name = "net.ipv4.tcp_window_scaling"
    off = [end.host for end in (facts.sender, facts.receiver) if largest(setup.hosts.get(end.host, {}), name) == 0]
    if not off:
        return _change("window_scaling", {}, f"sysctl {name}")
    # Both hosts need it where both lack it; then the command is for any.
    return _change("window_scaling.host", {}, f"sysctl -w {name}=1", off[0] if len(off) == 1 else "", hosts=off)


def _small_mtu(_: Limit, facts: Facts, setup: Setup) -> Change:
    """A larger MTU; where the cell asks for small segments itself, larger segments."""
    if setup.level("mss_bytes") != DEFAULT:
        return _change("small_mtu.mss", {"mss_bytes": DEFAULT})
    mss, mtus = facts.sender.sockets.mss_bytes, [_mtu_bytes(end, setup) for end in (facts.sender, facts.receiver)]
    if mss is not None and all(mtu is not None and mtu >= mss + MAX_HEADERS_BYTES for mtu in mtus):
        # What keeps segments small is no device of either host, so a larger MTU there changes nothing.
        return _change("small_mtu.clamped", {}, f"tracepath {HOST}", mtu_bytes=min(mtu for mtu in mtus if mtu))
    commands = {end.host: raise_mtu(_mtu_bytes(end, setup), _LARGE_MTU) for end in (facts.sender, facts.receiver)}
    command, host = _at_hosts(commands)
    return _change("small_mtu", _more("mtu_bytes", _LARGE_MTU, setup), command, host)


MAX_HEADERS_BYTES = 140
"""Headers of IPv6 and TCP with all their options (60 + 60), and some room: an MTU this much above the MSS is not what
bounds it."""


def _mtu_bytes(end: HostFacts, setup: Setup) -> int | None:
    if setup.testbed == "veth":
        return int(setup.level("mtu_bytes"))
    found = setup.devices.get(end.host, {}).get("mtu_bytes")
    return None if found is None else int(found)


def _offloads_off(_: Limit, facts: Facts, setup: Setup) -> Change:
    commands = {end.host: switch_on_offloads(_offloads(end, setup)) for end in (facts.sender, facts.receiver)}
    command, host = _at_hosts(commands)
    return _change("offloads_off", dict.fromkeys(OFFLOADS, True), command, host)


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
    host = max(needed, key=lambda name: is_host_wide(needed[name]))
    is_both = len(needed) > 1 and len(set(needed.values())) == 1
    return needed[host], "" if is_both else host


def _of_cost(limit: Limit, facts: Facts, setup: Setup) -> Change | None:
    """Change that removes the class of cost that samples show; None where nothing is known to."""
    named = "changed_class" if limit.cause is Cause.CAPACITY else "cost_class"
    name, role = limit.values.get(named), str(limit.values.get("role"))
    remedy = remedy_for(name, role, facts) if isinstance(name, str) else None
    if remedy is None:
        return None
    if remedy.like is not None:
        return _CHANGES[remedy.like](limit, facts, setup)
    end = _end_of(limit, facts)
    factors = {} if remedy.needs_network and setup.testbed != "network" else dict(remedy.factors)
    if remedy.has_larger_calls and has_small_calls(facts, end):
        factors |= _more(f"{'write' if role == 'sender' else 'read'}_size_bytes", _LARGE_WRITE, setup)
    return _change(remedy.code, factors, remedy.command, end.host if remedy.command else "")


_CHANGES: Mapping[Cause, Callable[[Limit, Facts, Setup], Change | None]] = {
    Cause.CAPACITY: _of_cost,
    **dict.fromkeys(BY_CLASS.values(), _of_cost),
    Cause.RECEIVE_BUFFER: _receive_buffer,
    Cause.CPU_QUOTA: _cpu_quota,
    Cause.PAUSE: _pause,
    Cause.MEMORY_LIMIT: _memory_limit,
    Cause.LOCAL_QUEUE: _local_queue,
    Cause.WINDOW_SCALING: _window_scaling,
    Cause.SEND_BUFFER: _send_buffer,
    Cause.WRITE_WINDOW_MISMATCH: _mismatch,
    Cause.SLOW_WRITER: _pauses,
    Cause.CONNECTION_SETUP: _kept_open,
    Cause.ASKED_RATE: _asked_rate,
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
    Cause.NAGLE_DELAYED_ACK: _fixed({"no_delay": True}),
    Cause.DELAYED_ACK: _fixed({"quick_ack": True}, "ip route change ROUTE quickack 1", at="receiver"),
    Cause.QUICK_ACK: _fixed({"quick_ack": False}, "ip route change ROUTE quickack 0", at="receiver"),
    Cause.PACING_RATE: _fixed({"pacing_rate_bps": DEFAULT}, f"tc -s qdisc show dev {DEVICE}", at="sender"),
    Cause.SLOW_START: _fixed({}, "ip route show", at="sender"),
    Cause.SMALL_QUEUE: _small_queue,
    Cause.PATH_LOSS: _fixed({}, f"ethtool -S {DEVICE}"),
    Cause.RANDOM_LOSS: _losses,
    Cause.BURST_LOSS: _losses,
    Cause.REORDERING: _reordering,
    Cause.SHARED_BOTTLENECK: _fixed(
        {"path_cross_rate_bps": 0, "path_cross_amplitude_bps": 0}, f"ip -s -s link show dev {DEVICE}"
    ),
    Cause.POLICER: _fixed({}, f"tc -s qdisc show dev {DEVICE}", at="sender"),
    Cause.ACK_PATH: _ack_path,
    Cause.ACK_THINNING: _fixed({"path_ack_thinning": 1, "path_loss_back": 0.0}, f"tc -s qdisc show dev {DEVICE}"),
    Cause.SMALL_MTU: _small_mtu,
    Cause.OFFLOADS_OFF: _offloads_off,
    Cause.OTHER_LOAD: _fixed({}, "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head"),
}
