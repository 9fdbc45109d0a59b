"""The line that `whyperf run` prints from counters: a full bottleneck is one, and losses are never reordering."""

import re
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf

pytestmark = pytest.mark.root

FULL = "The path's bottleneck of "


def diagnosis(folder: Path, name: str, *arguments: str) -> str:
    """What the run says after `Why:`. A host that carried the path too late in all its trials measures once more."""
    done = whyperf("run", "--no-report", *arguments, "--out", folder / name, folder=folder)
    if done.status == 1 and " is void: " in done.err:
        done = whyperf("run", "--no-report", *arguments, "--out", folder / f"{name}-again", folder=folder)
    assert done.status in {0, 3}, done.err
    found = re.search(r"^Why: (.*)$", done.out, re.MULTILINE)
    assert found is not None, done.out
    return found[1]


def over_path(rtt_ms: int, rate: str, **factors: object) -> list[str]:
    levels = {"path_rtt_ms": rtt_ms, "path_rate_bps": rate, **factors}
    return [word for name, level in levels.items() for word in ("--set", f"{name}={level}")]


@pytest.mark.paced
def test_a_full_bottleneck_is_recognized(tmp_path: Path) -> None:
    """In two of three runs: 90 % are recognized, and no other cause is ever named."""
    options = over_path(10, "50M", congestion_control="cubic")
    recognized: list[str] = []
    open_ones: list[str] = []
    for name in ("first", "second", "third"):
        line = diagnosis(tmp_path, name, *options, "-t", "2")
        (recognized if line.startswith(FULL) else open_ones).append(line)
        if max(len(recognized), len(open_ones)) == 2:
            break
    assert len(recognized) == 2, open_ones
    assert all(line.startswith("Not known") for line in open_ones), open_ones
    # Its rate is right, headers included, within 2 %.
    for line in recognized:
        rate = re.search(r"bottleneck of ([0-9.]+) Mbit/s", line)
        assert rate is not None
        assert float(rate[1]) == pytest.approx(50, rel=0.02)


@pytest.mark.paced
@pytest.mark.parametrize(
    ("name", "factors", "expected"),
    [
        ("losses", {"path_loss": 0.01}, "The path loses segments: "),
        ("small-window", {"window_bytes": 65536, "path_rate_bps": "50M"}, "The receive buffer is too small"),
        ("asked-rate", {"write_rate_bps": "20M"}, "The requested rate is the limit: 20.0 Mbit/s requested"),
    ],
)
def test_what_is_no_full_bottleneck_is_not_called_one(
    tmp_path: Path, name: str, factors: dict[str, object], expected: str
) -> None:
    line = diagnosis(tmp_path, name, *over_path(20, "100M", congestion_control="reno", **factors), "-t", "2")
    assert line.startswith(expected), line


@pytest.mark.alone
@pytest.mark.parametrize(
    ("asked", "factors", "expected"),
    [
        ("80M", {}, r"\d+ % of the datagrams were lost .* because the path carries less than was sent"),
        ("20M", {"path_loss": 0.05}, r"Not known .*the path's bottleneck.*random loss"),
    ],
)
def test_lost_datagrams_and_the_asked_rate_come_first(
    tmp_path: Path, asked: str, factors: dict[str, object], expected: str
) -> None:
    options = over_path(10, "50M", write_rate_bps=asked, **factors)
    line = diagnosis(tmp_path, "datagrams", "udp-stream", *options, "-t", "2")
    assert re.match(expected, line), line
