"""A factor: its kind, its bounds, and which of the levels people write it takes."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import islice
from typing import Literal

from whyperf.profile.errors import ProfileError
from whyperf.profile.path_levels import LOSS_FORMS, QUEUE_FORMS, loss_of, queue_of
from whyperf.profile.units import RATIO, bounds, examples_of, hint_for, with_unit

#: The form of a level that is text.
TEXT_PHRASES = {
    "cpus": 'a list such as "0" or "0,2-3"',
    "name": "a name",
    "workload": "a workload's name",
    "schedule": "a schedule's name",
    "queue": QUEUE_FORMS,
    "loss": LOSS_FORMS,
    "address": "a numeric address such as 10.0.0.1",
    "hosts": "one host of the model such as sparc2+sba-100@2.2.6, two as SENDER,RECEIVER",
}
KIND_PHRASES = {"int": "a whole number", "float": "a number", "bool": "true or false"}

Level = bool | int | float | str
Kind = Literal[
    "int", "float", "bool", "choice", "name", "workload", "schedule", "cpus", "queue", "loss", "address", "hosts"
]

#: Where a factor applies that is no option with a rule of its own (options.py): everywhere; only where the cell's
#: workload refers to it; with the workload `stream`; where the cell's schedule refers to it; with an emulated path.
Scope = Literal["all", "workload", "stream", "schedule", "path"]

#: Largest byte count that fits every counter of the record (signed 64 bits).
LARGEST_BYTES = 2**63 - 1
#: Largest TCP window: 65535 shifted by 14 (RFC 7323 2.3), rounded to what a socket buffer takes.
LARGEST_WINDOW_BYTES = 2**30


@dataclass(frozen=True)
class Factor:
    """Something of a trial that a profile may set or vary."""

    name: str
    kind: Kind
    default: Level
    unit: str
    help: str
    low: float = -math.inf
    high: float = math.inf
    keywords: tuple[str, ...] = ()
    choices: tuple[Level, ...] = ()
    testbed: bool = False
    #: Only in cells that run for a time, not in those that transfer a number of bytes.
    timed: bool = False
    #: Only on the model of two hosts.
    model: bool = False
    scope: Scope = "all"
    #: Not part of a plan's identifier while at its default, because plans were made before there was this factor.
    later: bool = False

    @property
    def is_number(self) -> bool:
        """True where a range of levels makes sense."""
        return self.kind in {"int", "float"}

    def allowed(self) -> str:
        """The levels that it takes, as a phrase for messages and help."""
        if self.kind == "choice":
            return " or ".join(str(choice) for choice in self.choices)
        if self.kind == "cpus":
            return f"{', '.join(self.keywords)} or {TEXT_PHRASES[self.kind]}"
        if self.kind in TEXT_PHRASES:
            return " or ".join([TEXT_PHRASES[self.kind], *self.keywords])
        if self.kind == "bool":
            return KIND_PHRASES["bool"]
        limits = bounds(self.low, self.high if self.high < LARGEST_BYTES else None, self.unit)
        return " or ".join([f"{KIND_PHRASES[self.kind]} {limits}", *self.keywords])

    def check(self, level: object) -> Level:
        """The level as the plan keeps it (a float factor's `10` becomes `10.0`).

        Raises:
            ProfileError: with the factor's name as key, when it is not a level of this factor.
        """
        checked = self._checked(level)
        if checked is None:
            unit = self._counted_in
            example = next((f", such as {text}" for text in examples_of(unit) if self._checked(text) is not None), "")
            # The other kinds have examples in their phrase.
            example = example if self.is_number else ""
            problem = f"invalid value {_shown(level)}; give {self.allowed()}{example}{hint_for(level, unit)}"
            raise ProfileError("", self.name, problem)
        return checked

    @property
    def _counted_in(self) -> str:
        """The unit of its numbers; ratios, which are written without one, can be percentages."""
        is_ratio = self.kind == "loss" or (self.kind == "float" and not self.unit and self.high == 1)
        return RATIO if is_ratio else self.unit if self.is_number or self.kind == "queue" else ""

    def _checked(self, level: object) -> Level | None:
        if isinstance(level, str):
            if level in self.keywords or self._is_text(level):
                return level
            number = self.number_with_unit(level)
            return None if number is None else self._checked_number(number)
        if isinstance(level, bool):
            return level if self.kind == "bool" else None
        return self._checked_number(level) if isinstance(level, int | float) else None

    def _checked_number(self, level: float) -> Level | None:
        if self.kind == "choice":
            return level if level in self.choices and isinstance(level, int) else None
        if self.kind in FORMED:
            number = float(level) if self.kind == "loss" else level
            return number if FORMED[self.kind](level) else None
        whole = self.kind == "int" and isinstance(level, int)
        if not (whole or self.kind == "float") or not self.low <= level <= self.high:
            return None
        return level if whole else float(level)

    def _is_text(self, level: str) -> bool:
        if self.kind in FORMS:
            return FORMS[self.kind].fullmatch(level) is not None
        if self.kind in FORMED:
            return FORMED[self.kind](level) is not None
        return self.kind == "choice" and level in self.choices

    def number_with_unit(self, text: str) -> int | float | None:
        """`20ms`, `64K`, `0.1%` as a number in the factor's unit; None where that is not what the text is.

        A factor of whole numbers takes fractions that come out whole: `1.5M`.
        """
        number = with_unit(text, self._counted_in)
        if number is None:
            return None
        if self.kind in {"float", "loss"}:
            return float(number)
        return int(number) if number.denominator == 1 else None

    def parse(self, text: str) -> Level:
        """The level a command-line option names: `8192`, `8K`, `20ms`, `true`, `receive`, `=write_size_bytes`.

        A reference is returned as it is.

        Raises:
            ProfileError: as `check`.
        """
        if text.startswith("="):
            return text
        return self.check(self._parsed(text.strip()))

    def parse_all(self, text: str) -> list[Level]:
        """The levels of a list with commas, `cubic,bbr`; one level where the commas belong to it, as in CPUs `0,2-3`.

        Raises:
            ProfileError: as `check`.
        """
        return [self.parse(level) for level in self._levels_in(text)]

    def _levels_in(self, text: str) -> list[str]:
        listed = [level.strip() for level in text.split(",")]
        has_commas = self.kind == "hosts" or (self.kind == "cpus" and not set(listed) <= set(self.keywords))
        return [text.strip()] if has_commas else listed

    def _parsed(self, text: str) -> object:
        if text in self.keywords:
            return text
        if self.kind == "bool":
            return {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}.get(text, text)
        if self.kind == "choice":
            return next((choice for choice in self.choices if str(choice) == text), text)
        if self.is_number or self.kind in {"queue", "loss"}:
            for kind in (int, float):
                try:
                    return kind(text)
                except ValueError:
                    continue
        return text


def address_of(level: object) -> str | None:
    """The level where it is a numeric address without a scope."""
    try:
        return str(ip_address(level)) if isinstance(level, str) and "%" not in level else None
    except ValueError:
        return None


CPU_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
CPU_SPAN = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
MAX_CPUS = 100_000
"""As many as have numbers of five digits; Linux has 8,192 at most (NR_CPUS, arch/x86/Kconfig)."""
#: TCP_CA_NAME_MAX is 16 with the closing NUL (Linux include/net/tcp.h).
CONGESTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,15}")
WORKLOAD_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
#: Machine, adapter and driver, or the path of a host's own TOML file; two with a comma between them.
HOSTS = re.compile(r"[^\s,=]+(,[^\s,=]+)?")
#: Kinds of text that one expression describes, and those that have a reader.
FORMS = {
    "cpus": CPU_LIST,
    "name": CONGESTION_NAME,
    "workload": WORKLOAD_NAME,
    "schedule": WORKLOAD_NAME,
    "hosts": HOSTS,
}
FORMED: Mapping[str, Callable[[object], object]] = {"queue": queue_of, "loss": loss_of, "address": address_of}


def cpus_of_list(text: str) -> list[int]:
    """The CPUs of a list such as `0,2-3`, the form of the kernel's cpuset files; none for a word or a reference.

    No more than `MAX_CPUS`: the level of a stored plan may be any text.
    """
    if not text[:1].isdecimal():
        return []
    spans = ((int(span[1]), int(span[2] or span[1])) for span in CPU_SPAN.finditer(text))
    return list(islice((cpu for first, last in spans for cpu in range(first, last + 1)), MAX_CPUS))


def _shown(level: object) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    return f'"{level}"' if isinstance(level, str) else str(level)
