"""What the sentences of an explanation must agree in: each check gives a sentence for what contradicts another.

The checks look at figures and structure, and at no text of a single case.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Value, Verdict
from whyperf.explain.limits.gain import SUPER_SEGMENT_BYTES
from whyperf.explain.setup import Setup
from whyperf.explain.states import SenderState
from whyperf.explain.trial_facts import Facts

HEADERS = 1.06
"""Headers over payload of segments of 1,448 bytes, with some room."""
MIN_CARRIED, MAX_CARRIED = 0.7, 1.15
"""The rate over that of the part of a link which is said to be used: what is measured of both differs in time."""
MAX_TOGETHER = 1.15
"""Shares of the time that exclude each other, together: CPUs are counted in ticks."""


class Explained(NamedTuple):
    """A judgement, and what it was made from."""

    name: str
    facts: Facts
    setup: Setup
    verdicts: Sequence[Verdict]


def contradictions(explained: Explained) -> Iterator[str]:
    """All that does not agree."""
    for check in (_links, _buffers, _known_paths, _hints, _work, _budgets, _few_drops):
        yield from (f"{explained.name}: {found}" for found in check(explained))


def _links(explained: Explained) -> Iterator[str]:
    """The rate of a link, the part of it that is used, and the rate that was measured: of the trial's whole life, or of
    its measured phase."""
    facts = explained.facts
    rates = [rate for rate in (facts.rate_bps, facts.goodput_bps) if rate]
    for verdict in explained.verdicts:
        link, used = _number(verdict, "link_bps"), _number(verdict, "whole_use_ratio") or _number(verdict, "use_ratio")
        if not rates or not link or not used:
            continue
        if not any(MIN_CARRIED < rate * HEADERS / (link * used) < MAX_CARRIED * HEADERS for rate in rates):
            yield f"{used:.0%} of {link / 1e6:.1f} Mbit/s are used at {rates[0] / 1e6:.1f} Mbit/s ({verdict.code})"


def _buffers(explained: Explained) -> Iterator[str]:
    """What is in flight, next to the send buffer that holds it."""
    for verdict in explained.verdicts:
        values = _evidence_values(verdict)
        flight, buffer = values.get("max_in_flight.flight_bytes"), values.get("send_buffer.buffer_bytes")
        if isinstance(flight, int) and isinstance(buffer, int) and flight > buffer + SUPER_SEGMENT_BYTES:
            yield f"{flight:,} bytes are in flight with a send buffer of {buffer:,}"


def _known_paths(explained: Explained) -> Iterator[str]:
    """A path's rate that the plan has is known."""
    facts = explained.facts
    if explained.setup.path_bps(is_turned=facts.is_turned) is None:
        return
    for verdict in explained.verdicts:
        if "not known" in verdict.predicted_from:
            yield f"the path's rate is given, and {verdict.code} says: {verdict.predicted_from}"


def _hints(explained: Explained) -> Iterator[str]:
    """What is said to show more is not there yet."""
    facts = explained.facts
    has_both = facts.segments.losses.ratio is not None
    for verdict in explained.verdicts:
        for text in (verdict.claim, *(row.words for row in verdict.evidence), verdict.refuted_by):
            if facts.level != "user" and "as root" in text:
                yield f"root has {facts.level}, and {verdict.code} says: {text}"
            if facts.level == "segments" and "a segment log" in text.lower():
                yield f"there is a segment log, and {verdict.code} says: {text}"
            if has_both and facts.level == "segments" and "--evidence" in text:
                yield f"both logs are there, and {verdict.code} says: {text}"


def _work(explained: Explained) -> Iterator[str]:
    """A CPU that is busy moving payload, next to an application that does not write; a thread of several connections
    writes to one of them at a time."""
    facts = explained.facts
    idle = facts.sender.ratio(SenderState.NOT_WRITING)
    for verdict in explained.verdicts:
        busy = _number(verdict, "busy_ratio")
        is_of_sender = verdict.cause is Cause.CAPACITY and verdict.values.get("role") == "sender"
        is_alone = facts.connections == 1 and facts.exchanges is None
        if is_of_sender and is_alone and busy and busy + idle > MAX_TOGETHER:
            yield f"the sender does not write {idle:.0%} of the time, and its CPU is {busy:.0%} busy with that"


def _budgets(explained: Explained) -> Iterator[str]:
    """The same of a budget of the kernel's clocks: a thread of the load that runs is at work."""
    facts = explained.facts
    idle, ran = facts.sender.ratio(SenderState.NOT_WRITING), facts.sender.processors.thread_ratio or 0.0
    if facts.level != "segments" and not facts.is_watched and idle + ran > MAX_TOGETHER:
        yield f"the sender does not write {idle:.0%} of the time, and its thread runs {ran:.0%} of it"


MAX_DROP_TRIPS = 2.0


def _few_drops(explained: Explained) -> Iterator[str]:
    """Drops of an own queue, next to what they are said to cost: a window that each of them halves grows back."""
    facts = explained.facts
    trip, size = facts.windows.rtt_ns_median, facts.sender.sockets.mss_bytes
    for verdict in explained.verdicts:
        drops = _number(verdict, "dropped_packets")
        if verdict.code != str(Cause.LOCAL_QUEUE) or drops is None or not trip or not size:
            continue
        rate = max((queue.rate_bps or 0.0 for queue in facts.sender.limits.queues), default=0.0)
        regrown_ns = MAX_DROP_TRIPS * drops * trip * max(1.0, rate * trip / 8e9 / size)
        if rate and (verdict.lost_ratio or 0.0) * facts.life_ns > 1.01 * regrown_ns:
            yield f"{drops:.0f} drops cost {verdict.lost_ratio:.0%} of {facts.life_ns / 1e9:.1f} s"


def _number(verdict: Verdict, name: str) -> float | None:
    value = verdict.values.get(name)
    return float(value) if isinstance(value, int | float) else None


def _evidence_values(verdict: Verdict) -> dict[str, Value]:
    return {f"{row.code}.{name}": value for row in verdict.evidence for name, value in row.values.items()}
