"""`whyperf-lab tools`, step by step: which tools, blocks of runs, tests of reasons, the comparison."""

import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from lab.tools.catalog import MAX_CONNECTIONS, TOOLS, Tool, tool_named
from lab.tools.tool_runs import OWN, Load, Look, Run, ToolsComparison, Variant, Workload, variant_key
from whyperf.analyze.text import bit_rate, count, significant
from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE, DOUBTFUL, Stopped, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.plan import Cell, Plan, build
from whyperf.plan.stop import permutation
from whyperf.profile import BY_NAME, Level, Overrides, Profile, ProfileError, Sweep
from whyperf.record import Experiment, RecordError
from whyperf.record.durable import write_file
from whyperf.run import Kind, RunError, Session, Target, allowed_kind, keep_places

if TYPE_CHECKING:
    from lab.tools.runner import ToolsRunner

PAIRS = 5
WARMUP_S, DURATION_S = 1.0, 3.0
MAX_LOAD_S = 45.0
"""A launcher gives a program up after a minute."""
RUN_MORE_S = 4.0
"""The time that a run takes in addition to its load, roughly."""
RUNS = "runs.jsonl"
PAGE = "report.html"
DOCUMENT = "tools.json"
"""The file in the folder of a comparison of tools."""
WORKLOADS: dict[str, Workload] = {"stream": "stream", "rr": "rr", "udp-stream": "udp"}
SAME_FOR_ALL = frozenset(
    {
        *("workload", "connections", "duration_s", "warmup_s", "cooldown_s", "interval_ms", "deadline_s"),
        *("congestion_control", "write_size_bytes", "request_size_bytes", "response_size_bytes", "datagram_size_bytes"),
        *("near_cpus", "far_cpus", "mtu_bytes", "tso", "gso", "gro"),
    }
)
"""Factors that hold for all tools: of the load, the path, or the CPUs. Others are the own load's alone."""


@dataclass(frozen=True)
class ToolsRequest:
    """Everything the command line asked of `whyperf-lab tools`."""

    tools: tuple[str, ...]
    profile: str | None
    overrides: Overrides
    pairs: int | None
    seed: int | None
    verify: bool
    out: Path | None
    page: Path | None
    dry_run: bool
    as_json: bool


def compare_tools(request: ToolsRequest) -> int:
    """Does what was asked; returns the exit code: 3 where runs were void, those of the tests of reasons included.

    Where it ends early, the runs made until then are compared first.

    Raises:
        UsageError: no tool can do it, or what is asked for is not what tools can do.
        Stopped: it was interrupted.
        RunError: an agent is gone.
        RecordError: the result cannot be kept.
        ProfileError: the own load cannot do as a tool does.
    """
    tools = _named(request.tools)
    profile = _profile(request)
    plan = _plan(profile, request)
    load = _load(plan, {*given_factors(profile, plan.cells[0]), *request.overrides})
    tools, left_out = _possible(tools, load)
    for reason in left_out:
        say(f"Left out: {reason}")
    if not tools:
        raise UsageError("none of these tools can run here; install one of them, or name another")
    pairs = plan.measured_trials_count
    if request.dry_run:
        return _print_plan(tools, load, pairs, request)
    kind, refused = allowed_kind(None)
    if kind is not Kind.VETH:
        raise UsageError(f"tools are compared on the embedded testbed, which needs network namespaces: {refused}")
    folder = request.out or Path("results") / f"tools-{datetime.now():%Y%m%d-%H%M%S}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} holds something already; name a new folder with --out")
    number = pairs * (len(tools) + 1)
    tests = pairs * (2 * len(tools) + 2) if request.verify else 0
    also = f", and up to {tests} for the tests of reasons" if tests else ""
    about = duration((number + tests) * (load.seconds + RUN_MORE_S))
    say(f"{count(number, 'run')} to make{also}, about {about}; result: {folder}")
    folder.mkdir(parents=True, mode=0o700)
    ended: Exception | None = None
    with interrupts.handled(), _Measuring(folder, (plan, profile, load), tools, verifies=request.verify) as measuring:
        try:
            measuring.measure()
        except (KeyboardInterrupt, RunError, RecordError, ProfileError) as error:
            ended = Stopped() if isinstance(error, KeyboardInterrupt) else error
            how = "stopped" if isinstance(ended, Stopped) else "ended early"
            if not measuring.runs:
                shutil.rmtree(folder, ignore_errors=True)
                say(f"whyperf: {how}; no run was made, and nothing is left behind")
                raise ended from None
            say(f"whyperf: {how}; what was measured is compared")
    code = _finish(measuring.comparison(left_out), folder, request)
    if ended is not None:
        raise ended
    return code


def _finish(found: ToolsComparison, folder: Path, request: ToolsRequest) -> int:
    from lab.tools.report import page  # noqa: PLC0415 - as above
    from lab.tools.terminal import print_tools  # noqa: PLC0415 - loads what judges

    write_file(folder / DOCUMENT, found.model_dump_json(indent=1).encode())
    text = page(found).encode()
    write_file(folder / PAGE, text)
    if request.page is not None:
        write_file(request.page, text)
    print_tools(found, as_json=request.as_json)
    say(f"Result: {folder}; page: {request.page or folder / PAGE}")
    return exit_code(found)


def exit_code(found: ToolsComparison) -> int:
    """3 where runs are void, or no tool has a figure next to one of the own load."""
    # Documents without `void_runs` have the reasons of figures alone.
    has_void = found.void_runs > 0 or any(each.void for each in found.figures)
    return DOUBTFUL if has_void or len(found.figures) < 2 else DONE


def _named(names: Sequence[str]) -> list[Tool]:
    """The tools; one that is named twice is there once.

    Raises:
        UsageError: one is not known.
    """
    found = []
    for name in names:
        tool = tool_named(name)
        if tool is None:
            raise UsageError(f'"{name}" is none of: {", ".join(each.name for each in TOOLS)}')
        found.append(tool)
    return list(dict.fromkeys(found))


def _profile(request: ToolsRequest) -> Profile:
    """The profile with the overrides, and shorter phases where nobody named any."""
    from whyperf.cli.inputs.question import understand  # noqa: PLC0415 - reads profiles

    name = {"udp": "udp-stream", "stream": None}.get(request.profile or "stream", request.profile)
    profile, host = understand(name, None)
    if host is not None:
        raise UsageError(
            f"{host} is no profile; tools are compared on the embedded testbed: stream, rr, udp, or a profile"
        )
    usual: Overrides = {"duration_s": DURATION_S, "warmup_s": WARMUP_S} if name in {None, "rr", "udp-stream"} else {}
    return profile.with_overrides({**usual, **request.overrides})


def _plan(profile: Profile, request: ToolsRequest) -> Plan:
    plan = build(profile, trials=request.pairs or PAIRS, seed=request.seed, evidence="user", profile_hz=0)
    if len(plan.cells) != 1:
        raise UsageError(
            f"{plan.profile} has {len(plan.cells)} settings; tools are compared in one: set one level each"
        )
    return plan


def sweep_of(profile: Profile, cell: Cell) -> Sweep:
    """The sweep that a cell comes from; names of sweeps are unique, and some sweeps are for the model alone."""
    return next(sweep for sweep in profile.sweeps if sweep.name == cell.sweep)


def given_factors(profile: Profile, cell: Cell) -> set[str]:
    """The factors that a profile names for a cell."""
    sweep = sweep_of(profile, cell)
    return {*profile.fixed, *sweep.fixed, *sweep.levels}


def with_variants(profile: Profile, cell: Cell, variants: Sequence[Mapping[str, Level]]) -> Profile:
    """The profile with a sweep for each variant of a cell, `own-0`, `own-1`, …, which has the variant's factors."""
    base = sweep_of(profile, cell)
    # A level of a sweep goes before a fixed one, and would before the variant's.
    chosen = {name: cell.factors[name] for name in base.levels if name in cell.factors}
    sweeps = tuple(
        replace(base, name=f"own-{number}", fixed={**base.fixed, **chosen, **factors}, levels={}, exclude=())
        for number, factors in enumerate(variants)
    )
    return replace(profile, sweeps=sweeps)


def _load(plan: Plan, given: Iterable[str]) -> Load:
    """The load that every tool is asked for; `given` are the factors that somebody has named.

    Raises:
        UsageError: tools cannot do it.
    """
    factors = plan.cells[0].factors
    workload = WORKLOADS.get(str(factors.get("workload", "stream")))
    if workload is None or factors.get("transport", "tcp") not in {"tcp", "udp"}:
        raise UsageError(f"{plan.profile} has no workload that tools share; take stream, rr or udp")
    own_alone = sorted(set(given) - SAME_FOR_ALL)
    if own_alone:
        raise UsageError(f"no tool can be given {', '.join(own_alone)}; leave that out, or use `whyperf compare --run`")
    connections = int(factors.get("connections", 1))
    if connections > MAX_CONNECTIONS:
        raise UsageError(
            f"{connections:,} connections are more than the {MAX_CONNECTIONS} that tools are compared with"
        )
    warmup_s, duration_s = float(factors["warmup_s"]), float(factors["duration_s"])
    if (warmup_s + duration_s) % 1 or warmup_s + duration_s > MAX_LOAD_S:
        raise UsageError(
            f"warm-up and duration are {warmup_s + duration_s:g} s together; tools take whole seconds, "
            f"at most {MAX_LOAD_S:g}"
        )
    size = factors.get("write_size_bytes")
    return Load(
        workload=workload,
        connections=connections,
        warmup_s=warmup_s,
        duration_s=duration_s,
        write_size_bytes=int(size) if size is not None and size != BY_NAME["write_size_bytes"].default else None,
        request_bytes=int(factors.get("request_size_bytes", 1)),
        response_bytes=int(factors.get("response_size_bytes", 1)),
        datagram_bytes=int(factors.get("datagram_size_bytes", 1472)),
    )


def _possible(tools: Sequence[Tool], load: Load) -> tuple[list[Tool], tuple[str, ...]]:
    """The tools that are here and can do it, and why each other one is left out."""
    found, reasons = [], []
    for tool in tools:
        missing = next((program for program in tool.programs if shutil.which(program) is None), None)
        if (reason := tool.refuses(load)) != "":
            reasons.append(reason)
        elif missing is not None:
            reasons.append(f"the program {missing} is missing; install the package {tool.package} ({tool.where})")
        else:
            found.append(tool)
    if shutil.which("unshare") is None:
        raise UsageError("the program unshare is missing; install the package util-linux")
    return found, tuple(reasons)


def _print_plan(tools: Sequence[Tool], load: Load, pairs: int, request: ToolsRequest) -> int:
    from lab.tools.terminal import print_commands  # noqa: PLC0415 - loads rich

    print_commands(tools, load, pairs, as_json=request.as_json)
    return DONE


class _Measuring:
    """The blocks of runs, one after the other; every run is a line of the result when it is made."""

    def __init__(
        self,
        folder: Path,
        planned: tuple[Plan, Profile, Load],
        tools: Sequence[Tool],
        *,
        verifies: bool,
    ) -> None:
        self._folder, self._tools, self._verifies = folder, tools, verifies
        self._plan, self._profile, self._load = planned
        self.runs: list[Run] = []
        self.looks: list[Look] = []
        self._host = ""

    def __enter__(self) -> "_Measuring":
        self._file = (self._folder / RUNS).open("a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def measure(self) -> None:
        """All blocks, and where they are wanted the tests of reasons.

        Raises:
            RunError: an agent is gone.
            RecordError: the disk refuses.
            ProfileError: the own load cannot do as a tool does.
        """
        with self._session(self._plan, "whyperf") as (runner, experiment):
            self._host = _host_of(experiment)
            for tool in self._tools:
                self.looks.append(runner.look(tool))
            names = [OWN, *(tool.name for tool in self._tools)]
            planned = list(experiment.plan.trials())
            for trial in planned:
                rng = Random(f"tools, block {trial.block} of seed {self._plan.seed}")
                for name in permutation(names, rng):
                    if name == OWN:
                        self._add(runner.of_own(experiment, trial))
                    else:
                        self._add(runner.of_tool(self._tool(name), trial.block))
            self._look_at_own(experiment)
        if self._verifies:
            self._verify(len(planned))

    def _verify(self, blocks: int) -> None:
        """The same tools next to the own load as it is, and as each tool does."""
        variants = list(self._variants())
        say(f"Testing reasons: {count(len(variants), 'variant')} of the own load in {count(blocks, 'block')}")
        profile = with_variants(self._profile, self._plan.cells[0], [{}, *(factors for _, _, factors in variants)])
        plan = build(profile, trials=blocks, seed=self._plan.seed, evidence="user", profile_hz=0)
        of_variants = {variant_key(tool or "", variant): (variant, tool) for tool, variant, _ in variants}
        keys: dict[str, tuple[Variant, str | None] | None] = {OWN: None, **of_variants}
        sweeps = {cell.sweep: cell.id for cell in plan.cells}
        cells = {name: sweeps[f"own-{number}"] for number, name in enumerate(keys)}
        with self._session(plan, "whyperf-as-tools") as (runner, experiment):
            by_cell = {(trial.block, trial.cell): trial for trial in experiment.plan.trials()}
            for block in range(1, blocks + 1):
                rng = Random(f"reasons, block {block} of seed {self._plan.seed}")
                for name in permutation([*keys, *(tool.name for tool in self._tools)], rng):
                    if name in keys:
                        run = runner.of_own(experiment, by_cell[block, cells[name]], variant=keys[name])
                    else:
                        run = runner.of_tool(self._tool(name), block)
                    # These blocks are others than the first ones.
                    self._add(run.model_copy(update={"block": blocks + block}))

    def _variants(self) -> Iterator[tuple[str | None, Variant, Mapping[str, Level]]]:
        """The own load's tasks, as each tool does them: tool, variant and factors. The warm-up is the same for all."""
        from lab.tools.reasons import polls  # noqa: PLC0415 - loads what judges

        looks = {look.tool: look for look in self.looks}
        for tool in self._tools:
            look = looks[tool.name]
            if self._load.workload == "stream" and look.sender is not None and look.receiver is not None:
                sizes = {"write_size_bytes": look.sender.asked_bytes, "read_size_bytes": look.receiver.asked_bytes}
                known: dict[str, Level] = {name: size for name, size in sizes.items() if size}
                known["read_wait"] = "poll" if polls(look.receiver) else "block"
                yield tool.name, "calls", known
            elif self._load.workload == "stream":
                say(f"Not tested: the calls of {tool.name}: {look.missing or 'strace saw no call that moved payload'}")
        yield None, "warm_up", {"warmup_s": 0.0, "cooldown_s": 0.0, "duration_s": self._load.seconds}

    @contextmanager
    def _session(self, plan: Plan, name: str) -> "Iterator[tuple[ToolsRunner, Experiment]]":
        from lab.tools.runner import OWN_PORT, ToolsRunner  # noqa: PLC0415 - loads polars

        command_line = shlex.join(["whyperf-lab", *sys.argv[1:]])
        with (
            Experiment.create(self._folder / name, plan, self._profile.text) as experiment,
            Session(experiment.plan, Target(Kind.VETH, port=OWN_PORT)) as session,
        ):
            keep_places(session, experiment)
            yield ToolsRunner(session, self._load, self._folder, command_line, name), experiment

    def _look_at_own(self, experiment: Experiment) -> None:
        from lab.tools.runner import own_look  # noqa: PLC0415 - loads polars

        trial = next(iter(experiment.trials().measured), None)
        if trial is not None:
            self.looks.append(own_look(experiment, trial, experiment.plan.cells[0]))

    def _add(self, run: Run) -> None:
        self.runs.append(run)
        self._file.write(run.model_dump_json() + "\n")
        self._file.flush()
        say(f"Block {run.block}, {run.key}: {self._outcome(run)}")

    def _outcome(self, run: Run) -> str:
        if run.void is not None or run.reported is None:
            return f"void: {run.void}"
        if self._load.workload == "rr":
            return f"{significant(run.reported.rate)} transactions/s"
        return bit_rate(run.reported.rate)

    def _tool(self, name: str) -> Tool:
        return next(tool for tool in self._tools if tool.name == name)

    def comparison(self, left_out: tuple[str, ...]) -> ToolsComparison:
        """Compares what the runs show."""
        from lab.tools.comparison import ToolsQuestion, compared_tools  # noqa: PLC0415 - loads what judges

        asked = ToolsQuestion(
            folder=str(self._folder),
            profile=self._plan.profile,
            load=self._load,
            setting={name: self._plan.cells[0].factors.get(name) for name in ("congestion_control", "mtu_bytes")},
            host=self._host,
            seed=self._plan.seed,
            blocks=self._plan.measured_trials_count,
            tools=tuple(tool.name for tool in self._tools),
        )
        return compared_tools(asked, self.runs, self.looks, left_out)


def _host_of(experiment: Experiment) -> str:
    facts = next(iter(experiment.hosts().values()), {})
    return f"{facts.get('kernel', '')}, {len(facts.get('cpus', ()))} CPUs"


def show_tools(folder: Path, page: Path | None, *, as_json: bool) -> int:
    """Prints the comparison of tools in a folder; returns the exit code that the measurement had.

    Raises:
        UsageError: the document was changed.
    """
    from lab.tools.report import page as rendered  # noqa: PLC0415 - as above
    from lab.tools.terminal import print_tools  # noqa: PLC0415 - loads what judges
    from whyperf.foreign.files import read_text  # noqa: PLC0415 - as above

    path = folder / DOCUMENT
    try:
        found = ToolsComparison.model_validate_json(read_text(path))
    except ValueError as error:
        raise UsageError(f"{path} is no comparison of tools: {str(error).splitlines()[0]}") from None
    if page is not None:
        write_file(page, rendered(found).encode())
    print_tools(found, as_json=as_json)
    return exit_code(found)
