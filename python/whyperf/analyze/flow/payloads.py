"""The payloads on the wire, in the order they were sent."""

import numpy as np
import polars as pl
from numpy.typing import NDArray


def payload_sequence(log: pl.DataFrame, direction: str = "out") -> NDArray[np.uint32]:
    """Payload of each wire segment of one connection, shape (n,), in bytes.

    `log` is of `read_log` with direction, payload_bytes, gso_size_bytes, wire_segments and
    retransmission, for one connection. Super-segments are taken apart; what was sent again is left
    out, so that a loss does not break the pattern.
    """
    raise NotImplementedError(log, direction)
