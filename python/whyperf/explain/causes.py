"""The causes that a verdict may name.

Each has a truth experiment (`whyperf-lab truth`) that injects it. A cause is something
that can be changed; CAPACITY is none: a host or the link does what it can.
"""

from collections.abc import Mapping
from enum import StrEnum


class Cause(StrEnum):
    """Why a rate is what it is."""

    RECEIVE_BUFFER = "receive_buffer"
    SEND_BUFFER = "send_buffer"
    SLOW_READER = "slow_reader"
    READ_SIZE = "read_size"
    """Read calls so large, or so small, that they hold up the window or cost a CPU."""
    SLOW_WRITER = "slow_writer"
    THINK_TIME = "think_time"
    """The application waits for an answer, or pauses, between what it writes."""
    TINY_WRITES = "tiny_writes"
    NAGLE_DELAYED_ACK = "nagle_delayed_ack"
    WRITE_WINDOW_MISMATCH = "write_window_mismatch"
    """The write size does not fit the window: stop-and-go."""
    DELAYED_ACK = "delayed_ack"
    """The receiver holds back acknowledgments that the sender's window or congestion window waits for."""
    QUICK_ACK = "quick_ack"
    """An acknowledgment for each segment costs an end's CPU."""
    PACING_RATE = "pacing_rate"
    SLOW_START = "slow_start"
    BOTTLENECK = "bottleneck"
    """A queue on the path is full or grows: its rate is the limit."""
    SHARED_BOTTLENECK = "shared_bottleneck"
    """Other traffic fills the path's bottleneck, or its rate changes: a queue stands before it that is not the own."""
    POLICER = "policer"
    """The path drops what exceeds a rate, without a queue."""
    SMALL_QUEUE = "small_queue"
    """A queue on the path is too small to keep its bottleneck busy (Appenzeller et al., SIGCOMM 2004)."""
    RANDOM_LOSS = "random_loss"
    BURST_LOSS = "burst_loss"
    PATH_LOSS = "path_loss"
    """The path loses segments, and the evidence does not show which of `LOSS_KINDS` it is."""
    REORDERING = "reordering"
    ACK_THINNING = "ack_thinning"
    """Acknowledgments are lost or merged in the reverse direction."""
    ACK_PATH = "ack_path"
    """The reverse direction is slow or loses packets, so that acknowledgments come late or not at all."""
    ROUND_TRIP = "round_trip"
    """One window in a round trip, which only the length of the path causes."""
    SMALL_MTU = "small_mtu"
    OFFLOADS_OFF = "offloads_off"
    SENDER_CPU = "sender_cpu"
    RECEIVER_CPU = "receiver_cpu"
    SHARED_CPU = "shared_cpu"
    """Both sides, or one side and its receive processing, share one CPU."""
    OTHER_LOAD = "other_load"
    """Other programs take the CPU of an end."""
    MANY_CONNECTIONS = "many_connections"
    RECEIVER_LOSS = "receiver_loss"
    """The receiving host drops what has arrived: an adapter's FIFO or a backlog runs over."""
    ASKED_RATE = "asked_rate"
    """The load reaches the rate that it was asked for: nothing else is at a limit."""
    CONNECTION_SETUP = "connection_setup"
    """Each exchange opens a connection of its own: the handshake takes round trips, and slow start starts anew."""
    CPU_QUOTA = "cpu_quota"
    """A control group's CPU quota is used up: its threads are stopped until the next period."""
    PAUSE = "pause"
    """The process of an end was stopped for a part of the time, though nobody kept it from a CPU."""
    MEMORY_LIMIT = "memory_limit"
    """A control group, or TCP as a whole, has no memory left for socket buffers."""
    LOCAL_QUEUE = "local_queue"
    """A queueing discipline of the sending host shapes the payload, or drops some of it."""
    WINDOW_SCALING = "window_scaling"
    """The sides did not agree on window scaling, so that no window is above 65,535 bytes."""
    PACKET_FILTERS = "packet_filters"
    """Rules of netfilter or of tc take a CPU's time. Only stack samples show this and the next six causes."""
    OTHER_BPF = "other_bpf"
    """BPF programs of others, or tracing, take a CPU's time."""
    CALL_CHECKS = "call_checks"
    """Security modules, audit or tracing of system calls take a CPU's time."""
    SOFTWARE_CHECKSUMS = "software_checksums"
    """A CPU computes checksums that devices could."""
    MEMORY_PRESSURE = "memory_pressure"
    """A host makes room in its memory, which takes a CPU's time."""
    LOCK_CONTENTION = "lock_contention"
    """A CPU waits for locks that others hold."""
    MITIGATIONS = "mitigations"
    """The guards of a processor against speculation take their time at each entry into the kernel."""
    CAPACITY = "capacity"
    """No removable cause: a host's CPU or the link is at its limit."""
    NOT_KNOWN = "not_known"


COUNTING_SEGMENTS = frozenset(
    {
        *(Cause.SMALL_QUEUE, Cause.POLICER, Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.REORDERING),
        *(Cause.ACK_THINNING, Cause.ACK_PATH, Cause.RECEIVER_LOSS),
    }
)
"""Causes whose verdicts count single segments: they depend on every one that a log lacks."""

ANOTHER = "another"
"""The candidate that stands for everything that no cause is the name of."""
LOSS_KINDS = frozenset({Cause.SMALL_QUEUE, Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.POLICER})
"""Kinds of loss on the path. Counters show that segments are lost; only logs of both hosts show where and when."""
GENERAL: Mapping[Cause, frozenset[Cause]] = {
    Cause.PATH_LOSS: LOSS_KINDS,
    Cause.BOTTLENECK: frozenset({Cause.SHARED_BOTTLENECK}),
    Cause.ACK_PATH: frozenset({Cause.ACK_THINNING}),
}
"""Causes that are right to say of others, too: what those do is a case of it. A link that others fill as well is full,
and a return direction that loses ACKs has too few of them."""
