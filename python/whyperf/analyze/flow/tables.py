"""The tables of the levels below the log: counters in the kernel, and what everybody may ask for."""

from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow.trial import FlowTrial


@dataclass(frozen=True)
class Counted:
    """Level 1 of one end: tables `counters` and `sizes`, with `start_ns`, `end_ns` after the start of the load."""

    counters: pl.DataFrame
    sizes: pl.DataFrame


@dataclass(frozen=True)
class UserTables:
    """Level 0 of one end: tables `flows`, `intervals`, `tcp_info`; instants as `*_ns` after the start of the load."""

    flows: pl.DataFrame
    intervals: pl.DataFrame
    tcp_info: pl.DataFrame


def read_counters(trial: FlowTrial, host: str) -> Counted | None:
    """Level 1 of the end at `host`; None when it was not counted."""
    raise NotImplementedError(trial, host)


def read_user(trial: FlowTrial, host: str) -> UserTables:
    """Level 0 of the end at `host`; tables that are not there are empty."""
    raise NotImplementedError(trial, host)
