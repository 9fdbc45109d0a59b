"""Which settings of the emulated path have a meaning in a cell, and which paths cannot be.

The same bounds stand in crates/schema/src/path/check.rs; here they are found before anything runs, in words of factors.
"""

from collections.abc import Mapping

from whyperf.profile.errors import ProfileError
from whyperf.profile.factor import Level
from whyperf.profile.path_factors import MAKERS
from whyperf.profile.path_levels import loss_of, queue_of

ETHERNET_HEADER_BYTES = 14
#: Where a cell leaves the MTU to hosts of the model; the agent, which knows theirs, checks again.
USUAL_MTU_BYTES = 1500
#: The amount that both directions of a path may hold together, in bytes: the router keeps them in memory.
MAX_HELD_BYTES = 2**30
#: More was never carried by the router (docs/how-to/paths.md).
ROUTER_RATE_BPS = 10 * 10**9
#: Time held by a queue of bandwidth-delay products where there is no delay: tc-tbf(8) has latencies of about 50 ms.
WITHOUT_RTT_MS = 50

#: Settings that need another one, and in which cells that is there.
OF_BOTTLENECK = frozenset({"path_rate_back_bps", "path_queue", "path_discipline", "path_cross_rate_bps"})
OF_DISCIPLINE = {
    "path_ecn": ("codel", "red"),
    "path_codel_target_ms": ("codel",),
    "path_codel_interval_ms": ("codel",),
    "path_red_min_bytes": ("red",),
    "path_red_max_bytes": ("red",),
    "path_red_probability": ("red",),
    "path_red_gentle": ("red",),
}
OF_CROSS_TRAFFIC = frozenset({"path_cross_amplitude_bps", "path_cross_period_ms", "path_cross_packet_bytes"})
#: Settings of whyperf's router alone, with the level that is none.
ROUTER_ONLY: Mapping[str, Level] = {
    "path_ack_thinning": 1,
    "path_cross_rate_bps": 0,
    "path_red_gentle": False,
}
#: Offloads that make one packet of many where the kernel's disciplines count packets.
SUPER_SEGMENTS = ("tso", "gso")
#: Offloads that are off by default where netem carries the path.
OFF_WITH_NETEM = (*SUPER_SEGMENTS, "gro")


def has_path(levels: Mapping[str, Level]) -> bool:
    """True where a cell of these levels, all references resolved, has an emulated path."""
    return any(levels.get(name, "none") != "none" for name in MAKERS)


def defaults_with(path: Mapping[str, Level]) -> dict[str, Level]:
    """Levels that factors other than the path's have by default where the path's are these."""
    by_netem = has_path(path) and path["path_implementation"] == "netem"
    return dict.fromkeys(OFF_WITH_NETEM, False) if by_netem else {}


def missing(name: str, levels: Mapping[str, Level]) -> str | None:
    """Names what a setting of the path lacks to have a meaning with these levels; None when nothing."""
    if not has_path(levels):
        return f"the cell has no emulated path; give {', '.join(MAKERS[:-1])} or {MAKERS[-1]} too, or leave it out"
    discipline = levels["path_discipline"]
    has_rate = levels["path_rate_bps"] != "none"
    if name in OF_DISCIPLINE and not (has_rate and discipline in OF_DISCIPLINE[name]):
        wanted = " or ".join(OF_DISCIPLINE[name])
        return f"a queue with path_discipline {wanted} has it, not {discipline}; choose one, or leave it out"
    if name in OF_BOTTLENECK and not has_rate:
        return "without a rate there is no bottleneck and no queue; give path_rate_bps, or leave it out"
    if name in OF_CROSS_TRAFFIC and not (has_rate and levels["path_cross_rate_bps"]):
        return "there is no cross traffic; give path_rate_bps and path_cross_rate_bps, or leave it out"
    return None


def refuse_impossible_path(cell: Mapping[str, Level]) -> None:
    """Refuses what no path can do, and what this one cannot carry.

    Raises:
        ProfileError: with the factor as key.
    """
    if not has_path(cell):
        return
    if cell.get("transport") == "unix":
        problem = "unix sockets have both sides on one host and no path between them; choose another transport"
        raise ProfileError("", next(name for name in MAKERS if cell[name] != "none"), problem)
    _refuse_delays(cell)
    _refuse_loss(cell)
    if cell["path_rate_bps"] != "none":
        _refuse_queue(cell)
    _refuse_cross_traffic(cell)
    _refuse_size(cell)
    if cell["path_implementation"] == "netem":
        _refuse_netem(cell)


def one_way_ms(cell: Mapping[str, Level]) -> tuple[float, float]:
    """Delay forward and back."""
    rtt_ms = 0.0 if cell["path_rtt_ms"] == "none" else float(cell["path_rtt_ms"])
    back_ms = rtt_ms / 2 if cell["path_delay_back_ms"] == "half" else float(cell["path_delay_back_ms"])
    return rtt_ms - back_ms, back_ms


def rates_bps(cell: Mapping[str, Level]) -> tuple[int | None, int | None]:
    """Rate forward and back; None: unlimited."""
    forward, back = cell["path_rate_bps"], cell.get("path_rate_back_bps", "same")
    back = forward if back == "same" else back
    return (None if forward == "none" else int(forward)), (None if back == "none" else int(back))


def queue_bytes(cell: Mapping[str, Level], rate_bps: int) -> int:
    """The bytes that the queue of a bottleneck holds, a packet counted as the largest there is."""
    queue = queue_of(cell["path_queue"])
    assert queue is not None, "the level was checked"
    if queue.bytes is not None:
        return queue.bytes
    if queue.packets is not None:
        return queue.packets * packet_bytes(cell)
    assert queue.products is not None
    return int(rate_bps * (sum(one_way_ms(cell)) or WITHOUT_RTT_MS) * queue.products / 8000)


def packet_bytes(cell: Mapping[str, Level]) -> int:
    """The largest packet with its Ethernet header."""
    return int(cell.get("mtu_bytes", USUAL_MTU_BYTES)) + ETHERNET_HEADER_BYTES


def red_thresholds_bytes(cell: Mapping[str, Level], rate_bps: int) -> tuple[int, int]:
    """RED's thresholds, `auto` worked out."""
    held = queue_bytes(cell, rate_bps)
    low, high = cell["path_red_min_bytes"], cell["path_red_max_bytes"]
    return (held // 6 if low == "auto" else int(low)), (held // 2 if high == "auto" else int(high))


def _refuse_delays(cell: Mapping[str, Level]) -> None:
    forward_ms, back_ms = one_way_ms(cell)
    if forward_ms < 0:
        problem = f"{back_ms:g} ms back are more than path_rtt_ms; give at most that"
        raise ProfileError("", "path_delay_back_ms", problem)
    if int(cell["path_jitter_us"]) > 1000 * min(forward_ms, back_ms):
        shorter = min(forward_ms, back_ms)
        problem = (
            f"{cell['path_jitter_us']} us around a delay of {shorter:g} ms go below 0; lower it, or raise the delay"
        )
        raise ProfileError("", "path_jitter_us", problem)
    if float(cell["path_reorder"]) > 0 and forward_ms == 0:
        raise ProfileError("", "path_reorder", "packets overtake others by skipping the delay; give path_rtt_ms")


def _refuse_loss(cell: Mapping[str, Level]) -> None:
    for name in ("path_loss", "path_loss_back"):
        loss = loss_of(cell[name])
        if loss is None:
            continue
        if loss.segments and cell.get("transport", "tcp") not in {"tcp", "mptcp", "tls"}:
            problem = f"segments are TCP's, and the transport is {cell['transport']}; give a share or bursts"
            raise ProfileError("", name, problem)
        if loss.bursts and loss.bursts[1] == 0 < loss.bursts[0]:
            raise ProfileError("", name, "r = 0 never ends a burst; give a share above 0 for r")
        if loss.segments and cell["path_implementation"] == "netem":
            problem = 'netem cannot lose segments by number; choose path_implementation = "router"'
            raise ProfileError("", name, problem)


def _refuse_queue(cell: Mapping[str, Level]) -> None:
    largest = packet_bytes(cell)
    for name, rate_bps in zip(("path_rate_bps", "path_rate_back_bps"), rates_bps(cell), strict=True):
        if rate_bps is None:
            continue
        if rate_bps > ROUTER_RATE_BPS and cell["path_implementation"] != "netem":
            problem = f"{rate_bps} bit/s are more than the router carries; give at most {ROUTER_RATE_BPS}"
            raise ProfileError("", name, problem)
        held = queue_bytes(cell, rate_bps)
        if held < largest:
            problem = (
                f"{cell['path_queue']} is {held} bytes at {rate_bps} bit/s, and holds no packet of {largest}; "
                "give more, or packets such as 100p"
            )
            raise ProfileError("", "path_queue", problem)
        if cell["path_discipline"] == "red":
            low, high = red_thresholds_bytes(cell, rate_bps)
            if not 0 < low < high <= held:
                problem = f"thresholds of {low} and {high} bytes in a queue of {held}; choose 0 < min < max up to it"
                raise ProfileError("", "path_red_max_bytes", problem)
    if cell["path_discipline"] == "codel":
        target, interval = float(cell["path_codel_target_ms"]), float(cell["path_codel_interval_ms"])
        if target >= interval:
            problem = f"{target:g} ms are not below path_codel_interval_ms ({interval:g}); lower it"
            raise ProfileError("", "path_codel_target_ms", problem)


def _refuse_cross_traffic(cell: Mapping[str, Level]) -> None:
    swing = cell.get("path_cross_amplitude_bps", 0)
    if int(swing) > int(cell.get("path_cross_rate_bps", 0)):
        problem = f"{swing} bit/s are more than path_cross_rate_bps, and a rate below 0 there is none; lower it"
        raise ProfileError("", "path_cross_amplitude_bps", problem)


def _refuse_size(cell: Mapping[str, Level]) -> None:
    """Refuses a path that holds too much: what it holds waits in memory."""
    held = 0
    for rate_bps, delay_ms in zip(rates_bps(cell), one_way_ms(cell), strict=True):
        if rate_bps is not None:
            held += int(rate_bps * delay_ms / 8000) + queue_bytes(cell, rate_bps)
    if held > MAX_HELD_BYTES:
        problem = f"queue and delay hold {held} bytes, and {MAX_HELD_BYTES} is the most; lower the rate, delay or queue"
        raise ProfileError("", "path_rate_bps", problem)


def _refuse_netem(cell: Mapping[str, Level]) -> None:
    """Refuses what the kernel's disciplines do not do; PathSpec::beyond_netem is the same for the agent."""
    otherwise = 'or choose path_implementation = "router"'
    for name, none in ROUTER_ONLY.items():
        if cell.get(name, none) != none:
            problem = 'netem does not do it as the router does; choose path_implementation = "router"'
            raise ProfileError("", name, problem)
    for name in SUPER_SEGMENTS:
        if cell.get(name):
            problem = f"netem counts and drops a super-segment of 64 KiB as one packet; set it to false, {otherwise}"
            raise ProfileError("", name, problem)
    if cell["path_rate_bps"] == "none":
        return
    for name, rate_bps in zip(("path_rate_bps", "path_rate_back_bps"), rates_bps(cell), strict=True):
        if rate_bps is not None and rate_bps % 8:
            problem = f"netem has rates in bytes a second; give a multiple of 8 bit/s, {otherwise}"
            raise ProfileError("", name, problem)
    queue = queue_of(cell["path_queue"])
    assert queue is not None, "the level was checked"
    in_packets = queue.packets is not None
    if cell["path_discipline"] == "codel" and not in_packets:
        problem = f"the kernel's CoDel counts packets; give packets such as 1000p, {otherwise}"
        raise ProfileError("", "path_queue", problem)
    if cell["path_discipline"] == "red" and in_packets:
        problem = f"the kernel's RED counts bytes; give bytes or bdp, {otherwise}"
        raise ProfileError("", "path_queue", problem)
