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
from whyperf.analyze.text import count, octets, percent, seconds, significant

KBYTE = 1024
NONE = "-"
NS_PER_S = 1e9
MIN_SHARE = 0.0005
MAX_MISFIT = 0.5
"""A line is shown if no size is farther from it, as a part of its time."""
GAPS = {
    "no_start": "where the hook before the stage ran unseen",
    "merged": "wire segments that GRO merged into followed ones",
    "split": "parts that a super-segment was cut into before the driver",
    "retransmission": "retransmissions",
    "softirq_sent": "packets that receive processing or a timer sent, which belong to no call",
    "socket_backlog": "packets that TCP processed in the process that held the socket",
    "other_cpu": "packets that left the queue on another CPU",
    "stacked_device": "transmissions through a device below another",
    "requeued": "transmissions that the driver refused",
    "no_arrival": "copies whose arrival is not known",
    "lost_record": "rows that the log had no room for",
}
"""What `stage_gaps` counts, as it is read after a number."""
LEFT_OUT = frozenset({"no_start", "stacked_device", "requeued", "no_arrival", "lost_record"})
"""Of these, the reasons for which a time is missing; the others were followed."""


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
        *("Stage", "CPU per packet", "95 % interval", "Cycles", "Waiting", "Each time + per KByte"),
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
    return NONE if amount.low is None or amount.high is None else f"{seconds(amount.low)} to {seconds(amount.high)}"


def _cycles(host: HostStages, ns: float) -> str:
    return "" if host.clock_hz is None else significant(ns * host.clock_hz / NS_PER_S)


def fit_text(fit: Fit | None) -> str:
    """A line: what a stage takes each time, and for each KByte; empty where the sizes lie on no line."""
    if fit is None or fit.misfit_ratio > MAX_MISFIT:
        return ""
    return f"{seconds(fit.fixed_ns.value)} + {seconds(fit.ns_per_byte.value * KBYTE)}"


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
    columns = ("Stage", "Mean", "Median", "99 %", *(("Slowest 1 %", "Of their delay") if has_slow else ()))
    return Block(
        f"Messages from the {side_text(writer)} to the {side_text(reader)}",
        columns,
        rows,
        list(_message_notes(messages)),
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
        yield f"Most of what the slowest 1 % take longer ({share}) is in: {where}."
    if messages.lives.unread:
        yield f"{count(messages.lives.unread, 'message')} left out: not followed until the reader had them."
    if messages.lives.early:
        yield (
            f"By the clocks of the hosts {count(messages.lives.early, 'message')} arrived before leaving: the clocks "
            "differ by more than their uncertainty, and the path is too short by that."
        )


def _ends(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f" ({seconds(amount.low)} to {seconds(amount.high)})"


def notes_of(found: TrialStages) -> list[str]:
    """How it was sampled, and what is missing, by host."""
    return [text for host in found.hosts for text in _host_notes(host)]


def _host_notes(host: HostStages) -> Iterator[str]:
    report, side = host.report, f"{host.host.capitalize()} side"
    if report.reason is not None:
        yield f"{side}: {report.reason}"
    if host.frame.is_empty() and report.reason is None:
        yield (
            f"{side}: no segment was sampled, because few blocks of {octets(report.block_bytes)} were sent. "
            "`--stages-one-in 1` follows all of them."
        )
    elif report.one_in:
        yield (
            f"{side}: 1 of {report.one_in} blocks of {octets(report.block_bytes)} was followed. "
            f"{report.empty_pair_ns} ns are taken off for each probe."
        )
    if host.copies is not None and host.copies.shown_by == "tcp_out":
        yield (
            f"{side}: copying is what TCP and IP out take more for more bytes, "
            f"{significant(host.copies.ns_per_byte.value * KBYTE)} ns per KByte: no other copies show it."
        )
    if report.missing:
        yield f"{side}: this kernel lacks {', '.join(report.missing)}; the stages around them are one."
    if report.broken_off is not None:
        yield f"{side}: the rows break off. {report.broken_off}"
    left_out = {reason: number for reason, number in host.gaps.items() if reason in LEFT_OUT}
    followed = {reason: number for reason, number in host.gaps.items() if reason not in LEFT_OUT}
    for what, gaps in (("Not followed", left_out), ("Among what was followed", followed)):
        if gaps:
            listed = "; ".join(f"{number:,} {GAPS.get(reason, reason)}" for reason, number in gaps.items())
            yield f"{what}, {host.host} side: {listed}."
