"""The figures as Markdown, for docs/background/accuracy.md: between markers, so that they can be written anew."""

import re
from collections.abc import Iterable, Mapping, Sequence

from whyperf.analyze.text import significant
from whyperf.explain.causes import Cause
from whyperf.explain.model import Verification
from whyperf.explain.wording.catalog import render
from whyperf.explain.wording.verifications import change_text
from whyperf.profile import Factors, Level
from whyperf.truth.design import Part
from whyperf.truth.figures import Figure, MedianError, confusion, figures, figures_of_proofs
from whyperf.truth.gains import MILD, median_error
from whyperf.truth.grade import Grade
from whyperf.truth.proving import Claim, Proof

SECTION = re.compile(r"(<!-- truth -->\n).*?(<!-- end -->)", re.DOTALL)


def with_figures(text: str, told: str) -> str:
    """The document with the figures between its markers.

    Raises:
        ValueError: it has no such markers.
    """
    if not SECTION.search(text):
        raise ValueError(
            "it has no section between <!-- truth --> and <!-- end -->; add the two lines where it belongs"
        )
    return SECTION.sub(lambda section: section[1] + told + section[2], text)


def markdown(grades: Sequence[Grade], about: Iterable[str], proofs: Sequence[Proof] = ()) -> str:
    """Everything: `about` says where, when and how it was measured."""
    parts = [
        ", ".join(about) + ".",
        _figures(grades, proofs),
        _proofs(proofs),
        _gains(grades),
        _confusion(grades),
        _doses(grades),
        _pairs(grades),
        _clean(grades),
    ]
    return "\n" + "\n\n".join(part for part in parts if part) + "\n\n"


def _figures(grades: Sequence[Grade], proofs: Sequence[Proof]) -> str:
    rows = [
        (one.asked, reached(one), bar(one), {True: "yes", False: "**no**", None: "-"}[one.holds])
        for one in (*figures(grades), *figures_of_proofs(proofs))
    ]
    return "### Bars\n\n" + _table(("", "Reached", "Bar", "Holds"), rows) + _held_out(grades)


def reached(one: Figure | MedianError) -> str:
    """What was reached, and of how many."""
    if one.ratio is None:
        return "-"
    if isinstance(one, MedianError):
        return f"{one.ratio:.1%} (of {one.of})"
    return f"{one.ratio:.1%} ({one.count} of {one.of})"


def bar(one: Figure | MedianError) -> str:
    """What should be reached."""
    return f"at most {one.bar:.0%}" if isinstance(one, MedianError) else f"{one.bar:.0%}"


def _proofs(proofs: Sequence[Proof]) -> str:
    """The changes that were tried; nothing where none was."""
    if not figures_of_proofs(proofs):
        return ""
    headings = ("Dose", "Verdict and change", "Predicted", "Gain", "", "Wrong change", "Gain", "")
    rows: list[tuple[str, ...]] = []
    for one in proofs:
        claim = one.claim
        dose = f"{claim.role.of}: {_levels(claim.role.own)}"
        if claim.obstacle:
            rows.append((dose, claim.obstacle, *("-" for _ in headings[2:])))
            continue
        predicted = claimed(claim)
        sides = [cell for side in (one.right, one.wrong) for cell in (gained(side), outcome(side))]
        right = f"`{claim.cause}`: {change_text(claim.right)}"
        rows.append((dose, right, predicted, *sides[:2], change_text(claim.tried.wrong), *sides[2:]))
    text = (
        "A gain is the rate with the change over the rate without it, with its interval and the pairs that it took. "
        "Confirmed and refuted are as [explain.md](explain.md#trying-the-change) has them."
    )
    return f"### Whether the change does it\n\n{text}\n\n" + _table(headings, rows)


def claimed(claim: Claim) -> str:
    """The gain that a verdict predicted."""
    if claim.predicted.gain is not None:
        return f"{claim.predicted.gain:.2f}"
    return "-" if claim.predicted.low is None else render("gain", "open", {})


def gained(side: Verification | None) -> str:
    """A measured gain with its interval and its pairs."""
    if side is None or side.measured_gain is None:
        return "-"
    interval = "" if side.low is None or side.high is None else f" [{side.low:.2f}, {side.high:.2f}]"
    return f"{side.measured_gain:.2f}{interval}, {side.pairs} pairs"


def outcome(side: Verification | None) -> str:
    """Confirmed, refuted or undecided."""
    return "-" if side is None else side.outcome


def _held_out(grades: Sequence[Grade]) -> str:
    """The first figure of the held-out doses alone; nothing where there are none."""
    first = figures([one for one in grades if one.role.held_out])[0]
    return (
        f"\n\nOf the held-out doses alone, the first verdict is right in {first.count} of {first.of}."
        if first.of
        else ""
    )


def _gains(grades: Sequence[Grade]) -> str:
    """How far the predicted gains were off; "" where none can be compared."""
    doses = [(one.prediction, one.role.held_out) for one in grades if one.prediction is not None]
    told = [one for one, _ in doses]
    groups = {
        "all doses": told,
        f"gains up to {MILD:.0f}": [one for one in told if one.measured <= MILD],
        "larger gains": [one for one in told if one.measured > MILD],
        "held-out doses": [one for one, held_out in doses if held_out],
    }
    rows = [
        (name, f"{error:.0%}", f"{sum(one.is_inside for one in members)} of {len(members)}")
        for name, members in groups.items()
        if (error := median_error(members)) is not None
    ]
    text = (
        "Where a verdict's change gives the baseline back, the baseline's rate over the dose's is what it should bring."
    )
    headings = ("Predicted gains", "Median error", "In the interval")
    return f"### Predicted gains\n\n{text}\n\n" + _table(headings, rows) if rows else ""


def _confusion(grades: Sequence[Grade]) -> str:
    rows = [
        (f"`{put}`", ", ".join(f"`{cause}` {count}" for cause, count in sorted(told.items(), key=lambda x: -x[1])))
        for put, told in confusion(grades).items()
    ]
    return "### What was put there, and what was told first\n\n" + _table(("Put there", "Told first, how often"), rows)


def _doses(grades: Sequence[Grade]) -> str:
    rows = [
        (
            one.role.of,
            _levels(one.role.own) + (" (held out)" if one.role.held_out else ""),
            lowered(one),
            _told(one.told),
            _right(one),
            foretold(one),
            f"{significant(one.prediction.measured)}" if one.prediction else "-",
        )
        for one in grades
        if one.role.part is Part.DOSE
    ]
    headings = ("Experiment", "Dose", "Lowers the rate by", "Told", "Right", "Predicted gain", "Measured")
    return "### Doses\n\nA dose that lowers the rate by less than 15 % is not counted.\n\n" + _table(headings, rows)


def _pairs(grades: Sequence[Grade]) -> str:
    rows = [
        (
            f"`{one.causes[0]}` and `{one.causes[1]}`",
            lowered(one),
            _told(one.told),
            "-" if not one.counts else "yes" if one.has_both(3) else "**no**",
        )
        for one in grades
        if one.role.part is Part.BOTH
    ]
    text = "A pair counts where taking away either cause raises the rate: what the lesser one costs stands here."
    return f"### Pairs\n\n{text}\n\n" + _table(("Pair", "The lesser costs", "Told", "Both in three"), rows)


def _clean(grades: Sequence[Grade]) -> str:
    rows = [
        (one.role.of, _levels(one.role.own), _told(one.told), "yes" if one.is_clean else "**no**")
        for one in grades
        if one.role.part is Part.UNDISTURBED
    ]
    return "### Undisturbed runs\n\n" + _table(("Run", "Factors", "Told", "Nothing blamed"), rows)


def lowered(one: Grade) -> str:
    """How much a cause lowers the rate, in words."""
    return "not known" if one.lowered_by is None else f"{one.lowered_by:.0%}"


def foretold(one: Grade) -> str:
    """The predicted gain and its interval."""
    told = one.prediction
    if told is None:
        return render("gain", "open", {}) if one.unpredicted_because else "-"
    if told.low is None or told.high is None:
        return significant(told.predicted)
    return f"{significant(told.predicted)} ({significant(told.low, 2)} to {significant(told.high, 2)})"


def _right(one: Grade) -> str:
    return {1: "first", 2: "second"}.get(one.rank or 0, "**no**") if one.counts else "-"


def _told(causes: Sequence[Cause]) -> str:
    return ", ".join(f"`{cause}`" for cause in causes[:3]) or "nothing"


def _levels(factors: Factors) -> str:
    return ", ".join(f"{name} {_shown(level)}" for name, level in factors.items()) or "-"


def _shown(level: Level) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_json(grades: Sequence[Grade], about: Mapping[str, str], proofs: Sequence[Proof] = ()) -> dict[str, object]:
    """The grades and figures in plain types; ratios between 0 and 1, rates in bit/s."""
    return {
        **about,
        "figures": [
            {"key": one.key, "asked": one.asked, "count": one.count, "of": one.of, "ratio": one.ratio, "bar": one.bar}
            for one in figures(grades)
        ]
        + [
            {"key": one.key, "asked": one.asked, "of": one.of, "ratio": one.ratio, "bar": one.bar}
            | ({"count": one.count} if isinstance(one, Figure) else {})
            for one in figures_of_proofs(proofs)
        ],
        "proofs": [
            {
                "of": one.claim.role.of,
                "dose": one.claim.role.dose,
                "cause": None if one.claim.cause is None else str(one.claim.cause),
                "obstacle": one.claim.obstacle,
                "right": one.claim.right,
                "wrong": one.claim.tried.wrong,
                "why_wrong": one.claim.tried.why,
                "verification": None if one.right is None else one.right.model_dump(mode="json"),
                "wrong_verification": None if one.wrong is None else one.wrong.model_dump(mode="json"),
                "error_ratio": one.error,
            }
            for one in proofs
        ],
        "confusion": {
            put: {str(cause): count for cause, count in told.items()} for put, told in confusion(grades).items()
        },
        "grades": [
            {
                "of": one.role.of,
                "part": str(one.role.part),
                "dose": one.role.dose,
                "held_out": one.role.held_out,
                "factors": one.role.own,
                "cell": one.cell,
                "causes": [str(cause) for cause in one.causes],
                "told": [str(cause) for cause in one.told],
                "rank": one.rank,
                "rate_bps": one.rate_bps,
                "without_bps": one.without_bps,
                "lowered_by_ratio": one.lowered_by,
                "counts": one.counts,
                "predicted_gain": one.prediction.predicted if one.prediction else None,
                "predicted_low": one.prediction.low if one.prediction else None,
                "predicted_high": one.prediction.high if one.prediction else None,
                "measured_gain": one.prediction.measured if one.prediction else None,
                "unpredicted_because": one.unpredicted_because,
                "closed_ratio": one.closed_ratio,
                "chronographs": one.chronographs.compared,
                "chronographs_agree": one.chronographs.agree,
                "missing": list(one.missing),
                "headline": one.headline,
            }
            for one in grades
        ],
    }
