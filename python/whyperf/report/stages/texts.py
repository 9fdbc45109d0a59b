"""Processing times as tables of texts, for the terminal and for the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whyperf.analyze.stages import (
    Amount,
    DirectionTotals,
    Fit,
    HostStages,
    Messages,
    StageTotal,
    TrialStages,
)
from whyperf.analyze.stages.notes import GAPS, gap_sentence, hook_sentences, limit_sentences, nothing_sampled
from whyperf.analyze.text import count, octets, percent, seconds, significant

KBYTE = 1024
NONE = "-"
NS_PER_S = 1e9
MIN_SHARE = 0.0005
MAX_MISFIT = 0.5
"""A line is shown if no size is farther from it, as a part of its time."""


@dataclass(frozen=True)
class Block:
    """A heading, a table of texts with the name in the first column, and sentences below it."""

    heading: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str] = ()


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
    """What a table of stages is about."""
    verb = "Sending" if total.direction == "out" else "Receiving"
    return f"{verb} at the {side_text(host)}"


def _totals(host: HostStages, total: DirectionTotals) -> Block:
    rows: list[tuple[str, ...]] = [_row(host, stage) for stage in total.stages]
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
    packets = count(total.packets, "packet")
    driver = f"The driver has {percent(total.driver_ratio.value)} of the CPU time"
    notes = [f"{packets} followed, {octets(total.packet_bytes)} on average. {driver}{_between(total.driver_ratio)}."]
    notes += _incomplete(total)
    columns: tuple[str, ...] = (
        *("Stage", "CPU per packet", "95 % interval", "Cycles", "Waiting", "Fixed + per KByte"),
    )
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Block(direction_text(host, total), columns, rows, notes)


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
        fit_text(total.fit),
    )


def _interval(amount: Amount) -> str:
    return NONE if amount.low is None or amount.high is None else _range(amount.low, amount.high)


def _range(low_ns: float, high_ns: float) -> str:
    """Two times, with one unit where both have the same."""
    (low, unit), high = seconds(low_ns).split(), seconds(high_ns)
    return f"{low}–{high}" if high.endswith(f" {unit}") else f"{low} {unit}–{high}"


def _cycles(host: HostStages, ns: float) -> str:
    return "" if host.clock_hz is None else significant(ns * host.clock_hz / NS_PER_S)


def fit_text(fit: Fit | None) -> str:
    """A line: a fixed time, and that of each KByte. Empty where sizes are on no line, or larger ones take no longer."""
    if fit is None or fit.misfit_ratio > MAX_MISFIT:
        return ""
    slope = fit.ns_per_byte
    if (slope.value if slope.low is None else slope.low) <= 0:
        return ""
    return f"{seconds(fit.fixed_ns.value)} + {seconds(slope.value * KBYTE)}"


def _incomplete(total: DirectionTotals) -> Iterator[str]:
    for stage in total.stages:
        if not stage.is_complete:
            known = percent(stage.covered_ratio)
            yield f"{stage.stage.title} is known of {known} of the bytes; the rest is taken as alike."
    missing = [stage.title for stage in total.missing if stage.name != "copy_in"]
    if missing:
        yield f"No rows of: {', '.join(missing)}."
    if len(missing) < len(total.missing):
        yield "The copy from the program is in TCP and IP out: with messages of one size nothing shows it alone."


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
    columns = ("Stage", "Mean", "Median", "99 %", *(("Slowest 1 %", "Of extra time") if has_slow else ()))
    return Block(
        f"Messages from the {side_text(writer)} to the {side_text(reader)}",
        columns,
        rows,
        [*_message_notes(messages), *_clock_notes(messages, found.uncertainty_ns)],
    )


def _between(ratio: Amount) -> str:
    """The interval of a ratio in parentheses."""
    return "" if ratio.low is None or ratio.high is None else f" ({percent(ratio.low)} to {percent(ratio.high)})"


def _share(ratio: Amount | None) -> str:
    # What rounds to nothing has no sign.
    return "" if ratio is None else percent(ratio.value if abs(ratio.value) >= MIN_SHARE else 0.0)


def _message_notes(messages: Messages) -> Iterator[str]:
    sizes = messages.lives.frame["payload_bytes"]
    size = octets(float(sizes.mean()))  # type: ignore[arg-type]
    median, late = messages.latency_ns["p50"], messages.latency_ns["p99"]
    yield (
        f"{count(messages.count, 'message')} of {size} on average, from the write call until the last byte is read. "
        f"Median {seconds(median.value)}{_ends(median)}, 99 % {seconds(late.value)}{_ends(late)}."
    )
    slowest = messages.makes_slow
    if slowest is not None and slowest.excess_ratio is not None:
        share = f"{percent(slowest.excess_ratio.value)}{_between(slowest.excess_ratio)}"
        where = f"{slowest.stage.title} ({slowest.stage.about})"
        yield f"The slowest 1 % take longer mostly in: {where}. It has {share} of their extra time."
    if messages.lives.unread:
        yield f"{count(messages.lives.unread, 'message')} left out: not followed until the reader had them."
    if messages.lives.early:
        yield (
            f"By the clocks of the hosts {count(messages.lives.early, 'message')} arrived before leaving: the clocks "
            "differ by more than their uncertainty, and the path is too short by that."
        )


def _clock_notes(messages: Messages, uncertainty_ns: float) -> Iterator[str]:
    """How exact times from one host to the other are, where the hosts have clocks of their own."""
    if uncertainty_ns <= 0:
        return
    path = next((share.p50_ns for share in messages.stages if share.stage.name == "path"), 0.0)
    within = f"The hosts have clocks of their own, compared to within {seconds(uncertainty_ns)}"
    if path <= uncertainty_ns:
        yield f"{within}: too little for Path, which is not known. The whole time is uncertain by that."
    else:
        yield f"{within}: Path and the whole time are uncertain by that."


def _ends(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f" ({_range(amount.low, amount.high)})"


def limits_of(found: TrialStages) -> list[str]:
    """What keeps stages from being shown, by host."""
    return [text for host in found.hosts for text in _limits(host)]


def _limits(host: HostStages) -> Iterator[str]:
    sentences = (*hook_sentences(host.report), *limit_sentences(host.report.limits))
    return (f"{host.host.capitalize()} side: {sentence}" for sentence in sentences)


def notes_of(found: TrialStages) -> list[str]:
    """How it was sampled, and what is missing, by host."""
    notes = [text for host in found.hosts for text in _host_notes(host)]
    if len(found.hosts) > 1 and not found.messages and all(host.frame.height for host in found.hosts):
        notes.append(
            "No message was sampled from its write call until it was read: use longer trials, or --stages-one-in 1."
        )
    return notes


def _host_notes(host: HostStages) -> Iterator[str]:
    report, side = host.report, f"{host.host.capitalize()} side"
    if report.reason is not None:
        yield f"{side}: {report.reason}"
    if host.frame.is_empty() and report.reason is None:
        yield f"{side}: {nothing_sampled(report)}"
    elif report.one_in:
        yield (
            f"{side}: 1 of {report.one_in} blocks of {octets(report.block_bytes)} was sampled. "
            f"{report.empty_pair_ns} ns are taken off for each probe."
        )
    if host.copies is not None and host.copies.shown_by == "tcp_out":
        yield (
            f"{side}: copying is what TCP and IP out take more for more bytes, "
            f"{significant(host.copies.ns_per_byte.value * KBYTE)} ns per KByte: no other copies show it."
        )
    yield from _limits(host)
    if report.broken_off is not None:
        yield f"{side}: the rows break off. {report.broken_off}"
    known = [reason for reason in GAPS if reason in host.gaps]
    others = [reason for reason in host.gaps if reason not in GAPS]
    yield from (f"{side}: {gap_sentence(reason, host.gaps[reason], report.rows)}" for reason in (*known, *others))
