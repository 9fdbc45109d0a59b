"""Everything measured per trial, from which cells are summarized."""

from dataclasses import dataclass

import polars as pl

from whyperf.analyze.measures.costs import cycles_per_kbyte, transaction_costs
from whyperf.analyze.measures.cpu import trial_cpu
from whyperf.analyze.measures.datagrams import trial_datagrams
from whyperf.analyze.measures.goodput import measure, receiver_rows, window_octets
from whyperf.analyze.measures.segments import trial_segment_rates, trial_segments
from whyperf.analyze.measures.transactions import trial_calls, trial_transactions
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.watched import is_counted
from whyperf.record import LOST


@dataclass(frozen=True)
class Measured:
    """Frames by trial, of the trials that did not fail.

    `trials`: see `goodput.measure`. `connections`: trial, connection, `window_octets`,
    `goodput_bps`. `ends_cpu`: see `cpu.trial_cpu`. `cycles`: see `cycles.cycles_per_kbyte`.
    `segments`: see `retransmissions.trial_segments`.
    `segment_rates`: see `segment_rate.trial_segment_rates`. `transactions`: see
    `transactions.trial_transactions`. `costs`: see `per_transaction.transaction_costs`. `datagrams`: see
    `datagrams.trial_datagrams`.
    """

    trials: pl.DataFrame
    connections: pl.DataFrame
    ends_cpu: pl.DataFrame
    cycles: pl.DataFrame
    segments: pl.DataFrame
    segment_rates: pl.DataFrame
    transactions: pl.DataFrame
    costs: pl.DataFrame
    datagrams: pl.DataFrame


def measure_trials(inputs: Inputs) -> Measured:
    """Measures every trial of `inputs` that did not fail."""
    ran = inputs.trials.filter(~pl.col("status").is_in(LOST))
    trials = measure(ran, inputs.flows, inputs.intervals, inputs.transactions)
    reads = inputs.flows.filter(is_counted(inputs.flows))
    ends_cpu = trial_cpu(inputs.cpu, inputs.softirqs, inputs.threads, inputs.ends, trials)
    transactions = trial_transactions(inputs.transactions, trials)
    calls = trial_calls(inputs.transactions, trials, inputs.ends)
    segments = trial_segments(inputs.tcp_info, inputs.transport_info, trials)
    return Measured(
        trials=trials,
        connections=window_octets(receiver_rows(inputs.intervals), reads, trials),
        ends_cpu=ends_cpu,
        cycles=cycles_per_kbyte(ends_cpu, trials),
        segments=segments,
        segment_rates=trial_segment_rates(inputs.tcp_info, segments, trials),
        transactions=transactions,
        costs=transaction_costs(ends_cpu, transactions, calls),
        datagrams=trial_datagrams(inputs.datagrams, inputs.ends, trials),
    )
