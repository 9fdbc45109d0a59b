"""Colors of the heat map: steps of viridis for quantities, those of the explanation for limit states."""

from functools import cache

from whyperf.analyze.fleet.result import LimitedBy
from whyperf.report.charts.colors import VIRIDIS
from whyperf.report.explanation.styles import Look, look_of

STEPS = 16
_STATES: dict[LimitedBy, str] = {
    "receive_window": "receive_window",
    "send_buffer": "send_buffer",
    "application": "not_writing",
    "in_flight": "in_flight",
}
#: Luminance from which on dark text is easier to read than white text (WCAG 2.2, relative luminance).
_DARK_INK = 0.18


def step_of(value: float, low: float, high: float) -> int:
    """The step of a value between the lowest and the highest, from 0."""
    return STEPS - 1 if high <= low else min(STEPS - 1, max(0, int((value - low) / (high - low) * STEPS)))


def state_look(limited_by: LimitedBy) -> Look:
    """The look of what a pair is limited by."""
    return look_of(_STATES[limited_by])


@cache
def fleet_styles() -> str:
    """Background and ink of each step, as classes that set variables: `g` for goodput, `r` for RTT, bright if short."""
    rules = []
    for step in range(STEPS):
        for letter, place in (("g", step), ("r", STEPS - 1 - step)):
            color = _color(place)
            ink = "#111" if _luminance(color) > _DARK_INK else "#fff"
            rules.append(f".{letter}{step}{{--{letter}:#{color};--{letter}-ink:{ink}}}")
    return "".join(rules)


def scale() -> str:
    """The colors from low to high, for the legend's `linear-gradient`."""
    return ",".join(f"#{_color(step)}" for step in range(STEPS))


def _color(step: int) -> str:
    at = round(step * 255 / (STEPS - 1))
    return VIRIDIS[6 * at : 6 * at + 6]


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
