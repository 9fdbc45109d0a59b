"""The classes of cost, and which functions they claim. The table is data: `classes.toml`."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import NamedTuple

APPLICATION, ENCRYPTION, OWN_TRACING, OTHER_BPF = "application", "encryption", "own_tracing", "other_bpf"
OTHER_PROGRAMS, IDLE, NOT_ATTRIBUTED = "other_programs", "idle", "not_attributed"
KERNEL, BPF, OWN_BPF, PROGRAM = "kernel", "bpf", "own_bpf", "program"
"""Kinds of functions, as in the record's table `functions`."""

INTERRUPTS_ON = "interrupts_on"
"""The class of samples that a timer took late; no function is claimed for it."""

SWITCHES_ON = re.compile(
    r"native_write_msr.*|handle_softirqs|__do_softirq|_raw_(spin|read|write)_unlock_irq(restore)?|finish_task_switch"
)
"""Functions that switch interrupts on, or after which they are. A timer that was due before takes its samples here."""

UNKNOWN = "[unknown]"
"""The name of a function without one, as in the record."""

_TRACEPOINT = re.compile(r"_*bpf_trace_.*|__traceiter_.*|call_trace_.*|bpf_trace_run\d+")
"""A function that calls programs on tracepoints: it costs whose programs they are."""

_HELPER = re.compile(
    r"bpf_(get|map|probe|ktime|ringbuf|perf|loop|for_each|task_storage|sk_storage|skc_to|skb_load|redirect|xdp)_.*"
    r"|_*(p?htab|array_map|lookup_nulls|trie|percpu_array)_.*|copy_from_kernel_nofault.*"
)
"""A function that BPF programs call: it costs whose program called it; programs of others may have no name."""


HELPER, TRACEPOINT = "@helper", "@tracepoint"
"""Claims of functions that cost whose BPF program calls them, or hangs on them."""


class Function(NamedTuple):
    """A function on a stack, as in the record's table `functions`."""

    name: str
    kind: str
    object: str = ""


@dataclass(frozen=True)
class CostClass:
    """A class: `per` is the event that is counted for it, None where there is none."""

    name: str
    title: str
    about: str
    per: str | None = None
    functions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern})" for pattern in self.functions) or r"(?!)")

    def claims(self, name: str) -> bool:
        """True where a function of this name, without what a compiler appends, belongs to the class."""
        return self._pattern.fullmatch(name) is not None


@cache
def classes() -> tuple[CostClass, ...]:
    """All of them, in the order in which they are shown."""
    table = tomllib.loads(resources.files(__package__).joinpath("classes.toml").read_text(encoding="utf-8"))
    return tuple(
        CostClass(
            entry["name"],
            entry["title"],
            entry["about"],
            entry.get("per"),
            tuple(entry.get("functions", ())),
            tuple(entry.get("modules", ())),
        )
        for entry in table["class"]
    )


@cache
def by_name() -> dict[str, CostClass]:
    """The classes by name."""
    return {entry.name: entry for entry in classes()}


def base_name(name: str) -> str:
    """A function's name without what a compiler appends to its copies, such as `.isra.0`, `.part.0` and `.cold`."""
    return name.split(".", 1)[0] if "::" not in name else name


def claimed(function: Function) -> str | None:
    """The class that claims a function, `HELPER` or `TRACEPOINT` where it depends on the rest of the stack, or None.

    The innermost function of a stack that is claimed decides about the whole stack.
    """
    name = base_name(function.name)
    if function.kind == KERNEL:
        return _claimed_in_kernel(name, function.object)
    if function.kind == PROGRAM:
        # Functions of a program are its own, whatever their names, but for ciphers.
        return ENCRYPTION if by_name()[ENCRYPTION].claims(name) else APPLICATION
    return OWN_TRACING if function.kind == OWN_BPF else OTHER_BPF


def _claimed_in_kernel(name: str, module: str) -> str | None:
    if _HELPER.fullmatch(name):
        return HELPER
    if _TRACEPOINT.fullmatch(name):
        return TRACEPOINT
    for entry in classes():
        if entry.claims(name) or module in entry.modules:
            return entry.name
    return None
