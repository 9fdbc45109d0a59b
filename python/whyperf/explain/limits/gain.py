"""Gain of a change: the rate at the changed operating point over the rate now.

One place predicts it for all limits. Without its cause a rate grows up to the next limit, and that is one of three:

- *the line*, where segments arrive in the distances that a line makes: all of it, headers left out;
- *the ends' CPUs*, where nothing else holds them: what their calls, packets and receive processing take. A
  calibration of the host says it better than a CPU that was idle most of the time, whose caches were cold;
- *turns*, where an exchange waits for the one before: what is left of a turn without what the cause adds to it.

A call and a packet cost a fixed part and a part for each byte, so that larger ones move more for the same cost.

Whatever a limit predicts, `bounded` takes it no further than a line that is known.

Work costs an end more that sleeps between its pieces. A CPU that wakes up is cold: it leaves its idle state, is
interrupted by another CPU, changes to a thread, and what the stack's path reads is no longer in its caches, the less
the longer it slept. Without the sleep that is not paid, so a piece of work costs less by it. How much it is depends on
the host; these figures are of one virtual machine of an AMD EPYC, where an end paid them for each piece of 14 to 130
KB, whether it wrote, read, or was paced.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, sqrt

from whyperf.explain.explanation import Statement, Value
from whyperf.explain.gather.bottleneck import MIN_STEADINESS
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import statement

WAKE_NS = 4_000.0
"""For a wake-up after the shortest sleep."""
COLD_NS = 90_000.0
"""More than that for one after a sleep that leaves nothing in the caches."""
COLD_AFTER_NS = 4_000_000.0
"""The time in which all but 1/e of the caches is lost."""
MAX_COLDER = 5.0
"""Largest factor by which cold work costs more."""
CORE_BPS = 32e9
"""Usual rate of a CPU in large packets when it does nothing else: 25 to 38 Gbit/s on that host, 42 on another (Cai
et al., Understanding Host Network Stack Overheads, SIGCOMM 2021). What coldness costs is taken off no further."""


def cold_ns(slept_ns: float) -> float:
    """Cost of waking up after a sleep to a host's CPU in addition to its work."""
    return WAKE_NS + COLD_NS * (1 - exp(-max(0.0, slept_ns) / COLD_AFTER_NS))


def warm_ns(work_ns: float, slept_ns: float) -> float:
    """Time that a piece of work that takes `work_ns` after such a sleep would take without it."""
    return max(work_ns - cold_ns(slept_ns), work_ns / MAX_COLDER)


MAX_GAIN = 1000.0
"""Beyond that, what was measured says nothing about what would be."""
COPY_NS_PER_BYTE = 0.12
"""Least time, about, that a large call or packet takes for a byte: a copy at 8 GB/s."""
HEADERS_BYTES = 66
"""Ethernet, IP version 4 and TCP with time stamps, of each segment on a line."""
SUPER_SEGMENT_BYTES = 65_160
"""Payload of the largest packet that TCP hands down with offloads: 45 segments of 1448 bytes (GSO_MAX_SIZE)."""
NEIGHBOR_RTT_NS = 200_000
"""Round trips below are made of what hosts do, not of the path (docs/background/explain.md)."""
FULL_LINE_USE = 0.85
"""A line used so far is full: the rest is gaps between the measured phases of a burst."""
_QUEUE_GROWTH = 1.3
"""Usual round trip over the shortest from which on a queue stands on the path."""
_NEIGHBORS_STEADINESS = 0.8
_SURE, _SPREAD = 1.15, 1.5
"""Factors by which an estimate may be off: of a line that is seen; of one host's costs while it works."""
_IDLE_LOW, _IDLE_HIGH = 2.0, 5.0
"""Factors for an idle host's costs, less and more: its caches are cold, which costs up to several times as much."""
_NEAR_RATIO = 0.7
"""A rate so near to the highest is that of a line which is used most of the time."""
_CONSTANT_RATIO = 0.5
"""Part of the segments that see one pacing rate from which on it may be what sets their distances."""
_BUSY_RATIO = 0.5
"""An end that works so much of the time shows what its work costs; one that mostly sleeps does not."""


@dataclass(frozen=True)
class Gain:
    """`ratio`: the rate with the change over the rate now, most likely between `low` and `high`; `basis`: from what;
    `most`: what it cannot exceed, whatever such predictions were off by elsewhere.
    """

    ratio: float
    low: float
    high: float
    basis: Statement
    most: float = MAX_GAIN


def gain(ratio: float, spread: float, basis: str, **values: Value) -> Gain:
    """About `ratio`, up to `spread` times more or less; a change that undoes a limit never takes."""
    value = min(MAX_GAIN, max(1.0, ratio))
    return Gain(value, max(1.0, value / spread), max(1.0, value * spread), statement(basis, **values))


def idle(ratio: float, basis: str) -> Gain:
    """About `ratio`, by what work costs an end that mostly sleeps."""
    value = min(MAX_GAIN, max(1.0, ratio))
    return Gain(value, max(1.0, value / _IDLE_LOW), value * _IDLE_HIGH, statement(basis))


def bounded(found: Gain, facts: Facts, path_bps: float | None = None) -> Gain:
    """The gain as far as the lines that are known let it come; every verdict's goes through here.

    A bound says what cannot be, not what will be: another limit may come before it, and the interval says so.
    `path_bps` is the rate of the emulated path, which the plan knows.
    """
    bounds = (_of_path(facts, path_bps), _of_stated_line(facts), _of_seen_line(facts), _of_deliveries(facts))
    tops = [bound for bound in bounds if bound is not None]
    ratio = min(found.most, found.ratio)
    found = replace(found, ratio=ratio, low=min(found.low, ratio), high=min(found.most, found.high))
    if not tops:
        return found
    top = min(tops, key=lambda bound: bound.ratio)
    high = min(MAX_GAIN, *(bound.high for bound in tops))
    if found.ratio <= top.ratio:
        return replace(found, high=min(found.high, high))
    return replace(top, low=min(found.low, top.low), high=high)


def _of_path(facts: Facts, path_bps: float | None) -> Gain | None:
    """Up to the rate of the emulated path, headers left out."""
    now = _rate(facts)
    if not path_bps or not now:
        return None
    ratio = max(1.0, path_bps * _payload_part(facts) / now)
    return Gain(ratio, max(1.0, ratio / _SURE), ratio, statement("emulated_path", path_bps=path_bps))


def _of_stated_line(facts: Facts) -> Gain | None:
    """Up to the line that the ends' devices state, headers left out where the segments' size is known."""
    now = _rate(facts)
    if not facts.link_bps or not now or now > facts.link_bps:
        return None
    ratio = max(1.0, facts.link_bps * _payload_part(facts) / now)
    return Gain(ratio, 1.0, ratio, statement("link", link_bps=facts.link_bps))


def _of_seen_line(facts: Facts) -> Gain | None:
    """Up to a path's line, by the distances in which segments arrive; not where the sender itself makes them."""
    segments, now = facts.segments, _rate(facts)
    if (
        (facts.windows.rtt_ns_min or 0) < NEIGHBOR_RTT_NS
        or not segments.bottleneck.bps
        or not segments.bottleneck.use_ratio
        or not now
    ):
        return None
    if not is_line_seen(facts) or is_own_rhythm(facts) or _is_paced(facts):
        return None
    return gain(_full_line(facts, segments.bottleneck.use_ratio), _SURE, "seen_link")


def _is_paced(facts: Facts) -> bool:
    """True where segments may come in the distances of a pacing rate that hardly changes."""
    segments = facts.segments
    if (
        not segments.pacing.bps
        or not segments.bottleneck.bps
        or (segments.pacing.constant_ratio or 0.0) < _CONSTANT_RATIO
    ):
        return False
    return segments.bottleneck.bps < _QUEUE_GROWTH * segments.pacing.bps


def _of_deliveries(facts: Facts) -> Gain | None:
    """Without a log: where a queue stands before a path's line, the line carries no more than gets acknowledged.

    It shows in that the rate comes near to it, or in that 10 % of the time went at about the highest rate.
    """
    windows, now = facts.windows, _rate(facts)
    high, most = windows.delivered_bps_high, windows.delivered_bps_max
    if facts.level == "segments" or not high or not most or not now or (windows.rtt_ns_min or 0) < NEIGHBOR_RTT_NS:
        return None
    if (windows.rtt_growth or 1.0) < _QUEUE_GROWTH or (now < _NEAR_RATIO * high and most > _SURE * high):
        return None
    return gain(high / now, _SURE, "deliveries")


def _rate(facts: Facts) -> float | None:
    """The rate that is to grow: that of the trials without the log, where there are any."""
    return facts.goodput_bps or facts.rate_bps


def _payload_part(facts: Facts) -> float:
    size = facts.segments.segment_bytes_mean or facts.sender.sockets.mss_bytes
    return size / (size + HEADERS_BYTES) if size else 1.0


def least(bounds: Sequence[Gain | None]) -> Gain | None:
    """The limit that comes first; where two are near, either may."""
    known = [bound for bound in bounds if bound is not None]
    if not known:
        return None
    first = min(known, key=lambda bound: bound.ratio)
    return Gain(first.ratio, min(bound.low for bound in known), min(bound.high for bound in known), first.basis)


def of_share(facts: Facts, lost: float, *, saved: str = "", by_line: bool = False) -> Gain:
    """Without time that is lost, as far as the next limit lets it grow.

    Where a line is seen, that is the next limit. Else taking away a share of the time makes the rest follow faster
    (Amdahl, AFIPS 1967), up to what the ends' CPUs leave. `saved` is the end whose CPU time the cause itself takes, or
    both: it is no bound. `by_line` says that the cause lies on the path, so that a line that is seen is one.
    """
    line = of_line(facts, by_line=by_line)
    rest = None if line is not None else gain(1 / max(1e-6, 1 - min(0.99, lost)), _SPREAD, "remaining_time")
    return least((line, rest, of_ends(facts, saved=saved))) or gain(1.0, _SPREAD, "")


def of_line(facts: Facts, *, by_line: bool = False) -> Gain | None:
    """Up to a full line; None where none is seen."""
    segments = facts.segments
    if not segments.bottleneck.use_ratio:
        return None
    if is_released_by_acks(facts):
        return None
    seen, far = is_line_seen(facts), (facts.windows.rtt_ns_min or 0) >= NEIGHBOR_RTT_NS
    # A path has a narrowest part, seen well or not; between neighbors segments may come as the hosts let them.
    if not (by_line and (seen or far)) and not (seen and not is_own_rhythm(facts)):
        return None
    return gain(_full_line(facts, segments.bottleneck.use_ratio), _SURE if far and seen else _SPREAD, "full_link")


def of_ends(facts: Facts, *, saved: str = "", behind: bool = False) -> Gain:
    """Gain of the ends if nothing but moving the payload took their CPUs.

    That is their calls and softirqs; what their threads do in addition goes once nothing makes them wait, and so does
    waking up cold for each piece. `behind` says that the receiver reads late: its payload comes from memory, cold or
    not. Without a log of the calls it is all that the ends took.
    """
    bounds = [
        bound
        for role, end in (("sender", facts.sender), ("receiver", facts.receiver))
        if saved not in {role, "both"} and (bound := _of_end(facts, end, behind=behind)) is not None
    ]
    return least(bounds) or idle(MAX_GAIN, "idle_hosts")


def _of_end(facts: Facts, end: HostFacts, *, behind: bool) -> Gain | None:
    known = (
        [end.calls.in_call_ratio, end.processors.softirq_ratio]
        if end.calls.in_call_ratio is not None
        else [end.on_cpu_ratio]
    )
    works = end.payload_ratio or max((value for value in known if value), default=None)
    if works is None:
        return None
    basis = "cpu"
    # A trial's rate holds the first filling of buffers, too, which is no part of the rate that is to grow.
    filling = max(1.0, (facts.rate_bps or 0.0) / facts.goodput_bps) if facts.goodput_bps else 1.0
    if works >= _BUSY_RATIO:
        return gain(filling / works, _SPREAD, basis)
    wakeups = max(side.calls.wakeups_per_s or 0.0 for side in (facts.sender, facts.receiver)) or _counted(facts)
    if behind or not wakeups:
        return idle(filling / works, basis)
    cycle_ns = 1e9 / wakeups
    warm = warm_ns(works * cycle_ns, (1 - works) * cycle_ns) / cycle_ns
    found = idle(_of_a_core(facts, filling / warm, filling / works), "cpu_warm")
    return replace(found, low=min(found.low, max(1.0, filling / works)))


def _counted(facts: Facts) -> float:
    """Without a log: a sender that mostly sleeps wakes up for each of its write calls."""
    if facts.level == "segments" or not facts.life_ns:
        return 0.0
    return 1e9 * (facts.sender.calls.count or 0) / facts.life_ns


def _of_a_core(facts: Facts, ratio: float, seen: float) -> float:
    """At most what a core usually moves, but no less than what the evidence shows."""
    now = facts.goodput_bps or facts.rate_bps
    return ratio if not now else max(seen, min(ratio, CORE_BPS / now))


def of_ends_in_large_packets(facts: Facts, *, saved: str = "") -> Gain:
    """The same where the cause keeps packets small: without it they grow to what offloads put together.

    A window of few segments, and a pacing rate, bound what leaves TCP at once (tcp_tso_autosize); each packet has costs
    of its own in addition to those of its bytes.
    """
    ends, segments = of_ends(facts, saved=saved), facts.segments
    now = facts.goodput_bps or facts.rate_bps
    if not segments.segment_bytes_mean or not segments.sent_segments_per_packet or not now:
        return ends
    size = segments.segment_bytes_mean * segments.sent_segments_per_packet
    if size >= SUPER_SEGMENT_BYTES:
        return ends
    each = 8e9 * size / now / ends.ratio
    ratio = _of_a_core(facts, _in_larger(each, size, SUPER_SEGMENT_BYTES) * ends.ratio, ends.ratio)
    return idle(ratio, f"{ends.basis.code}_large")


def _in_larger(each: float, size: float, wanted: float) -> float:
    """Factor by which pieces of `wanted` bytes carry more bytes in the same time than pieces that cost `each` ns."""
    then = max(each - COPY_NS_PER_BYTE * size, 0.0) + COPY_NS_PER_BYTE * wanted
    return each / size * wanted / then


def of_one_cpu(facts: Facts) -> Gain:
    """With a CPU for each of two ends that share one: the busier of them has all of its own."""
    works = max(facts.sender.processors.thread_ratio or 0.5, facts.receiver.processors.thread_ratio or 0.5)
    return gain(min(2.0, 1 / works), _SURE, "own_cpu")


def of_calls(facts: Facts, end: HostFacts, size: float, wanted: float) -> Gain | None:
    """With calls of `wanted` bytes instead of `size` at that end: fewer calls, each of them longer.

    Larger calls make larger packets, which cost softirqs as much each as the small ones did.
    """
    each, now = end.calls.ns_mean or _ns_of_a_call(facts, end), facts.goodput_bps or facts.rate_bps
    if each is None or not now:
        return None
    packets = _softirq_ns_of_a_packet(facts, end) * wanted / SUPER_SEGMENT_BYTES
    then = max(each - COPY_NS_PER_BYTE * size, 0.0) + COPY_NS_PER_BYTE * wanted + packets
    return gain(8e9 * wanted / then / now, _SPREAD, "larger_calls")


def _ns_of_a_call(facts: Facts, end: HostFacts) -> float | None:
    """Without a log of calls: what a call takes of the time of its thread."""
    if not end.calls.count or not end.processors.thread_ratio:
        return None
    return facts.life_ns * end.processors.thread_ratio / end.calls.count


def _softirq_ns_of_a_packet(facts: Facts, end: HostFacts) -> float:
    """Time in softirqs of that end's busiest CPU for a packet that leaves TCP; 0 where it is not known."""
    segments = facts.segments
    if not (
        end.processors.softirq_ratio
        and facts.rate_bps
        and segments.segment_bytes_mean
        and segments.sent_segments_per_packet
    ):
        return 0.0
    return (
        end.processors.softirq_ratio
        * 8e9
        * segments.segment_bytes_mean
        * segments.sent_segments_per_packet
        / facts.rate_bps
    )


def of_packets(facts: Facts, wanted: float) -> Gain | None:
    """With packets of `wanted` bytes where each goes through both stacks by itself, and a CPU is the limit."""
    size, rate = facts.segments.segment_bytes_mean, facts.goodput_bps or facts.rate_bps
    if not size or not rate:
        return None
    ratio = _in_larger(8e9 * size / rate, size, wanted)
    return gain(ratio, _SPREAD, "larger_packets")


def of_whole_packets(facts: Facts) -> Gain | None:
    """Where the sender's host takes packets apart after TCP: with that left to the device.

    A packet then costs it the copy of its bytes, and softirqs at most what the receiver's spend on it, which put the
    pieces together again.
    """
    now, packet = facts.goodput_bps or facts.rate_bps, _softirq_ns_of_a_packet(facts, facts.receiver)
    segments = facts.segments
    if not now or not packet or not segments.segment_bytes_mean or not segments.sent_segments_per_packet:
        return None
    each = COPY_NS_PER_BYTE + packet / (segments.segment_bytes_mean * segments.sent_segments_per_packet)
    return gain(8e9 / each / now, _SPREAD, "whole_packets")


def of_cycles(facts: Facts, kept: float) -> Gain:
    """Where one exchange waits for the next: without all but the `kept` part of a turn."""
    basis, ratio = "exchange", 1 / max(1e-3, kept)
    cycles = gain(ratio, _SPREAD, basis) if kept >= _BUSY_RATIO else idle(ratio, basis)
    return least((cycles, of_line(facts), of_ends(facts))) or cycles


def of_pauses(facts: Facts, lost: float) -> Gain:
    """Without the pauses between exchanges, the `lost` part of the time, and without waking up cold after each.

    What an exchange takes is seen; how long the sender takes up its answer is not, for its pause begins there: about
    as long as the receiver takes up a request.
    """
    segments = facts.segments
    if not segments.cycle.cycle_ns or not segments.cycle.exchange_ns or segments.cycle.answer_ns is None:
        return of_cycles(facts, 1 - lost)
    slept = lost * segments.cycle.cycle_ns
    left = warm_ns(segments.cycle.exchange_ns, slept) + warm_ns(segments.cycle.answer_ns, slept)
    return of_cycles(facts, left / segments.cycle.cycle_ns)


def of_held_cycles(facts: Facts, kept: float) -> Gain:
    """Without a wait within each exchange, all but the `kept` part of the time, and without waking up cold from it."""
    segments = facts.segments
    if not segments.cycle.cycle_ns or segments.cycle.answer_ns is None or segments.cycle.think_ns is None:
        return of_cycles(facts, kept)
    slept = (1 - kept) * segments.cycle.cycle_ns
    left = warm_ns(segments.cycle.answer_ns, slept) + warm_ns(segments.cycle.think_ns, slept)
    return of_cycles(facts, left / segments.cycle.cycle_ns)


def _full_line(facts: Facts, use: float) -> float:
    """A full line's payload over the rate now: that of the trials without the log, since losses are luck."""
    segments, now = facts.segments, facts.goodput_bps or facts.rate_bps
    if not segments.bottleneck.bps or not segments.segment_bytes_mean or not now:
        return 1 / use
    payload = segments.segment_bytes_mean / (segments.segment_bytes_mean + HEADERS_BYTES)
    return segments.bottleneck.bps * payload / now


def is_own_rhythm(facts: Facts) -> bool:
    """True where segments come at one rate because the cause lets them go so: then they look like a full line.

    Before a line that is really full a queue stands, and a round trip takes longer. Between neighbors the round trip
    of one segment says nothing of that.
    """
    use, trip = facts.segments.bottleneck.use_ratio or 0.0, facts.windows.rtt_ns_min or 0
    if trip < NEIGHBOR_RTT_NS:
        return (facts.segments.bottleneck.steadiness or 0.0) < _NEIGHBORS_STEADINESS
    return use > FULL_LINE_USE and (facts.windows.rtt_growth or 1.0) < _QUEUE_GROWTH


def is_released_by_acks(facts: Facts) -> bool:
    """True if so few segments are in flight that each leaves when an ACK arrives: between neighbors their distances are
    then what the hosts take for a segment and its ACK, and no line's.

    A slow link may be full with two segments in flight. So a round trip that is not short, or not known, counts only
    where the devices state a faster link than what is seen.
    """
    flight, size = facts.windows.flight_bytes_max, facts.segments.segment_bytes_mean
    if not flight or not size or flight >= MIN_IN_FLIGHT * size:
        return False
    trip, seen, link = facts.windows.rtt_ns_min, facts.segments.bottleneck.bps, facts.link_bps
    if trip is not None and trip < NEIGHBOR_RTT_NS:
        return True
    return trip is None and seen is not None and link is not None and seen < MIN_LINK_RATIO * link


MIN_IN_FLIGHT = 4
"""Segments in flight from which on some leave one after the other, in the distances that a line makes."""
MIN_LINK_RATIO = 0.7
"""Part of the link rate that devices state, headers of their framing left out, that a full link carries at least."""


def is_line_seen(facts: Facts) -> bool:
    """True where segments arrive at one rate, so that something before the receiver sets it."""
    steady = facts.segments.bottleneck.steadiness
    return steady is not None and steady >= MIN_STEADINESS


def of_window(facts: Facts, lost: float, held_bytes: float | None) -> Gain:
    """With a window or buffer of `held_bytes` that holds no more up: a path's line is next, of neighbors the CPUs.

    A sender that only waits less moves at most 1 / (1 - `lost`) times as much (Amdahl, AFIPS 1967). Beyond that, bytes
    must cost less without the window. They do in two cases: a small window keeps packets small, and hosts that mostly
    sleep wake up cold for each piece. Such hosts also wait for their CPU because of the window, after each sleep.
    """
    trip = facts.windows.rtt_ns_min
    if trip is None or trip >= NEIGHBOR_RTT_NS:
        return of_share(facts, lost, by_line=True)
    ends, now = of_ends(facts), of_ends(facts, behind=True)
    if keeps_packets_small(held_bytes):
        ends = of_ends_in_large_packets(facts)
    is_idle = now.ratio > 1 / _BUSY_RATIO
    waited = lost + (facts.sender.ratio(S.WAITS_FOR_CPU) if is_idle else 0.0)
    most = 1 / (1 - min(MAX_WAITED, waited))
    if ends.ratio > now.ratio:
        scale = min(1.0, most / now.ratio)
        return replace(ends, ratio=ends.ratio * scale, low=max(1.0, ends.low * scale), high=ends.high * scale)
    if ends.ratio <= most:
        return replace(ends, high=min(ends.high, most), most=most)
    # What moves the payload may take all the rest of the time, so that nothing is gained.
    return Gain(most, 1.0, most, statement(WAITED, waited_ratio=waited), most)


WAITED = "waited"
"""The basis of a gain that ends at the time which the sender waits for the window."""
MAX_WAITED = 0.99
"""Of a longer wait, what is left of the time is not known well enough to bound anything."""


def keeps_packets_small(held_bytes: float | None) -> bool:
    """True if a window or buffer is so small that packets cannot grow to what offloads put together; of an unknown
    one, whether it may be.

    A packet takes at most half of the largest window (tcp_bound_to_half_wnd, include/net/tcp.h).
    """
    return held_bytes is None or held_bytes < 2 * SUPER_SEGMENT_BYTES


def of_twice(facts: Facts) -> Gain:
    """With twice the requested rate: twice as much, as far as a busy CPU and what may be under way at once let it."""
    bounds: list[Gain | None] = [gain(2.0, _SURE, "twice")]
    if facts.busiest_ratio:
        bounds.append(gain(1 / facts.busiest_ratio, _SPREAD, "cpu"))
    at_once = None if facts.exchanges is None else facts.exchanges.at_once
    if at_once and facts.asked.slots:
        bounds.append(gain(facts.asked.slots / at_once, _SURE, "exchange"))
    return least(bounds) or bounds[0]  # type: ignore[return-value]


def of_kept_connection(facts: Facts, exchange_ns: float, connect_ns: float, trip_ns: float) -> Gain:
    """With connections that stay open: without the handshake at least, and down to one round trip at most."""
    low, high = exchange_ns / max(trip_ns, exchange_ns - connect_ns), exchange_ns / trip_ns
    found = Gain(sqrt(low * high), max(1.0, low / _SURE), high * _SURE, statement("kept_connection"))
    return least((found, of_ends(facts))) or found


def of_shaper(use: float) -> Gain:
    """Up to the rate that a shaper allows."""
    return gain(1 / max(0.01, use), _SURE, "shaper")


WITHOUT_CLASS = "without_class"
UPPER_BOUNDS = frozenset({WITHOUT_CLASS})
"""Bases of gains that are upper bounds, and no predictions."""


def without_class(times: float, title: str) -> Gain:
    """At most `times` as much: without a class of cost, by its title, of the CPU that is the limit."""
    ratio = min(MAX_GAIN, max(1.0, times))
    return Gain(ratio, 1.0, ratio, statement(WITHOUT_CLASS, **{"class": title}))


def of_interruption(facts: Facts, lost: float) -> Gain:
    """Without spans in which the rate was lower: all of the time as the rest of it was, which was measured."""
    return least((gain(1 / max(0.05, 1 - lost), _SURE, "other_spans"), of_line(facts))) or gain(1.0, _SURE, "")


def of_several(facts: Facts, waits: float, number: int) -> Gain:
    """With so many exchanges under way at once instead of one: they share a wait, up to the next limit."""
    together = gain(min(number, 1 / max(1e-3, 1 - waits)), _SPREAD, "several_exchanges", exchanges_count=number)
    return least((together, of_line(facts), of_ends(facts))) or together
