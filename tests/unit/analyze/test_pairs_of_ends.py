"""Several pairs of agents in one trial: one clock, one numbering, CPUs counted once, a start that is measured."""

from typing import Any

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.measures.setup import start_skew
from whyperf.analyze.read.assemble import assemble, on_controller_clock
from whyperf.analyze.trials import measure_trials

MS = 1_000_000


def ends(*rows: tuple[str, str, int, float, int]) -> pl.DataFrame:
    """Ends of trial 1: host, role, offset, drift, when it was compared."""
    schema = ["host", "role", "offset_ns", "drift_ratio", "compared_mono_ns"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(schema), orient="row")
    return frame.with_columns(pl.lit("1").alias("trial"), pl.col("host").cast(pl.String))


def test_a_clock_that_drifts_is_followed() -> None:
    known = ends(("near", "sender", 1000, 1e-5, 5_000_001_000))
    table = pl.DataFrame({"trial": ["1"] * 2, "host": ["near"] * 2, "sample_mono_ns": [5_000_001_000, 15_000_001_000]})
    moved = on_controller_clock(table, known)
    # Ten seconds later the agent's clock is 100 µs further ahead.
    assert moved["sample_mono_ns"].to_list() == [5_000_000_000, 15_000_000_000 - 100_000]


def test_an_end_without_an_offset_keeps_its_instants() -> None:
    table = pl.DataFrame({"trial": ["1"], "host": ["far"], "sample_mono_ns": [7]})
    assert on_controller_clock(table, ends())["sample_mono_ns"].to_list() == [7]


def test_the_start_is_as_far_apart_as_the_first_calls_of_the_agents() -> None:
    known = ends(("near", "sender", 0, 0.0, 0), ("near2", "sender", 0, 0.0, 0), ("far", "receiver", 0, 0.0, 0))
    calls = [("near", 100), ("near", 130), ("near2", 140), ("near2", 190), ("far", 900)]
    flows = pl.DataFrame(
        {"trial": ["1"] * 5, "host": [host for host, _ in calls], "first_call_mono_ns": [at for _, at in calls]}
    )
    assert start_skew(flows, known).to_dicts() == [{"trial": "1", "agents": 2, "skew_ns": 40, "spread_ns": 90}]


def doubled(trial: made.Trial) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """The trial's manifest and tables as two pairs of agents on the same CPUs would leave them."""
    manifest = made.manifest(trial)
    hosts = manifest["hosts"]
    for end in ("near", "far"):
        hosts[f"{end}2"] = hosts[end] | {"cpus_of": end, "first_connection": 1}
    tables = {}
    for name, table in made.all_tables([trial]).items():
        again = table.with_columns(pl.col("host") + "2")
        tables[name] = pl.concat([table, again])
    return manifest, tables


def test_two_pairs_of_agents_add_up() -> None:
    trial = made.Trial(rate_bps=1e9, busy={"sender": 0.5, "receiver": 0.25}, load_share=1.0)
    manifest, tables = doubled(trial)
    inputs = assemble(made.plan([trial]), [manifest], tables)
    assert sorted(inputs.flows["connection"].unique()) == [0, 1]
    measured = measure_trials(inputs)
    assert measured.trials["goodput_bps"].item() == pytest.approx(2e9, rel=1e-3)
    # The CPUs' time counts once, the threads of both agents count.
    sender = measured.ends_cpu.filter(pl.col("role") == "sender").row(0, named=True)
    assert len(measured.ends_cpu) == 2
    assert sender["user_ns"] + sender["system_ns"] + sender["softirq_ns"] <= sender["wall_ns"]
    assert sender["load_threads_ns"] == pytest.approx(2 * 0.5 * sender["wall_ns"], rel=1e-3)
