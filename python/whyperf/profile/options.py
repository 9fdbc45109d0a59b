"""Which option applies where, as crates/schema/src/options.rs defines it and `make schemas` writes it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RULES = Path(__file__).with_name("options.json")


@dataclass(frozen=True)
class Carries:
    """The loads and I/O models that a transport carries."""

    transport: str
    loads: tuple[str, ...]
    io_models: tuple[str, ...]
    #: True where a library over UDP carries it instead of a socket of the kernel.
    is_library: bool


@dataclass(frozen=True)
class Rule:
    """Where an option applies."""

    factor: str
    #: Its field in the trial's message, such as `socket.no_delay`.
    field: str
    transports: tuple[str, ...]
    loads: tuple[str, ...]
    io_models: tuple[str, ...]
    targets: tuple[str, ...]


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


_rules = json.loads(RULES.read_text())
#: Transports by name.
TRANSPORTS: Mapping[str, Carries] = {row["transport"]: Carries(**_tuples(row)) for row in _rules["transports"]}
#: Options by the factor that sets them.
OPTIONS: Mapping[str, Rule] = {row["factor"]: Rule(**_tuples(row)) for row in _rules["options"]}
#: Options of the sockets by factor, with the field of `SocketSpec`.
OF_SOCKETS: Mapping[str, str] = {
    rule.factor: rule.field.removeprefix("socket.") for rule in OPTIONS.values() if rule.field.startswith("socket.")
}


def carrying(load: str) -> tuple[str, ...]:
    """The transports of a load."""
    return tuple(name for name, carries in TRANSPORTS.items() if load in carries.loads)
