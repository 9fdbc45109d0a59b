"""`whyperf simulate`: the same record, verdicts and pages as of a measured run, from the model."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import Done, whyperf

HOSTS = "sparc2+sba-100@2.2.6"
PROFILE = """
about = "The study's flows, small"
[fixed]
transfer_bytes = 1048576
interval_ms = 200
read_wait = "block"
window_bytes = 8192
read_size_bytes = "=write_size_bytes"
[[sweep]]
name = "flow"
trials = 2
log_trials = 1
[sweep.factors]
write_size_bytes = [7168, 8192]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulate")
    (folder / "flow.toml").write_text(PROFILE)
    mine = f'part = "host"\nbase = "{HOSTS}"\nabout = "mine"\n[values]\n'
    (folder / "bare.toml").write_text(f"{mine}copy_in_us = 30\n")
    (folder / "flat.toml").write_text(f'{mine}mss_bytes = {{ value = -5, source = "mine" }}\n')
    return folder


def simulated(folder: Path, out: str, *more: str) -> Done:
    return whyperf("simulate", "flow.toml", "--hosts", HOSTS, "--out", out, "--json", *more, folder=folder)


def test_several_connections_have_their_own_rows_and_are_reported_as_those_of_a_live_run(folder: Path) -> None:
    profile = PROFILE.replace("write_size_bytes = [7168, 8192]", "connections = [1, 3]").replace(
        'read_size_bytes = "=write_size_bytes"', ""
    )
    (folder / "several.toml").write_text(profile)
    asked = ("simulate", "several.toml", "--hosts", "linux-6.18+veth", "--out", "several", "--json")
    done = whyperf(*asked, folder=folder, timeout_s=300)
    assert done.status == 0, done.err
    three = next(cell for cell in json.loads(done.out)["cells"] if cell["factors"]["connections"] == 3)
    assert three["connections"]["fairness"] > 0.9
    of_trial = folder / "several" / "trials" / f"log01-{three['id']}"
    for end in ("near", "far"):
        for table in ("segments", "calls", "flows", "intervals", "tcp_info"):
            rows = pl.read_parquet(of_trial / f"{table}.{end}.parquet")
            assert sorted(rows["connection"].unique()) == [0, 1, 2], (table, end)
    sent = pl.read_parquet(of_trial / "segments.near.parquet").filter(pl.col("direction") == "out")
    moved = sent.group_by("connection").agg(pl.col("payload_bytes").sum())
    assert moved["payload_bytes"].to_list() == [1048576] * 3
    flow = whyperf("flow", "several", "--json", folder=folder, timeout_s=300)
    assert flow.status == 0, flow.err
    assert "not complete" not in flow.out
    why = whyperf("explain", "several", "--json", folder=folder, timeout_s=300)
    assert why.status == 0, why.err


def test_payload_both_ways_is_counted_for_each_group_and_shares_a_link_of_half_duplex(folder: Path) -> None:
    asked = ("simulate", "bidirectional", "--hosts", "linux-6.18+nic", "--set", "link=ethernet-1G", "--trials", "1")
    times = ("--set", "duplex=full,half", "--set", "duration_s=0.1", "--set", "warmup_s=0.05", "--set", "cooldown_s=0")
    done = whyperf(*asked, *times, "--out", "both", "--json", folder=folder)
    assert done.status == 0, done.err
    goodput = {cell["factors"]["duplex"]: cell["goodput_bps"]["median"] for cell in json.loads(done.out)["cells"]}
    assert goodput["full"] > 1.8e9
    assert goodput["half"] == pytest.approx(goodput["full"] / 2, rel=0.05)
    (pack,) = (folder / "both" / "trials").iterdir()
    for host, sending in (("near", "send"), ("far", "receive")):
        moved = (
            pl.read_parquet(pack / f"transactions.{host}.parquet")
            .group_by("group")
            .agg(pl.col("sent_bytes").sum(), pl.col("received_bytes").sum())
        )
        for group, sent, received in moved.iter_rows():
            assert (sent > 0, received > 0) == (group == sending, group != sending), (host, group)


def test_a_profile_runs_on_the_model_and_its_log_shows_the_studys_flow(folder: Path) -> None:
    done = simulated(folder, "result")
    assert done.status == 0, done.err
    result = json.loads(done.out)
    assert (result["origin"], result["testbed"]) == ("sim", "model")
    goodputs = {cell["factors"]["write_size_bytes"]: cell["goodput_bps"]["median"] for cell in result["cells"]}
    # Stop-and-go: 1024 + 6144 between acknowledgments, against two segments of 4096.
    assert goodputs[7168] < 0.95 * goodputs[8192]
    for cell in result["cells"]:
        log = pl.read_parquet(folder / "result" / "trials" / f"log01-{cell['id']}" / "segments.near.parquet")
        sent = log.filter(pl.col("direction") == "out")
        assert sent["payload_bytes"].sum() == 1048576
        # Between two ACKs, as the study shows.
        usual = {1024, 6144} if cell["factors"]["write_size_bytes"] == 7168 else {4096}
        share = sent.filter(pl.col("payload_bytes").is_in(usual)).height / sent.height
        assert share > 0.9
        of_trial = folder / "result" / "trials" / f"log01-{cell['id']}"
        for end in ("near", "far"):
            calls = pl.read_parquet(of_trial / f"calls.{end}.parquet")
            assert calls["moved_bytes"].sum() == 1048576
            # The processes only block: each call begins where the one before it ended.
            assert calls["start_mono_ns"].to_list()[1:] == calls["end_mono_ns"].to_list()[:-1]
            within = calls["blocked_ns"] + calls["preempted_ns"] + calls["softirq_ns"]
            assert (within <= calls["end_mono_ns"] - calls["start_mono_ns"]).all()
            held = pl.read_parquet(of_trial / f"segments.{end}.parquet")
            for column in ("unsent_bytes", "receive_queue_bytes", "send_window_bytes", "unacked_bytes"):
                assert held[column].null_count() == 0
    flow = whyperf("flow", "result", "--json", folder=folder)
    assert flow.status == 0, flow.err
    assert "not complete" not in flow.out
    assert (folder / "result" / "report.html").stat().st_size > 100_000
    host = json.loads((folder / "result" / "hosts" / "near.json").read_text())
    assert host["parameters"][HOSTS]["system"] == "sunos-4.1"
    assert host["parameters"][HOSTS]["values"]["mss_bytes"]["value"] == 9148
    assert all(parameter["source"] for parameter in host["parameters"][HOSTS]["values"].values())


def test_a_log_that_the_end_of_time_cuts_has_no_gap(folder: Path) -> None:
    """What is under way then is on one side's log and not on the other's."""
    options = "--set transfer_bytes=default --set warmup_s=0.02 --set duration_s=0.1 --set cooldown_s=0.02"
    made = simulated(folder, "timed", *options.split(), "--trials", "1")
    assert made.status == 0, made.err
    flow = whyperf("flow", "timed", "--json", folder=folder)
    assert flow.status == 0, flow.err
    assert json.loads(flow.out)["complete"]


def test_the_same_seed_makes_the_same_tables_and_a_rerun_makes_none(folder: Path) -> None:
    again = simulated(folder, "again")
    resumed = simulated(folder, "again")
    assert again.status == resumed.status == 0
    first, second = (sorted((folder / name / "trials").glob("pack-*/*.parquet")) for name in ("result", "again"))
    assert len(first) == len(second) > 0
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("flow.toml",), "--hosts"),
        (("flow.toml", "--hosts", "sparc3+sba-100"), "sparc3"),
        (("flow.toml", "--hosts", HOSTS, "--set", "connections=2"), "one connection, not 2"),
        (("flow.toml", "--hosts", HOSTS, "--link", "ethernet-1G"), "cannot be on ethernet-1G"),
        (("flow.toml", "--hosts", "bare.toml"), "write copy_in_us = { value = 30, source"),
        (("flow.toml", "--hosts", "flat.toml", "--set", "mtu_bytes=9188"), "mss_bytes"),
        (("rr", "--hosts", HOSTS, "--set", "outstanding=4"), "outstanding"),
        (("flow.toml", "--hosts", HOSTS, "--set", "pacing_rate_bps=8M"), "paces nothing"),
    ],
)
def test_what_the_model_cannot_run_is_named_before_anything_runs(
    folder: Path, options: tuple[str, ...], named: str
) -> None:
    done = whyperf("simulate", *options, "--out", "refused", folder=folder)
    assert done.status == 2
    assert named in done.sentence
    assert not (folder / "refused").exists()
