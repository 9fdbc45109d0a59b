"""A calibration in words and tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.quantity import bit_rate, octets, percent, significant
from whyperf.calibrate import Found, Judged, Steps
from whyperf.calibrate.steps import QUANTITIES

if TYPE_CHECKING:
    from whyperf.cli.calibrating import Calibration


def print_steps(steps: Steps) -> None:
    """What single steps take on this host."""
    table = _table("Step", "", "Median", "95 %")
    for name, one in steps.measured.items():
        unit = "ns/byte" if name.endswith("_ns_per_byte") else "us"
        words, _ = QUANTITIES[name]
        row = (significant(one.value), f"{significant(one.low)} to {significant(one.high)}")
        table.add_row(name, words, f"{row[0]} {unit}", row[1])
    _console().print(table)


def print_calibration(calibration: "Calibration", out: Path, html: Path | None) -> None:
    """The costs, the errors, and what the data do not say."""
    console = _console()
    table = _table("Cost", "Prior", "Fitted", "Ensemble, 5 to 95 %", "Told by the data")
    for one in calibration.found:
        spread = f"{significant(one.low)} to {significant(one.high)}"
        told = "yes" if one.is_told else _untold(one)
        table.add_row(one.prior.key, significant(one.prior.value), significant(one.best), spread, told)
    console.print(table)
    console.print()
    points = _table("Window", "Write size", "", "Measured", "Model", "Range", "Error")
    for judged in calibration.verdict.points:
        points.add_row(*point_row(judged))
    console.print(points)
    console.print()
    for line in told_verdict(calibration):
        console.print(line)
    console.print(f"\nCalibrated host: {out}" + (f"\nPage: {html}" if html else ""))


def told_verdict(calibration: "Calibration") -> list[str]:
    """The errors in sentences."""
    verdict = calibration.verdict
    held = [one for one in verdict.points if one.is_held_out]
    worst = verdict.held_out_worst
    signs, all_signs = verdict.held_out_signs, verdict.signs
    lines = [
        f"At the {len(held)} cells that no fit has seen, the model is off by {percent(verdict.held_out_median)} in the "
        f"median and by {percent(abs(worst.error_ratio))} at worst (window {octets(worst.point.place[0])}, writes of "
        f"{octets(worst.point.place[1])}); at the fitted ones by {percent(verdict.fitted_median)}."
    ]
    if signs.pairs:
        lines.append(
            f"Of {signs.pairs} what-if pairs of held-out cells that differ by more than 10 %, it has the sign of "
            f"{signs.right} right ({percent(signs.right / signs.pairs)}); of {all_signs.pairs} with one held-out cell "
            f"or two, {all_signs.right} ({percent(all_signs.right / all_signs.pairs)})."
        )
    untold = [one.prior.key for one in calibration.found if not one.is_told]
    if untold:
        lines.append(
            f"{len(calibration.fit.members)} sets of costs do about equally well; the data do not tell "
            f"{', '.join(untold)}."
        )
    return lines


def point_row(judged: Judged) -> tuple[str, ...]:
    """A point as a row: window, write size, whether it was held out, measured, said, its range, error."""
    window, write_size = judged.point.place
    return (
        octets(window),
        octets(write_size),
        "held out" if judged.is_held_out else "",
        bit_rate(judged.point.goodput_bps),
        bit_rate(judged.said_bps),
        f"{bit_rate(judged.low_bps)} to {bit_rate(judged.high_bps)}",
        f"{judged.error_ratio:+.1%}".replace("%", " %"),
    )


def _untold(found: Found) -> str:
    return f"no; with {', '.join(found.traded_with)}" if found.traded_with else "no"


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 or not heading else "right")
    return table


def _console() -> Console:
    return Console(highlight=False, markup=False)
