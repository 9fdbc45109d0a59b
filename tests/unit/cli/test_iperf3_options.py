"""Options of iperf3, with its meaning; what a user of it types first must plan, or say what to type instead."""

import json
from typing import Any

import pytest

from whyperf.cli import main


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    where = () if {"host7", "-c"} & set(arguments) else ("--testbed", "loopback")
    assert main(["run", *arguments, *where, "--seed", "1", "--dry-run", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(
    ("arguments", "factors"),
    [
        ("-u -b 500M host7", {"workload": "udp-stream", "transport": "udp", "write_rate_bps": 500_000_000}),
        ("-u host7", {"workload": "udp-stream", "write_rate_bps": 1_000_000}),
        ("-u -b 0 -l 1400 host7", {"write_rate_bps": "default", "datagram_size_bytes": 1400}),
        ("-u rr", {"workload": "udp-rr", "transport": "udp"}),
        ("-u --set write_rate_bps=2M", {"write_rate_bps": 2_000_000}),
        ("-b 100M -P 4 host7", {"write_rate_bps": 100_000_000, "connections": 4, "transport": "tcp"}),
        ("--bitrate 1G --parallel 2", {"write_rate_bps": 10**9, "connections": 2}),
        ("-t 500ms", {"duration_s": 0.5}),
        ("-n 1G", {"transfer_bytes": 1 << 30}),
        ("-k 10K -l 1K", {"transfer_bytes": 10 << 20, "write_size_bytes": 1024}),
        ("-k 8", {"transfer_bytes": 8 * 131_072}),
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
        ("--dscp cs5", {"dscp": 40}),
        ("--dscp 10", {"dscp": 10}),
        ("--fq-rate 1.5G", {"pacing_rate_bps": 1_500_000_000}),
        ("-m", {"transport": "mptcp"}),
        ("--skip-rx-copy", {"truncate": True}),
        ("-B 127.0.0.9", {"source_address": "127.0.0.9", "ip_version": 4}),
        ("--bind ::1", {"source_address": "::1", "ip_version": 6}),
        ("-A 0,1", {"near_cpus": "0", "far_cpus": "1"}),
        ("-A 1", {"near_cpus": "1", "far_cpus": "auto"}),
        ("-i 0.05", {"interval_ms": 50}),
        ("-i 0.05 --set interval_ms=10", {"interval_ms": 10}),
        ("-i 5", {"interval_ms": 100}),
        ("-A ,1", {"near_cpus": "auto", "far_cpus": "1"}),
        ("-w 256K -N -C reno", {"window_bytes": 262_144, "no_delay": True, "congestion_control": "reno"}),
    ],
)
def test_an_option_of_iperf3_sets_its_factor(
    arguments: str, factors: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    (cell,) = planned(capsys, *arguments.split())["cells"]
    assert {name: cell["factors"][name] for name in factors} == factors


@pytest.mark.parametrize("option", ["-c", "--client", "--host"])
def test_the_host_may_be_an_option(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", option, "host7", "-p", "5201", "-i", "1", "-f", "m", "-J", "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "host7"


def test_udp_without_a_rate_says_which_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-u", "host7", "--dry-run", "--json"]) == 0
    assert capsys.readouterr().err.startswith("UDP at 1 Mbit/s, as in iperf3")
    assert main(["run", "-u", "-b", "1M", "host7", "--dry-run", "--json"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("-s", "no server is needed"),
        ("-B eth0", '--bind: source_address: "eth0" is not a level; it takes a numeric address such as 10.0.0.1'),
        ("-V", "leave it out: the result has both hosts"),
        ("--latency 20ms", "--rtt 20ms"),
        ("--jitter 1ms", "--set path_jitter_us=500us"),
        ("--cport 5000", "the kernel chooses the near ports"),
        ("--sctp", "--set transport=sctp"),
        ("--logfile x", "`whyperf run HOST > FILE`"),
        ("-u -R", "--udp --reverse: datagrams go from near to far only"),
        ("-u --bidir", "--udp --bidir: datagrams go from near to far only"),
        ("-b 10M/20", "give --bitrate 10M, and for datagrams that leave in one call --set datagram_batch=20"),
        ("-b fast", '--bitrate: write_rate_bps: "fast" is not a level'),
        ("-S 0xff", "give a multiple of 4 up to 252"),
        ("-S ef", "--tos ef is not a number; give 0 to 252, or a name such as ef by --dscp"),
        ("-S 8 --dscp 2", "--tos and --dscp set the same bits; keep one"),
        ("--dscp efg", '--dscp: dscp: "efg" is not a level'),
        ("-k 10 -n 10", "--bytes and --blockcount both end the trial"),
        ("-k some", "--blockcount some is not a number of writes"),
        ("-k 10 -l 1K,2K", "--blockcount needs one write size"),
        ("-A 0,1,2", "one CPU for each side"),
        ("--bidir --workload rr", "--bidir is the workload bidirectional"),
        ("-i 0.0001", "--interval 0.0001 is not from 0.001"),
        ("-t 5 -n 1M", "--time: --bytes ends the trial by bytes"),
    ],
)
def test_what_cannot_be_had_says_what_to_do(arguments: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments.split(), "--testbed", "loopback", "--dry-run"]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert says in streams.err
    assert streams.err.startswith("whyperf: ")
    assert streams.err.count("\n") == 1


def test_lists_make_cells_of_every_combination(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, "-C", "cubic,reno", "--set", "connections=1,4,16", "-t", "1", "--trials", "2")
    cells = {(cell["factors"]["congestion_control"], cell["factors"]["connections"]) for cell in plan["cells"]}
    assert cells == {(control, number) for control in ("cubic", "reno") for number in (1, 4, 16)}
    assert plan["varied"] == ["connections", "congestion_control"]
    assert plan["overrides"] == {"duration_s": 1.0, "congestion_control": "cubic,reno", "connections": "1,4,16"}
    assert plan["estimate"]["trials"] == 12


def test_a_list_takes_the_place_of_a_profiles_levels(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned(capsys, "window-sweep", "--only", "sweep=throughput", "-w", "8K,16K", "-l", "512,1K")
    found = [(cell["factors"]["window_bytes"], cell["factors"]["write_size_bytes"]) for cell in plan["cells"]]
    assert found == [(8192, 512), (8192, 1024), (16384, 512), (16384, 1024)]


def test_the_commas_of_cpus_are_no_list(capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = planned(capsys, "--set", "near_cpus=0,2-3")["cells"]
    assert cell["factors"]["near_cpus"] == "0,2-3"
    assert len(planned(capsys, "--set", "near_cpus=auto,any")["cells"]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("-P 1,1", "--connections: connections: level 1 is there twice"),
        ("-P 1,", '--connections: connections: "" is not a level'),
        ("-P 1,many", '--connections: connections: "many" is not a level'),
        ("-n 1K,2K -t 3", "--time: --bytes ends the trial by bytes"),
    ],
)
def test_a_list_that_is_none(arguments: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments.split(), "--testbed", "loopback", "--dry-run"]) == 2
    assert says in capsys.readouterr().err
