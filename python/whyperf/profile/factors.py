"""The factors: one flat table from which validation, `--only`, help and documents are made.

The names are the keys of a profile, of a plan's cells and of the result JSON. A factor whose level
is a `word` leaves the choice to the kernel (`default`) or to the controller (`auto`, `any`).
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from whyperf.profile.errors import ProfileError, suggestion

KIND_PHRASES = {"int": "a whole number", "float": "a number", "bool": "true or false"}

Level = bool | int | float | str
Kind = Literal["int", "float", "bool", "choice", "name", "cpus"]

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
    words: tuple[str, ...] = ()
    choices: tuple[Level, ...] = ()
    testbed: bool = False
    #: Only in cells that run for a time, not in those that transfer a number of bytes.
    timed: bool = False

    @property
    def is_number(self) -> bool:
        """Whether a range of levels makes sense."""
        return self.kind in {"int", "float"}

    def allowed(self) -> str:
        """What levels it takes, as a phrase for messages and help."""
        if self.kind == "choice":
            return " or ".join(str(choice) for choice in self.choices)
        if self.kind == "cpus":
            return 'auto, any or a list such as "0" or "0,2-3"'
        if self.kind == "name":
            return "a name"
        if self.kind == "bool":
            return KIND_PHRASES["bool"]
        bounds = f"{KIND_PHRASES[self.kind]} from {self.low:.12g}"
        if self.high < LARGEST_BYTES:
            bounds += f" to {self.high:.12g}"
        return " or ".join([bounds, *self.words])

    def check(self, level: object) -> Level:
        """The level as the plan keeps it (a float factor's `10` becomes `10.0`).

        Raises:
            ProfileError: with the factor's name as key, when it is not a level of this factor.
        """
        checked = self._checked(level)
        if checked is None:
            raise ProfileError("", self.name, f"{_shown(level)} is not a level; it takes {self.allowed()}")
        return checked

    def _checked(self, level: object) -> Level | None:
        if isinstance(level, str):
            return level if level in self.words or self._is_text(level) else None
        if isinstance(level, bool):
            return level if self.kind == "bool" else None
        if not isinstance(level, int | float):
            return None
        if self.kind == "choice":
            return level if level in self.choices and isinstance(level, int) else None
        whole = self.kind == "int" and isinstance(level, int)
        if not (whole or self.kind == "float") or not self.low <= level <= self.high:
            return None
        return level if whole else float(level)

    def _is_text(self, level: str) -> bool:
        match self.kind:
            case "choice":
                return level in self.choices
            case "cpus":
                return CPU_LIST.fullmatch(level) is not None
            case "name":
                return CONGESTION_NAME.fullmatch(level) is not None
        return False

    def parse(self, text: str) -> Level:
        """The level a command-line option names: `8192`, `8K`, `true`, `receive`, `=write_size_bytes`.

        Byte factors take K, M and G for powers of 1024. A reference is returned as it is.

        Raises:
            ProfileError: as `check`.
        """
        if text.startswith("="):
            return text
        return self.check(self._parsed(text.strip()))

    def _parsed(self, text: str) -> object:
        if text in self.words:
            return text
        if self.kind == "bool":
            return {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}.get(text, text)
        if self.kind == "choice":
            return next((choice for choice in self.choices if str(choice) == text), text)
        scaled = SIZE.fullmatch(text) if self.unit == "bytes" else None
        if scaled:
            return int(scaled[1]) << {"K": 10, "M": 20, "G": 30}[scaled[2].upper()]
        if self.is_number:
            for number in (int, float):
                try:
                    return number(text)
                except ValueError:
                    continue
        return text


CPU_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
#: TCP_CA_NAME_MAX is 16 with the closing NUL (Linux include/net/tcp.h).
CONGESTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,15}")
SIZE = re.compile(r"(\d{1,15})([KkMmGg])")

FACTORS: tuple[Factor, ...] = (
    Factor(
        "window_bytes", "int", "default", "bytes",
        "Window: buffer and window clamp at the receiver, buffer at the sender.",
        low=1, high=LARGEST_WINDOW_BYTES, words=("default",),
    ),
    Factor(
        "send_buffer_bytes", "int", "default", "bytes",
        "Send buffer at the sender; overrides the window's.",
        low=1, high=LARGEST_WINDOW_BYTES, words=("default",),
    ),
    Factor(
        "receive_buffer_bytes", "int", "default", "bytes",
        "Receive buffer at the receiver; overrides the window's.",
        low=1, high=LARGEST_WINDOW_BYTES, words=("default",),
    ),
    Factor(
        "write_size_bytes", "int", 131072, "bytes", "Bytes a send call asks for.",
        low=1, high=LARGEST_WINDOW_BYTES,
    ),
    Factor(
        "read_size_bytes", "int", 131072, "bytes", "Bytes a receive call asks for.",
        low=1, high=LARGEST_WINDOW_BYTES,
    ),
    Factor(
        "read_wait", "choice", "poll", "",
        "How the receiver waits: in poll(2) before each read, or block inside the read as ttcp does.",
        choices=("poll", "block"),
    ),
    Factor(
        "reply_size_bytes", "int", 0, "bytes",
        "Reply to every write, which the sender waits for; 0: none, the payload is a stream.",
        low=0, high=LARGEST_WINDOW_BYTES,
    ),
    Factor(
        "write_rate_bps", "int", "default", "bit/s",
        "Rate at which each connection's application writes; default: as fast as it can.",
        low=8, high=10**13, words=("default",),
    ),
    Factor("connections", "int", 1, "connections", "Connections at the same time.", low=1, high=10_000),
    Factor(
        "direction", "choice", "send", "",
        "send: the near end writes; receive: the far end writes.",
        choices=("send", "receive"),
    ),
    Factor("no_delay", "bool", False, "", "Nagle off (TCP_NODELAY)."),
    Factor("quick_ack", "bool", False, "", "Delayed ACK off (TCP_QUICKACK)."),
    Factor("congestion_control", "name", "cubic", "", "Congestion control, on both ends."),
    Factor(
        "mss_bytes", "int", "default", "bytes",
        "Largest segment (TCP_MAXSEG; bounds of Linux).",
        low=88, high=32767, words=("default",),
    ),
    Factor(
        "pacing_rate_bps", "int", "default", "bit/s",
        "Upper bound of each connection's rate at the sender (SO_MAX_PACING_RATE).",
        low=8_000, high=10**13, words=("default",),
    ),
    Factor("ip_version", "choice", 4, "", "IP version.", choices=(4, 6)),
    Factor(
        "transfer_bytes", "int", "default", "bytes",
        "Payload of each connection; default: run for duration_s instead.",
        low=1, high=LARGEST_BYTES, words=("default",),
    ),
    Factor(
        "duration_s", "float", 10.0, "s", "Length of the measurement window.",
        low=0.001, high=604_800, timed=True,
    ),
    Factor("warmup_s", "float", 1.0, "s", "Load before the measurement window.", low=0, high=86_400, timed=True),
    Factor("cooldown_s", "float", 0.2, "s", "Load after the measurement window.", low=0, high=86_400, timed=True),
    Factor("interval_ms", "int", 100, "ms", "Time between samples.", low=1, high=60_000),
    Factor(
        "deadline_s", "float", 60.0, "s",
        "The load is cut this long after its start; stretches with the phases unless given.",
        low=0.001, high=1_000_000,
    ),
    Factor(
        "near_cpus", "cpus", "auto", "",
        "CPUs of the near end's load; auto: disjoint halves where both ends share a machine.",
        words=("auto", "any"),
    ),
    Factor("far_cpus", "cpus", "auto", "", "The same for the far end.", words=("auto", "any")),
    # The smallest MTU is RFC 791's 68; IP version 6 needs 1280 (RFC 8200 section 5).
    Factor("mtu_bytes", "int", 1500, "bytes", "MTU of the testbed.", low=68, high=65535, testbed=True),
    Factor("tso", "bool", True, "", "TCP segmentation offload of the testbed.", testbed=True),
    Factor("gso", "bool", True, "", "Generic segmentation offload of the testbed.", testbed=True),
    Factor("gro", "bool", True, "", "Generic receive offload of the testbed.", testbed=True),
)  # fmt: skip

BY_NAME: dict[str, Factor] = {factor.name: factor for factor in FACTORS}


def factor_named(name: str) -> Factor:
    """The factor of that name.

    Raises:
        ProfileError: with a near name, when there is none.
    """
    if name not in BY_NAME:
        raise ProfileError("", name, f"there is no factor of this name{suggestion(name, BY_NAME)}")
    return BY_NAME[name]


def _shown(level: object) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    return f'"{level}"' if isinstance(level, str) else str(level)
