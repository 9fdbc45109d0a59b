"""All indicators of one trial whose flows come and go.

The sharing of a path by flows: stability, fairness within a protocol, harm between protocols.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.transports.adapting import Slack, Wait, convergence, recoveries, slack_taken_up
from whyperf.analyze.transports.samples import ConnectionSamples, RttSamples, connections, round_trips
from whyperf.analyze.transports.time_series import FlowSeries, flow_course


def stability(bps: Floats) -> float | None:
    """S of a goodput over time: its standard deviation over its mean; 0 is a straight line.

    R. L. Cottrell et al., "Characterization and evaluation of TCP and UDP-based transport on real networks" (2005).
    The deviation is the sample's (n - 1). None for fewer than two values or a mean of 0.
    """
    if bps.size < 2 or not bps.mean() > 0:
        return None
    return float(bps.std(ddof=1) / bps.mean())


def fairness(bps: Floats) -> float | None:
    """Jain's index F = (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has all.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems", DEC TR-301 (1984). None for fewer than two flows, or when nothing moved.
    """
    largest = float(bps.max(initial=0.0))
    if bps.size < 2 or largest <= 0:
        return None
    # Squares of very small or large values alone would not fit in a float. A power of two rounds nothing.
    parts = np.ldexp(bps, -math.frexp(largest)[1])
    return float(parts.sum() ** 2 / (bps.size * (parts * parts).sum()))


def goodput_harm(alone_bps: float, together_bps: float) -> float | None:
    """The harm of a competitor to a flow's goodput: (alone - together) / alone; 1 is all of it, below 0 a benefit.

    R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's fairness index: setting the bar for the deployment of
    congestion control algorithms", HotNets (2019), for "more is better".
    """
    return (alone_bps - together_bps) / alone_bps if alone_bps > 0 else None


def rtt_harm(alone_s: float, together_s: float) -> float | None:
    """The same for a round-trip time, of which less is better: (together - alone) / together."""
    return (together_s - alone_s) / together_s if together_s > 0 else None


def mean(values: Floats) -> float | None:
    """The mean; None of nothing."""
    return float(np.mean(values)) if values.size else None


@dataclass(frozen=True)
class RttFigures:
    """Mean and sample deviation in s, and the mean over the smallest round trip of the trial."""

    mean_s: float | None = None
    deviation_s: float | None = None
    inflation_ratio: float | None = None


@dataclass(frozen=True)
class RegionFigures:
    """A region of one trial. The mappings are by flow."""

    goodput_bps: float
    stability: float | None
    fairness: float | None
    retransmitted_ratio: float | None
    rtt: RttFigures
    flow_goodput_bps: Mapping[int, float]
    flow_stability: Mapping[int, float | None]
    flow_retransmitted_ratio: Mapping[int, float | None]


@dataclass(frozen=True)
class FlowFigures:
    """A flow of one trial over its whole time."""

    goodput_bps: float
    stability: float | None
    retransmitted_ratio: float | None


@dataclass(frozen=True)
class Harmed:
    """The harm that others did to a flow, see `sharing.goodput_harm`."""

    flow: int
    by: str
    goodput_ratio: float | None
    rtt_ratio: float | None


@dataclass(frozen=True)
class Indicators:
    """One trial."""

    trial: str
    course: FlowSeries
    rtt_samples: RttSamples
    goodput_bps: float
    stability: float | None
    fairness_min: float | None
    retransmitted_ratio: float | None
    rtt: RttFigures
    regions: tuple[RegionFigures, ...]
    flows: tuple[FlowFigures, ...]
    harmed: tuple[Harmed, ...]
    convergence: tuple[Wait, ...] = ()
    slack: tuple[Slack, ...] = ()
    recovery: tuple[Wait, ...] = field(default=())
    #: The samples of each flow's first connection whose window is known.
    windows: Mapping[int, ConnectionSamples] = field(default_factory=dict)


def indicators(
    schedule: pl.DataFrame, intervals: pl.DataFrame, senders: pl.DataFrame, probe: pl.DataFrame
) -> Indicators:
    """The indicators of one trial.

    `schedule` are its rows of `inputs.SCHEDULE`, `senders` those of `samples.sender_samples`, the others its rows of
    the record's tables `intervals` and `round_trips`, all on the controller's clock.
    """
    course = flow_course(schedule, intervals.filter(pl.col("role") == "receiver"))
    start_ns = int(schedule["trial_start_ns"][0])
    rtt = round_trips(probe, senders, course.active, start_ns)
    return _Trial(str(schedule["trial"][0]), course, rtt, connections(senders, start_ns)).all()


@dataclass(frozen=True)
class _Trial:
    name: str
    course: FlowSeries
    rtt: RttSamples
    connections: Mapping[int, ConnectionSamples]

    def all(self) -> Indicators:
        course = self.course
        working = np.isin(course.region, [number for number, region in enumerate(course.regions) if region.flows])
        total = course.bps.sum(axis=0)
        lengths = np.diff(course.edges_s)
        last_s = float(course.edges_s[-1])
        regions = tuple(self._region(position) for position in range(len(course.regions)))
        alike = [
            figures.fairness
            for figures, region in zip(regions, course.regions, strict=True)
            if figures.fairness is not None and len({course.active[flow].protocol for flow in region.flows}) == 1
        ]
        everyone = tuple(range(len(course.active)))
        return Indicators(
            trial=self.name,
            course=course,
            rtt_samples=self.rtt,
            goodput_bps=float(np.average(total[working], weights=lengths[working])),
            stability=stability(total[working]),
            fairness_min=min(alike, default=None),
            retransmitted_ratio=self._retransmitted(everyone, 0.0, last_s),
            rtt=self._rtt(0.0, last_s),
            regions=regions,
            flows=tuple(self._flow(flow) for flow in everyone),
            harmed=tuple(self._harmed()),
            convergence=tuple(wait for _, wait in convergence(course)),
            slack=tuple(slack_taken_up(course)),
            recovery=tuple(wait for flow in everyone for wait in self._recoveries(flow)),
            windows={flow: samples for flow in everyone if (samples := self._window(flow)) is not None},
        )

    def _region(self, position: int) -> RegionFigures:
        course, region = self.course, self.course.regions[position]
        inside = course.bins(position)
        start_s, stop_s = region.start_ns / 1e9, region.stop_ns / 1e9
        means = {flow: course.mean_bps(position, flow) for flow in region.flows}
        return RegionFigures(
            goodput_bps=sum(means.values()),
            stability=stability(course.bps[list(region.flows)][:, inside].sum(axis=0)) if region.flows else None,
            fairness=fairness(np.array(list(means.values()))),
            retransmitted_ratio=self._retransmitted(region.flows, start_s, stop_s),
            rtt=self._rtt(start_s, stop_s) if region.flows else RttFigures(),
            flow_goodput_bps=means,
            flow_stability={flow: stability(course.bps[flow, inside]) for flow in region.flows},
            flow_retransmitted_ratio={flow: self._retransmitted((flow,), start_s, stop_s) for flow in region.flows},
        )

    def _flow(self, flow: int) -> FlowFigures:
        course, flow_active = self.course, self.course.active[flow]
        mine = np.isin(course.region, [number for number, region in enumerate(course.regions) if flow in region.flows])
        values = course.bps[flow, mine]
        return FlowFigures(
            goodput_bps=float(np.average(values, weights=np.diff(course.edges_s)[mine])),
            stability=stability(values),
            retransmitted_ratio=self._retransmitted((flow,), flow_active.start_s, flow_active.stop_s),
        )

    def _rtt(self, start_s: float, stop_s: float) -> RttFigures:
        values = self.rtt.between(start_s, stop_s)
        average = mean(values)
        baseline = self.rtt.baseline_s
        return RttFigures(
            mean_s=average,
            deviation_s=float(values.std(ddof=1)) if values.size > 1 else None,
            inflation_ratio=average / baseline if average is not None and baseline else None,
        )

    def _retransmitted(self, flows: tuple[int, ...], start_s: float, stop_s: float) -> float | None:
        """Share of the data segments that were sent again, of all connections of the flows."""
        counted = [
            self.connections[number].counted(start_s, stop_s)
            for flow in flows
            for number in self.course.active[flow].connections
            if number in self.connections
        ]
        data = sum(segments for _, segments in counted)
        return sum(again for again, _ in counted) / data if data > 0 else None

    def _window(self, flow: int) -> ConnectionSamples | None:
        found = (self.connections.get(number) for number in self.course.active[flow].connections)
        return next((samples for samples in found if samples is not None and samples.cwnd_segments.any()), None)

    def _recoveries(self, flow: int) -> list[Wait]:
        flow_active = self.course.active[flow]
        found: list[Wait] = []
        for number in flow_active.connections:
            samples = self.connections.get(number)
            if samples is None:
                continue
            mine = (samples.at_s >= flow_active.start_s) & (samples.at_s < flow_active.stop_s)
            found += recoveries(
                samples.at_s[mine],
                samples.cwnd_segments[mine],
                samples.retransmitted_segments[mine],
                flow_active.stop_s,
            )
        return found

    def _harmed(self) -> list[Harmed]:
        """Flows that were alone in one region and together with another protocol in another."""
        course = self.course
        alone = {
            region.flows[0]: position
            for position, region in reversed(list(enumerate(course.regions)))
            if len(region.flows) == 1
        }
        found = []
        for position, region in enumerate(course.regions):
            for flow in region.flows:
                others = {course.active[other].protocol for other in region.flows} - {course.active[flow].protocol}
                if not others or flow not in alone:
                    continue
                before, now = self._region(alone[flow]), self._region(position)
                rtts = before.rtt.mean_s, now.rtt.mean_s
                harmed = None if rtts[0] is None or rtts[1] is None else rtt_harm(rtts[0], rtts[1])
                goodputs = before.flow_goodput_bps[flow], now.flow_goodput_bps[flow]
                found.append(Harmed(flow, ", ".join(sorted(others)), goodput_harm(*goodputs), harmed))
        return found
