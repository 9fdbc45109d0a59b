"""Tracks made up for tests: rows with everything that is awkward, and the about that a page shows."""

import numpy as np

from whyperf.report.flow.drawing import About
from whyperf.report.flow.track import Track, held, outstanding

SECOND = 1_000_000_000
SIZES = (1448, 1448, 1448, 100, 65160, 7)


def track(rows: int, *, role: str = "sender", connection: int = 0, seed: int = 1, gaps: bool = True) -> Track:
    """Both directions carry payload and acknowledge, numbers wrap, some rows are sent again, and there may be gaps.

    Sequence numbers pass 4 GiB more than once when there are enough rows.
    """
    rng = np.random.default_rng(seed)
    out = rng.random(rows) < 0.55
    steps = rng.integers(0, 9000, rows)
    steps[rng.random(rows) < 0.002 * gaps] = 6 * SECOND
    time = np.cumsum(steps) - 3_000_000
    payload = np.where(rng.random(rows) < 0.6, rng.choice(SIZES, rows), 0).astype(np.uint32)
    again = out & (payload > 0) & (rng.random(rows) < 0.01)
    sequence, acknowledgment = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for side in (True, False):
        mine = out == side
        sent = np.where(mine, payload.astype(np.int64) * 400, 0)
        sequence[mine] = (np.cumsum(sent) - sent)[mine] + 1
        acknowledgment[~mine] = np.maximum.accumulate(np.cumsum(sent) - 20_000)[~mine].clip(1)
    sequence[again] -= 5000
    window = rng.integers(0, 3_000_000, rows).astype(np.uint32)
    numbers = [(values % 2**32).astype(np.uint32) for values in (sequence, acknowledgment)]
    data = out if role == "sender" else ~out
    unacked = outstanding(data, numbers[0], payload, numbers[1])
    if role == "sender":
        # What the kernel counts is not always what the numbers say.
        unacked = unacked + rng.integers(0, 2, rows).astype(np.uint32)
    kinds = np.where(again, rng.integers(1, 5, rows) * 16, 0)
    return Track(
        host="near" if role == "sender" else "far",
        role=role,
        connection=connection,
        time_ns=time.astype(np.int64),
        out=out,
        sequence=numbers[0],
        acknowledgment=numbers[1],
        payload_bytes=payload,
        window_bytes=window,
        gso_size_bytes=np.where(payload == 65160, 1448, 0).astype(np.uint16),
        wire_segments=np.where(payload == 65160, 45, 1).astype(np.uint16),
        cwnd_segments=rng.integers(2, 2**32, rows, dtype=np.uint64).astype(np.uint32),
        flags=np.full(rows, 16, np.uint8),
        context_code=(rng.integers(0, 6, rows) + 16 * (rng.random(rows) < 0.1)).astype(np.uint8),
        reason_code=(np.where(out & (payload == 0), rng.integers(1, 10, rows), 0) + kinds).astype(np.uint8),
        unacked_bytes=unacked,
        advertised_bytes=held(window, ~data),
    )


def about(logged: Track) -> About:
    """What a page is to know in addition to the rows."""
    again = logged.time_ns[logged.reason_code >= 16]
    strip = {"start": 0, "step": SECOND, "values": [2.0, None, 1.5]}
    return {
        "ackRatio": strip,
        "superSegments": strip,
        "again": again.tolist(),
        "closeNs": 1_000_000,
        "shares": {"sizes": [["1,448 bytes", 0.75, 3]], "contexts": [["timer", 1.0, 4]], "reasons": []},
    }
