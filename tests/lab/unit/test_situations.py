"""Drawn situations: what is drawn, what is right to say of it, and that a seed is judged once."""

import json
import os
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from lab.situations import first_looks
from lab.situations.causes import CAUSES
from lab.situations.command import Wanted, run
from lab.situations.distributions import LOADS, NONE_CAUSES
from lab.situations.draw import situations
from lab.situations.figures import Share, Shares, classes, gains, shares, stated
from lab.situations.judge import OUTCOMES, Gain, Judged, judged, weighed_outcome
from lab.situations.labels import NO_CAUSE, UNCLEAR, labels_of
from lab.situations.printed import print_differences, read_judged
from lab.truth.catalog import Catalog
from lab.truth.design import ENDING_S, FIELD_PHASES, CellKind, Role, plan_truth
from lab.truth.levels import Explained, View
from lab.truth.workflow.on_model import simulated
from whyperf.cli.exits import UsageError
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CauseProbability, CellExplanation, JointGain

#: Any seed: what holds of it holds of all.
SEED = 7


@pytest.fixture(scope="module")
def drawn() -> Catalog:
    """Many situations, so that rare ones are among them."""
    return situations(1000, SEED)


def test_a_seed_gives_the_same_situations_in_another_process_and_at_another_count() -> None:
    program = f"from lab.situations.draw import situations; print(situations(5, {SEED}).model_dump_json())"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert Catalog.model_validate_json(done.stdout) == situations(5, SEED)
    assert situations(8, SEED).situation[:5] == situations(5, SEED).situation
    assert situations(5, SEED + 1).situation != situations(5, SEED).situation


def test_each_kind_of_cause_and_each_load_is_drawn(drawn: Catalog) -> None:
    kinds = Counter(part.name for situation in drawn.situation for part in situation.ingredient)
    assert {cause.name: kinds[cause.name] for cause in CAUSES if kinds[cause.name] < 5} == {}
    assert {situation.group for situation in drawn.situation} == {load.name for load in LOADS}


def test_only_streams_without_their_causes_end_when_they_are_measured(drawn: Catalog) -> None:
    """What is explained ends by itself, and so do exchanges, of which the last one counts in part."""
    catalog = drawn.without({situation.name for situation in drawn.situation[60:]})
    _, plan = plan_truth(catalog, trials=1, logs=0)
    groups = {situation.name: situation.group for situation in catalog.situation}
    ending: dict[tuple[bool, bool], set[bool]] = {}
    for cell in plan.cells:
        name, _, kind = cell.sweep.rpartition("-")
        if "duration_s" in cell.factors:
            phases_s = sum(float(cell.factors[phase]) for phase in FIELD_PHASES)
            is_cut = float(cell.factors["deadline_s"]) <= phases_s + ENDING_S + 0.001
            ending.setdefault((groups[name] == "stream", kind == "situation"), set()).add(is_cut)
    assert ending == {(True, False): {True}, (True, True): {False}, (False, True): {False}, (False, False): {False}}


def test_as_many_causes_are_drawn_as_is_stated(drawn: Catalog) -> None:
    none = sum(situation.ingredient[0].name == NO_CAUSE for situation in drawn.situation)
    numbers = Counter(len(situation.ingredient) for situation in drawn.situation)
    count = len(drawn.situation)
    for stated_share, found in ((NONE_CAUSES[0], none), (NONE_CAUSES[3], numbers[3])):
        # Three standard errors of a binomial share.
        error = (stated_share * (1 - stated_share) / count) ** 0.5
        assert found / count == pytest.approx(stated_share, abs=3 * error)


def test_shares_that_are_stated_add_up() -> None:
    assert sum(NONE_CAUSES) == pytest.approx(1)
    assert sum(load.weight for load in LOADS) == pytest.approx(1)
    for load in LOADS:
        assert sum(weight for _, weight in load.transports) == pytest.approx(1), load.name


def test_no_two_causes_of_a_situation_set_the_same(drawn: Catalog) -> None:
    """Otherwise a situation without one of them would have the other's dose, or neither."""
    for situation in drawn.situation:
        names = [name for part in situation.ingredient for name in part.factors if part.factors != {"workload": "crr"}]
        offloads = {"tso", "gso", "gro", "workload"}
        twice = [name for name, number in Counter(names).items() if number > 1 and name not in offloads]
        assert twice == [], situation.name


def test_what_computes_may_have_its_cpu_as_its_cause(drawn: Catalog) -> None:
    found = {
        (situation.group, part.name): part.causes
        for situation in drawn.situation
        for part in situation.ingredient
        if part.name in {"slow-reader", "slow-writer"}
    }
    for (group, name), causes in found.items():
        end = {"slow-reader": "receiver_cpu", "slow-writer": "sender_cpu"}[name]
        assert (end in causes) == group.startswith("computing"), group
    assert {group.startswith("computing") for group, _ in found} == {True, False}


def test_every_cause_has_a_name_that_a_verdict_can_give() -> None:
    for cause in CAUSES:
        assert set(cause.causes) <= set(Cause), cause.name
        assert len(cause.because) == len(cause.causes) - 1


def of_one(group: str = "stream", *causes: str, **part: object) -> Catalog:
    """A catalog of one situation with one cause, or several."""
    injected = part or {"factors": {"path_loss": 0.01}}
    parts = [{"name": name, "causes": [name], **injected} for name in causes or ("random_loss",)]
    return Catalog.model_validate(
        {
            "baseline": {"base": {"about": "", "factors": {}}},
            "situation": [{"name": "it", "about": "", "group": group, "baseline": "base", "ingredient": parts}],
        }
    )


def measured(**rates: float | None) -> dict[str, list[float]]:
    """Rates of the parts of the situation, one trial each."""
    return {f"it-{name}": [] if rate is None else [rate] for name, rate in rates.items()}


def said(*causes: str, joint: JointGain | None = None, **gain: float) -> Explained:
    """What the diagnosis of a trial says."""
    verdict = {"claim": "", "lost_ratio": 0.5, "confidence": "high", "evidence": [], "refuted_by": "", **gain}
    explanation = CellExplanation.model_validate(
        {
            "cell": "c0001",
            "trial": "log01-c0001",
            "rate_bps": 1e6,
            "dominant_state": None,
            "missing": [],
            "budgets": [],
            "patterns": [],
            "joint": [joint] if joint else [],
            "headline": "",
            "verdicts": [{"cause": cause, **verdict} for cause in causes],
        }
    )
    return Explained(Role("it", CellKind.SITUATION, {}, {}), View.SEGMENTS, "log01-c0001", explanation)


def test_a_cause_counts_where_removing_it_raises_the_rate_by_15_percent() -> None:
    catalog = of_one("stream", "random_loss", "send_buffer")
    label = labels_of(catalog, measured(situation=100, without1=115.1, without2=114.9, control=120)).known["it"]
    assert [part.name for part in label.right] == ["random_loss"]
    assert label.raises == {"random_loss": pytest.approx(1.151), "send_buffer": pytest.approx(1.149)}
    assert label.main == "random_loss"


def test_causes_that_only_help_together_count_together() -> None:
    catalog = of_one("stream", "random_loss", "send_buffer")
    together = labels_of(catalog, measured(situation=100, without1=101, without2=99, control=200)).known["it"]
    assert together.accepted == {"random_loss", "send_buffer"}
    assert together.together == 2
    none = labels_of(catalog, measured(situation=100, without1=101, without2=99, control=110)).known["it"]
    assert (none.counts, none.main) == (False, "none")


def test_what_injects_nothing_never_counts() -> None:
    catalog = of_one()
    part = catalog.situation[0].ingredient[0].model_copy(update={"name": NO_CAUSE})
    nothing = catalog.situation[0].model_copy(update={"ingredient": (part,)})
    catalog = catalog.model_copy(update={"situation": (nothing,)})
    assert not labels_of(catalog, measured(situation=100, without1=160)).known["it"].counts


def test_what_moved_nothing_has_a_label() -> None:
    label = labels_of(of_one(), measured(situation=0, without1=1e6)).known["it"]
    assert label.raises == {"random_loss": 1e6}


@pytest.mark.parametrize(
    ("now", "without", "control", "clear"),
    [
        ((90, 110), (120, 180), (120, 180), True),
        # The best trial with the cause is better than the worst without.
        ((90, 125), (120, 180), (120, 180), False),
        # Nothing counts: there is nothing to be unclear.
        ((90, 125), (100, 115), (100, 115), True),
        # None helps alone, and all together do.
        ((90, 110), (90, 115), (150, 160), True),
        ((90, 151), (90, 115), (150, 160), False),
    ],
)
def test_a_label_is_clear_where_the_trials_do_not_overlap(
    now: tuple[float, float], without: tuple[float, float], control: tuple[float, float], clear: bool
) -> None:
    parts = {"situation": now, "without1": without, "without2": (90, 90), "control": control}
    trials = {f"it-{name}": rates for name, rates in parts.items()}
    labels = labels_of(of_one("stream", "random_loss", "send_buffer"), trials)
    assert ("it" in labels.known, labels.void) == (clear, {} if clear else {"it": UNCLEAR})
    assert labels.unclear == ({"it"} - labels.known.keys())


@pytest.mark.parametrize(("fourth", "clear"), [(115, True), (95, False)])
def test_more_trials_may_have_two_pairs_of_sixteen_in_the_other_order(fourth: float, clear: bool) -> None:
    trials = {"it-situation": (90, 100, 112, 118), "it-without1": (fourth, 140, 150, 160)}
    assert ("it" in labels_of(of_one(), trials).known) is clear


@pytest.mark.parametrize(
    ("without", "found", "group", "outcome"),
    [
        # An injected cause that counts is to be named.
        (2e6, ("random_loss", "bottleneck"), "stream", "right"),
        (2e6, ("not_known", "random_loss"), "stream", "candidate"),
        (2e6, ("not_known", "burst_loss"), "stream", "not_known"),
        (2e6, ("bottleneck", "random_loss"), "stream", "wrong"),
        (2e6, (), "stream", "not_known"),
        # Nothing counts: only the capacity, the link, or nothing may be named.
        (1e6, ("capacity",), "stream", "right"),
        (1e6, ("bottleneck",), "stream", "right"),
        (1e6, (), "stream", "right"),
        (1e6, ("random_loss",), "stream", "wrong"),
        # Who waits for answers has the length of the path, and datagrams the rate that was asked for.
        (1e6, ("round_trip",), "requests", "right"),
        (1e6, ("round_trip",), "stream", "wrong"),
        (1e6, ("asked_rate",), "datagrams", "right"),
    ],
)
def test_what_a_first_verdict_is_worth(without: float, found: tuple[str, ...], group: str, outcome: str) -> None:
    labels = labels_of(of_one(group), measured(situation=1e6, without1=without)).known
    (row,) = judged(labels, [said(*found)])
    assert row.outcome == outcome


def test_predicted_gains_are_compared_with_what_the_removal_brought() -> None:
    catalog = of_one("stream", "random_loss", "send_buffer")
    labels = labels_of(catalog, measured(situation=100, without1=150, without2=90, control=300)).known
    joint = JointGain(
        causes=[Cause.RANDOM_LOSS, Cause.SEND_BUFFER],
        alone=1.5,
        gain=4,
        low=3.5,
        high=5,
        model_gain=4,
        basis="",
        words="",
    )
    rows = judged(
        labels,
        [
            said("random_loss", joint=joint, predicted_gain=1.4, predicted_low=1.2, predicted_high=1.6),
            said("send_buffer", predicted_gain=1.8, predicted_low=1.2, predicted_high=2),
            said("small_mtu", predicted_gain=2),
        ],
    )
    assert [row.single and (row.single.measured, row.single.is_inside) for row in rows] == [
        (1.5, True),
        (0.9, False),
        None,
    ]
    assert rows[0].joint == Gain(4, 3.5, 5, 3)
    found = gains(row.single for row in rows)
    assert (found.inside, found.useless, found.harmful) == (Share(2, 1), Share(2, 1), Share(2, 1))
    # |1.4 / 1.5 - 1| and |1.8 / 0.9 - 1|.
    assert found.median_error_ratio == pytest.approx((1 / 15 + 1) / 2)


def test_a_situation_is_listed_under_the_cause_that_helps_most() -> None:
    catalog = of_one("stream", "random_loss", "send_buffer")
    labels = labels_of(catalog, measured(situation=100, without1=150, without2=190, control=300)).known
    rows = judged(labels, [said("send_buffer")])
    assert classes(rows, lambda row: row.main)["send_buffer"]["right"] == Share(1, 1)
    assert stated(rows) == {"high": Share(1, 1)}


def test_what_was_not_carried_out_is_void_and_not_judged() -> None:
    catalog = of_one()
    rates = measured(situation=1e6, without1=None)
    labels = labels_of(catalog, rates)
    assert labels.void == {"it": "no trial of it-without1 was carried out"}
    assert judged(labels.known, [said("random_loss")]) == []
    assert labels.unclear == set()
    assert labels_of(catalog, measured(situation=1e6, without1=2e6)).void == {}
    assert labels_of(catalog, {}).void == {"it": "no trial of it was carried out"}


def test_other_programs_make_a_situation_void_unless_they_are_injected() -> None:
    rates, busy = measured(situation=1e6, without1=1e6), frozenset({"it-situation"})
    assert "other programs" in labels_of(of_one(), rates, busy).void["it"]
    on_a_path = of_one().baseline["base"].model_copy(update={"factors": {"path_rtt_ms": 5}})
    assert labels_of(of_one().model_copy(update={"baseline": {"base": on_a_path}}), rates, busy).void == {}
    burning = of_one("stream", "other_load", disturb=[{"kind": "burn", "host": "near", "programs": 1}])
    assert labels_of(burning, rates, busy).void == {}


@pytest.mark.parametrize(
    ("first", "probability", "is_found", "accepted", "worth"),
    [
        ("random_loss", 0.9, True, "random_loss", "right"),
        ("random_loss", 0.9, True, "policer", "wrong"),
        # Not probable enough to be named, or not found: only candidates.
        ("random_loss", 0.6, True, "random_loss", "candidate"),
        ("random_loss", 0.9, False, "random_loss", "candidate"),
        ("random_loss", 0.6, True, "bottleneck", "not_known"),
        ("another", 0.9, False, "not_known", "right"),
        ("random_loss", 0.9, True, "not_known", "wrong"),
    ],
)
def test_what_probabilities_are_worth(
    first: str, probability: float, is_found: bool, accepted: str, worth: str
) -> None:
    rest = CauseProbability(cause="policer", probability=1 - probability)
    probabilities = [CauseProbability(cause=first, probability=probability, is_found=is_found), rest]
    assert weighed_outcome(probabilities, {accepted}) == worth
    assert weighed_outcome([], {accepted}) is None


def test_each_situation_counts_once_at_a_level() -> None:
    def row(situation: str, outcome: str) -> Judged:
        return Judged(situation, "", "", View.USER, "", (), True, (), "", outcome)  # type: ignore[arg-type]  # a literal

    # The median of three trials, and the worse of two.
    of_three = [row("a", "right"), row("a", "wrong"), row("a", "right")]
    of_two = [row("b", "right"), row("b", "wrong")]
    found = shares([*of_three, *of_two, row("c", "right")])
    assert {name: share.number for name, share in found[View.USER].items()} == {
        "right": 2,
        "candidate": 0,
        "not_known": 0,
        "wrong": 1,
    }


def test_the_interval_of_a_share_is_wilsons() -> None:
    # Brown, Cai, DasGupta, Statistical Science 2001: formula (4), worked by hand for 8 of 10.
    assert Share(10, 8).interval == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert Share(0, 0).interval == (0.0, 1.0)


def test_a_seed_is_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "first-looks.txt"
    file.write_text("# comment\n")
    figures: Shares = {outcome: Share(9, 1) for outcome in OUTCOMES}
    figures["right"] = Share(9, 6)
    line = first_looks.line_of(date(2026, 1, 2), "abc", ("testbed", 5), (10, 1, 7), {"user": figures})
    assert line == "2026-01-02 abc testbed 5 drawn=10 void=1 counting=7 user=6/1/1/1"
    first_looks.append(line, file)
    assert file.read_text() == f"# comment\n{line}\n"
    with pytest.raises(first_looks.JudgedBeforeError, match="seed 5 on testbed was judged before"):
        first_looks.refuse_second_look("testbed", 5, file)
    first_looks.refuse_second_look("testbed", 6, file)
    first_looks.refuse_second_look("linux-6.18+veth", 5, file)
    monkeypatch.setattr(first_looks, "FILE", file)
    monkeypatch.setattr(first_looks.refuse_second_look, "__defaults__", (file,))
    with pytest.raises(UsageError, match="--again"):
        run(Wanted(3, 5, tmp_path))


def test_a_name_that_is_not_drawn_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no situation nothing; --dry-run lists them"):
        run(Wanted(3, 5, tmp_path, ("nothing",), dry_run=True))


def test_a_dry_run_prints_what_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(Wanted(3, SEED, tmp_path, dry_run=True)) == 0
    text = capsys.readouterr().out
    for situation in situations(3, SEED).situation:
        assert situation.name in text


def test_causes_that_are_judged_differently_elsewhere_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = labels_of(of_one(), measured(situation=1e6, without1=2e6)).known
    (row,) = judged(labels, [said("random_loss")])
    file = tmp_path / "judged.json"
    other = {"situation": "it", "main": "none", "view": "segments", "outcome": "wrong"}
    file.write_text(json.dumps({"judged": [other, {**other, "situation": "another"}]}))
    print_differences([row], read_judged(file), "there")
    assert capsys.readouterr().out.splitlines()[-1].split() == ["random_loss", "segments", "1", "1", "0"]
    file.write_text(json.dumps({"judged": [{**other, "outcome": "right"}]}))
    print_differences([row], read_judged(file), "there")
    assert "random_loss" not in capsys.readouterr().out
    file.write_text("[]")
    with pytest.raises(UsageError, match="is no list of judged situations"):
        read_judged(file)


def test_what_the_model_can_simulate_is_left_and_the_rest_is_counted(
    capsys: pytest.CaptureFixture[str], drawn: Catalog
) -> None:
    catalog = drawn.without({situation.name for situation in drawn.situation[60:]})
    left = simulated(catalog, "linux-6.18+veth")
    assert 0 < len(left.situation) < 60
    said_words = capsys.readouterr().err
    assert "of 60: it needs programs or settings of a real host" in said_words
    with pytest.raises(UsageError, match="can simulate none of these situations"):
        simulated(catalog.without({situation.name for situation in left.situation}), "linux-6.18+veth")
