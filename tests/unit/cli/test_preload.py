"""What a run loads while its trial is not measured, and when."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from whyperf.cli.workflows import preload

SLOW = "import slow_to_load_gate as gate\ngate.began.set()\ngate.may_end.wait(10)\n"


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, threading.Event]]:
    """Three modules, of which the second takes until it may end."""
    (tmp_path / "slow_to_load_gate.py").write_text(
        "import threading\nbegan, may_end = threading.Event(), threading.Event()\n"
    )
    for name, text in (("loaded_first", ""), ("loaded_second", SLOW), ("loaded_third", "")):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(preload, "_MODULES", ("loaded_first", "loaded_second", "loaded_third"))
    import slow_to_load_gate as events  # type: ignore[import-not-found]  # noqa: PLC0415 - it is made here

    yield {"began": events.began, "may_end": events.may_end}
    events.may_end.set()
    for name in ("loaded_first", "loaded_second", "loaded_third", "slow_to_load_gate"):
        sys.modules.pop(name, None)


def test_pausing_waits_for_what_is_being_loaded_and_keeps_the_rest(gate: dict[str, threading.Event]) -> None:
    ahead = preload.Preload(report=False)
    ahead.resume()
    assert gate["began"].wait(10)
    paused = threading.Thread(target=ahead.pause)
    paused.start()
    paused.join(0.05)
    assert paused.is_alive()
    gate["may_end"].set()
    paused.join(10)
    assert not paused.is_alive()
    assert "loaded_second" in sys.modules
    assert "loaded_third" not in sys.modules
    ahead.resume()
    ahead.pause()
    ahead.resume()
    for _ in range(100):
        if "loaded_third" in sys.modules:
            break
        threading.Event().wait(0.02)
    assert "loaded_third" in sys.modules
