"""What `whyperf why` prints: the answer, and the live line before it."""

import sys
from pathlib import Path

import pytest

from tests.unit.explain.experiment_samples import why
from whyperf.cli.live.why import ERASE, WhyLine
from whyperf.cli.output.why import print_why
from whyperf.explain.explanation import Change


def test_a_command_is_never_broken_into_lines(capsys: pytest.CaptureFixture[str]) -> None:
    command = 'sysctl -w net.ipv4.tcp_rmem="8192 262144 524288" net.core.rmem_max=262144 net.core.wmem_max=262144'
    change = Change(factors={}, by_hand="Raise the limits.", command=command)
    print_why(why(answer=why().answer.model_copy(update={"change": change})), Path("results/a"), as_json=False)
    assert command in [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_the_live_line_shows_escapes_of_what_a_terminal_would_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(WhyLine, "_write", staticmethod(written.append))
    live = WhyLine("rate", is_quiet=False)
    live._answer = "\x1b]0;hacked\x07"
    live.on_try("larger-writes", 3.0)
    (line,) = written
    assert line.startswith(f"{ERASE}\\x1b]0;hacked\\x07 · trying ")
    assert line.removeprefix(ERASE).isprintable()
