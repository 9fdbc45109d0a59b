"""The indicators of a cell over its trials.

The metrics of RFC 6349, "Framework for TCP Throughput Testing".

The median of times of which some are only known to be longer than what was seen.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl

from whyperf.analyze.read.inputs import Cell, Inputs
from whyperf.analyze.spread import Spread, spreads
from whyperf.analyze.transports.adapting import Wait
from whyperf.analyze.transports.indicators import Harmed, Indicators, RegionFigures, RttFigures, indicators
from whyperf.analyze.transports.result import (
    CpuCost,
    Duration,
    FlowResult,
    FlowShare,
    Harm,
    RegionResult,
    RoundTrips,
    TransferTest,
    Transports,
)
from whyperf.analyze.transports.samples import sender_samples

#: Headers of IP and TCP with its timestamps (RFC 7323), which Linux sends in every segment, by IP version.
HEADERS_BYTES = {4: 20 + 20 + 12, 6: 40 + 20 + 12}
ETHERNET_HEADER_BYTES = 14


def ideal_bps(rate_bps: float, mtu_bytes: int, ip_version: int) -> float:
    """Payload that TCP can carry at most over a bottleneck, in bit/s (section 3.3.1).

    `rate_bps` counts the packets of `mtu_bytes` with their Ethernet header, as the emulated path does.
    """
    return rate_bps * (mtu_bytes - HEADERS_BYTES[ip_version]) / (mtu_bytes + ETHERNET_HEADER_BYTES)


def transfer_time_ratio(ideal: float, achieved: float) -> float | None:
    """Actual over ideal transfer time of the same payload (section 4.1); 1 is perfect."""
    return ideal / achieved if achieved > 0 else None


def efficiency_ratio(transmitted: float, retransmitted: float) -> float | None:
    """Share of what was transmitted that was no retransmission (section 4.2), in the same unit both."""
    return (transmitted - retransmitted) / transmitted if transmitted > 0 else None


def buffer_delay_ratio(mean_rtt: float, baseline_rtt: float) -> float | None:
    """The ratio by which a round trip under load is longer than the baseline (section 4.3); 0 is no queue."""
    return (mean_rtt - baseline_rtt) / baseline_rtt if baseline_rtt > 0 else None


HALF = 0.5
#: Differences of sums of probabilities that are no differences.
EXACT = 1e-12


def duration(waits: Sequence[Wait]) -> Duration:
    """Median and 95 % interval of `waits`, pooled over flows, regions and trials.

    The product-limit estimator (E. L. Kaplan, P. Meier, JASA 53, 1958), which takes a wait that was cut for what it
    is; the interval is that of R. Brookmeyer and J. Crowley (Biometrics 38, 1982) with log-log transformed limits.
    A median is None where half of the waits or more were cut before.
    """
    cut = sum(not wait.reached for wait in waits)
    if not waits or cut == len(waits):
        return Duration(count=len(waits), cut_count=cut)
    from scipy import stats  # noqa: PLC0415 - takes a second to load, and few verbs need it

    reached = [wait.seconds for wait in waits if wait.reached]
    beyond = [wait.seconds for wait in waits if not wait.reached]
    survival = stats.ecdf(stats.CensoredData(uncensored=reached, right=beyond)).sf
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Where the curve is 1 or 0 there are no limits.
        warnings.simplefilter("ignore")
        limits = survival.confidence_interval(method="log-log")

    def half(curve: object) -> float | None:
        probabilities = np.asarray(curve.probabilities)  # type: ignore[attr-defined]
        below = np.flatnonzero(probabilities <= HALF + EXACT)
        return float(np.asarray(survival.quantiles)[below[0]]) if below.size else None

    known = len(reached) > 2
    return Duration(
        median_s=half(survival),
        low_s=half(limits.low) if known else None,
        high_s=half(limits.high) if known else None,
        count=len(waits),
        cut_count=cut,
    )


BITS_PER_KBYTE = 8 * 1024

Values = Sequence[float | None]


def trial_indicators(inputs: Inputs) -> dict[str, list[Indicators]]:
    """The indicators of every trial with a schedule, by cell, trials in their order."""
    found: dict[str, list[Indicators]] = {}
    ran = inputs.trials.filter(pl.col("scheduled") & (pl.col("status") != "failed")).sort("trial")
    for row in ran.iter_rows(named=True):
        here = pl.col("trial") == row["trial"]
        schedule, intervals = inputs.schedule.filter(here), inputs.intervals.filter(here)
        if schedule.is_empty() or intervals.is_empty():
            continue
        senders = sender_samples(inputs.tcp_info.filter(here), inputs.transport_info.filter(here))
        made = indicators(schedule, intervals, senders, inputs.round_trips.filter(here))
        found.setdefault(row["cell"], []).append(made)
    return found


def summarize_transports(
    cell: Cell, trials: Sequence[Indicators], cycles: Mapping[str, Sequence[float]], unit: str | None, seed: int
) -> Transports | None:
    """The result of a cell with a schedule; None without one, or without a trial.

    `cycles` are the cycles per KByte of each trial, by role.
    """
    if not trials:
        return None
    return _Cell(cell, trials, _Spreads(seed)).result(cycles, unit)


@dataclass(frozen=True)
class _Spreads:
    """Makes spreads; of what no trial has it is empty."""

    seed: int

    def of(self, values: Values) -> Spread:
        known = [value for value in values if value is not None]
        return spreads([known], self.seed)[0]


@dataclass(frozen=True)
class _Cell:
    cell: Cell
    trials: Sequence[Indicators]
    make: _Spreads

    def result(self, cycles: Mapping[str, Sequence[float]], unit: str | None) -> Transports:
        first = self.trials[0].course
        per_bit = {role: self.make.of([value / BITS_PER_KBYTE for value in values]) for role, values in cycles.items()}
        sources = {trial.rtt_samples.source for trial in self.trials} - {None}
        slacks = list(chain.from_iterable(trial.slack for trial in self.trials))
        return Transports(
            schedule=str(self.cell.factors.get("schedule")),
            protocol=first.active[0].protocol,
            bin_s=first.bin_s,
            goodput_bps=self._spread(lambda trial: trial.goodput_bps),
            stability=self._spread(lambda trial: trial.stability),
            fairness_min=self._spread(lambda trial: trial.fairness_min),
            retransmitted_ratio=self._spread(lambda trial: trial.retransmitted_ratio),
            rtt_source=sources.pop() if len(sources) == 1 else None,
            rtt=self._rtt(lambda trial: trial.rtt),
            rtt_baseline_s=self._spread(lambda trial: trial.rtt_samples.baseline_s),
            recovery=duration(list(chain.from_iterable(trial.recovery for trial in self.trials))),
            convergence=duration(list(chain.from_iterable(trial.convergence for trial in self.trials))),
            slack=duration([slack.wait for slack in slacks]),
            slack_ratio=self._spread(_slack_ratio),
            harm=[self._harm(number) for number in range(len(self.trials[0].harmed))],
            cpu_ghz_per_gbps=CpuCost(
                sender=per_bit.get("sender", Spread()), receiver=per_bit.get("receiver", Spread()), unit=unit
            ),
            rfc6349=self._transfer_test(),
            regions=[self._region(position) for position in range(len(first.regions))],
            flows=[self._flow(flow) for flow in range(len(first.active))],
        )

    def _spread(self, value: Callable[[Indicators], float | None]) -> Spread:
        return self.make.of([value(trial) for trial in self.trials])

    def _rtt(self, figures: Callable[[Indicators], RttFigures]) -> RoundTrips:
        return RoundTrips(
            mean_s=self._spread(lambda trial: figures(trial).mean_s),
            deviation_s=self._spread(lambda trial: figures(trial).deviation_s),
            inflation_ratio=self._spread(lambda trial: figures(trial).inflation_ratio),
        )

    def _region(self, position: int) -> RegionResult:
        region = self.trials[0].course.regions[position]

        def spread(value: Callable[[RegionFigures], float | None]) -> Spread:
            return self._spread(lambda trial: value(trial.regions[position]))

        def share(flow: int) -> FlowShare:
            return FlowShare(
                flow=flow,
                goodput_bps=spread(lambda figures: figures.flow_goodput_bps[flow]),
                stability=spread(lambda figures: figures.flow_stability[flow]),
                retransmitted_ratio=spread(lambda figures: figures.flow_retransmitted_ratio[flow]),
            )

        return RegionResult(
            number=region.number,
            start_s=region.start_ns / 1e9,
            stop_s=region.stop_ns / 1e9,
            goodput_bps=spread(lambda figures: figures.goodput_bps),
            stability=spread(lambda figures: figures.stability),
            fairness=spread(lambda figures: figures.fairness),
            retransmitted_ratio=spread(lambda figures: figures.retransmitted_ratio),
            rtt=self._rtt(lambda trial: trial.regions[position].rtt),
            flows=[share(flow) for flow in region.flows],
        )

    def _flow(self, flow: int) -> FlowResult:
        interval = self.trials[0].course.active[flow]
        return FlowResult(
            flow=flow,
            name=interval.name,
            protocol=interval.protocol,
            direction=interval.direction,
            dscp=interval.dscp,
            connections=len(interval.connections),
            start_s=interval.start_s,
            stop_s=interval.stop_s,
            goodput_bps=self._spread(lambda trial: trial.flows[flow].goodput_bps),
            stability=self._spread(lambda trial: trial.flows[flow].stability),
            retransmitted_ratio=self._spread(lambda trial: trial.flows[flow].retransmitted_ratio),
        )

    def _harm(self, number: int) -> Harm:
        harmed = self.trials[0].harmed[number]

        def spread(value: Callable[[Harmed], float | None]) -> Spread:
            return self._spread(lambda trial: value(trial.harmed[number]))

        return Harm(
            flow=harmed.flow,
            protocol=self.trials[0].course.active[harmed.flow].protocol,
            by=harmed.by,
            goodput_ratio=spread(lambda found: found.goodput_ratio),
            rtt_ratio=spread(lambda found: found.rtt_ratio),
        )

    def _transfer_test(self) -> TransferTest:
        factors = self.cell.factors
        rate, mtu = factors.get("path_rate_bps"), factors.get("mtu_bytes")
        ideal = None
        # Flows of both directions together may carry twice the rate of the path.
        is_one_way = len({flow.direction for flow in self.trials[0].course.active}) == 1
        if is_one_way and isinstance(rate, int | float) and isinstance(mtu, int):
            ideal = ideal_bps(rate, mtu, 6 if factors.get("ip_version") == 6 else 4)

        def again(trial: Indicators) -> float | None:
            ratio = trial.retransmitted_ratio
            return None if ratio is None else efficiency_ratio(1.0, ratio)

        def delay(trial: Indicators) -> float | None:
            average, baseline = trial.rtt.mean_s, trial.rtt_samples.baseline_s
            return None if average is None or baseline is None else buffer_delay_ratio(average, baseline)

        return TransferTest(
            transfer_time_ratio=self._spread(
                lambda trial: None if ideal is None else transfer_time_ratio(ideal, trial.goodput_bps)
            ),
            efficiency_ratio=self._spread(again),
            buffer_delay_ratio=self._spread(delay),
        )


def _slack_ratio(trial: Indicators) -> float | None:
    """The mean over the instants at which flows left."""
    return sum(slack.ratio for slack in trial.slack) / len(trial.slack) if trial.slack else None
