"""The real session of a watch and the real state machines of its agents in virtual time, with faults."""

import pytest

from tests.simulation.faults import Fault
from tests.simulation.hosts import SimulatedAgent
from tests.simulation.samples import watched
from tests.simulation.trials import HostWatch
from tests.simulation.virtual_time import SECOND_NS
from tests.simulation.watches import WatchSetting, watch_seed
from whyperf.watch import session
from whyperf.watch.spool import TableSpool

#: In some of the first seeds a fault comes, or both sides are watched.
FEW_SEEDS = 100
BOTH = WatchSetting(near=None, far="beta", with_far=True, ends="caller", seconds=1.5)


def fault(kind: str, label: str, at_s: float) -> Fault:
    return Fault(kind, 1, label, round(at_s * SECOND_NS), 1, 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_of_a_watch_gives_the_same_trace_again(seed: int) -> None:
    first, second = watch_seed(seed), watch_seed(seed)
    assert len(first.trace) > 5
    assert first.trace == second.trace


@pytest.mark.parametrize("kind", ["kill-agent", "kill-ssh", "stop-agent"])
def test_a_far_side_that_is_lost_leaves_the_near_one(kind: str) -> None:
    outcome = watch_seed(2, setting=BOTH, faults=[fault(kind, "far", 1.0)])
    assert outcome.violation is None, str(outcome)
    assert outcome.error is None
    assert list(outcome.results) == ["near"]
    assert outcome.far_lost


def test_a_report_that_is_late_ends_the_watch_and_what_was_seen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def report_once(agent: SimulatedAgent, own: HostWatch) -> None:
        reply = watched(agent.label, 0, agent.mono_ns, is_empty=False)
        agent.machine.handle(agent.now_ns, "progress", id=own.request, reply=reply)

    monkeypatch.setattr(SimulatedAgent, "_report_watched", report_once)
    setting = WatchSetting(near=None, far=None, with_far=False, ends="caller", seconds=120)
    outcome = watch_seed(2, setting=setting, faults=[])
    assert outcome.violation is None, str(outcome)
    assert outcome.error is None
    assert list(outcome.results) == ["near"]
    assert outcome.late == "the near agent did not answer watch within 30 s"


def test_a_far_side_that_never_ends_does_not_keep_the_near_one_waiting() -> None:
    outcome = watch_seed(2, setting=BOTH, faults=[fault("watch-on", "far", 1.0)])
    assert outcome.violation is None, str(outcome)
    assert list(outcome.results) == ["near"]
    assert outcome.far_lost == "the far agent on beta did not end watch in time"


def test_a_near_side_that_never_ends_is_given_up_after_its_time() -> None:
    outcome = watch_seed(2, setting=BOTH._replace(ends="time"), faults=[fault("watch-on", "near", 1.0)])
    assert outcome.violation is None, str(outcome)
    assert str(outcome.error) == "the near agent did not end watch in time"


def test_ctrl_c_keeps_the_result_of_both_sides() -> None:
    outcome = watch_seed(2, setting=BOTH, faults=[fault("interrupt", "near", 1.0)])
    assert outcome.violation is None, str(outcome)
    assert isinstance(outcome.error, KeyboardInterrupt)
    assert outcome.results.keys() == {"near", "far"}


def test_a_pipe_that_is_cut_ends_the_watch_of_its_agent() -> None:
    outcome = watch_seed(2, setting=BOTH, faults=[fault("kill-controller", "near", 1.0)])
    assert outcome.violation is None, str(outcome)
    assert outcome.is_killed


def test_an_end_that_comes_too_early_and_is_not_repeated_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent refuses to end a watch that has not begun, and nobody asks again."""
    monkeypatch.setattr(session.WatchSession, "_is_ending", property(lambda _: False, lambda *_: None), raising=False)
    # About one seed of fifty ends a watch in the moment in which it begins.
    found = next(outcome for seed in range(5 * FEW_SEEDS) if (outcome := watch_seed(seed)).violation is not None)
    assert str(found).startswith(f"watch {found.seed}, ")


def test_tables_that_are_not_kept_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableSpool, "tables", property(lambda _: {}))
    assert watch_seed(2, setting=BOTH, faults=[]).violation == "the tables of near are not what its agent sent"
