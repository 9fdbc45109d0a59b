"""An injection: the names that a verdict may give it, the settings that can have it, and how its dose is drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from lab.disturb.disturbances import Disturbance
from lab.situations.setting import Setting
from whyperf.profile import Factors

Drawing = Callable[[Random, Setting], "Dose"]
"""Draws the dose of an injection."""


@dataclass(frozen=True)
class Dose:
    """The settings of one injection: factors, and what is done to the hosts; and further names that a verdict may give
    it in this setting, each with the reason."""

    factors: Factors
    disturb: tuple[Disturbance, ...] = ()
    also: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Injected:
    """A cause that can be injected.

    `causes` are the names that a verdict may give it, the injected one first; `because` gives the reason for each
    further one. `needs` and `not_with` are traits of the setting; `dose` draws one. Causes of the same `slot` exclude
    each other.
    """

    name: str
    causes: tuple[str, ...]
    because: tuple[str, ...]
    needs: frozenset[str]
    not_with: frozenset[str]
    slot: str
    dose: Drawing

    def fits(self, setting: Setting) -> bool:
        """True where the setting can have it."""
        return self.needs <= setting.traits and not self.not_with & setting.traits


_registered: list[Injected] = []


def injected(
    causes: str, needs: str = "", *, not_with: str = "", slot: str = "", **because: str
) -> Callable[[Drawing], Drawing]:
    """Registers the decorated drawing of doses; spaces separate the names of causes and of traits."""

    def add(dose: Drawing) -> Drawing:
        name = dose.__name__.replace("_", "-")
        names = tuple(causes.split())
        reasons = tuple(because[cause] for cause in names[1:])
        found = Injected(
            name, names, reasons, frozenset(needs.split()), frozenset(not_with.split()), slot or name, dose
        )
        _registered.append(found)
        return dose

    return add


def registered(module: str) -> tuple[Injected, ...]:
    """The injections of a module, in the order in which they are written."""
    return tuple(found for found in _registered if found.dose.__module__ == module)
