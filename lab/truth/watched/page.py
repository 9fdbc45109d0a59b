"""The grades of `whyperf-lab truth --watch` as rows, as Markdown and as plain types."""

from collections.abc import Iterable, Mapping, Sequence

from lab.truth.one_sided import OUTCOMES, WatchedView
from lab.truth.watched.grade import TITLES, JudgedRun, OutcomeShares, ViewGrade, confusions, figures
from whyperf.analyze.text import table

FIGURE_HEADINGS = (
    "Evidence",
    "Explanations",
    "Right",
    "Cause among the candidates",
    "Not known",
    "Wrong",
    "Required",
    "Met",
)
WRONG_HEADINGS = ("Case", "Dose", "Injected", "Evidence", "First verdict", "Confidence")


def figure_rows(found: Sequence[JudgedRun]) -> list[tuple[str, ...]]:
    """A row of `FIGURE_HEADINGS` for each bar and each view."""
    return [_figure_row(figure) for figure in figures(found)]


def _figure_row(figure: OutcomeShares) -> tuple[str, ...]:
    shares = tuple(_share(figure, outcome) for outcome in OUTCOMES)
    bar = figure.bar
    required = "" if bar is None else f"{' or '.join(bar.good)} ≥ {bar.min_good:.0%}, wrong ≤ {bar.max_wrong:.0%}"
    return figure.name, str(figure.of), *shares, required, {True: "yes", False: "no", None: ""}[figure.holds]


def _share(figure: OutcomeShares, outcome: str) -> str:
    ratio = figure.ratio(outcome)  # type: ignore[arg-type]
    interval = figure.interval(outcome)  # type: ignore[arg-type]
    if ratio is None or interval is None:
        return "-"
    return f"{ratio:.0%} ({figure.counts[outcome]}; {interval[0]:.0%} to {interval[1]:.0%})"  # type: ignore[index]


def run_headings(found: Sequence[JudgedRun]) -> tuple[str, ...]:
    """The headings of `run_rows`: a column for each view that was graded."""
    return ("Case", "Dose", "Lowers by", "Accepted", *(TITLES[view] for view in views_of(found)))


def run_rows(found: Sequence[JudgedRun]) -> list[tuple[str, ...]]:
    """A row for each run with a cause."""
    rows = []
    for each in found:
        lowered = "not known" if each.lowered_ratio is None else f"{each.lowered_ratio:.0%}"
        dose = str(each.run.dose) if each.run.block == 1 else f"{each.run.dose}, block {each.run.block}"
        verdicts = [verdict_text(each, each.grade(view)) for view in views_of(found)]
        if not each.counts:
            verdicts = [f"does not count: {each.why_not}", *("" for _ in verdicts[1:])]
        rows.append((each.case.name, dose, lowered, ", ".join(each.case.accepted), *verdicts))
    return rows


def views_of(found: Sequence[JudgedRun]) -> list[WatchedView]:
    """The views that were graded, in their order."""
    graded = {grade.view for each in found for grade in each.run.grades}
    return [view for view in TITLES if view in graded]


def verdict_text(each: JudgedRun, grade: ViewGrade | None) -> str:
    """The verdict of a view, and its worth."""
    if grade is None:
        return "-"
    if grade not in each.graded:
        return f"{grade.first} (not counted: {each.run.busiest} and others used {each.run.other_cpus:.0%} of a CPU)"
    outcome = {"right": "", "candidate": " (cause named)", "not_known": " (cause not named)", "wrong": " (WRONG)"}
    return f"{grade.first}{outcome[grade.outcome]}"


def wrong_rows(found: Sequence[JudgedRun]) -> list[tuple[str, ...]]:
    """A row of `WRONG_HEADINGS` for each wrong verdict."""
    return [
        (
            each.case.name,
            str(each.run.dose),
            ", ".join(each.case.accepted),
            TITLES[grade.view],
            ", ".join(grade.named),
            grade.confidence,
        )
        for each, grade in confusions(found)
    ]


def markdown(found: Sequence[JudgedRun], about: Iterable[str]) -> str:
    """The whole section; `about` says where, when and how it was measured."""
    counting = sum(each.counts for each in found)
    wrong = wrong_rows(found)
    parts = [
        ", ".join(about) + ".",
        f"{counting} of {len(found)} runs count: the cause lowers the rate by at least 15 %, and the path was carried "
        "as asked. In parentheses: the number of explanations, and the 95 % interval.",
        table(FIGURE_HEADINGS, figure_rows(found)),
        "### Wrong verdicts\n\n" + (table(WRONG_HEADINGS, wrong) if wrong else "None."),
        "### Runs\n\n" + table(run_headings(found), run_rows(found)),
    ]
    return "\n" + "\n\n".join(parts) + "\n\n"


def as_json(found: Sequence[JudgedRun], about: Mapping[str, str]) -> dict[str, object]:
    """The figures and the runs in plain types; ratios between 0 and 1, rates in bit/s."""
    return {
        **about,
        "figures": [
            {
                "evidence": figure.name,
                "of": figure.of,
                "counts": dict(figure.counts),
                "min_good_ratio": None if figure.bar is None else figure.bar.min_good,
                "max_wrong_ratio": None if figure.bar is None else figure.bar.max_wrong,
                "holds": figure.holds,
            }
            for figure in figures(found)
        ],
        "runs": [
            {
                "case": each.case.name,
                "program": each.case.program,
                "accepted": list(each.case.accepted),
                "counts": each.counts,
                "why_not": each.why_not,
                "lowered_by_ratio": each.lowered_ratio,
                **each.run.model_dump(mode="json", exclude={"case"}),
            }
            for each in found
        ],
    }
