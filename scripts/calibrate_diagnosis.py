"""Makes the tables behind predicted intervals and confidence from records of `whyperf truth`.

    python -m scripts.calibrate_diagnosis RECORD… [--check RECORD… [--half held_out]] [--write] [--date YYYY-MM-DD]
        [--unseen LEVEL=RIGHT/VERDICTS …]

It prints how well the tables do on the `--check` records; without any, on halves of the situations that each table was
not made from. With `--write` it writes `gains.toml` and `confidence.toml` of `whyperf.explain.calibration`, made from
all RECORDs. Of the field catalog only the tuning half is used, except with `--check … --half held_out`. Run it again
after a rule has changed: the counts are those of the rules at the time.

Rules that were mended on the RECORDs are right in them more often than elsewhere. `--unseen` says how often a level's
verdicts were right on a record that no rule had been mended on yet; rules with few counts are drawn towards that.
"""

import argparse
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from whyperf.analyze import summarize
from whyperf.explain.calibration import tables
from whyperf.record import Experiment
from whyperf.truth import FILES, load_catalog
from whyperf.truth.calibration import (
    as_toml,
    confidence_counts,
    fitted_confidence,
    fitted_gains,
    quality_of,
)
from whyperf.truth.residuals import VIEWS, Claimed, claims_in
from whyperf.truth.situation import Half

LEVELS = tuple(map(str, VIEWS))


def main(arguments: Sequence[str]) -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--check", nargs="*", type=Path, default=[])
    parser.add_argument("--half", choices=("tuning", "held_out"), default="tuning", help="of the field, with --check")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--date", default=f"{date.today():%Y-%m-%d}")
    parser.add_argument("--unseen", action="append", default=[], help="such as counters=38/43")
    chosen = parser.parse_args(arguments)
    known = _claims(chosen.records)
    source = f"whyperf truth: {len(known)} verdicts of {len(chosen.records)} records"
    if chosen.check:
        with _tables(known, source, chosen.date):
            _print("other records", _claims(chosen.check, chosen.half))
    else:
        _print("situations left out", list(_cross(chosen.records, known, source, chosen.date)))
    if chosen.write:
        gains = fitted_gains(known, source=source, date=chosen.date)
        confidence = with_unseen(fitted_confidence(known, source=source, date=chosen.date), chosen.unseen)
        tables.GAINS.write_text(as_toml(gains), encoding="utf-8")
        tables.CONFIDENCE.write_text(as_toml(confidence), encoding="utf-8")


def with_unseen(confidence: tables.Confidence, unseen: Sequence[str]) -> tables.Confidence:
    """The table with these counts for whole levels.

    Raises:
        ValueError: a count is not written as LEVEL=RIGHT/VERDICTS.
    """
    counts = {}
    for text in unseen:
        level, _, count = text.partition("=")
        right, _, verdicts = count.partition("/")
        counts[level] = tables.RuleRecord(level=level, code="", verdicts=int(verdicts), right=int(right))
    kept = [rule for rule in confidence.rules if rule.code or rule.level not in counts]
    rules = sorted((*kept, *counts.values()), key=lambda rule: (rule.level, rule.code))
    return confidence.model_copy(update={"rules": tuple(rules)})


def _claims(records: Sequence[Path], half: Half = "tuning") -> list[Claimed]:
    found = []
    for folder in records:
        experiment = Experiment.open(folder)
        rates = {cell.id: cell.goodput_bps.median for cell in summarize(experiment).cells}
        for name, file in FILES.items():
            catalog = load_catalog(file)
            found += list(claims_in(experiment, catalog.halved(half) if name == "field" else catalog, rates))
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
