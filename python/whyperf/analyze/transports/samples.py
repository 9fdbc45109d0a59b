"""Round trips and TCP's counts of one trial, in s after the start of the load."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.rates import Floats
from whyperf.analyze.transports.course import NS_PER_S, Turn

PROBE, TCP_INFO = "probe", "tcp_info"


@dataclass(frozen=True)
class RttSamples:
    """Round trips: when, how long, both in s; `source` is "probe" or "tcp_info"; `baseline_s` is the smallest."""

    source: str | None
    at_s: Floats
    rtt_s: Floats
    baseline_s: float | None

    def between(self, start_s: float, stop_s: float) -> Floats:
        """The round trips that began in a time."""
        return self.rtt_s[(self.at_s >= start_s) & (self.at_s < stop_s)]


@dataclass(frozen=True)
class ConnectionSamples:
    """TCP_INFO of one sending connection, in the order of time; counts are totals since it opened."""

    connection: int
    at_s: Floats
    cwnd_segments: Floats
    retransmitted_segments: Floats
    data_segments: Floats

    def counted(self, start_s: float, stop_s: float) -> tuple[float, float]:
        """Retransmitted and data segments between two instants, interpolated between samples."""
        again, data = (
            np.interp([start_s, stop_s], self.at_s, totals, left=0.0)
            for totals in (self.retransmitted_segments, self.data_segments)
        )
        return float(again[1] - again[0]), float(data[1] - data[0])


def round_trips(probe: pl.DataFrame, tcp_info: pl.DataFrame, turns: Sequence[Turn], trial_start_ns: int) -> RttSamples:
    """The round trips of a trial: those of the probe where there are any, else what TCP's senders smoothed.

    Of TCP's only those samples count that a connection gave while its flow was at work; the smallest is the kernel's.
    """
    answered = probe.drop_nulls("rtt_ns").sort("sent_mono_ns")
    if not answered.is_empty():
        rtt_s = _seconds(answered["rtt_ns"])
        return RttSamples(PROBE, _since(answered["sent_mono_ns"], trial_start_ns), rtt_s, float(rtt_s.min()))
    sends = tcp_info.filter((pl.col("role") == "sender") & (pl.col("rtt_ns") > 0)).sort("sample_mono_ns")
    working = _at_work(sends, turns, trial_start_ns)
    if working.is_empty():
        return RttSamples(None, np.array([]), np.array([]), None)
    smallest = sends.select(pl.min_horizontal(pl.col("rtt_ns_min").min(), pl.col("rtt_ns").min())).item()
    at_s = _since(working["sample_mono_ns"], trial_start_ns)
    return RttSamples(TCP_INFO, at_s, _seconds(working["rtt_ns"]), float(smallest) / NS_PER_S)


def connections(tcp_info: pl.DataFrame, trial_start_ns: int) -> dict[int, ConnectionSamples]:
    """The samples of each sending connection of a trial."""
    sends = tcp_info.filter(pl.col("role") == "sender").sort("sample_mono_ns")
    return {
        int(str(connection)): ConnectionSamples(
            int(str(connection)),
            _since(rows["sample_mono_ns"], trial_start_ns),
            _floats(rows["cwnd_segments"]),
            _floats(rows["retransmitted_segments"]),
            _floats(rows["data_segments_out"]),
        )
        for (connection,), rows in sends.partition_by("connection", as_dict=True).items()
    }


def _at_work(rows: pl.DataFrame, turns: Sequence[Turn], trial_start_ns: int) -> pl.DataFrame:
    spans = pl.DataFrame(
        [(number, turn.start_s, turn.stop_s) for turn in turns for number in turn.connections],
        schema={"connection": rows.schema["connection"], "start_s": pl.Float64, "stop_s": pl.Float64},
        orient="row",
    )
    at_s = (pl.col("sample_mono_ns") - trial_start_ns) / NS_PER_S
    return rows.join(spans, on="connection", how="inner").filter(
        (at_s >= pl.col("start_s")) & (at_s < pl.col("stop_s"))
    )


def _since(instants: pl.Series, start_ns: int) -> Floats:
    return ((instants - start_ns) / NS_PER_S).to_numpy().astype(np.float64)


def _seconds(nanoseconds: pl.Series) -> Floats:
    return (nanoseconds / NS_PER_S).to_numpy().astype(np.float64)


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).fill_null(0.0).to_numpy()
