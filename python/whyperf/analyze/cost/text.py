"""The way that a cost budget is shown: per KByte or per transaction, and the names of functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import cast

from whyperf.analyze.cost.classes import BPF, OWN_BPF, PROGRAM
from whyperf.analyze.cost.events import COPIED_KBYTES
from whyperf.analyze.cost.result import Amount, CellCost, ClassCost, FunctionCost, SideCost

EVENTS: Mapping[str, tuple[str, str]] = {
    "kbytes": ("KByte", "KBytes"),
    "calls": ("call", "calls"),
    "data_packets_out": ("packet", "packets sent"),
    "data_packets_in": ("packet", "packets received"),
    "acks": ("ACK", "ACKs"),
    "softirqs": ("soft interrupt", "soft interrupts"),
    "context_switches": ("context switch", "context switches"),
    COPIED_KBYTES: ("KByte copied", "KBytes copied"),
}
"""The things that are counted of classes (`per` in `classes.toml`): one, and several."""


@dataclass(frozen=True)
class Basis:
    """The divisor of costs: `unit` in prose, `column` in the heading of a column."""

    unit: str
    column: str
    total: Callable[[SideCost], Amount]
    exclusive: Callable[[ClassCost | FunctionCost], Amount]
    inclusive: Callable[[FunctionCost], float | None]


PER_KBYTE = Basis("KByte", "KB", lambda side: side.total, lambda part: part.exclusive, lambda part: part.inclusive)
_PER_TRANSACTION = Basis(
    "transaction",
    "transaction",
    lambda side: cast("Amount", side.per_transaction),
    lambda part: cast("Amount", part.per_transaction),
    lambda part: part.inclusive_per_transaction,
)


def basis_of(cell: CellCost, side: SideCost) -> Basis:
    """Per transaction where the cell's rate is in transactions and its trials count them, otherwise per KByte."""
    return _PER_TRANSACTION if cell.metric == "transactions" and side.per_transaction is not None else PER_KBYTE


def cycles(value: float) -> str:
    """Cycles with at least three digits.

    >>> cycles(1234.5), cycles(12.345)
    ('1,234', '12.3')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def function_text(function: FunctionCost) -> str:
    """The name as it is read: of a BPF program without its tag, of another program's function with the program."""
    return name_text(function.name or "", function.kind or "", function.object or "")


def name_text(name: str, kind: str, object_: str) -> str:
    """The same of `name`, `kind` and `object` as in the record.

    >>> name_text("bpf_prog_1f_count", "bpf", ""), name_text("main", "program", "/usr/bin/x")
    ('count (BPF)', 'main (x)')
    """
    if kind in {BPF, OWN_BPF}:
        return f"{name.removeprefix('bpf_prog_').partition('_')[2] or name} (BPF)"
    return f"{name} ({PurePath(object_).name})" if kind == PROGRAM and object_ else name
