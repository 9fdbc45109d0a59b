"""Contents of an explanation: the JSON of `whyperf explain --json` and of the record's explain.json.

Fields are only ever added. Times are ns after the start of the load on the controller's clock,
ratios lie between 0 and 1 unless they are called gains; null means not known.
"""

from typing import Literal

from pydantic import Field

from whyperf.analyze.spread import FrozenModel
from whyperf.explain.causes import Cause

FORMAT = 1

Level = str | int | float | bool
Value = int | float | str | list[str]


class Statement(FrozenModel):
    """A text as data: `code` is its template in `explain/wording/catalog.toml`, `values` what is filled in.

    The name of a value ends in its unit: `window_bytes`, `lost_ratio`, `rtt_ns`, `link_bps`.
    """

    code: str = ""
    values: dict[str, Value] = Field(default_factory=dict)


class StateShare(FrozenModel):
    """Part of a connection's life that one side was in a state; `spells` is how often it was entered."""

    state: str
    ns: int
    ratio: float
    spells: int


TOLERANCE_NS = 8_000_000
"""Two jiffies at 250 Hz: the kernel counts in jiffies."""


class Chronograph(FrozenModel):
    """A clock of the kernel (tcp_info: busy, rwnd_limited, sndbuf_limited) compared with the states of the same
    meaning.

    `agrees` is whether they differ by at most 3 % of the connection's life or 8 ms, whichever is more: the kernel
    counts in jiffies.
    """

    name: Literal["busy", "rwnd_limited", "sndbuf_limited"]
    kernel_ns: int
    budget_ns: int
    agrees: bool


class Budget(FrozenModel):
    """Where the time of one connection went on one side. `shares` add up to the life, largest first."""

    trial: str
    host: str
    role: Literal["sender", "receiver"]
    connection: int
    begin_ns: int
    end_ns: int
    shares: list[StateShare]
    chronographs: list[Chronograph] = Field(default_factory=list)

    @property
    def life_ns(self) -> int:
        """From the first to the last byte."""
        return self.end_ns - self.begin_ns

    def ratio(self, *states: str) -> float:
        """Part of the life that these states have together."""
        return sum(share.ratio for share in self.shares if share.state in states)


class CyclePlace(FrozenModel):
    """One place of a turn: a payload that left TCP at once, `times` in a row, and what let the first of them go.

    `payload_bytes` holds all of a super-segment. `released_by` says who sent it in most turns (`ratio` of them):
    `ack`, taken in just then; `woken`, a write call that an acknowledgment had made room for; `write`, a write call
    that nothing held; `pacing`, `timer` and `worker`, the kernel on its own. `held_by` is what it waited for till then:
    the announced `window`; a full `congestion_window`; `small`, less than a full segment while something was
    unacknowledged though both had room (RFC 896); "" where nothing held it or it is not known.
    `ack_reason` is why the receiver sent that acknowledgment. `wait_ns` is the median time after what was sent before.
    """

    payload_bytes: int
    times: int = 1
    released_by: Literal["ack", "woken", "write", "pacing", "timer", "worker", "unknown"] = "unknown"
    held_by: Literal["", "window", "congestion_window", "small"] = ""
    ack_reason: str = ""
    ratio: float = 0.0
    wait_ns: int | None = None


class Phase(FrozenModel):
    """A stretch of a connection in which one cycle repeats, and what changed it into that.

    `ratio` is its part of the connection's time. `ack_reasons` are pure ACKs a turn by why the receiver sent them.
    `stop_and_go_ratio` is how often an acknowledgment that let something go left nothing outstanding: near 1 sender and
    receiver work by turns. `overlap_ratio` is what was under way already when packets left over what left, in bytes and
    at most 1: even within a window both then work at the same time. `outstanding_bytes` is the median of what was
    unacknowledged when acknowledgments came, `window_bytes` of the announced window, `packet_bytes` of what left TCP at
    once.
    """

    begin_ns: int
    end_ns: int
    payloads: list[tuple[int, int]]
    """One turn as (bytes, how often in a row)."""
    acks_per_turn: float | None
    waits: str
    """Who waits for whom in a turn, in words."""
    ratio: float
    changed_by: str = ""
    change: Statement | None = None
    """`changed_by` as data."""
    words: str
    stretches: int = 1
    """Number of times the cycle started, where the connection goes back and forth between cycles."""
    turn: list[CyclePlace] = Field(default_factory=list)
    turns: int = 0
    turn_ns: int | None = None
    ack_reasons: dict[str, float] = Field(default_factory=dict)
    stop_and_go_ratio: float | None = None
    overlap_ratio: float | None = None
    outstanding_bytes: int | None = None
    window_bytes: int | None = None
    packet_bytes: int | None = None


class Losses(FrozenModel):
    """Data that a connection sent again, and where it had been lost.

    `kinds` counts retransmissions as the record's column does (timeout, fast, probe, other). `timeout_wait_ns` is the
    silence that retransmission timers ended. `lost_in_receiver` are those of which an earlier copy had arrived at the
    receiving host without ever being acknowledged before, `lost_on_path` those of which none had; both are null
    without both logs.
    """

    kinds: dict[str, int]
    timeout_wait_ns: int
    lost_in_receiver: int | None = None
    lost_on_path: int | None = None


class Pattern(FrozenModel):
    """The segment flow of one connection as a person would say it. Without a cycle `phases` is empty."""

    trial: str
    connection: int
    phases: list[Phase]
    words: str
    losses: Losses | None = None
    missing: list[str] = Field(default_factory=list)
    """Parts that the log lacks, said first."""


class Spell(FrozenModel):
    """A span of a connection's life in one state."""

    connection: int
    from_ns: int
    to_ns: int


class Evidence(Statement):
    """A fact that a verdict stands on: a sentence, and where to look it up.

    `table`, `host`, `connection` and the times identify the rows; `value` and `unit` the figure, if it is one. Of a
    state the times are those of its longest span, `spells` has the longest few and `spells_count` how many there are.
    """

    words: str
    table: str = ""
    host: str = ""
    connection: int | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    value: float | None = None
    unit: str = ""
    spells: list[Spell] = Field(default_factory=list)
    spells_count: int | None = None


class ChangeStep(Statement):
    """One way to change what limits another program: `words`, with a command where there is one.

    `scope` is what it affects: this connection's socket, all connections of this program, or all programs of the host
    `host` (near or far; "" where it is not known which).
    """

    scope: Literal["socket", "program", "host"]
    words: str
    command: str = ""
    host: str = ""


class Change(Statement):
    """Things to change: factors of whyperf with their new levels, and what a user of the hosts would do.

    `factors` is empty where no factor can make the change, or the cell has it already; `by_hand` then is all there is.
    `command` is for the host `command_host`, near or far; "" is either or both. `is_host_wide` says that it changes a
    setting that all programs of that host share. `steps` are the ways to make the change for another program, which was
    watched: null of the own load.
    """

    factors: dict[str, Level] = Field(default_factory=dict)
    by_hand: str = ""
    command: str = ""
    command_host: str = ""
    is_host_wide: bool = False
    steps: list[ChangeStep] | None = None


class Verdict(Statement):
    """A cause, what it costs, the evidence for it, and what would refute it.

    `lost_ratio` is the part of the time (or of the rate that was possible) that the cause took. `confidence` is high,
    medium or low: how probable it is that the cause limits. `predicted_gain` is the rate with
    the change over the rate now, most likely between `predicted_low` and `predicted_high`; `predicted_from` says what
    limit was taken for the next. Where these two are more than 5 times apart `predicted_gain` is null, and
    `unpredicted_because` says why. Where only an upper bound is known, as of a class of cost, `predicted_high` has it,
    and `predicted_gain` and `predicted_low` are null.
    """

    cause: Cause
    claim: str
    lost_ratio: float | None = Field(default=None, ge=0, le=1)
    confidence: Literal["high", "medium", "low"]
    evidence: list[Evidence]
    refuted_by: str
    change: Change | None = None
    predicted_gain: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    predicted_from: str = ""
    predicted_basis: Statement | None = None
    """`predicted_from` as data."""
    model_gain: float | None = None
    """The gain by the model of limits alone, before its errors in truth experiments correct it."""
    unpredicted_because: str = ""
    certainty: float | None = Field(default=None, ge=0, le=1)
    """Degree to which the facts separate the cause from others, as its limit estimates it."""
    right_ratio: float | None = Field(default=None, ge=0, le=1)
    """The probability that the verdict is right, by all that was observed; decides `confidence`."""


class Anomaly(Statement):
    """A point of a sweep that stands out from its neighbors by 10 % and more beyond the noise, or where a curve bends.

    `ratio` is its rate over what its neighbors predict, `lost_rate` the difference of the two in bit/s (transactions
    per second where the cell is measured in them): what is lost there, or next to a peak; null for a bend. `others` are
    cells in which it is the same: of them this one loses most. `differences` are what the evidence has otherwise there,
    and `because` says the cause with them.
    """

    kind: Literal["peak", "drop", "knee", "plateau"]
    cell: str
    sweep: str
    factor: str
    level: Level
    ratio: float | None
    lost_rate: float | None = None
    neighbors: list[str]
    others: list[str] = Field(default_factory=list)
    differences: list[Evidence]
    cause: Cause
    because: str = ""
    words: str


class JointGain(FrozenModel):
    """Gain of removing several causes together, next to that of removing the first alone (`alone`).

    `gain` lies between `low` and `high` as a verdict's `predicted_gain` does. `factors` are the changes of all causes.
    """

    causes: list[Cause] = Field(min_length=2)
    alone: float
    gain: float
    low: float
    high: float
    model_gain: float
    """By the model of limits alone, before its errors in truth experiments correct it."""
    basis: str
    """Limit that was taken for the next, as the `code` of a verdict's `predicted_basis`."""
    factors: dict[str, Level] = Field(default_factory=dict)
    words: str


class CauseProbability(FrozenModel):
    """Probability that a cause is what limits, by all that was observed.

    `cause` is "another" for what has no name here or cannot be removed. `is_found` is whether a limit finds it: then
    there is evidence to look up.
    """

    cause: str
    probability: float
    is_found: bool = False


class CellExplanation(FrozenModel):
    """Why a cell is as fast as it is: its explained trial, and the verdicts, the strongest first.

    `joint` has what the removal of several of their causes together brings, where that is much more than the removal
    of the first alone.
    """

    cell: str
    trial: str | None
    rate_bps: float | None
    dominant_state: str | None
    """The sender's largest state, over all connections."""
    missing: list[str]
    """Kinds of evidence that there are none of, said first."""
    gaps: list[str] = Field(default_factory=list)
    """Gaps of a log that is nearly complete, where no verdict counts single segments."""
    budgets: list[Budget]
    patterns: list[Pattern]
    verdicts: list[Verdict]
    probabilities: list[CauseProbability] = Field(default_factory=list)
    """The most probable first; empty where nothing was weighed."""
    joint: list[JointGain] = Field(default_factory=list)
    headline: str
    transactions_per_s: float | None = None
    """Median over the trials, where transactions are the metric of the cell's workload."""
    is_turned: bool = False
    """True where most of the payload goes to the side that asks, and the path's forward direction carries its ACKs."""


class PairDiagnosis(FrozenModel):
    """Limit of one pair of hosts of a fleet: its strongest verdict. `pair` counts from 1."""

    pair: int
    near: str
    far: str
    trial: str | None
    rate_bps: float | None
    dominant_state: str | None
    cause: Cause
    confidence: Literal["high", "medium", "low"]
    claim: str


class SlowHostDiagnosis(Statement):
    """A host that is slower than its peers, and what makes it slow.

    `host` is null where it is one of a pair and the evidence does not show which. `pair` is the pair, from 1, whose
    verdict was looked at. `evidence` has the comparison of rates first, then what differs from the other hosts.
    """

    host: str | None
    pair: int
    ratio: float
    cause: Cause
    confidence: Literal["high", "medium", "low"]
    words: str
    because: str
    evidence: list[Evidence]


class FleetDiagnosis(Statement):
    """Limit of a cell of a fleet, and where it is.

    `limited_by` is `slow_host` where a host is slower than its peers; otherwise the side that limits most of the
    explained pairs: their `sender`s, their `receiver`s, the `path`, or `not_known`. `host` is the host that limits,
    where it is one. `pairs` are the pairs that were explained: the slow ones, and some of the others.
    """

    cell: str
    limited_by: Literal["slow_host", "sender", "receiver", "path", "not_known"]
    host: str | None
    cause: Cause
    words: str
    slow: list[SlowHostDiagnosis]
    pairs: list[PairDiagnosis]


class Explanation(FrozenModel):
    """An experiment, explained. `fleet` has an entry for each cell that many hosts measured at the same time."""

    format: int = FORMAT
    experiment: str
    cells: list[CellExplanation]
    anomalies: list[Anomaly] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    headline: str
    fleet: list[FleetDiagnosis] = Field(default_factory=list)
