"""A calibration in words, for the terminal and the page."""

from whyperf.analyze.text import bit_rate, count, octets, percent, significant
from whyperf.calibrate.calibration import Calibration
from whyperf.calibrate.identify import Found
from whyperf.calibrate.judge import Judged
from whyperf.calibrate.stages import step_checks


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
    if calibration.staged:
        lines += _staged_lines(calibration)
    undetermined = [cost.prior.key for cost in calibration.found if not cost.is_determined]
    if undetermined:
        lines.append(
            f"{len(calibration.fit.members)} sets of costs do about equally well; the data do not determine "
            f"{', '.join(undetermined)}."
        )
    return lines


def _staged_lines(calibration: Calibration) -> list[str]:
    """Says what stage times add, and how they compare with the timed steps."""
    lines = [f"Stage times show {count(len(calibration.staged), 'cost')} directly: {', '.join(calibration.staged)}."]
    narrowed = calibration.narrowed
    if narrowed is not None:
        rest = "" if narrowed.others_ratio is None else f", of the others to {percent(narrowed.others_ratio)}"
        lines.append(
            f"They narrow the ensemble of these costs to {percent(narrowed.staged_ratio)} of its width without "
            f"them (in logarithms, median){rest}."
        )
    checks = step_checks(calibration.steps.measured, calibration.staged)
    if checks:
        worst = max(checks, key=lambda check: abs(check.difference_ratio))
        median = sorted(abs(check.difference_ratio) for check in checks)[len(checks) // 2]
        lines.append(
            f"Next to {count(len(checks), 'timed step')}, stage times differ by {percent(median)} in the median, and "
            f"most in {worst.step} ({significant(worst.timed)} timed, {significant(worst.staged)} by stages)."
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
    """States whether the data say what a cost is, and what it stands for where not."""
    if found.is_determined:
        return "by stage times" if found.is_staged else "yes"
    return f"no; with {', '.join(found.traded_with)}" if found.traded_with else "no"
