"""Round trips and the senders' counts of one trial, in s after the start of the load."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.measures.segments import SENT_AGAIN
from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.transports.time_series import NS_PER_S, ActiveInterval

PROBE, SENDER = "probe", "sender"


@dataclass(frozen=True)
class RttSamples:
    """Round trips: when, how long, both in s; `source` is "probe" or "sender"; `baseline_s` is the smallest."""

    source: str | None
    at_s: Floats
    rtt_s: Floats
    baseline_s: float | None

    def between(self, start_s: float, stop_s: float) -> Floats:
        """The round trips that began in a time."""
        return self.rtt_s[(self.at_s >= start_s) & (self.at_s < stop_s)]


@dataclass(frozen=True)
class ConnectionSamples:
    """A sending connection in the order of time; counts are totals since it opened. The window is 0 where unknown."""

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


_SAMPLE = {
    "connection": pl.Int64(),
    "sample_mono_ns": pl.Int64(),
    "rtt_ns": pl.Int64(),
    "rtt_ns_min": pl.Int64(),
    "cwnd_segments": pl.Float64(),
    "retransmitted_segments": pl.Int64(),
    "data_segments_out": pl.Int64(),
}


def sender_samples(tcp_info: pl.DataFrame, transport_info: pl.DataFrame) -> pl.DataFrame:
    """The senders' knowledge of their connections, the kernel's of TCP and the libraries' of other transports.

    Rows of the record's tables, as columns `_SAMPLE`. A packet of a library counts as a segment; where it does not say
    what it sent again, what it lost is that.
    """
    of_libraries = transport_info.select(
        "connection",
        "role",
        "sample_mono_ns",
        "rtt_ns",
        pl.lit(None).alias("rtt_ns_min"),
        (pl.col("cwnd_bytes") / pl.col("packet_payload_bytes")).alias("cwnd_segments"),
        SENT_AGAIN.alias("retransmitted_segments"),
        pl.col("sent_packets").alias("data_segments_out"),
    )
    parts = [
        frame.filter(pl.col("role") == "sender").select(pl.col(name).cast(kind) for name, kind in _SAMPLE.items())
        for frame in (tcp_info, of_libraries)
    ]
    return pl.concat(parts).sort("sample_mono_ns")


def round_trips(
    probe: pl.DataFrame, senders: pl.DataFrame, active: Sequence[ActiveInterval], trial_start_ns: int
) -> RttSamples:
    """The round trips of a trial: those of the probe where there are any, else what the senders smoothed.

    `senders` are of `sender_samples`. Of these only those samples count that a connection gave while its flow was at
    work; the smallest is the kernel's where it has one.
    """
    answered = probe.drop_nulls("rtt_ns").sort("sent_mono_ns")
    if not answered.is_empty():
        rtt_s = _seconds(answered["rtt_ns"])
        return RttSamples(PROBE, _since(answered["sent_mono_ns"], trial_start_ns), rtt_s, float(rtt_s.min()))
    sends = senders.filter(pl.col("rtt_ns") > 0)
    working = _at_work(sends, active, trial_start_ns)
    if working.is_empty():
        return RttSamples(None, np.array([]), np.array([]), None)
    smallest = sends.select(pl.min_horizontal(pl.col("rtt_ns_min").min(), pl.col("rtt_ns").min())).item()
    at_s = _since(working["sample_mono_ns"], trial_start_ns)
    return RttSamples(SENDER, at_s, _seconds(working["rtt_ns"]), float(smallest) / NS_PER_S)


def connections(senders: pl.DataFrame, trial_start_ns: int) -> dict[int, ConnectionSamples]:
    """The samples of each sending connection of a trial; `senders` are of `sender_samples`."""
    return {
        int(str(connection)): ConnectionSamples(
            int(str(connection)),
            _since(rows["sample_mono_ns"], trial_start_ns),
            _floats(rows["cwnd_segments"]),
            _floats(rows["retransmitted_segments"]),
            _floats(rows["data_segments_out"]),
        )
        for (connection,), rows in senders.partition_by("connection", as_dict=True).items()
    }


def _at_work(rows: pl.DataFrame, active: Sequence[ActiveInterval], trial_start_ns: int) -> pl.DataFrame:
    """The rows, in the order of time, whose connection was at work then."""
    spans = pl.DataFrame(
        [(number, interval.start_s, interval.stop_s) for interval in active for number in interval.connections],
        schema={"connection": rows.schema["connection"], "start_s": pl.Float64, "stop_s": pl.Float64},
        orient="row",
    )
    # Of the spans that had started, the one that stops last says whether the sample is in any.
    last = spans.sort("start_s").with_columns(pl.col("stop_s").cum_max().over("connection"))
    at_s = (pl.col("sample_mono_ns") - trial_start_ns) / NS_PER_S
    return (
        rows.with_columns(at_s.alias("start_s"))
        .join_asof(last, on="start_s", by="connection", check_sortedness=False)
        .filter(pl.col("start_s") < pl.col("stop_s"))
    )


def _since(instants: pl.Series, start_ns: int) -> Floats:
    return ((instants - start_ns) / NS_PER_S).to_numpy().astype(np.float64)


def _seconds(nanoseconds: pl.Series) -> Floats:
    return (nanoseconds / NS_PER_S).to_numpy().astype(np.float64)


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).fill_null(0.0).to_numpy()
