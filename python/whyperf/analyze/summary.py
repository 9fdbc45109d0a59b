"""The result as published: `whyperf run --json` and `whyperf show --json`.

Fields are only ever added. Rates are in bit/s, sizes in bytes, ratios between 0 and 1; null means
not known. Every field is always present.
"""

from whyperf.analyze.fleet.result import Fleet
from whyperf.analyze.spread import FrozenModel, Spread
from whyperf.analyze.transports.result import Transports
from whyperf.analyze.window_result import NeededWindow

#: Cells with more connections have no list of them.
MAX_STREAMS = 16


class EndCpu(FrozenModel):
    """CPU time of one side as a share of wall time x CPUs, pooled over the trials.

    `busy_ratio` is user + system + irq + softirq. `softirq_source` says where softirq time comes
    from, "tracepoints" (then the kinds add up to 1) or "proc_stat"; both values are kept.
    `accounted_ratio` is how much of the wall time the columns of /proc/stat add up to. All but
    `load_threads_ratio` are null when the end's CPUs are not its alone (`exclusive`). `pooled_s` is
    the wall time the ratios were taken over.

    In CPUs, of all hosts of the side: `cpus_count` that they may use; `in_use_cpus`, how many they keep busy, which is
    that of the load's threads alone where the other side shares them; `softirq_on_threads_cpus`, soft interrupts on top
    of these threads, whose time holds them on most kernels. `adapters_count` adapters carried the load;
    `per_adapter_cpus` is `in_use_cpus` divided by it.
    """

    busy_ratio: float | None
    user_ratio: float | None
    system_ratio: float | None
    irq_ratio: float | None
    softirq_ratio: float | None
    steal_ratio: float | None
    idle_ratio: float | None
    accounted_ratio: float | None
    softirq_source: str | None
    softirq_tracepoints_ratio: float | None
    softirq_proc_stat_ratio: float | None
    load_threads_ratio: float | None
    cpus: list[int]
    exclusive: bool
    pooled_s: float
    cpus_count: float | None = None
    in_use_cpus: float | None = None
    softirq_on_threads_cpus: float | None = None
    adapters_count: int | None = None
    per_adapter_cpus: float | None = None


class SharedCpus(FrozenModel):
    """CPUs that both sides share, in CPUs: CPU time over wall time, over all trials together.

    `busy_cpus` is all that the `cpus` did, `not_attributed_cpus` what of it no thread of either load did, and
    `softirq_cpus` the soft interrupts of that: whose packets they process is not recorded. The rest is other programs,
    threads of the kernel and whyperf's own tracing.
    """

    cpus: list[int]
    busy_cpus: float | None
    not_attributed_cpus: float | None
    softirq_cpus: float | None


class Cpu(FrozenModel):
    """CPU time of both sides; null without a trial. `shared` is null where each side has its CPUs alone."""

    sender: EndCpu | None = None
    receiver: EndCpu | None = None
    shared: SharedCpus | None = None


class Cycles(FrozenModel):
    """Cycles per 1024 octets of payload: median over the trials, with its 95 % interval."""

    sender: float | None = None
    receiver: float | None = None
    unit: str | None = None
    sender_low: float | None = None
    sender_high: float | None = None
    receiver_low: float | None = None
    receiver_high: float | None = None


class Announced(FrozenModel):
    """Distribution of the announced receive window, in bytes."""

    min: int
    median: int
    max: int
    samples: int


class Window(FrozenModel):
    """The receive window: asked for, granted, announced.

    `granted_bytes` is the receive buffer as the kernel reports it, twice the request;
    `clamp_bytes` the upper bound of the announced window.
    """

    requested_bytes: int | None = None
    granted_bytes: int | None = None
    clamp_bytes: int | None = None
    announced_bytes: Announced | None = None


class Retransmitted(FrozenModel):
    """Segments sent again in a trial's window, or in a transfer's whole life; `ratio` is their part of all data
    segments. Of more than 10,000 connections only some are sampled, and there is a ratio alone. `unit` is "packets"
    where a library carries a connection over UDP.
    """

    median: float | None = None
    max: int | None = None
    ratio: float | None = None
    unit: str = "segments"


class EndCalls(FrozenModel):
    """Send or receive calls of one side, pooled over the trials."""

    per_kbyte: float | None
    mean_size_bytes: float | None
    short_ratio: float | None
    other_per_kbyte: float | None


class Calls(FrozenModel):
    """Calls of both sides; null without a trial."""

    sender: EndCalls | None = None
    receiver: EndCalls | None = None


class Connections(FrozenModel):
    """The sharing between connections: goodput of single connections over all trials, and the median of
    Jain's index. Null with one connection.
    """

    min_bps: float
    median_bps: float
    max_bps: float
    fairness: float | None


class Stream(FrozenModel):
    """One connection of a cell, medians over the trials. `rtt_ns` is smoothed by the sender, `rtt_ns_min` the smallest
    of all trials; null where the transport has none. `retransmitted_segments` has the unit of the cell's.
    """

    connection: int
    goodput_bps: float
    retransmitted_segments: float | None
    rtt_ns: float | None
    rtt_ns_min: int | None


class Latency(FrozenModel):
    """Latency of the transactions of a cell, its histograms of all trials merged.

    `kind` is "intended" (from the intended start, open loop), "service" (from the start, closed loop), "wire"
    (between the kernel's stamps), "host" (what those leave of "service"), "connect", or "load" and "idle" of the RTT
    probe. A percentile is null where too
    few were counted to see it once.
    """

    kind: str
    count: int
    min_ns: int
    mean_ns: float
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    p99_99_ns: int | None
    p99_999_ns: int | None
    max_ns: int


class RttProbe(FrozenModel):
    """Round trips of the RTT probe (`rtt_probe_ms`) in the windows of a cell's trials: requests sent and not answered;
    round-trip times under load, and where flows come and go those while none was to send.
    """

    sent_count: int
    lost_count: int
    load: Latency | None
    idle: Latency | None


class Rtt(FrozenModel):
    """Round-trip times of a cell's senders under load, as their kernels or libraries see them: `rtt_ns` is the smoothed
    one, the median over samples, connections and trials, and `rtt_ns_min` the lowest of any connection's life.
    """

    rtt_ns: float
    rtt_ns_min: int | None


class EndCost(FrozenModel):
    """Cost of a transaction to an end, median over the trials. `busy_ns` is all that its CPUs did, null where they are
    not its alone; `load_threads_ns` what the load's own threads did.
    """

    busy_ns: float | None
    load_threads_ns: float | None
    cycles: float | None
    calls: float | None


class Cost(FrozenModel):
    """The cost of a transaction to both sides."""

    sender: EndCost | None = None
    receiver: EndCost | None = None
    unit: str | None = None


class NamedTransactions(FrozenModel):
    """The transactions of one group, where a workload has several."""

    group: str
    transaction: str
    per_s: Spread
    latency: Latency | None


class Transactions(FrozenModel):
    """Transactions of a cell, over the trials. `count` and `failed_count` are of all trials' windows together.

    `intended_per_s` is what an open loop was to begin, `begun_per_s` what did; `places_busy_ratio` how much of the time
    its places (connections x outstanding) had a transaction under way, and `begin_wait_ns_mean` how long transactions
    waited from their intended start to their start. All null in a closed loop. `counted_as` is what executions are
    called: transactions, messages, or null for the calls of a stream, whose number says nothing.
    """

    counted_as: str | None
    per_s: Spread
    count: int
    failed_count: int
    intended_per_s: float | None
    begun_per_s: float | None
    places_busy_ratio: float | None
    begin_wait_ns_mean: float | None
    is_open_loop: bool
    latency: Latency | None
    wire: Latency | None
    host: Latency | None
    connect: Latency | None
    connects_per_s: float | None
    cost: Cost
    by_name: list[NamedTransactions]


class Datagrams(FrozenModel):
    """Datagrams of a cell as the receiver counted them, medians over the trials; the counts are of all trials.

    `sent_per_s` is what the sender handed to its kernel. `lost_ratio` is of the numbers that should have arrived.
    """

    received_per_s: Spread
    sent_per_s: float | None
    lost_ratio: float | None
    received_count: int
    lost_count: int
    late_count: int
    duplicate_count: int
    jitter_ns: float | None
    jitter_ns_max: int | None
    kernel_drops_count: int


class CellWarning(FrozenModel):
    """Something to know about a cell."""

    code: str
    text: str


class Advice(FrozenModel):
    """Something to know about the experiment, and what to do about it."""

    code: str
    text: str
    advice: str


class Fact(FrozenModel):
    """Something that is no cause for concern."""

    code: str
    text: str


class Unfinished(FrozenModel):
    """A trial that did not complete."""

    trial: str
    cell: str
    status: str
    reason: str | None


class Hook(FrozenModel):
    """A place in the kernel where evidence is taken, and why it could not be."""

    name: str
    reason: str
    gives: str


class EvidenceEnd(FrozenModel):
    """The level of evidence that an end reached, the lowest of all trials; `reason` says why it is less."""

    level: str
    reason: str | None
    missing: list[Hook]


class Evidence(FrozenModel):
    """The evidence asked of the trials measured for throughput, that which each side reached, and the trials with the
    segment log, those whose log is not complete among them.
    """

    asked: str
    ends: dict[str, EvidenceEnd]
    log_trials: int
    incomplete_logs: list[str]


class Start(FrozenModel):
    """Differences between the starts of the sending ends, measured from their first calls; the worst of the trials.

    `skew_s` is between the first and the last agent, 0 with one; `spread_s` between all connections; `uncertainty_s`
    that of the clocks they are compared by.
    """

    agents: int
    skew_s: float
    spread_s: float
    uncertainty_s: float


class Setup(FrozenModel):
    """The rate at which the near hosts opened a cell's connections before the load, the trial of median duration."""

    connections: int
    seconds: float
    per_s: float


class Cut(FrozenModel):
    """The part cut off a cell's trials as the rest of the warm-up.

    `trials` were cut, the one that lost most between `from_s` and `to_s` after the start of its load, where its rate
    was `goodput_bps`. `whole_window_bps` is the median over all trials of the rate over the whole window.
    """

    trials: int
    from_s: float
    to_s: float
    goodput_bps: float
    whole_window_bps: float


class Provisional(FrozenModel):
    """The rates that a cell's last trial reached until it failed, was interrupted or ended void (`status`); no result.

    `goodput_bps` and `transactions_per_s` are over the `seconds` of the measurement window until then, or `in_warmup`
    over those of the warm-up, where the trial ended before the measurement.
    """

    trial: str
    status: str
    goodput_bps: float
    transactions_per_s: float | None
    seconds: float
    in_warmup: bool = False


class WatchedConnection(FrozenModel):
    """The connection of another program that a cell is about, as the first of the watched `hosts` sees it.

    `local` is that host's end, and `direction` that of most payload there: "send" or "receive". `accepted` says that
    the local end accepted the connection. `is_whole` is false where it was there before it was watched: what it did
    then is not known. Bytes and rates are of the `watched_s` seconds from the first to the last sample; sent ones are
    those that the peer acknowledged. `program` is empty, and `process` null, where it is not known whose it is.
    """

    program: str
    process: int | None
    local: str
    remote: str
    direction: str
    accepted: bool | None
    hosts: list[str]
    on_one_host: bool
    is_whole: bool | None
    is_closed: bool | None
    watched_s: float | None
    sent_bytes: int | None
    received_bytes: int | None
    sent_bps: float | None
    received_bps: float | None

    @property
    def moves_both_ways(self) -> bool:
        """True where payload went in both directions."""
        return bool(self.sent_bytes) and bool(self.received_bytes)


class Mode(FrozenModel):
    """One of several rates of a cell: median and range of the trials or intervals with it, and their share of all."""

    median_bps: float
    low_bps: float
    high_bps: float
    share_ratio: float


class Modes(FrozenModel):
    """The modes of a cell from the lowest: of its trials, and of their intervals over time; empty where there is one.

    The criteria are those of `whyperf.analyze.steady.modes`.
    """

    trials: list[Mode]
    time: list[Mode]


class CellResult(FrozenModel):
    """One cell. `trials` counts those with a goodput, cut ones (`deadline_trials`) among them;
    `unusable_trials` ran without failing but gave none. `provisional` is there only without any goodput. `metric` is
    the metric of its workload: goodput, transactions, datagrams or connections. `streams` is empty with more than 16
    connections. `watched` is there in a watched result only: a connection of another program, which `factors` then
    names as `connection`, and which has one trial. `fleet` is there where many hosts load each other,
    `needed_window` where one request at a time was made over TCP, `modes` where the goodput has several, and `rtt`
    where the sender's kernel or library measures it.
    """

    id: str
    sweep: str
    factors: dict[str, object]
    trials: int
    failed_trials: int
    deadline_trials: int
    unusable_trials: int
    unsteady_trials: int
    goodput_bps: Spread
    cut: Cut | None
    provisional: Provisional | None
    connections: Connections | None
    streams: list[Stream]
    cpu: Cpu
    cycles_per_kbyte: Cycles
    window: Window
    retransmitted_segments: Retransmitted
    data_segments_per_s: float | None
    calls: Calls
    workload: str
    metric: str
    transactions: Transactions | None
    datagrams: Datagrams | None
    start: Start | None
    setup: Setup | None
    transports: Transports | None
    rtt_probe: RttProbe | None
    watched: WatchedConnection | None
    warnings: list[CellWarning]
    fleet: Fleet | None = None
    needed_window: NeededWindow | None = None
    modes: Modes | None = None
    rtt: Rtt | None = None


class Summary(FrozenModel):
    """The result of an experiment, finished or not."""

    experiment: str
    origin: str
    profile: str
    plan_id: str
    testbed: str
    varied: list[str]
    evidence: Evidence | None = None
    cells: list[CellResult]
    unfinished: list[Unfinished]
    warnings: list[Advice]
    facts: list[Fact]

    def transactions_per_s(self) -> dict[str, float | None]:
        """The median of each cell whose metric they are; goodput does not order such cells."""
        return {
            cell.id: cell.transactions.per_s.median
            for cell in self.cells
            if cell.metric == "transactions" and cell.transactions is not None
        }

    def fleets(self) -> dict[str, Fleet]:
        """The result of each cell that many hosts measured at the same time."""
        return {cell.id: cell.fleet for cell in self.cells if cell.fleet is not None}
