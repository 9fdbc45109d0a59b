"""The glossary says what each limit state is, in the words of the code."""

import inspect
import re
from pathlib import Path

import pytest

from whyperf.explain import states
from whyperf.explain.rules.finding import state_evidence
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.explain.trial_facts import HostFacts
from whyperf.explain.wording.catalog import uncapitalized
from whyperf.report.explanation.styles import look_of

GLOSSARY = (Path(__file__).parents[3] / "GLOSSARY.md").read_text()
STATES = re.findall(r'    [A-Z_]+ = "(\w+)"\n    """(.*?)"""', inspect.getsource(states), re.DOTALL)


@pytest.mark.parametrize(("name", "meaning"), STATES)
def test_a_state_is_in_the_glossary(name: str, meaning: str) -> None:
    assert f"| `{name}` | {' '.join(meaning.split())} |" in GLOSSARY


def test_no_state_is_left_out() -> None:
    assert len(STATES) == len(states.SenderState) + len(states.ReceiverState)


def test_each_state_has_one_name_in_evidence_and_bars() -> None:
    for role, kind in (("sender", SenderState), ("receiver", ReceiverState)):
        for state in kind:
            end = HostFacts(host="near", shares={state.value: 0.5})
            assert uncapitalized(look_of(state.value, role).name) in state_evidence(end, role, state).words
