"""The real controller and the real state machines of the agent, against each other in virtual time, with faults."""

import pytest

from tests.simulation.faults import Fault
from tests.simulation.life import run_seed
from tests.simulation.planted import BUGS, Bug, applies, bugs
from tests.simulation.samples import settings
from whyperf.run import trial

#: In some of the first seeds a fault hits one side alone.
FEW_SEEDS = 150


@pytest.mark.parametrize("seed", range(4))
def test_a_seed_gives_the_same_trace_again(seed: int) -> None:
    first, second = run_seed(seed), run_seed(seed)
    assert len(first.trace) > 20
    assert first.trace == second.trace


@pytest.mark.parametrize("at_ms", range(1_500, 4_000, 250))
def test_the_load_of_another_pair_excuses_no_silence(at_ms: int) -> None:
    setting = next(setting for setting in settings() if setting.name == "two pairs")
    stop = Fault("stop-agent", life=1, label="far", at_ns=at_ms * 1_000_000, count=1, size=0.5)
    outcome = run_seed(4258, setting=setting, faults=[stop])
    assert outcome.violation is None, str(outcome)
    assert stop.came_ns is not None


def test_a_mistake_is_found_and_printed_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_status", lambda _: ("complete", None))
    found = next(outcome for seed in range(FEW_SEEDS) if (outcome := run_seed(seed)).violation is not None)
    assert str(found).startswith(f"seed {found.seed}, ")
    assert "is complete, and its load at" in str(found)


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.name)
def test_every_planted_bug_still_fits_the_source(bug: Bug) -> None:
    assert applies(bug)


def test_the_catalog_and_the_patches_are_the_same() -> None:
    named = {bug.patch for bug in bugs()}
    assert set(BUGS.glob("*.patch")) == named
    assert len(named) == 20
