"""What watching costs, kept for a host and its kernel."""

from pathlib import Path

import pytest

from whyperf.record import keep_cost, known_cost


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_each_host_and_kernel_has_its_own() -> None:
    keep_cost("h", "6.1", {"levels": [1]})
    keep_cost("h", "6.12", {"levels": [2]})
    keep_cost("h", "6.1", {"levels": [3]})
    assert known_cost("h", "6.1") == {"levels": [3]}
    assert known_cost("h", "6.12") == {"levels": [2]}
    assert known_cost("other", "6.1") is None


def test_without_a_setting_it_lies_below_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keep_cost("h", "6.1", {}) == tmp_path / ".local/state/whyperf/probe-cost.json"


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"h 6.1": 7}'])
def test_a_damaged_file_is_as_none(content: str) -> None:
    file = keep_cost("h", "6.1", {})
    file.write_text(content)
    assert known_cost("h", "6.1") is None
    keep_cost("h", "6.1", {"levels": []})
    assert known_cost("h", "6.1") == {"levels": []}
