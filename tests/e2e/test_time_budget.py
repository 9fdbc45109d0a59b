"""The time budget of real connections that wait for one thing on purpose."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.logs import log_session, log_trials, run_log
from whyperf.analyze.flow import open_trial
from whyperf.explain.budget import TrialBudgets, budgets_of
from whyperf.explain.segment_log import read_logs
from whyperf.explain.states import ReceiverState, SenderState

pytestmark = [pytest.mark.paced, pytest.mark.root, pytest.mark.usefixtures("ours")]

RECEIVE_WINDOW = (
    SenderState.RECEIVE_WINDOW_BUFFER,
    SenderState.RECEIVE_WINDOW_READER,
    SenderState.ZERO_WINDOW,
)

CAUSES: dict[str, tuple[dict[str, Any], tuple[SenderState, ...]]] = {
    "a small window": ({"path_rtt_ms": 6, "window_bytes": 16384}, RECEIVE_WINDOW),
    "a small send buffer": ({"path_rtt_ms": 6, "send_buffer_bytes": 16384}, (SenderState.SEND_BUFFER,)),
    "a path of some length": (
        {"path_rtt_ms": 20, "path_rate_bps": 50_000_000},
        (SenderState.SLOW_START, SenderState.CONGESTION_WINDOW),
    ),
    "a writer that takes its time": ({"write_rate_bps": 20_000_000}, (SenderState.NOT_WRITING,)),
}


def explained(folder: Path, **levels: Any) -> TrialBudgets:
    """The budgets of one short log trial."""
    with log_session(folder, warmup_s=0.0, duration_s=0.4, cooldown_s=0.0, **levels) as (opened, experiment):
        (planned,) = log_trials(experiment)
        run_log(opened, experiment, planned)
        trial = open_trial(experiment.folder / "trials" / planned.id)
        return budgets_of(trial, read_logs(trial))


@pytest.mark.parametrize("cause", CAUSES)
def test_what_a_connection_waits_for_is_the_largest_part_of_its_time(cause: str, tmp_path: Path) -> None:
    levels, states = CAUSES[cause]
    found = explained(tmp_path / "results", **levels)
    # On a busy host the path may be late, and the trial void; what its connections waited for is true all the same.
    assert not [sentence for sentence in found.missing if sentence.startswith("There is no")]
    sender, receiver = found.budgets
    assert (sender.role, receiver.role) == ("sender", "receiver")
    for budget in found.budgets:
        assert sum(share.ns for share in budget.shares) == budget.life_ns
        assert budget.ratio(SenderState.UNKNOWN) <= 0.005
    # Of the time that was not spent waiting for a CPU, which other processes of the host decide.
    had_cpu = 1 - sender.ratio(SenderState.WAITS_FOR_CPU)
    assert sender.ratio(*states) > 0.5 * had_cpu, sender.shares
    had_cpu = 1 - receiver.ratio(ReceiverState.WAITS_FOR_CPU)
    assert receiver.ratio(ReceiverState.WAITING, ReceiverState.DELAYED_ACK) > 0.5 * had_cpu, receiver.shares
