"""Where copies inside TCP's rows begin, from the copies before them."""

import polars as pl
import pytest

from whyperf.analyze.stages.of_host import with_copies_placed

COLUMNS = ("row", "stage", "sequence", "payload_bytes", "copied_bytes", "thread")


def frame(text: str) -> pl.DataFrame:
    """Rows written as "stage first:last thread copied"."""
    rows = []
    for number, line in enumerate(text.strip().splitlines()):
        stage, octets, thread, copied = line.split()
        first, last = (int(part) for part in octets.split(":"))
        rows.append((number, stage, first, last - first, int(copied), int(thread)))
    same = {"connection": pl.lit(0), "direction": pl.lit("out"), "is_again": pl.lit(value=False)}
    return pl.DataFrame(rows, schema=COLUMNS, orient="row").with_columns(**same)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        # A message that is copied and sent at once.
        ("call_entry 0:1000 1 0\ntcp_out 0:1000 1 1000", [None, 0]),
        # A large write: copies without a transmission, one inside TCP, and what TCP does afterwards.
        (
            "call_entry 50:115 1 0\ncopy_in 50:90 1 40\ntcp_out 0:60 1 25\ntcp_out 60:115 1 0",
            [None, 50, 90, None],
        ),
        # A packet that had waited leaves after the copy: its own bytes are others.
        ("call_entry 5000:5900 1 0\ntcp_out 1000:2000 1 700\ncopy_in 5700:5900 1 200", [None, 5000, 5700]),
        # What lies behind copies that were not followed is of another call.
        (
            "call_entry 0:900 1 0\ncopy_in 0:400 1 400\ncopy_in 9000:9400 1 400\ntcp_out 9000:9700 1 300",
            [None, 0, 9000, 9400],
        ),
        # Two threads write by turns.
        (
            "call_entry 0:100 1 0\ncall_entry 100:150 2 0\ntcp_out 0:100 1 100\ntcp_out 100:150 2 50",
            [None, None, 0, 100],
        ),
        # Without an entry, the copy is taken for the end of the packet.
        ("tcp_out 0:60 1 25", [35]),
    ],
)
def test_a_copy_begins_where_the_one_before_it_ended(text: str, places: list[int | None]) -> None:
    found = with_copies_placed(frame(text))
    assert found["copied_from"].to_list() == places
    assert found.drop("copied_from").equals(frame(text))
