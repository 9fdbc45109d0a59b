"""Folded lines of sampled stacks."""

import polars as pl

from tests.unit.analyze.cost.cost_samples import tables
from whyperf.analyze.cost.folded import folded_lines


def test_a_line_has_the_functions_from_the_outermost_to_the_innermost_and_the_samples_of_all_trials() -> None:
    stacks = [
        ("load", "process", "main entry_SYSCALL_64 tcp_sendmsg", 3),
        ("load", "softirq", "main handle_softirqs", 1),
        ("idle", "softirq", "handle_softirqs", 9),
        ("load", "process", "", 2),
        ("other", "process", "main", 100),
        ("idle", "idle", "handle_softirqs", 100),
    ]
    first, second = tables(stacks, "001-c0001"), tables(stacks[:1], "002-c0001")
    far = tables([("load", "process", "main", 4)], "001-c0001", "far")
    rows = [("001-c0001", "near", "sender"), ("002-c0001", "near", "sender"), ("001-c0001", "far", "receiver")]
    ends = pl.DataFrame(rows, schema=["trial", "host", "role"], orient="row")
    found = folded_lines(pl.concat([first[0], second[0], far[0]]), pl.concat([first[1], second[1], far[1]]), ends)
    assert list(found) == [
        "c0001;sender;handle_softirqs 9",
        "c0001;sender;main;entry_SYSCALL_64;tcp_sendmsg 6",
        "c0001;sender;[not read] 2",
        "c0001;sender;main;handle_softirqs 1",
        "c0001;receiver;main 4",
    ]
