"""No false alarm: comparisons of two cells that differ in nothing hardly ever find a difference."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lab.bench.cost.experiment import Setting, measured, planned, profile_of
from lab.bench.row import Row
from whyperf.compare import Comparison, Source, compare_sources
from whyperf.compare.costs import CostTable
from whyperf.compare.figures import ResultFigures
from whyperf.record import Trials

BLOCKS_EACH = 4
MAX_FALSE = 5
COMPARISONS = 100

#: The cells differ in a deadline that no trial reaches.
PROFILE = """
[fixed]
duration_s = 0.4
warmup_s = 0.1
cooldown_s = 0.02
[[sweep]]
name = "alike"
[sweep.factors]
deadline_s = [60, 61]
"""


@dataclass(frozen=True)
class BlocksOfSource(Source):
    """Some blocks of a result, as a result of its own."""

    whole: Source | None = None
    blocks: frozenset[int] = frozenset()

    @cached_property
    def trials(self) -> Trials:
        """Those of the whole: what is said of the plan comes from there."""
        assert self.whole is not None
        return self.whole.trials

    @cached_property
    def result(self) -> ResultFigures:
        """The figures of these blocks."""
        assert self.whole is not None
        return of_blocks(self.whole.result, self.blocks)


def run(setting: Setting) -> list[Row]:
    """Measures, and compares the two cells in one group of blocks after another."""
    profile = profile_of(PROFILE, "alike")
    plan = planned(profile, setting.of(COMPARISONS, 2) * BLOCKS_EACH)
    source = Source("A", measured(plan, profile, setting.folder / "alike"))
    cells = [cell.id for cell in plan.cells]
    blocks = sorted(set(source.result.blocks.values()))
    groups = [blocks[start : start + BLOCKS_EACH] for start in range(0, len(blocks), BLOCKS_EACH)]
    found = [list(significant_rows(_compared(source, cells, group))) for group in groups]
    alarms = [names for names in found if names]
    return [
        Row(
            "alike",
            f"comparisons of {len(found)} with a significant row",
            f"≤ {MAX_FALSE}",
            str(len(alarms)),
            len(alarms) <= MAX_FALSE,
            values={"comparisons": len(found), "alarms": alarms},
        )
    ]


def _compared(whole: Source, cells: Sequence[str], blocks: Iterable[int]) -> Comparison:
    part = BlocksOfSource("A", whole.experiment, cells[0], whole=whole, blocks=frozenset(blocks))
    return compare_sources([part, replace(part, label="B", cell=cells[1])], explains=False)


def of_blocks(whole: ResultFigures, blocks: frozenset[int]) -> ResultFigures:
    """The figures of the trials of some blocks, as if no others had been measured."""
    kept = {trial: block for trial, block in whole.blocks.items() if block in blocks}
    values = {
        cell: {
            name: of_cell
            for name, by_trial in by_name.items()
            if (of_cell := {trial: value for trial, value in by_trial.items() if trial in kept})
        }
        for cell, by_name in whole.figures.values.items()
    }
    costs = None
    if whole.costs is not None:
        costs = {key: of_trials(table, kept.keys()) for key, table in whole.costs.items()}
    return ResultFigures(replace(whole.figures, values=values), kept, costs, whole.notes)


def of_trials(table: CostTable, trials: Iterable[str]) -> CostTable:
    """The cost of some trials.

    Rows that none of them has are left out: a comparison of these alone has no such rows, and tests none.
    """
    wanted = set(trials)
    some = table.of_trials([place for place, trial in enumerate(table.trials) if trial in wanted])
    present = [(row, place) for row, place in some.rows.items() if some.costs[place].any()]
    places = [place for _, place in present]
    return replace(
        some,
        rows={row: number for number, (row, _) in enumerate(present)},
        costs=some.costs[places],
        samples=some.samples[places],
        inclusive={key: values for key, values in some.inclusive.items() if values.any()},
    )


def significant_rows(comparison: Comparison) -> Iterator[str]:
    """The names of all rows that are called significant."""
    for pair in comparison.pairs:
        yield from (entry.name for entry in pair.quantities if entry.test.is_significant)
        for side in pair.sides:
            if side.test.is_significant:
                yield f"cost.{side.role}"
            functions = [(side.role, entry) for entry in side.functions]
            for entry in side.classes:
                if entry.test.is_significant:
                    yield f"{entry.name}.{side.role}"
                functions += [(f"{entry.name}.{side.role}", function) for function in entry.functions]
            yield from (f"{place}: {function.name}" for place, function in functions if function.test.is_significant)
