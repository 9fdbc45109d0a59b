"""Words that users type by guess: each is answered with the command that was meant, or with what a file is."""

import csv
import gzip
import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from tests.whole.records.golden import unpack
from whyperf.cli import main

IPERF3 = {"start": {"connected": [{"socket": 5}], "version": "iperf 3.17.1"}, "intervals": [], "end": {}}
FLENT = {"metadata": {"BATCH_NAME": None, "FLENT_VERSION": "2.1.1"}, "raw_values": {}, "results": {}, "version": 4}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def said(typed: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence about a mistake."""
    assert main(shlex.split(typed)) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("whyperf: ")
    assert streams.err.count("\n") == 1
    return streams.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rnu -t 5", "run -t 5"),
        ("rnu", "run"),
        ("reports", "report"),
        ("plot", "report"),
        ("graph results/x", "report results/x"),
        ("open results/x", "show results/x"),
        ("diff a b", "compare a b"),
        ("monitor :443", "watch :443"),
        ("rr", "run rr"),
        ("10.0.0.2", "run 10.0.0.2"),
        ("myhost -t 5", "run myhost -t 5"),
    ],
)
def test_a_word_that_is_no_command_is_answered_with_the_command_that_is_meant(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search("`whyperf (.*)`", said(typed, capsys))
    assert found is not None
    assert found[1] == meant


@pytest.mark.parametrize("word", ["myhost", "xyzzy", "host"])
def test_a_word_that_may_be_anything_is_not_suggested_as_a_host(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(word, capsys)
    assert f"run {word}" not in text
    assert "`whyperf --help` lists the commands" in text


@pytest.mark.parametrize("word", ["verify", "prove"])
def test_a_word_for_a_proof_is_an_option_of_explain(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean `whyperf explain results/why --try`?" in said(f"{word} results/why", capsys)


def test_a_server_is_not_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no server is needed" in said("server", capsys)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("run latency", 'there is no profile or workload "latency"; did you mean rr?'),
        ("run latency host7", "did you mean rr?"),
        ("run bufferbloat", "did you mean rrul?"),
        ("run 1", "1 is a number and no host; the size of writes is -l 1, the number of connections -P 1"),
        ("run rr 64", "64 is a number and no host"),
        ("run plot", "did you mean `whyperf report`? (a host of that name: --host plot)"),
        ("run host7 -p", "option '-p' requires an argument; -p/--port is: Port of the far host for data;"),
        ("run host7 -p many", "-p/--port is: Port of the far host for data;"),
        ("run -t", "-t/--time/--duration is: Duration in seconds; see `whyperf run --help`"),
        ("watch curl -s a", "no such option: -s; to start curl and watch it: `whyperf watch -- curl -s a`"),
        ("watch curl http://a/", "none of: :PORT, a process number, an address; to start curl and watch it: "),
        ("run -s", "or between network namespaces of this host `whyperf run --netns NEAR:FAR`"),
        (
            "run host7 -J --logfile f -P 2",
            "such option: --logfile; redirect the output: `whyperf run host7 -J -P 2 > f`",
        ),
        ("run -J --logfile=f", "redirect the output: `whyperf run -J > f`"),
        ("run --pacing 100M", "such option: --pacing; did you mean --set pacing_rate_bps=100M or --fq-rate 100M?\n"),
        ("run --pacing-rate=100M host7", "did you mean --set pacing_rate_bps=100M or --fq-rate 100M?"),
        ("run --think host7", "no such option: --think; did you mean --set think_us=VALUE?"),
        ("why --think-us 100", "did you mean --set think_us=100?"),
        ("simulate --mtu 9000", "did you mean --set mtu_bytes=9000?"),
        ("compare --run --gro off", "did you mean --set gro=off?"),
        ("run --rtt-probe 100ms", "did you mean --set rtt_probe="),
        ("run --rtt-ms 5", "did you mean --set path_rtt_ms=5 or --rtt 5?"),
        ("run --output f", "no such option: --output (Possible options: "),
        ("run udp", "udp is the option -u: `whyperf run -u` (a host of that name: --host udp)"),
        ("run udp host7", "udp is the option -u: `whyperf run host7 -u`"),
        ("run rr udp", "udp is the option -u: `whyperf run rr -u`"),
        ("run tcp", "tcp is what profiles use anyway: `whyperf run` (a host of that name: --host tcp)"),
        ("run rr tcp", "tcp is what profiles use anyway: `whyperf run rr`"),
        ("compare cubic bbr --rtt 20ms", "one run measures: `whyperf run -C cubic,bbr --rtt 20ms`"),
        (
            "compare cubic bbr",
            "these are congestion controls, which one run measures: `whyperf run -C cubic,bbr`",
        ),
        ("compare --rtt 20ms", "two conditions are measured by `whyperf compare --run --set FACTOR=LEVEL --against "),
        ("compare iperf3", "iperf3 is a tool, not a result; comparisons of tools are in the laboratory"),
        (
            "compare netperf rr uperf",
            ".venv/bin/whyperf-lab tools netperf,uperf rr`",
        ),
        (
            "compare stream --tools iperf3,nuttcp --verify",
            "no such option: --tools; it is in the laboratory of the repository now: `make setup-run`, then "
            "`.venv/bin/whyperf-lab tools iperf3,nuttcp stream --verify`",
        ),
        ("compare --tools=iperf3 --trials 2", "`.venv/bin/whyperf-lab tools iperf3 --trials 2`"),
        ("watch -p", "option '-p' requires an argument; -p/--pid is: Connections of this process"),
        (
            "run --testbed loopback --rtt 10ms",
            "whyperf: --rtt: loopback has no such setting; measure on the embedded testbed",
        ),
        ("run -u -C bbr", "whyperf: --congestion: udp has no such setting"),
        ("run -t 0", "--time: invalid value 0; give a number from 0.001 to 604800 s, such as 10s"),
        ("run --rtt -5ms", '--rtt: invalid value "-5ms"; give a number from 0 to 60000 ms or none, such as 20ms'),
        ("run --rate 100", "from 1 kbit/s to 100 Gbit/s or none, such as 100M"),
        ("run -b 50Q", "from 8 bit/s to 10 Tbit/s or default, such as 100M; K, M and G are powers of 1000"),
        ("run -l 0", "from 1 byte to 1 GiB, such as 64K"),
        ("run -P 0", "--connections: invalid value 0; give a whole number from 1 to 100000 connections"),
        ("run -p 99999", "'--port': 99999 is above the limit, 65535; -p/--port is: Port of the far host"),
        ("watch --max-connections 0", "'--max-connections': 0 is below the limit, 1; --max-connections is:"),
        ("run --seed many", "'--seed': \"many\" is not a whole number; --seed is: Seed of the random order"),
        ("run -f z", "'--rate-unit': 'z' is not one of 'k', 'm', 'g', 't', 'K', 'M', 'G', 'T'; -f/--rate-unit is:"),
        ("run --loss 1", "--loss 1 is 100 % of the packets; write 1% for 1 %, or 100%"),
        ("run --loss 0.1%,0.5", "--loss 0.5 is 50 % of the packets; write 0.5% for 0.5 %, or 50%"),
        ("run --loss 5", "--loss 5 is more than all packets; write 5% for 5 % of them"),
        ("run --loss 150%", "--loss 150% is more than all packets; give 0% to 100%, such as 0.1%"),
        ("run --loss many", '--loss: invalid value "many"; give percent such as 0.1%, a share from 0 to 1,'),
        ("run --netns near:", "--netns near:: name two network namespaces (ip netns list), such as --netns near:far"),
        ("run --netns a:b --via ssh", "--netns a:b and --via ssh both name the two sides; drop one of them"),
        ("run host7 --netns a:b --host c", "--netns a:b and --host c both name the two sides"),
        ("compare --set mtu_bytes=1500 --against mtu_bytes=9000", "add --run, or --run PROFILE"),
        ("export", "what to export is not given; give one of --csv, --json, --parquet, --anonymize"),
        ("export --csv --json", "--csv and --json are 2 exports; give one of"),
    ],
)
def test_a_guess_is_answered_with_what_to_type(typed: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert says in said(typed, capsys)


@pytest.mark.parametrize(
    ("typed", "runs"),
    [
        ("run --rr host7 -t 5", "run rr host7 -t 5"),
        ("run --udp-stream", "run udp-stream"),
        ("--rrul", "run rrul"),
        ("run --ping", "run rr"),
    ],
)
def test_a_workload_that_is_typed_as_an_option_is_measured(
    typed: str, runs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*typed.split(), "--dry-run"]) == 0
    assert f"is a word, not an option; running `whyperf {runs} --dry-run`" in capsys.readouterr().err


def test_a_rate_alone_is_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--testbed", "veth", "--rate", "50M", "--dry-run"]) == 0
    capsys.readouterr()


def test_a_small_share_and_the_levels_of_a_factor_need_no_percent_sign(capsys: pytest.CaptureFixture[str]) -> None:
    for typed in ("--loss 0.01", "--loss 100%", "--set path_loss=0.5", "--loss bursts:0.5/0.25"):
        assert main(["run", "--testbed", "veth", "--dry-run", *typed.split()]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("typed", ["compare --run --help", "run --host --help", "show -h", "export --out --help"])
def test_help_is_a_help_wherever_it_stands(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 0
    assert f"Usage: whyperf {typed.partition(' ')[0]}" in capsys.readouterr().out


@pytest.mark.parametrize("where", ["--run", "--run quick"])
def test_two_conditions_need_no_profile(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = f"compare {where} --set no_delay=true --against no_delay=false --host localhost --dry-run"
    assert main(typed.split()) == 0
    assert "Cells: 2; trials: 12 in 6 blocks" in capsys.readouterr().out


def _pcap(path: Path) -> None:
    path.write_bytes(bytes.fromhex("d4c3b2a1") + bytes(20))


def _pcapng(path: Path) -> None:
    path.write_bytes(bytes.fromhex("0a0d0d0a1c0000004d3c2b1a") + bytes(20))


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes.fromhex("4d3cb2a1") + bytes(1 << 20)))


def _iperf3(path: Path) -> None:
    path.write_text(json.dumps(IPERF3, indent="\t"))


def _flent(path: Path) -> None:
    path.write_bytes(gzip.compress(json.dumps(FLENT, indent=2, sort_keys=True).encode()))


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (_pcap, "a packet capture (pcap)"),
        (_pcapng, "a packet capture (pcapng)"),
        (_packed, "a packet capture (pcap)"),
        (_iperf3, "an iperf3 result (JSON)"),
        (_flent, "a flent data file"),
    ],
)
@pytest.mark.parametrize("verb", ["show", "explain", "run", "compare", "open", "import", "./"])
def test_a_file_of_another_tool_is_called_what_it_is(
    verb: str, write: object, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(write)
    write(Path("some.file"))
    typed = {"./": "./some.file", "compare": "compare some.file some.file"}.get(verb, f"{verb} some.file")
    assert f"some.file is {kind}, which whyperf does not open yet; " in said(typed, capsys)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8bnot packed", b"BZhno", b'{"start": 1}', b"\xff" * 100])
def test_any_other_file_is_no_result(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.file").write_bytes(content)
    assert "some.file is a file; a result is a folder" in said("show some.file", capsys)


def test_the_figures_of_a_result_are_exported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    unpack("stream-user", tmp_path)
    assert main(["show", "stream-user", "--csv"]) == 0
    shown = capsys.readouterr().out
    assert main(["export", "stream-user", "--csv"]) == 0
    assert capsys.readouterr().out == shown
    assert main(["export", "stream-user", "--csv", "--out", "figures.csv"]) == 0
    assert Path("figures.csv").read_text() == shown
    assert main(["export", "stream-user", "--parquet"]) == 0
    (row,) = csv.DictReader(shown.splitlines())
    (kept,) = pl.read_parquet("stream-user.parquet").to_dicts()
    assert list(kept) == list(row)
    assert kept["goodput_bps_median"] == float(row["goodput_bps_median"])
    capsys.readouterr()
    assert main(["export", "stream-user", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cells"][0]["goodput_bps"]["median"] == kept["goodput_bps_median"]
    assert main(["export", "stream-user", "--json", "--out", "no/such/folder.json"]) == 1
    assert "cannot write no/such/folder.json: No such file" in capsys.readouterr().err


def test_a_name_that_nobody_gave_is_written_through_no_link(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In a folder for all users somebody else can have put a link there before."""
    unpack("stream-user", tmp_path)
    named, precious = Path("stream-user.parquet"), tmp_path / "precious"
    precious.write_text("kept")
    named.symlink_to(precious)
    assert main(["export", "stream-user", "--parquet"]) == 0
    assert precious.read_text() == "kept"
    assert not named.is_symlink()
    assert main(["export", "stream-user", "--parquet", "--out", "named.parquet"]) == 0
    assert Path("named.parquet").read_bytes() == named.read_bytes()
    named.unlink()
    tmp_path.chmod(0o777)
    assert main(["export", "stream-user", "--parquet"]) == 2
    assert "can be changed by every user, who could exchange what is made there" in capsys.readouterr().err
    assert not named.exists()
