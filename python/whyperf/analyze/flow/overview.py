"""All connections of an end at a glance."""

import polars as pl

from whyperf.analyze.flow.trial import FlowTrial


def overview(trial: FlowTrial, host: str) -> pl.DataFrame:
    """One row a connection, from the best level there is, over the whole life.

    `connection`, `payload_bytes` (the load's own count), `data_packets`, `data_segments`,
    `data_bytes` (of the payload's direction), `retransmitted_packets`, `acks` (the other way),
    `packet_bytes_mean`, `segment_bytes_mean`, `segments_per_ack`, `level`. What the level does not
    know is null.
    """
    raise NotImplementedError(trial, host)
