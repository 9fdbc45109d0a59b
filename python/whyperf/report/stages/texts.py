"""Processing times as tables of texts, for the terminal and for the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.stages import (
    Amount,
    DirectionTotals,
    HostStages,
    Messages,
    Split,
    StageTotal,
    TrialStages,
    Unsplit,
)
from whyperf.analyze.stages.notes import (
    GAPS,
    gap_sentence,
    hook_sentences,
    limit_sentences,
    nothing_sampled,
    probe_sentence,
)
from whyperf.analyze.text import count, octets, percent, seconds, significant

KBYTE = 1024
NONE = "-"
NS_PER_S = 1e9
MIN_SHARE = 0.0005
MIN_MERGED = 1.01
"""A mean packet with more wire segments holds several."""
UNSPLIT: Mapping[Unsplit, str] = {
    "alike": "their sizes are too much alike, or too few were followed",
    "flat": "larger sizes do not take measurably longer",
    "bent": "their times do not grow with the size in a straight line",
}
"""Why stages have no fixed time and time per KByte."""


@dataclass(frozen=True)
class Block:
    """A heading, a table of texts with the name in the first column, and sentences below it.

    `hosts` are those that it is about, by side.
    """

    heading: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str] = ()
    hosts: frozenset[str] = frozenset()


def blocks_of(found: TrialStages) -> list[Block]:
    """The stages of each direction at each host, then the messages of each direction."""
    return [
        *(_totals(found.host(total.host), total) for total in found.totals),
        *(_messages(found, messages) for messages in found.messages),
    ]


def side_text(host: HostStages) -> str:
    """A host by its role and side."""
    return f"{host.role} ({host.host} side)"


def direction_text(host: HostStages, total: DirectionTotals) -> str:
    """The subject of a table of stages."""
    verb = "Sending" if total.direction == "out" else "Receiving"
    return f"{verb} at the {side_text(host)}"


def _totals(host: HostStages, total: DirectionTotals) -> Block:
    for_acks = [stage for stage in total.stages if stage.stage.layer == "acks"]
    rows: list[tuple[str, ...]] = [_row(host, stage) for stage in total.stages if stage not in for_acks]
    rows.append(
        (
            "All stages",
            seconds(total.cpu_ns.value),
            _interval(total.cpu_ns),
            _cycles(host, total.cpu_ns.value),
            seconds(total.waiting_ns.value),
            "",
        )
    )
    rows += [_row(host, stage) for stage in for_acks]
    notes = [*_population(total), *_unsplit(total), *_incomplete(total)]
    notes += ["All stages are those of payload; the work for its ACKs below is in addition."] if for_acks else []
    columns: tuple[str, ...] = (
        *("Stage of a packet", "CPU per packet", "95 % interval", "Cycles", "Waiting", "Fixed + per KByte"),
    )
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    heading = f"{direction_text(host, total)}, per packet of {octets(total.packet_bytes)}"
    return Block(heading, columns, rows, notes, frozenset({host.host}))


def _population(total: DirectionTotals) -> Iterator[str]:
    """The packets that the means are of, and the share of the driver."""
    # What arrives is counted by the packets that TCP takes, and these do not all have a number of segments.
    merged = total.segments / total.packets if total.direction == "out" else 0.0
    several = f" A packet had {significant(merged)} wire segments on average (GSO)."
    yield f"Means of {count(total.packets, 'packet')}.{several if merged >= MIN_MERGED else ''}"
    share = total.driver_ratio
    yield f"The driver has {percent(share.value)} of the CPU time{_between(share)}."


def _unsplit(total: DirectionTotals) -> Iterator[str]:
    """Which stages have no fixed time and time per KByte, by reason."""
    processed = [stage for stage in total.stages if not stage.stage.is_wait]
    for reason, why in UNSPLIT.items():
        names = [stage.stage.title for stage in processed if stage.split == reason and stage.cpu_ns.value > 0]
        if len(names) == len(processed):
            yield f"No stage is split into a fixed time and a time per KByte: {why}."
        elif names:
            yield f"Not split into fixed and per KByte: {', '.join(names)}. Reason: {why}."


def _row(host: HostStages, total: StageTotal) -> tuple[str, ...]:
    waiting = total.waiting_ns.value
    if total.stage.is_wait:
        return (total.stage.title, NONE, NONE, NONE, seconds(waiting), "")
    return (
        total.stage.title,
        seconds(total.cpu_ns.value),
        _interval(total.cpu_ns),
        _cycles(host, total.cpu_ns.value),
        seconds(waiting) if waiting >= 1 else NONE,
        split_text(total.split),
    )


def _interval(amount: Amount) -> str:
    return NONE if amount.low is None or amount.high is None else _range(amount.low, amount.high)


def _range(low_ns: float, high_ns: float) -> str:
    """Two times, with one unit where both have the same."""
    (low, unit), high = seconds(low_ns).split(), seconds(high_ns)
    return f"{low}–{high}" if high.endswith(f" {unit}") else f"{low} {unit}–{high}"


def _cycles(host: HostStages, ns: float) -> str:
    return "" if host.clock_hz is None else significant(ns * host.clock_hz / NS_PER_S)


def split_text(split: Split | Unsplit | None) -> str:
    """A mean as a fixed time and that of each KByte; empty where it is not split."""
    if not isinstance(split, Split):
        return ""
    return f"{seconds(split.fixed_ns)} + {seconds(split.ns_per_byte.value * KBYTE)}"


def _incomplete(total: DirectionTotals) -> Iterator[str]:
    for stage in total.stages:
        if not stage.is_complete:
            known = percent(stage.covered_ratio)
            yield f"{stage.stage.title} was seen for {known} of the bytes; the rest is assumed to take as long."
    missing = [stage.title for stage in total.missing if stage.name != "copy_in"]
    if missing:
        yield f"Never seen: {', '.join(missing)}."
    if len(missing) < len(total.missing):
        yield "TCP and IP out includes the copy from the program: with messages of one size they cannot be separated."


def _messages(found: TrialStages, messages: Messages) -> Block:
    lives = messages.lives
    writer, reader = found.host(lives.writer), found.host(lives.reader)
    has_slow = messages.slow > 0
    rows = [
        (
            share.stage.title,
            seconds(share.mean_ns),
            seconds(share.p50_ns),
            seconds(share.p99_ns),
            *((seconds(share.slow_ns or 0.0), _share(share.excess_ratio)) if has_slow else ()),
        )
        for share in messages.stages
    ]
    whole = [messages.mean_ns, messages.latency_ns["p50"].value, messages.latency_ns["p99"].value]
    slow = sum(share.slow_ns or 0.0 for share in messages.stages)
    rows.append(("Whole time", *map(seconds, whole), *((seconds(slow), "100 %") if has_slow else ())))
    columns = ("Stage of a message", "Mean", "Median", "99 %", *(("Slowest 1 %", "Of extra time") if has_slow else ()))
    heading = (
        f"{side_text(writer).capitalize()} to {side_text(reader)}, per message of {octets(messages.message_bytes)}"
    )
    notes = [*_message_notes(messages), *_clock_notes(messages, found.uncertainty_ns)]
    return Block(heading, columns, rows, notes, frozenset({writer.host, reader.host}))


def _between(ratio: Amount) -> str:
    """The interval of a ratio in parentheses."""
    return "" if ratio.low is None or ratio.high is None else f" ({percent(ratio.low)} to {percent(ratio.high)})"


def _share(ratio: Amount | None) -> str:
    # What rounds to nothing has no sign.
    return "" if ratio is None else percent(ratio.value if abs(ratio.value) >= MIN_SHARE else 0.0)


def _message_notes(messages: Messages) -> Iterator[str]:
    median, late = messages.latency_ns["p50"], messages.latency_ns["p99"]
    yield (
        f"Of {count(messages.count, 'message')}. A message is what one write call wrote, and its time ends when the "
        "reader has the last byte. Its stages are those of that byte."
    )
    yield f"Latency: median {seconds(median.value)}{_ends(median)}, 99 % {seconds(late.value)}{_ends(late)}."
    slowest = messages.makes_slow
    if slowest is not None and slowest.excess_ratio is not None:
        share = f"{percent(slowest.excess_ratio.value)}{_between(slowest.excess_ratio)}"
        where = f"{slowest.stage.title} ({slowest.stage.about})"
        yield f"The slowest 1 % take longer mostly in {where}: {share} of their extra time."
    if messages.lives.unread:
        yield f"{count(messages.lives.unread, 'message')} left out: not every stage was sampled."


def _clock_notes(messages: Messages, uncertainty_ns: float) -> Iterator[str]:
    """The exactness of times from one host to the other."""
    early = messages.lives.early
    if uncertainty_ns <= 0:
        if early:
            yield (
                f"The receiver's first stage of {count(early, 'message')} began before the message had left: their "
                "Path counts as 0."
            )
        return
    if early:
        yield (
            f"{count(early, 'message')} arrived before leaving, by the clocks. So the clocks differ by more than "
            "stated, and Path is too short by that."
        )
    path = next((share.p50_ns for share in messages.stages if share.stage.name == "path"), 0.0)
    within = f"The clocks of the hosts were compared to within {seconds(uncertainty_ns)}"
    if path <= uncertainty_ns:
        yield f"{within}. Path is shorter, so it is not known. The whole time is uncertain by that."
    else:
        yield f"{within}. Path and the whole time are uncertain by that."


def _ends(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f" ({_range(amount.low, amount.high)})"


def limits_of(found: TrialStages) -> list[str]:
    """The limits that keep stages from being shown, by host."""
    return _by_side({host.host: list(_limits(host)) for host in found.hosts})


def _limits(host: HostStages) -> Iterator[str]:
    yield from hook_sentences(host.report)
    yield from limit_sentences(host.report.limits)


def notes_of(found: TrialStages) -> list[str]:
    """Notes on how it was sampled, and on what is missing, by host."""
    notes = _by_side({host.host: list(_host_notes(host)) for host in found.hosts})
    if len(found.hosts) > 1 and not found.messages and all(host.frame.height for host in found.hosts):
        notes.append(
            "No message was sampled from its write call until it was read. Use longer trials, or --stages-one-in 1."
        )
    return notes


def _by_side(sentences: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences with the side that each is about; those of both sides come once, and first."""
    both = set.intersection(*map(set, sentences.values())) if len(sentences) > 1 else set()
    shared = [text for text in next(iter(sentences.values()), ()) if text in both]
    return [f"Both sides: {text}" for text in shared] + [
        f"{host.capitalize()} side: {text}" for host, own in sentences.items() for text in own if text not in both
    ]


def _host_notes(host: HostStages) -> Iterator[str]:
    report = host.report
    if report.reason is not None:
        yield f"No stage times, because {report.reason.rstrip('.')}."
    if host.frame.is_empty() and report.reason is None:
        yield nothing_sampled(report)
    elif report.one_in:
        yield (
            f"1 of {report.one_in} blocks of {octets(report.block_bytes)} of each connection was sampled. "
            f"For each probe {report.empty_pair_ns} ns are subtracted."
        )
    if report.probe is not None and report.probe.by:
        yield probe_sentence(report.probe)
    if host.copies is not None and host.copies.shown_by == "tcp_out":
        yield (
            f"Copy in is estimated as {significant(host.copies.ns_per_byte.value * KBYTE)} ns per KByte, by "
            "which TCP and IP out grows with the size. No copy was seen alone."
        )
    yield from _limits(host)
    if report.broken_off is not None:
        yield f"The stage times end before the trial. Reason: {report.broken_off.rstrip('.')}."
    known = [reason for reason in GAPS if reason in host.gaps]
    others = [reason for reason in host.gaps if reason not in GAPS]
    yield from (gap_sentence(reason, host.gaps[reason], report.rows) for reason in (*known, *others))
