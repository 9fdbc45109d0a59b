"""What stages take: planted costs come out, per packet and per byte, whatever the sizes of rows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze.stages.planted_stages import COSTS, EMPTY_PAIR_NS, IN, OUT, WAITS, Planted
from tests.unit.analyze.synthetic import known
from whyperf.analyze.stages import Amount, Fit, HostStages, Split, by_size, copy_cost, fit_of, totals, with_copies_apart
from whyperf.analyze.stages.fits import split_of
from whyperf.analyze.stages.of_host import prepared, with_copies_placed
from whyperf.analyze.stages.ranges import StageRows

SIZES = [64, 512, 1448, 4096, 16_384, 65_536] * 60


def test_planted_costs_come_out_per_packet_without_the_probes() -> None:
    planted = Planted([1448] * 400, jitter=0.1)
    for role, stages, direction in (("sender", OUT, "out"), ("receiver", IN, "in")):
        (found,) = totals(planted.host(role))
        assert (found.direction, found.packets, found.segments) == (direction, 400, 400)
        for name in stages:
            total = known(found.stage(name))
            expected = 0.0 if name in WAITS else COSTS[name][0] + COSTS[name][1] * 1448
            assert total.cpu_ns.value == pytest.approx(expected, rel=0.03, abs=1), name
            assert total.waiting_ns.value == pytest.approx(WAITS.get(name, 0.0), abs=1), name
            if expected:
                assert known(total.cpu_ns.low) < total.cpu_ns.value < known(total.cpu_ns.high)


def test_the_sum_and_the_share_of_the_driver_are_those_of_the_stages() -> None:
    (found,) = totals(Planted([1448] * 200).host("receiver"))
    expected = {name: COSTS[name][0] + COSTS[name][1] * 1448 for name in IN if name not in WAITS}
    assert found.cpu_ns.value == pytest.approx(sum(expected.values()), rel=0.01)
    assert found.driver_ns.value == pytest.approx(expected["driver_in"], rel=0.01)
    assert found.driver_ratio.value == pytest.approx(expected["driver_in"] / sum(expected.values()), rel=0.01)
    assert found.waiting_ns.value == pytest.approx(sum(WAITS[name] for name in IN if name in WAITS), rel=0.01)


def test_a_stage_whose_rows_are_missing_in_part_is_named_and_not_taken_for_cheap() -> None:
    host = Planted([1448] * 400).host("sender")
    lost = (pl.col("stage") == "driver_out") & (pl.col("row") % 3 == 0)
    (found,) = totals(_with(host, host.frame.filter(~lost)))
    driver = known(found.stage("driver_out"))
    assert driver.cpu_ns.value == pytest.approx(COSTS["driver_out"][0] + COSTS["driver_out"][1] * 1448, rel=0.01)
    assert not driver.is_complete
    assert driver.covered_ratio < 0.8
    assert all(total.is_complete for total in found.stages if total.stage.name != "driver_out")


def test_work_for_acks_stands_with_the_payload_that_they_acknowledge_and_is_in_no_sum() -> None:
    """The receiver acknowledges every packet: an ACK leaves, and is handed over to another CPU."""
    planted = Planted([1448] * 200)
    table = planted.table("receiver")
    copies = table.filter(pl.col("stage") == "copy_out")
    cost = {"cpu_ns": pl.lit(8000 + 2 * EMPTY_PAIR_NS), "wall_ns": pl.lit(8000 + 2 * EMPTY_PAIR_NS)}
    end = (pl.col("sequence").cast(pl.Int64) + 1448) % (1 << 32)
    acks = copies.with_columns(
        stage=pl.lit("ack_out"), direction=pl.lit("out"), payload_bytes=pl.lit(0), sequence=end, **cost
    )
    handed = copies.with_columns(stage=pl.lit("handover"), **cost)
    rows = pl.concat([table, acks.cast(table.schema), handed.cast(table.schema)])
    plain = planted.host("receiver")
    with_acks = _with(plain, prepared(rows, plain.report, 0))
    (before,), (after,) = totals(plain), totals(with_acks)
    assert after.cpu_ns.value == pytest.approx(before.cpu_ns.value)
    for name in ("ack_out", "ack_handover"):
        total = known(after.stage(name))
        assert total.cpu_ns.value == pytest.approx(8000)
    assert after.stage("handover") is None
    assert [point.cpu_ns.value for point in by_size(with_acks)] == pytest.approx(
        [point.cpu_ns.value for point in by_size(plain)]
    )


def test_missing_stages_are_named() -> None:
    (found,) = totals(Planted([1448] * 40, left_out=frozenset({"qdisc_out", "qdisc_wait"})).host("sender"))
    assert [stage.name for stage in found.missing] == ["qdisc_out"]


def test_a_stage_with_two_rows_for_a_packet_counts_its_bytes_once() -> None:
    """TCP goes on after the driver: the same packet has another row of `tcp_out`."""
    host = Planted([1448] * 200).host("sender")
    again = host.frame.filter(pl.col("stage") == "tcp_out").with_columns(
        cpu_ns=pl.lit(50.0), wall_ns=pl.lit(50.0), time_ns=pl.col("time_ns") + 5_000
    )
    (found,) = totals(_with(host, pl.concat([host.frame, again]).sort("time_ns")))
    total = known(found.stage("tcp_out"))
    assert found.packets == 200
    assert total.cpu_ns.value == pytest.approx(COSTS["tcp_out"][0] + COSTS["tcp_out"][1] * 1448 + 50, rel=0.01)


def test_both_parts_of_a_mean_add_up_to_it() -> None:
    """Also of a stage that one packet in four causes: its line is the time of each run, and a packet has a quarter."""
    host = Planted(SIZES * 3, costs={"wakeup": (300, 0.02)}).host("receiver")
    wakes = host.frame.filter(pl.col("stage") == "wakeup").filter(pl.col("order") // len(set(SIZES)) % 4 == 0)
    kept = (pl.col("stage") != "wakeup") | pl.col("sequence").is_in(wakes["sequence"].to_list())
    (found,) = totals(_with(host, host.frame.filter(kept)))
    for name, parts in (("copy_out", COSTS["copy_out"]), ("wakeup", (300 / 4, 0.02 / 4))):
        total = known(found.stage(name))
        assert isinstance(total.split, Split), name
        whole = total.split.fixed_ns + total.split.ns_per_byte.value * found.packet_bytes
        assert whole == pytest.approx(total.cpu_ns.value)
        assert total.split.fixed_ns == pytest.approx(parts[0], rel=0.05), name
        assert total.split.ns_per_byte.value == pytest.approx(parts[1], rel=0.05), name
    wakeup = known(found.stage("wakeup"))
    assert known(wakeup.fit).fixed_ns.value > wakeup.cpu_ns.value


def test_a_mean_that_the_sizes_do_not_split_has_a_reason() -> None:
    (found,) = totals(Planted([1448] * 100).host("receiver"))
    assert {stage.split for stage in found.stages if not stage.stage.is_wait} == {"alike"}
    assert {stage.split for stage in found.stages if stage.stage.is_wait} == {None}
    fit = Fit(Amount(400.0), Amount(0.5, 0.4, 0.6), 64, 4096, 3, "least squares", 0.1)
    assert split_of(fit, 900.0, 1000) == Split(400.0, fit.ns_per_byte)
    assert split_of(replace(fit, ns_per_byte=Amount(0.5, -0.1, 1.1)), 900.0, 1000) == "flat"
    assert split_of(replace(fit, ns_per_byte=Amount(-0.5)), 900.0, 1000) == "flat"
    assert split_of(replace(fit, misfit_ratio=0.6), 900.0, 1000) == "bent"
    assert split_of(fit, 400.0, 1000) == "bent"


def test_intervals_of_lines_hold_in_most_samples() -> None:
    """A 95 % interval: of 40 samples at least 34 have the truth in it (binomial, 0.2 %)."""
    fixed, _ = COSTS["tcp_out"]
    lines = [
        fit_of(Planted(SIZES[:180], jitter=0.2, seed=seed).host("sender").frame.filter(pl.col("stage") == "tcp_out"))
        for seed in range(40)
    ]
    held = [line for line in lines if line and line.fixed_ns.low <= fixed <= line.fixed_ns.high]  # type: ignore[operator]
    assert len(held) >= 34


def test_one_size_far_from_the_line_does_not_move_it() -> None:
    host = Planted(SIZES).host("sender")
    odd = (pl.col("stage") == "tcp_out") & (pl.col("payload_bytes") == 4096)
    frame = host.frame.with_columns(pl.when(odd).then(pl.col("cpu_ns") * 4).otherwise(pl.col("cpu_ns")).alias("cpu_ns"))
    line = known(fit_of(frame.filter(pl.col("stage") == "tcp_out")))
    assert line.method == "Theil-Sen"
    assert line.ns_per_byte.value == pytest.approx(COSTS["tcp_out"][1], rel=0.3)
    assert line.misfit_ratio > 0.5


def test_processing_time_against_size() -> None:
    host = Planted(SIZES).host("sender")
    points = by_size(host)
    assert [round(point.packet_bytes) for point in points] == sorted(set(SIZES))
    for point in points:
        stages = {name: COSTS[name] for name in OUT if name not in WAITS}
        size = point.packet_bytes
        assert point.cpu_ns.value == pytest.approx(sum(a + b * size for a, b in stages.values()), rel=0.02)
        assert point.driver_ns.value == pytest.approx(
            stages["driver_out"][0] + stages["driver_out"][1] * size, rel=0.02
        )
        assert (point.direction, point.packets) == ("out", 60)


def test_rows_of_calls_are_shared_by_the_packets_of_their_bytes() -> None:
    """A write of 16 KB that leaves in four packets: each has a quarter of the call."""
    rows = pl.DataFrame(
        {
            "sequence": [0, 16_384],
            "payload_bytes": [16_384, 16_384],
            "time_ns": [0, 100],
            "cpu_ns": [800.0, 400.0],
            "wall_ns": [800.0, 400.0],
            "order": [0, 1],
        }
    )
    stage = StageRows(rows)
    starts = np.array([0, 4096, 12_288, 14_336, 32_768])
    found = stage.handled(starts, starts + 4096)
    assert found.cpu_ns == pytest.approx([200, 200, 200, 100 + 50, 0])
    assert found.bytes == pytest.approx([4096, 4096, 4096, 4096, 0])
    assert stage.containing(np.array([0, 16_383, 16_384, 32_767, 32_768, -1])).tolist() == [0, 0, 1, 1, -1, -1]


def test_copies_inside_tcp_are_found_by_those_alone() -> None:
    """Half of the writes are copied without a transmission; the others are copied inside `tcp_out`."""
    planted = Planted([1448, 4096, 16_384] * 120)
    frame = planted.host("sender").frame
    inside = pl.col("sequence").rank("dense") % 2 == 0
    copies = frame.filter(pl.col("stage") == "copy_in").with_columns(inside.alias("inside"))
    moved = copies.filter("inside").select(
        "sequence", pl.col("cpu_ns").alias("more"), pl.col("payload_bytes").alias("b")
    )
    frame = frame.join(moved, on="sequence", how="left").with_columns(
        pl.when(pl.col("stage") == "tcp_out")
        .then(pl.col("cpu_ns") + pl.col("more").fill_null(0))
        .otherwise("cpu_ns")
        .alias("cpu_ns"),
        pl.when(pl.col("stage") == "tcp_out")
        .then(pl.col("b").fill_null(0))
        .otherwise("copied_bytes")
        .alias("copied_bytes"),
    )
    frame = frame.filter((pl.col("stage") != "copy_in") | pl.col("more").is_null()).drop("more", "b")
    host = _with(planted.host("sender"), with_copies_placed(frame.drop("copied_from").sort("row")))
    cost = known(copy_cost(host.frame))
    assert (cost.shown_by, cost.rows) == ("copy_in", 180)
    assert cost.ns_per_byte.value == pytest.approx(COSTS["copy_in"][1], rel=0.01)
    (found,) = totals(with_copies_apart(host))
    copy, tcp = found.stage("copy_in"), found.stage("tcp_out")
    assert copy is not None
    assert tcp is not None
    size = found.packet_bytes
    # What a copy takes each time stays with TCP, of the half that is copied there.
    assert tcp.cpu_ns.value == pytest.approx(900 + 0.004 * size + 45, rel=0.02)
    assert copy.cpu_ns.value == pytest.approx(0.11 * size + 45, rel=0.03)
    assert copy.is_complete


def test_copies_stay_where_nothing_shows_them() -> None:
    host = Planted([1448] * 100, left_out=frozenset({"copy_in"})).host("sender")
    host = _with(
        host, host.frame.with_columns(copied_bytes=pl.when(pl.col("stage") == "tcp_out").then(1448).otherwise(0))
    )
    assert copy_cost(host.frame) is None
    assert with_copies_apart(host) is host


def test_probes_are_taken_off() -> None:
    few, many = (Planted([1448] * 60, probes=probes).host("sender") for probes in (1, 9))
    assert EMPTY_PAIR_NS > 0
    assert few.frame["cpu_ns"].to_list() == many.frame["cpu_ns"].to_list()


def _with(host: HostStages, frame: pl.DataFrame) -> HostStages:
    return HostStages(host.host, host.role, frame, host.report)
