"""What a factor is: its kind, its bounds, and which of the levels people write it takes."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from whyperf.profile.errors import ProfileError
from whyperf.profile.path_levels import LOSS_FORMS, QUEUE_FORMS, loss_of, queue_of

#: What a level that is text looks like.
TEXT_PHRASES = {
    "cpus": 'auto, any or a list such as "0" or "0,2-3"',
    "name": "a name",
    "workload": "a workload's name",
    "schedule": "a schedule's name",
    "queue": QUEUE_FORMS,
    "loss": LOSS_FORMS,
    "hosts": "one host of the model such as sparc2+sba-100@2.2.6, two as SENDER,RECEIVER",
}
KIND_PHRASES = {"int": "a whole number", "float": "a number", "bool": "true or false"}

Level = bool | int | float | str
Kind = Literal["int", "float", "bool", "choice", "name", "workload", "schedule", "cpus", "queue", "loss", "hosts"]

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
        """Whether a range of levels makes sense."""
        return self.kind in {"int", "float"}

    def allowed(self) -> str:
        """What levels it takes, as a phrase for messages and help."""
        if self.kind == "choice":
            return " or ".join(str(choice) for choice in self.choices)
        if self.kind in TEXT_PHRASES:
            return " or ".join([TEXT_PHRASES[self.kind], *(word for word in self.keywords if self.kind != "cpus")])
        if self.kind == "bool":
            return KIND_PHRASES["bool"]
        bounds = f"{KIND_PHRASES[self.kind]} from {self.low:.12g}"
        if self.high < LARGEST_BYTES:
            bounds += f" to {self.high:.12g}"
        return " or ".join([bounds, *self.keywords])

    def check(self, level: object) -> Level:
        """The level as the plan keeps it (a float factor's `10` becomes `10.0`).

        Raises:
            ProfileError: with the factor's name as key, when it is not a level of this factor.
        """
        checked = self._checked(level)
        if checked is None:
            problem = f"{_shown(level)} is not a level; it takes {self.allowed()}{self._unit_for(level)}"
            raise ProfileError("", self.name, problem)
        return checked

    def _unit_for(self, level: object) -> str:
        """In what a number counts, for who wrote a number with another unit."""
        if not self.unit or not self.is_number or not isinstance(level, str) or not WITH_UNIT.fullmatch(level):
            return ""
        suffixes = SUFFIXES.get(self.unit)
        return f", in {self.unit}" + ("" if suffixes is None else f"; K, M and G are powers of {suffixes.base}")

    def _checked(self, level: object) -> Level | None:
        if isinstance(level, str):
            return level if level in self.keywords or self._is_text(level) else None
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

    def parse(self, text: str) -> Level:
        """The level a command-line option names: `8192`, `8K`, `true`, `receive`, `=write_size_bytes`.

        Byte factors take K, M and G for powers of 1024, also as KB or KiB, rates for powers of 1000, and fractions
        that come out whole: `1.5M`. A reference is returned as it is.

        Raises:
            ProfileError: as `check`.
        """
        if text.startswith("="):
            return text
        return self.check(self._parsed(text.strip()))

    def _parsed(self, text: str) -> object:
        if text in self.keywords:
            return text
        if self.kind == "bool":
            return {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}.get(text, text)
        if self.kind == "choice":
            return next((choice for choice in self.choices if str(choice) == text), text)
        suffixes = SUFFIXES.get(self.unit)
        scaled = suffixes.pattern.fullmatch(text) if suffixes is not None else None
        if suffixes is not None and scaled:
            number = Fraction(scaled[1]) * suffixes.base ** ("KMG".index(scaled[2].upper()) + 1)
            return int(number) if number.denominator == 1 else text
        if self.is_number or self.kind in {"queue", "loss"}:
            for kind in (int, float):
                try:
                    return kind(text)
                except ValueError:
                    continue
        return text


#: A number and what somebody took for its unit.
WITH_UNIT = re.compile(r"[0-9.]+ ?[A-Za-zµ][A-Za-z/]*")
CPU_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
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
FORMED: Mapping[str, Callable[[object], object]] = {"queue": queue_of, "loss": loss_of}


class Suffixes(NamedTuple):
    """How a number with K, M or G is written, and what K stands for."""

    pattern: re.Pattern[str]
    base: int


_SCALED = r"(\d{1,15}(?:\.\d{1,15})?)([KkMmGg])"
SUFFIXES = {
    "bytes": Suffixes(re.compile(_SCALED + r"(?:i?[Bb])?"), 1024),
    "bit/s": Suffixes(re.compile(_SCALED + r"(?:bps|bit/s)?"), 1000),
    "transactions/s": Suffixes(re.compile(_SCALED + r"(?:/s)?"), 1000),
}
"""By the unit of a factor: sizes in powers of 1024, rates in powers of 1000."""


def cpus_of_list(text: str) -> list[int]:
    """The CPUs of a list such as `0,2-3`, the form of the kernel's cpuset files; none for a word or a reference."""
    if not text[:1].isdecimal():
        return []
    spans = [part.partition("-") for part in text.split(",")]
    return [cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1)]


def _shown(level: object) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    return f'"{level}"' if isinstance(level, str) else str(level)
