"""Tables of the transmit studies next to ours: super-segments, copy steps, steering, functions, and I/O models."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize
from whyperf.analyze.cost.tree import Frame
from whyperf.analyze.flow import arrivals
from whyperf.analyze.summary import CellResult
from whyperf.plan import build
from whyperf.profile import find
from whyperf.record import Experiment
from whyperf.report.studies.atm import first_study_section
from whyperf.report.studies.function_costs import COUNTERPARTS, FEW, MANY, cost_of_function, functions_table
from whyperf.report.studies.packet_steering import steering_table
from whyperf.report.studies.published import read, study_section
from whyperf.report.studies.sending import CELLS, Sending, effect_table, lso_table, steps_table
from whyperf.report.table import Table

SENT = Sending(30_000, {"process": 0.6, "net_rx": 0.3, "worker": 0.06, "timer": 0.04}, {"process": 64_000.0})


@pytest.fixture
def made_cells(tmp_path: Path) -> Any:
    """Makes results of cells with these factors, the rate in Mbit/s."""

    def make(*cells: tuple[Mapping[str, object], float]) -> list[CellResult]:
        trials = [
            made.Trial(cell=f"c{number:04d}", duration_s=2, rate_bps=mbps * 1e6, factors=factors)
            for number, (factors, mbps) in enumerate(cells, start=1)
        ]
        made.write(tmp_path / "made", trials, made.plan(trials))
        return list(summarize(Experiment.open(tmp_path / "made")).cells)

    return make


def columns(table: Table) -> dict[str, list[str]]:
    return {column.heading: [row[place].text for row in table.rows] for place, column in enumerate(table.columns)}


def planned(profile: str) -> list[Mapping[str, Any]]:
    return [{**cell.factors, "sweep": cell.sweep} for cell in build(find(profile)).cells]


def test_super_segments_stand_next_to_those_of_the_study(made_cells: Any) -> None:
    _, rows = read("lso_segments")
    first = next(iter(CELLS.values()))[0]
    (cell,) = made_cells((first, 100))
    shown = columns(lso_table(rows, [cell], {cell.id: SENT}))
    assert shown["Connections, study"] == ["15", "15", "1", "15", "30,000"]
    assert shown["Super-segment, study"][0] == "40,572 bytes"
    assert shown["Super-segment, here"] == ["30,000 bytes", "", "", "", ""]
    assert [shown[f"{name}, here"][0] for name in ("Caller", "ACKs", "Worker", "Others")] == [
        "60 %",
        "30 %",
        "6.0 %",
        "4.0 %",
    ]
    assert shown["Caller's super-segment, here"][0] == "64,000 bytes"
    assert shown["ACKs' super-segment, here"][0] == ""


def test_a_step_of_8_segments_is_compared_with_one(made_cells: Any) -> None:
    sizes = [(size, connections) for connections in (1, 10) for size in (1448, 11_584)]
    cells = made_cells(
        *(
            ({"write_size_bytes": size, "connections": connections}, rate)
            for (size, connections), rate in zip(sizes, (100, 150, 200, 200), strict=True)
        )
    )
    cells = [cell.model_copy(update={"sweep": "write-size"}) for cell in cells]
    shown = columns(effect_table(cells))
    assert shown["1 → 8 segments, study"] == ["+25 %", "none"]
    assert shown["1 → 8 segments, here"] == ["+50 %", "+0 %"]
    steps = columns(steps_table(cells, {cells[0].id: SENT}))
    assert steps["Setting"] == ["1,448 bytes", "11,584 bytes"] * 2
    assert steps["Super-segment"] == ["30,000 bytes", "", "", ""]
    assert steps["Others"][0] == "10 %"


def test_arriving_packets_are_counted_by_context_and_cpu(made_cells: Any) -> None:
    log = pl.DataFrame(
        {
            "direction": ["in", "in", "in", "in", "out"],
            "payload_bytes": [1000, 1000, 500, 0, 1000],
            "context": ["worker", "worker", "net_rx", "net_rx", "process"],
            "cpu": [1, 1, 0, 0, 0],
        }
    )
    found = arrivals(log)
    assert found.rows() == [("worker", 1, 2, 2000), ("net_rx", 0, 1, 500)]
    cells = made_cells(
        ({"rps_cpus": "off", "threaded_napi": True}, 100),
        ({"rps_cpus": "auto", "threaded_napi": False}, 100),
        ({"rps_cpus": "off", "threaded_napi": False}, 100),
    )
    receiver = cells[0].cpu.receiver
    assert receiver is not None
    shown = columns(steering_table(cells, {cells[0].id: found.with_columns(cpu=pl.lit(receiver.cpus[0]))}))
    assert shown["Steering"] == ["Threaded NAPI", "RPS", "Off"]
    assert [shown[name] for name in ("Kernel thread", "Soft interrupt", "Process")] == [
        ["67 %", "", ""],
        ["33 %", "", ""],
        ["0.0 %", "", ""],
    ]
    assert shown["On CPUs of the receiver"][0] == "100 %"
    elsewhere = columns(steering_table(cells, {cells[0].id: found.with_columns(cpu=pl.lit(77))}))
    assert elsewhere["On CPUs of the receiver"][0] == "0.0 %"


def frame(name: str, value: float, *children: Frame) -> Frame:
    return Frame(name, "kernel", "", value, children=children)


def test_functions_count_with_their_callees_once_and_alone() -> None:
    inner = frame("tcp_write_xmit", 30.0, frame("tcp_write_xmit", 10.0))
    tree = frame("sender", 100.0, frame("tcp_sendmsg", 60.0, inner), frame("tcp_write_xmit.isra.0", 20.0))
    cost = cost_of_function(tree, "tcp_write_xmit")
    assert cost is not None
    assert (cost.inclusive, cost.own, cost.ratio) == (50.0, 50.0, 0.5)
    sending = cost_of_function(tree, "tcp_sendmsg")
    assert sending is not None
    assert (sending.inclusive, sending.own) == (60.0, 30.0)
    assert cost_of_function(tree, "tcp_send") is None
    passing = frame("ip_output", 0.3, frame("dst_output", 0.1), frame("ip_finish_output", 0.2 + 1e-16))
    rounded = cost_of_function(frame("sender", 1.0, passing), "ip_output")
    assert rounded is not None
    assert rounded.own == 0


def test_the_functions_of_the_study_have_their_counterparts_and_ratios() -> None:
    _, rows = read("uperf_function_cost")
    assert [row["function"] for row in rows] == list(COUNTERPARTS)
    many = frame("sender", 400.0, frame("tcp_sendmsg", 200.0, frame("tcp_write_xmit", 120.0)))
    few = frame("sender", 100.0, frame("tcp_sendmsg", 50.0, frame("tcp_write_xmit", 40.0)))
    shown = columns(functions_table(rows, many, few))
    assert shown["Function, here"][:3] == ["tcp_sendmsg", "tcp_write_xmit", "__tcp_transmit_skb"]
    assert shown["Ratio, study"][:3] == ["1.68", "3.94", ""]
    assert shown["Ratio, here"][:3] == ["4.00", "3.00", ""]
    assert shown["Ratio of own cost, here"][0] == "8.00"
    assert shown["A, share here"][0] == "50 %"
    for levels in (MANY, FEW):
        assert any(all(cell[name] == levels[name] for name in levels) for cell in planned("transmit-cost"))


def test_both_io_models_stand_next_to_the_studys_row(tmp_path: Path) -> None:
    trials = [
        made.Trial(
            cell=f"c000{number}", duration_s=2, rate_bps=rate, factors={"io_model": model, "write_size_bytes": 8192}
        )
        for number, (rate, model) in enumerate(((1e9, "blocking"), (2e9, "epoll")), start=1)
    ]
    made.write(tmp_path / "both", trials, made.plan(trials))
    summary = summarize(Experiment.open(tmp_path / "both"))
    section = study_section("threads-or-events", summary, {})
    assert section is not None
    shown = columns(section.tables[0].table)
    assert shown["Connections"] == ["1", "8", "32", "100", "400", "1,000"]
    assert shown["Rate, study"][0] == "896.23 Mbit/s"
    threads, events = shown["Rate, threads"], shown["Rate, events"]
    slow, fast = (float(rates[0].split()[0].replace(",", "")) for rates in (threads, events))
    assert fast == pytest.approx(2 * slow, rel=0.01)
    assert threads[1:] == events[1:] == [""] * 5


def test_points_of_the_atm_study_stand_next_to_those_of_the_model(made_cells: Any) -> None:
    hosts = "sparc2+sba-100@2.2.6"
    sizes = {"hosts": hosts, "write_size_bytes": 8192, "read_size_bytes": 8192}
    # The study has 14 and 22 Mbit/s.
    cells = made_cells((sizes | {"window_bytes": 4096}, 15.4), (sizes | {"window_bytes": 16384}, 17.6))
    summary: Any = SimpleNamespace(cells=cells)
    assert first_study_section("quick", summary) is None
    section = first_study_section("first-study", summary)
    assert section is not None
    points, _, errors = (columns(table.table) for table in section.tables)
    assert points["Window (bytes)"] == ["4,096", "16,384"]
    assert points["Reported (Mbit/s)"] == ["14", "22"]
    assert points["Error"] == ["+10.0 %", "-20.0 %"]
    assert errors["Hosts"] == [hosts, "all"]
    assert errors["Points"] == ["2", "2"]
    assert errors["Mean error"] == ["15 %"] * 2
    assert errors["Largest error"] == ["20 %"] * 2
