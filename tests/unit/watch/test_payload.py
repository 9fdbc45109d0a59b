"""The rate of a run of a command, and what its buffers are, from the tables of a watch."""

from pathlib import Path

import polars as pl
import pytest

from whyperf.watch.payload import RunPayload, payload_of

MS = 1_000_000


def tables(folder: Path, samples: dict[int, list[tuple[int, int]]], **ends: object) -> dict[str, Path]:
    """Of connections: what each has sent and received in all at samples 100 ms apart."""
    rows = [
        {
            "connection": connection,
            "sample_mono_ns": 100 * MS * number,
            "bytes_acked": sent,
            "bytes_sent": sent,
            "bytes_retransmitted": 0,
            "bytes_received": received,
            "state": 1,
        }
        for connection, of in samples.items()
        for number, (sent, received) in enumerate(of)
    ]
    fixed = {"send_buffer_fixed": None, "receive_buffer_fixed": None, **ends}
    watched = [{"connection": each, "remote_address": f"10.0.0.{each}:80", **fixed} for each in samples]
    schema = {"send_buffer_fixed": pl.Boolean, "receive_buffer_fixed": pl.Boolean}
    pl.DataFrame(rows).write_parquet(folder / "tcp_info")
    pl.DataFrame(watched, schema_overrides=schema).write_parquet(folder / "watched")
    return {name: folder / name for name in ("tcp_info", "watched")}


def test_the_rate_is_of_the_time_in_which_payload_moved(tmp_path: Path) -> None:
    # A second in which 10,000 bytes move each 100 ms, between pauses.
    sent = [0, 0, 0, *range(10_000, 100_001, 10_000), 100_000, 100_000]
    found = payload_of(tables(tmp_path, {1: [(octets, 100) for octets in sent]}))
    assert found.rate_bps == pytest.approx(800_000)
    assert found == RunPayload(rate_bps=found.rate_bps, sends=True, receives=False, peers=("10.0.0.1",))


def test_the_two_sockets_of_a_connection_count_once(tmp_path: Path) -> None:
    up = [(each * 1000, 0) for each in range(11)]
    down = [(received, sent) for sent, received in up]
    small = [(each, 0) for each in range(11)]
    found = payload_of(tables(tmp_path, {1: up, 2: down, 3: small}, send_buffer_fixed=True, receive_buffer_fixed=False))
    assert found.rate_bps == pytest.approx(80_000, rel=0.01)
    assert (found.sends, found.receives) == (True, True)
    assert (found.sets_send_buffer, found.sets_receive_buffer) == (True, False)
    assert found.peers == ("10.0.0.1", "10.0.0.2")


def test_what_is_too_short_has_no_rate(tmp_path: Path) -> None:
    found = payload_of(tables(tmp_path, {1: [(0, each * 1000) for each in range(4)]}))
    assert (found.rate_bps, found.receives) == (None, True)
    assert payload_of(tables(tmp_path, {1: [(5, 5), (5, 5)]})) == RunPayload()
    assert payload_of({}) == RunPayload()


def test_the_cpu_that_takes_most_packets(tmp_path: Path) -> None:
    found = tables(tmp_path, {1: [(each * 1000, 0) for each in range(9)]})
    assert payload_of(found).interrupted_cpu is None
    taken = [(0, 5), (1, 4), (1, 3), (2, 0)]
    pl.DataFrame(taken, orient="row", schema=["cpu", "softirq_ns"]).write_parquet(tmp_path / "cpu")
    assert payload_of({**found, "cpu": tmp_path / "cpu"}).interrupted_cpu == 1
