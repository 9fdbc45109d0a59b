"""The inputs of the analysis: polars frames and plain values, no paths and no host.

All instants are on the controller's monotonic clock, in ns, as signed 64-bit integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from whyperf.analyze.fleet.inputs import Facts, FleetInputs
from whyperf.plan import CONNECTION, PlannedConnection

TRIALS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "block": pl.Int64(),
    "cell": pl.String(),
    "status": pl.String(),
    "reason": pl.String(),
    "transfer_bytes": pl.Int64(),
    "scheduled": pl.Boolean(),
    "lead_ns": pl.Int64(),
    "uncertainty_ns": pl.Int64(),
    "is_whole_phase": pl.Boolean(),
}
"""Columns of `Inputs.trials`, one row a trial. `transfer_bytes` is null in duration mode,
`scheduled` whether flows started and stopped at set times, `lead_ns` the time before the first of them.
`uncertainty_ns` is the larger clock uncertainty of the two ends against the controller.
`is_whole_phase` says that a rest of the warm-up is not cut off: latencies are counted by phase, so the
rates of the same trials are of the whole phase too."""

ENDS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "host": pl.String(),
    "role": pl.String(),
    "cpus": pl.List(pl.Int64()),
    "exclusive": pl.Boolean(),
    "tsc_hz": pl.Int64(),
    "offset_ns": pl.Int64(),
    "drift_ratio": pl.Float64(),
    "compared_mono_ns": pl.Int64(),
    "cpus_of": pl.String(),
    "first_connection": pl.Int64(),
    "payload_ratio": pl.Float64(),
    "router_cpus": pl.Float64(),
}
"""Columns of `Inputs.ends`, a row an end, two for every pair of agents of a trial: which host was
sender and which receiver, the CPUs counted as its own, whether they were its alone, its clock minus
the controller's at `compared_mono_ns` of its own and how much faster it runs, the end whose rows hold its
CPUs (itself, unless several ends ran on the same), the number of its first connection, which part
of its threads' CPU time was spent on the payload of this trial (not all of it in a watched program with other
connections), and how many of its CPUs the router of an emulated path used."""

NOTES: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "cell": pl.String(),
    "host": pl.String(),
    "note": pl.String(),
    "text": pl.String(),
    "value": pl.Int64(),
    "limit": pl.Int64(),
}
"""Columns of `Inputs.notes`, one row a note of an agent. `text` is the buffer, the reason or the busy process in words,
`value` the count, delay in ns, CPU time in ns or bytes asked for, `limit` the bytes allowed or ns passed."""


SCHEDULE: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "cell": pl.String(),
    "connection": pl.Int64(),
    "flow": pl.Int64(),
    "name": pl.String(),
    "protocol": pl.String(),
    "direction": pl.String(),
    "dscp": pl.Int64(),
    "start_ns": pl.Int64(),
    "stop_ns": pl.Int64(),
    "trial_start_ns": pl.Int64(),
}
"""Columns of `Inputs.schedule`, one row a connection of a trial with a schedule: its flow, when that starts and stops
after the start of the load at `trial_start_ns`, and its `protocol`: the congestion control of TCP, else the
transport. `direction` is `send` or `receive`, as seen from the near side; `dscp` is null where the flow sets none."""


@dataclass(frozen=True)
class Cell:
    """One combination of factor levels, as planned."""

    id: str
    sweep: str
    factors: Mapping[str, object]
    workload: str = "stream"
    #: The metric of the result: goodput, transactions, datagrams or connections.
    metric: str = "goodput"
    #: True where transactions begin at intended instants.
    is_open_loop: bool = False
    #: True where any payload is to move; a workload may only connect.
    has_payload: bool = True
    #: Executions of the open loop that can run at the same time, from one near host: virtual users x outstanding.
    places: int = 0
    #: The meaning of executions of its transactions to a reader: transactions, messages, or nothing of interest.
    counted_as: str | None = None
    #: True where some of its connections are only open.
    has_idle: bool = False
    #: The connection of another program that it is about; its factors say nothing of that.
    watched: PlannedConnection | None = None

    @property
    def setting(self) -> dict[str, object]:
        """The properties that distinguish it from other cells: its factors, or the name of its connection."""
        return dict(self.factors) if self.watched is None else {CONNECTION: self.watched.label}

    @property
    def is_scheduled(self) -> bool:
        """True where flows start and stop at set times."""
        return self.factors.get("schedule", "none") != "none"


@dataclass(frozen=True)
class Inputs:
    """An experiment, finished or not, as the analysis sees it.

    `flows` and the tables after it have the record's columns (see
    `crates/schema/src/table.rs`) and `trial`, `block`, `cell` before them. Trials that failed, are void or were
    interrupted are in `trials` but have no rows in the tables; what they moved until then is in `observed`, which has
    the columns of `goodput.measure` with `transactions_per_s`, and is never a result. Trials with the segment log are
    in `evidence` only, which has the columns of `evidence.EVIDENCE`; a watched connection's only trial is in all.
    `damaged` are the trials that cannot be read, with the reason; they are nowhere else. `stage_notes` are sentences
    about what trials with stage times lack. `hosts` are the record's facts of each host, by end.
    """

    experiment: str
    origin: str
    profile: str
    plan_id: str
    seed: int
    testbed: str
    varied: tuple[str, ...]
    cells: tuple[Cell, ...]
    damaged: tuple[tuple[str, str], ...]
    trials: pl.DataFrame
    ends: pl.DataFrame
    notes: pl.DataFrame
    evidence: pl.DataFrame
    observed: pl.DataFrame
    probe_cost: Mapping[str, object] | None
    flows: pl.DataFrame
    intervals: pl.DataFrame
    tcp_info: pl.DataFrame
    cpu: pl.DataFrame
    softirqs: pl.DataFrame
    threads: pl.DataFrame
    devices: pl.DataFrame
    transactions: pl.DataFrame
    latencies: pl.DataFrame
    datagrams: pl.DataFrame
    transport_info: pl.DataFrame
    round_trips: pl.DataFrame
    watched: pl.DataFrame
    schedule: pl.DataFrame
    stage_notes: tuple[str, ...] = ()
    hosts: Mapping[str, Facts] = field(default_factory=dict)
    #: The inputs that only a fleet has; None without one.
    fleet: FleetInputs | None = None
