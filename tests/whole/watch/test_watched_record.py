"""From the tables of one or two agents to a result: a cell and a trial for each connection."""

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.watch.watched_samples import SeenConnection, question, schema, sent
from tests.whole.records.golden import unpack
from whyperf.analyze import summarize
from whyperf.record import Experiment, RecordError
from whyperf.record.kinds import wrong_in_table
from whyperf.watch import split
from whyperf.watch.record import keep_watched
from whyperf.watch.request import WatchedSide

Keep = Callable[..., Experiment]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured trial with two connections, counted in the kernel."""
    folder = tmp_path_factory.mktemp("stored")
    unpack("stream-counters", folder)
    return folder / "results" / "stream-counters" / "trials" / "001-c0001"


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Keep]:
    """Keeps sides in a new folder, and closes what was kept."""
    kept: list[Experiment] = []

    def made(*sides: WatchedSide, name: str = "kept", **asked: Any) -> Experiment:
        kept.append(keep_watched(tmp_path / name, question(**asked), sides))
        return kept[-1]

    yield made
    for experiment in kept:
        experiment.close()


def parts(trial: Path, host: Any = "near") -> list[SeenConnection]:
    return [SeenConnection(trial, host, 0), SeenConnection(trial, host, 1)]


def rows(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / "trials" / name)


def test_each_connection_is_a_cell_with_a_trial_the_busiest_first(trial: Path, tmp_path: Path, keep: Keep) -> None:
    experiment = keep(sent(tmp_path / "near", parts(trial)), evidence="counters")
    plan, manifests = experiment.plan, experiment.trials().manifests
    assert [cell.id for cell in plan.cells] == ["c0001", "c0002"]
    assert list(manifests) == ["001-c0001", "001-c0002"]
    assert [trial.id for trial in plan.trials()] == list(manifests)
    # The second connection of the measured trial had moved more.
    labels = [cell.watched.label for cell in plan.cells if cell.watched]
    assert labels == [
        "iperf3 198.18.0.1:48966 → 198.18.0.2:41887",
        "iperf3 198.18.0.1:48960 → 198.18.0.2:41887",
    ]
    for manifest in manifests.values():
        assert (manifest.origin, manifest.testbed, manifest.status) == ("watched", "watched", "complete")
        assert set(manifest.hosts) == {"near"}
        assert manifest.hosts["near"].role == "sender"
        assert manifest.evidence_asked == "counters"


NO_SPACE = "parquet: underlying IO error: No space left on device (os error 28)"


def a_disk_of(size: int, *folders: Path, reason: str = NO_SPACE) -> Callable[..., int]:
    """Writes tables as `split` does, as long as all files of the folders have room."""
    write = split._write

    def written(rows: pl.DataFrame, path: Path, metadata: dict[str, str]) -> int:
        count = write(rows, path, metadata)
        if sum(each.stat().st_size for folder in folders for each in folder.rglob("*") if each.is_file()) > size:
            path.write_bytes(path.read_bytes()[:100])
            raise pl.exceptions.ComputeError(reason)
        return count

    return written


def test_on_a_full_disk_the_largest_table_goes_and_the_watch_is_kept(
    trial: Path, tmp_path: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = sent(tmp_path / "near", parts(trial))
    sizes = {name: path.stat().st_size for name, path in side.tables.items()}
    largest = max(sizes.keys() - split.NEEDED, key=lambda name: sizes[name])
    whole = keep(side, name="whole").folder
    needed = sum(path.stat().st_size for folder in (whole, tmp_path / "near") for path in folder.rglob("*.parquet"))
    # The plan and the like take some room, too.
    monkeypatch.setattr(split, "_write", a_disk_of(needed - 10, tmp_path / "near", tmp_path / "kept" / "trials"))
    said: list[str] = []
    with keep_watched(tmp_path / "kept", question(), [side], said.append) as experiment:
        found = Experiment.open(experiment.folder).trials()
    assert (len(found.manifests), found.damaged) == (2, [])
    last = found.manifests["001-c0002"]
    assert f"{largest}.near.parquet" not in last.tables
    assert (
        said
        == last.warnings
        == [
            f"The near agent's table '{largest}' is left out: the disk was full. Free some space before the next watch."
        ]
    )
    assert {cell.goodput_bps.median is not None for cell in summarize(Experiment.open(experiment.folder)).cells} == {
        True
    }


def test_where_even_the_least_has_no_room_one_sentence_says_what_is_kept(
    trial: Path, tmp_path: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    # polars gives no reason where the end of a file does not fit; then the room that is left is one.
    no_reason = "parquet: File out of specification: Invalid thrift: transport error"
    monkeypatch.setattr(split, "_write", a_disk_of(10, tmp_path / "kept" / "trials", reason=no_reason))
    partial = tmp_path / "kept" / "trials" / ".001-c0001.partial"
    usage = SimpleNamespace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage if partial.exists() else SimpleNamespace(free=1 << 30))
    with pytest.raises(RecordError, match=r"no space left in .*: 0 connections kept; free some space"):
        keep(sent(tmp_path / "near", parts(trial)))
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(("folder_mode", "mode"), [(0o755, 0o640), (0o700, 0o600)])
def test_files_in_a_folder_that_is_there_are_as_the_umask_says(
    folder_mode: int, mode: int, trial: Path, tmp_path: Path, keep: Keep
) -> None:
    """They were writable by everybody, in a folder that everybody may enter."""
    (tmp_path / "kept").mkdir(folder_mode)
    before = os.umask(0o027)
    try:
        experiment = keep(sent(tmp_path / "near", parts(trial)))
    finally:
        os.umask(before)
    found = {path.name: oct(path.stat().st_mode & 0o777) for path in experiment.folder.rglob("*") if path.is_file()}
    assert any(name.endswith(".parquet") for name in found)
    assert found == dict.fromkeys(found, oct(mode))


def test_the_tables_are_those_of_the_record_with_the_rows_of_one_connection(
    trial: Path, tmp_path: Path, keep: Keep
) -> None:
    side = sent(tmp_path / "near", parts(trial))
    experiment = keep(side)
    for name, path in side.tables.items():
        whole = pl.read_parquet(path)
        for number, kept in ((1, "001-c0001"), (0, "001-c0002")):
            file = experiment.folder / "trials" / kept / f"{name}.near.parquet"
            assert wrong_in_table(file, name) is None, name
            found = pl.read_parquet(file)
            if "connection" not in whole.columns:
                assert found.drop("role", strict=False).equals(whole.drop("role", strict=False))
                continue
            own = whole.filter(pl.col("connection") == number)
            # Payload of an interval is without what TCP counts for a SYN.
            changed = {"connection", "role", "payload_bytes"}
            kept_columns = [column for column in whole.columns if column not in changed]
            assert found.select(kept_columns).equals(own.select(kept_columns)), name
            assert found["connection"].unique().to_list() == [0]


def test_the_payload_of_the_intervals_is_what_tcp_counted_while_it_was_watched(
    trial: Path, tmp_path: Path, keep: Keep
) -> None:
    later = [replace(part, watched={"whole": False}) for part in parts(trial)]
    for name, watched in (("whole", parts(trial)), ("later", later)):
        folder = keep(sent(tmp_path / f"near-{name}", watched), name=name).folder
        samples = rows(folder, "001-c0001/tcp_info.near.parquet").sort("sample_mono_ns")
        acked = samples["bytes_sent"] - samples["bytes_retransmitted"]
        acked = pl.DataFrame([acked, samples["bytes_acked"]]).min_horizontal()
        moved = acked[-1] - (0 if name == "whole" else acked[0])
        flow = rows(folder, "001-c0001/flows.near.parquet")
        manifest = json.loads((folder / "trials" / "001-c0001" / "manifest.json").read_text())
        assert flow["payload_bytes"].to_list() == [moved]
        assert manifest["hosts"]["near"]["payload_bytes"] == moved
        intervals = rows(folder, "001-c0001/intervals.near.parquet")
        assert int(intervals["payload_bytes"].sum()) == moved


def test_a_receiver_alone_has_the_payload_that_arrived(trial: Path, tmp_path: Path, keep: Keep) -> None:
    experiment = keep(sent(tmp_path / "far", [SeenConnection(trial, "far", 0)]))
    (cell,) = experiment.plan.cells
    assert cell.watched is not None
    assert (cell.watched.direction, cell.watched.listens) == ("receive", True)
    assert cell.watched.service_port == "41887"
    samples = rows(experiment.folder, "001-c0001/tcp_info.near.parquet")
    intervals = rows(experiment.folder, "001-c0001/intervals.near.parquet")
    assert intervals["role"].unique().to_list() == ["receiver"]
    # The sender has closed, and Linux counts its FIN as a byte.
    assert samples["state"][-1] == 8
    assert int(intervals["payload_bytes"].sum()) == max(samples["bytes_received"].to_list()) - 1


def test_without_intervals_of_the_agent_the_samples_make_them(trial: Path, tmp_path: Path, keep: Keep) -> None:
    experiment = keep(sent(tmp_path / "near", [replace(parts(trial)[0], without=("intervals",))]))
    assert not (experiment.folder / "trials/001-c0001/intervals.near.parquet").exists()
    side = sent(tmp_path / "empty", parts(trial)[:1])
    pl.DataFrame(schema=schema("intervals")).write_parquet(side.tables["intervals"])
    experiment = keep(side, name="empty-intervals")
    intervals = rows(experiment.folder, "001-c0001/intervals.near.parquet")
    samples = rows(experiment.folder, "001-c0001/tcp_info.near.parquet")
    assert intervals.height == samples["sample_mono_ns"].n_unique() - 1
    assert intervals["end_mono_ns"].max() == samples["sample_mono_ns"].max()


def test_two_sides_are_the_two_hosts_of_one_trial(trial: Path, tmp_path: Path, keep: Keep) -> None:
    near = sent(tmp_path / "near", parts(trial))
    # The far agent found them in the other order.
    far = sent(tmp_path / "far", parts(trial, "far")[::-1], "far")
    experiment = keep(near, far, far_host="server")
    assert experiment.plan.warnings == ()
    for name, manifest in experiment.trials().manifests.items():
        assert {host: end.role for host, end in manifest.hosts.items()} == {"near": "sender", "far": "receiver"}
        assert all(end.own_cpus_exclusive for end in manifest.hosts.values())
        ends = [
            rows(experiment.folder, f"{name}/watched.{host}.parquet").row(0, named=True) for host in ("near", "far")
        ]
        assert ends[0]["local_address"] == ends[1]["remote_address"]
        assert {row["host"] for row in ends} == {"near", "far"}
    assert set(experiment.hosts()) == {"near", "far"}
    assert experiment.hosts()["far"]["hostname"] == "far-host"


LOCAL = "127.0.0.1:40000"
ELSEWHERE = "The other end of 1 connection is on the same host and was not watched: "


@pytest.mark.parametrize(
    ("remote", "host", "said"),
    [
        ("127.0.0.1:5432", None, f"{ELSEWHERE}`whyperf watch :5432` watches both sides."),
        ("127.0.0.1:5432", "db7", f"{ELSEWHERE}`whyperf watch db7 :5432` watches both sides."),
        ("203.0.113.7:5432", None, None),
    ],
)
def test_an_end_on_the_same_host_that_was_not_watched_is_said(
    trial: Path, tmp_path: Path, remote: str, host: str | None, said: str | None
) -> None:
    part = replace(SeenConnection(trial, "near", 0), local=LOCAL, remote=remote)
    with keep_watched(tmp_path / "kept", question(host=host), [sent(tmp_path / "near", [part])]) as experiment:
        assert experiment.plan.warnings == (() if said is None else (said,))


def test_two_sides_on_one_host_are_no_warning(trial: Path, tmp_path: Path, keep: Keep) -> None:
    first = replace(SeenConnection(trial, "near", 0), local=LOCAL, remote="127.0.0.1:5432")
    second = replace(SeenConnection(trial, "near", 1), local="127.0.0.1:5432", remote=LOCAL)
    experiment = keep(sent(tmp_path / "near", [first, second]))
    assert len(experiment.plan.cells) == 1
    assert experiment.plan.warnings == ()


def test_two_sides_that_do_not_match_are_said(trial: Path, tmp_path: Path, keep: Keep) -> None:
    near = sent(tmp_path / "near", parts(trial))
    far = sent(tmp_path / "far", [replace(SeenConnection(trial, "far", 0), remote="203.0.113.7:1024")], "far")
    experiment = keep(near, far, far_host="server")
    (warning,) = experiment.plan.warnings
    assert warning.startswith("3 of 3 connections were seen on one side only")
    assert "NAT" in warning
    assert sorted(next(iter(found.hosts)) for found in experiment.trials().manifests.values()) == [
        "far",
        "near",
        "near",
    ]


def test_two_sockets_on_this_host_share_its_cpus(trial: Path, tmp_path: Path, keep: Keep) -> None:
    side = sent(tmp_path / "near", [SeenConnection(trial, "near", 0), SeenConnection(trial, "far", 0)])
    experiment = keep(side)
    (manifest,) = experiment.trials().manifests.values()
    assert {host: end.role for host, end in manifest.hosts.items()} == {"near": "sender", "far": "receiver"}
    assert not any(end.own_cpus_exclusive for end in manifest.hosts.values())
    assert rows(experiment.folder, "001-c0001/cpu.far.parquet")["host"].unique().to_list() == ["far"]
    assert experiment.hosts()["far"] == experiment.hosts()["near"]


def test_the_clock_of_another_host_is_kept(trial: Path, tmp_path: Path, keep: Keep) -> None:
    from whyperf.run.agents.agent import Clock  # noqa: PLC0415 - one test needs it

    clocks = {"clock": Clock(500, 20, 1000, 10**18), "clock_after": Clock(540, 30, 2000, 10**18 + 1000)}
    near, far = sent(tmp_path / "near", parts(trial)), sent(tmp_path / "far", parts(trial, "far"), "far", **clocks)
    experiment = keep(near, far, far_host="server")
    manifest = next(iter(experiment.trials().manifests.values()))
    found = {host: end.clock for host, end in manifest.hosts.items()}
    assert found["near"] is not None
    assert found["far"] is not None
    assert (found["near"].offset_ns, found["near"].pairs) == (0, [])
    assert (found["far"].offset_ns, found["far"].uncertainty_ns, found["far"].drift_ns) == (500, 30, 40)


def test_cpu_time_is_that_of_the_connections_own_program(trial: Path, tmp_path: Path, keep: Keep) -> None:
    watched = [SeenConnection(trial, "near", 0, {"process": 4000}), SeenConnection(trial, "near", 1, {"process": 5000})]
    experiment = keep(sent(tmp_path / "near", watched))
    by_process = {cell.watched.process: f"001-{cell.id}" for cell in experiment.plan.cells if cell.watched}
    # All threads of the measured trial stand for those of process 4000 here.
    assert rows(experiment.folder, f"{by_process[4000]}/threads.near.parquet").height > 0
    assert rows(experiment.folder, f"{by_process[5000]}/threads.near.parquet").height == 0


def test_a_table_that_is_damaged_is_left_out_and_said(trial: Path, tmp_path: Path, keep: Keep) -> None:
    side = sent(tmp_path / "near", parts(trial))
    counters, cpu = side.tables["counters"], side.tables["cpu"]
    counters.write_bytes(counters.read_bytes()[:-100])
    pl.read_parquet(cpu).drop("idle_ns").write_parquet(cpu)
    more = {**side.tables, "no_such_table": side.tables["flows"], "threads": tmp_path / "gone.parquet"}
    link = tmp_path / "near" / "linked.parquet"
    link.symlink_to(side.tables["devices"])
    more["devices"] = link
    experiment = keep(replace(side, tables=more))
    names = {path.name.partition(".")[0] for path in (experiment.folder / "trials/001-c0001").glob("*.parquet")}
    assert not names & {"counters", "cpu", "no_such_table", "threads", "devices"}
    assert {"watched", "flows", "intervals", "tcp_info"} <= names
    said = " ".join(experiment.plan.warnings)
    assert all(f"'{name}'" in said for name in ("counters", "cpu", "no_such_table", "threads", "devices"))
    assert experiment.trials().damaged == []


@pytest.mark.parametrize("how", ["gone", "damaged", "other"])
def test_without_the_list_of_connections_there_is_no_result(how: str, trial: Path, tmp_path: Path, keep: Keep) -> None:
    side = sent(tmp_path / "near", parts(trial))
    watched = side.tables["watched"]
    if how == "gone":
        side = replace(side, tables={name: path for name, path in side.tables.items() if name != "watched"})
    elif how == "damaged":
        watched.write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    else:
        pl.read_parquet(watched).drop("whole").write_parquet(watched)
    with pytest.raises(RecordError, match="no list of the connections"):
        keep(side)
    assert not (tmp_path / "kept").exists()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    program=st.text(max_size=80),
    local=st.text(max_size=80),
    numbers=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=3, unique=True),
    times=st.tuples(st.integers(0, 2**62 - 1), st.integers(0, 2**62 - 1)),
)
def test_whatever_an_agent_says_of_a_connection_is_kept_and_read_again(
    program: str, local: str, numbers: list[int], times: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    known = {"program": program, "executable": program, "process": None, "user": 0, "control_group": local}
    ends = {"host": "far", "local_address": local, "remote_address": local[::-1], "cookie": 2**62 - 1}
    life = {"whole": False, "first_mono_ns": times[0], "last_mono_ns": times[1], "closed": True, "listens": None}
    row = {**ends, **known, **life, "send_buffer_fixed": None, "receive_buffer_fixed": None}
    frame = pl.DataFrame([{**row, "connection": number} for number in numbers], schema_overrides=schema("watched"))
    frame.select(*schema("watched")).write_parquet(folder / "watched.parquet")
    side = replace(EMPTY, tables={"watched": folder / "watched.parquet"})
    keep_watched(folder / "kept", question(), [side]).close()
    opened = Experiment.open(folder / "kept")
    assert opened.trials().damaged == []
    summary = summarize(opened)
    assert len(summary.cells) == len(opened.plan.cells)
    # What the agent said is printed; a terminal obeys none of it.
    assert all("\x1b" not in str(cell.factors) for cell in summary.cells)
    assert len({str(cell.factors) for cell in summary.cells}) == len(summary.cells)


#: A side that has sent nothing.
EMPTY = WatchedSide(
    host="near",
    facts={"boot_id": "b", "hostname": "h", "kernel": "k", "cpus": [0], "tsc_hz": None, "agent_version": "0"},  # type: ignore[typeddict-item]
    clock=None,
    finished={"outcome": {"ended": "complete"}, "notes": [], "evidence": {}, "payload_bytes": 0, "reply": "finished"},  # type: ignore[typeddict-item]
    tables={},
)


def test_what_an_agent_could_not_watch_is_said(trial: Path, tmp_path: Path, keep: Keep) -> None:
    side = sent(tmp_path / "near", parts(trial))
    notes = [
        {"note": "connections_beyond_limit", "count": 3},
        {"note": "brief_connections", "count": 1, "payload_bytes": 1234},
        {"note": "samples_thinned", "sample_ns": 400_000_000},
        {"note": "busy_process", "name": "x", "pid": 1, "cpu_ns": 1, "wall_ns": 2},
    ]
    experiment = keep(replace(side, finished={**side.finished, "notes": notes}))  # type: ignore[typeddict-item]
    assert [warning.partition(" of the near side")[0] for warning in experiment.plan.warnings] == [
        "3 more connections",
        "1 connection",
        "The watch",
    ]


def test_a_watch_that_failed_is_kept_as_that(trial: Path, tmp_path: Path, keep: Keep) -> None:
    side = sent(tmp_path / "near", parts(trial))
    failed: Any = {**side.finished, "outcome": {"ended": "failed", "reason": "no socket could be read"}}
    manifests = keep(replace(side, finished=failed)).trials().manifests
    assert {(found.status, found.reason) for found in manifests.values()} == {
        ("failed", "near: no socket could be read")
    }
    aborted: Any = {**side.finished, "outcome": {"ended": "aborted"}}
    manifests = keep(replace(side, finished=aborted), name="aborted").trials().manifests
    assert {found.status for found in manifests.values()} == {"complete"}


def test_costs_are_divided_by_payload_among_the_connections_of_a_program(
    trial: Path, tmp_path: Path, keep: Keep
) -> None:
    experiment = keep(sent(tmp_path / "near", parts(trial)))
    ratios = [manifest.hosts["near"].payload_ratio for manifest in experiment.trials().manifests.values()]
    assert sum(ratios) == pytest.approx(1.0, abs=1e-5)
    summary = summarize(experiment)
    costs = [cell.cycles_per_kbyte.sender for cell in summary.cells]
    # Per KByte of all payload, which costs the same whichever connection it went by.
    assert costs[0] == pytest.approx(costs[1], rel=0.2)


def test_a_result_is_for_its_user_alone_and_made_here(trial: Path, tmp_path: Path, keep: Keep) -> None:
    experiment = keep(sent(tmp_path / "near", parts(trial)))
    assert experiment.is_made_here
    for path in experiment.folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
