"""The rate of the path's bottleneck, by how far apart segments arrive that queued before it.

Segments that follow one another closely leave a bottleneck one serialization time apart, and keep that distance
(packet pairs: Keshav, SIGCOMM 1991). The most frequent rate of pairs is therefore the bottleneck's, whatever the mean
rate.
"""

import numpy as np
import polars as pl

from whyperf.explain.path_facts import BottleneckRate

MIN_PAIRS = 50
"""Fewer say nothing of what is most frequent."""
STEP_RATIO = 1.05
"""Width of the classes of rates that are counted."""
NEAR_RATIO = 1.12
"""Rates up to this apart are alike: a host that wakes up some microseconds late spreads them so."""
MIN_STEADINESS = 0.3
"""Part of the pairs of segments at the most frequent rate: without a link of one rate it is 0.1."""
MAX_BPS = 400e9
"""No link is faster: segments that a host hands over together come at more."""
HEADERS_BYTES = 66
"""Ethernet, IP version 4 and TCP with time stamps."""


def bottleneck_rate(arrived: pl.DataFrame, adapters: int = 1) -> BottleneckRate:
    """The rate by data packets in the order of arrival: connection, time_ns, payload_bytes, wire_segments, of all
    connections.

    Several adapters have a link each, which carries every nth connection: their rates add up, if each has one.
    """
    if adapters == 1:
        return _of_link(arrived)
    # The number is of the result's author; a link without a connection has no rate.
    if adapters > arrived["connection"].n_unique():
        return BottleneckRate()
    links = [_of_link(arrived.filter(pl.col("connection") % adapters == number)) for number in range(adapters)]
    known = [(link.bps, link.steadiness, link.use_ratio) for link in links]
    rates, steady, uses = (np.array([each or 0.0 for each in column]) for column in zip(*known, strict=True))
    if not rates.all():
        return BottleneckRate()
    return BottleneckRate(float(rates.sum()), float(steady.min()), float((uses * rates).sum() / rates.sum()))


def _of_link(arrived: pl.DataFrame) -> BottleneckRate:
    time = arrived["time_ns"].to_numpy()
    counts = arrived["wire_segments"].cast(pl.Int64).to_numpy()
    sizes = arrived["payload_bytes"].cast(pl.Int64).to_numpy() + HEADERS_BYTES * counts
    spans = np.diff(time)
    kept = spans > 0
    if int(kept.sum()) < MIN_PAIRS:
        return BottleneckRate()
    every = sizes[1:][kept] * 8e9 / spans[kept]
    life = int(time[-1] - time[0])
    mean = float(sizes[1:].sum()) * 8e9 / max(1, life)
    # Pauses between bursts are no rate of a bottleneck: it carries more than came in all, and no less than most pairs.
    rates = every[every > max(mean / NEAR_RATIO, float(np.quantile(every, 0.75)) / 2)]
    if rates.size < MIN_PAIRS / 4:
        return BottleneckRate()
    classes = np.floor(np.log(rates) / np.log(STEP_RATIO)).astype(np.int64)
    classes -= classes.min()
    smooth = np.convolve(np.bincount(classes), (1, 1, 1), mode="same")
    found = rates[np.abs(classes - int(smooth.argmax())) <= 1]
    rate = float(np.median(found))
    if rate > MAX_BPS:
        return BottleneckRate()
    near = (every > rate / NEAR_RATIO) & (every < rate * NEAR_RATIO)
    return BottleneckRate(rate, float(near.mean()), mean / rate)
