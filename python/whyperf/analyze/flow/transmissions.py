"""How large the packets were that left TCP, and who made them leave."""

import polars as pl

from whyperf.analyze.flow.acks import SECOND_NS


def super_segments(log: pl.LazyFrame | pl.DataFrame, interval_ns: int = 5 * SECOND_NS) -> pl.DataFrame:
    """Average packet with payload sent, in steps of `interval_ns` from 0 (study 3 takes 5 s).

    Ascending: `start_ns`, `end_ns`, `packets`, `segments`, `bytes`, `packet_bytes_mean`,
    `segments_per_packet` (null in a step without).
    """
    raise NotImplementedError(log, interval_ns)


def contexts(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Who made data leave: `context` (all, in the record's order), `packets`, `bytes`, `packets_ratio`,
    `bytes_ratio`, and of these `ksoftirqd_packets`.
    """
    raise NotImplementedError(log)
