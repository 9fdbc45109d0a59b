"""The diagnosis at every level of evidence as Markdown and as plain types."""

from collections.abc import Sequence

from lab.truth.level_figures import CONFIDENCES, REQUIRED, RIGHT_AT, Tally, tallies
from lab.truth.levels import TITLES, Diagnosis, View
from lab.truth.situation import Situation
from whyperf.analyze.text import table

HEADINGS = (
    *("Evidence", "Diagnoses", "Right first", "Right second", "Not known", "of them with the cause named", "Wrong"),
    *("First verdict names another cause", 'Right where "high"', 'Right where "medium"', "Required", "Met"),
)


def level_rows(found: Sequence[Diagnosis]) -> list[tuple[str, ...]]:
    """A row of `HEADINGS` for each level."""
    return [_row(tally) for tally in tallies(found)]


def _row(tally: Tally) -> tuple[str, ...]:
    counts = tally.counts
    required = REQUIRED.get(tally.view)
    another = f"{tally.another_ratio:.1%} ({_by_confidence(tally)})" if tally.another_ratio else "0.0%"
    return (
        TITLES[tally.view],
        str(tally.of),
        f"{tally.right_ratio:.1%} ({counts['first']})",
        str(counts["second"]),
        str(counts["not_known"]),
        f"{tally.candidates} of {counts['not_known']}" if counts["not_known"] else "-",
        str(counts["wrong"]),
        another,
        *(_right_at(tally, confidence) for confidence in RIGHT_AT),
        "-" if required is None else f"right first ≥ {required[0]:.0%}, another cause ≤ {required[1]:.0%}",
        {True: "yes", False: "no", None: "-"}[tally.holds],
    )


def _by_confidence(tally: Tally) -> str:
    return ", ".join(f"{tally.another[name]} {name}" for name in CONFIDENCES if tally.another[name])


def _right_at(tally: Tally, confidence: str) -> str:
    right, of = tally.stated[confidence]
    return f"{right / of:.0%} ({right} of {of})" if of else "-"


def levels_section(found: Sequence[Diagnosis]) -> str:
    """The figures of all levels as Markdown; "" without any."""
    rows = level_rows(found)
    text = (
        "Each trial is explained from all that it recorded, and again from less. A first verdict that names a cause "
        "that was not injected is wrong, or right in the second place. The correct cause can be among the candidates "
        'of "not known".'
    )
    return f"### Diagnosis at each level of evidence\n\n{text}\n\n{table(HEADINGS, rows)}" if rows else ""


def situations_section(situations: Sequence[Situation], found: Sequence[Diagnosis]) -> str:
    """The first verdict on each situation at each level as Markdown; "" without any."""
    views = [View.SEGMENTS, View.COUNTERS, View.USER]
    rows = []
    for situation in situations:
        own = [diagnosis for diagnosis in found if diagnosis.role.of == situation.name]
        if not own:
            continue
        cells = [", ".join(_verdict(diagnosis) for diagnosis in own if diagnosis.view is view) or "-" for view in views]
        lowered = own[0].lowered_ratio
        lost = "not known" if lowered is None else f"{lowered:.0%}"
        accepted = ", ".join(f"`{cause}`" for cause in own[0].accepted) if own[0].counts else "does not count"
        rows.append((situation.name, situation.group, lost, accepted, *cells))
    text = "One verdict per trial. **Bold**: it names a cause that is not accepted, with its confidence."
    headings = ("Situation", "Class", "Lowers the rate by", "Accepted", "Segments", "Counters", "User level")
    return f"### Situations\n\n{text}\n\n{table(headings, rows)}" if rows else ""


def _verdict(diagnosis: Diagnosis) -> str:
    first = f"`{diagnosis.found[0]}`" if diagnosis.found else "nothing"
    return f"**{first}** ({diagnosis.confidence})" if diagnosis.counts and diagnosis.names_another else first


def levels_json(found: Sequence[Diagnosis]) -> dict[str, object]:
    """The figures and all diagnoses in plain types; ratios between 0 and 1."""
    return {
        "levels": [
            {
                "level": str(tally.view),
                "of": tally.of,
                "counts": dict(tally.counts),
                "not_known_with_candidate": tally.candidates,
                "right_ratio": tally.right_ratio,
                "another_ratio": tally.another_ratio,
                "another_by_confidence": tally.another,
                "right_by_confidence": {name: {"right": right, "of": of} for name, (right, of) in tally.stated.items()},
                "holds": tally.holds,
            }
            for tally in tallies(found)
        ],
        "diagnoses": [
            {
                "of": diagnosis.role.of,
                "part": str(diagnosis.role.kind),
                "dose": diagnosis.role.dose,
                "held_out": diagnosis.role.held_out,
                "level": str(diagnosis.view),
                "trial": diagnosis.trial,
                "outcome": diagnosis.outcome,
                "first": diagnosis.found[0] if diagnosis.found else None,
                "confidence": diagnosis.confidence,
                "accepted": list(diagnosis.accepted),
                "found": list(diagnosis.found),
                "counts": diagnosis.counts,
                "lowered_by_ratio": diagnosis.lowered_ratio,
                "predicted_gain": diagnosis.gain[0],
                "predicted_low": diagnosis.gain[1],
                "predicted_high": diagnosis.gain[2],
                "headline": diagnosis.headline,
                "missing": list(diagnosis.missing),
            }
            for diagnosis in found
        ],
    }
