"""A calibrated host as a file: a profile of a host for the model, with its ensemble and where it was measured."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyperf.calibrate.errors import CalibrationError
from whyperf.calibrate.fit import Costs, Fit
from whyperf.calibrate.grid import AXES, Point
from whyperf.calibrate.identify import Found
from whyperf.calibrate.judge import Verdict
from whyperf.foreign import parse_toml, read_text
from whyperf.record.durable import write_file

#: Digits of a cost: more are noise.
_DIGITS = 4


@dataclass(frozen=True)
class CalibratedHost:
    """A host whose costs were calibrated.

    `base` is the expression of the host of the model it descends from, `profile` the file's text; `sets` are the
    ensemble, the best first. `levels` has the levels of every factor of the grid that was varied, and `fixed` the one
    level of the others.
    """

    base: str
    profile: str
    measured_on: Mapping[str, Any]
    sets: tuple[Costs, ...]
    levels: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]
    held_out_error_ratio: float

    @property
    def kernel(self) -> str:
        """Release of the kernel it was calibrated on."""
        return str(self.measured_on.get("kernel", ""))


def write_host(
    path: Path,
    base: str,
    *,
    measured_on: Mapping[str, Any],
    found: Sequence[Found],
    fit: Fit,
    points: Sequence[Point],
    verdict: Verdict,
) -> None:
    """Writes the file, whole or not at all."""
    about = f"{base} with the costs that were found on this kernel and CPU"
    where = f"{measured_on['kernel']}, {measured_on['date']}"
    lines = [
        'part = "host"',
        f"base = {_toml(base)}",
        f"about = {_toml(about)}",
        "",
        "[values]",
        *(f"{cost.prior.key} = {_entry(cost, where)}" for cost in found),
        "",
        "# What follows is the calibration's own: where it holds, and the ensemble that answers what-if.",
        "[calibration.measured_on]",
        *(f"{key} = {_toml(value)}" for key, value in measured_on.items()),
        "",
        "[calibration.error]",
        f"held_out_ratio_median = {verdict.held_out_median:.4f}",
        f"held_out_ratio_worst = {abs(verdict.held_out_worst.error_ratio):.4f}",
        f"fitted_ratio_median = {verdict.fitted_median:.4f}",
        f"signs_right_count = {verdict.held_out_signs.right}",
        f"signs_count = {verdict.held_out_signs.pairs}",
        "",
        "[calibration.levels]",
        *(f"{name} = {_toml(levels)}" for name, levels in _levels(points).items() if len(levels) > 1),
        "",
        "[calibration.fixed]",
        *(f"{name} = {_toml(levels[0])}" for name, levels in _levels(points).items() if len(levels) == 1),
        "",
        "[calibration.sets]",
        f"names = {_toml([cost.prior.key for cost in found])}",
        f"losses = {_toml([round(member.loss, 5) for member in fit.members])}",
        "values = [",
        *(f"  {_toml([_short(member.costs[cost.prior.key]) for cost in found])}," for member in fit.members),
        "]",
    ]
    write_file(path, ("\n".join(lines) + "\n").encode())


def read_host(path: Path) -> CalibratedHost:
    """Reads a calibrated host.

    Raises:
        CalibrationError: there is none, or it is not one.
    """
    try:
        text = read_text(path, is_users=True)
        document = parse_toml(text)
    except FileNotFoundError:
        raise CalibrationError(
            f"there is no calibrated host {path}; `whyperf model calibrate --out {path}` makes one"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CalibrationError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise CalibrationError(f"{path} is not TOML: {error}") from None
    calibration = document.get("calibration")
    if calibration is None:
        raise CalibrationError(f"{path} is no calibrated host; `whyperf model calibrate` makes one")
    try:
        names = calibration["sets"]["names"]
        return CalibratedHost(
            base=document["base"],
            profile=text,
            measured_on=calibration["measured_on"],
            sets=tuple(dict(zip(names, values, strict=True)) for values in calibration["sets"]["values"]),
            levels=calibration["levels"],
            fixed=calibration["fixed"],
            held_out_error_ratio=calibration["error"]["held_out_ratio_median"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CalibrationError(f"{path} is a damaged calibration ({error}); calibrate again") from None


def _levels(points: Sequence[Point]) -> dict[str, list[Any]]:
    """The levels of every factor, sorted; those of the axes always as varied."""
    names = [*AXES, *sorted({name for point in points for name in point.factors} - set(AXES))]
    found = {}
    for name in names:
        levels = {point.factors.get(name) for point in points} - {None}
        if levels:
            found[name] = sorted(levels, key=lambda level: (str(type(level)), level))
    return found


def _entry(found: Found, where: str) -> str:
    bounds = f"low = {_short(found.prior.low, -1)}, high = {_short(found.prior.high, 1)}"
    source = f"fitted on {where}; prior {found.prior.source}"
    return f"{{ value = {_short(found.best)}, {bounds}, source = {_toml(source)} }}"


def _short(value: float, direction: int = 0) -> float:
    """A few digits; bounds are rounded outwards, so that no value is cut off by its own bound."""
    return float(f"{value * (1 + direction * 10.0**-_DIGITS * 5):.{_DIGITS}g}")


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case _:
            escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
