"""Colors, each for a light and a dark page. They are distinguishable with any color vision.

Categories are from M. Okabe and K. Ito, "Color universal design" (2008), darkened or lightened for
contrast with the page; ordered levels are from viridis, whose lightness grows evenly.
"""

from bokeh.palettes import viridis

Paint = tuple[str, str]
"""A color on the light page and on the dark one."""

ENDS: dict[str, Paint] = {"sender": ("#0067a3", "#56b4e9"), "receiver": ("#c04a00", "#f0913a")}

KINDS: dict[str, Paint] = {
    "user": ("#0072b2", "#56a5dd"),
    "system": ("#d98c00", "#f0b13c"),
    "softirq": ("#008f68", "#2fc294"),
    "irq": ("#b8578a", "#dd8fb8"),
    "steal": ("#c2410c", "#f0783c"),
    "idle": ("#d3d9e0", "#4a5664"),
}
"""Kinds of CPU time."""

CATEGORIES: tuple[Paint, ...] = (
    ("#0067a3", "#56b4e9"),
    ("#c04a00", "#f0913a"),
    ("#007d5a", "#2fc294"),
    ("#a3487a", "#e09cc4"),
    ("#8a6d00", "#e6c229"),
    ("#4b4fa8", "#9fa4f5"),
    ("#55606e", "#aab4c0"),
    ("#7a1f1f", "#e58a8a"),
)

INK: Paint = ("#1d232b", "#e6eaef")
FAINT: Paint = ("#5d6875", "#9aa5b1")
GRID: Paint = ("#e6e9ed", "#2a313a")
SHADE: Paint = ("#f0f2f5", "#20262e")


def ordered(count: int) -> tuple[Paint, ...]:
    """Colors for `count` levels in order: dark to light on white, the same hues lifted on dark."""
    shades = viridis(256)
    if count == 1:
        return (CATEGORIES[0],)
    light = [shades[round(index * 200 / (count - 1))] for index in range(count)]
    dark = [shades[80 + round(index * 175 / (count - 1))] for index in range(count)]
    return tuple(zip(light, dark, strict=True))


def tag(paint: Paint) -> str:
    """The tag with which the script of the page finds the color of a model."""
    return "|".join(["paint", *paint])
