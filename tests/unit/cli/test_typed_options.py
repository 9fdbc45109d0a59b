"""Command lines of iperf3, netperf, flent and netem: what they mean here, or what to type instead."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from whyperf.cli import main


def planned(capsys: pytest.CaptureFixture[str], typed: str) -> dict[str, Any]:
    """The plan of what was typed after `run`, and what is said of it under `said`."""
    where = () if re.search("host|127|::1|loopback", typed) else ("--testbed", "loopback")
    assert main(["run", "--seed", "1", "--dry-run", "--json", *where, *shlex.split(typed)]) == 0
    streams = capsys.readouterr()
    document: dict[str, Any] = json.loads(streams.out)
    return document | {"said": streams.err}


@pytest.mark.parametrize(
    ("typed", "factors"),
    [
        ("-u -b 500M host7", {"workload": "udp-stream", "transport": "udp", "write_rate_bps": 500_000_000}),
        ("-u host7", {"workload": "udp-stream", "write_rate_bps": 1_000_000}),
        ("-u -b 0 -l 1400 host7", {"write_rate_bps": "default", "datagram_size_bytes": 1400}),
        ("-u rr", {"workload": "udp-rr", "transport": "udp"}),
        ("-u --set write_rate_bps=2M", {"write_rate_bps": 2_000_000}),
        ("--bitrate 1G --parallel 2", {"write_rate_bps": 10**9, "connections": 2}),
        ("-t 500ms", {"duration_s": 0.5}),
        ("-n 1G", {"transfer_bytes": 1 << 30}),
        ("-k 10K -l 1K", {"transfer_bytes": 10 << 20, "write_size_bytes": 1024}),
        ("-u -k 100", {"transfer_bytes": 147_200}),
        ("-O 3", {"warmup_s": 3.0}),
        ("-Z", {"send_call": "sendfile"}),
        ("-M 1400", {"mss_bytes": 1400}),
        ("-4", {"ip_version": 4}),
        ("-6", {"ip_version": 6}),
        ("-R", {"direction": "receive"}),
        ("--bidir", {"workload": "bidirectional"}),
        ("-S 0xb8", {"dscp": 46}),
        ("-S 184", {"dscp": 46}),
        ("-S 0270", {"dscp": 46}),
        ("--dscp EF", {"dscp": 46}),
        ("--dscp af41", {"dscp": 34}),
        ("--fq-rate 1.5G", {"pacing_rate_bps": 1_500_000_000}),
        ("-m", {"transport": "mptcp"}),
        ("--skip-rx-copy", {"truncate": True}),
        ("-B 127.0.0.9", {"source_address": "127.0.0.9", "ip_version": 4}),
        ("--bind ::1", {"source_address": "::1", "ip_version": 6}),
        ("-A 0,1", {"near_cpus": "0", "far_cpus": "1"}),
        ("-i 0.05", {"interval_ms": 50}),
        ("-i 5", {"interval_ms": 100}),
        ("-A ,1", {"near_cpus": "auto", "far_cpus": "1"}),
        ("-w 256K -N -C reno", {"window_bytes": 262_144, "no_delay": True, "congestion_control": "reno"}),
        ("localhost -J -i 0.5 -f m -p 5201 -t 2 -P 4 -R", {"connections": 4, "direction": "receive"}),
        ("-H localhost -t TCP_STREAM -l 2 -- -m 64K", {"duration_s": 2.0, "write_size_bytes": 65536}),
        ("rrul -H localhost -l 5", {"schedule": "rrul", "schedule_scale": 5 / 60}),
        ("rrul localhost -t 5", {"schedule": "rrul", "schedule_scale": 5 / 60}),
        ("rr localhost -t 2", {"workload": "rr", "duration_s": 2.0}),
        ("tcp-up -t 6 -c localhost", {"schedule": "tcp-up", "schedule_scale": 0.1}),
    ],
)
def test_an_option_sets_its_factor(typed: str, factors: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = planned(capsys, typed)["cells"]
    assert {name: cell["factors"][name] for name in factors} == factors


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("-s", "no server is needed"),
        ("-B eth0", '--bind: invalid value "eth0"; give a numeric address such as 10.0.0.1'),
        ("-V", "leave it out: the result has both hosts"),
        ("--jitter 1ms", "--set path_jitter_us=500us"),
        ("--cport 5000", "the kernel chooses the near ports"),
        ("--sctp", "--set transport=sctp"),
        ("--logfile x", "--dry-run > x`"),
        ("-u -R", "--udp --reverse: datagrams go from near to far only"),
        ("-b 10M/20", "give --bitrate 10M, and for datagrams that leave in one call --set datagram_batch=20"),
        ("-b fast", '--bitrate: invalid value "fast"'),
        ("-S 0xff", "give a multiple of 4 up to 252"),
        ("-S ef", "--tos ef is not a number; give 0 to 252, or a name such as ef by --dscp"),
        ("-S 8 --dscp 2", "--tos and --dscp set the same bits; keep one"),
        ("-k 10 -n 10", "--bytes and --blockcount both end the trial"),
        ("-k 10 -l 1K,2K", "--blockcount needs one write size"),
        ("-A 0,1,2", "one CPU for each side"),
        ("--bidir --workload rr", "--bidir is the workload bidirectional"),
        ("-i 0.001", "--interval 0.001: give 0.01 s or more, because the kernel counts CPU time in ticks of 10 ms"),
        ("-i -1", "--interval -1 is not from 0.01 to 86400 seconds"),
        ("-t 5 -n 1M", "--time: --bytes ends the trial by bytes"),
        ("-P 1,1", "--connections: level 1 is there twice"),
        ("-P 1,", '--connections: invalid value ""'),
        ("-P 1,many", '--connections: invalid value "many"'),
        (
            "rrul demo",
            "rrul and demo are two measurements; run one after the other (a host of that name:",
        ),
        ("rrul my.toml", "rrul and my.toml are two measurements; run one after the other"),
        ("host7 rrul", "the profile or workload comes before the host: `whyperf run rrul host7`"),
        ("rrul host7 -c host8", "host7 and --host host8 are two far hosts; leave one out"),
        ("rrull host7", '"rrull" before the host host7 is neither a profile nor a workload; did you mean rrul?'),
        ("host7 host8", '"host7" before the host host8 is neither a profile nor a workload; `whyperf list` names'),
        ("rrul testbed", "testbed is the embedded testbed, not a host: `whyperf run rrul --testbed veth`"),
        ("rrul -t 5 a b", "unexpected extra argument"),
    ],
)
def test_what_cannot_be_had_says_what_to_do(typed: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--testbed", "loopback") if typed.startswith("-") else ()
    assert main(["run", *typed.split(), *where, "--dry-run"]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert says in streams.err
    assert streams.err.startswith("whyperf: ")
    assert streams.err.count("\n") == 1


def test_udp_without_a_rate_says_which_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, "-u host7")["said"].startswith("UDP at 1 Mbit/s, as in iperf3")
    assert planned(capsys, "-u -b 1M host7")["said"] == ""


def test_lists_make_cells_of_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, "-C cubic,reno --set connections=1,4,16 -t 1 --trials 2")
    cells = {(cell["factors"]["congestion_control"], cell["factors"]["connections"]) for cell in plan["cells"]}
    assert cells == {(control, number) for control in ("cubic", "reno") for number in (1, 4, 16)}
    assert plan["varied"] == ["connections", "congestion_control"]
    assert plan["overrides"] == {"duration_s": 1.0, "congestion_control": "cubic,reno", "connections": "1,4,16"}
    assert plan["estimate"]["trials"] == 12


def test_a_list_takes_the_place_of_a_profiles_levels(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, "window-sweep --only sweep=throughput -w 8K,16K -l 512,1K")
    found = [(cell["factors"]["window_bytes"], cell["factors"]["write_size_bytes"]) for cell in plan["cells"]]
    assert found == [(8192, 512), (8192, 1024), (16384, 512), (16384, 1024)]


def test_the_commas_of_cpus_are_no_list(capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = planned(capsys, "--set near_cpus=0,2-3")["cells"]
    assert cell["factors"]["near_cpus"] == "0,2-3"
    assert len(planned(capsys, "--set near_cpus=auto,any")["cells"]) == 2


def test_a_file_before_a_host_is_a_profile(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text("[fixed]\nno_delay = true\n")
    (cell,) = planned(capsys, "my.toml localhost")["cells"]
    assert cell["factors"]["no_delay"] is True


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("-H host7 -t TCP_RR -l 5", "run rr --host host7 -t 5"),
        ("run -H host7 -t TCP_RR -l 5", "run rr --host host7 -t 5"),
        ("run --no-report -t TCP_RR --trials 3 host7", "run rr --host host7 --dry-run --no-report --trials 3"),
        ("run -t tcp_maerts host7", "run --reverse --host host7"),
        ("run -tUDP_STREAM -Hhost7 -l10 -4", "run -u -b 0 --host host7 -t 10 -4"),
        ("run -t TCP_CRR host7 -- -r 100,2K", "run crr --host host7 --set request_size_bytes=100"),
        ("-H host7 -t TCP_STREAM -- -m 64K -s 256K -S 256K -D", "run --host host7 --write-size 64K --window 256K"),
        ("tcp_1up -H host7 -l 5", "run tcp-up --host host7 -t 5"),
        ("run tcp_ndown -H host7 --test-parameter download_streams=8", "run tcp-down --host host7 -P 8"),
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


def test_what_has_no_counterpart_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    typed = "run --dry-run -t TCP_STREAM -H host7 -c -C -v 2 -I 99,5 -i 10,3 -- -m 64K -o all"
    assert main(typed.split()) == 0
    said = capsys.readouterr().err
    assert "`whyperf run --host host7 --write-size 64K --dry-run`; left out: -I 99,5 -i 10,3 -o all" in said


@pytest.mark.parametrize(
    ("typed", "same"),
    [("run window-sweep -H host7 -l 5", "run window-sweep -H host7 -t 5"), ("localhost", "run localhost")],
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


@pytest.mark.parametrize("typed", ["run rrul -H host7 -l 5", "run tcp_upload host7"])
def test_a_test_with_a_profile_runs_it(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*typed.split(), "--dry-run"]) == 0
    profile = "rrul" if "rrul" in typed else "tcp-up"
    assert f"of profile {profile}, seed 1995, on host7" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["shw", "--foo", "run --foo", "list -H x"])
def test_other_mistakes_get_no_such_answer(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    assert "measurements have the verb" not in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "version"), [("localhost", 4), ("-H ::1", 6), ("::1 --set ip_version=4", 4)])
def test_this_machine_is_measured_over_the_loopback(
    typed: str, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = planned(capsys, typed)
    assert (plan["testbed"]["kind"], plan["cells"][0]["factors"]["ip_version"]) == ("loopback", version)
    assert "is this machine: measuring over the loopback, without ssh" in plan["said"]


def test_an_emulated_path_has_options_and_is_on_the_testbed(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, "--rate 200M --delay 20ms --loss 0.1% localhost")
    assert plan["testbed"]["kind"] == "veth"
    expected = {"path_rate_bps": 200_000_000, "path_rtt_ms": 20.0, "path_loss": 0.001}
    assert expected.items() <= plan["cells"][0]["factors"].items()


def test_loopback_and_testbed_are_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, "loopback")["testbed"]["kind"] == "loopback"
    assert planned(capsys, "localhost --testbed loopback")["said"] == ""
    assert main(["run", "testbed", "--testbed", "loopback", "--dry-run"]) == 0
    assert "on loopback" in capsys.readouterr().out
