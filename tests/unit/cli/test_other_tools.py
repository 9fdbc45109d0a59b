"""Command lines of netperf, flent and a hurried user of iperf3: the command of whyperf that does the same runs."""

import json
import re
import shlex
from pathlib import Path

import pytest

from whyperf.cli import main


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("-H host7 -t TCP_RR -l 5", "run rr --host host7 -t 5"),
        ("run -H host7 -t TCP_RR -l 5", "run rr --host host7 -t 5"),
        ("run TCP_RR -H host7", "run rr --host host7"),
        ("run --no-report -t TCP_RR --trials 3 host7", "run rr --host host7 --dry-run --no-report --trials 3"),
        ("run -t tcp_maerts host7", "run --reverse --host host7"),
        ("run -tUDP_STREAM -Hhost7 -l10 -4", "run -u -b 0 --host host7 -t 10 -4"),
        ("run -t TCP_STREAM -l -100000 host7", "run --host host7"),
        ("run -t TCP_CRR host7 -- -r 100,2K", "run crr --host host7 --set request_size_bytes=100"),
        ("-H host7 -t TCP_STREAM -- -m 64K -s 256K -S 256K -D", "run --host host7 --write-size 64K --window 256K"),
        ("tcp_1up -H host7 -l 5", "run tcp-up --host host7 -t 5"),
        (
            "run tcp_ndown -H host7 --test-parameter download_streams=8",
            "run tcp-down --host host7 -P 8",
        ),
        ("-c host7 -t 2", "run -c host7 -t 2"),
        ("-H host7 -t 2 -P 4", "run -H host7 -t 2 -P 4"),
    ],
)
def test_the_same_command_of_whyperf_runs_and_is_printed(
    typed: str, same: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    before, dashes, after = typed.partition(" --")
    if before.startswith("run"):
        typed = f"{before} --dry-run{dashes}{after}"
    else:
        # Without the verb, options of whyperf alone have no place.
        monkeypatch.setattr("whyperf.cli.workflows.measure.measure", lambda _: 0)
    assert main(typed.split()) == 0
    streams = capsys.readouterr()
    found = re.search("running `whyperf (.*)`", streams.err)
    assert found is not None, streams.err
    assert found[1].startswith(same)
    assert main([*shlex.split(found[1]), *(["--dry-run"] if "--dry-run" not in found[1] else [])]) == 0
    assert ("-P 8" in found[1]) == ("streams=8" in typed)


def test_what_has_no_counterpart_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    typed = "run --dry-run -t TCP_STREAM -H host7 -c -C -v 2 -I 99,5 -i 10,3 -- -m 64K -o all"
    assert main(typed.split()) == 0
    said = capsys.readouterr().err
    assert "`whyperf run --host host7 --write-size 64K --dry-run`; left out: -I 99,5 -i 10,3 -o all" in said


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("run window-sweep -H host7 -l 5", "run window-sweep -H host7 -t 5"),
        ("localhost", "run localhost"),
        ("-u -b 500M host7", "run -u -b 500M host7"),
    ],
)
def test_what_could_mean_two_things_is_answered_with_a_command(
    typed: str, same: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed.split()) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    found = re.search("`whyperf (.*)`", streams.err)
    assert found is not None, streams.err
    assert found[1] == same
    assert main([*shlex.split(same), "--dry-run"]) == 0


@pytest.mark.parametrize("typed", ["run rrul -H host7 -l 5", "run rrul --host host7", "run tcp_upload host7"])
def test_a_test_with_a_profile_runs_it(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*typed.split(), "--dry-run"]) == 0
    profile = "rrul" if "rrul" in typed else "tcp-up"
    assert f"of profile {profile}, seed 1995, on host7" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("arguments", "factors"),
    [
        (
            "--rate 200M --delay 20ms --loss 0.1%",
            {"path_rate_bps": 200_000_000, "path_rtt_ms": 20.0, "path_loss": 0.001},
        ),
        ("--rtt 20ms localhost", {"path_rtt_ms": 20.0}),
    ],
)
def test_an_emulated_path_has_options_and_is_on_the_testbed(
    arguments: str, factors: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    where = [] if "localhost" in arguments else ["--testbed", "veth"]
    assert main(["run", *arguments.split(), *where, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["testbed"]["kind"] == "veth"
    assert factors.items() <= plan["cells"][0]["factors"].items()


def test_loopback_and_testbed_are_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, "loopback")[0] == "loopback"
    assert planned(capsys, "localhost", "--testbed", "loopback")[1] == ""
    assert main(["run", "testbed", "--testbed", "loopback", "--dry-run"]) == 0
    assert "on loopback" in capsys.readouterr().out
