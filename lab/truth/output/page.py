"""The figures as Markdown for docs/laboratory/accuracy.md, between markers so that they can be replaced."""

import re
from collections.abc import Iterable, Mapping, Sequence

from lab.truth.design import CellKind
from lab.truth.figures import Figure, confusion, figures
from lab.truth.gains import MILD, median_error
from lab.truth.grade import COUNTS_FROM, Grade
from lab.truth.levels import Diagnosis
from lab.truth.output.level_page import levels_json, levels_section, situations_section
from lab.truth.situation import Situation
from whyperf.analyze.text import significant, table
from whyperf.explain.causes import Cause
from whyperf.explain.wording.catalog import render
from whyperf.profile import Factors, Level


def with_figures(text: str, section: str, mark: str = "truth") -> str:
    """The document with the new section between its markers.

    Raises:
        ValueError: it has no such markers.
    """
    between = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not between.search(text):
        raise ValueError(
            f"it has no section between <!-- {mark} --> and <!-- end -->; add the two lines where it belongs"
        )
    return between.sub(lambda old: old[1] + section + old[2], text)


def markdown(
    grades: Sequence[Grade],
    about: Iterable[str],
    diagnoses: Sequence[Diagnosis] = (),
    situations: Sequence[Situation] = (),
) -> str:
    """The whole section; `about` says where, when and how it was measured."""
    if situations:
        parts = [", ".join(about) + ".", levels_section(diagnoses), situations_section(situations, diagnoses)]
        return "\n" + "\n\n".join(part for part in parts if part) + "\n\n"
    parts = [
        ", ".join(about) + ".",
        _figures(grades),
        levels_section(diagnoses),
        _gains(grades),
        _confusion(grades),
        _doses(grades),
        _pairs(grades),
        _clean(grades),
    ]
    return "\n" + "\n\n".join(part for part in parts if part) + "\n\n"


def _figures(grades: Sequence[Grade]) -> str:
    rows = [
        (figure.name, reached(figure), f"{figure.bar:.0%}", {True: "yes", False: "**no**", None: "-"}[figure.holds])
        for figure in figures(grades)
    ]
    return "### Accuracy\n\n" + table(("Figure", "Measured", "Required", "Met"), rows) + _held_out(grades)


def reached(figure: Figure) -> str:
    """The measured ratio and its counts."""
    if figure.ratio is None:
        return "-"
    return f"{figure.ratio:.1%} ({figure.count} of {figure.of})"


def _held_out(grades: Sequence[Grade]) -> str:
    """The first figure of the held-out doses alone; nothing where there are none."""
    first = figures([grade for grade in grades if grade.role.held_out])[0]
    return f"\n\nHeld-out doses alone: first verdict correct in {first.count} of {first.of}." if first.of else ""


def _gains(grades: Sequence[Grade]) -> str:
    """The errors of the predicted gains; "" where none can be compared."""
    doses = [(grade.prediction, grade.role.held_out) for grade in grades if grade.prediction is not None]
    predictions = [prediction for prediction, _ in doses]
    groups = {
        "all doses": predictions,
        f"gains up to {MILD:.0f} ×": [prediction for prediction in predictions if prediction.measured <= MILD],
        "larger gains": [prediction for prediction in predictions if prediction.measured > MILD],
        "held-out doses": [prediction for prediction, held_out in doses if held_out],
    }
    rows = [
        (name, f"{error:.0%}", f"{sum(prediction.is_inside for prediction in members)} of {len(members)}")
        for name, members in groups.items()
        if (error := median_error(members)) is not None
    ]
    text = (
        "The measured gain is the rate of the baseline divided by the rate of the dose. "
        "It is compared where the change of the verdict restores the baseline."
    )
    headings = ("Doses", "Median error", "Measured gain in the predicted interval")
    return f"### Predicted gains\n\n{text}\n\n" + table(headings, rows) if rows else ""


def _confusion(grades: Sequence[Grade]) -> str:
    rows = [
        (f"`{cause}`", ", ".join(f"`{first}` {count}" for first, count in sorted(counts.items(), key=lambda x: -x[1])))
        for cause, counts in confusion(grades).items()
    ]
    headings = ("Injected cause", "First verdict (count)")
    return "### Injected cause and first verdict\n\n" + table(headings, rows)


def _doses(grades: Sequence[Grade]) -> str:
    rows = [
        (
            grade.role.of,
            _levels(grade.role.own) + (" (held out)" if grade.role.held_out else ""),
            lowered(grade),
            _listed(grade.found),
            _correct(grade),
            predicted_gain(grade),
            f"{significant(grade.prediction.measured)}" if grade.prediction else "-",
        )
        for grade in grades
        if grade.role.kind is CellKind.DOSE
    ]
    headings = ("Experiment", "Dose", "Lowers the rate by", "Verdicts", "Correct", "Predicted gain", "Measured gain")
    return "### Doses\n\nA dose that lowers the rate by less than 15 % is not counted.\n\n" + table(headings, rows)


def _pairs(grades: Sequence[Grade]) -> str:
    rows = [
        (
            f"`{grade.causes[0]}` and `{grade.causes[1]}`",
            lowered(grade),
            _listed(grade.found),
            "-" if not grade.counts else "yes" if grade.has_both(3) else "**no**",
        )
        for grade in grades
        if grade.role.kind is CellKind.BOTH
    ]
    text = (
        f"A pair counts if removing either cause raises the rate: the cheaper cause costs at least {COUNTS_FROM:.0%}."
    )
    headings = ("Pair", "Cost of the cheaper cause", "Verdicts", "Both in the first 3")
    return f"### Pairs\n\n{text}\n\n" + table(headings, rows)


def _clean(grades: Sequence[Grade]) -> str:
    rows = [
        (grade.role.of, _levels(grade.role.own), _listed(grade.found), "yes" if grade.is_clean else "**no**")
        for grade in grades
        if grade.role.kind is CellKind.UNDISTURBED
    ]
    return "### Undisturbed runs\n\n" + table(("Run", "Factors", "Verdicts", "No wrong cause"), rows)


def lowered(grade: Grade) -> str:
    """The amount that a cause lowers the rate by, as text."""
    return "not known" if grade.lowered_by is None else f"{grade.lowered_by:.0%}"


def predicted_gain(grade: Grade) -> str:
    """The predicted gain and its interval."""
    gain = grade.prediction
    if gain is None:
        return render("gain", "open", {}) if grade.unpredicted_because else "-"
    if gain.low is None or gain.high is None:
        return significant(gain.predicted)
    return f"{significant(gain.predicted)} ({significant(gain.low, 2)} to {significant(gain.high, 2)})"


def _correct(grade: Grade) -> str:
    return {1: "first", 2: "second"}.get(grade.rank or 0, "**no**") if grade.counts else "-"


def _listed(causes: Sequence[Cause]) -> str:
    return ", ".join(f"`{cause}`" for cause in causes[:3]) or "nothing"


def _levels(factors: Factors) -> str:
    return ", ".join(f"{name} {_shown(level)}" for name, level in factors.items()) or "-"


def _shown(level: Level) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def as_json(
    grades: Sequence[Grade],
    about: Mapping[str, str],
    diagnoses: Sequence[Diagnosis] = (),
) -> dict[str, object]:
    """The grades and figures in plain types; ratios between 0 and 1, rates in bit/s."""
    return {
        **about,
        **levels_json(diagnoses),
        "figures": [
            {
                "key": figure.key,
                "asked": figure.name,
                "of": figure.of,
                "ratio": figure.ratio,
                "bar": figure.bar,
                "count": figure.count,
            }
            for figure in figures(grades)
        ],
        "confusion": {
            injected: {str(first): count for first, count in counts.items()}
            for injected, counts in confusion(grades).items()
        },
        "grades": [
            {
                "of": grade.role.of,
                "part": str(grade.role.kind),
                "dose": grade.role.dose,
                "held_out": grade.role.held_out,
                "factors": grade.role.own,
                "cell": grade.cell,
                "causes": [str(cause) for cause in grade.causes],
                "found": [str(cause) for cause in grade.found],
                "told": [str(cause) for cause in grade.found],
                "rank": grade.rank,
                "rate_bps": grade.rate_bps,
                "without_bps": grade.without_bps,
                "lowered_by_ratio": grade.lowered_by,
                "counts": grade.counts,
                "predicted_gain": grade.prediction.predicted if grade.prediction else None,
                "predicted_low": grade.prediction.low if grade.prediction else None,
                "predicted_high": grade.prediction.high if grade.prediction else None,
                "measured_gain": grade.prediction.measured if grade.prediction else None,
                "unpredicted_because": grade.unpredicted_because,
                "closed_ratio": grade.closed_ratio,
                "chronographs": grade.chronographs.compared,
                "chronographs_agree": grade.chronographs.agree,
                "missing": list(grade.missing),
                "headline": grade.headline,
            }
            for grade in grades
        ],
    }
