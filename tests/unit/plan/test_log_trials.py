"""Log trials of a plan: asked for by profile or command line, apart from the others, and not in old identifiers."""

import json

import pytest

from whyperf.plan import Level, Plan, build, estimate
from whyperf.plan.plan_document import identify
from whyperf.profile import Profile, parse

TEXT = """
about = "A question."
[fixed]
transfer_bytes = 1048576
[design]
trials = 3
{design}
[[sweep]]
name = "one"
{sweep}
[sweep.factors]
window_bytes = [4096, 8192]
[[sweep]]
name = "two"
[sweep.factors]
write_size_bytes = [512, 1024, 2048]
"""


def profile(design: str = "", sweep: str = "") -> Profile:
    return parse(TEXT.format(design=design, sweep=sweep), name="sample", where="sample.toml")


def logs_by_sweep(plan: Plan) -> dict[str, int]:
    logs = [plan.cell(trial.cell).sweep for trial in plan.trials() if trial.is_log]
    return {sweep: logs.count(sweep) for sweep in ("one", "two")}


@pytest.mark.parametrize(
    ("design", "sweep", "evidence", "wanted"),
    [
        ("", "", None, (0, 0)),
        ("log_trials = 2", "", None, (4, 6)),
        ("log_trials = 2", "log_trials = 0", None, (0, 6)),
        ("", "log_trials = 3", None, (6, 0)),
        ("", "", "segments", (2, 3)),
        ("", "log_trials = 3", "segments", (6, 3)),
        ("log_trials = 2", "", "counters", (0, 0)),
        ("log_trials = 2", "", "user", (0, 0)),
    ],
)
def test_who_gets_how_many(design: str, sweep: str, evidence: Level | None, wanted: tuple[int, int]) -> None:
    plan = build(profile(design, sweep), evidence=evidence)
    assert logs_by_sweep(plan) == dict(zip(("one", "two"), wanted, strict=True))
    assert plan.trials_count == 3 * 5 + sum(wanted) == estimate(plan).trials


def test_log_trials_come_last_and_are_named_for_it() -> None:
    trials = list(build(profile("log_trials = 1")).trials())
    assert [trial.is_log for trial in trials] == [False] * 15 + [True] * 5
    assert all(trial.id == f"log{trial.block:02d}-{trial.cell}" for trial in trials if trial.is_log)
    assert {trial.evidence for trial in trials if not trial.is_log} == {"counters"}


def test_a_plan_from_before_there_were_levels_keeps_its_identifier() -> None:
    plan = build(profile())
    document = json.loads(plan.to_json())
    del document["evidence"], document["log_blocks"]
    old = Plan.from_json(json.dumps(document), "plan.json")
    assert identify(old) == plan.id
    # Nothing was watched then, and going on with it must not mix levels.
    assert {trial.evidence for trial in old.trials()} == {"user"}


def test_levels_and_log_trials_decide_what_is_measured() -> None:
    levels: tuple[Level | None, ...] = (None, "user", "segments")
    assert len({build(profile(), evidence=level).id for level in levels}) == 3
    assert build(profile(), evidence="counters").id == build(profile()).id
