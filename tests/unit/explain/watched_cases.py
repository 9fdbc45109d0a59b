"""Facts of other programs' connections: of which a limit takes much, and the one thing without which it does not."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.unit.explain.limit_cases import (
    MS,
    QUEUED,
    SHARED_COUNTED,
    Edit,
    all_of,
    at_receiver,
    at_sender,
    cpu,
    facts,
    of_segments,
    of_whole,
    of_windows,
    shares,
)
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import Conversation, WatchedSockets, WindowShape

ASLEEP = cpu(thread=0.05)
"""Threads of the watched program are seen, and do next to nothing."""
TRIPS = {"rtt_ns_min": 10 * MS, "rtt_ns_median": 11 * MS}


@dataclass(frozen=True)
class WatchedCase:
    """The limit with `code` takes much of what `speaks` for it, and little after each change `against` it."""

    name: str
    code: str
    speaks: Facts
    against: tuple[Edit, ...]


def case(name: str, code: str, speaks: Facts, *against: Edit) -> WatchedCase:
    """A case with any number of changes, each by itself."""
    return WatchedCase(name, code, speaks, against)


def sockets(**seen: Any) -> WatchedSockets:
    """Twenty samples of a socket."""
    return WatchedSockets(samples=20, **seen)


def shape(low: int, median: int, high: int) -> WindowShape:
    """A window over time, in bytes."""
    return WindowShape(low, median, high)


def of_sender(seen: WatchedSockets, sender: Mapping[str, Any], **whole: Any) -> Facts:
    """A sender alone, by samples."""
    own = {"watched": seen, "sockets.mss_bytes": 1448, **sender}
    return facts(own, watched_sides="sender", level="user", **whole)


def of_receiver(seen: WatchedSockets, receiver: Mapping[str, Any], **whole: Any) -> Facts:
    """A receiver alone, by samples."""
    known = {"watched_sides": "receiver", "level": "user", **whole}
    return facts(receiver={"watched": seen, **receiver}, **known)


def seen_at_sender(**changed: Any) -> Edit:
    """Other samples of the sender's sockets."""
    return lambda found: at_sender({"watched": replace(found.sender.watched or WatchedSockets(), **changed)})(found)


def seen_at_receiver(**changed: Any) -> Edit:
    """Other samples of the receiver's sockets."""
    return lambda found: at_receiver({"watched": replace(found.receiver.watched or WatchedSockets(), **changed)})(found)


def of_exchanges(**changed: Any) -> Edit:
    """Another conversation."""
    return lambda found: replace(found, conversation=replace(found.conversation or Conversation(0), **changed))


FULL = shares(receive_window=0.9, not_writing=0.1)
NARROW = shape(30_000, 30_000, 30_000)
STEADY = of_sender(sockets(peer_window=shape(30_000, 30_000, 31_000), waiting_ratio=1.0), FULL, windows=TRIPS)
CLOSED_WINDOW = shape(0, 1_000, 500_000)
CLOSED = of_sender(sockets(peer_window=CLOSED_WINDOW, waiting_ratio=1.0), FULL, windows=TRIPS)
BEHIND = of_receiver(sockets(unread_ratio=0.95, unread_bytes=400_000, pressed_ratio=0.8), shares(unread=0.95) | ASLEEP)
ASKS = Conversation(exchanges_most=200, own_ratio=0.1, peer_ratio=0.85, own_ns=1 * MS, peer_ns=12 * MS, is_logged=True)
ASKING = of_sender(
    sockets(waiting_ratio=0.0), shares(in_flight=0.9, not_writing=0.1) | ASLEEP, windows=TRIPS, conversation=ASKS
)
FILLED = of_sender(
    sockets(
        filled_ratio=0.9, waiting_ratio=0.05, send_buffer_bytes=32_768, send_buffer_fixed=True,
        peer_window=shape(400_000, 400_000, 400_000),
    ),
    shares(in_flight=0.9, not_writing=0.1),
    windows=TRIPS | {
        "flight_bytes_median": 30_000, "flight_bytes_max": 31_000, "cwnd_segments_median": 200,
        "announced_bytes_median": 400_000, "application_limited_ratio": 0.95,
    },
)  # fmt: skip
IDLE = of_sender(sockets(waiting_ratio=0.0), shares(not_writing=0.8, in_flight=0.2) | ASLEEP, windows=TRIPS)


def in_flight(found: Facts) -> Facts:
    """The same of a sender of another program alone."""
    known = shares(in_flight=0.95) | {"watched": sockets(waiting_ratio=0.95)}
    return at_sender(known)(replace(found, watched_sides="sender", level="user"))


ON_PATH = in_flight(QUEUED)
WINDOW_LIMITED = of_sender(
    sockets(waiting_ratio=0.95), shares(in_flight=1.0), windows=TRIPS | {"cwnd_segments_median": 20},
    segments={"retransmitted_ratio": 0.02, "data_segments": 5_000},
)  # fmt: skip
"""Data always waits, in a window of 20 segments of which some are sent again."""
LOSSY = of_segments({"queue.losses_full_ratio": 0.1})(WINDOW_LIMITED)
OVERTAKEN = of_segments({"reordering_events": 40, "spurious_ratio": 0.9})(WINDOW_LIMITED)
WAITING = of_receiver(sockets(unread_ratio=0.0, late_ratio=0.0, rate_spread=0.8), shares(waiting=1.0) | ASLEEP)

COMING = sockets(
    unread_ratio=0.0, late_ratio=0.0, rate_spread=0.05, receive_rtt_ns=11 * MS,
    receive_rtt_ns_low=10 * MS, full_bytes=1448, own_window=shape(400_000, 900_000, 900_000),
)  # fmt: skip
"""Full segments at an even rate; the program reads all."""
ARRIVING = of_receiver(COMING, shares(waiting=1.0) | ASLEEP, windows=TRIPS, rate_bps=20e6)
BUSY_READER = all_of(at_receiver(cpu(thread=0.85)), of_whole(rate_bps=1e9))(ARRIVING)
QUEUED_ARRIVALS = seen_at_receiver(receive_rtt_ns=30 * MS, receive_rtt_ns_low=20 * MS)(ARRIVING)
LOST_ARRIVALS = seen_at_receiver(late_ratio=0.1)(ARRIVING)
UNSCALED = all_of(
    seen_at_receiver(own_window=shape(65_535, 65_535, 65_535)),
    of_whole(rate_bps=50e6),
    of_windows(window_scaling=False),
)(ARRIVING)
PARTIAL = of_sender(
    sockets(partial_ratio=0.9, waiting_ratio=0.9),
    shares(in_flight=0.95, not_writing=0.05) | ASLEEP,
    windows={"rtt_ns_min": MS // 20, "rtt_ns_median": 40 * MS},
)
RELEASED = of_receiver(
    sockets(unread_ratio=0.0), shares(waiting=1.0) | {"sockets.mss_bytes": 1448}, level="segments",
    segments={"held_ratio": 0.95, "released_bytes": 512.0, "ack_reasons": {"delayed_timer": 0.9}},
)  # fmt: skip
IN_TWO_PARTS = of_receiver(
    sockets(unread_ratio=0.0, came_segments=46, went_segments=23), ASLEEP,
    windows={"rtt_ns_min": MS // 10}, conversation=Conversation(23),
)  # fmt: skip
READ_ACKS = of_receiver(
    sockets(unread_ratio=0.8, unread_bytes=70_000, pressed_ratio=0.0),
    shares(waiting=0.6, delayed_ack=0.4) | ASLEEP,
    level="segments",
    segments={"ack_reasons": {"read_call": 0.8}},
)
PACKETS = of_sender(
    sockets(waiting_ratio=0.95, mss_bytes=524, pmtu_bytes=9_000),
    shares(in_flight=1.0),
    windows={"rtt_ns_min": MS // 20, "rtt_ns_median": MS // 10},
    rate_bps=800e6,
)
BUSY_WRITER = of_sender(
    sockets(waiting_ratio=0.05),
    shares(not_writing=0.7, in_flight=0.3)
    | cpu(thread=0.5, run_queue=0.45, withheld=0.4, other=0.5)
    | {"devices.sent_packets": 1_000},
    windows=TRIPS | {"application_limited_ratio": 0.9},
    segments={"data_segments": 90_000},
    rate_bps=1e9,
)  # fmt: skip
"""A program whose payload costs it 4 ns a byte, next to others that take half of its CPU."""
COMMANDS = of_sender(
    sockets(waiting_ratio=0.0, came_segments=1, went_segments=1),
    shares(not_writing=1.0) | cpu(thread=0.9),
    windows=TRIPS,
)

CASES = (
    # A receiver alone.
    case("an even rate behind a queue", "bottleneck.arrivals", QUEUED_ARRIVALS,
         seen_at_receiver(receive_rtt_ns=10 * MS), seen_at_receiver(rate_spread=0.5),
         seen_at_receiver(pressed_ratio=0.9), of_windows(rtt_ns_min=MS // 8)),
    case("a segment behind a gap in each round trip", "path_loss.arrivals", LOST_ARRIVALS,
         seen_at_receiver(late_ratio=0.0001), seen_at_receiver(pressed_ratio=0.9)),
    case("a short segment that comes when the timer lets an ACK go", "nagle_delayed_ack", RELEASED,
         of_segments({"released_bytes": 1448.0})),
    case("a full segment that comes when the timer lets an ACK go", "delayed_ack",
         of_segments({"released_bytes": 1448.0})(RELEASED), of_segments({"released_bytes": 512.0})),
    case("requests in two parts that take as long as the ACK timer", "nagle_delayed_ack.timer", IN_TWO_PARTS,
         seen_at_receiver(came_segments=23), of_whole(life_ns=1_300 * MS)),
    case("ACKs that wait for the reads of a program that sleeps", "slow_reader.acks", READ_ACKS,
         of_segments({"ack_reasons": {"second_segment": 0.9}}), at_sender(cpu(thread=0.75))),
    case("unread payload fills the window", "slow_reader.behind", BEHIND,
         seen_at_receiver(pressed_ratio=0.05), at_sender(cpu(thread=0.95)), at_receiver(cpu(thread=0.95))),
    case("a reader that sleeps, and waits for a CPU when it wakes", "slow_reader.behind",
         at_receiver(cpu(withheld=0.25, other=0.5, run_queue=0.25))(BEHIND),
         at_receiver(cpu(withheld=0.8, run_queue=0.8))),
    case("unread payload, and threads that wait for a CPU", "other_load.withheld.programs",
         at_receiver(cpu(withheld=0.5, other=0.5, run_queue=0.5))(BEHIND),
         at_receiver(cpu(withheld=0.0)), at_receiver(cpu(other=0.1))),
    case("unread payload, and threads that compute", "receiver_cpu.running",
         at_receiver(cpu(thread=0.7, own_user=0.6))(BEHIND), at_receiver(ASLEEP),
         all_of(at_receiver(shares(waiting=1.0)), seen_at_receiver(unread_ratio=0.1))),
    case("a receiver that is always busy, and reads in time", "capacity.not_full", BUSY_READER, at_receiver(ASLEEP)),
    case("a window that arrives in each round trip", "receive_buffer.own",
         of_receiver(sockets(unread_ratio=0.2, pressed_ratio=0.02, own_window=NARROW), shares(waiting=1.0),
                     windows=TRIPS, rate_bps=20e6),
         of_whole(rate_bps=5e6), seen_at_receiver(pressed_ratio=0.9),
         seen_at_receiver(own_window=shape(30_000, 60_000, 300_000))),
    case("the largest window without scaling", "window_scaling.own", UNSCALED,
         of_whole(rate_bps=20e6), of_windows(window_scaling=True)),
    case("the largest window without scaling, as the kernel keeps it", "window_scaling.own",
         seen_at_receiver(own_window=shape(600_000, 600_000, 600_000))(UNSCALED),
         seen_at_receiver(own_window=shape(30_000, 60_000, 600_000))),
    case("gaps after all was sent", "slow_writer",
         all_of(of_whole(level="segments"), of_segments({"short_gap_ratio": 0.8}))(WAITING),
         of_segments({"short_gap_ratio": 0.1})),
    case("nothing comes for some round trips", "slow_writer",
         seen_at_receiver(quiet_ratio=0.8)(WAITING), seen_at_receiver(quiet_ratio=0.1)),
    # A sender alone.
    case("a window that never changes", "receive_buffer.steady", STEADY,
         seen_at_sender(peer_window=CLOSED_WINDOW), at_sender(shares(in_flight=1.0))),
    case("a window that unread payload has closed", "slow_reader.closed", CLOSED,
         seen_at_sender(peer_window=shape(400_000, 450_000, 500_000)), at_receiver(cpu(thread=0.95))),
    case("a full send buffer", "send_buffer", FILLED,
         seen_at_sender(filled_ratio=0.2), of_windows(cwnd_segments_median=20),
         of_windows(announced_bytes_median=20_000)),
    case("a full path", "bottleneck", ON_PATH, at_sender(shares(not_writing=1.0))),
    case("a queue that others fill", "shared_bottleneck.counted", in_flight(SHARED_COUNTED),
         of_segments({"queue.full_spread": 0.02}), of_segments({"queue.jitter_ratio": 0.9})),
    case("losses on the path or behind it", "path_loss.far", LOSSY,
         of_segments({"retransmitted_ratio": 0.0}), of_segments({"spurious_ratio": 1.0})),
    case("segments that were sent again had arrived", "reordering.seen", OVERTAKEN,
         of_segments({"spurious_ratio": 0.1}), of_segments({"reordering_events": 0})),
    case("a program that writes nothing", "slow_writer", IDLE,
         seen_at_sender(filled_ratio=0.9), at_sender(cpu(thread=0.9))),
    case("a sender that computes", "sender_cpu.busy",
         of_sender(sockets(waiting_ratio=0.0), shares(not_writing=0.7, in_flight=0.3) | cpu(thread=0.9, own_user=0.85),
                   windows=TRIPS),
         at_sender(shares(in_flight=1.0)), at_sender(ASLEEP)),
    case("a thread that runs while data always waits in the kernel", "capacity.small_writes",
         of_sender(sockets(waiting_ratio=0.95), shares(in_flight=1.0) | cpu(thread=0.95), windows=TRIPS),
         at_sender(ASLEEP)),
    case("a writer that costs much for each byte", "sender_cpu.busy", BUSY_WRITER, at_sender(cpu(thread=0.1))),
    case("a writer that others keep from its CPU", "other_load.withheld.programs", BUSY_WRITER,
         at_sender(cpu(other=0.05)), at_sender(cpu(withheld=0.1))),
    case("one of many connections of a busy program", "many_connections",
         all_of(at_sender(cpu(thread=0.95) | shares(in_flight=1.0)), seen_at_sender(program_connections=300))(IDLE),
         seen_at_sender(program_connections=3), at_sender(ASLEEP)),
    case("less than a segment waits for a delayed ACK", "nagle_delayed_ack.sampled", PARTIAL,
         at_sender({"sockets.no_delay": True}), of_windows(rtt_ns_min=38 * MS)),
    case("segments far smaller than the MTU", "small_mtu.held", PACKETS,
         seen_at_sender(pmtu_bytes=576), of_whole(rate_bps=8e6),
         # A segment is no larger than half of the window.
         seen_at_sender(peer_window=shape(1_048, 1_048, 1_048))),
    case("answers that take a round trip", "round_trip.exchange", ASKING, of_exchanges(peer_ns=40 * MS)),
    case("exchanges by counts that take a round trip", "round_trip.exchange.counted",
         of_whole(conversation=Conversation(80))(ASKING), of_exchanges(exchanges_most=20)),
    case("a program that pauses before it asks again", "think_time.exchange",
         of_exchanges(own_ratio=0.8, peer_ratio=0.15)(ASKING), at_sender(cpu(thread=0.9))),
    case("a peer that takes long to answer", "think_time.peer", of_exchanges(peer_ns=60 * MS)(ASKING),
         of_exchanges(peer_ns=12 * MS)),
    case("a program that works before it asks again", "sender_cpu.exchange",
         all_of(of_exchanges(own_ratio=0.7, peer_ratio=0.2), at_sender(cpu(thread=0.6)))(ASKING),
         at_sender(ASLEEP)),
)  # fmt: skip
