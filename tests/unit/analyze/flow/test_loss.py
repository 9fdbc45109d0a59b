"""Retransmissions, and arrivals out of order."""

from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.flow import traces
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import count_out_of_order, read_log

ARRIVALS = ("connection", "direction", "sequence", "payload_bytes")


def out_of_order(folder: Path, text: str) -> int:
    log = known(read_log(traces.write(folder / "log01-c0001", traces.trace(text)), "near", columns=ARRIVALS))
    return count_out_of_order(log)


def arrivals(rows: list[tuple[int, int]], connection: int = 0) -> pl.DataFrame:
    """Packets [first, last) arriving in this order."""
    return pl.DataFrame(
        {
            "connection": np.full(len(rows), connection, dtype=np.uint32),
            "direction": ["in"] * len(rows),
            "sequence": [first for first, _ in rows],
            "payload_bytes": [last - first for first, last in rows],
        },
        schema_overrides={"payload_bytes": pl.UInt32, "sequence": pl.Int64},
    )


def test_all_beyond_a_hole_are_out_of_order_until_it_is_filled(tmp_path: Path) -> None:
    trace = """
        1 < . 1:11  ack 1
        2 < . 21:31 ack 1
        3 < . 31:41 ack 1
        4 < . 11:21 ack 1
        5 < . 41:51 ack 1
    """
    assert out_of_order(tmp_path, trace) == 2


def test_a_hole_that_is_never_filled_is_a_lost_event() -> None:
    assert count_out_of_order(arrivals([(1, 11), (21, 31), (31, 41)])) == 0
    assert count_out_of_order(arrivals([(1, 11), (21, 31), (41, 51), (31, 41), (51, 61)])) == 1


def test_connections_do_not_disturb_each_other() -> None:
    both = pl.concat([arrivals([(1, 11), (11, 21)]), arrivals([(1, 11), (11, 21)], connection=1)])
    assert count_out_of_order(both.sort("sequence")) == 0


def by_definition(rows: list[tuple[int, int]]) -> int:
    """Octet by octet: out of order is what begins beyond the first octet still missing."""
    known: set[int] = set()
    wrong = 0
    for first, last in rows:
        expected = next(octet for octet in range(1000) if octet not in known)
        wrong += first > expected
        known |= set(range(first, last))
    return wrong


@given(st.lists(st.integers(0, 12), max_size=25), st.data())
def test_any_order_of_arrival_is_counted_by_the_definition(starts: list[int], data: st.DataObject) -> None:
    rows = [(0, 1), *((first, first + data.draw(st.integers(1, 4))) for first in starts)]
    # Everything that is missing arrives in the end: no hole is taken for a lost event.
    known = {octet for first, last in rows for octet in range(first, last)}
    rows += [(octet, octet + 1) for octet in range(max(known)) if octet not in known]
    assert count_out_of_order(arrivals(rows)) == by_definition(rows)
