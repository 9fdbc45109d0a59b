"""Drawn situations of programs of others: what is drawn, what each run lacks, and what a watch is worth."""

import re
from collections import Counter

import pytest

from lab.situations.labels import NO_CAUSE, labels_of
from lab.situations.programs import runs
from lab.situations.programs.causes import CAUSES
from lab.situations.programs.draw import DOSE, DrawnPrograms, draw_programs
from lab.situations.programs.served import SERVED
from lab.truth.one_sided import WatchedView
from lab.truth.watched.catalog import PLACEHOLDERS, commands_of
from lab.truth.watched.grade import ViewGrade, WatchedRun
from whyperf.explain.causes import Cause

#: Any seed: what holds of it holds of all.
SEED = 7


@pytest.fixture(scope="module")
def drawn() -> DrawnPrograms:
    """Many situations, so that rare ones are among them."""
    return draw_programs(1000, SEED)


def test_a_seed_gives_the_same_situations_at_another_count(drawn: DrawnPrograms) -> None:
    few = draw_programs(5, SEED)
    assert few.catalog.situation == drawn.catalog.situation[:5]
    assert few.watched.case == drawn.watched.case[:5]


def test_each_program_and_each_cause_of_its_options_is_drawn(drawn: DrawnPrograms) -> None:
    assert {situation.group for situation in drawn.catalog.situation} == {served.name for served in SERVED}
    assert sum(served.weight for served in SERVED) == pytest.approx(1)
    kinds = Counter(part.name for situation in drawn.catalog.situation for part in situation.ingredient)
    assert [cause.name for cause in CAUSES if not kinds[cause.name]] == []
    assert {cause for found in CAUSES for cause in found.causes} <= set(Cause)
    assert {case.from_start for case in drawn.watched.case} == {True, False}


def test_every_command_is_filled_in(drawn: DrawnPrograms) -> None:
    fill = dict.fromkeys(PLACEHOLDERS, "x")
    for case in drawn.watched.case:
        for dose in range(len(case.doses) + 1):
            commands = commands_of(drawn.watched, case, dose, fill)
            texts = [*commands.files.values(), *commands.client, *commands.server]
            assert not [text for text in texts if re.search(r"@[a-z]+@", text)], case.name


def test_the_runs_of_a_situation_lack_none_one_and_all_of_its_causes(drawn: DrawnPrograms) -> None:
    pairs = zip(drawn.catalog.situation, drawn.watched.case, strict=True)
    situation, case = next(pair for pair in pairs if len(pair[0].ingredient) == 3)
    assert len(case.doses) == 4
    amounts = [_amount(case.change(dose)) for dose in range(5)]
    own = [_amount(part) for part in situation.ingredient]
    assert amounts == [0, sum(own), *(sum(own) - amount for amount in own)]
    single = next(case for case in drawn.watched.case if len(case.doses) == 1)
    assert _amount(single.change(0)) == 0


def _amount(change: object) -> int:
    """How many words, settings and disturbances it has."""
    return sum(len(getattr(change, name)) for name in ("client", "server", "fill", "factors", "disturb"))


def test_a_view_is_judged_by_what_removing_the_causes_brought(drawn: DrawnPrograms) -> None:
    situation = next(found for found in drawn.catalog.situation if found.main_causes == ("receive_buffer",))
    views = (WatchedView.BOTH_SEGMENTS, WatchedView.SENDER_USER)
    said = {views[0]: ("receive_buffer",), views[1]: ("not_known", "send_buffer")}
    grades = tuple(
        ViewGrade(view=view, outcome="wrong", named=said[view], confidence="high", closed_ratio=1.0, headline="")
        for view in views
    )
    made = [
        WatchedRun(case=situation.name, dose=0, block=1, rate_bps=2e6),
        WatchedRun(case=situation.name, dose=0, block=2, rate_bps=3e6),
        WatchedRun(case=situation.name, dose=DOSE, block=1, rate_bps=1e6, grades=grades),
        WatchedRun(case=situation.name, dose=DOSE, block=2, void="late"),
    ]
    rates = runs.rates_of(drawn, made)
    labels = labels_of(drawn.catalog, rates).known
    assert set(labels) == {situation.name}
    assert labels[situation.name].together == 2.5
    rows = runs.judged(labels, made)
    assert [(row.view, row.outcome) for row in rows] == [(views[0], "right"), (views[1], "not_known")]
    assert {row.main for row in rows} == {situation.ingredient[0].name}


def test_a_program_without_a_cause_has_its_own_limits(drawn: DrawnPrograms) -> None:
    situation = next(
        found for found in drawn.catalog.situation if found.group == "ssh" and found.ingredient[0].name == NO_CAUSE
    )
    grade = ViewGrade(
        view=WatchedView.SENDER_USER,
        outcome="wrong",
        named=("sender_cpu",),
        confidence="high",
        closed_ratio=1.0,
        headline="",
    )
    made = [
        WatchedRun(case=situation.name, dose=0, block=1, rate_bps=3e6),
        WatchedRun(case=situation.name, dose=DOSE, block=1, rate_bps=1e6, grades=(grade,)),
    ]
    labels = labels_of(drawn.catalog, runs.rates_of(drawn, made)).known
    assert not labels[situation.name].counts
    assert [row.outcome for row in runs.judged(labels, made)] == ["right"]
