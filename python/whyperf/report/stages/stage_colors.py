"""The look of a stage: color by what it belongs to, texture within that. Waiting is hollow."""

from functools import cache

from whyperf.analyze.stages import BY_DIRECTION, Stage
from whyperf.analyze.stages.kinds import BETWEEN, READ_ENTRY_ON_PATH, Layer
from whyperf.report.charts.colors import Paint
from whyperf.report.explanation.styles import BLUE, GRAY, GREEN, INDIGO, OLIVE, ORANGE, PINK, Look, Texture

_PAINTS: dict[Layer, Paint] = {
    "call": INDIGO,
    "copy": ORANGE,
    "protocol": GREEN,
    "queue": OLIVE,
    "driver": BLUE,
    "wakeup": PINK,
    "acks": GRAY,
    "path": GRAY,
}
_TEXTURES: tuple[Texture, ...] = ("plain", "slash", "dots", "cross")


@cache
def all_stages() -> tuple[Stage, ...]:
    """Every stage once, in the order of its direction; a stage of both directions where it comes first."""
    both = [stage for stages in BY_DIRECTION.values() for stage in stages]
    known = {stage.name: stage for stage in [*reversed(both), READ_ENTRY_ON_PATH, BETWEEN]}
    return tuple(known[name] for name in _names())


@cache
def look_of(name: str) -> Look:
    """The look of a stage by its name; its letters are its name in style sheets."""
    stage = next(stage for stage in all_stages() if stage.name == name)
    alike = [other.name for other in all_stages() if other.layer == stage.layer and not other.is_wait]
    texture: Texture = "hollow" if stage.is_wait else _TEXTURES[alike.index(name) % len(_TEXTURES)]
    about = f"{stage.about[:1].upper()}{stage.about[1:]}."
    return Look(name, stage.title, f"g{_names().index(name)}", _PAINTS[stage.layer], texture, about)


def stage_styles() -> str:
    """The colors of the stages, as CSS variables."""
    looks = [look_of(name) for name in _names()]
    return "".join(f".{look.letters}{{--light:{look.paint[0]};--dark:{look.paint[1]}}}" for look in looks)


@cache
def _names() -> tuple[str, ...]:
    names = [stage.name for stages in BY_DIRECTION.values() for stage in stages]
    return tuple(dict.fromkeys([*names, READ_ENTRY_ON_PATH.name, BETWEEN.name]))
