"""Types of the messages between controller, agent and model: one for each type of `schemas/`.

Generated from schemas/ by scripts/wire_types.py (`make schemas`); do not edit.

The whole messages are `RequestEnvelope`, `ReplyEnvelope`, `Simulation` and `SimulatedTrial`. `Request…` and `Reply…`
are their variants, by the value of `request` and `reply`. A type stands below the types that it uses; otherwise they
are in alphabetical order. docs/reference/protocol.md explains the messages.
"""

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from annotated_types import Interval, Len
from pydantic import Discriminator
from typing_extensions import TypedDict


class Ability(TypedDict):
    """Something a host allows or does not."""

    can: bool
    lost_without: str
    name: str
    reason: str


class ArrivalsClosed(TypedDict):
    """Closed loop: when the one before has ended."""

    by: Literal["closed"]


Buffer: TypeAlias = Literal["send", "receive"]


BusyShare: TypeAlias = Annotated[list[float], Len(3)]


Count: TypeAlias = Annotated[int, Interval(ge=0, lt=4611686018427387904)]


class DisciplineDropTail(TypedDict):
    """None: what arrives at a full queue is dropped."""

    name: Literal["drop_tail"]


class Endpoints(TypedDict):
    """
    The two ends of a connection, each `address:port`, or `[address]:port` of IPv6, as the watching host has
    them.
    """

    local: str
    remote: str


Evidence: TypeAlias = Literal["user", "counters", "segments"]


Fault: TypeAlias = Literal["usage", "host", "peer", "internal"]


class Hook(TypedDict):
    """A place in the kernel where a probe looks."""

    can: bool
    gives: str
    name: str
    reason: str


IoModel: TypeAlias = Literal["blocking", "epoll", "io_uring"]


KernelTls: TypeAlias = Literal["off", "tx", "both"]


Kind: TypeAlias = Literal["congestion_control", "quic_congestion_control", "transport"]


class LossSpecNone(TypedDict):
    """None."""

    by: Literal["none"]


class NoteBriefConnections(TypedDict):
    """Connections that opened and closed between two looks; which program had them is not known."""

    count: Count
    note: Literal["brief_connections"]
    payload_bytes: Count


class NoteConnectionsBeyondLimit(TypedDict):
    """Connections that satisfied the selection and were not watched one by one, because there were too many."""

    count: Count
    note: Literal["connections_beyond_limit"]


class NoteNoKernelStamps(TypedDict):
    """
    Datagrams arrived without the time stamp that was asked of the kernel; for their jitter counts when
    they were read.
    """

    count: Count
    note: Literal["no_kernel_stamps"]


class NoteNoPmu(TypedDict):
    """CPU cycles could not be counted by the PMU."""

    note: Literal["no_pmu"]
    reason: str


class NoteSamplerLate(TypedDict):
    """The sampler woke this much too late at worst; intervals carry their true times."""

    note: Literal["sampler_late"]
    worst_ns: Count


class NoteSamplesThinned(TypedDict):
    """Of a long watch, samples were left out evenly, so that it has room in memory."""

    note: Literal["samples_thinned"]
    sample_ns: Count


class NoteStrangersDropped(TypedDict):
    """Connections that did not present the token were dropped."""

    count: Count
    note: Literal["strangers_dropped"]


class NoteZeroCopyCopied(TypedDict):
    """
    Sends without copying that the kernel copied after all, as it does wherever the payload stays on
    the host.
    """

    count: Count
    note: Literal["zero_copy_copied"]
    sent_count: Count


class Offloads(TypedDict):
    """Offloads of a device as the kernel reports them."""

    gro: bool
    gso: bool
    rx_checksum: bool
    tso: bool
    tx_checksum: bool


Opening: TypeAlias = Literal["connect", "listen"]


class OutcomeAborted(TypedDict):
    """Aborted by the controller."""

    ended: Literal["aborted"]


class OutcomeComplete(TypedDict):
    """All bytes moved, or all phases over."""

    ended: Literal["complete"]


class OutcomeDeadline(TypedDict):
    """Cut at the deadline; what was moved until then is recorded."""

    ended: Literal["deadline"]


class OutcomeFailed(TypedDict):
    """A connection failed."""

    ended: Literal["failed"]
    reason: str


Outcome: TypeAlias = Annotated[
    OutcomeComplete | OutcomeDeadline | OutcomeAborted | OutcomeFailed, Discriminator("ended")
]


PathImplementation: TypeAlias = Literal["auto", "router", "netem"]


class Privileges(TypedDict):
    """
    Privileges that the agent has on its host or could get. Capabilities are named as in capabilities(7), of those that
    whyperf uses.
    """

    binary: str
    bounding: list[str]
    effective: list[str]
    is_binary_safe: bool
    is_nosuid: bool
    no_new_privileges: bool


ProbeTransport: TypeAlias = Literal["udp", "icmp"]


class ProgramsLend(TypedDict):
    """The end loads its own with room for the other side, and says how to find it."""

    by: Literal["lend"]


class ProgramsOwn(TypedDict):
    """The end loads its own, for itself."""

    by: Literal["own"]


class QueueLimitBandwidthDelayProduct(TypedDict):
    """The rate of the direction times the delays of both directions."""

    by: Literal["bandwidth_delay_product"]


ReadWait: TypeAlias = Literal["poll", "block"]


class RepeatTrial(TypedDict):
    """Through the phases of the trial, or until the trial's bytes have moved."""

    by: Literal["trial"]


class ReplyAlive(TypedDict):
    """Sent when nothing else was sent for 0.5 s. Answers no request: its identifier is 0."""

    reply: Literal["alive"]


class ReplyClock(TypedDict):
    """To [`Request::Clock`]: both clocks read together."""

    mono_ns: Count
    realtime_ns: Count
    reply: Literal["clock"]


class ReplyDone(TypedDict):
    """Done; there is no result."""

    reply: Literal["done"]


class ReplyError(TypedDict):
    """The request failed; the agent keeps running."""

    fault: Fault
    reply: Literal["error"]
    text: str


class ReplyGoodbye(TypedDict):
    """To [`Request::Goodbye`], when everything is undone. Last message on a pipe."""

    frames_count: Count
    reply: Literal["goodbye"]


class ReplyOpening(TypedDict):
    """To [`Request::DescribeOpening`]."""

    connections_count: Count
    problem: str | None
    reply: Literal["opening"]
    strangers_count: Count


class ReplyPathCarried(TypedDict):
    """To [`Request::EndPath`]."""

    budget_ns: Count
    cpu_ns: Count
    device_dropped_packets: Count
    has_precedence: bool
    late_packets: Count | None
    lateness_ns_max: Count | None
    refused_frames: Count
    released_packets: Count
    reply: Literal["path_carried"]
    socket_dropped_frames: Count
    unaudited: list[str]
    unstamped_frames: Count
    wall_ns: Count
    yielded_count: Count


class ReplyTable(TypedDict):
    """A table follows as frames of kind table, `bytes` in all."""

    bytes: Count
    name: str
    reply: Literal["table"]


class RequestAbort(TypedDict):
    """
    End the trial now and forget it. Answer: [`Reply::Done`]. A running trial answers its own
    request with [`Reply::Finished`] first.
    """

    request: Literal["abort"]


class RequestClock(TypedDict):
    """Clock exchange. Answer: [`Reply::Clock`]."""

    request: Literal["clock"]


class RequestDescribeHost(TypedDict):
    """Answer: [`Reply::Host`]."""

    request: Literal["describe_host"]
    with_hooks: NotRequired[bool]


class RequestDescribeOpening(TypedDict):
    """
    The number of connections that the listening side has accepted, after the connecting side failed. Answer:
    [`Reply::Opening`].
    """

    request: Literal["describe_opening"]


class RequestEndPath(TypedDict):
    """
    Remove the path: from now on packets pass without delay. Answers: [`Reply::PathCarried`], a [`Reply::Table`] and its
    chunks for every table of the path, [`Reply::Done`].
    """

    request: Literal["end_path"]


class RequestEndWatch(TypedDict):
    """End the watch now. Answer: [`Reply::Done`]. The watch answers its own request first, as when its time is up."""

    request: Literal["end_watch"]


class RequestHello(TypedDict):
    """First message on a pipe. Answer: [`Reply::Hello`]."""

    request: Literal["hello"]
    version: str


class RequestListTransports(TypedDict):
    """
    The transports and congestion controls of this host. It takes about a second, because loading ours
    is tried.
    Answer: [`Reply::Transports`].
    """

    request: Literal["list_transports"]


class RequestRemoveTestbed(TypedDict):
    """Answer: [`Reply::Done`]."""

    request: Literal["remove_testbed"]


class ResolvedValue(TypedDict):
    """A rule or a number, and where it comes from."""

    source: str
    value: Any


class ResolvedHost(TypedDict):
    """All rules and numbers of a host, those of the trial's factors among them."""

    host: str
    system: str
    values: dict[str, ResolvedValue]


Role: TypeAlias = Literal["sender", "receiver"]


SampledEvent: TypeAlias = Literal["cycles", "cpu_clock"]


SendCall: TypeAlias = Literal["send", "sendfile", "splice"]


SimulatedEnd: TypeAlias = Literal["complete", "deadline", "stuck", "refused"]


Source: TypeAlias = Literal["built_in", "module", "whyperf"]


StageLimitKind: TypeAlias = Literal[
    "no_napi", "threaded_napi", "busy_polling", "steering", "xdp", "stacked_device", "cpu_clocks", "unknown"
]


class StageLimit(TypedDict):
    """One thing that keeps stages of a trial from being shown on one host."""

    device: str | None
    kind: StageLimitKind
    value: str


State: TypeAlias = Literal["loaded", "loadable", "refused"]


class Offer(TypedDict):
    """A congestion control or a transport of a host."""

    kind: Kind
    name: str
    reason: str
    registered_as: str
    source: Source
    state: State


class ReplyTransports(TypedDict):
    """To [`Request::ListTransports`]."""

    offers: list[Offer]
    reply: Literal["transports"]


class StopWorkload(TypedDict):
    """
    The load ends when the workload has ended, all of whose transactions have a count or a time of
    their own (`Repeat::Trial` in none). All of it is the measurement.
    """

    by: Literal["workload"]


TlsCipher: TypeAlias = Literal["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"]


TlsVersion: TypeAlias = Literal["1.2", "1.3"]


Transport: TypeAlias = Literal["tcp", "mptcp", "udp", "unix", "udt", "quic", "srt", "tls", "sctp"]


U16: TypeAlias = Annotated[int, Interval(ge=0, lt=65536)]


class RequestConnect(TypedDict):
    """
    Open the trial's connections. Answer: [`Reply::Connected`] when the listening side has
    accepted all of them.
    """

    address: str
    echo_port: NotRequired[U16 | None]
    port: U16
    request: Literal["connect"]


U32: TypeAlias = Annotated[int, Interval(ge=0, lt=4294967296)]


class CpuCount(TypedDict):
    """A count of one CPU."""

    count: Count
    cpu: U32


Cpus: TypeAlias = Annotated[list[U32], Len(1)]


class Device(TypedDict):
    """A network device."""

    driver: str | None
    driver_version: NotRequired[str | None]
    firmware_version: NotRequired[str | None]
    mtu_bytes: U32
    name: str
    offloads: Offloads
    rx_queues_count: U32
    speed_mbps: U32 | None
    tx_queues_count: U32


class HostFacts(TypedDict):
    """One host."""

    abilities: list[Ability]
    agent_version: str
    boot_id: str
    clock_source: str
    congestion_controls: list[str]
    cpu_model: str
    cpus: Cpus
    devices: list[Device]
    distribution: str
    hooks: list[Hook]
    hostname: str
    kernel: str
    machine: str
    memory_bytes: Count
    privileges: NotRequired[Privileges | None]
    stage_hooks: list[Hook]
    sysctls: dict[str, str]
    tsc_hz: Count | None


class Instead(TypedDict):
    """Sockets of processes that have no TCP connection, which are not watched."""

    listening_sockets_count: U32
    processes_count: U32
    udp_sockets_count: U32
    unix_sockets_count: U32


class Loan(TypedDict):
    """The way that an end finds what the other has loaded into the kernel of the machine they share."""

    calls_map: U32 | None
    connections_map: U32
    control_map: U32
    cpus_map: U32
    level: Evidence
    load_threads_map: U32
    logs_map: U32 | None
    missing: list[Hook]
    programs: list[U32]
    tags: list[str]


class LossSpecGilbertElliott(TypedDict):
    """
    In bursts: a chain of two states (Gilbert 1960, Elliott 1963), a step a packet. The state
    decides over the packet, then changes. Share lost: (p (1-h) + r (1-k)) / (p + r).
    """

    bad_loss_per_billion: U32
    bad_to_good_per_billion: U32
    by: Literal["gilbert_elliott"]
    good_loss_per_billion: U32
    good_to_bad_per_billion: U32


class LossSpecRandom(TypedDict):
    """Every packet alike."""

    by: Literal["random"]
    probability_per_billion: U32


class NapiThreads(TypedDict):
    """On which CPUs the threads run that poll the devices."""

    far_cpus: list[U32]
    near_cpus: list[U32]


class NoteBufferCut(TypedDict):
    """The kernel granted less buffer than asked for."""

    buffer: Buffer
    limit_bytes: U32
    note: Literal["buffer_cut"]
    requested_bytes: U32


class NoteBusyProcess(TypedDict):
    """Another process of this host used at least 10 % of a CPU while the trial ran, and none used more."""

    cpu_ns: Count
    name: str
    note: Literal["busy_process"]
    pid: U32
    wall_ns: Count


Note: TypeAlias = Annotated[
    NoteBufferCut
    | NoteStrangersDropped
    | NoteSamplerLate
    | NoteZeroCopyCopied
    | NoteNoKernelStamps
    | NoteBusyProcess
    | NoteSamplesThinned
    | NoteConnectionsBeyondLimit
    | NoteBriefConnections
    | NoteNoPmu,
    Discriminator("note"),
]


class OperationAccept(TypedDict):
    """Passive open by the near side: the far side connects."""

    connection: U32
    operation: Literal["accept"]


class OperationConnect(TypedDict):
    """Active open by the near side."""

    connection: U32
    operation: Literal["connect"]


class OperationDisconnect(TypedDict):
    """Closes."""

    connection: U32
    operation: Literal["disconnect"]


class ProfileReport(TypedDict):
    """
    The worth of the stack samples of one end of a trial. The time that they stand for is that of the phase that is
    measured.
    """

    cpus: list[U32]
    end_mono_ns: Count
    event: SampledEvent | None
    frequency_hz: U32
    keeps_interrupts_apart: bool
    lost_samples_count: Count
    on_cpu_ns: Count | None
    own_ns: Count
    reason: str | None
    samples_count: Count
    start_mono_ns: Count
    unnamed: str | None
    unnamed_programs: str | None


class ProgramsBorrow(TypedDict):
    """The end uses what the other has lent; where it cannot, it loads its own."""

    by: Literal["borrow"]
    calls_map: NotRequired[U32 | None]
    connections_map: U32
    control_map: U32
    cpus_map: U32
    level: Evidence
    load_threads_map: U32
    logs_map: NotRequired[U32 | None]
    missing: list[Hook]
    programs: list[U32]
    tags: list[str]


Programs: TypeAlias = Annotated[ProgramsOwn | ProgramsLend | ProgramsBorrow, Discriminator("by")]


class ReplyConnected(TypedDict):
    """To [`Request::Connect`]."""

    connections_count: U32
    reply: Literal["connected"]


class ReplyHello(TypedDict):
    """To [`Request::Hello`]."""

    pid: U32
    reply: Literal["hello"]
    version: str


class ReplyHost(HostFacts):
    """To [`Request::DescribeHost`]."""

    reply: Literal["host"]


class ReplyProgress(TypedDict):
    """While a trial runs."""

    announced_window_bytes: U32
    cwnd_segments: U32
    end_mono_ns: Count
    interval: U32
    load_cpu_ns: Count
    payload_bytes: Count
    phase: str
    reply: Literal["progress"]
    retransmitted_segments: Count
    srtt_ns: Count
    start_mono_ns: Count


class SamplingChange(TypedDict):
    """The share of blocks that is sampled from a moment on."""

    mono_ns: Count
    one_in_count: U32


class Selection(TypedDict):
    """
    Which connections are watched: those that satisfy every list that is not empty, by any of its entries. Where all
    lists are empty, the busiest connections of the host.
    """

    addresses: NotRequired[list[str]]
    connections: NotRequired[list[Endpoints]]
    control_groups: NotRequired[list[str]]
    excluded: NotRequired[list[Endpoints]]
    ports: NotRequired[list[U16]]
    processes: NotRequired[list[U32]]
    programs: NotRequired[list[str]]


class SimulatedHost(TypedDict):
    """A host of the model."""

    ensemble_set: NotRequired[U32 | None]
    host: NotRequired[str | None]
    profile: NotRequired[str | None]
    set: NotRequired[dict[str, Any]]


Hosts: TypeAlias = Annotated[list[SimulatedHost], Len(2)]


class StagesLoan(TypedDict):
    """The way that an end finds the programs for stage times that the other has loaded."""

    control_map: U32
    cpus_map: U32
    empty_pair_ns: U32
    gaps_map: U32
    logs_map: U32
    missing: list[Hook]
    tags: list[str]


class ReplyPrepared(TypedDict):
    """To [`Request::Prepare`]."""

    echo_port: U16 | None
    loan: Loan | None
    port: U16 | None
    reply: Literal["prepared"]
    stages_loan: StagesLoan | None


class StagesReport(TypedDict):
    """The worth of the stage times of one end of a trial."""

    block_bytes: U32
    broken_off: str | None
    empty_pair_ns: Count
    limits: list[StageLimit]
    lost_rows_count: list[CpuCount]
    missing: list[Hook]
    overhead_ppm: U32
    own_ns: Count
    reason: str | None
    rows_count: Count
    runs_count: Count
    sampling: list[SamplingChange]


class EvidenceReport(TypedDict):
    """The worth of the evidence of one end of a trial."""

    asked: Evidence
    broken_off: str | None
    got: Evidence
    logged_calls_count: Count
    logged_events_count: Count
    lost_calls_count: list[CpuCount]
    lost_events_count: list[CpuCount]
    missed_runs_count: Count
    missing: list[Hook]
    profile: ProfileReport | None
    reason: str | None
    stages: StagesReport | None
    unseen_segments_count: Count


class ReplyFinished(TypedDict):
    """The load of a trial ended."""

    evidence: EvidenceReport
    notes: list[Note]
    outcome: Outcome
    payload_bytes: Count
    reply: Literal["finished"]


class StagesSpec(TypedDict):
    """
    Which segments of a trial have stage times. Both sides are asked for the same, so that they sample the same
    segments.
    """

    block_bytes: U32
    one_in_count: U32
    overhead_ppm: U32
    window_ms: U32


class TestbedMiddle(TypedDict):
    """The part that lies between the ends, read back from the kernel."""

    cpu: U32 | None
    devices: list[str]
    implementation: str
    netns: str


U64: TypeAlias = Annotated[int, Interval(ge=0, lt=18446744073709551616)]


class ArrivalsConstant(TypedDict):
    """Open loop at equal distances."""

    by: Literal["constant"]
    per_kilosecond: U64


class ArrivalsPoisson(TypedDict):
    """Open loop with exponential distances (a Poisson process)."""

    by: Literal["poisson"]
    per_kilosecond: U64


class ArrivalsTrace(TypedDict):
    """Open loop at given instants, from the beginning on; over when they are used up."""

    by: Literal["trace"]
    intended_ns: list[U64]


Arrivals: TypeAlias = Annotated[
    ArrivalsClosed | ArrivalsConstant | ArrivalsPoisson | ArrivalsTrace, Discriminator("by")
]


class CrossTraffic(TypedDict):
    """
    Virtual UDP of a rate that is constant or swings: `rate_bps + amplitude_bps * sin(2 pi t / period_ns)`
    at `t` after the path began.
    """

    amplitude_bps: U64
    packet_bytes: U32
    period_ns: U64
    rate_bps: U64


class DatagramStream(TypedDict):
    """A stream of numbered datagrams, sent at a rate and counted where they arrive."""

    batch_count: U32
    datagram_bytes: U32
    is_merged: bool
    rate_bps: U64


class DisciplineCodel(TypedDict):
    """Controlled delay (RFC 8289)."""

    interval_ns: U64
    name: Literal["codel"]
    target_ns: U64


class FileToSend(TypedDict):
    """A file that is sent."""

    length_bytes: U64
    path: str


class LossSpecScripted(TypedDict):
    """These and no others."""

    by: Literal["scripted"]
    segments: list[U64]


LossSpec: TypeAlias = Annotated[
    LossSpecNone | LossSpecRandom | LossSpecGilbertElliott | LossSpecScripted, Discriminator("by")
]


class OperationSendFile(TypedDict):
    """Sends files from the page cache: sendfile(2)."""

    call_bytes: NotRequired[U32 | None]
    connection: U32
    files: list[FileToSend]
    operation: Literal["send_file"]


class OperationThink(TypedDict):
    """Does nothing for a time."""

    duration_ns: U64
    is_busy: bool
    is_mirrored: bool
    operation: Literal["think"]


class QueueLimitBytes(TypedDict):
    """A sum of packet sizes."""

    by: Literal["bytes"]
    bytes: U64


class QueueLimitPackets(TypedDict):
    """A number of packets, whatever their size."""

    by: Literal["packets"]
    packets: U64


QueueLimit: TypeAlias = Annotated[
    QueueLimitBandwidthDelayProduct | QueueLimitBytes | QueueLimitPackets, Discriminator("by")
]


class RepeatDuration(TypedDict):
    """For a time of its own."""

    by: Literal["duration"]
    duration_ns: U64


class RepeatIterations(TypedDict):
    """This often by every user; 0: never."""

    by: Literal["iterations"]
    count: U64


Repeat: TypeAlias = Annotated[RepeatIterations | RepeatDuration | RepeatTrial, Discriminator("by")]


class RequestBeginPath(TypedDict):
    """At this time, enable the losses of the path, and start counting. Answer: [`Reply::Done`]."""

    at_mono_ns: U64
    request: Literal["begin_path"]


class RequestGoodbye(TypedDict):
    """Last message on a pipe: end everything, and undo what was changed on the host. Answer: [`Reply::Goodbye`]."""

    frames_count: U64
    request: Literal["goodbye"]


class RequestStart(TypedDict):
    """
    Start the load. Answers: [`Reply::Progress`] after every interval, [`Reply::Finished`],
    a [`Reply::Table`] and its chunks for every table, [`Reply::Done`].
    """

    at_mono_ns: U64
    request: Literal["start"]


class RequestWatch(TypedDict):
    """
    Watch connections of other programs. Answers: [`Reply::Watched`] at once and after every interval,
    [`Reply::Finished`], a [`Reply::Table`] and its chunks for every table, [`Reply::Done`].
    """

    connections_most: U32
    duration_ns: NotRequired[U64 | None]
    ends_with_process: NotRequired[U32 | None]
    evidence: Evidence
    host: str
    profile_hz: NotRequired[U32 | None]
    report_ns: U64
    request: Literal["watch"]
    sample_ns: U64
    selection: Selection


class SimulatedEndSystem(TypedDict):
    """The counts of an end system."""

    busy_share: BusyShare
    data_segments: U64
    logged_events_count: U64
    lost_segments: U64
    pure_acks: U64
    read_bytes: U64
    read_calls_count: U64
    retransmitted_segments: U64
    stages_count: U64
    timeouts_count: U64
    wake_ups_count: U64
    write_calls_count: U64
    written_bytes: U64


class SimulatedTrial(TypedDict):
    """The answer to one line."""

    duration_ns: U64
    end: SimulatedEnd
    ends: list[SimulatedEndSystem]
    goodput_bps: float
    hosts: NotRequired[list[ResolvedHost]]
    payload_bytes: U64
    reason: str | None
    transactions_count: U64
    trial: str


class SizeFixed(TypedDict):
    """Always the same."""

    by: Literal["fixed"]
    bytes: U64


class SizeSequence(TypedDict):
    """One after another, from the beginning again."""

    by: Literal["sequence"]
    bytes: list[U64]


class SizeUniform(TypedDict):
    """Every value as likely."""

    by: Literal["uniform"]
    high_bytes: U64
    low_bytes: U64


class StopBytes(TypedDict):
    """Each connection carries this much payload. The whole transfer is the measurement."""

    by: Literal["bytes"]
    payload_bytes: U64


class StopDuration(TypedDict):
    """The load runs through three phases of fixed length."""

    by: Literal["duration"]
    cooldown_ns: U64
    measure_ns: U64
    warmup_ns: U64


Stop: TypeAlias = Annotated[StopBytes | StopDuration | StopWorkload, Discriminator("by")]


U8: TypeAlias = Annotated[int, Interval(ge=0, lt=256)]


class DisciplineRed(TypedDict):
    """
    Random early detection (Floyd, Jacobson, "Random early detection gateways for congestion
    avoidance", IEEE/ACM Transactions on Networking 1(4), 1993), its average taken in bytes.
    """

    is_gentle: bool
    max_bytes: U64
    min_bytes: U64
    name: Literal["red"]
    probability_per_billion: U32
    weight_log: U8


Discipline: TypeAlias = Annotated[DisciplineDropTail | DisciplineCodel | DisciplineRed, Discriminator("name")]


class QueueSpec(TypedDict):
    """The queue in front of a bottleneck."""

    discipline: Discipline
    ecn: bool
    limit: QueueLimit


class DirectionSpec(TypedDict):
    """The treatment of packets by one direction. The default lets everything pass at once."""

    ack_thinning: U32
    cross_traffic: list[CrossTraffic]
    delay_ns: U64
    duplicate_per_billion: U32
    jitter_ns: U64
    loss: LossSpec
    queue: QueueSpec
    rate_bps: NotRequired[U64 | None]
    reorder_per_billion: U32


class PathSpec(TypedDict):
    """The path of one trial."""

    backward: DirectionSpec
    forward: DirectionSpec
    implementation: PathImplementation
    interval_ns: U64
    seed: U64


class RequestCarryPath(TypedDict):
    """Set up the emulated path, still without its losses, so that connections open. Answer: [`Reply::Done`]."""

    budget_ns: U64
    path: PathSpec
    request: Literal["carry_path"]


class ScheduledFlow(TypedDict):
    """
    Connections that begin to carry payload together and end together. All of them are open before the trial's start, so
    that setting them up is no part of what is measured.
    """

    congestion_control: NotRequired[str | None]
    connections_count: U32
    dscp: NotRequired[U8 | None]
    role: Role
    start_ns: U64
    stop_ns: U64
    transport: NotRequired[Transport | None]


class SocketSpec(TypedDict):
    """Options of the data sockets, on hosts and on the model. `None` and `false` leave the host's default."""

    busy_poll_us: NotRequired[U32 | None]
    congestion_control: NotRequired[str | None]
    cork: NotRequired[bool]
    dscp: NotRequired[U8 | None]
    kernel_timestamps: NotRequired[bool]
    ktls: NotRequired[KernelTls]
    mss_bytes: NotRequired[U32 | None]
    no_delay: NotRequired[bool]
    pacing_rate_bytes_per_second: NotRequired[U64 | None]
    quick_ack: NotRequired[bool]
    receive_buffer_bytes: NotRequired[U32 | None]
    sctp_streams: NotRequired[U16 | None]
    send_buffer_bytes: NotRequired[U32 | None]
    send_call: NotRequired[SendCall]
    source_address: NotRequired[str | None]
    tls_cipher: NotRequired[TlsCipher | None]
    tls_record_bytes: NotRequired[U32 | None]
    tls_version: NotRequired[TlsVersion | None]
    truncate: NotRequired[bool]
    window_bytes: NotRequired[U32 | None]
    zero_copy: NotRequired[bool]


class TcpQueueing(TypedDict):
    """Kernel parameters that decide how much TCP hands down at once. Each network namespace has its own."""

    autocorking: NotRequired[bool | None]
    limit_output_bytes: NotRequired[U32 | None]
    tso_win_divisor: NotRequired[U8 | None]


class RequestBuildTestbed(TypedDict):
    """
    Build the testbed; it stands until the pipe closes or [`Request::RemoveTestbed`].
    Answer: [`Reply::Testbed`].
    """

    far_rps_cpus: list[U32]
    gro: bool
    gso: bool
    mtu_bytes: U32
    napi_threads: NotRequired[NapiThreads | None]
    near_rps_cpus: list[U32]
    path: NotRequired[PathSpec | None]
    path_cpu: NotRequired[U32 | None]
    request: Literal["build_testbed"]
    tcp: NotRequired[TcpQueueing]
    tso: bool


class TestbedEnd(TypedDict):
    """One end of the testbed, everything read back from the kernel after it was set."""

    device: str
    gso_max_segments: U32
    host: str
    ipv4: str
    ipv6: str
    mtu_bytes: U32
    napi_thread_cpus: list[U32] | None
    netns: str
    offloads: Offloads
    rps_cpus: list[str]
    tcp_autocorking: bool | None
    tcp_limit_output_bytes: U32 | None
    tcp_tso_win_divisor: U8 | None


class Testbed(TypedDict):
    """The testbed as it stands."""

    far: TestbedEnd
    middle: TestbedMiddle | None
    near: TestbedEnd


class ReplyTestbed(Testbed):
    """To [`Request::BuildTestbed`]."""

    reply: Literal["testbed"]


class WatchedConnection(TypedDict):
    """A watched connection at an instant: totals since it opened, and its present state."""

    acked_bytes: Count
    busy_ns: Count
    connection: U32
    cwnd_segments: U32
    data_segments_out: U32
    endpoints: Endpoints
    is_whole: bool
    mss_bytes: U32
    own_window_bytes: U32 | None
    peer_window_bytes: U32 | None
    process: U32 | None
    program: str
    receive_queue_bytes: U32
    received_bytes: Count
    retransmitted_segments: U32
    rtt_ns: Count
    rwnd_limited_ns: Count
    send_buffer_limited_ns: Count
    send_queue_bytes: U32
    state: U8
    unsent_bytes: U32


class ReplyWatched(TypedDict):
    """While connections are watched."""

    beyond_limit_count: Count
    connections: list[WatchedConnection]
    instead: Instead | None
    level: Evidence
    look_ns: Count
    mono_ns: Count
    others_count: Count
    reason: str | None
    reply: Literal["watched"]
    sample_ns: Count
    unknown_owner_count: Count


Reply: TypeAlias = Annotated[
    ReplyHello
    | ReplyClock
    | ReplyHost
    | ReplyTransports
    | ReplyTestbed
    | ReplyPathCarried
    | ReplyPrepared
    | ReplyConnected
    | ReplyOpening
    | ReplyProgress
    | ReplyWatched
    | ReplyFinished
    | ReplyTable
    | ReplyAlive
    | ReplyGoodbye
    | ReplyDone
    | ReplyError,
    Discriminator("reply"),
]


class ReplyEnvelope(TypedDict):
    """From controller to agent."""

    body: Reply
    id: Count


class WeightedSize(TypedDict):
    """A value of a distribution."""

    bytes: U64
    weight: U32


class SizeWeighted(TypedDict):
    """Drawn by weight."""

    by: Literal["weighted"]
    values: list[WeightedSize]


Size: TypeAlias = Annotated[SizeFixed | SizeUniform | SizeWeighted | SizeSequence, Discriminator("by")]


class OperationRead(TypedDict):
    """Receives until `size` bytes have come; a datagram where the transport has datagrams."""

    call_bytes: NotRequired[U32 | None]
    connection: U32
    operation: Literal["read"]
    size: Size
    timeout_ns: NotRequired[U64 | None]


class OperationWrite(TypedDict):
    """Sends until `size` bytes are taken; a datagram where the transport has datagrams."""

    call_bytes: NotRequired[U32 | None]
    connection: U32
    operation: Literal["write"]
    size: Size


Operation: TypeAlias = Annotated[
    OperationConnect
    | OperationAccept
    | OperationWrite
    | OperationRead
    | OperationSendFile
    | OperationThink
    | OperationDisconnect,
    Discriminator("operation"),
]


class Step(TypedDict):
    """An operation, perhaps several times."""

    can_fail: bool
    count: U32
    operation: Operation


class Transaction(TypedDict):
    """A list of operations and how often it is executed."""

    arrivals: Arrivals
    name: str
    outstanding_count: U32
    repeat: Repeat
    steps: list[Step]


class Group(TypedDict):
    """Virtual users that do the same."""

    is_connected: bool
    name: str
    strands_count: U32
    transactions: list[Transaction]


class Workload(TypedDict):
    """The work of both sides in one trial."""

    groups: list[Group]
    name: str
    seed: U64


class RequestPrepare(TypedDict):
    """Get ready for a trial: check the options, listen. Answer: [`Reply::Prepared`]."""

    connections_count: U32
    datagrams: NotRequired[DatagramStream | None]
    deadline_ns: U64
    evidence: NotRequired[Evidence]
    host: str
    interval_ns: U64
    io_model: NotRequired[IoModel]
    listen_address: NotRequired[str | None]
    listen_port: U16
    opening: Opening
    own_cpus: list[U32]
    pin_cpus: list[U32]
    profile_hz: NotRequired[U32 | None]
    programs: NotRequired[Programs]
    read_size_bytes: U32
    read_wait: ReadWait
    reply_size_bytes: NotRequired[U32]
    request: Literal["prepare"]
    role: Role
    round_trip_probe_by: NotRequired[ProbeTransport]
    round_trip_probe_ns: NotRequired[U64 | None]
    schedule: NotRequired[list[ScheduledFlow]]
    socket: SocketSpec
    stages: NotRequired[StagesSpec | None]
    stages_loan: NotRequired[StagesLoan | None]
    stop: Stop
    threads_count: NotRequired[U32]
    token: str
    transport: NotRequired[Transport]
    trial: str
    workload: NotRequired[Workload | None]
    write_rate_bps: NotRequired[U64]
    write_size_bytes: U32


Request: TypeAlias = Annotated[
    RequestHello
    | RequestClock
    | RequestDescribeHost
    | RequestListTransports
    | RequestBuildTestbed
    | RequestRemoveTestbed
    | RequestCarryPath
    | RequestBeginPath
    | RequestEndPath
    | RequestPrepare
    | RequestConnect
    | RequestDescribeOpening
    | RequestStart
    | RequestAbort
    | RequestWatch
    | RequestEndWatch
    | RequestGoodbye,
    Discriminator("request"),
]


class RequestEnvelope(TypedDict):
    """From controller to agent."""

    body: Request
    id: U64


class Simulation(TypedDict):
    """One trial on the model. The same line has the same answer."""

    adapters_count: NotRequired[U16]
    bus_bytes_per_second: NotRequired[U64 | None]
    connections_count: NotRequired[U32]
    deadline_ns: NotRequired[U64 | None]
    delay_ns: NotRequired[U64]
    evidence: NotRequired[Evidence]
    has_corking: NotRequired[bool | None]
    has_merging: NotRequired[bool | None]
    has_segmentation: NotRequired[bool | None]
    has_stages: NotRequired[bool]
    hosts: Hosts
    interval_ns: NotRequired[U64]
    is_half_duplex: NotRequired[bool]
    link: NotRequired[str | None]
    mtu_bytes: NotRequired[U32 | None]
    near_role: NotRequired[Role]
    path: NotRequired[PathSpec | None]
    read_size_bytes: NotRequired[U32]
    seed: NotRequired[U64]
    socket: NotRequired[SocketSpec]
    stop: Stop
    trial: NotRequired[str]
    workload: NotRequired[Workload | None]
    write_size_bytes: NotRequired[U32]
