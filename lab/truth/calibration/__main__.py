"""Makes the tables behind predicted intervals and confidence from records of `whyperf-lab truth`.

    python -m lab.truth.calibration RECORD… [--check RECORD…] [--write] [--date YYYY-MM-DD]
        [--first-look FILE …]

It prints how well the tables do on the `--check` records; without any, on halves of the situations that each table was
not made from. With `--write` it writes `gains.toml` and `confidence.toml` of `whyperf.explain.calibration`, made from
all RECORDs. Run it again after a rule has changed: the counts are those of the rules at the time.

Rules that were mended on the RECORDs are right in them more often than elsewhere. A FILE has what `whyperf-lab truth
--json` said of a record before any rule had been mended on it. Each of its situations counts once. One that was wrong
and is not any more counts as half right: a mended rule is better, but not as good as it looks where it was mended. All
verdicts of today on the RECORDs have half of that weight.
"""

import argparse
import json
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import NamedTuple

from lab.truth import FILES, load_catalog
from lab.truth.calibration.fit import (
    as_toml,
    confidence_counts,
    fitted_confidence,
    fitted_gains,
    quality_of,
)
from lab.truth.calibration.residuals import VIEWS, Claimed, claims_in
from whyperf.analyze import summarize
from whyperf.explain.calibration import tables
from whyperf.record import Experiment

LEVELS = tuple(map(str, VIEWS))


def main(arguments: Sequence[str]) -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--check", nargs="*", type=Path, default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--date", default=f"{date.today():%Y-%m-%d}")
    parser.add_argument("--first-look", action="append", type=Path, default=[], help="the JSON of whyperf-lab truth")
    chosen = parser.parse_args(arguments)
    known = _claims(chosen.records)
    source = f"whyperf-lab truth: {len(known)} verdicts of {len(chosen.records)} records"
    if chosen.check:
        with _tables(known, source, chosen.date):
            _print("other records", _claims(chosen.check))
    else:
        _print("situations left out", list(_cross(chosen.records, known, source, chosen.date)))
    if chosen.write:
        gains = fitted_gains(known, source=source, date=chosen.date)
        confidence = fitted_confidence(known, source=source, date=chosen.date)
        if chosen.first_look:
            looks = [look for file in chosen.first_look for look in first_looks(file)]
            confidence = with_first_looks(confidence, looks, known)
        tables.GAINS.write_text(as_toml(gains), encoding="utf-8")
        tables.CONFIDENCE.write_text(as_toml(confidence), encoding="utf-8")


WEIGHT_OF_TUNED = 0.5
"""What a verdict counts on a record on which rules were mended. Less predicts better, by likelihood, which verdicts
were right at the first look at the further situations, but leaves most rules with next to no counts."""
CREDIT_OF_MENDED = 0.5


class FirstLook(NamedTuple):
    """A first verdict on a trial, by the rules of before, and whether it was right."""

    level: str
    situation: str
    cause: str
    is_right: bool


def first_looks(file: Path) -> list[FirstLook]:
    """Those of a file that name a cause."""
    rows = json.loads(file.read_text(encoding="utf-8"))["diagnoses"]
    return [
        FirstLook(
            row["level"], f"{row['of']}-{row['part']}{row['dose'] or ''}", row["first"], row["outcome"] == "first"
        )
        for row in rows
        if row["first"] not in {"", None, "not_known"} and (row["counts"] or row["part"] == "undisturbed")
        if row["level"] in LEVELS
    ]


def with_first_looks(tuned: tables.Confidence, looks: Sequence[FirstLook], now: Sequence[Claimed]) -> tables.Confidence:
    """The table with the first looks, and little weight for the verdicts of today; whole levels have the first looks
    alone.

    A situation counts once, however often it was measured. A look counts for the variant of its cause that is named
    today, if it is one.
    """
    named = [claim for claim in now if claim.number == 1 and claim.cause != "not_known"]
    still_wrong = {(claim.level, claim.situation) for claim in named if claim.is_right is False}
    variants = {(claim.level, claim.situation, claim.cause): claim.code for claim in named}
    times = Counter((look.level, look.situation) for look in looks)
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for rule in tuned.rules:
        if rule.code:
            sums[rule.level, rule.code] = [WEIGHT_OF_TUNED * rule.verdicts, WEIGHT_OF_TUNED * rule.right]
    for look in looks:
        is_mended = (look.level, look.situation) not in still_wrong
        right = 1.0 if look.is_right else CREDIT_OF_MENDED if is_mended else 0.0
        weight = 1 / times[look.level, look.situation]
        for code in (variants.get((look.level, look.situation, look.cause), look.cause), ""):
            sums[look.level, code][0] += weight
            sums[look.level, code][1] += weight * right
    rules = [
        tables.RuleRecord(level=level, code=code, verdicts=round(verdicts, 2), right=round(right, 2))
        for (level, code), (verdicts, right) in sorted(sums.items())
    ]
    return tuned.model_copy(update={"rules": tuple(rules)})


def _claims(records: Sequence[Path]) -> list[Claimed]:
    found = []
    for folder in records:
        experiment = Experiment.open(folder)
        rates = {cell.id: cell.goodput_bps.median for cell in summarize(experiment).cells}
        for file in FILES.values():
            found += list(claims_in(experiment, load_catalog(file), rates))
    return found


def _cross(records: Sequence[Path], known: Sequence[Claimed], source: str, made: str) -> Iterator[Claimed]:
    """The claims of each half of the situations, with tables from the other half."""
    for half in (0, 1):
        with _tables([claim for claim in known if _half(claim) != half], source, made):
            yield from (claim for claim in _claims(records) if _half(claim) == half)


def _half(claim: Claimed) -> int:
    return zlib.crc32(claim.situation.encode()) % 2


@contextmanager
def _tables(claims: Sequence[Claimed], source: str, made: str) -> Iterator[None]:
    """Within, explanations use tables from these claims."""
    gains = fitted_gains(claims, source=source, date=made)
    with tables.instead(gains, fitted_confidence(claims, source=source, date=made)):
        yield


def _print(what: str, claims: Sequence[Claimed]) -> None:
    for level in LEVELS:
        found = quality_of(claims, level)
        figures = [
            "-" if value is None else f"{value:.2f}"
            for value in (found.coverage, found.median_width, found.median_error)
        ]
        _say(
            f"{what}, {level}: {found.compared} gains predicted, {found.open} not; coverage {figures[0]}, "
            f"median high/low {figures[1]}, median error {figures[2]}"
        )
    for (level, word), (right, of) in sorted(confidence_counts(claims).items()):
        _say(f"{what}, {level}, {word} confidence: {right} of {of} right")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
