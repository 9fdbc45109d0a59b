"""Facts from the best level that has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze.flow import levels, traces
from whyperf.analyze.flow import QUANTITIES, FlowFacts, FlowTrial, flow_facts, overview

LOG = f"""{traces.OPENING.strip()}
    0.1 > .  41:4385    ack 41  gso=1448 ctx=process unacked=4344
    0.2 > .  4385:5833  ack 41  ctx=net_rx unacked=5792
    0.3 < .  41:41      ack 5833 unacked=0 win=1000
    0.4 > .  41:1489    ack 41  ctx=net_rx again=timeout unacked=0
    0.5 < .  41:41      ack 5833 unacked=0 win=900
"""
COUNTERS: Mapping[str, int] = {
    "data_out_packets": 30,
    "data_out_segments": 100,
    "data_out_bytes": 144_800,
    "acks_in_count": 50,
    "duplicate_acks_in_count": 7,
    "net_rx_out_packets": 27,
    "process_out_packets": 3,
    "ksoftirqd_out_packets": 6,
    "retransmitted_out_packets": 2,
}
SAMPLES = levels.tcp_info(
    ("warm-up", {"bytes_sent": 1000, "data_segments_out": 10, "segments_in": 5}),
    (
        "measure",
        {
            "bytes_sent": 141_000,
            "data_segments_out": 110,
            "segments_in": 25,
            "retransmitted_segments": 3,
            "peer_window_bytes": 65000,
        },
    ),
)


def trial(folder: Path, log: bool = True, counters: bool = True, **report: Any) -> FlowTrial:
    samples = SAMPLES.with_columns(final=pl.lit(value=False))
    tables = {"flows.near": traces.flows({0: 5792}), "tcp_info.near": samples, "intervals.near": levels.calls(5792, 4)}
    if counters:
        tables["counters.near"] = levels.counters({"data_out_packets": 1000}, COUNTERS, phases=("warm-up", "measure"))
        tables["sizes.near"] = levels.sizes(("write_call", 4096, 3, 24_000), ("segment_out", 1024, 2, 2896))
    near = traces.trace(LOG) if log else None
    evidence = traces.evidence(near, **report)
    return traces.write(folder / "log01-c0001", near, near_evidence=evidence, tables=tables)


def value_of(facts: FlowFacts, name: str) -> tuple[float | None, str | None]:
    fact = facts.get("sender", name)
    return fact.value, fact.level


def test_a_complete_log_is_the_best_level(tmp_path: Path) -> None:
    facts = flow_facts(trial(tmp_path, counters=False))
    assert value_of(facts, "data_packets") == (3, "segments")
    assert value_of(facts, "data_segments") == (5, "segments")
    assert value_of(facts, "segment_bytes_mean") == (1448, "segments")
    assert facts.get("sender", "packet_bytes_mean").value == pytest.approx(7240 / 3)
    assert value_of(facts, "segments_per_ack") == (2.5, "segments")
    assert facts.get("sender", "context_net_rx_ratio").value == pytest.approx(2 / 3)
    assert value_of(facts, "retransmitted_timeout_packets") == (1, "segments")
    assert value_of(facts, "retransmitted_fast_packets") == (0, "segments")
    assert value_of(facts, "unacked_bytes_max") == (5792, "segments")
    assert value_of(facts, "window_bytes_min") == (900, "segments")
    assert value_of(facts, "duplicate_acks_count") == (0, "segments")
    assert value_of(facts, "write_size_bytes_mean") == (1448, "user")


def test_the_whole_life_has_the_preamble_too(tmp_path: Path) -> None:
    facts = flow_facts(trial(tmp_path, counters=False), whole_life=True)
    assert value_of(facts, "data_bytes") == (7280, "segments")
    assert value_of(facts, "data_packets") == (4, "segments")


def test_a_log_with_losses_never_counts(tmp_path: Path) -> None:
    facts = flow_facts(trial(tmp_path, lost_events_count=[{"cpu": 0, "count": 1}]))
    assert value_of(facts, "data_packets") == (30, "counters")
    assert value_of(facts, "unacked_bytes_max") == (None, None)
    assert value_of(facts, "window_bytes_max") == (65000, "user")


def test_counters_are_of_the_measured_phase(tmp_path: Path) -> None:
    facts = flow_facts(trial(tmp_path, log=False))
    assert value_of(facts, "data_bytes") == (144_800, "counters")
    assert value_of(facts, "segments_per_ack") == (2, "counters")
    assert value_of(facts, "context_net_rx_ratio") == (0.9, "counters")
    assert value_of(facts, "ksoftirqd_ratio") == (0.2, "counters")
    assert value_of(facts, "write_size_bytes_mean") == (8000, "counters")
    assert value_of(facts, "retransmitted_segments") == (3, "user")
    whole = flow_facts(trial(tmp_path, log=False), whole_life=True)
    assert value_of(whole, "data_packets") == (1030, "counters")


def test_what_the_kernel_counted_in_order_comes_from_it_first(tmp_path: Path) -> None:
    facts = flow_facts(trial(tmp_path))
    assert value_of(facts, "duplicate_acks_count") == (7, "counters")
    assert value_of(facts, "data_packets") == (3, "segments")


def test_without_privilege_tcp_info_gives_what_it_can(tmp_path: Path) -> None:
    facts = flow_facts(trial(tmp_path, log=False, counters=False))
    assert value_of(facts, "data_bytes") == (140_000, "user")
    assert value_of(facts, "segment_bytes_mean") == (1400, "user")
    assert value_of(facts, "segments_per_ack") == (5, "user")
    assert value_of(facts, "packet_bytes_mean") == (None, None)
    assert value_of(facts, "context_net_rx_ratio") == (None, None)


def test_a_count_an_old_kernel_does_not_give_is_unknown(tmp_path: Path) -> None:
    samples = levels.tcp_info(("measure", {"bytes_sent": None, "data_segments_out": 100, "segments_in": 20}))
    made = traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": samples})
    facts = flow_facts(made)
    assert value_of(facts, "data_bytes") == (None, None)
    assert value_of(facts, "data_segments") == (100, "user")


def test_a_trial_without_any_table_has_all_quantities_unknown(tmp_path: Path) -> None:
    facts = flow_facts(traces.write(tmp_path / "001-c0001"))
    assert len(facts.facts) == 2 * len(QUANTITIES)
    assert {fact.level for fact in facts.facts} == {None}


def test_one_connection_of_several(tmp_path: Path) -> None:
    log = traces.trace("1 > . 1:101 ack 1 conn=0\n2 > . 1:11 ack 1 conn=1\n3 > . 11:21 ack 1 conn=1")
    made = traces.write(tmp_path / "log01-c0001", log, tables={"flows.near": traces.flows({0: 100, 1: 20})})
    assert value_of(flow_facts(made, 1), "data_bytes") == (20, "segments")
    assert value_of(flow_facts(made), "data_bytes") == (120, "segments")


def test_the_overview_is_from_the_best_level_too(tmp_path: Path) -> None:
    logged = overview(trial(tmp_path / "log"), "near").row(0, named=True)
    assert (logged["payload_bytes"], logged["data_packets"], logged["level"]) == (5792, 4, "segments")
    assert logged["retransmitted_packets"] == 1
    lossy = overview(trial(tmp_path / "lossy", lost_events_count=[{"cpu": 0, "count": 1}]), "near")
    assert lossy.select("data_packets", "level").row(0) == (1030, "counters")
    user = overview(trial(tmp_path / "user", log=False, counters=False), "near").row(0, named=True)
    assert (user["data_segments"], user["acks"], user["data_packets"], user["level"]) == (110, 25, None, "user")


def test_receiver_facts_are_of_what_arrives(tmp_path: Path) -> None:
    log = traces.trace(
        """
        1 < . 1:2897    ack 1 gso=1448
        2 > . 1:1       ack 2897 why=second_segment
        3 < . 5793:7241 ack 1
        4 > . 1:1       ack 2897 why=out_of_order
        5 < . 2897:5793 ack 1 gso=1448
        """,
        "far",
        "receiver",
    )
    made = traces.write(tmp_path / "log01-c0001", far=log, tables={"flows.far": traces.flows({0: 7240})})
    facts = flow_facts(made)
    values = {fact.quantity.name: fact.value for fact in facts.facts if fact.role == "receiver"}
    assert values["data_segments"] == 5
    assert values["acks_count"] == 2
    assert values["ack_out_of_order_count"] == 1
    assert values["out_of_order_packets"] == 1
    assert values["context_net_rx_ratio"] is None
    assert pl.Series([fact.value for fact in facts.facts if fact.role == "sender"]).null_count() == len(QUANTITIES)


@pytest.mark.parametrize(("state", "octets"), [(1, 5792), (8, 5791), (9, 5791)])
def test_the_fin_is_no_payload(tmp_path: Path, state: int, octets: int) -> None:
    samples = levels.tcp_info(("measure", {"bytes_received": 5792, "state": state}))
    trial = traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": samples}, near_sends=False)
    assert flow_facts(trial, whole_life=True).get("receiver", "data_bytes").value == octets


def test_at_the_receiver_data_comes_in_and_acks_leave(tmp_path: Path) -> None:
    """Each count has a value of its own, so that none stands in for another."""
    counted = {"data_in_packets": 4, "data_in_segments": 40, "data_in_bytes": 4000, "acks_out_count": 8}
    counted |= {"data_out_packets": 5, "data_out_segments": 50, "data_out_bytes": 5000, "acks_in_count": 9}
    sampled = {"bytes_received": 300, "data_segments_in": 30, "segments_out": 16, "data_segments_out": 1}
    sampled |= {"bytes_sent": 700, "segments_in": 31, "state": 1}
    tables = {"counters.near": levels.counters(counted), "tcp_info.near": levels.tcp_info(("measure", sampled))}
    expected = {"counters": (4000, 40, 4, 8), "user": (300, 30, None, 15)}
    for level, figures in expected.items():
        own = tables if level == "counters" else {"tcp_info.near": tables["tcp_info.near"]}
        trial = traces.write(tmp_path / f"{level}-c0001", near_sends=False, tables=own)
        facts = flow_facts(trial, whole_life=True)
        names = ("data_bytes", "data_segments", "data_packets", "acks_count")
        assert tuple(facts.get("receiver", name).value for name in names) == figures
        row = overview(trial, "near").row(0, named=True)
        assert (row["data_bytes"], row["data_segments"], row["data_packets"], row["acks"]) == figures
