"""Trials with stage times: after all others, never measured, and no part of plans that do not ask for them."""

import pytest

from whyperf.plan import EXTRA_PREFIXES, PlannedStages, PlannedWorkload, build
from whyperf.profile import Profile, ProfileError, parse
from whyperf.run.spec import MAX_BLOCK_BYTES, MIN_BLOCK_BYTES, OVERHEAD_PPM, WINDOW_MS, stages_spec

TEXT = """
about = "A test."
[design]
trials = 2
[[sweep]]
name = "main"
[sweep.factors]
connections = [1, 2]
"""
STREAM = {"write_size_bytes": 131_072, "read_size_bytes": 65_536, "reply_size_bytes": 0, "duration_s": 10.0}


SENTENCE = "over quic, and only TCP, TLS and Multipath TCP have stage times"


@pytest.fixture
def profile() -> Profile:
    """Two cells."""
    return parse(TEXT, name="test", where="test.toml")


def test_each_cell_has_one_more_trial_at_the_end(profile: Profile) -> None:
    plan = build(profile, target="loopback", evidence="segments", stages=PlannedStages(one_in=4))
    names = [trial.id for trial in plan.trials()]
    assert sorted(names[-2:]) == ["stages01-c0001", "stages01-c0002"]
    assert (plan.measured_trials_count, plan.log_trials_count, plan.stage_trials_count) == (4, 2, 2)
    assert plan.trials_count == len(names) == 8
    for trial in plan.trials():
        assert (trial.stages is not None) == trial.id.startswith("stages")
        assert trial.is_extra == trial.id.startswith(EXTRA_PREFIXES)
        # Stage times come with counters and without the log.
        assert trial.evidence == ("segments" if trial.id.startswith("log") else "counters")


def test_a_plan_without_them_is_as_before(profile: Profile) -> None:
    plan, other = (build(profile, target="loopback", stages=stages) for stages in (None, PlannedStages()))
    assert "stage" not in plan.to_json()
    assert plan.id != other.id
    assert build(profile, target="loopback", stages=PlannedStages(one_in=2)).id not in {plan.id, other.id}
    assert build(profile, target="model", stages=PlannedStages()).stage_trials_count == len(plan.cells)


def test_a_block_holds_several_parts_and_is_a_power_of_two() -> None:
    spec = stages_spec(PlannedStages(), STREAM, None)
    assert spec == {"block_bytes": 2**20, "one_in_count": 4, "overhead_ppm": OVERHEAD_PPM, "window_ms": WINDOW_MS}
    for level in ({"path_rtt_ms": 40}, {"duration_s": 1.0}):
        assert stages_spec(PlannedStages(), STREAM | level, None)["window_ms"] == 0
    small = stages_spec(PlannedStages(one_in=1), STREAM | {"write_size_bytes": 1, "reply_size_bytes": 1}, None)
    assert small == {"block_bytes": MIN_BLOCK_BYTES, "one_in_count": 1, "overhead_ppm": 0, "window_ms": 0}
    workload = PlannedWorkload(name="rr", metric="transactions")
    exchange = {**STREAM, "request_size_bytes": 2048, "response_size_bytes": 64}
    assert stages_spec(PlannedStages(), exchange, workload)["block_bytes"] == 2**14
    assert stages_spec(PlannedStages(), exchange, workload)["one_in_count"] == 2
    assert stages_spec(PlannedStages(), exchange, workload)["window_ms"] == 0
    large = stages_spec(PlannedStages(), STREAM | {"write_size_bytes": 2**30}, None)
    assert large["block_bytes"] == MAX_BLOCK_BYTES


def test_a_transport_without_stage_times_is_refused_or_left_out_before_anything_is_measured(profile: Profile) -> None:
    with pytest.raises(ProfileError, match=f"^--evidence stages: this load runs {SENTENCE}; leave out stages"):
        build(profile, target="loopback", stages=PlannedStages(), overrides={"transport": "quic"})
    plan = build(profile, target="loopback", stages=PlannedStages(), overrides={"transport": ("quic", "tls")})
    staged = [plan.cell(trial.cell).factors["transport"] for trial in plan.trials() if trial.stages is not None]
    assert staged == ["tls", "tls"]
    assert plan.warnings == (f"No stage trials for some cells: 2 of 4 cells run {SENTENCE}.",)


def test_a_profile_whose_transport_has_no_stage_times_is_measured_without_them() -> None:
    asking = parse(TEXT.replace("trials = 2", "trials = 2\nstage_trials = 1"), name="test", where="test.toml")
    plan = build(asking, target="loopback", overrides={"transport": "quic"})
    assert (plan.stage_trials_count, plan.stages) == (0, None)
    assert plan.warnings == (f"No stage trials: this load runs {SENTENCE}.",)
    assert build(asking, target="loopback").warnings == ()
