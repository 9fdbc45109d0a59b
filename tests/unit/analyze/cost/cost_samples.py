"""Small tables of samples, and what their hosts used, for tests of the cost budget."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from whyperf.analyze.trials import Measured

#: A stack: group, context, functions from the outermost to the innermost, samples.
Stack = tuple[str, str, str, int]

#: Kinds of functions that are none of the kernel's.
KINDS = {"main": "program", "bpf_prog_1_own": "own_bpf", "bpf_prog_2_theirs": "bpf"}


def tables(stacks: Sequence[Stack], trial: str = "001-c0001", host: str = "near") -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `stacks` and `functions` of one host of a trial."""
    names = sorted({name for stack in stacks for name in stack[2].split()})
    numbers = {name: number for number, name in enumerate(names)}
    rows = [
        {
            "trial": trial,
            "cell": trial[4:],
            "host": host,
            "group": group,
            "program": "",
            "context": context,
            "vector": "net_rx" if "net_rx_action" in functions.split() else None,
            "functions": " ".join(str(numbers[name]) for name in functions.split()),
            "samples_count": samples,
        }
        for group, context, functions, samples in stacks
    ]
    known = [
        {
            "trial": trial,
            "host": host,
            "function": number,
            "name": "[unknown]" if name == "unknown" else name,
            "object": "",
            "kind": KINDS.get(name, "kernel"),
        }
        for name, number in numbers.items()
    ]
    schema = {"trial": pl.String(), "host": pl.String(), "function": pl.UInt32()}
    schema |= dict.fromkeys(("name", "object", "kind"), pl.String())
    return pl.DataFrame(rows, schema_overrides={"vector": pl.String()}), pl.DataFrame(known, schema=schema)


def report(
    samples: int,
    *,
    lost: int = 0,
    own_ns: int = 0,
    is_apart: bool = False,
    on_cpu_ns: int | None = None,
    trial: str = "001-c0001",
    host: str = "near",
) -> pl.DataFrame:
    """What a host reports of its sampling."""
    row = {"trial": trial, "host": host, "samples_count": samples, "lost_samples_count": lost, "own_ns": own_ns}
    row |= {"keeps_interrupts_apart": is_apart, "on_cpu_ns": on_cpu_ns}
    return pl.DataFrame([row], schema_overrides={"on_cpu_ns": pl.Int64()})


def used(*, trial: str = "001-c0001", host: str = "near", role: str = "sender", **given: Any) -> Measured:
    """What a host used in a trial: 1,000 ns in the load's threads and 400 in softirqs, at 2 cycles per ns."""
    row = {
        "trial": trial,
        "cell": trial[4:],
        "host": host,
        "role": role,
        "exclusive": True,
        "tsc_hz": 2_000_000_000,
        "load_threads_ns": 1000.0,
        "softirq_tracepoints_ns": 400.0,
        "softirq_on_load_ns": None,
        "ksoftirqd_ns": 0.0,
        "pmu_cycles": None,
        "payload_ratio": 1.0,
        "router_cpus": 0.0,
        **given,
    }
    kinds = dict.fromkeys(("softirq_tracepoints_ns", "softirq_on_load_ns", "pmu_cycles"), pl.Float64())
    frame = pl.DataFrame([row]).with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    return cast("Measured", SimpleNamespace(ends_cpu=frame))
