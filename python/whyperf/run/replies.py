"""What an agent may answer (Reply in crates/schema/src/message.rs), checked before anything is done with it.

An agent may run on a host that somebody else controls. What it says goes into the record and is computed with, so a
field that is missing, unknown or out of range is refused here.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from whyperf.run.errors import RunError

Message = dict[str, Any]

MAX_REPLY_BYTES: Final = 1 << 20
"""Longest reply. The longest that an agent of ours sends describes a host, in about 100 bytes a CPU and hook."""

#: Sums and differences of two of either fit into the 64 bits with a sign that tables are computed in.
Count = Annotated[int, Field(ge=0, lt=2**62)]
Instant = Count
Small = Annotated[int, Field(ge=0, lt=2**32)]
Port = Annotated[int, Field(ge=0, lt=2**16)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Offloads(_Part):
    tso: bool
    gso: bool
    gro: bool
    tx_checksum: bool
    rx_checksum: bool


class _Device(_Part):
    name: str
    driver: str | None
    mtu_bytes: Small
    speed_mbps: Small | None
    offloads: _Offloads
    rx_queues_count: Small
    tx_queues_count: Small


class _Ability(_Part):
    name: str
    can: bool
    reason: str
    lost_without: str


class _Hook(_Part):
    name: str
    can: bool
    reason: str
    gives: str


class _Offer(_Part):
    kind: Literal["congestion_control", "quic_congestion_control", "transport"]
    name: str
    registered_as: str
    source: Literal["built_in", "module", "whyperf"]
    state: Literal["loaded", "loadable", "refused"]
    reason: str


class _TestbedEnd(_Part):
    host: str
    netns: str
    device: str
    ipv4: str
    ipv6: str
    mtu_bytes: Small
    offloads: _Offloads
    gso_max_segments: Small
    rps_cpus: list[str]


class _TestbedMiddle(_Part):
    implementation: str
    netns: str
    devices: list[str]
    cpu: Small | None


_Level = Literal["user", "counters", "segments"]


class _Loan(_Part):
    level: _Level
    control_map: Small
    connections_map: Small
    cpus_map: Small
    logs_map: Small | None
    calls_map: Small | None
    programs: list[Small]
    missing: list[_Hook]


class _CpuCount(_Part):
    cpu: Small
    count: Count


class _EvidenceReport(_Part):
    asked: _Level
    got: _Level
    reason: str | None
    missing: list[_Hook]
    logged_events_count: Count
    lost_events_count: list[_CpuCount]
    logged_calls_count: Count = 0
    lost_calls_count: list[_CpuCount] = []
    missed_runs_count: Count
    unseen_segments_count: Count = 0
    broken_off: str | None


class _Ended(_Part):
    ended: Literal["complete", "deadline", "aborted"]


class _Failed(_Part):
    ended: Literal["failed"]
    reason: str


class _BufferCut(_Part):
    note: Literal["buffer_cut"]
    buffer: Literal["send", "receive"]
    requested_bytes: Small
    limit_bytes: Small


class _StrangersDropped(_Part):
    note: Literal["strangers_dropped"]
    count: Count


class _SamplerLate(_Part):
    note: Literal["sampler_late"]
    worst_ns: Count


class _ZeroCopyCopied(_Part):
    note: Literal["zero_copy_copied"]
    count: Count
    sent_count: Count


class _NoKernelStamps(_Part):
    note: Literal["no_kernel_stamps"]
    count: Count


class _NoPmu(_Part):
    note: Literal["no_pmu"]
    reason: str


class _BusyProcess(_Part):
    note: Literal["busy_process"]
    name: str
    pid: Small
    cpu_ns: Count
    wall_ns: Count


_Note = Annotated[
    _BufferCut | _StrangersDropped | _SamplerLate | _ZeroCopyCopied | _NoKernelStamps | _NoPmu | _BusyProcess,
    Field(discriminator="note"),
]


class _Hello(_Part):
    reply: Literal["hello"]
    version: str
    pid: Small


class _Clock(_Part):
    reply: Literal["clock"]
    mono_ns: Instant
    realtime_ns: Instant


class _Host(_Part):
    reply: Literal["host"]
    hostname: str
    boot_id: str
    agent_version: str
    kernel: str
    machine: str
    distribution: str
    cpu_model: str
    cpus: Annotated[list[Small], Field(min_length=1)]
    memory_bytes: Count
    clock_source: str
    tsc_hz: Count | None
    congestion_controls: list[str]
    sysctls: dict[str, str]
    devices: list[_Device]
    abilities: list[_Ability]
    hooks: list[_Hook]


class _Transports(_Part):
    reply: Literal["transports"]
    offers: list[_Offer]


class _Testbed(_Part):
    reply: Literal["testbed"]
    near: _TestbedEnd
    far: _TestbedEnd
    middle: _TestbedMiddle | None = None


class _PathCarried(_Part):
    reply: Literal["path_carried"]
    released_packets: Count
    late_packets: Count | None
    budget_ns: Count
    lateness_ns_max: Count | None
    socket_dropped_frames: Count
    device_dropped_packets: Count
    refused_frames: Count
    unstamped_frames: Count
    cpu_ns: Count
    wall_ns: Count
    has_precedence: bool
    yielded_count: Count
    unaudited: list[str] = []


class _Prepared(_Part):
    reply: Literal["prepared"]
    port: Port | None
    loan: _Loan | None
    echo_port: Port | None = None


class _Opening(_Part):
    reply: Literal["opening"]
    connections_count: Count
    strangers_count: Count
    problem: str | None = None


class _Connected(_Part):
    reply: Literal["connected"]
    connections_count: Small


class _Progress(_Part):
    reply: Literal["progress"]
    interval: Small
    phase: str
    start_mono_ns: Instant
    end_mono_ns: Instant
    payload_bytes: Count
    load_cpu_ns: Count
    retransmitted_segments: Count
    cwnd_segments: Small
    srtt_ns: Count
    announced_window_bytes: Small


class _Finished(_Part):
    reply: Literal["finished"]
    outcome: Annotated[_Ended | _Failed, Field(discriminator="ended")]
    payload_bytes: Count
    notes: list[_Note]
    evidence: _EvidenceReport


class _Table(_Part):
    reply: Literal["table"]
    name: str
    bytes: Count


class _Alive(_Part):
    reply: Literal["alive"]


class _Done(_Part):
    reply: Literal["done"]


class _Error(_Part):
    reply: Literal["error"]
    fault: Literal["usage", "host", "peer", "internal"]
    text: str


Reply = Annotated[
    _Hello
    | _Clock
    | _Host
    | _Transports
    | _Testbed
    | _PathCarried
    | _Prepared
    | _Opening
    | _Connected
    | _Progress
    | _Finished
    | _Table
    | _Alive
    | _Done
    | _Error,
    Field(discriminator="reply"),
]


class _Envelope(_Part):
    id: Count
    body: Reply


_ENVELOPE: Final[TypeAdapter[_Envelope]] = TypeAdapter(_Envelope)

ANSWERS: Final[dict[str, frozenset[str]]] = {
    "hello": frozenset({"hello"}),
    "clock": frozenset({"clock"}),
    "describe_host": frozenset({"host"}),
    "list_transports": frozenset({"transports"}),
    "build_testbed": frozenset({"testbed"}),
    "remove_testbed": frozenset({"done"}),
    "carry_path": frozenset({"done"}),
    "begin_path": frozenset({"done"}),
    "end_path": frozenset({"path_carried", "table", "done"}),
    "prepare": frozenset({"prepared"}),
    "connect": frozenset({"connected"}),
    "describe_opening": frozenset({"opening"}),
    "start": frozenset({"progress", "finished", "table", "done"}),
    "abort": frozenset({"done"}),
}
"""Replies by request; any request may be answered by `error`."""


def understood(payload: bytes) -> tuple[int, Message]:
    """The identifier and body of a message from an agent.

    Raises:
        RunError: it is no reply of this version of whyperf.
    """
    if len(payload) > MAX_REPLY_BYTES:
        raise RunError(f"the agent sent a message of {len(payload):,} bytes; the limit is {MAX_REPLY_BYTES:,}")
    try:
        envelope = _ENVELOPE.validate_json(payload)
    except ValidationError as error:
        raise RunError(f"{_wrong(error, payload)}; install the same whyperf on both hosts") from None
    return envelope.id, envelope.body.model_dump()


def _wrong(error: ValidationError, payload: bytes) -> str:
    """What is wrong with a message, with its place."""
    finding = error.errors(include_url=False, include_context=False)[0]
    place = [str(part) for part in finding["loc"] if part != "body"]
    if finding["type"] == "json_invalid" or not place:
        return f"not a message of an agent: {payload[:60].decode(errors='replace')!r}"
    text = f"{finding['msg'][:1].lower()}{finding['msg'][1:]}"
    value = "" if finding["type"] == "missing" else f", not {_shown(finding['input'])}"
    return f"the agent sent a message whose {'.'.join(place)} is wrong: {text}{value}"


def _shown(value: object) -> str:
    """The start of a value; a huge integer is never written out."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
