"""What programs around uperf read: raw lines, the profile's name, the closing lines."""

import re

import polars as pl
import pytest

from whyperf.report.uperf import Run, durations, flowops_count, lines

SECOND = 1_000_000_000
TENTH = SECOND // 10
#: Where the near side's monotonic clock stood at the start.
START = 5 * SECOND
REALTIME = 1_700_000_000 * SECOND

RAW = re.compile(r"timestamp_ms:([\d\.]+) name:Txn2 nr_bytes:(\d+) nr_ops:(\d+)")


def rows(host: str, counts: dict[str, list[tuple[int, int, int]]], group: str = "Group0") -> pl.DataFrame:
    """Rows of an end in intervals of 0.1 s: by transaction (sent, received, operations), from the start on."""
    found = []
    for name, per_interval in counts.items():
        for number, (sent, received, operations) in enumerate(per_interval):
            found.append(
                {
                    "host": host, "group": group, "transaction": name, "interval": number,
                    "start_mono_ns": START + number * TENTH, "end_mono_ns": START + (number + 1) * TENTH,
                    "begun_count": operations, "transactions_count": operations, "failed_count": 0,
                    "sent_bytes": sent, "received_bytes": received, "operations_count": operations,
                }
            )  # fmt: skip
    counted = ("sent_bytes", "received_bytes", "operations_count", "begun_count", "transactions_count", "failed_count")
    wide = [pl.col(name).cast(pl.UInt64) for name in (*counted, "start_mono_ns", "end_mono_ns")]
    return pl.DataFrame(found).with_columns(*wide, pl.col("interval").cast(pl.UInt32))


IDLE = (0, 0, 0)
#: Connect in the first interval, 2.5 s of payload in the second transaction, then disconnect.
NEAR = {
    "Txn1": [(0, 0, 2)] + [IDLE] * 26,
    "Txn2": [(1000, 100, 11)] * 25 + [IDLE] * 2,
    "Txn3": [IDLE] * 25 + [(0, 0, 2), IDLE],
}
FAR = {name: [(received, sent, count) for sent, received, count in counts] for name, counts in NEAR.items()}
RUN = Run(
    "rr-tcp-1000-100-2", 2, "far", REALTIME - START, False, {"Txn1": None, "Txn2": 2_500_000_000, "Txn3": None}, {}
)


@pytest.fixture(scope="module")
def printed() -> str:
    """The lines of a run."""
    return "\n".join(lines(RUN, pl.concat([rows("near", NEAR), rows("far", FAR)])))


def test_wrappers_find_what_was_counted_since_the_transaction_began(printed: str) -> None:
    found = [(float(at), int(octets), int(operations)) for at, octets, operations in RAW.findall(printed)]
    begin_ms = REALTIME / 1e6
    assert found == [
        (begin_ms, 0, 0),
        (begin_ms + 1000, 11_000, 110),
        (begin_ms + 2000, 22_000, 220),
        (begin_ms + 2500, 27_500, 275),
    ]


def test_the_interval_is_chosen() -> None:
    near = pl.concat([rows("near", NEAR), rows("far", FAR)])
    raw = RAW.findall("\n".join(lines(RUN, near, SECOND // 2)))
    assert [int(octets) for _, octets, _ in raw] == [0, 5500, 11_000, 16_500, 22_000, 27_500]


def test_closing_lines(printed: str) -> None:
    assert "Txn2      26.86KB /   2.50(s) =    88.00Kb/s         110op/s " in printed.splitlines()
    assert "Txn1            0 /   0.10(s) =            0          20op/s " in printed.splitlines()
    assert "Total     26.86KB /   2.60(s) =    84.62Kb/s         107op/s " in printed.splitlines()


def test_both_sides_are_compared(printed: str) -> None:
    closing = printed[printed.index("Run Statistics") :].splitlines()
    assert closing[1] == "Hostname            Time       Data   Throughput   Operations      Errors"
    assert closing[3].split() == ["far", "2.60s", "26.86KB", "84.62Kb/s", "279", "0.00"]
    assert closing[4].split() == ["master", "2.60s", "26.86KB", "84.62Kb/s", "279", "0.00"]
    assert closing[6].split() == ["Difference(%)", "0.00%", "0.00%", "0.00%", "0.00%", "0.00%"]


def test_datagrams_count_where_they_arrive() -> None:
    near = rows("near", {"Txn2": [(1000, 0, 10)] * 10})
    far = rows("far", {"Txn2": [(0, 900, 9)] * 10})
    run = Run("voice", 1, "far", 0, True, {"Txn2": SECOND}, {})
    printed = "\n".join(lines(run, pl.concat([near, far])))
    assert [int(octets) for _, octets, _ in RAW.findall(printed)] == [0, 9000]


def test_groups_are_reported_together() -> None:
    near = pl.concat([rows("near", {"Txn2": [(10, 0, 1)] * 10}, group) for group in ("a", "b")])
    run = Run("groups", 2, "far", 0, False, {"Txn2": SECOND}, {})
    raw = RAW.findall("\n".join(lines(run, pl.concat([near, rows("far", {"Txn2": [(0, 20, 1)] * 10})]))))
    assert [(int(octets), int(operations)) for _, octets, operations in raw] == [(0, 0), (200, 20)]


def test_flowops_without_payload_count_too() -> None:
    """The engine counts what moves payload; uperf counts connects and pauses too."""
    near = rows("near", {"Txn2": [(0, 0, 3)] * 10}).with_columns(pl.lit(0).cast(pl.UInt64).alias("operations_count"))
    run = Run("connect", 1, "far", 0, False, {"Txn2": SECOND}, {("Group0", "Txn2"): 2})
    printed = "\n".join(lines(run, pl.concat([near, rows("far", {"Txn2": [(0, 0, 0)] * 10})])))
    assert [int(operations) for _, _, operations in RAW.findall(printed)] == [0, 60]


def test_flowops_that_a_lost_datagram_skips_do_not_count() -> None:
    """Of 3 executions of a write and a read, one got no answer: 5 flowops were executed."""
    counted = {"transactions_count": 3, "failed_count": 1, "operations_count": 5}
    near = rows("near", {"Txn2": [(300, 200, 3)]}).with_columns(
        pl.lit(count).cast(pl.UInt64).alias(name) for name, count in counted.items()
    )
    run = Run("rr", 1, "far", 0, True, {"Txn2": TENTH}, {("Group0", "Txn2"): 2})
    printed = "\n".join(lines(run, pl.concat([near, rows("far", {"Txn2": [(200, 300, 3)]})])))
    assert [int(operations) for _, _, operations in RAW.findall(printed)] == [0, 5]


def test_flowops_of_an_execution() -> None:
    steps = [{"count": 16}, {"count": 1}]
    workload = {"groups": [{"name": "g", "transactions": [{"name": "Txn1", "steps": steps}]}]}
    assert flowops_count(workload) == {("g", "Txn1"): 17}


def test_a_transaction_that_never_ran_is_not_reported() -> None:
    printed = list(lines(RUN, pl.concat([rows("near", {"Txn1": [IDLE] * 3}), rows("far", {"Txn1": [IDLE] * 3})])))
    assert not any("name:Txn" in line for line in printed)
    assert any(line.startswith("timestamp_ms:") and " name:Total nr_bytes:0 nr_ops:0" in line for line in printed)


def test_lengths_of_transactions() -> None:
    def group(*repeats: dict[str, object]) -> dict[str, object]:
        return {"transactions": [{"name": f"Txn{n}", "repeat": repeat} for n, repeat in enumerate(repeats, start=1)]}

    once, timed = {"by": "iterations", "count": 1}, {"by": "duration", "duration_ns": 5}
    assert durations({"groups": [group(once, timed), group(once, timed, once)]}) == {
        "Txn1": None,
        "Txn2": 5,
        "Txn3": None,
    }
    assert durations({"groups": [group(timed), group(once)]}) == {"Txn1": None}
