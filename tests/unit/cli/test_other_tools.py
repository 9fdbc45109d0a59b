"""Command lines of netperf, flent and a hurried user of iperf3 are answered with the command of whyperf."""

import json
import re
import shlex
from pathlib import Path

import pytest

from whyperf.cli import main
from whyperf.profile import shipped_names


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("-H host7 -t TCP_RR -l 5", "run rr --host host7 -t 5"),
        ("run -H host7 -t TCP_RR -l 5", "run rr --host host7 -t 5"),
        ("run TCP_RR -H host7", "run rr --host host7"),
        ("run -t tcp_maerts host7", "run --reverse --host host7"),
        ("run -tUDP_STREAM -Hhost7 -l10", "run -u -b 0 --host host7 -t 10"),
        ("run -t TCP_STREAM -l -100000 host7", "run --host host7"),
        ("run -t TCP_CRR host7 -- -r 100,2K", "run crr --host host7 --set request_size_bytes=100"),
        ("-H host7 -t TCP_STREAM -- -m 64K -s 256K -S 256K -D", "run --host host7 --write-size 64K --window 256K"),
        ("tcp_upload -H host7 -l 5", "run --set rtt_probe_ms=100ms --host host7 -t 5"),
        ("run tcp_ndown -H host7", "run --reverse -P 4 --set rtt_probe_ms=100ms --host host7"),
        ("run window-sweep -H host7 -l 5", "run window-sweep -H host7 -t 5"),
        ("localhost", "run localhost"),
        ("-c host7 -t 2", "run -c host7 -t 2"),
        ("-u -b 500M host7", "run -u -b 500M host7"),
    ],
)
def test_the_answer_is_a_command_that_can_be_planned(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(typed.split()) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    found = re.search("`(whyperf .*)`", streams.err)
    assert found is not None, streams.err
    verb, *command = shlex.split(found[1])[1:]
    if "tcp-up" not in command:
        assert shlex.join([verb, *command]).startswith(meant)
    assert main([verb, *command, "--dry-run"]) == 0


def test_rrul_is_the_profile_where_it_is_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rrul", "-H", "host7", "-l", "5"]) == 2
    answer = capsys.readouterr().err
    assert ("whyperf run rrul --host host7 -t 5" in answer) == ("rrul" in shipped_names())


@pytest.mark.parametrize("typed", ["shw", "-s", "--foo", "run --foo", "list -H x", "show -H x"])
def test_other_mistakes_get_no_such_answer(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    assert "measurements have the verb" not in capsys.readouterr().err


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str, int]:
    """Where it measures, what it says, and the version of IP."""
    assert main(["run", *arguments, "--seed", "1", "--dry-run", "--json"]) == 0
    streams = capsys.readouterr()
    plan = json.loads(streams.out)
    return plan["testbed"]["kind"], streams.err, plan["cells"][0]["factors"]["ip_version"]


@pytest.mark.parametrize(
    ("arguments", "version"),
    [("localhost", 4), ("-c 127.0.0.1", 4), ("-H ::1", 6), ("rr --host localhost", 4), ("::1 --set ip_version=4", 4)],
)
def test_this_machine_is_measured_over_the_loopback(
    arguments: str, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, said, ip_version = planned(capsys, *arguments.split())
    assert (kind, ip_version) == ("loopback", version)
    assert "is this machine: measuring over the loopback, without ssh" in said


def test_loopback_and_testbed_are_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, "loopback")[0] == "loopback"
    assert planned(capsys, "localhost", "--testbed", "loopback")[1] == ""
    assert main(["run", "testbed", "--testbed", "loopback", "--dry-run"]) == 0
    assert "on loopback" in capsys.readouterr().out
