"""How `whyperf-lab tools` ends: what is kept, the exit code, and what it refuses. Runs are made up."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.app import main
from lab.tools import workflow as tools
from lab.tools.tool_runs import OWN, Run, ToolsComparison
from tests.lab.unit.tools.made_up_runs import blocks
from whyperf.plan import build
from whyperf.profile import ProfileError, parse
from whyperf.record import RecordError
from whyperf.run import Kind, RunError

RUNS = [*blocks(OWN, 1e9), *blocks("iperf3", 0.9e9)]
Makes = Callable[[list[Run], BaseException | None], None]


@pytest.fixture
def makes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Makes:
    """Has a comparison make these runs, and then end with an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tools, "allowed_kind", lambda _: (Kind.VETH, ""))
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")

    def make(runs: list[Run], ended: BaseException | None) -> None:
        def measure(measuring: tools._Measuring) -> None:
            for run in runs:
                measuring._add(run)
            if ended is not None:
                raise ended

        monkeypatch.setattr(tools._Measuring, "measure", measure)

    return make


def compare(*arguments: str) -> int:
    return main(["tools", *arguments])


def kept() -> ToolsComparison:
    return ToolsComparison.model_validate_json(Path("made/tools.json").read_text())


MEASURE = ("iperf3", "--out", "made")


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (None, 0),
        (KeyboardInterrupt(), 130),
        (RecordError("the disk is full"), 1),
        (ProfileError("sweep", "read_size_bytes", "it cannot be"), 2),
    ],
)
def test_what_was_measured_is_compared_however_it_ends(
    ended: BaseException | None, code: int, makes: Makes, capsys: pytest.CaptureFixture[str]
) -> None:
    makes(RUNS, ended)
    assert compare(*MEASURE) == code
    assert [each.runs for each in kept().figures] == [5, 5]
    assert len(Path("made/runs.jsonl").read_text().splitlines()) == 10
    assert Path("made/report.html").exists()
    assert str(ended or "") in capsys.readouterr().err


@pytest.mark.parametrize(("ended", "code"), [(KeyboardInterrupt(), 130), (RunError("no testbed"), 1)])
def test_nothing_stays_where_nothing_was_measured(ended: BaseException, code: int, makes: Makes) -> None:
    makes([], ended)
    assert compare(*MEASURE) == code
    assert not Path("made").exists()


def void(run: Run) -> Run:
    return run.model_copy(update={"void": "it failed", "reported": None})


@pytest.mark.parametrize(
    "runs",
    [
        [*RUNS[:-1], void(RUNS[-1])],
        [*RUNS[:5], *map(void, RUNS[5:])],
        [*RUNS, void(blocks(OWN, 1e9, 6, variant="warm_up")[0])],
    ],
    ids=["a run", "all of a tool", "one of a test"],
)
def test_void_runs_make_the_exit_code_3_also_when_they_are_shown(runs: list[Run], makes: Makes) -> None:
    makes(runs, None)
    assert compare(*MEASURE) == 3
    assert compare("made") == 3


def test_a_comparison_of_tools_takes_no_option_that_it_would_ignore(
    makes: Makes, capsys: pytest.CaptureFixture[str]
) -> None:
    makes(RUNS, None)
    assert compare(*MEASURE) == 0
    capsys.readouterr()
    assert compare("made", "--trials", "5") == 2
    assert "--trials is for a measurement, and made is a comparison of tools" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("iperf",), '"iperf" is none of: iperf3, netperf, nuttcp, uperf'),
        (("iperf3", "--both", "busy_poll_us=10"), "no tool can be given busy_poll_us"),
        (("iperf3", "--time", "1.5"), "whole seconds"),
        (("iperf3", "window-sweep"), "tools are compared in one"),
    ],
)
def test_a_mistake_is_exit_code_2(
    arguments: tuple[str, ...], problem: str, makes: Makes, capsys: pytest.CaptureFixture[str]
) -> None:
    makes(RUNS, None)
    assert compare(*arguments) == 2
    assert problem in capsys.readouterr().err
    assert not Path("results").exists()


PROFILE = """
[fixed]
duration_s = 3
warmup_s = 1
write_size_bytes = 1000

[[sweep]]
name = "simulated"
on = "model"
[sweep.fixed]
hosts = "solaris8+gigabit"

[[sweep]]
name = "measured"
[sweep.fixed]
write_size_bytes = 2000
[sweep.factors]
read_size_bytes = [4000]
connections = [1, 2]
[[sweep.exclude]]
connections = [2]
"""


def test_a_variant_changes_only_its_own_factors_of_the_sweep_that_is_measured() -> None:
    profile = parse(PROFILE, name="sample", where="sample.toml")
    (cell,) = build(profile, trials=1, evidence="user").cells
    assert cell.sweep == "measured"
    assert tools.given_factors(profile, cell) == {
        *("duration_s", "warmup_s", "write_size_bytes", "read_size_bytes", "connections")
    }
    plan = build(
        tools.with_variants(profile, cell, [{}, {"read_size_bytes": 5000}, {"warmup_s": 0.0}]),
        trials=1,
        evidence="user",
    )
    found = [
        [each.factors[name] for name in ("write_size_bytes", "read_size_bytes", "warmup_s")] for each in plan.cells
    ]
    assert found == [[2000, 4000, 1], [2000, 5000, 1], [2000, 4000, 0]]
    assert plan.cells[0].factors == cell.factors
