"""The explanation on the page: verdicts, budgets that add up, a map with letters, links that lead."""

import re

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.explain.situations import situations
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import Summary
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import (
    Anomaly,
    Budget,
    CellExplanation,
    Change,
    CyclePlace,
    Evidence,
    Explanation,
    Pattern,
    Phase,
    Spell,
    StateShare,
    Verdict,
)
from whyperf.explain.limits.judge import judge
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.report.explanation import Explained, explanation_section
from whyperf.report.explanation.bars import MAX_BARS, bars_of
from whyperf.report.explanation.cards import cards_of, where
from whyperf.report.explanation.over_time import BINS, shares, time_charts
from whyperf.report.explanation.section import MAX_DRAWN
from whyperf.report.explanation.strip import strips_of
from whyperf.report.explanation.styles import look_of


def budget(connection: int = 0, role: str = "sender", **ratios: float) -> Budget:
    life = 1_000_000_000
    parts = [StateShare(state=name, ns=round(ratio * life), ratio=ratio, spells=10) for name, ratio in ratios.items()]
    host = "near" if role == "sender" else "far"
    return Budget.model_validate({
        "trial": "log01-c0001", "host": host, "role": role, "connection": connection,
        "begin_ns": 0, "end_ns": life, "shares": [part.model_dump() for part in parts],
    })  # fmt: skip


def verdict(cause: Cause = Cause.RECEIVE_BUFFER, **more: object) -> Verdict:
    fields: dict[str, object] = {
        "cause": cause,
        "claim": "The buffer is small.",
        "lost_ratio": 0.5,
        "confidence": "high",
        "evidence": [],
        "refuted_by": "a larger one brought nothing.",
    }
    return Verdict.model_validate(fields | more)


def cell(
    name: str = "c0001", *verdicts: Verdict, state: str = "receive_window_buffer", rate: float = 1e9
) -> CellExplanation:
    return CellExplanation(
        cell=name,
        trial=f"log01-{name}",
        rate_bps=rate,
        dominant_state=state,
        missing=[],
        budgets=[budget(receive_window_buffer=0.75, write_call=0.25)],
        patterns=[],
        verdicts=list(verdicts) or [verdict()],
        headline="The buffer is small.",
    )


def explanation(*cells: CellExplanation, anomalies: list[Anomaly] | None = None) -> Explanation:
    return Explanation(experiment="x", cells=list(cells), anomalies=anomalies or [], headline="It is the buffer.")


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_every_state_has_a_look_of_its_own_and_a_definition(role: str) -> None:
    states = SenderState if role == "sender" else ReceiverState
    looks = [look_of(state.value, role) for state in states]
    assert all(look.definition for look in looks)
    assert len({look.name for look in looks}) == len({look.letters for look in looks}) == len(looks)
    assert len({(look.paint, look.texture) for look in looks}) == len(looks), "distinguished by more than the color"


def test_many_connections_are_one_bar_and_the_single_ones_are_folded_away() -> None:
    many = [budget(number, receive_window_buffer=0.5, write_call=0.5) for number in range(20)]
    many += [budget(number, "receiver", waiting=1.0) for number in range(20)]
    bars = bars_of(many)
    assert [bar.title for bar in bars.shown] == ["Sender, 20 connections together", "Receiver, 20 connections together"]
    assert len(bars.folded) == 2 * MAX_BARS
    assert sum(part.ratio for part in bars.shown[0].parts) == pytest.approx(1)


def test_the_course_is_the_budget_bin_by_bin() -> None:
    spans = pl.DataFrame({
        "begin_ns": [0, 250, 500], "end_ns": [250, 500, 1000], "state": ["write_call", "pacing", "write_call"],
    })  # fmt: skip
    parts = shares(spans, np.linspace(0, 1000, 5))
    assert parts["write_call"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert parts["pacing"].tolist() == [0.0, 1.0, 0.0, 0.0]
    whole = spans.with_columns(pl.lit("sender").alias("role"))
    (course,) = time_charts(whole)
    assert [layer.look.state for layer in course.layers] == ["pacing", "write_call"]
    assert all(layer.path.endswith("Z") and len(layer.path) < 30 * BINS for layer in course.layers)


def test_what_a_plan_can_change_has_the_command_that_tries_it() -> None:
    change = Change(factors={"window_bytes": 65536})
    by_hand, planned = cards_of(
        [verdict(change=Change(by_hand="Do.")), verdict(change=change)], lambda _: "", "whyperf explain x --try"
    )
    assert not by_hand.try_it
    assert planned.try_it == "whyperf explain x --try --verdict 2"


def test_what_was_verified_earlier_stands_with_its_cell(summary: Summary) -> None:
    shown = explanation(cell("c0001", verdict()), cell("c0002", verdict()))
    found = explanation_section(Explained(shown, earlier=[("c0002", "Verified earlier.")]), summary)
    assert [view.earlier for view in found.cells] == [(), ("Verified earlier.",)]


def test_evidence_of_the_log_leads_into_the_flow_page_at_its_time(summary: Summary) -> None:
    row = Evidence(words="Here.", table="segments", host="near", connection=3, from_ns=10, to_ns=20)
    other = Evidence(words="There.", table="tcp_info", host="near")
    explained = Explained(
        explanation(cell("c0001", verdict(evidence=[row, other]))), pages={"log01-c0001": "flow.html"}
    )
    (view,) = explanation_section(explained, summary).cells
    links = [row.link for row in view.cards[0].evidence]
    assert links == ["flow.html#connection=3&host=near&from=10&to=20", ""]
    assert view.cards[0].evidence[1].where == "table tcp_info, near"


def test_a_state_leads_to_each_of_its_longest_spans(summary: Summary) -> None:
    spells = [Spell(connection=1, from_ns=at, to_ns=at + 5_000_000) for at in (10, 80_000_000)]
    first = {"connection": 1, "from_ns": 10, "to_ns": 5_000_010}
    row = Evidence.model_validate(
        {"words": "Waited.", "table": "segments", "host": "near", "spells": spells, "spells_count": 7, **first}
    )
    explained = Explained(explanation(cell("c0001", verdict(evidence=[row]))), pages={"log01-c0001": "flow.html"})
    shown = explanation_section(explained, summary).cells[0].cards[0].evidence[0]
    assert shown.link.endswith("&from=10&to=5000010")
    assert shown.others == (("5.00 ms from 80.0 ms", "flow.html#connection=1&host=near&from=80000000&to=85000000"),)


def test_a_sweep_is_mapped_listed_and_drawn_in_part(summary: Summary) -> None:
    cells = [cell(result.id, rate=1e9 + number) for number, result in enumerate(summary.cells)]
    cells[5] = cell(cells[5].cell, verdict(Cause.NAGLE_DELAYED_ACK, lost_ratio=0.1), state="nagle")
    drop = Anomaly(
        kind="drop", cell=cells[7].cell, sweep="main", factor="write_size_bytes", level=1, ratio=0.8, neighbors=[],
        differences=[], cause=Cause.WRITE_WINDOW_MISMATCH, words="A drop.",
    )  # fmt: skip
    section = explanation_section(Explained(explanation(*cells, anomalies=[drop])), summary)
    (drawn_map,) = section.maps
    spots = [spot for row in drawn_map.rows for spot in row.spots if spot is not None]
    assert len(spots) == len(cells)
    assert {spot.look.letters for spot in spots} == {"Rb", "Na"}
    assert {cells[5].cell, cells[7].cell} <= section.drawn
    assert len(section.drawn) <= MAX_DRAWN
    assert section.table is not None
    assert len(section.table.rows) == len(cells)
    assert section.anomalies[0].kind == "Drop of 20 %"
    assert section.anomalies[0].link == f"#why-{cells[7].cell}"


def test_a_cycle_is_drawn_place_by_place() -> None:
    cycle = [
        CyclePlace(payload_bytes=1024, released_by="ack", ratio=1.0, wait_ns=1_200_000),
        CyclePlace(payload_bytes=6144, times=3, released_by="write", held_by="window", ratio=0.9),
    ]
    phase = Phase(
        begin_ns=0, end_ns=10, payloads=[(1024, 1), (6144, 3)], acks_per_turn=1.0, waits="the sender", ratio=1,
        words="1024 + 6144.", turn=cycle, turns=100,
    )  # fmt: skip
    (strip,) = strips_of([Pattern(trial="t", connection=0, phases=[phase], words="Stop and go.")], [])
    first, second = strip.phases[0].places
    assert (first.payload, first.by_ack, first.wait) == ("1,024", True, "1.20 ms later")
    assert (second.times, second.held) == ("× 3", "waited for the receive window")
    assert re.search(r"90 % of the cycles", second.released)


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarize_inputs(made.inputs(made.sweep([4096, 8192, 16384], [512, 1024, 2048, 4096, 8192], blocks=1)))


def test_rows_of_one_instant_are_reported_by_one_time() -> None:
    row = Evidence(words="Lost.", table="segments", host="near", from_ns=83_900_001, to_ns=83_900_002)
    assert where(row) == "table segments, near, at 83.9 ms"
    assert where(row.model_copy(update={"to_ns": 90_000_000})) == "table segments, near, 83.9 ms to 90.0 ms"


def test_verdicts_on_the_same_evidence_are_one_card() -> None:
    """What kind of loss it is, counters do not show: five cards had the same two figures and the same cost."""
    most = 0
    for stored in situations():
        verdicts = judge(stored.facts, stored.setup)
        cards = cards_of(verdicts, lambda _: "", "whyperf explain x --try")
        ranks = sorted(shown.rank for card in cards for shown in (card, *card.alike))
        assert ranks == list(range(1, len(verdicts) + 1))
        seen = [(card.lost, *(row.text for row in card.evidence)) for card in cards if card.evidence]
        assert len(seen) == len(set(seen)), stored.experiment
        most = max(most, *(len(card.alike) for card in cards))
    assert most >= 2
