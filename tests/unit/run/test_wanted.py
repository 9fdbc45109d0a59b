"""Which trials a stop rule still wants while a plan runs."""

from whyperf.plan import Plan, build
from whyperf.profile import parse
from whyperf.run.experiment import _Progress

TEXT = """
about = "A question."
[fixed]
transfer_bytes = 1048576
[design]
trials_min = 3
trials_max = 10
interval_width = 0.5
log_trials = 2
"""


def sequential_plan() -> Plan:
    return build(parse(TEXT, name="sample", where="sample.toml"))


def test_a_log_trial_is_no_trial_of_its_cell() -> None:
    plan = sequential_plan()
    asked = []

    def goodput_of(trial: str) -> float:
        asked.append(trial)
        return 1e9

    trials = list(plan.trials())
    logs = [trial for trial in trials if trial.is_log]
    progress = _Progress(plan, [trial for trial in trials if not trial.is_log][2:], goodput_of)
    assert progress.done == 2 + len(logs)
    assert asked == [trial.id for trial in trials[:2]]
    # Two trials and two with the log: a third is wanted, and with it the cell has enough.
    assert progress.wants("c0001")
    progress.on_trial(trials[2].id, "c0001")
    assert not progress.wants("c0001")
    progress.on_trial(logs[0].id, "c0001")
    assert len(asked) == 3
