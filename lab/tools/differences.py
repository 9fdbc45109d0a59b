"""Figures of tools and their ratios to the own load, block by block: pure functions of runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean

import numpy as np

from lab.tools.tool_runs import (
    OWN,
    Load,
    Outcome,
    Ratio,
    Run,
    Side,
    SideUse,
    ToolFigures,
    Variant,
    Verdict,
    variant_key,
)
from whyperf.compare.difference import Sample, differences_of, significant

KBYTE = 1024
MAX_LEFT = 0.05
"""The distance from 1 that the interval of what is left may reach where a difference is said to vanish."""


def use_on(run: Run, side: Side) -> SideUse | None:
    """The activity of the run's processes on a side."""
    return run.sender if side == "sender" else run.receiver


def _reported(run: Run, _load: Load) -> float | None:
    return None if run.reported is None else run.reported.rate


def _window(run: Run, load: Load) -> float | None:
    """The rate in whyperf's window, by the kernel's count; in transactions per second with request/response."""
    if run.progress is None:
        return None
    per = 8 * load.request_bytes if load.workload == "rr" else 1
    return run.progress.window_bps / per


def _counting(run: Run, load: Load) -> float | None:
    """The effect of the tool's own way of counting on the rate."""
    reported, window = _reported(run, load), _window(run, load)
    return None if reported is None or not window else reported / window


def work_of(run: Run, load: Load) -> float | None:
    """KBytes of payload of the whole run, or its transactions."""
    if run.progress is None:
        return None
    return run.progress.payload_bytes / (load.request_bytes if load.workload == "rr" else KBYTE)


def cpu_ns(run: Run, side: Side, load: Load) -> float | None:
    """CPU time of the run's processes on a side for each unit of work."""
    use, work = use_on(run, side), work_of(run, load)
    return None if use is None or not work else 1e9 * use.cpu_s / work


def bytes_per_call(run: Run, side: Side) -> float | None:
    """Payload that a call moved in the mean."""
    use = use_on(run, side)
    return None if use is None or not use.calls_count or use.calls_bytes is None else use.calls_bytes / use.calls_count


def calls_per_s(run: Run, side: Side) -> float | None:
    """Calls that moved payload, for each second of the run."""
    use = use_on(run, side)
    if use is None or use.calls_count is None or run.progress is None:
        return None
    return use.calls_count / run.progress.seconds


@dataclass(frozen=True)
class Quantity:
    """A figure of a run whose ratio to the own load is tested."""

    name: str
    title: str
    of: Callable[[Run, Load], float | None]


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("reported", "Rate that it reports", _reported),
    Quantity("window", "Rate in the same window, by the kernel", _window),
    Quantity("counting", "Reported over that rate", _counting),
    Quantity("cpu_sender", "CPU of the sender for the same work", lambda run, load: cpu_ns(run, "sender", load)),
    Quantity("cpu_receiver", "CPU of the receiver for the same work", lambda run, load: cpu_ns(run, "receiver", load)),
    Quantity("call_sender", "Bytes per send call", lambda run, _: bytes_per_call(run, "sender")),
    Quantity("call_receiver", "Bytes per receive call", lambda run, _: bytes_per_call(run, "receiver")),
)
BY_NAME: Mapping[str, Quantity] = {quantity.name: quantity for quantity in QUANTITIES}


def usable(runs: Sequence[Run], key: str) -> dict[int, Run]:
    """The runs of that name that count, by block."""
    return {run.block: run for run in runs if run.key == key and run.void is None}


def ratio_of(runs: Sequence[Run], load: Load, name: str, above: str, below: str) -> Ratio | None:
    """A figure of one load over that of another, over the blocks that have both; None where no block has."""
    quantity = BY_NAME[name]
    pairs = []
    others = usable(runs, below)
    for block, run in usable(runs, above).items():
        if block in others:
            values = quantity.of(run, load), quantity.of(others[block], load)
            # A run whose CPU time is below the clock's tick has none.
            if values[0] and values[1]:
                pairs.append((values[0], values[1]))
    if not pairs:
        return None
    logs = np.log(np.array(pairs)).T
    floor = np.zeros(1)
    test = differences_of(Sample(logs[1:], floor), Sample(logs[:1], floor), is_paired=True)[0]
    return Ratio(
        name=name,
        title=quantity.title,
        ratio=exp(test.difference),
        low=None if test.low is None else exp(test.low),
        high=None if test.high is None else exp(test.high),
        p_value=test.p_value,
        pairs=len(pairs),
    )


def tested(found: Sequence[Ratio]) -> list[Ratio]:
    """The ratios with the mark of those that are significant, all tested together."""
    marks = significant([ratio.p_value for ratio in found])
    return [ratio.model_copy(update={"is_significant": mark}) for ratio, mark in zip(found, marks, strict=True)]


def figures_of(runs: Sequence[Run], load: Load, tool: str, ratios: Sequence[Ratio] = ()) -> ToolFigures | None:
    """The means of a tool over its blocks; None where no run counts."""
    found = list(usable(runs, tool).values())
    if not found:
        return None
    reported = [run.reported for run in found if run.reported is not None]
    if not reported:
        return None

    def mean(of: Callable[[Run], float | None]) -> float | None:
        values = [value for run in found if (value := of(run)) is not None]
        return fmean(values) if values else None

    def user_ratio(side: Side) -> float | None:
        uses = [use for run in found if (use := use_on(run, side)) is not None]
        total = sum(use.cpu_s for use in uses)
        return sum(use.user_s for use in uses) / total if total else None

    per = 8 * load.request_bytes if load.workload == "rr" else 1
    return ToolFigures(
        tool=tool,
        version=reported[0].version,
        runs=len(found),
        void=tuple(dict.fromkeys(run.void for run in runs if run.key == tool and run.void is not None)),
        rate_unit="1/s" if load.workload == "rr" else "bit/s",
        reported=fmean(each.rate for each in reported),
        window=mean(lambda run: _window(run, load)),
        whole=mean(lambda run: None if run.progress is None else run.progress.whole_bps / per),
        counted_by=reported[0].counted_by,
        cpu_ns_sender=mean(lambda run: cpu_ns(run, "sender", load)),
        cpu_ns_receiver=mean(lambda run: cpu_ns(run, "receiver", load)),
        user_ratio_sender=user_ratio("sender"),
        user_ratio_receiver=user_ratio("receiver"),
        calls_per_s_sender=mean(lambda run: calls_per_s(run, "sender")),
        bytes_per_call_sender=mean(lambda run: bytes_per_call(run, "sender")),
        bytes_per_call_receiver=mean(lambda run: bytes_per_call(run, "receiver")),
        ratios=tuple(ratios),
    )


OF_VARIANT: Mapping[Variant, tuple[str, ...]] = {
    "calls": ("window", "cpu_sender", "cpu_receiver"),
    "warm_up": ("counting",),
}
"""The differences that each variant of the own load is to explain."""


def verdicts_of(runs: Sequence[Run], load: Load, tool: str, variants: Sequence[Variant]) -> list[Verdict]:
    """Judges if a tool's differences vanish when the own load does as it does, over the blocks of that test alone."""
    found: list[tuple[Variant, str, list[Ratio]]] = []
    for variant in variants:
        key = variant_key(tool, variant)
        blocks = usable(runs, key).keys()
        of_test = [run for run in runs if run.block in blocks]
        for name in OF_VARIANT[variant]:
            ratios = [
                ratio_of(of_test, load, name, above, below) for above, below in ((tool, OWN), (tool, key), (key, OWN))
            ]
            known = [ratio for ratio in ratios if ratio is not None]
            if len(known) == len(ratios):
                found.append((variant, name, known))
    marked = iter(tested([ratio for _, _, ratios in found for ratio in ratios]))
    return [_verdict(tool, variant, name, [next(marked) for _ in ratios]) for variant, name, ratios in found]


def _verdict(tool: str, variant: Variant, name: str, ratios: Sequence[Ratio]) -> Verdict:
    before, after, change = ratios
    is_nearer = change.is_significant and abs(np.log(after.ratio)) < abs(np.log(before.ratio))
    outcome: Outcome
    if not before.is_significant:
        outcome = "none"
    elif is_nearer and not after.is_significant and _is_known_to_be_none(after):
        outcome = "vanishes"
    elif is_nearer:
        outcome = "shrinks"
    else:
        outcome = "stays"
    return Verdict(
        variant=variant,
        of=name,
        before=before,
        after=after,
        change=change,
        outcome=outcome,
        sentence=_SENTENCES["unknown" if outcome == "shrinks" and not after.is_significant else outcome].format(
            title=BY_NAME[name].title,
            how=_HOW[variant].format(tool=tool),
            before=f"{before.ratio:.3g}",
            after=f"{after.ratio:.3g}",
            interval=_interval(after),
            pairs=before.pairs,
        ),
    )


def _is_known_to_be_none(left: Ratio) -> bool:
    """True where the interval of what is left of a difference lies next to 1."""
    return left.low is not None and left.high is not None and left.low >= 1 - MAX_LEFT and left.high <= 1 + MAX_LEFT


def _interval(ratio: Ratio) -> str:
    return "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.3g} to {ratio.high:.3g})"


_HOW: Mapping[Variant, str] = {
    "calls": "with the call sizes and the waiting of {tool}",
    "warm_up": "when it counts from the first byte as {tool} does",
}
_SENTENCES = {
    "none": "{title}: no significant difference to explain ({before} × in {pairs} pairs).",
    "vanishes": "{title}: {before} × the own load's, and {after} × {how}: no difference is left. This is the reason.",
    "unknown": (
        "{title}: {before} × the own load's, and {after} ×{interval} {how}. The difference shrinks, but what is left "
        "is not known well enough."
    ),
    "shrinks": "{title}: {before} × the own load's, and {after} × {how}: this is a part of the reason.",
    "stays": "{title}: {before} × the own load's, and still {after} × {how}: this is not the reason.",
}
