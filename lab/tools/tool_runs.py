"""Runs of tools, and the comparison made of them: the JSON of `whyperf-lab tools --json`.

Fields are only ever added. Rates are in bit/s of payload, or in transactions per second; times in s; CPU in ns per
KByte (1,024 bytes of payload) or per transaction. Null means not known.
"""

from typing import Literal

from whyperf.analyze.spread import FrozenModel

FORMAT = 1
OWN = "whyperf"
"""The name of whyperf's own load among the tools."""

Workload = Literal["stream", "rr", "udp"]
Side = Literal["sender", "receiver"]
Variant = Literal["calls", "warm_up"]
"""The own load's imitation of a tool: the sizes of its calls and how it waits, or counting from the first byte."""

Outcome = Literal["none", "vanishes", "shrinks", "stays"]


class Load(FrozenModel):
    """The task of every tool, for `warmup_s` + `duration_s` together.

    The sizes of calls are the tool's own choice unless `write_size_bytes` is given.
    """

    workload: Workload
    connections: int
    warmup_s: float
    duration_s: float
    write_size_bytes: int | None = None
    request_bytes: int = 1
    response_bytes: int = 1
    datagram_bytes: int = 1472

    @property
    def seconds(self) -> float:
        """The time that a tool is to load the path."""
        return self.warmup_s + self.duration_s


class Reported(FrozenModel):
    """The figure that a tool prints, and what it is made from, as far as the tool prints that.

    `rate` is in bit/s, or in transactions per second with the workload rr. `counted_by` is the side whose bytes they
    are.
    """

    rate: float
    counted_by: Side
    payload_bytes: int | None = None
    seconds: float | None = None
    version: str = ""


class SideUse(FrozenModel):
    """The activity of the processes of a tool on one side, for as long as they ran.

    `user_s` and `system_s` are CPU time of these processes. Calls are those that moved payload; `threads` those that
    used at least 5 % of the busiest thread's CPU time. Null where the kernel does not count it: calls of UDP.
    """

    user_s: float
    system_s: float
    calls_count: int | None = None
    calls_bytes: int | None = None
    threads: int | None = None

    @property
    def cpu_s(self) -> float:
        """User and system together."""
        return self.user_s + self.system_s


class Progress(FrozenModel):
    """Payload that the receiving kernel had, by its own counters.

    `window_bps` is the rate in the window that whyperf measures, after the warm-up; `whole_bps` that from the first to
    the last byte, and `first_bps` that of the warm-up alone.
    """

    payload_bytes: int
    seconds: float
    whole_bps: float
    window_bps: float
    first_bps: float | None = None


class SocketFacts(FrozenModel):
    """Properties of the data sockets, as the kernel has them."""

    congestion_control: str = ""
    send_buffer_fixed: bool | None = None
    receive_buffer_fixed: bool | None = None


class Run(FrozenModel):
    """One run of a tool. `void` says in a sentence why it does not count; then there are no figures.

    `variant` is that of the own load which does as a tool does, `variant_of` that tool, null where it is all of them.
    """

    tool: str
    block: int
    void: str | None = None
    variant: Variant | None = None
    variant_of: str | None = None
    reported: Reported | None = None
    progress: Progress | None = None
    sender: SideUse | None = None
    receiver: SideUse | None = None
    sockets: SocketFacts | None = None
    record: str | None = None

    @property
    def key(self) -> str:
        """The name of what ran: `iperf3`, or `whyperf as iperf3`."""
        if self.variant is None:
            return self.tool
        return variant_key(self.variant_of or "", self.variant)


def variant_key(tool: str, variant: Variant) -> str:
    """The name of the own load that does as a tool does; all tools count from the first byte."""
    return f"{OWN} as {tool}" if variant == "calls" else f"{OWN} without warm-up"


class SideLook(FrozenModel):
    """System calls of one side: how many waited for a socket (select, poll, epoll_wait) for each call that moved
    payload, the size that most payload was asked for with, and the socket options that were set.
    """

    data_call: str
    asked_bytes: int | None
    data_calls_count: int
    waits_count: int
    waits: str
    options: tuple[str, ...] = ()

    @property
    def waits_per_call(self) -> float:
        """Waits for a socket for each call that moved payload."""
        return self.waits_count / self.data_calls_count if self.data_calls_count else 0.0


class Look(FrozenModel):
    """Both sides of a tool, from a run of its own under strace, which counts in no figure; the own load's from its
    settings and its counts. `missing` says why there is none.
    """

    tool: str
    sender: SideLook | None = None
    receiver: SideLook | None = None
    missing: str | None = None


class Ratio(FrozenModel):
    """A figure of a tool over that of the own load in the same block: geometric mean, 95 % interval of Student's t on
    logarithms, and whether it differs from 1 at a false-discovery rate of 5 %.

    The ratios of all tools are tested together; those of verdicts apart, tool by tool.
    """

    name: str
    title: str
    ratio: float
    low: float | None
    high: float | None
    p_value: float | None
    pairs: int
    is_significant: bool = False


class ToolFigures(FrozenModel):
    """A tool: the means of its runs, and its ratios to the own load. `rate_unit` is bit/s or 1/s.

    CPU is in ns for each KByte, or for each transaction with the workload rr.
    """

    tool: str
    version: str
    runs: int
    void: tuple[str, ...]
    rate_unit: Literal["bit/s", "1/s"]
    reported: float
    window: float | None
    whole: float | None
    counted_by: Side
    cpu_ns_sender: float | None
    cpu_ns_receiver: float | None
    user_ratio_sender: float | None
    user_ratio_receiver: float | None
    calls_per_s_sender: float | None
    bytes_per_call_sender: float | None
    bytes_per_call_receiver: float | None
    ratios: tuple[Ratio, ...] = ()


class Verdict(FrozenModel):
    """The verdict on whether a difference vanishes when the own load does as the tool does.

    `before` is tool over own load, `after` tool over own load as the tool, `change` own load as the tool over own load,
    all of the figure `of`. `outcome`: none (there was no significant difference), vanishes (the change is significant,
    and what is left is not, with an interval within 5 % of 1), shrinks, or stays.
    """

    variant: Variant
    of: str
    before: Ratio
    after: Ratio
    change: Ratio
    outcome: Outcome
    sentence: str


class Difference(FrozenModel):
    """Something that a tool does in another way than the own load, in figures. `source` is where they come from.

    `verdicts` are what tests of it showed, one for each figure that it might explain; sizes of calls and waiting are
    tested together. None: not tested, so it is no reason yet.
    """

    name: str
    title: str
    tool: str
    own: str
    source: str
    verdicts: tuple[Verdict, ...] = ()


class ToolReport(FrozenModel):
    """A tool next to the own load: in sentences, and difference by difference."""

    tool: str
    headline: str
    sentences: tuple[str, ...]
    differences: tuple[Difference, ...]


class ToolsComparison(FrozenModel):
    """The whole comparison. `left_out` are tools that were asked for and not run, each with the reason in a sentence.

    `figures` begin with the own load. `void_runs` do not count, those of the tests of reasons included.
    """

    format: int = FORMAT
    folder: str
    profile: str
    load: Load
    setting: dict[str, object]
    host: str
    pairs: int
    seed: int
    figures: tuple[ToolFigures, ...]
    reports: tuple[ToolReport, ...]
    looks: tuple[Look, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    void_runs: int = 0
