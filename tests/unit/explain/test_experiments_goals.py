"""What experiments are to make better: the figure of each trial, what is refused, and what is said of a latency."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze import workload_samples as samples
from tests.unit.analyze.workload_samples import Exchange
from tests.unit.explain.experiment_samples import tried, why
from whyperf.analyze.measures.goodput import measure
from whyperf.analyze.read.inputs import Inputs
from whyperf.explain.experiments.answer import Answer, Why
from whyperf.explain.experiments.goals import MIN_ABOVE, NS, RATE, SLOWER, Goal, Obstacle, Percentile, goal_of
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.wording.experiments import answer_words, bar_words, goal_words, headline_of, not_reproduced_words
from whyperf.plan import Plan

SIZE = {"by": "fixed", "bytes": 100}
ASK = [
    {"count": 1, "can_fail": False, "operation": {"operation": name, "connection": 0, "size": SIZE}}
    for name in ("write", "read")
]
SEND = ASK[:1]
MS = 1_000_000
#: 990 of 1 ms, 10 of 40 ms.
STALLS = (("service", MS, MS, 990), ("service", 40 * MS, 40 * MS, 10), ("wire", 5, 5, 1000))


def workload(**transactions: Any) -> dict[str, Any]:
    """A group with these transactions, by their steps."""
    arrivals = {"by": "closed"}
    listed = [
        {"name": name, "outstanding_count": 1, "steps": steps, "arrivals": arrivals, "repeat": {"by": "trial"}}
        for name, steps in transactions.items()
    ]
    group = {"name": "clients", "is_connected": True, "strands_count": 1, "transactions": listed}
    planned = {"name": "own", "seed": 1, "groups": [group]}
    return {"name": "own", "metric": "transactions", "workload": planned, "datagrams": None}


def exchange(**changed: Any) -> Exchange:
    trial = made.Trial(duration_s=2, factors={"workload": "own"})
    return Exchange(**{"trial": trial, "latencies": STALLS, "workload": workload(rr=ASK), **changed})


def plan_of(*exchanges: Exchange) -> Plan:
    planned = made.plan([each.trial for each in exchanges])
    planned["workloads"] = {f"key-{each.trial.cell}": dict(each.workload) for each in exchanges}
    for cell in planned["cells"]:
        cell["workload"] = f"key-{cell['id']}"
    return Plan.model_validate_json(json.dumps(planned))


def speeds(goal: Goal, *exchanges: Exchange) -> list[float | None]:
    """Of each trial."""
    inputs = samples.inputs(*exchanges)
    return list(goal.speeds(plan_of(*exchanges), inputs, _measured(inputs)).values())


def _measured(inputs: Inputs) -> Any:
    return measure(inputs.trials, inputs.flows, inputs.intervals, inputs.transactions)


def found(**changed: Any) -> CellExplanation:
    empty: dict[str, Any] = {
        "headline": "",
        "budgets": [],
        "patterns": [],
        "verdicts": [],
        "missing": [],
        "dominant_state": None,
    }
    fields = {"cell": "c0001", "trial": "001-c0001", "rate_bps": 1e6, **empty}
    return CellExplanation.model_validate(fields | changed)


@pytest.mark.parametrize(
    ("text", "name", "part"),
    [
        ("p50", "p50", Fraction(1, 2)),
        ("p99", "p99", Fraction(99, 100)),
        ("p99.9", "p99.9", Fraction(999, 1000)),
        ("p999", "p99.9", Fraction(999, 1000)),
        ("p99.999", "p99.999", Fraction(99_999, 100_000)),
    ],
)
def test_names_of_percentiles(text: str, name: str, part: Fraction) -> None:
    goal = goal_of(text)
    assert isinstance(goal, Percentile)
    assert (goal.name, goal.part, goal.kind) == (name, part, "latency")


@pytest.mark.parametrize("text", ["", "p", "p5", "p49", "p100.5", "99", "P99", "p99.", "p99.9999", "throughput", "p٩٩"])
def test_what_is_no_goal(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(text)}$"):
        goal_of(text)


def test_the_rate_is_that_of_the_workloads_metric() -> None:
    assert goal_of("rate") is RATE
    (per_s,) = speeds(RATE, exchange(per_s=500))
    assert per_s == pytest.approx(500, rel=0.01)
    (bps,) = speeds(RATE, exchange(per_s=500, workload={**workload(rr=ASK), "metric": "goodput"}))
    assert bps == pytest.approx(500 * 400 * 8, rel=0.01)


def test_a_percentile_is_of_all_connections_that_ask() -> None:
    (median,) = speeds(goal_of("p50"), exchange())
    assert median == pytest.approx(1000)
    both = exchange(names=(("clients", "rr"), ("clients", "more")), workload=workload(rr=ASK, more=ASK))
    (pooled,) = speeds(goal_of("p99.5"), both)
    assert pooled == pytest.approx(1e3 / 40)
    (alone,) = speeds(goal_of("p99.5"), exchange())
    assert alone is None, "1,000 transactions have 5 above"
    mixed = exchange(names=(("clients", "rr"), ("clients", "bulk")), workload=workload(rr=ASK, bulk=SEND))
    assert speeds(goal_of("p99.5"), mixed) == [None], "the bulk data does not count"


def test_a_latency_is_from_the_intended_start_where_there_is_one() -> None:
    waits = (*STALLS, ("intended", 9 * MS, 9 * MS, 1000))
    assert speeds(goal_of("p50"), exchange(latencies=waits)) == [pytest.approx(1e3 / 9)]


@pytest.mark.parametrize(("above", "is_figure"), [(MIN_ABOVE, True), (MIN_ABOVE - 1, False)])
def test_no_figure_is_made_of_too_few_transactions(above: int, *, is_figure: bool) -> None:
    (speed,) = speeds(goal_of("p90"), exchange(latencies=(("service", MS, MS, 10 * above),)))
    assert (speed is not None) == is_figure


def test_the_first_look_says_how_long_a_trial_must_be() -> None:
    usual = exchange(per_s=500)
    first = goal_of("p99").first(plan_of(usual), samples.inputs(usual), found())
    assert (first.value, first.unit) == (MS, NS)
    assert first.least_s == pytest.approx(SLOWER * 100 * MIN_ABOVE / 500, rel=0.01)
    few = goal_of("p99.9").first(plan_of(usual), samples.inputs(usual), found())
    assert few.value is None
    assert few.least_s == pytest.approx(10 * first.least_s)
    assert RATE.first(plan_of(usual), samples.inputs(usual), found(transactions_per_s=7.0)).value == 7.0
    assert RATE.first(plan_of(usual), samples.inputs(usual), found()).unit == "bit/s"


def test_what_has_no_such_figure_is_refused_in_a_sentence() -> None:
    bulk = exchange(workload=workload(rr=SEND))
    with pytest.raises(Obstacle, match="p99 is of transactions that ask and are answered, and this load has none"):
        goal_of("p99").first(plan_of(bulk), samples.inputs(bulk), found())
    RATE.refuse(plan_of(bulk), "c0001")
    idle = exchange(per_s=0)
    with pytest.raises(Obstacle, match="No transaction ended"):
        goal_of("p99").first(plan_of(idle), samples.inputs(idle), found())
    slow = exchange(per_s=20)
    first = goal_of("p99").first(plan_of(slow), samples.inputs(slow), found())
    with pytest.raises(Obstacle, match=r"needs 1,000 transactions in a trial, and this load makes 20.* --budget 121"):
        goal_of("p99").refuse_short(first, 120.3, 30.0)
    goal_of("p99").refuse_short(first, 29.0, 30.0)
    RATE.refuse_short(first, 120.0, 30.0)
    ends = exchange(trial=replace(slow.trial, transfer_bytes=1000))
    with pytest.raises(Obstacle, match=r"this load ends after 40:"):
        goal_of("p99").first(plan_of(ends), samples.inputs(slow), found())


PROOF = Answer(
    known="proved", causes=["nagle_delayed_ack"], tried="no-delay", factors={"no_delay": True},
    gain=137.0, low=101.0, high=180.0, pairs=3,
)  # fmt: skip


def latency(**changed: Any) -> Why:
    return why(**{"goal": "p99", "unit": NS, "rate": 41.2e6, "original": 41.2e6, "answer": PROOF, **changed})


def test_a_latency_falls() -> None:
    assert headline_of(latency()) == (
        "Nagle's algorithm with delayed ACKs: proved. The p99 of a transaction falls from 41.2 ms to 301 µs (137 ×; "
        "101–180 in 3 pairs) with no_delay = true."
    )
    assert goal_words(latency()) == "The p99 of a transaction: 41.2 ms."
    assert goal_words(latency(original=None)) == goal_words(latency(original=math.nan)) == "The p99 of a transaction."
    assert "without one change over that with it" in bar_words(latency())
    assert "has 82.4 ms now, and had 41.2 ms" in not_reproduced_words(latency(is_reproduced=False, original=82.4e6))
    for known in ("likely", "nothing_raises", "not_known", "seen", "nothing"):
        assert " rate " not in headline_of(latency(answer=PROOF.model_copy(update={"known": known})))
    assert "has no text" in headline_of(latency(answer=PROOF.model_copy(update={"gain": 0.0})))
    assert "falls 137 ×" in answer_words(PROOF, goal="p99.9")


def test_what_was_kept_before_there_were_goals_is_of_the_rate() -> None:
    document = why(tried=[tried("no-delay", 2.0, 1.5, 2.5)]).model_dump(mode="json")
    assert document.pop("goal") == "rate"
    old = Why.model_validate(document)
    assert (old.goal, goal_words(old)) == ("rate", "")
    assert "The rate rises from" in headline_of(old)
    assert bar_words(old) == "A bar is the rate with one change over the rate without"
