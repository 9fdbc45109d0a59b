"""Makes the table behind predicted intervals from records of `whyperf-lab truth`.

    python -m lab.truth.calibration RECORD… [--check RECORD…] [--write] [--date YYYY-MM-DD]

It prints how well the table does on the `--check` records; without any, on halves of the situations that each table was
not made from. With `--write` it writes `gains.toml` of `whyperf.explain.calibration`, made from all RECORDs.
"""

import argparse
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from lab.truth import FILES, load_catalog
from lab.truth.calibration.fit import as_toml, fitted_gains, quality_of
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
        tables.GAINS.write_text(as_toml(gains), encoding="utf-8")


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
    with tables.instead(fitted_gains(claims, source=source, date=made)):
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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
