"""Folded lines of sampled stacks."""

from types import SimpleNamespace
from typing import cast

import polars as pl

from tests.unit.analyze.cost.cost_samples import Stack, report, tables, used
from whyperf.analyze.cost.budget import WeighedStacks, weighed_stacks
from whyperf.analyze.cost.folded import folded_lines
from whyperf.analyze.trials import Measured

STACKS: list[Stack] = [
    ("load", "process", "main entry_SYSCALL_64 tcp_sendmsg", 3),
    ("load", "softirq", "main handle_softirqs", 1),
    ("idle", "softirq", "handle_softirqs net_rx_action", 9),
    # The tracepoints do not time what softirqs do between two vectors.
    ("idle", "softirq", "handle_softirqs", 7),
    ("load", "process", "", 2),
    ("other", "process", "main", 100),
    ("idle", "idle", "handle_softirqs", 100),
]


def both(*parts: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, Measured]) -> WeighedStacks:
    """The stacks of several hosts of trials."""
    stacks, functions, reports, measured = zip(*parts, strict=True)
    together = SimpleNamespace(ends_cpu=pl.concat([each.ends_cpu for each in measured]))
    return weighed_stacks(pl.concat(stacks), pl.concat(functions), pl.concat(reports), cast("Measured", together))


def test_a_line_has_the_functions_from_the_outermost_to_the_innermost_and_the_samples_of_all_trials() -> None:
    found = both(
        (*tables(STACKS, "001-c0001"), report(222), used()),
        (*tables(STACKS[:1], "002-c0001"), report(3, trial="002-c0001"), used(trial="002-c0001")),
        (
            *tables([("load", "process", "main", 4)], host="far"),
            report(4, host="far"),
            used(role="receiver", host="far"),
        ),
    )
    assert list(folded_lines(found)) == [
        "c0001;sender;handle_softirqs;net_rx_action 9",
        "c0001;sender;main;entry_SYSCALL_64;tcp_sendmsg 6",
        "c0001;sender;[not read] 2",
        "c0001;sender;main;handle_softirqs 1",
        "c0001;receiver;main 4",
    ]
    assert found.stacks["samples_count"].sum() == 22


def test_stacks_without_cycles_to_split_have_lines() -> None:
    found = both((*tables(STACKS[:1]), report(3), used(load_threads_ns=None, tsc_hz=None)))
    assert list(folded_lines(found)) == ["c0001;sender;main;entry_SYSCALL_64;tcp_sendmsg 3"]
