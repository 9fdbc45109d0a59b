"""Prints a comparison: what differs before the measurement, figures, costs, time budgets, what limits each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich import box
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from whyperf.analyze.cost.text import EVENTS, cycles
from whyperf.analyze.text import (
    bit_rate,
    count,
    factor_name,
    level_with_unit,
    percent,
    seconds,
    setting,
    significant,
)
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.inputs.experiments import note_origin
from whyperf.cli.output.console import Console, plain_width
from whyperf.cli.streams import print_json
from whyperf.compare import CellPair, Comparison, Limit, Source, compare_sources, without_row
from whyperf.compare.budgets import OTHER
from whyperf.compare.compare import MAX_DETAILED
from whyperf.compare.comparison import (
    BudgetDifference,
    ClassDifference,
    ComparedResult,
    DifferenceTest,
    QuantityDifference,
    SideDifference,
)
from whyperf.compare.headline import headlines
from whyperf.compare.limits import ratios_of
from whyperf.explain.states import name_of
from whyperf.foreign import shell_line
from whyperf.report.compare.texts import function_text, signed_cycles, signed_value, value_text

MIN_RATIO = 0.01
"""Classes that cost less than this part of their side, and whose change is smaller, are one line."""
MAX_CONDITIONS = 12
"""Conditions printed of each kind."""
MAX_GROWN = 8
"""Functions in the table of those that grew."""
MAX_ROWS = 40
"""Pairs printed as lines."""
MARK = " *"
MIN_LABEL = 16
"""Characters that a label keeps, whatever the width."""
GAP = 2
"""Characters between two columns."""
FRAME = 2
"""Characters left and right of a row."""
Labels = tuple[str, str]
"""The labels of the two results of a pair."""
MINUS = "\N{MINUS SIGN}"


def print_comparison(
    sources: Sequence[Source], limits: Sequence[Limit], *, functions: int, page: Path | None, as_json: bool
) -> int:
    """Compares and prints; 3 where a condition of `--fail-if` holds or could not be judged.

    Raises:
        CompareError: nothing can be compared, and why.
        UsageError: the page cannot be written.
        RecordError: a record cannot be read.
    """
    found = compare_sources(sources, limits, always_details=as_json or page is not None)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _Printer(functions).print(found)
    if page is not None:
        _write_page(page, found, sources)
    for experiment in {source.experiment.folder: source.experiment for source in sources}.values():
        note_origin(experiment.folder, is_made_here=experiment.is_made_here)
    return _judged(found, limits)


def _write_page(path: Path, found: Comparison, sources: Sequence[Source]) -> None:
    if path.is_dir():
        raise UsageError(f"--report {path}: that is a folder; name a file, such as compare.html")
    from whyperf.report.compare import write_compare_page  # noqa: PLC0415 - loads a template engine

    try:
        write_compare_page(path, found, sources)
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror}; name a file in a folder that you can write to") from None
    say(f"Wrote {path}")


def _judged(found: Comparison, limits: Sequence[Limit]) -> int:
    lacking = without_row(limits, found.pairs)
    for limit in lacking:
        say(f"whyperf: --fail-if {limit.text}: no pair has the row {limit.row}, so it cannot be judged")
    held = {entry.condition for entry in found.exceeded}
    for limit in limits:
        ratios = sorted(ratio for pair in found.pairs for ratio, _ in ratios_of(pair, limit.row))
        if ratios and limit.text not in held:
            values = " to ".join(dict.fromkeys(significant(ratio) for ratio in (ratios[0], ratios[-1])))
            say(f"--fail-if {limit.text} does not hold: the ratio is {values}, or not significantly beyond the limit")
    for entry in found.exceeded:
        cells = f"{entry.a.label}:{entry.a.cell} and {entry.b.label}:{entry.b.cell}"
        ratio = f"{entry.b.label}/{entry.a.label} is {significant(entry.value)}"
        say(f"whyperf: --fail-if {entry.condition} holds for {cells}: {ratio}")
    return DOUBTFUL if found.exceeded or lacking else DONE


class _Printer:
    """Prints on a terminal, or in 80 columns."""

    def __init__(self, functions: int) -> None:
        self._functions = functions
        self._console = Console(width=plain_width(), highlight=False)

    def print(self, found: Comparison) -> None:
        """All of it."""
        for result in found.results:
            self._line(_result(result))
        for line in headlines(found):
            self._line(line)
        self._line("")
        self._conditions(found)
        self._hosts(found)
        if len(found.pairs) > MAX_DETAILED:
            self._overview(found)
        else:
            for pair in found.pairs:
                self._pair(pair, found)
        self._rest(found)

    def _line(self, text: str) -> None:
        self._console.print(escape(text))

    def _table(self, table: Table) -> None:
        """A table; where the width is small its first column is shortened, and figures are never cut."""
        widths = [_width(column) for column in table.columns]
        first, rest = table.columns[0], sum(width + GAP for width in widths[1:]) + FRAME
        room = max(self._console.width - rest, MIN_LABEL)
        first.max_width = min(first.max_width or room, room)
        Console(width=max(self._console.width, rest + min(first.max_width, widths[0])), highlight=False).print(table)

    def _conditions(self, found: Comparison) -> None:
        if not found.conditions:
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("Differs before the measurement", max_width=36)
        for result in found.results:
            table.add_column(result.label, max_width=20)
        for condition in found.conditions[:MAX_CONDITIONS]:
            name = factor_name(condition.name) if condition.kind == "setting" else condition.name
            table.add_row(escape(name), *(escape("-" if value is None else value) for value in condition.values))
        self._table(table)
        left = len(found.conditions) - MAX_CONDITIONS
        if left > 0:
            self._line(f"{count(left, 'more difference')}: --json or --report FILE")

    def _hosts(self, found: Comparison) -> None:
        """Kernel and drivers of every host, next to which the rates are read; once where hosts are the same."""
        lines: dict[str, list[str]] = {}
        for host in found.hosts:
            rate = "" if host.link_bps is None else f", link {bit_rate(host.link_bps)}"
            text = f"{host.hostname}, kernel {host.kernel}{rate}, drivers: {', '.join(host.drivers) or 'not known'}"
            lines.setdefault(text, []).append(f"{host.label} {host.host}")
        for text, hosts in lines.items():
            self._line(f"{', '.join(hosts)}: {text}")

    def _overview(self, found: Comparison) -> None:
        """A line for each pair: its main figure, and the cost of both sides."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("Cells", no_wrap=True)
        table.add_column("Setting", overflow="fold", max_width=30)
        for heading in ("Rate\nratio", "Cycles/KB\nsender", "\nreceiver"):
            table.add_column(heading, justify="right", no_wrap=True)
        for pair in found.pairs[:MAX_ROWS]:
            rows = {row.name: row for row in pair.quantities}
            rate = rows.get("transactions") or rows.get("goodput")
            figures = (rate, rows.get("cycles_sender"), rows.get("cycles_receiver"))
            varied = setting(pair.setting, list(pair.setting))
            table.add_row(f"{pair.a.cell}/{pair.b.cell}", escape(varied), *map(_ratio_with_mark, figures))
        self._table(table)
        more = len(found.pairs) - MAX_ROWS
        if more > 0:
            self._line(f"{count(more, 'more pair')}: --json or --report FILE")
        example = found.pairs[0]
        names = {result.label: result.experiment for result in found.results}
        cells = [f"{names[cell.label]}:{cell.cell}" for cell in (example.a, example.b)]
        self._line(f"Costs and time budgets of one pair: {shell_line(['whyperf', 'compare', *cells])}")
        self._line("")

    def _pair(self, pair: CellPair, found: Comparison) -> None:
        if len(found.pairs) > 1:
            varied = setting(pair.setting, list(pair.setting))
            heading = f"{pair.a.label}:{pair.a.cell} and {pair.b.label}:{pair.b.cell}{f' ({varied})' if varied else ''}"
            self._console.print(f"[bold]{escape(heading)}[/bold]")
        if pair.differ and not found.conditions:
            self._line(f"Differs: {', '.join(_differing(pair))}")
        self._table(_figures(pair))
        for side in pair.sides:
            self._side(side, (pair.a.label, pair.b.label))
        for budget in pair.budgets:
            self._table(_budget(budget, (pair.a.label, pair.b.label)))
        for label, limited in ((pair.a.label, pair.limited_a), (pair.b.label, pair.limited_b)):
            if limited:
                self._line(f"{label}: {limited}")
        for note in pair.notes:
            self._line(f"Note: {note}")
        self._line("")

    def _side(self, side: SideDifference, labels: Labels) -> None:
        unit = f"{side.counted_in} per {side.work}"
        if side.refused is not None:
            self._line(f"{side.role.capitalize()}: not compared, {side.refused}.")
            return
        change = f"{signed_cycles(side.test.difference)}{_ends(side.test)}{MARK if side.test.is_significant else ''}"
        heading = f"{side.role.capitalize()}, all its work: {cycles(side.a)} → {cycles(side.b)} {unit}, {change}"
        self._console.print(f"[bold]{heading}[/bold] ({side.unit})")
        self._table(_classes(side, self._functions, labels))
        for line in _more_or_dearer(side):
            self._line(line)
        grown = _grown(side, labels)
        if grown is not None:
            self._table(grown)

    def _rest(self, found: Comparison) -> None:
        if found.tests:
            rate = percent(found.false_discovery_rate)
            self._line(
                f"* Significant: {found.significant} of {count(found.tests, 'difference')}, tested together. Up to "
                f"{rate} of those with * may be random (false-discovery rate)."
            )
        if found.unpaired:
            named = [f"{entry.label}:{entry.cell}" for entry in found.unpaired]
            more = f" and {len(named) - MAX_ROWS} more" if len(named) > MAX_ROWS else ""
            self._line(f"Without a partner: {', '.join(named[:MAX_ROWS])}{more}.")
        for note in found.notes:
            self._line(f"Note: {note}")


def _width(column: Column) -> int:
    """Characters of the widest line of a column."""
    texts = [Text.from_markup(str(text)).plain for text in (column.header, *column.cells)]
    return max(cell_len(line) for text in texts for line in text.split("\n"))


def _result(result: ComparedResult) -> str:
    cell = f" cell {result.cell}" if result.cell else f", {count(result.cells, 'cell')}" if result.cells > 1 else ""
    condition = f", {result.condition}" if result.condition else ""
    return f"{result.label}  {result.folder}{cell}{condition} ({result.profile}, {count(result.trials, 'trial')})"


def _differing(pair: CellPair) -> Iterator[str]:
    for name, (a, b) in pair.differ.items():
        levels = [f"{level_with_unit(name, level)} in {cell.label}" for level, cell in ((a, pair.a), (b, pair.b))]
        yield f"{factor_name(name)} {', '.join(levels)}"


def _figures(pair: CellPair) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Figure (mean of trials)", no_wrap=True)
    a, b = pair.a.label, pair.b.label
    for heading in (a, b, f"{b}/{a}", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in pair.quantities:
        interval = (
            "" if row.ratio_low is None else f"{significant(row.ratio_low)} to {significant(row.ratio_high or 0)}"
        )
        table.add_row(
            row.title,
            value_text(row.unit, row.a),
            value_text(row.unit, row.b),
            "-" if row.ratio is None else significant(row.ratio),
            interval + (MARK if row.test.is_significant else "  "),
        )
    return table


def _ratio_with_mark(row: QuantityDifference | None) -> str:
    if row is None or row.ratio is None:
        return "-  "
    return f"{significant(row.ratio)}{MARK if row.test.is_significant else '  '}"


def _ends(test: DifferenceTest) -> str:
    return (
        "" if test.low is None or test.high is None else f" ({signed_cycles(test.low)} to {signed_cycles(test.high)})"
    )


def _classes(side: SideDifference, functions: int, labels: Labels) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Class, function", overflow="ellipsis", no_wrap=True, max_width=34)
    for heading in (*labels, "Difference", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    least = MIN_RATIO * max(side.a, side.b)
    large = [entry for entry in side.classes if max(entry.a, entry.b, abs(entry.test.difference)) >= least]
    for entry in large:
        table.add_row(*_row(entry.title, entry.a, entry.b, entry.test, is_class=True))
        named = [function for function in entry.functions if function.name is not None][:functions]
        for function in named:
            table.add_row(
                *_row(f"  {function_text(function)}", function.exclusive_a, function.exclusive_b, function.test)
            )
    small = [entry for entry in side.classes if entry not in large]
    if small:
        a, b = (sum(values) for values in zip(*((entry.a, entry.b) for entry in small), strict=True))
        title = f"{count(len(small), 'class', 'classes')} below {percent(MIN_RATIO)}"
        table.add_row(title, cycles(a), cycles(b), signed_cycles(b - a), "")
    table.add_row(*_row("Total", side.a, side.b, side.test, is_class=True))
    return table


def _row(title: str, a: float, b: float, test: DifferenceTest, *, is_class: bool = False) -> tuple[str, ...]:
    interval = (
        "" if test.low is None or test.high is None else f"{signed_cycles(test.low)} to {signed_cycles(test.high)}"
    )
    cells = (
        escape(title),
        cycles(a),
        cycles(b),
        signed_cycles(test.difference),
        interval + (MARK if test.is_significant else "  "),
    )
    return tuple(f"[bold]{cell}[/bold]" if cell.strip() else cell for cell in cells) if is_class else cells


def _more_or_dearer(side: SideDifference) -> Iterator[str]:
    """Of the classes that are counted: how much of the change is due to the count, and how much to the unit cost."""
    for entry in side.classes:
        if entry.count_a == entry.count_b or abs(entry.test.difference) < MIN_RATIO * max(side.a, side.b):
            continue
        single, several = EVENTS[entry.per or ""]
        yield _split(entry, several, single, side)


def _split(entry: ClassDifference, several: str, single: str, side: SideDifference) -> str:
    assert entry.by_count is not None
    assert entry.by_unit_cost is not None
    counts = f"{significant(entry.count_a or 0)} → {significant(entry.count_b or 0)} {several} per {side.work}"
    each = f"{cycles(entry.cycles_each_a or 0)} → {cycles(entry.cycles_each_b or 0)} {side.counted_in} per {single}"
    whole = f"together {signed_cycles(entry.test.difference)} {side.counted_in} per {side.work}"
    by_count, by_unit_cost = signed_cycles(entry.by_count), signed_cycles(entry.by_unit_cost)
    return f"{entry.title}: {counts}: {by_count}; {each}: {by_unit_cost}; {whole}."


def _grown(side: SideDifference, labels: Labels) -> Table | None:
    """The functions that grew most, exclusive and inclusive, each with its ratio: the table of study §3."""
    functions = [function for function in side.functions if function.name is not None and function.test.difference > 0][
        :MAX_GROWN
    ]
    if not functions:
        return None
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Functions that grew most", overflow="ellipsis", no_wrap=True, max_width=30)
    a, b = labels
    for heading in (f"Own {a}", b, f"{b}/{a}", f"With callees {a}", b, f"{b}/{a}"):
        table.add_column(heading, justify="right", no_wrap=True)
    for function in functions:
        table.add_row(
            escape(function_text(function)) + (MARK if function.test.is_significant else ""),
            cycles(function.exclusive_a),
            cycles(function.exclusive_b),
            "new" if function.exclusive_ratio is None else significant(function.exclusive_ratio),
            cycles(function.inclusive_a or 0),
            cycles(function.inclusive_b or 0),
            "new" if function.inclusive_ratio is None else significant(function.inclusive_ratio),
        )
    return table


def _budget(budget: BudgetDifference, labels: Labels) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"Time of the {budget.role} per KByte", no_wrap=True)
    for heading in (*labels, "Difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    for state in budget.states:
        title = "Other states" if state.state == OTHER else name_of(state.state)
        table.add_row(title, seconds(state.a_ns), seconds(state.b_ns), signed_value("ns", state.b_ns - state.a_ns))
    table.add_row(
        "[bold]Total[/bold]", seconds(budget.a_ns), seconds(budget.b_ns), signed_value("ns", budget.b_ns - budget.a_ns)
    )
    return table
