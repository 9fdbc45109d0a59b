"""The pattern of a connection, from its rows of both logs.

Data sent again, and where it had been lost: on the path, or in the receiving host.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import Runs, find_payloads, runs_of
from whyperf.analyze.flow.acks import IS_PURE_ACK
from whyperf.analyze.flow.log import ACK_REASONS
from whyperf.explain.explanation import CyclePlace, Losses, Pattern, Phase, Statement
from whyperf.explain.pattern.cycles import Cycles, cycles_of, overlap_ratio, places, stop_and_go_ratio, what_changed
from whyperf.explain.pattern.packets import Packets, Stretch, find_stretches, packets_of
from whyperf.explain.segment_log import LoggedConnection
from whyperf.explain.wording.catalog import render
from whyperf.explain.wording.patterns import with_text


def find_losses(sender: LoggedConnection | None, receiver: LoggedConnection | None) -> Losses | None:
    """The losses of one connection from both logs; None without the sender's or without any.

    A retransmission of the octet that the receiver said was missing shows where the copy before it was lost: had one
    been seen to arrive at the receiving host's device before the receiver asked for it again, the host lost it.
    """
    if sender is None:
        return None
    again = sender.rows.filter((pl.col("direction") == "out") & pl.col("retransmission").is_not_null())
    if again.is_empty():
        return None
    kinds = again.group_by(pl.col("retransmission").cast(pl.String)).len().sort("retransmission")
    places = (None, None) if receiver is None else _places(again, receiver.rows)
    return Losses(
        kinds={str(kind): int(number) for kind, number in kinds.iter_rows()},
        timeout_wait_ns=_silence(sender.rows),
        lost_in_receiver=places[0],
        lost_on_path=places[1],
    )


def _silence(sender: pl.DataFrame) -> int:
    """From the last segment of either direction to each retransmission that a timer made."""
    time = pl.col("time_ns")
    waited = sender.lazy().with_columns((time - time.shift(1)).alias("gap"))
    found = waited.filter(pl.col("retransmission") == "timeout").select(pl.col("gap").sum()).collect().item()
    return int(found or 0)


def _places(again: pl.DataFrame, receiver: pl.DataFrame) -> tuple[int, int]:
    """(lost in the receiving host, lost on the path): by what the receiver had seen and asked for before."""
    asked = (
        receiver.filter((pl.col("direction") == "out") & IS_PURE_ACK)
        .select(
            pl.col("time_ns").alias("asked_ns"),
            pl.col("time_ns").alias("time_ns"),
            pl.col("acknowledgment").cum_max().alias("missing"),
        )
        .sort("time_ns")
    )
    wanted = again.select("time_ns", "sequence").sort("time_ns").join_asof(asked, on="time_ns")
    wanted = wanted.filter(pl.col("sequence") == pl.col("missing"))
    arrived = (
        receiver.filter((pl.col("direction") == "in") & (pl.col("payload_bytes") > 0))
        .group_by("sequence")
        .agg(pl.col("time_ns").min().alias("arrived_ns"), pl.col("payload_bytes").max())
        .sort("sequence")
        .with_columns(pl.col("sequence").alias("first"))
    )
    seen = wanted.sort("sequence").join_asof(arrived, on="sequence")
    had = (
        (pl.col("sequence") < pl.col("first") + pl.col("payload_bytes")) & (pl.col("arrived_ns") < pl.col("asked_ns"))
    ).fill_null(value=False)
    inside = int(seen.select(had.sum()).item())
    return inside, seen.height - inside


Ints = NDArray[np.int64]

ENOUGH_RATIO = 0.5
"""Cycles of packets that cover less than this give way to those of the segments they become on the wire."""


def describe_pattern(
    trial: str, connection: int, sender: LoggedConnection | None, receiver: LoggedConnection | None, mss: int | None
) -> Pattern:
    """The pattern of one connection.

    `sender` and `receiver` are its segments in their logs, None where a host kept no log: what cannot be said then
    stands in `missing`.
    """
    missing = _missing(sender, receiver)
    packets = packets_of(sender, receiver, mss)
    if packets is None:
        text = render("cycle", "none" if len(missing) < 2 else "no_log", {})
        return Pattern(trial=trial, connection=connection, phases=[], words=text, missing=missing)
    losses = find_losses(sender, receiver)
    phases, otherwise = _phases(packets, sender)
    found = Pattern(trial=trial, connection=connection, phases=phases, words="", losses=losses, missing=missing)
    return with_text(found, otherwise, packets.life_ns)


def _missing(sender: LoggedConnection | None, receiver: LoggedConnection | None) -> list[str]:
    rows = {"sender": sender, "receiver": receiver}
    return [render("missing", f"log_{role}", {}) for role, log in rows.items() if log is None]


def _phases(packets: Packets, log: LoggedConnection | None) -> tuple[list[Phase], str]:
    """The phases, and what to say where there are none."""
    runs = runs_of(packets.payload.astype(np.uint32))
    stretches = find_stretches(runs)
    if sum(stretch.covered for stretch in stretches) >= ENOUGH_RATIO * packets.payload.size:
        return _phases_of_packets(packets, stretches, log), ""
    wire = _wire(packets)
    before = np.append(0, np.cumsum(packets.segments))
    on_wire = find_stretches(wire)
    if sum(stretch.covered for stretch in on_wire) >= ENOUGH_RATIO * wire.segments_count:
        return _phases_on_wire(packets, wire, before, on_wire, log), ""
    return _phases_of_packets(packets, stretches, log), find_payloads(wire).words


def _wire(packets: Packets) -> Runs:
    """The payloads on the wire: each packet is so many full segments and one of what is left."""
    sizes, repeats = (
        np.empty((packets.payload.size, 2), dtype=np.uint32),
        np.ones((packets.payload.size, 2), dtype=np.int64),
    )
    repeats[:, 0] = packets.segments - 1
    sizes[:, 0] = packets.full
    sizes[:, 1] = packets.payload - packets.full * repeats[:, 0]
    return runs_of(sizes.ravel(), repeats.ravel())


def _phases_of_packets(packets: Packets, stretches: Sequence[Stretch], log: LoggedConnection | None) -> list[Phase]:
    """Phases whose cycles are packets."""
    found: list[Phase] = []
    for number, stretch in enumerate(stretches):
        cycles = cycles_of(packets, stretch)
        changed = what_changed(packets, stretches[number - 1], stretch, log) if number else None
        found.append(_phase(packets, stretch, cycles, changed))
    return found


def _phases_on_wire(
    packets: Packets, wire: Runs, before: Ints, stretches: Sequence[Stretch], log: LoggedConnection | None
) -> list[Phase]:
    """Phases whose cycles are segments on the wire, in packets of no steady size: they have no places."""
    runs_before = np.append(0, np.cumsum(wire.repeats))
    found: list[Phase] = []
    last: Stretch | None = None
    for stretch in stretches:
        start, stop = np.searchsorted(before, [stretch.inner[0][0], stretch.stop], side="right") - 1
        of_packets = Stretch(
            int(start), max(int(stop), int(start) + 1), 1, ((int(start), max(int(stop), int(start) + 1)),)
        )
        run = int(np.searchsorted(runs_before, stretch.inner[0][0], side="right")) - 1
        payloads = _cycle_of_runs(wire, run, stretch.period)
        changed = what_changed(packets, last, of_packets, log) if last is not None else None
        cycles = Cycles(np.arange(of_packets.start, of_packets.stop)[:, None])
        found.append(_phase(packets, of_packets, cycles, changed, payloads))
        last = of_packets
    return found


def _cycle_of_runs(wire: Runs, run: int, period: int) -> list[tuple[int, int]]:
    if period == 1:
        return [(int(wire.size[run]), 1)]
    found, left = [], period
    while left > 0 and run < wire.size.size:
        times = min(left, int(wire.repeats[run]))
        found.append((int(wire.size[run]), times))
        left, run = left - times, run + 1
    return found


def _phase(
    packets: Packets,
    stretch: Stretch,
    cycles: Cycles,
    change: Statement | None,
    on_wire: list[tuple[int, int]] | None = None,
) -> Phase:
    """One phase; `on_wire` is its cycle where that is one of segments and not of packets."""
    cycle = places(packets, cycles) if cycles.count else []
    start_ns = int(packets.time_ns[stretch.start])
    after = stretch.stop < packets.time_ns.size
    end_ns = int(packets.time_ns[stretch.stop]) if after else packets.last_ns
    inner = np.concatenate([np.arange(start, stop) for start, stop in stretch.inner])
    per_cycle = max(1, cycles.places) if on_wire is None else sum(times for _, times in on_wire)
    sent = (
        stretch.stop - stretch.start if on_wire is None else int(packets.segments[stretch.start : stretch.stop].sum())
    )
    cycles_count = max(1.0, sent / per_cycle)
    acks = packets.acks.filter(pl.col("time_ns").is_between(start_ns, end_ns, closed="left" if after else "both"))
    reasons = _reasons(acks, cycles_count)
    waited = inner[packets.follows_ack[inner]]
    return Phase(
        begin_ns=start_ns,
        end_ns=end_ns,
        payloads=on_wire or _payloads(cycle),
        acks_per_turn=acks.height / cycles_count,
        waits="",
        ratio=min(1.0, _time_in(packets, stretch) / packets.life_ns),
        change=change,
        words="",
        stretches=stretch.returns,
        turn=cycle,
        turns=int(cycles_count),
        turn_ns=int((end_ns - start_ns) / cycles_count),
        ack_reasons=reasons,
        stop_and_go_ratio=stop_and_go_ratio(packets, inner),
        overlap_ratio=overlap_ratio(packets, inner),
        outstanding_bytes=int(np.median(packets.outstanding[waited])) if packets.is_sender and waited.size else None,
        packet_bytes=int(np.median(packets.payload[inner])),
        window_bytes=int(np.median(acks["window_bytes"].to_numpy())) if acks.height else None,
    )


def _time_in(packets: Packets, stretch: Stretch) -> int:
    """The time in which the cycle repeats: that of the phase's spans."""
    ends = np.append(packets.time_ns, packets.last_ns)
    spans = np.array(stretch.inner)
    return int((ends[spans[:, 1]] - ends[spans[:, 0]]).sum())


def _reasons(acks: pl.DataFrame, cycles: float) -> dict[str, float]:
    """Pure ACKs a cycle by why the receiver sent them, the most frequent first; none where that is not known."""
    known = acks["reason"].drop_nulls()
    counts = known.cast(pl.String).value_counts(sort=True)
    found = {str(reason): int(number) / cycles for reason, number in counts.iter_rows()}
    return {reason: found[reason] for reason in sorted(found, key=lambda word: (-found[word], ACK_REASONS.index(word)))}


def _payloads(cycle: Sequence[CyclePlace]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for place in cycle:
        if found and found[-1][0] == place.payload_bytes:
            found[-1] = (place.payload_bytes, found[-1][1] + place.times)
        else:
            found.append((place.payload_bytes, place.times))
    return found
