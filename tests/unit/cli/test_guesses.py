"""What users of iperf3, netperf, flent and netem type first, before they read anything, is planned as they mean it.

Each was also measured on loopback or the testbed; `tests/e2e/test_source_address.py` has the one that needs more of the
agents than a plan shows.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from whyperf.cli import main


def planned(typed: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The levels of each cell."""
    verb, *rest = typed.replace("run ", "run --dry-run --json ", 1).split()
    assert main([verb, *rest]) == 0
    return [cell["factors"] for cell in json.loads(capsys.readouterr().out)["cells"]]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("run -c localhost -t 2", {"workload": "stream", "duration_s": 2.0}),
        ("run -u -b 500M -t 2 localhost", {"transport": "udp", "write_rate_bps": 500_000_000}),
        ("run localhost -t 2 -P 4 -R", {"connections": 4, "direction": "receive"}),
        ("run --bidir -t 2 localhost", {"workload": "bidirectional"}),
        ("run -t 3 -i 0.5 -f m -O 1 localhost", {"duration_s": 3.0, "warmup_s": 1.0}),
        ("run -J -t 2 localhost", {"duration_s": 2.0}),
        (
            "run -n 100M -l 64K -w 256K -N -M 1200 localhost",
            {"transfer_bytes": 100 << 20, "write_size_bytes": 65536, "window_bytes": 262144, "mss_bytes": 1200},
        ),
        (
            "run -Z -4 -B 127.0.0.1 -p 5201 -k 1000 localhost",
            {"send_call": "sendfile", "source_address": "127.0.0.1", "transfer_bytes": 131_072_000},
        ),
        ("run -t 2 --rate 200M --delay 20ms --loss 0.1% localhost", {"path_rtt_ms": 20.0, "path_loss": 0.001}),
        ("run -H localhost -t TCP_RR -l 2", {"workload": "rr", "duration_s": 2.0}),
        ("run -H localhost -t TCP_STREAM -l 2 -- -m 64K", {"duration_s": 2.0, "write_size_bytes": 65536}),
        ("run rrul -H localhost -l 5", {"schedule": "rrul", "schedule_scale": 5 / 60}),
        ("run rrul localhost -t 5", {"schedule": "rrul", "schedule_scale": 5 / 60}),
        ("run rr localhost -t 2", {"workload": "rr", "duration_s": 2.0}),
        ("run tcp-up -t 6 -c localhost", {"schedule": "tcp-up", "schedule_scale": 0.1}),
    ],
)
def test_a_guess_is_planned_as_it_is_meant(
    typed: str, meant: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    (levels,) = planned(typed, capsys)
    assert meant.items() <= levels.items()


def test_a_file_before_a_host_is_a_profile(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text("[fixed]\nno_delay = true\n")
    (levels,) = planned("run my.toml localhost", capsys)
    assert levels["no_delay"] is True


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (
            "run rrul demo",
            "rrul and demo are two measurements; run one after the other (a host of that name:",
        ),
        ("run rrul my.toml", "rrul and my.toml are two measurements; run one after the other"),
        ("run host7 rrul", "the profile or workload comes before the host: `whyperf run rrul host7`"),
        ("run rrul host7 -c host8", "host7 and --host host8 are two far hosts; leave one out"),
        ("run rrull host7", '"rrull" before the host host7 is neither a profile nor a workload; did you mean rrul?'),
        ("run host7 host8", '"host7" before the host host8 is neither a profile nor a workload; `whyperf list` names'),
        ("run rrul testbed", "testbed is the embedded testbed, not a host: `whyperf run rrul --testbed veth`"),
        ("run rrul -t 5 a b", "unexpected extra argument"),
    ],
)
def test_two_words_that_are_no_profile_and_a_host_are_refused(
    typed: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*typed.split(), "--dry-run"]) == 2
    assert answer in capsys.readouterr().err


def test_a_list_compares_without_a_profile(capsys: pytest.CaptureFixture[str]) -> None:
    cells = planned("run -C cubic,reno -t 2 localhost", capsys)
    assert [cell["congestion_control"] for cell in cells] == ["cubic", "reno"]


def test_a_list_of_any_factor_can_be_kept_as_a_profile(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = "run --set congestion_control=cubic,reno -t 2 localhost"
    assert main([*wanted.split(), "--save-profile", "cc.toml"]) == 0
    capsys.readouterr()
    assert planned("run ./cc.toml --testbed loopback", capsys) == planned(wanted, capsys)


def test_a_server_is_answered_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-s"]) == 2
    assert "no server is needed" in capsys.readouterr().err
