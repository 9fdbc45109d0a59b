"""The glossary says what each limit state is, in the words of the code."""

import inspect
import re
from pathlib import Path

import pytest

from whyperf.explain import states

GLOSSARY = (Path(__file__).parents[3] / "GLOSSARY.md").read_text()
STATES = re.findall(r'    [A-Z_]+ = "(\w+)"\n    """(.*?)"""', inspect.getsource(states), re.DOTALL)


@pytest.mark.parametrize(("name", "meaning"), STATES)
def test_a_state_is_in_the_glossary(name: str, meaning: str) -> None:
    assert f"| `{name}` | {' '.join(meaning.split())} |" in GLOSSARY


def test_no_state_is_left_out() -> None:
    assert len(STATES) == len(states.SenderState) + len(states.ReceiverState)
