"""Grades of watched programs: which runs count, what is right, which bars are reached."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from lab.truth.one_sided import OUTCOMES, Outcome, WatchedView
from lab.truth.output.page import with_figures
from lab.truth.watched.catalog import (
    PLACEHOLDERS,
    WatchedCatalog,
    commands_of,
    load_watched,
    plan_watched,
    sweep_of,
)
from lab.truth.watched.grade import (
    BARS,
    JudgedRun,
    Sight,
    ViewGrade,
    WatchedRun,
    confusions,
    figures,
    judged,
    view_grade,
)
from lab.truth.watched.page import as_json, figure_rows, markdown, run_rows
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, Verdict
from whyperf.profile import ProfileError

SMALL = """
[program.pump]
about = "It sends."
needs = { pump = "pumps" }
server = ["pump", "@folder@"]
client = ["pump", "@address@:@port@", "@more@"]
[program.pump.files]
"pump.conf" = "port @port@ @more@"
[baseline.near]
about = "A veth pair."
[baseline.metro]
about = "2 ms."
factors = { path_rtt_ms = 2 }
[[case]]
name = "pump-window"
causes = ["receive_buffer", "send_buffer"]
also = { send_buffer = "It sets both." }
program = "pump"
baseline = "metro"
fill = { more = "-m" }
doses = [{ client = ["-w", "8K"] }, { factors = { path_rtt_ms = 20 }, fill = { more = "-n" } }]
[[case]]
name = "pump-far"
causes = ["round_trip"]
program = "pump"
baseline = "near"
fill = { more = "" }
doses = [{ factors = { path_rtt_ms = 5 } }]
"""
VALUES = {"address": "192.0.2.2", "port": "20001", "folder": "/tmp/x", "python": "python3", "peer": "peer.py"}
VIEWS = [view for sight in Sight for view in sight.views]


def catalog_of(folder: Path, text: str = SMALL) -> WatchedCatalog:
    path = folder / "watched.toml"
    path.write_text(text, encoding="utf-8")
    return load_watched(path)


@pytest.fixture
def catalog(tmp_path: Path) -> WatchedCatalog:
    return catalog_of(tmp_path)


def explanation(cause: str, left_open: list[str] | None = None) -> CellExplanation:
    verdict = Verdict(
        cause=Cause(cause),
        claim=f"It is {cause}.",
        values={"causes": left_open or []},
        confidence="medium",
        evidence=[],
        refuted_by="",
    )
    return CellExplanation(
        cell="c0001", trial="001-c0001", rate_bps=1e6, dominant_state=None, missing=[], budgets=[], patterns=[],
        verdicts=[verdict], headline=verdict.claim,
    )  # fmt: skip


def grade(view: WatchedView, outcome: Outcome, cause: str = "bottleneck") -> ViewGrade:
    return ViewGrade(view=view, outcome=outcome, named=(cause,), confidence="low", closed_ratio=None, headline="")


def run(case: str, dose: int, rate: float | None, *, block: int = 1, outcome: Outcome = "right") -> WatchedRun:
    grades = () if dose == 0 else tuple(grade(view, outcome) for view in VIEWS)
    void = "the path was late" if rate is None else None
    return WatchedRun(case=case, dose=dose, block=block, rate_bps=rate, void=void, grades=grades)


def test_the_shipped_catalog_has_more_than_twenty_causes_in_two_doses_with_programs_of_others() -> None:
    shipped = load_watched()
    assert len(shipped.case) >= 20
    assert all(len(case.doses) >= 2 for case in shipped.case)
    assert len({case.causes[0] for case in shipped.case}) >= 20
    assert {"iperf3", "web", "redis", "rsync", "ssh", "python"} <= {case.program for case in shipped.case}
    # Everything that is to be replaced is.
    for case in shipped.case:
        for dose in range(len(case.doses) + 1):
            commands = commands_of(shipped, case, dose, VALUES)
            texts = [*commands.files, *commands.files.values(), *commands.server, *commands.client]
            texts += [part for command in (*commands.far_setup, *commands.near_setup) for part in command]
            assert not [word for word in (*PLACEHOLDERS, *case.fill) if f"@{word}@" in " ".join(texts)]
            assert "@listen@" not in " ".join(texts)
            assert "@cipher@" not in " ".join(texts)
    assert len(plan_watched(shipped).cells) == sum(len(case.doses) + 1 for case in shipped.case)


def test_a_run_has_the_path_of_its_baseline_and_dose(catalog: WatchedCatalog) -> None:
    plan = plan_watched(catalog)
    factors = {cell.sweep: cell.factors for cell in plan.cells}
    rtts = [factors[sweep_of(catalog.case[0], dose)]["path_rtt_ms"] for dose in range(3)]
    assert rtts == [2, 2, 20]
    assert "path_rtt_ms" not in factors["pump-far-baseline"]


def test_words_are_filled_in_everywhere(catalog: WatchedCatalog) -> None:
    case = catalog.case[0]
    first, second = (commands_of(catalog, case, dose, VALUES) for dose in (1, 2))
    assert first.server == ("pump", "/tmp/x")
    assert first.client == ("pump", "192.0.2.2:20001", "-m", "-w", "8K")
    assert first.files == {"pump.conf": "port 20001 -m"}
    assert (second.client[-1], second.files["pump.conf"]) == ("-n", "port 20001 -n")
    assert commands_of(catalog, case, 0, VALUES).client == ("pump", "192.0.2.2:20001", "-m")


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("path_rtt_ms = 20", "connections = 4", "connections is a factor of the load"),
        ('program = "pump"\nbaseline = "near"', 'program = "hose"\nbaseline = "near"', "there is no program hose"),
        ('baseline = "near"', 'baseline = "mars"', "there is no baseline mars"),
        ('also = { send_buffer = "It sets both." }', "", "each cause after the first needs its reason"),
        ('name = "pump-far"', 'name = "pump-window"', "pump-window is defined twice"),
        ("path_rtt_ms = 5", "path_rtt_ms = -5", "path_rtt_ms"),
        ("[[case]]", "[[case", "this is not valid TOML"),
    ],
)
def test_an_invalid_catalog_is_refused(tmp_path: Path, before: str, after: str, problem: str) -> None:
    assert before in SMALL
    with pytest.raises(ProfileError, match=problem):
        catalog_of(tmp_path, SMALL.replace(before, after, 1))


@pytest.mark.parametrize(
    ("word", "cases"),
    [
        ("pump-far", ["pump-far"]),
        ("receive_buffer", ["pump-window"]),
        ("pump", ["pump-window", "pump-far"]),
        # A further cause that is right selects nothing.
        ("send_buffer", None),
        ("pump-fare", None),
    ],
)
def test_only_takes_causes_programs_and_names(catalog: WatchedCatalog, word: str, cases: list[str] | None) -> None:
    if cases is None:
        with pytest.raises(ProfileError, match="no watched truth experiment"):
            catalog.named([word])
    else:
        assert [case.name for case in catalog.named([word]).case] == cases
    assert [case.name for case in catalog.without({"pump-far"}).case] == ["pump-window"]


@pytest.mark.parametrize(
    ("cause", "left_open", "outcome"),
    [
        ("receive_buffer", None, "right"),
        ("send_buffer", None, "right"),
        ("bottleneck", None, "wrong"),
        ("bottleneck", ["receive_buffer"], "wrong"),
        ("not_known", ["receive_buffer", "slow_reader"], "candidate"),
        ("not_known", ["bottleneck"], "not_known"),
        ("not_known", None, "not_known"),
    ],
)
def test_the_first_verdict_decides(
    catalog: WatchedCatalog, cause: str, left_open: list[str] | None, outcome: Outcome
) -> None:
    found = view_grade(catalog.case[0], WatchedView.SENDER_USER, explanation(cause, left_open))
    assert (found.outcome, found.first, found.confidence) == (outcome, cause, "medium")
    assert found.named == (cause, *(left_open or ()))


def test_a_run_counts_next_to_the_baseline_of_its_block(catalog: WatchedCatalog) -> None:
    runs = [
        run("pump-window", 0, 100.0),
        run("pump-window", 1, 85.0),
        run("pump-window", 2, 86.0),
        run("pump-window", 0, None, block=2),
        run("pump-window", 1, 10.0, block=2),
        run("pump-window", 0, 40.0, block=3),
        run("pump-window", 1, None, block=3),
        run("pump-window", 2, 20.0, block=3),
        run("pump-far", 1, 1.0),
    ]
    found = judged(catalog, runs)
    assert [(each.case.name, each.run.dose, each.run.block, each.counts, each.why_not) for each in found] == [
        ("pump-window", 1, 1, True, ""),
        ("pump-window", 1, 2, False, "the run without the cause is void"),
        ("pump-window", 1, 3, False, "the path was late"),
        ("pump-window", 2, 1, False, "too weak"),
        ("pump-window", 2, 3, True, ""),
        ("pump-far", 1, 1, False, "the run without the cause is void"),
    ]
    assert {each.run.dose: each.lowered_ratio for each in found if each.counts} == {1: pytest.approx(0.15), 2: 0.5}
    # What does not count is in no figure.
    assert figures(found)[0].of == 2
    assert "does not count: too weak" in " ".join(run_rows(found)[3])


@pytest.mark.parametrize(("cpus", "graded"), [(0.2, 5), (0.21, 0)])
def test_a_verdict_that_names_other_programs_counts_on_a_quiet_host_alone(
    catalog: WatchedCatalog, cpus: float, graded: int
) -> None:
    base = run("pump-window", 0, 100.0)
    measured = run("pump-window", 1, 10.0)
    about = {"other_cpus": cpus, "busiest": "rustc (process 7)"}
    blaming = [grade(view, "wrong", "other_load") for view in VIEWS]
    (found,) = judged(catalog, [base, measured.model_copy(update={**about, "grades": tuple(blaming)})])
    assert (found.counts, len(found.graded), len(confusions([found]))) == (True, graded, graded)
    assert ("rustc (process 7) and others used 21% of a CPU" in " ".join(run_rows([found])[0])) is (not graded)
    # Others count, and so does the verdict where other programs are the injected cause.
    cases: list[tuple[Outcome, str]] = [("wrong", "bottleneck"), ("right", "other_load")]
    for outcome, cause in cases:
        (kept,) = judged(
            catalog, [base, measured.model_copy(update={**about, "grades": (grade(VIEWS[0], outcome, cause),)})]
        )
        assert len(kept.graded) == 1


@pytest.mark.parametrize("seed", range(40))
def test_bars_hold_by_shares_of_drawn_outcomes(catalog: WatchedCatalog, seed: int) -> None:
    rng = Random(seed)
    likely = rng.choice([(95, 2, 2, 1), (70, 20, 8, 2), (60, 25, 10, 5), (50, 20, 20, 10)])
    found, drawn = [], {view: Counter[str]() for view in VIEWS}
    for block in range(1, 60):
        grades = []
        for view in VIEWS:
            outcome: Outcome = rng.choices(OUTCOMES, likely)[0]
            drawn[view][outcome] += 1
            grades.append(grade(view, outcome))
        measured = run("pump-window", 1, 10.0, block=block).model_copy(update={"grades": tuple(grades)})
        found.append(JudgedRun(catalog.case[0], measured, 0.9))
    by_name = {figure.name: figure for figure in figures(found)}
    for bar in BARS:
        total = sum((drawn[view] for view in bar.views), Counter[str]())
        figure = by_name[bar.name]
        assert dict(figure.counts) == {outcome: total[outcome] for outcome in OUTCOMES}
        good = sum(total[outcome] for outcome in bar.good) / total.total()
        wrong = total["wrong"] / total.total()
        assert figure.holds is (good >= bar.min_good and wrong <= bar.max_wrong)
        interval = figure.interval(*bar.good)
        assert interval is not None
        assert 0 <= interval[0] <= good <= interval[1] <= 1
    assert len(confusions(found)) == sum(drawn[view]["wrong"] for view in VIEWS)


def test_the_bars_are_those_of_each_kind_of_watch() -> None:
    assert [(bar.good, bar.min_good, bar.max_wrong) for bar in BARS] == [
        (("right",), 0.90, 0.03),
        (("right", "candidate"), 0.85, 0.05),
        (("right",), 0.60, 0.05),
    ]
    # Each view is in one bar.
    assert sorted(view for bar in BARS for view in bar.views) == sorted(VIEWS)


def test_results_are_printed_with_shares_and_intervals(catalog: WatchedCatalog) -> None:
    runs = [run("pump-window", 0, 100.0), run("pump-window", 1, 10.0), run("pump-window", 2, 10.0, outcome="wrong")]
    found = judged(catalog, runs)
    both = figure_rows(found)[0]
    # Wilson's interval of 1 in 2.
    assert both[:3] == ("both sides, with privilege", "2", "50% (1; 9% to 91%)")
    assert both[-1] == "no"
    text = with_figures("<!-- truth watch -->\nold\n<!-- end -->", markdown(found, ["Linux"]), "truth watch")
    assert "old" not in text
    assert "2 of 2 runs count" in text
    assert "| pump-window | 2 | receive_buffer, send_buffer | both sides | bottleneck | low |" in text
    document = as_json(found, {"when": "2026-01-01"})
    assert document["when"] == "2026-01-01"
    assert isinstance(document["runs"], list)
    assert [each["counts"] for each in document["runs"]] == [True, True]
    assert document["runs"][1]["grades"][0]["outcome"] == "wrong"


def test_a_run_is_read_as_it_was_written() -> None:
    made = run("pump-window", 1, 12.5, outcome="candidate")
    assert WatchedRun.model_validate_json(made.model_dump_json()) == made
