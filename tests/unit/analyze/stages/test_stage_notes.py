"""What stage times lack, in sentences."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze.stages.planted_stages import Planted
from tests.unit.analyze.stages.staged_results import staged
from whyperf.analyze.stages.notes import GAPS, LIMITS, gap_sentence, limit_sentences, stage_notes
from whyperf.analyze.stages.of_host import moved_packets
from whyperf.wire import StageLimit, StageLimitKind

LACKING = "This kernel lacks the tracepoint sock:sk_data_ready. What it would show is missing: stage Wake-up."


def limit(kind: StageLimitKind, value: str, device: str | None = None) -> StageLimit:
    return {"kind": kind, "device": device, "value": value}


def test_a_limit_of_several_devices_is_one_sentence() -> None:
    found = limit_sentences(
        [
            limit("steering", "0", "veth-near"),
            limit("no_napi", "veth", "veth-near"),
            limit("no_napi", "veth", "veth-far"),
            limit("no_napi", "veth", "veth-far"),
            limit("busy_polling", "50 µs"),
            limit("threaded_napi", "", "eth0"),
        ]
    )
    assert [sentence.split(":")[0] for sentence in found] == [
        "No GRO stage at veth-near (veth); veth-far (veth)",
        "Threaded NAPI at eth0",
        "Busy polling for up to 50 µs",
        "RPS at veth-near (to CPU 0)",
    ]


def test_every_reason_and_limit_of_the_schema_has_a_sentence() -> None:
    assert set(LIMITS) == set(StageLimitKind.__args__)  # type: ignore[attr-defined]
    schema = (Path(__file__).parents[4] / "crates/schema/src/table/stages.rs").read_text()
    reasons = schema.split("StageGap {")[1].split("}")[0].split('"')[1::2]
    assert len(reasons) > 10
    assert not set(reasons) - set(GAPS)


def test_where_a_time_is_missing_its_part_of_all_rows_is_given() -> None:
    assert gap_sentence("no_start", 1, 200).startswith("1 stage (0.5 % of the rows) had no start time")
    assert gap_sentence("merged", 1_200, 4_000).startswith("1,200 wire segments became part")
    assert gap_sentence("no_start", 1, 20_000).startswith("1 stage (less than 0.1 % of the rows) had no")
    assert gap_sentence("from_the_future", 2) == "2 times from the future."


def test_a_result_names_sides_without_stage_times_and_what_they_lack(tmp_path: Path) -> None:
    experiment = staged(tmp_path / "refused", reason="stage times are those of TCP")
    assert stage_notes(experiment, experiment.trials()) == [
        "No stage times of the near side: stage times are those of TCP.",
        "No stage times of the far side: stage times are those of TCP.",
    ]
    hook = {"name": "sock:sk_data_ready", "can": False, "reason": "no such tracepoint", "gives": "stage wakeup"}
    limits = [limit("xdp", "native", "eth0")]
    experiment = staged(tmp_path / "lacking", gaps={"no_start": 5, "merged": 9}, missing=[hook], limits=limits)
    rows = 3 * 400 * 7
    assert stage_notes(experiment, experiment.trials()) == [
        f"Stage times, near side: {LACKING}",
        f"Stage times, far side: {LACKING}",
        f"Stage times: {LIMITS['xdp'].format(where='eth0 (native)')}",
        f"Stage times, near side: {gap_sentence('no_start', 15, rows)}",
        f"Stage times, far side: {gap_sentence('no_start', 15, 3 * 400 * 9)}",
    ]


def test_a_table_that_cannot_be_read_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    experiment = staged(tmp_path / "made", gaps={"no_start": 5})
    (experiment.folder / "trials" / "stages01-c0002" / "stage_gaps.near.parquet").write_bytes(b"broken")
    notes = stage_notes(experiment, experiment.trials())
    assert sum("stages01-c0002 is not known" in note for note in notes) == 1
    assert any(note.startswith("Stage times, near side: 10 stages") for note in notes)


@pytest.mark.parametrize(
    ("stage", "change", "wanted"),
    [
        ("gro", {"context": "process"}, {"by_thread": 50}),
        ("gro", {"context": "worker"}, {"by_thread": 50}),
        ("ip_in", {"context": "process"}, {}),
        ("ip_in", {"cpu": 3}, {"steered": 50}),
    ],
)
def test_packets_that_a_thread_took_or_that_changed_the_cpu_are_counted(
    stage: str, change: dict[str, object], wanted: dict[str, int]
) -> None:
    frame = Planted([1448] * 100).host("receiver").frame
    assert moved_packets(frame) == {}
    first = pl.col("sequence") <= frame["sequence"].unique().sort()[49]
    is_changed = first & (pl.col("stage") == stage)
    moved = frame.with_columns(
        pl.when(is_changed).then(pl.lit(value)).otherwise(pl.col(name)).cast(frame.schema[name]).alias(name)
        for name, value in change.items()
    )
    assert moved_packets(moved) == wanted


@pytest.mark.parametrize("context", ["process", "worker"])
def test_without_gro_the_first_stage_shows_who_took_a_packet(context: str) -> None:
    frame = Planted([1448] * 100, left_out=frozenset({"gro"})).host("receiver").frame
    assert moved_packets(frame.with_columns(pl.lit(context).alias("context"))) == {"by_thread": 100}
