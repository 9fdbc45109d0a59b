"""All facts of a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial, completeness, flow_facts
from whyperf.analyze.flow.trial import read_manifest
from whyperf.explain.budget import TrialBudgets
from whyperf.explain.explanation import Budget
from whyperf.explain.gather.application import AS_FAST_AS_POSSIBLE, asked, calls, datagrams, exchanges
from whyperf.explain.gather.bottleneck import MIN_STEADINESS
from whyperf.explain.gather.delays import ack_delay_ns
from whyperf.explain.gather.deliveries import (
    MIN_FULL_QUEUE_RATIO,
    Steps,
    bottleneck_of_steps,
    delivery_steps,
    is_over_full,
    outages,
    policing_of_steps,
    queue_of_steps,
)
from whyperf.explain.gather.host_limits import host_limits
from whyperf.explain.gather.processors import processors
from whyperf.explain.gather.read import ALWAYS, Active, first, read_columns, scheduled, sending
from whyperf.explain.gather.segments import arrived_facts, logged_windows, segment_facts
from whyperf.explain.gather.sockets import Sampled, populations, sampled, sockets
from whyperf.explain.gather.transports import transport_facts
from whyperf.explain.gather.watched import acks_arrived_ratio, conversation, moved_bytes, watched_sockets
from whyperf.explain.host_facts import Devices, HostFacts, Sockets
from whyperf.explain.path_facts import QueueFacts, SegmentFacts, WindowFacts
from whyperf.explain.segment_log import SegmentLogs
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.explain.trial_facts import Facts, Population
from whyperf.explain.watched_facts import WatchedSockets
from whyperf.explain.wording.catalog import render
from whyperf.record import RECORD_VERSION


def gather_facts(trial: FlowTrial, logs: SegmentLogs, budgets: TrialBudgets, *, one_machine: bool = False) -> Facts:
    """Gathers what `trial` shows, from the best evidence that there is; what there is none of stands in `missing`.

    Args:
        trial: whose.
        logs: its segment logs.
        budgets: where its time went.
        one_machine: both sides run on the same machine.

    Raises:
        RecordError: a table cannot be read.
    """
    sender, receiver = trial.end("sender"), trial.end("receiver")
    if sender is None and receiver is not None and trial.is_watched:
        return _of_receiver(trial, receiver, logs, budgets)
    if sender is None:
        missing = [*_of_status(trial), *budgets.missing]
        return Facts(trial.trial, "user", missing=(*missing, render("missing", "ended_early", {})))
    sent = sockets(trial, sender)
    taken = Sockets() if receiver is None else sockets(trial, receiver)
    # The connection beneath TLS is one of TCP, and is judged as one.
    transport = "tcp" if sent.transport in {None, "", "tls"} else str(sent.transport)
    missing = [*_of_status(trial), *(budgets.missing if transport == "tcp" else [_without_tcp(transport)])]
    active = Active(sending(trial, sender), scheduled(trial))
    seen = sampled(trial, sender, active)
    log = logs.sender
    own = [budget for budget in budgets.budgets if budget.host == sender.host]
    mixed = populations(own, active, shares_of, lambda members: sampled(trial, sender, members).windows)
    end = _end(trial, sender, sent, budgets, active, one_machine=one_machine)
    if log is None or log.rows.is_empty():
        windows, segments = seen.windows, _counted(trial, seen)
    else:
        windows = logged_windows(log, seen.windows)
        segments = segment_facts(log, logs.receiver, adapters=end.limits.adapters_count)
    segments = replace(segments, outage=outages(trial, sender, active))
    held = _is_held(mixed or [shares_of([budget for budget in own if active.has(budget.connection)], active)])
    segments = _with_queue(segments, trial, sender, receiver, active, is_held=held)
    life = max((budget.end_ns - budget.begin_ns for budget in budgets.budgets), default=0) or sent.life_ns
    payload = taken.payload_bytes or sent.payload_bytes
    # Samples of the sockets may begin long after the first call; payload is counted from that on.
    counted_ns = max(life, sent.life_ns)
    gaps, offered = _gaps(trial), AS_FAST_AS_POSSIBLE if trial.is_watched else asked(trial)
    if trial.is_watched:
        # Others may have sent, and received, long before.
        payload, counted_ns = moved_bytes(trial, sender, "bytes_acked"), life
        segments = _counted_by_kernels(segments, seen, trial, sender, receiver)
        missing += _of_attaching(trial, sender)
    return Facts(
        trial=trial.trial,
        level=_level(sender, has_log=log is not None and not log.rows.is_empty()),
        life_ns=life,
        rate_bps=payload * 8e9 / counted_ns if counted_ns > 0 and payload else None,
        connections=max(1, sent.connections),
        one_machine=one_machine,
        is_turned=trial.is_turned,
        sender=end,
        receiver=HostFacts()
        if receiver is None
        else _end(trial, receiver, taken, budgets, active, one_machine=one_machine),
        windows=windows,
        segments=segments,
        transport=transport,
        asked=offered,
        own=transport_facts(trial, sender, active) if transport in OWN_LIBRARIES else None,
        exchanges=exchanges(trial),
        datagrams=datagrams(trial, offered) if transport == "udp" else None,
        populations=mixed,
        budgets=tuple(budgets.budgets),
        missing=tuple(
            dict.fromkeys((*missing, *(text for text, is_nearly_complete in gaps if not is_nearly_complete)))
        ),
        gaps=tuple(text for text, is_nearly_complete in gaps if is_nearly_complete),
        watched_sides="" if not trial.is_watched else "sender" if receiver is None else "both",
        conversation=conversation(trial, sender, log, active) if trial.is_watched else None,
    )


def _counted_by_kernels(
    facts: SegmentFacts, seen: Sampled, trial: FlowTrial, sender: FlowEnd, receiver: FlowEnd | None
) -> SegmentFacts:
    """With what kernels count of another program's segments, and the log of one side does not show, or not all."""
    if receiver is None:
        return replace(facts, reordering_events=seen.reordering_events, spurious_ratio=seen.spurious_ratio)
    arrived = acks_arrived_ratio(trial, sender, receiver)
    return facts if arrived is None else replace(facts, acks_arrived_ratio=arrived)


def _of_receiver(trial: FlowTrial, receiver: FlowEnd, logs: SegmentLogs, budgets: TrialBudgets) -> Facts:
    """Facts that the receiver of another program's connections shows alone. Its windows are those that it announced
    itself."""
    taken, log = sockets(trial, receiver), logs.receiver
    has_log = log is not None and not log.rows.is_empty()
    end = _end(trial, receiver, taken, budgets, ALWAYS)
    seen = end.watched or WatchedSockets()
    life = max((budget.end_ns - budget.begin_ns for budget in budgets.budgets), default=0) or taken.life_ns
    payload, gaps = moved_bytes(trial, receiver, "bytes_received"), _gaps(trial)
    trips = sampled(trial, receiver).windows
    trip, talk = trips.rtt_ns_min, conversation(trial, receiver, log)
    return Facts(
        trial=trial.trial,
        level=_level(receiver, has_log=has_log),
        life_ns=life,
        rate_bps=payload * 8e9 / life if life > 0 and payload else None,
        connections=max(1, taken.connections),
        receiver=end,
        windows=WindowFacts(
            announced_bytes_max=seen.own_window.high_bytes,
            announced_bytes_median=seen.own_window.median_bytes,
            rtt_ns_min=trip,
            # The kernel measures the round trip of payload that this side sends; of a stream autotuning does.
            rtt_ns_median=trips.rtt_ns_median if talk is not None else seen.receive_rtt_ns,
            window_scaling=trips.window_scaling,
        ),
        segments=arrived_facts(log, trip) if log is not None and has_log else _counted(trial, Sampled()),
        budgets=tuple(budgets.budgets),
        missing=tuple(
            dict.fromkeys(
                (
                    *(*_of_status(trial), *budgets.missing, *_of_attaching(trial, receiver)),
                    *(text for text, is_nearly_complete in gaps if not is_nearly_complete),
                )
            )
        ),
        gaps=tuple(text for text, is_nearly_complete in gaps if is_nearly_complete),
        watched_sides="receiver",
        conversation=talk,
    )


def _of_attaching(trial: FlowTrial, end: FlowEnd) -> list[str]:
    """That the past is not known of a connection that was open before."""
    is_whole = watched_sockets(trial, end).is_whole
    return [] if is_whole else [render("missing", "attached", {})]


OWN_LIBRARIES = frozenset({"udt", "quic", "srt", "sctp"})
"""Transports that count their own windows and losses: libraries, and the kernel's SCTP."""


def _without_tcp(transport: str) -> str:
    """Why there is no time budget of a transport that is none of the kernel's TCP."""
    return render("missing", "no_budget", {"transport": transport.upper()})


def _level(sender: FlowEnd, *, has_log: bool) -> str:
    if has_log:
        return "segments"
    return "user" if sender.evidence.got == "user" else "counters"


def _of_status(trial: FlowTrial) -> list[str]:
    """Lists what is wrong with the trial itself."""
    is_known = trial.status in {"deadline", "failed", "interrupted", "void"}
    found = [render("missing", trial.status, {})] if is_known else []
    return [*found, *_of_version(trial.folder / "manifest.json")]


def _of_version(manifest: Path) -> list[str]:
    """A record of another version may mean other things by the same names."""
    version = read_manifest(manifest.parent).get("record_version", RECORD_VERSION)
    if version == RECORD_VERSION:
        return []
    return [render("missing", "version", {"version": version, "own_version": RECORD_VERSION})]


def _gaps(trial: FlowTrial) -> list[tuple[str, bool]]:
    """Lists what the logs lack, and whether they are nearly complete."""
    found = []
    for end in trial.ends.values():
        log = completeness(trial, end.host)
        if log is not None and not log.complete:
            values = {"host": end.host, "completeness": log.summary, "reason": (log.reason or "").rstrip(".")}
            found.append((render("missing", "log_incomplete", values), log.is_nearly_complete))
    return found


_OF_DEVICES = ("rx_packets", "tx_packets", "tx_bytes", "tx_dropped_packets", "rx_dropped_packets", "gro")


def _end(
    trial: FlowTrial, end: FlowEnd, own: Sockets, budgets: TrialBudgets, active: Active, *, one_machine: bool = False
) -> HostFacts:
    states = [budget for budget in budgets.budgets if budget.host == end.host and active.has(budget.connection)]
    called = calls(trial, end)
    devices = read_columns(trial, "devices", end.host, _OF_DEVICES)
    dropped = first(devices, pl.sum_horizontal("tx_dropped_packets", "rx_dropped_packets").sum())
    packets = pl.col("rx_packets") + pl.col("tx_packets")
    # Others may repeat what it carries: a bridge, and what is behind it.
    through, octets = (first(devices, pl.col(name).sort_by(packets).last()) for name in ("tx_packets", "tx_bytes"))
    merges = first(devices, pl.col("gro").cast(pl.UInt8).sort_by(packets).last())
    count = own.calls_count if called.count is None else called.count
    mean = own.payload_bytes / count if called.bytes_mean is None and count else called.bytes_mean
    return HostFacts(
        host=end.host,
        shares=shares_of(states, active),
        spells=_spells_of(states),
        longest=budgets.longest.get(end.host, {}),
        # The other side of another program's connection is one of the programs that are not the watched one.
        processors=processors(trial, end, one_machine=one_machine and not trial.is_watched),
        calls=replace(called, count=count, bytes_mean=mean),
        sockets=own,
        devices=Devices(
            sent_packets=None if through is None else round(through),
            sent_bytes=None if octets is None else round(octets),
            dropped_packets=None if dropped is None else round(dropped),
            receive_offload=None if merges is None else bool(merges),
        ),
        limits=host_limits(trial, end),
        encrypts=_encrypts(trial, end),
        watched=watched_sockets(trial, end, active) if trial.is_watched else None,
    )


def _encrypts(trial: FlowTrial, end: FlowEnd) -> bool:
    """True where a connection has TLS that its kernel does not carry."""
    agreed = read_columns(trial, "tls", end.host, ("in_kernel",))
    return first(agreed, (~pl.col("in_kernel").cast(pl.Boolean)).any().cast(pl.Int8)) == 1


IDLE_STATES = (SenderState.NOT_WRITING, ReceiverState.WAITING)
"""States of a side while the schedule has the connection switched off."""


def shares_of(budgets: list[Budget], active: Active = ALWAYS) -> dict[str, float]:
    """Share of the time at work in each state, all of an end's budgets together."""
    life, sums = 0, dict[str, int]()
    for budget in budgets:
        off = active.idle_ns(budget.connection, budget.begin_ns, budget.end_ns)
        for share in budget.shares:
            idle = min(off, share.ns) if share.state in IDLE_STATES else 0
            sums[share.state] = sums.get(share.state, 0) + share.ns - idle
            life += share.ns - idle
    return {state: ns / life for state, ns in sums.items() if ns} if life > 0 else {}


def _spells_of(budgets: list[Budget]) -> dict[str, int]:
    """Number of times each state was entered; nothing where only its sum is known."""
    counts: dict[str, int] = {}
    for budget in budgets:
        for share in budget.shares:
            counts[share.state] = counts.get(share.state, 0) + share.spells
    return counts


HELD_STATES = (SenderState.RECEIVE_WINDOW_BUFFER, SenderState.RECEIVE_WINDOW, SenderState.SEND_BUFFER)
MAX_HELD_RATIO = 0.3
"""Share of the time in which a window or a send buffer holds the sender, up to which a constant rate is the path's. A
full window that leaves in a burst makes a short queue each round trip, and a constant rate as well."""


def _is_held(found: Sequence[Population | Mapping[str, float]]) -> bool:
    """True where a window or a buffer holds every population of connections."""
    shares = [part.shares if isinstance(part, Population) else part for part in found]
    return all(sum(part.get(state.value, 0.0) for state in HELD_STATES) > MAX_HELD_RATIO for part in shares)


def _with_queue(
    facts: SegmentFacts,
    trial: FlowTrial,
    sender: FlowEnd,
    receiver: FlowEnd | None,
    active: Active,
    *,
    is_held: bool,
) -> SegmentFacts:
    """With what samples show of the path's queue and of its bottleneck's rate, as far as no log shows it.

    Jitter and reordering change the spacing of segments, but not what is delivered while a queue stands.
    """
    steps = delivery_steps(trial, sender, active)
    if steps is None or (is_held and not is_over_full(steps)):
        return facts
    sampled = queue_of_steps(steps)
    if facts.queue.delay_ns_median is None:
        back = facts.queue.back_delay_ns_median
        if back is None and receiver is not None:
            back = ack_delay_ns(trial, sender, receiver, active, steps.rtt_ns_min)
        queue = replace(sampled, back_delay_ns_median=back, is_of_acks=_is_of_acks(sampled, back, steps))
    else:
        of_rate = {name: getattr(sampled, name) for name in ("full_bps", "full_spread")}
        queue = replace(facts.queue, **of_rate)
    is_spaced = (facts.bottleneck.steadiness or 0.0) >= MIN_STEADINESS
    rate = None if is_spaced or queue.is_of_acks or _is_queued_back(facts, steps) else bottleneck_of_steps(steps)
    has_rate = rate is not None and rate.bps is not None
    return replace(
        facts,
        bottleneck=rate if rate is not None and has_rate else facts.bottleneck,
        queue=queue,
        policing=policing_of_steps(steps),
    )


def _is_queued_back(facts: SegmentFacts, steps: Steps) -> bool:
    """True where the logs show that ACKs wait, not the payload: what makes the round trip grow is no link's queue."""
    back = facts.queue.back_delay_ns_median or 0.0
    return back > MIN_FULL_QUEUE_RATIO * steps.rtt_ns_min and back > BACK_TIMES * (facts.queue.delay_ns_median or 0.0)


def _is_of_acks(sampled: QueueFacts, back: float | None, steps: Steps) -> bool:
    """The same by samples: they show the delay of ACKs, and of both directions together. What is longer than that is
    none of the path: the receiver was late to send them. A sender that has little to send waits for answers, and for
    ACKs that the receiver's timer holds back.
    """
    both = sampled.delay_ns_median
    if back is None or both is None or back > MAX_BACK_RATIO * both or not steps.can_fill_path:
        return False
    return back > MIN_FULL_QUEUE_RATIO * steps.rtt_ns_min and back > BACK_TIMES * max(0.0, both - back)


MAX_BACK_RATIO = 1.5
"""Delay of ACKs over the growth of the round trip: a smoothed round trip lags behind (further set: up to 1.16 for
queues, 2 for a receiver that is stopped)."""
BACK_TIMES = 2.0
"""Factor by which the delay of ACKs is longer than that of payload where the reverse direction's queue is the one."""


def _counted(trial: FlowTrial, seen: Sampled) -> SegmentFacts:
    """Below the log: what counters and TCP_INFO show of segments."""
    found = flow_facts(trial, whole_life=True)

    def of(role: str, name: str) -> float | None:
        return next((fact.value for fact in found.facts if fact.role == role and fact.quantity.name == name), None)

    sent, packets = of("sender", "data_segments"), of("sender", "data_packets")
    taken, merged = of("receiver", "data_segments"), of("receiver", "data_packets")
    acks, came = of("receiver", "acks_count"), of("sender", "acks_count")
    late = of("receiver", "not_next_packets")
    if late is None:
        late = of("receiver", "out_of_order_packets")
    reasons = {
        fact.quantity.name.removeprefix("ack_").removesuffix("_count"): fact.value
        for fact in found.facts
        if fact.role == "receiver" and fact.quantity.name.startswith("ack_") and fact.value is not None
    }
    return SegmentFacts(
        data_segments=None if sent is None else round(sent),
        data_packets=None if packets is None else round(packets),
        segment_bytes_mean=of("sender", "segment_bytes_mean"),
        sent_segments_per_packet=_over(sent, packets),
        taken_segments_per_packet=_over(taken, merged),
        retransmitted_ratio=seen.retransmitted_ratio,
        timeouts=None,
        out_of_order_ratio=_over(_reordered(late, seen.retransmitted_segments), merged or taken),
        reordering_events=seen.reordering_events,
        data_back_packets=seen.data_segments_back,
        spurious_ratio=seen.spurious_ratio,
        pacing=seen.pacing,
        acks_arrived_ratio=None if came is None else _over(came, acks),
        acks_per_segment=_over(acks, taken),
        ack_reasons={name: value / acks for name, value in reasons.items()} if acks else {},
    )


def _reordered(out_of_order: float | None, retransmitted: int | None) -> float | None:
    """Packets that arrived with another number than the next, less those of losses and their repairs.

    A lost segment counts twice: where its successor arrives, and where its retransmission does. Retransmissions that
    are unknown explain all of them.
    """
    if out_of_order is None or retransmitted is None:
        return None
    return max(0.0, out_of_order - 2 * retransmitted)


def _over(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
