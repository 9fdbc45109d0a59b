"""All that the analysis of the segment flow finds in the stored records of every kind."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.records.golden import KINDS, unpack
from tests.unit.snapshots import Snapshots
from whyperf.analyze.flow import (
    DUPLICATE_COLUMNS,
    LOG_COLUMNS,
    PAYLOAD_COLUMNS,
    FlowTrial,
    ack_ratio,
    ack_reasons,
    at_levels,
    completeness,
    contexts,
    count_duplicate_acks,
    count_out_of_order,
    counted_histogram,
    find_payloads,
    flow_facts,
    open_trial,
    overview,
    payload_sequence,
    read_calls,
    read_counters,
    read_log,
    read_user,
    scan_log,
    size_histogram,
    super_segments,
    waited_for_ack,
)
from whyperf.analyze.flow.cycle import find_cycles
from whyperf.analyze.flow.view import Level
from whyperf.record import RecordError

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
#: The model packs its trials.
PACKED = {"model", "verified"}
STEP_NS = 50_000_000
#: Direction, what is counted, and from how many sizes on they are classes.
HISTOGRAMS = (("out", "in"), ("packets", "segments"), (3, 64))


@pytest.fixture(params=[kind for kind in KINDS if kind not in PACKED])
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> FlowTrial:
    """The last trial of a stored record: the one with the log, where one has it."""
    kind = str(request.param)
    unpack(kind, tmp_path)
    return open_trial(sorted((tmp_path / "results" / kind / "trials").iterdir())[-1])


def name(trial: FlowTrial, what: str) -> str:
    return f"{trial.folder.parents[1].name}: {what}"


def test_trial(trial: FlowTrial) -> None:
    opened = {"ends": trial.ends, "zero": trial.zero_mono_ns, "window": trial.window_ns, "both": trial.moves_both_ways}
    opened |= {"trial": trial.trial, "cell": trial.cell, "status": trial.status}
    SNAPSHOTS.check(name(trial, "trial"), opened)


@pytest.mark.parametrize("whole_life", [True, False], ids=["whole life", "measured"])
def test_facts(trial: FlowTrial, *, whole_life: bool) -> None:
    found: dict[str, list[tuple[str | None, float]]] = {}
    views: tuple[Level, ...] = ("user", "counters", "segments")
    for level in views:
        view = at_levels(trial, {"sender": level, "receiver": level})
        for fact in flow_facts(view, whole_life=whole_life).facts:
            if fact.value is not None:
                values = found.setdefault(f"{fact.role} {fact.quantity.name}", [])
                # Hiding a level changes few facts.
                if (value := (fact.level, fact.value)) not in values:
                    values.append(value)
    SNAPSHOTS.check(name(trial, f"facts, {'whole life' if whole_life else 'measured'}"), found)


def test_completeness_and_overview(trial: FlowTrial) -> None:
    found = {host: (completeness(trial, host), overview(trial, host)) for host in trial.ends}
    SNAPSHOTS.check(name(trial, "completeness"), found)


def test_tables(trial: FlowTrial) -> None:
    for host in trial.ends:
        user, counted, calls = read_user(trial, host), read_counters(trial, host), read_calls(trial, host)
        tables: dict[str, object] = {
            "intervals": user.intervals,
            "flows": user.flows,
            "tcp_info": user.tcp_info,
            "calls": calls,
        }
        if counted is not None:
            tables |= {"counters": counted.counters, "sizes": counted.sizes}
            tables |= {what: counted_histogram(counted.sizes, what) for what in ("segment_out", "write_call")}
        SNAPSHOTS.check(name(trial, f"tables, {host}"), {table: sums(rows) for table, rows in tables.items()})


def sums(rows: object) -> object:
    """The sums of the numbers of a table, weighted with the place of each row."""
    if not isinstance(rows, pl.DataFrame):
        return rows
    place = pl.int_range(1, pl.len() + 1)
    numbers = rows.select(pl.selectors.numeric().cast(pl.Float64).fill_null(-1.0))
    return {"rows": rows.height, **numbers.select((pl.all() * place).sum()).to_dict(as_series=False)}


@pytest.mark.parametrize("host", ["near", "far"])
def test_log(trial: FlowTrial, host: str) -> None:
    log = scan_log(trial, host)
    if log is None:
        assert read_log(trial, host) is None
        return
    read = read_log(trial, host)
    duplicates = read_log(trial, host, columns=DUPLICATE_COLUMNS)
    payloads = read_log(trial, host, [0], PAYLOAD_COLUMNS)
    assert read is not None
    assert duplicates is not None
    assert payloads is not None
    assert tuple(read.columns) == LOG_COLUMNS
    runs = payload_sequence(payloads)
    found = {
        "log": sums(read),
        "acks": [ack_ratio(log, trial.ends[host].role, STEP_NS), ack_reasons(log)],
        "contexts": contexts(log),
        "super_segments": super_segments(log, STEP_NS),
        "sizes": [
            size_histogram(log, way, of, most)
            for way in ("out", "in")
            for of in ("packets", "segments")
            for most in (3, 64)
        ],
        "duplicate_acks": count_duplicate_acks(duplicates),
        "out_of_order": count_out_of_order(read.filter((pl.col("direction") == "in") & (pl.col("payload_bytes") > 0))),
        "waited": waited_for_ack(log),
        "payloads": None if runs.segments_count == 0 else find_payloads(runs),
        "cycles": find_cycles(runs),
    }
    SNAPSHOTS.check(name(trial, f"log, {host}"), found)


def test_a_folder_without_a_trial(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is not a trial"):
        open_trial(tmp_path)
