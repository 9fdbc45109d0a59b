"""The differences of a tool from the own load, one by one, and those of them that were shown to be a reason."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.tools.differences import usable
from lab.tools.tool_runs import (
    OWN,
    Difference,
    Load,
    Look,
    Ratio,
    Run,
    Side,
    SideLook,
    ToolFigures,
    ToolReport,
    Verdict,
)
from whyperf.analyze.text import percent, significant

SIDES: tuple[Side, Side] = ("sender", "receiver")
MIN_WAITS = 0.5
"""Waits for each data call, from which on a side polls before its calls."""
STRACE, KERNEL, PRINTED = "strace, a run of its own", "kernel", "output of the tool"


@dataclass(frozen=True)
class Observations:
    """Everything known of all loads: their runs, and what each does call by call."""

    runs: Sequence[Run]
    looks: Mapping[str, Look]
    load: Load


def report_of(tool: ToolFigures, own: ToolFigures, seen: Observations, verdicts: Sequence[Verdict]) -> ToolReport:
    """The tool next to the own load."""
    ratios = {ratio.name: ratio for ratio in tool.ratios}
    differences = tuple(_differences(tool, own, seen, verdicts))
    return ToolReport(
        tool=tool.tool,
        headline=_headline(tool.tool, ratios),
        sentences=tuple(_sentences(tool, ratios, verdicts)),
        differences=differences,
    )


def _headline(tool: str, ratios: Mapping[str, Ratio]) -> str:
    reported = ratios.get("reported")
    if reported is None:
        return f"{tool} has no run next to one of the own load."
    text = f"{tool} reports {times(reported)} the rate that {OWN} reports"
    parts = [ratios[name] for name in ("window", "counting") if name in ratios]
    if len(parts) < 2:
        return f"{text}."
    moved, counted = parts
    return (
        f"{text}: it moves {times(moved)} as much in the same window, and its own way of counting makes "
        f"{significant(counted.ratio)} × of that."
    )


def times(ratio: Ratio) -> str:
    """`0.93 × (0.90 to 0.96)`, with the mark of significance."""
    interval = "" if ratio.low is None or ratio.high is None else (
        f" ({significant(ratio.low)} to {significant(ratio.high)})"
    )  # fmt: skip
    return f"{significant(ratio.ratio)} ×{interval}"


def _sentences(tool: ToolFigures, ratios: Mapping[str, Ratio], verdicts: Sequence[Verdict]) -> Iterator[str]:
    for side in ("sender", "receiver"):
        cost = ratios.get(f"cpu_{side}")
        if cost is not None and cost.is_significant:
            yield f"The {side}'s processes of {tool.tool} need {times(cost)} the CPU time for the same work."
    for verdict in verdicts:
        yield verdict.sentence
    if tool.void:
        yield f"Some runs of {tool.tool} did not count: {'; '.join(tool.void)}."


def _differences(
    tool: ToolFigures, own: ToolFigures, seen: Observations, verdicts: Sequence[Verdict]
) -> Iterator[Difference]:
    runs, looks, load = seen.runs, seen.looks, seen.load
    calls, warm_up = (
        tuple(verdict for verdict in verdicts if verdict.variant == variant) for variant in ("calls", "warm_up")
    )
    for side in SIDES:
        name = "write_size" if side == "sender" else "read_size"
        title = "Bytes per send call" if side == "sender" else "Bytes per receive call"
        values = [
            _call(
                looks.get(each.tool),
                side,
                each.bytes_per_call_sender if side == "sender" else each.bytes_per_call_receiver,
            )
            for each in (tool, own)
        ]
        if all(values):
            yield Difference(name=name, title=title, tool=values[0], own=values[1], source=KERNEL, verdicts=calls)
    for side in SIDES:
        name = "send_wait" if side == "sender" else "read_wait"
        found = [_side(looks.get(each.tool), side) for each in (tool, own)]
        if found[0] is not None and found[1] is not None:
            texts = [waiting(each) for each in found if each is not None]
            title = "Wait of the sender" if side == "sender" else "Wait of the receiver"
            yield Difference(name=name, title=title, tool=texts[0], own=texts[1], source=STRACE, verdicts=calls)
    yield from _counted(tool, own, runs, load, warm_up)
    yield from _facts(tool, own, runs, looks)


def _call(look: Look | None, side: Side, mean_bytes: float | None) -> str:
    """The mean of a side's calls, and what they asked for."""
    if mean_bytes is None:
        return ""
    seen = _side(look, side)
    asked = "" if seen is None or seen.asked_bytes is None else f" ({seen.data_call} asks for {seen.asked_bytes:,})"
    return f"{mean_bytes:,.0f}{asked}"


def _side(look: Look | None, side: Side) -> SideLook | None:
    if look is None:
        return None
    return look.sender if side == "sender" else look.receiver


def polls(look: SideLook | None) -> bool:
    """True where a side waits by select, poll or epoll before most of its calls."""
    return look is not None and look.waits_per_call >= MIN_WAITS


def waiting(look: SideLook) -> str:
    """The way that a side waits for its socket."""
    if polls(look):
        return f"{look.waits} before a call ({significant(look.waits_per_call)} for each {look.data_call})"
    if look.waits_count and look.waits_per_call >= 0.01:
        return f"inside {look.data_call}; {look.waits} for one in {round(1 / look.waits_per_call):,}"
    return f"inside {look.data_call}"


def _counted(
    tool: ToolFigures, own: ToolFigures, runs: Sequence[Run], load: Load, verdicts: tuple[Verdict, ...]
) -> Iterator[Difference]:
    """The counts of each, by what it prints and by the kernel's counts of the same run."""
    yield Difference(
        name="warm_up",
        title="Warm-up",
        tool=_warm_up(runs, tool.tool, load),
        own=f"the first {load.warmup_s:g} s are not counted",
        source=KERNEL,
        verdicts=verdicts,
    )
    # With request/response, some tools count the bytes of both directions.
    printed = [_payload(run) for run in usable(runs, tool.tool).values() if load.workload != "rr"]
    known = [text for text in printed if text]
    if known:
        yield Difference(
            name="counted", title="Bytes counted", tool=known[0],
            own=f"payload that the {own.counted_by}'s application read in the window", source=PRINTED,
        )  # fmt: skip
    based = [
        f"{run.reported.seconds:.2f} s of {load.seconds:g} s asked for"
        for run in usable(runs, tool.tool).values()
        if run.reported is not None and run.reported.seconds is not None
    ]
    if based:
        yield Difference(
            name="time_base", title="Time base", tool=based[0],
            own=f"{load.duration_s:g} s, the same instants on both sides", source=PRINTED,
        )  # fmt: skip


def _warm_up(runs: Sequence[Run], tool: str, load: Load) -> str:
    """The distance of the first seconds, which a tool counts, from the rest."""
    found = [run.progress for run in usable(runs, tool).values() if run.progress is not None]
    ratios = [each.first_bps / each.window_bps for each in found if each.first_bps and each.window_bps]
    if not ratios:
        return "counted"
    mean = sum(ratios) / len(ratios)
    return f"counted; the first {load.warmup_s:g} s have {percent(mean)} of the rate of the rest"


def _payload(run: Run) -> str:
    """The payload that a tool says it moved, compared with what the receiving kernel had."""
    if run.reported is None or run.reported.payload_bytes is None or run.progress is None:
        return ""
    said, there = run.reported.payload_bytes, run.progress.payload_bytes
    side = run.reported.counted_by
    less = f", {said - there:+,} bytes of what the receiver read" if said != there else ", what the receiver read"
    return f"{side}: {said:,}{less}"


def _facts(tool: ToolFigures, own: ToolFigures, runs: Sequence[Run], looks: Mapping[str, Look]) -> Iterator[Difference]:
    """Threads, buffers, congestion control and options of both, whether they differ or not."""
    found = [next(iter(usable(runs, each.tool).values())) for each in (tool, own)]
    threads = [_threads(run) for run in found]
    if all(threads):
        yield Difference(
            name="threads", title="Threads that carry load", tool=threads[0], own=threads[1], source=KERNEL
        )
    sockets = [_sockets(run) for run in found]
    if all(sockets):
        yield Difference(name="sockets", title="Sockets", tool=sockets[0], own=sockets[1], source=KERNEL)
    sides = [_options(looks.get(each.tool)) for each in (tool, own)]
    if all(side is not None for side in sides):
        yield Difference(
            name="options", title="Socket options set", tool=sides[0] or "none", own=sides[1] or "none", source=STRACE
        )


def _threads(run: Run) -> str:
    sides = [use.threads for use in (run.sender, run.receiver) if use is not None and use.threads is not None]
    return f"{sides[0]} at the sender, {sides[1]} at the receiver" if len(sides) == 2 else ""


def _sockets(run: Run) -> str:
    known = run.sockets
    if known is None:
        return ""
    buffers = [
        f"{name} {'fixed' if fixed else 'automatic'}"
        for name, fixed in (("send buffer", known.send_buffer_fixed), ("receive buffer", known.receive_buffer_fixed))
        if fixed is not None
    ]
    return ", ".join([*([known.congestion_control] if known.congestion_control else []), *buffers])


def _options(look: Look | None) -> str | None:
    if look is None or look.sender is None or look.receiver is None:
        return None
    parts = [
        f"{side}: {', '.join(seen.options)}"
        for side, seen in (("sender", look.sender), ("receiver", look.receiver))
        if seen.options
    ]
    return "; ".join(parts)
