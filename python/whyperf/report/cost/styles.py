"""The look of a class of cost: color and texture. Classes of one layer share a color and differ in texture."""

from functools import cache

from whyperf.analyze.cost.classes import by_name, classes
from whyperf.report.charts.colors import Paint
from whyperf.report.explanation.styles import BLUE, GRAY, GREEN, INDIGO, OLIVE, ORANGE, PINK, RED, Look, Texture

_LAYERS: tuple[tuple[Paint, tuple[str, ...]], ...] = (
    (BLUE, ("application", "encryption")),
    (INDIGO, ("system_calls", "events", "security_modules", "mitigations")),
    (ORANGE, ("copy", "checksums", "files")),
    (GREEN, ("transmit", "receive", "acks", "segmentation")),
    (OLIVE, ("devices", "ip", "filter_rules", "interrupts_on")),
    (PINK, ("interrupts", "hypervisor", "scheduling", "contention")),
    (RED, ("memory", "memory_pressure")),
    (GRAY, ("own_tracing", "other_programs", "other_bpf", "idle")),
)
_TEXTURES: tuple[Texture, ...] = ("plain", "slash", "dots", "cross")


@cache
def look_of(name: str) -> Look:
    """The look of a class of cost; its letters are its name in style sheets."""
    entry = by_name()[name]
    for paint, names in _LAYERS:
        if name in names:
            return Look(name, entry.title, style_of(name), paint, _TEXTURES[names.index(name)], entry.about)
    return Look(name, entry.title, style_of(name), GRAY, "hollow", entry.about)


def in_order(names: set[str]) -> list[str]:
    """Classes of cost in the order in which bars have them: by layer, what no layer has last."""
    order = [name for _, layer in _LAYERS for name in layer]
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


@cache
def style_of(name: str) -> str:
    """The name by which style sheets know a class of cost."""
    return f"k{[entry.name for entry in classes()].index(name)}"


def class_styles() -> str:
    """The colors of the classes, as CSS variables."""
    looks = [look_of(entry.name) for entry in classes()]
    return "".join(f".{look.letters}{{--light:{look.paint[0]};--dark:{look.paint[1]}}}" for look in looks)
