"""The request of the command line of `whyperf compare`: results to read, or two conditions to measure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from whyperf.cli.exits import UsageError
from whyperf.cli.inputs.evidence import asked_evidence
from whyperf.cli.inputs.experiments import find_experiment, is_result
from whyperf.cli.inputs.fleet import AskedFleet
from whyperf.cli.inputs.overrides import overrides
from whyperf.cli.output.formats import output_format
from whyperf.compare import CompareError, Limit, LimitError, Source, limit_of
from whyperf.record import Experiment

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
EVIDENCE = "counters,profile"
TOOLS = frozenset({"iperf3", "netperf", "nuttcp", "uperf"})
TOOLS_DOCUMENT = "tools.json"
"""The file in the folder of a comparison of tools, which the laboratory made."""
_CELL = re.compile(r"(?P<result>.*):(?P<cell>c\d{4,})")


@dataclass(frozen=True)
class CompareRequest:
    """Everything the command line asked of `whyperf compare`."""

    results: tuple[str, ...]
    limits: tuple[str, ...]
    functions: int
    page: Path | None
    as_json: bool
    run: str | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    both: tuple[str, ...]
    host: str | None
    time: str | None
    trials: int | None
    only: tuple[str, ...]
    evidence: str | None
    seed: int | None
    out: Path | None
    dry_run: bool
    files_below: tuple[Path, ...] = ()


def compared(request: CompareRequest) -> int:
    """Compares what is asked for; returns the exit code.

    Raises:
        UsageError: the options do not go together, or nothing can be compared.
        ProfileError: what `--run` names cannot be measured.
        RecordError: a result cannot be read.
    """
    limits = _limits(request.limits)
    if request.run is not None:
        return _measured(request, limits)
    _refuse_tools(request.results)
    for option, given in _only_for_run(request):
        if given:
            raise UsageError(f"{option} is for --run, which measures two conditions; add --run, or --run PROFILE")
    return _shown(request, _sources(request.results), limits)


def _refuse_tools(results: Sequence[str]) -> None:
    """Refuses names of congestion controls or tools in the place of results, and comparisons of tools.

    Raises:
        UsageError: the command that measures them.
    """
    from whyperf.cli.inputs.verbs import CONTROLS, in_laboratory, measured_under  # noqa: PLC0415 - only for mistakes

    for name in results:
        if (Path(name) / TOOLS_DOCUMENT).is_file():
            raise UsageError(f"{name} is a comparison of tools; {in_laboratory(['tools', name], 'these are')}")
    if CONTROLS.issuperset(results) and not any(map(is_result, results)) and results:
        raise UsageError(measured_under(["compare", *results]))
    if tools := [name for name in results if name in TOOLS and not is_result(name)]:
        others = [name for name in results if name not in tools]
        what = f"{tools[0]} is a tool" if len(tools) == 1 else f"{' and '.join(tools)} are tools"
        where = in_laboratory(["tools", ",".join(tools), *others], "comparisons of tools are")
        raise UsageError(f"{what}, not a result; {where}")


def _only_for_run(request: CompareRequest) -> list[tuple[str, object]]:
    return [
        ("--set", request.before),
        ("--against", request.after),
        ("--both", request.both),
        ("--host", request.host),
        ("--time", request.time),
        ("--trials", request.trials),
        ("--only", request.only),
        ("--files-below", request.files_below),
        ("--evidence", request.evidence),
        ("--seed", request.seed),
        ("--out", request.out),
        ("--dry-run", request.dry_run),
    ]


def _limits(texts: Sequence[str]) -> tuple[Limit, ...]:
    try:
        return tuple(map(limit_of, texts))
    except LimitError as error:
        raise UsageError(f"--fail-if {error}") from None


def _shown(request: CompareRequest, sources: Sequence[Source], limits: Sequence[Limit]) -> int:
    from whyperf.cli.output.comparison import print_comparison  # noqa: PLC0415 - a mistake is answered before

    try:
        return print_comparison(
            sources, limits, functions=request.functions, page=request.page, as_json=request.as_json
        )
    except CompareError as error:
        raise UsageError(str(error)) from None


def _sources(results: Sequence[str]) -> list[Source]:
    """The results that are named, a cell of one behind a colon.

    Raises:
        UsageError: there are too few or too many, or a result or cell does not exist.
    """
    if not results:
        raise UsageError("name two results, such as `whyperf compare results/before results/after`")
    if len(results) > len(LABELS):
        raise UsageError(f"{len(results)} results are more than the {len(LABELS)} that a comparison takes")
    found = [_source(label, text) for label, text in zip(LABELS, results, strict=False)]
    named = [(source.experiment.folder.resolve(), source.cell) for source in found]
    if len(set(named)) < len(named):
        twice = next(text for text, name in zip(results, named, strict=True) if named.count(name) > 1)
        raise UsageError(f"{twice} is named twice; name another result, or another cell of it")
    return found


def _source(label: str, text: str) -> Source:
    found = _CELL.fullmatch(text)
    if found is None:
        result, colon, cell = text.rpartition(":")
        if colon and not Path(text).exists() and (Path(result) / "plan.json").exists():
            _refuse_cell(find_experiment(result), cell)
        return Source(label, find_experiment(text))
    experiment = find_experiment(found["result"])
    if all(found["cell"] != cell.id for cell in experiment.plan.cells):
        _refuse_cell(experiment, found["cell"])
    return Source(label, experiment, found["cell"])


def _refuse_cell(experiment: Experiment, cell: str) -> NoReturn:
    known = [planned.id for planned in experiment.plan.cells]
    named = known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
    raise UsageError(f'{experiment.name} has no cell "{cell}"; it has {named}')


def _measured(request: CompareRequest, limits: Sequence[Limit]) -> int:
    """Measures both conditions in turn and compares them."""
    from whyperf.cli.workflows.measure import Order, measure  # noqa: PLC0415 - reading results needs none

    if request.results:
        raise UsageError(
            f"--run measures; {request.results[0]} is a result. Name a far host with --host, or leave out --run"
        )
    if not request.before and not request.after:
        raise UsageError("--run needs two conditions: --set FACTOR=LEVEL for A, --against FACTOR=LEVEL for B")
    order = Order(
        question=request.run,
        workload=None,
        host=request.host,
        address=None,
        port=0,
        fleet=AskedFleet(),
        testbed="auto",
        overrides=overrides({"duration_s": request.time}, request.both),
        options=("duration_s",) if request.time is not None else (),
        only=request.only,
        leave_out_missing=False,
        trials=request.trials,
        evidence=asked_evidence(request.evidence or EVIDENCE, None),
        seed=request.seed,
        out=request.out,
        dry_run=request.dry_run,
        retry_failed=False,
        output=output_format(json=request.as_json, format_=None, interval="0", has_lines=True),
        report=False,
        files_below=request.files_below,
        conditions=(overrides({}, request.before), overrides({}, request.after)),
    )

    def show(experiment: Experiment) -> int:
        return _shown(request, [Source("A", experiment)], limits)

    return measure(order, show)
