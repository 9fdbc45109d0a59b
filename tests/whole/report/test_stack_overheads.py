"""The comparison of shares of CPU cycles with those of Cai et al."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from whyperf.analyze.cost.classes import classes
from whyperf.analyze.cost.result import Amount, CellCost, ClassCost, Cost, SideCost
from whyperf.report.charts.blocks import Section
from whyperf.report.studies.published import read
from whyperf.report.studies.stack_overheads import TABLE, categories, section_of

SHARES = {"copy": 0.25, "files": 0.01, "acks": 0.1, "ip": 0.05, "memory": 0.2, "interrupts": 0.3, "own_tracing": 0.09}


def side(role: str, shares: Mapping[str, float]) -> SideCost:
    made = tuple(
        ClassCost(
            name=name,
            title=name,
            exclusive=Amount(mean=1000 * share),
            per_transaction=None,
            share=share,
            per=None,
            per_kbyte=None,
            cycles_each=None,
            functions=(),
            by_trial=(1000 * share,),
        )
        for name, share in shares.items()
    )
    return SideCost(
        role=role,
        unit="tsc",
        trials=("001",),
        total=Amount(mean=1000),
        by_trial=(1000,),
        in_threads=None,
        in_softirqs=None,
        per_transaction=None,
        samples=1,
        classes=made,
    )


def cell(number: int, shares: Mapping[str, float], **factors: Any) -> CellCost:
    sides = (side("sender", shares), side("receiver", {"copy": 1.0}))
    return CellCost(id=f"c{number:04d}", metric="goodput", factors=factors, sides=sides)


def section(*cells: CellCost) -> Section:
    found = section_of(Cost(experiment="test", cells=cells, notes=()))
    assert found is not None
    return found


def test_each_class_of_cost_is_in_one_row() -> None:
    counted = Counter(name for category in categories() for name in category.classes)
    assert counted == Counter(entry.name for entry in classes())


def test_each_category_of_the_study_is_in_one_row() -> None:
    source, rows = read(TABLE)
    assert "SIGCOMM 2021" in source
    assert Counter(name for category in categories() for name in category.theirs) == Counter(
        rows[0].keys() - {"config", "side"}
    )
    for row in rows:
        assert sum(category.published(row) for category in categories()) == pytest.approx(100)
        # What functions outside their table leave.
        assert 4 < categories()[-1].published(row) < 8


def test_published_shares_stand_next_to_those_of_the_same_setting() -> None:
    none = cell(1, SHARES, gso=False, mtu_bytes=1500, connections=1)
    all_on = cell(2, {"copy": 0.6, "contention": 0.4}, gso=True, mtu_bytes=9000, connections=1)
    more = cell(3, {"copy": 0.5, "idle": 0.5}, gso=False, mtu_bytes=1500, connections=8)
    sender, receiver, all_sender, all_receiver = (table.table for table in section(more, none, all_on).tables)
    assert [column.heading for column in sender.columns][1:3] == ["No offloads, study", "No offloads, here"]
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in sender.rows}
    # No offloads; offloads, which were not measured; MTU 9000; with aRFS.
    assert rows["Data copy"] == ["5.9 %", "25 %", "29 %", "", "37 %", "60 %", "48 %"]
    assert rows["TCP/IP processing"][:2] == ["41 %", "15 %"]
    assert rows["skb management, memory"][:2] == ["18 %", "20 %"]
    assert rows["Lock/unlock"][4:6] == ["6.9 %", "40 %"]
    assert rows["Others"][:2] == ["4.9 %", "31 %"]
    assert rows["In none of their categories"][:2] == ["5.8 %", "9.0 %"]
    assert [entry.text for entry in receiver.rows[0]][:3] == ["Data copy", "7.4 %", "100 %"]
    assert [row[0].text for row in all_sender.rows] == [
        "GSO off, MTU 1,500 bytes, connections 8",
        "GSO off, MTU 1,500 bytes, connections 1",
        "GSO on, MTU 9,000 bytes, connections 1",
    ]
    assert [entry.text for entry in all_sender.rows[0]][-1] == "50 %"
    assert [entry.text for entry in all_receiver.rows[2]][1] == "100 %"
