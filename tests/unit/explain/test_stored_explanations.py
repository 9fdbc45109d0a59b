"""Stored records and trials: facts, budgets, patterns and explanations are as they were when they were reviewed."""

from pathlib import Path

import pytest

from tests.unit.explain.situations import differences
from tests.unit.explain.stored_records import NAMES, RECORDS, VIEWS, explained, stored, trial_facts, unpack_trial
from tests.unit.records.golden import unpack
from whyperf.truth.levels import View


@pytest.mark.parametrize("kind", RECORDS)
def test_a_stored_record_is_explained_as_before(kind: str, tmp_path: Path) -> None:
    unpack(kind, tmp_path)
    assert list(differences(stored()[kind], explained(kind, tmp_path))) == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_a_stored_trial_has_the_stored_facts(name: str, view: View, tmp_path: Path) -> None:
    found = trial_facts(unpack_trial(name, tmp_path), view)
    assert list(differences(stored()[f"{name} {view.value}"], found)) == []
