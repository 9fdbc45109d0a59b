"""The rows of a made-up bulk transfer's segment log, as the sender's and the receiver's end see them.

What it does not model: cwnd, srtt and pacing stand still, and a loss costs nothing but its
retransmission. Who would notice: an explanation of the rate, not what counts and draws segments.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

MSS = 1448
MAX_SEGMENTS = 45
RTT_NS = 200_000
RATE_BPS = 5e9
WINDOW_BYTES = 3 << 20
WINDOW_SHIFT = 7
PREAMBLE_BYTES = 40
LOSS_RATIO = 1e-5
START_NS = 5_000_000_000
LOAD_NS = 1_000_000
NO_WORD = 9
"""Code of a text that is absent."""
FIN, SYN, PSH, ACK = 1, 2, 8, 16

Ints = NDArray[np.int64]
Rows = dict[str, Ints]
"""Columns by name: at, out, octet, answered, payload, flags, unacked, again."""

_U32 = 0xFFFFFFFF
_NAMES = ("at", "out", "octet", "answered", "payload", "flags", "unacked")


@dataclass
class Connection:
    """Where a connection is: the next octet (the first is 1) and the instant, ns on the near clock."""

    number: int
    initial: int
    peer_initial: int
    octet: int = 1
    at_ns: int = START_NS

    @property
    def payload_bytes(self) -> int:
        """The bytes that were moved so far, without the preamble."""
        return self.octet - 1 - PREAMBLE_BYTES


def opening(flow: Connection) -> Rows:
    """SYN, SYN ACK, ACK, preamble, its ACK, welcome, its ACK."""
    end = 1 + PREAMBLE_BYTES
    flow.octet = end
    half_trips = [
        (0, 1, 0, 0, 0, SYN, 0),
        (2, 0, 0, 1, 0, SYN | ACK, 0),
        (2, 1, 1, 1, 0, ACK, 0),
        (2, 1, 1, 1, PREAMBLE_BYTES, PSH | ACK, PREAMBLE_BYTES),
        (4, 0, 1, end, 0, ACK, 0),
        (4, 0, 1, end, PREAMBLE_BYTES, PSH | ACK, 0),
        (4, 1, end, end, 0, ACK, 0),
    ]
    return _written_out(flow, half_trips)


def closing(flow: Connection) -> Rows:
    """FIN each way, and the last ACK."""
    end, peer_end = flow.octet, 1 + PREAMBLE_BYTES
    half_trips = [
        (0, 1, end, peer_end, 0, FIN | ACK, 1),
        (2, 0, peer_end, end + 1, 0, FIN | ACK, 0),
        (2, 1, end + 1, peer_end + 1, 0, ACK, 0),
    ]
    return _written_out(flow, half_trips)


def burst(flow: Connection, rows: int, rng: np.random.Generator, *, gso: bool) -> Rows:
    """About `rows` rows: data out, an ACK in for every second packet or so, a loss now and then sent again."""
    count = max(2, round(rows / 1.5))
    held = np.minimum(rng.integers(1, 2 * MAX_SEGMENTS, count), MAX_SEGMENTS) if gso else np.full(count, 1)
    sizes = held * MSS
    ends = flow.octet + np.cumsum(sizes)
    gaps = sizes * 8e9 / RATE_BPS * (0.5 + rng.exponential(0.5, count))
    sent_at = flow.at_ns + np.cumsum(gaps).astype(np.int64)
    answered = rng.random(count) < 0.5
    answered[-1] = True
    acks = int(answered.sum())
    ack_at = np.maximum.accumulate(sent_at[answered] + RTT_NS + rng.integers(0, RTT_NS // 10, acks))
    lost = np.flatnonzero(rng.random(count) < LOSS_RATIO)
    parts = {
        "at": (sent_at, ack_at, sent_at[lost] + 3 * RTT_NS // 2),
        "out": (np.full(count, 1), np.zeros(acks, dtype=np.int64), np.full(lost.size, 1)),
        "octet": (ends - sizes, np.full(acks, 1 + PREAMBLE_BYTES), (ends - sizes)[lost]),
        "answered": (np.full(count, 1 + PREAMBLE_BYTES), ends[answered], np.full(lost.size, 1 + PREAMBLE_BYTES)),
        "payload": (sizes, np.zeros(acks, dtype=np.int64), np.full(lost.size, MSS)),
        "flags": (np.full(count + acks + lost.size, ACK),),
        "again": (np.zeros(count + acks, dtype=np.int64), np.full(lost.size, 1)),
    }
    joined = {name: np.concatenate(columns) for name, columns in parts.items()}
    order = np.argsort(joined["at"], kind="stable")
    made = {name: column[order] for name, column in joined.items()}
    sent = np.maximum.accumulate(np.where(made["out"] == 1, made["octet"] + made["payload"], flow.octet))
    taken = np.maximum.accumulate(np.where(made["out"] == 0, made["answered"], flow.octet))
    made["unacked"] = np.maximum(sent - taken, 0)
    flow.octet, flow.at_ns = int(ends[-1]), int(made["at"][-1]) + RTT_NS
    return made


def near_log(flow: Connection, made: Rows, rng: np.random.Generator) -> pl.DataFrame:
    """`made` as the sender's end logs it."""
    is_out = made["out"] == 1
    contexts = np.where(is_out, rng.choice(3, is_out.size, p=[0.8, 0.19, 0.01]), 0)
    return _log(flow, made, is_out, contexts=contexts, reasons=np.full(is_out.size, NO_WORD), rng=rng)


def far_log(flow: Connection, made: Rows, rng: np.random.Generator, offset_ns: int) -> pl.DataFrame:
    """`made` as the receiver's end logs it, on its own clock: data half a round trip later, ACKs half earlier."""
    is_out = made["out"] == 0
    shift = np.where(is_out, -RTT_NS // 2, RTT_NS // 2) + offset_ns
    seen = {**made, "at": made["at"] + shift, "again": np.zeros_like(made["again"])}
    is_pure = is_out & (made["payload"] == 0) & (made["flags"] == ACK)
    reasons = np.where(is_pure, rng.choice(3, is_out.size, p=[0.9, 0.099, 0.001]), NO_WORD)
    return _log(flow, seen, is_out, contexts=np.zeros_like(reasons), reasons=reasons, rng=rng)


def _written_out(flow: Connection, half_trips: Sequence[tuple[int, ...]]) -> Rows:
    """Rows by hand; the first number of each is when, in half round trips."""
    columns = np.array(half_trips, dtype=np.int64).T
    made: Rows = dict(zip(_NAMES, columns, strict=True))
    made["at"] = flow.at_ns + made["at"] * (RTT_NS // 2)
    made["again"] = np.zeros_like(made["at"])
    return made


def _log(
    flow: Connection, made: Rows, is_out: NDArray[np.bool_], *, contexts: Ints, reasons: Ints, rng: np.random.Generator
) -> pl.DataFrame:
    """The table `segments` but for host and role, in order of time per CPU."""
    size = is_out.size
    from_near = made["out"] == 1
    initial = np.where(from_near, flow.initial, flow.peer_initial)
    peer_initial = np.where(from_near, flow.peer_initial, flow.initial)
    acks = made["flags"] & ACK != 0
    held = np.maximum(1, -(-made["payload"] // MSS))
    field = (WINDOW_BYTES - rng.integers(0, 4, size) * (64 << 10)) >> WINDOW_SHIFT
    still = {"unsent_bytes": 0, "cwnd_segments": 1000, "ssthresh_segments": 2147483647, "srtt_ns": RTT_NS}
    frame = pl.DataFrame(
        {
            "direction": _labels(("in", "out"), is_out.astype(np.int64)),
            "segment_mono_ns": pl.Series(made["at"]).cast(pl.UInt64),
            "sequence": (made["octet"] + initial) & _U32,
            "acknowledgment": np.where(acks, (made["answered"] + peer_initial) & _U32, 0),
            "payload_bytes": made["payload"],
            "gso_size_bytes": np.where(held > 1, MSS, 0),
            "wire_segments": held,
            "flags": made["flags"],
            "window_field": field,
            "window_bytes": field << WINDOW_SHIFT,
            "unacked_bytes": np.where(from_near == is_out, made["unacked"], 0),
            "context": _labels(("net_rx", "process", "hrtimer"), contexts),
            "cpu": rng.integers(0, 2, size),
            "retransmission": _labels(("fast",), np.where(made["again"] == 1, 0, NO_WORD)),
            "ack_reason": _labels(("second_segment", "read_call", "delayed_timer"), reasons),
        }
    ).with_columns(
        *[pl.lit(value).alias(name) for name, value in still.items()],
        connection=pl.lit(flow.number),
        send_window_bytes=pl.lit(WINDOW_BYTES),
        pacing_rate_bytes_per_second=pl.lit(2**63 - 1, pl.UInt64),
        receive_queue_bytes=pl.lit(0),
        ksoftirqd=pl.lit(False),
    )
    small = frame.with_columns(pl.col(pl.Int64, pl.Int32).cast(pl.UInt32))
    return small.sort("cpu", "segment_mono_ns", maintain_order=True)


def _labels(labels: tuple[str, ...], codes: Ints) -> pl.Series:
    """The word of each code, null for `NO_WORD`."""
    padded = pl.Series([*labels, *[None] * (NO_WORD + 1 - len(labels))], dtype=pl.String)
    return padded.gather(codes).cast(pl.Categorical)
