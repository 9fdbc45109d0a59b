"""A small calibration of this host, from timed steps to a what-if; and what cannot be calibrated, in one sentence."""

import json
from pathlib import Path

import pytest

from whyperf.calibrate import read_host
from whyperf.cli import main

GRID = """
about = "A grid of eight cells."
[fixed]
read_wait = "block"
congestion_control = "cubic"
duration_s = 0.1
warmup_s = 0.05
cooldown_s = 0.02
interval_ms = 50
[design]
trials = 1
[[sweep]]
name = "grid"
[sweep.factors]
window_bytes = [32768, 262144]
write_size_bytes = [1024, 8192, 32768, 131072]
"""


@pytest.mark.root
def test_a_host_is_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text(GRID)
    words = "calibrate grid.toml --out host.toml --html host.html --rounds 3 --generations 1 --json"
    code = main(words.split())
    assert code in {0, 3}
    told = json.loads(capsys.readouterr().out)
    assert [point["held_out"] for point in told["points"]].count(True) == 4
    assert all(cost["low"] <= cost["best"] <= cost["high"] for cost in told["costs"])
    # A write call into the kernel and back: no host does it in 10 ns, and none needs 100 us.
    assert 0.01 < told["steps"]["write_call_us"]["value"] < 100
    host = read_host(Path("host.toml"))
    assert len(host.sets) == told["members"]
    assert list(host.levels["window_bytes"]) == [32_768, 262_144]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("calibrate --out missing/host.toml", "no folder"),
        ("calibrate grid.tml", "grid.tml"),
    ],
)
def test_what_cannot_be_calibrated_is_one_sentence(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    (sentence,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("whyperf: ")]
    assert said in sentence
