"""The result of a cell whose flows come and go, as published with its goodput."""

from whyperf.analyze.spread import FrozenModel, Spread


class Duration(FrozenModel):
    """A time over flows, regions and trials: median and its 95 % interval (Kaplan and Meier).

    `cut_count` of the `count` were longer than could be seen; a median is null where half of them or more were.
    """

    median_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    count: int = 0
    cut_count: int = 0


class RoundTrips(FrozenModel):
    """Round-trip times, in seconds: their mean and standard deviation, and the mean over the smallest of the trial."""

    mean_s: Spread
    deviation_s: Spread
    inflation_ratio: Spread


class FlowShare(FrozenModel):
    """A flow in a region."""

    flow: int
    goodput_bps: Spread
    stability: Spread
    retransmitted_ratio: Spread


class RegionResult(FrozenModel):
    """A time in which the same flows were at work; `number` counts from 1, times are in s after the start."""

    number: int
    start_s: float
    stop_s: float
    goodput_bps: Spread
    stability: Spread
    fairness: Spread
    retransmitted_ratio: Spread
    rtt: RoundTrips
    flows: list[FlowShare]


class FlowResult(FrozenModel):
    """A flow over its whole time; `goodput_bps` is its mean, `stability` that over all bins of its time.

    `direction` is `send` or `receive`, as seen from the near side; `dscp` is null where the flow sets none.
    """

    flow: int
    name: str
    protocol: str
    direction: str
    dscp: int | None
    connections: int
    start_s: float
    stop_s: float
    goodput_bps: Spread
    stability: Spread
    retransmitted_ratio: Spread


class Harm(FrozenModel):
    """Harm of flows of other protocols to a flow: part of its goodput that they took, and of the round-trip time that
    they added.
    """

    flow: int
    protocol: str
    by: str
    goodput_ratio: Spread
    rtt_ratio: Spread


class CpuCost(FrozenModel):
    """CPU of both sides in GHz per Gbit/s: cycles per bit of payload."""

    sender: Spread
    receiver: Spread
    unit: str | None


class TransferTest(FrozenModel):
    """The metrics of RFC 6349; `transfer_time_ratio` needs the rate of the path."""

    transfer_time_ratio: Spread
    efficiency_ratio: Spread
    buffer_delay_ratio: Spread


class Transports(FrozenModel):
    """Indicators of a cell with a schedule, over its trials.

    `bin_s` is the averaging time of stability, convergence and slack. `rtt_source` is "probe" (round trips measured
    during the trial) or "sender" (those that the senders smoothed), null without either. `fairness_min` is the least
    over regions with several flows of one protocol.
    """

    schedule: str
    protocol: str
    bin_s: float
    goodput_bps: Spread
    stability: Spread
    fairness_min: Spread
    retransmitted_ratio: Spread
    rtt_source: str | None
    rtt: RoundTrips
    rtt_baseline_s: Spread
    recovery: Duration
    convergence: Duration
    slack: Duration
    slack_ratio: Spread
    harm: list[Harm]
    cpu_ghz_per_gbps: CpuCost
    rfc6349: TransferTest
    regions: list[RegionResult]
    flows: list[FlowResult]
