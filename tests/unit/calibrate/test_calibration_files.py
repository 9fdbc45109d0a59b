"""Timed steps become priors, a calibrated host comes back from its file, and a what-if says what it changes."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whyperf.calibrate import (
    CalibrationError,
    Member,
    Point,
    Prior,
    changes,
    extrapolates,
    identify,
    judge,
    priors,
    read_host,
    read_steps,
    write_host,
)
from whyperf.calibrate.fit import Fit

FACTS = {"hostname": "h", "kernel": "6.1.0", "date": "2026-01-02", "cpu_model": 'a "fast" one', "cpus": 2}


def samples() -> list[dict[str, Any]]:
    """Five rounds of a host whose write costs 0.5 us and 0.1 ns a byte, and whose hops take 3 us."""
    found = []
    for round_ in range(5):
        disturbed = 4 if round_ == 3 else 1
        for size in (64, 4096, 65_536):
            ns = (500 + 0.1 * size) * disturbed
            found.append(
                {"step": "write_held", "round": round_, "bytes": size, "calls_count": 10, "duration_ns": ns * 10}
            )
        found.append({"step": "hop_here", "round": round_, "bytes": 0, "calls_count": 4, "duration_ns": 12_000})
    return found


def document() -> dict[str, Any]:
    return {"host": FACTS, "mtu_bytes": 1500, "samples": samples()}


def test_a_round_that_was_disturbed_does_not_move_the_median() -> None:
    measured = read_steps(document()).measured
    assert measured["write_call_us"].value == pytest.approx(0.5)
    assert measured["write_new_ns_per_byte"].value == pytest.approx(0.1)
    assert measured["hop_here_us"].value == pytest.approx(3.0)
    assert "hop_across_us" not in measured


def test_priors_come_from_what_was_timed_and_say_so() -> None:
    by_key = {prior.key: prior for prior in priors(read_steps(document()).measured)}
    assert by_key["write_call_us"].value == pytest.approx(0.5)
    assert by_key["write_call_us"].source.startswith("timed")
    assert by_key["read_call_us"].source.startswith("usual")
    timed, untimed = by_key["write_call_us"], by_key["read_call_us"]
    assert timed.high / timed.low < untimed.high / untimed.low
    assert all(prior.low < prior.value < prior.high for prior in by_key.values())


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    write(path)
    return path


def write(path: Path) -> None:
    """A calibrated host."""
    known = [Prior("write_call_us", 0.5, 0.1, 2.5, "timed"), Prior("output_us", 1.0, 0.1, 10.0, "usual")]
    fit = Fit(
        (
            Member({"write_call_us": 0.51234567, "output_us": 2.0}, 0.01),
            Member({"write_call_us": 0.6, "output_us": 0.1}, 0.02),
        ),
        9,
    )
    fixed = {"tso": True, "congestion_control": "cubic", "connections": 1, "window_bytes": 16_384}
    points = [Point({**fixed, "write_size_bytes": size}, 1e9 * size) for size in (512, 1024, 2048, 4096)]
    verdict = judge(points, [True, False, True, False], [[point.goodput_bps * 1.1] for point in points])
    write_host(path, "linux", measured_on=FACTS, found=identify(known, fit), fit=fit, points=points, verdict=verdict)


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    """The folder may be another user's, who knows the name of a file that is half-written."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".mine.toml.partial").symlink_to(victim)
    (tmp_path / "mine.toml").symlink_to(victim)
    write(tmp_path / "mine.toml")
    assert victim.read_text() == "mine"
    assert read_host(tmp_path / "mine.toml").base == "linux"


def test_a_calibrated_host_comes_back(kept: Path) -> None:
    host = read_host(kept)
    assert (host.base, host.kernel) == ("linux", "6.1.0")
    assert host.sets == ({"write_call_us": 0.5123, "output_us": 2.0}, {"write_call_us": 0.6, "output_us": 0.1})
    assert host.held_out_error_ratio == pytest.approx(0.1)
    values = tomllib.loads(kept.read_text())["values"]
    assert values["write_call_us"]["low"] <= 0.1
    assert values["output_us"]["value"] == 2.0
    assert "6.1.0" in values["output_us"]["source"]


def test_what_was_not_measured_is_extrapolated(kept: Path) -> None:
    host = read_host(kept)
    usual = {"window_bytes": 16_384, "write_size_bytes": 1000, "tso": True, "connections": 1}
    assert extrapolates(host, usual) == ()
    assert "outside" in extrapolates(host, usual | {"write_size_bytes": 8192})[0]
    assert "outside" in extrapolates(host, usual | {"window_bytes": 32_768})[0]
    assert extrapolates(host, usual | {"tso": False}) == ("tso was never varied, always True",)
    assert extrapolates(host, usual | {"path_rtt_ms": 10.0}) == ("path_rtt_ms was never set",)
    assert extrapolates(host, usual | {"path_rtt_ms": "none"}) == ()
    assert extrapolates(host, usual | {"window_bytes": "default"}) == ("window_bytes=default was not measured",)
    varied = replace(host, levels={**host.levels, "connections": [1, 4]}, fixed={"tso": True, "window_bytes": 16_384})
    assert extrapolates(varied, usual | {"connections": 4}) == ()
    assert extrapolates(varied, usual | {"connections": 2}) == ("connections=2 was not measured",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("window=256k,offload=off", {"window_bytes": 262_144, "tso": False, "gso": False, "gro": False}),
        ("nagle=off, write=8K", {"no_delay": True, "write_size_bytes": 8192}),
        ("quick_ack=on", {"quick_ack": True}),
        ("connections=1,mtu=9000", {"connections": 1, "mtu_bytes": 9000}),
    ],
)
def test_a_change_is_written_short_or_as_a_factor(text: str, found: dict[str, Any]) -> None:
    assert changes(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("window", "window=256k"),
        ("windw=1", "did you mean window"),
        ("connections=4", "one connection, not 4"),
        ("congestion=bbr", "reno and cubic, not bbr"),
        ("transport=udp", "the model takes"),
        ("nagle=maybe", "on or off"),
        ("window=0", "window"),
        ("window=1k,window_bytes=2k", "twice"),
        ("", "changes nothing"),
    ],
)
def test_a_change_that_cannot_be_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(CalibrationError) as raised:
        changes(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_calibrated_host_is_one_sentence(tmp_path: Path) -> None:
    for text, said in [
        (None, "whyperf model calibrate"),
        ("[values]", "no calibrated host"),
        ("][", "not TOML"),
        ("[calibration]", "damaged"),
    ]:
        path = tmp_path / "host.toml"
        if text is not None:
            path.write_text(text)
        with pytest.raises(CalibrationError, match=said):
            read_host(path)
