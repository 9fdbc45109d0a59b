"""A calibration in words, for the terminal and the page."""

from whyperf.analyze.text import bit_rate, octets, percent
from whyperf.calibrate.calibration import Calibration
from whyperf.calibrate.identify import Found
from whyperf.calibrate.judge import Judged


def verdict_lines(calibration: Calibration) -> list[str]:
    """The errors in sentences."""
    verdict = calibration.verdict
    held = [point for point in verdict.points if point.is_held_out]
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
    undetermined = [cost.prior.key for cost in calibration.found if not cost.is_determined]
    if undetermined:
        lines.append(
            f"{len(calibration.fit.members)} sets of costs do about equally well; the data do not determine "
            f"{', '.join(undetermined)}."
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
        f"{judged.error_ratio:+,.1%}".replace("%", " %"),
    )


def determined_by_data(found: Found) -> str:
    """Whether the data say what a cost is, and what it stands for where not."""
    if found.is_determined:
        return "yes"
    return f"no; with {', '.join(found.traded_with)}" if found.traded_with else "no"
