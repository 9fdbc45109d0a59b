"""What a result of somebody else makes a terminal do: nothing, whatever its names hold."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import RECEIVER, SENDER, add_samples
from whyperf.cli.app import main
from whyperf.foreign import visible
from whyperf.plan import Plan
from whyperf.plan.plan_document import identify

#: Sets a terminal's title, hides what follows, and reverses its direction; no result of ours has any of it.
HOSTILE = "\x1b]0;owned\x07\x1b[8m\x9b2J\u202e"
VERBS = ("show", "explain", "cost", "flow")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result whose hosts, functions and plan have such names."""
    folder = made.write(tmp_path_factory.mktemp("results") / "theirs", [made.Trial(duration_s=2)], testbed="network")
    named = tuple((group, context, f"{names} evil{HOSTILE}", count) for group, context, names, count in SENDER)
    add_samples(folder, {"near": named, "far": RECEIVER})
    for path in (folder / "hosts").glob("*.json"):
        facts = json.loads(path.read_text())
        path.write_text(json.dumps(facts | dict.fromkeys(("hostname", "distribution", "kernel"), f"host{HOSTILE}")))
    plan = Plan.from_json((folder / "plan.json").read_text(), "plan.json")
    changed = plan.model_copy(update={"near": (f"local{HOSTILE}",), "warnings": (f"beware{HOSTILE}",)})
    changed = changed.model_copy(update={"id": identify(changed)})
    (folder / "plan.json").write_text(changed.to_json())
    return folder


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def assert_harmless(text: str, at: str = "") -> None:
    assert "owned" in text, at
    for obeyed in ("\x1b]", "\x07", "\x1b[8m", "\x9b", "\u202e"):
        assert obeyed not in text, (at, obeyed)


def printed(verb: str, *arguments: str, stream: Callable[[], io.StringIO], monkeypatch: pytest.MonkeyPatch) -> str:
    out, said = stream(), stream()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", said)
    assert main([verb, *arguments]) in {0, 1, 3}, said.getvalue()
    return out.getvalue() + said.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_names_of_a_result_are_shown_as_escapes(
    stream: Callable[[], io.StringIO], hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copytree(hostile, tmp_path / f"other{HOSTILE}")
    texts = {verb: printed(verb, str(hostile), stream=stream, monkeypatch=monkeypatch) for verb in VERBS}
    texts["compare"] = printed("compare", str(hostile), str(other), stream=stream, monkeypatch=monkeypatch)
    folded = tmp_path / "folded"
    printed("cost", str(hostile), "--folded", str(folded), stream=stream, monkeypatch=monkeypatch)
    texts["folded"] = folded.read_text()
    for at, text in texts.items():
        if "owned" in text or at in {"cost", "compare", "folded"}:
            assert_harmless(text, at)
        if stream is io.StringIO:
            assert visible(text, keep="\n") == text, at


def test_json_keeps_the_names_and_no_terminal_obeys_it(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("cost", str(hostile), "--json", stream=io.StringIO, monkeypatch=monkeypatch)
    assert_harmless(text)
    # Behind it the note of its origin, which goes to standard error.
    document, _ = json.JSONDecoder().raw_decode(text)
    names = [each["name"] for each in _functions(document)]
    assert f"evil{HOSTILE}" in names


def _functions(document: dict[str, Any]) -> list[dict[str, str]]:
    sides = [side for cell in document["cells"] for side in cell["sides"]]
    return [function for side in sides for entry in side["classes"] for function in entry["functions"]]
