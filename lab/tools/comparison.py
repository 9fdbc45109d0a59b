"""The comparison of tools, made of all runs: figures, ratios tested together, differences and their tests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.tools.differences import QUANTITIES, figures_of, ratio_of, tested, usable, verdicts_of
from lab.tools.reasons import Observations, report_of
from lab.tools.tool_runs import OWN, Load, Look, Ratio, Run, ToolReport, ToolsComparison, Variant
from whyperf.analyze.text import count

MIN_PAIRS = 10
"""Pairs from which on a difference of a few percent is found on a quiet host."""
VARIANTS: tuple[Variant, ...] = ("calls", "warm_up")


@dataclass(frozen=True)
class ToolsQuestion:
    """The question, and the place of its measurement. Blocks after the first `blocks` are tests of reasons."""

    folder: str
    profile: str
    load: Load
    setting: dict[str, object]
    host: str
    seed: int
    blocks: int
    tools: tuple[str, ...]


def compared_tools(
    asked: ToolsQuestion, runs: Sequence[Run], looks: Sequence[Look], left_out: tuple[str, ...]
) -> ToolsComparison:
    """The comparison; runs of the tests of reasons are in blocks of their own, and count there alone."""
    # A block of tests that was interrupted may have no run of a variant.
    first = [run for run in runs if run.block <= asked.blocks]
    by_tool: dict[str, list[Ratio]] = {}
    for tool in asked.tools:
        found = [ratio_of(first, asked.load, quantity.name, tool, OWN) for quantity in QUANTITIES]
        by_tool[tool] = [ratio for ratio in found if ratio is not None]
    marked = iter(tested([ratio for ratios in by_tool.values() for ratio in ratios]))
    ratios = {tool: [next(marked) for _ in found] for tool, found in by_tool.items()}
    figures = [figures_of(first, asked.load, tool, ratios.get(tool, ())) for tool in (OWN, *asked.tools)]
    known = tuple(each for each in figures if each is not None)
    reports: list[ToolReport] = []
    if known and known[0].tool == OWN:
        seen = Observations(first, {look.tool: look for look in looks}, asked.load)
        for each in known[1:]:
            verdicts = verdicts_of(runs, asked.load, each.tool, VARIANTS)
            reports.append(report_of(each, known[0], seen, verdicts))
    return ToolsComparison(
        folder=asked.folder,
        profile=asked.profile,
        load=asked.load,
        setting=asked.setting,
        host=asked.host,
        pairs=len(usable(first, OWN)),
        seed=asked.seed,
        figures=known,
        reports=tuple(reports),
        looks=tuple(looks),
        left_out=left_out,
        notes=tuple(_notes(asked, runs, first, looks)),
        void_runs=sum(run.void is not None for run in runs),
    )


def _notes(asked: ToolsQuestion, runs: Sequence[Run], first: Sequence[Run], looks: Sequence[Look]) -> Iterator[str]:
    pairs = len(usable(first, OWN))
    if pairs < MIN_PAIRS:
        yield f"{count(pairs, 'pair')}: small differences are not found; measure with --trials {MIN_PAIRS} or more."
    if not any(run.variant is not None for run in runs):
        yield "A difference is no reason before it was tested; --verify tests sizes of calls, waiting and warm-up."
    if asked.load.workload == "udp":
        yield "Calls, threads and sockets of datagrams are not counted: both sides are watched over TCP only."
    for tool in (OWN, *asked.tools):
        void = [run for run in first if run.tool == tool and run.void is not None]
        if void and not usable(first, tool):
            yield f"{tool} has no run that counts: {void[0].void}"
    void_tests = [run for run in runs if run.block > asked.blocks and run.void is not None]
    if void_tests:
        yield f"{count(len(void_tests), 'run')} of the tests of reasons did not count: {void_tests[0].void}"
    for look in looks:
        if look.missing:
            yield f"What {look.tool} does call by call is not known: {look.missing}."
