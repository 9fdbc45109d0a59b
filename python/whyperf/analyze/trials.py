"""Everything measured per trial, from which cells are summarized."""

from dataclasses import dataclass

import polars as pl

from whyperf.analyze.cpu import trial_cpu
from whyperf.analyze.cycles import cycles_per_kbyte
from whyperf.analyze.goodput import measure, receiver_rows, window_octets
from whyperf.analyze.inputs import Inputs
from whyperf.analyze.retransmissions import trial_retransmissions


@dataclass(frozen=True)
class Measured:
    """Frames by trial, of the trials that did not fail.

    `trials`: see `goodput.measure`. `connections`: trial, connection, `window_octets`,
    `goodput_bps`. `ends_cpu`: see `cpu.trial_cpu`. `cycles`: see `cycles.cycles_per_kbyte`.
    `retransmissions`: see `retransmissions.trial_retransmissions`.
    """

    trials: pl.DataFrame
    connections: pl.DataFrame
    ends_cpu: pl.DataFrame
    cycles: pl.DataFrame
    retransmissions: pl.DataFrame


def measure_trials(inputs: Inputs) -> Measured:
    """Measures every trial of `inputs` that did not fail."""
    ran = inputs.trials.filter(pl.col("status") != "failed")
    trials = measure(ran, inputs.flows, inputs.intervals)
    reads = inputs.flows.filter(pl.col("role") == "receiver")
    ends_cpu = trial_cpu(inputs.cpu, inputs.softirqs, inputs.threads, inputs.ends, trials)
    return Measured(
        trials=trials,
        connections=window_octets(receiver_rows(inputs.intervals), reads, trials),
        ends_cpu=ends_cpu,
        cycles=cycles_per_kbyte(ends_cpu, trials),
        retransmissions=trial_retransmissions(inputs.tcp_info).join(ran.select("trial"), on="trial", how="semi"),
    )
