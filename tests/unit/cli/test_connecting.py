"""What is said while a host does not answer."""

import threading

import pytest

from whyperf.cli.live import connecting
from whyperf.cli.live.connecting import said_to_connect


def test_a_host_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    is_said = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        is_said.set()

    monkeypatch.setattr(connecting, "say", say)
    with said_to_connect([None, "a", "b", "a", "c", "d"], patience_s=0):
        assert is_said.wait(60)
    assert said == ["Connecting to a, b, c and 1 more (Ctrl-C ends)"]


def test_this_host_and_one_that_answers_are_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    with said_to_connect([None], patience_s=0), said_to_connect(["host7"], patience_s=3600):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("by_ssh", "line"),
    [
        (True, "whyperf: was connecting to host7; does `ssh host7 true` work?\n"),
        (False, "whyperf: was connecting to host7\n"),
    ],
)
def test_ctrl_c_names_what_was_tried(by_ssh: bool, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), said_to_connect(["host7"], by_ssh=by_ssh, patience_s=3600):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == line
