"""The result of a cell that many hosts measured at the same time, as published."""

from typing import Literal

from whyperf.analyze.spread import FrozenModel, Spread

Role = Literal["sender", "receiver", "pair"]
LimitedBy = Literal["receive_window", "send_buffer", "application", "in_flight"]


class FleetPair(FrozenModel):
    """A pair of hosts over the trials: `pair` counts from 1, as its ends in the record do.

    `rtt_ns` is the median of the sender's smoothed round-trip times, `rtt_ns_min` the smallest, `queue_ns` the
    difference: what packets wait in queues. `retransmitted_ratio` is of all data segments. `timeouts` are expired
    retransmission timers of the sending host, and null where that host sends to several. `idle_ratio` is the part of
    the time in which nothing arrived, `idle_ns_max` the longest such time. `limited_by` is what the kernel's own clocks
    have most of the time of: a full receive window, a full send buffer, an application that does not write, or data in
    flight (the congestion window, pacing, losses or a CPU); `limited_ratio` is how much of it.
    """

    pair: int
    near: str
    far: str
    sender: str
    receiver: str
    trials: int
    goodput_bps: Spread
    transactions_per_s: Spread
    rtt_ns: float | None
    rtt_ns_min: int | None
    queue_ns: float | None
    retransmitted_ratio: float | None
    timeouts: float | None
    idle_ratio: float | None
    idle_ns_max: int | None
    limited_by: LimitedBy | None
    limited_ratio: float | None


class FleetHost(FrozenModel):
    """A host over the trials: what all its pairs move together.

    `cpu_ratio` is how busy its CPUs were, null where they are not its alone. `load_cpus` is how many CPUs the load's
    threads used. `timeouts` are of the host, whatever peer they concern.
    """

    host: str
    sent_bps: Spread
    received_bps: Spread
    pairs: list[int]
    cpu_ratio: float | None
    load_cpus: float | None
    timeouts: float | None


class FleetGroup(FrozenModel):
    """Hosts that the user has one name for: what they move together, and Jain's index over them."""

    group: str
    hosts: int
    sent_bps: Spread
    received_bps: Spread
    fairness: float | None


class HostDifference(FrozenModel):
    """Something in which a host differs from its peers: `code` names it, `host` and `others` are its values as text.

    `of` of the other hosts have `others`, which for a measured quantity is their median. `ratio` is the host's value
    over that, null for what is no number. `detail` is what it concerns: a setting, a device, a program.
    """

    code: str
    host: str
    others: str
    of: int
    ratio: float | None = None
    detail: str = ""


class SlowHost(FrozenModel):
    """A host, or a pair of hosts, that is slower than the others beyond their spread.

    `role` is what it is slow as. In the pattern `pairs` a rate does not show which of its two hosts is slow: then
    `role` is `pair`, and `host` the one that differs from its peers, null where that is none or both. `ratio` is its
    rate over the rate of the others. `p_value` is the probability of such a ratio among equal hosts, adjusted for the
    number of hosts (Benjamini and Hochberg). `slower_trials` counts trials in which it was below the others' median.
    `pairs` are the pairs it is in, the slowest first. `differences` have the strongest first.
    """

    host: str | None
    role: Role
    pairs: list[int]
    ratio: float
    p_value: float
    slower_trials: int
    differences: list[HostDifference]


class FleetWindow(FrozenModel):
    """The common measuring window of the trial that has the shortest, and how far apart first calls were: the worst of
    all trials, with the bound of its error. Null where the record does not say.
    """

    window_s: float | None = None
    skew_s: float | None = None
    skew_bound_s: float | None = None


class Straggler(FrozenModel):
    """A host that was late in a trial, or a pair that was lost in it, from then on without a part in the result."""

    trial: str
    host: str
    pair: int | None
    late_ns: int | None
    reason: str | None


class Fleet(FrozenModel):
    """A cell of a fleet. `pattern` is pairs, fan-in, fan-out or mesh.

    `fairness` is Jain's index over the pairs, `fairness_hosts` over the hosts that send; medians of the trials.
    `slow` has the slowest host first; it is empty where none stands out. `compared` is whether there were enough hosts
    to compare.
    """

    pattern: str
    pairs: list[FleetPair]
    hosts: list[FleetHost]
    groups: list[FleetGroup]
    fairness: float | None
    fairness_hosts: float | None
    window: FleetWindow
    stragglers: list[Straggler]
    slow: list[SlowHost]
    compared: bool

    def pair(self, number: int) -> FleetPair:
        """The pair of that number; KeyError without one."""
        return {pair.pair: pair for pair in self.pairs}[number]
