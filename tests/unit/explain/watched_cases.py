"""Facts of other programs' connections: what speaks for a verdict, and the one thing that speaks against it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.unit.explain.test_rules import (
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
    """`code` is the first verdict's of what speaks for it, and none of what speaks `against` it."""

    name: str
    code: str
    speaks: Facts
    against: Edit


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
CLOSED = of_sender(sockets(peer_window=shape(0, 1_000, 500_000), waiting_ratio=1.0), FULL, windows=TRIPS)
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
        "application_limited_ratio": 0.95,
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
LOSSY = of_segments({"queue.losses_full_ratio": 0.1, "queue.lossy_count": 9})(WINDOW_LIMITED)
OVERTAKEN = of_segments({"reordering_events": 40, "spurious_ratio": 0.9})(WINDOW_LIMITED)
WAITING = of_receiver(sockets(unread_ratio=0.0, late_ratio=0.0, rate_spread=0.8), shares(waiting=1.0) | ASLEEP)

COMING = sockets(
    unread_ratio=0.0, late_ratio=0.0, rate_spread=0.05, silent_ratio=0.0, receive_rtt_ns=11 * MS,
    receive_rtt_ns_low=10 * MS, segment_bytes=1447.0, full_bytes=1448, own_window=shape(400_000, 900_000, 900_000),
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
    sockets(unread_ratio=0.0, came_segments=46, went_segments=23, went_count=46), ASLEEP,
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
    WatchedCase("an even rate behind a queue", "bottleneck.arrivals",
                QUEUED_ARRIVALS, seen_at_receiver(receive_rtt_ns_low=11 * MS)),
    WatchedCase("an even rate behind a queue, of segments that are not full", "bottleneck.arrivals",
                QUEUED_ARRIVALS, seen_at_receiver(segment_bytes=1_000.0)),
    WatchedCase("a varying rate behind a queue", "not_known.watched.uneven_queue",
                seen_at_receiver(rate_spread=0.2)(QUEUED_ARRIVALS), seen_at_receiver(rate_spread=0.05)),
    WatchedCase("a queue as long as none is", "not_known.watched.long_queue",
                seen_at_receiver(receive_rtt_ns=900 * MS)(QUEUED_ARRIVALS), seen_at_receiver(receive_rtt_ns=90 * MS)),
    WatchedCase("a segment behind a gap in each round trip", "path_loss.arrivals",
                LOST_ARRIVALS, seen_at_receiver(late_ratio=0.0001)),
    WatchedCase("losses that fill the window", "path_loss.arrivals",
                LOST_ARRIVALS, seen_at_receiver(own_window=shape(20_000, 30_000, 30_000))),
    WatchedCase("most segments behind a gap", "not_known.watched.late",
                seen_at_receiver(late_ratio=0.9)(LOST_ARRIVALS), seen_at_receiver(late_ratio=0.1)),
    WatchedCase("a short segment that comes when the timer lets an ACK go", "nagle_delayed_ack",
                RELEASED, of_segments({"released_bytes": 1448.0})),
    WatchedCase("requests in two parts that take as long as the ACK timer", "nagle_delayed_ack.timer",
                IN_TWO_PARTS, seen_at_receiver(went_count=24)),
    WatchedCase("requests that take longer than the ACK timer", "nagle_delayed_ack.timer",
                IN_TWO_PARTS, of_whole(life_ns=1_300 * MS)),
    WatchedCase("ACKs that wait for the reads of a program that sleeps", "slow_reader.acks",
                READ_ACKS, of_segments({"ack_reasons": {"second_segment": 0.9}})),
    WatchedCase("ACKs that wait for reads, and a sender that never waits", "slow_reader.acks",
                READ_ACKS, at_sender(cpu(thread=0.75))),
    WatchedCase("ACKs of reads that the log does not find late", "slow_reader.acks",
                READ_ACKS, at_receiver(shares(waiting=0.95, delayed_ack=0.05))),
    WatchedCase("a receiver that is always busy, and reads in time", "receiver_cpu.running",
                BUSY_READER, of_whole(rate_bps=20e9)),
    WatchedCase("a receiver that is busy with packets of one segment", "receiver_cpu.running",
                BUSY_READER, all_of(
                    seen_at_receiver(came_segments=86_000), at_receiver({"devices.receive_offload": False}))),
    WatchedCase("an even rate behind a queue, with pauses", "bottleneck.arrivals",
                QUEUED_ARRIVALS, seen_at_receiver(quiet_ratio=0.4)),
    WatchedCase("round trips as long as between two bursts", "bottleneck.arrivals",
                QUEUED_ARRIVALS, all_of(of_whole(rate_bps=16e6), of_windows(rtt_ns_min=MS))),
    WatchedCase("an even rate between neighbors", "bottleneck.arrivals",
                QUEUED_ARRIVALS, all_of(of_windows(rtt_ns_min=MS // 8), seen_at_receiver(receive_rtt_ns_low=4 * MS))),
    WatchedCase("losses with pauses of the sender", "path_loss.arrivals",
                LOST_ARRIVALS, seen_at_receiver(quiet_ratio=0.4)),
    WatchedCase("losses, and payload that is left unread", "path_loss.arrivals",
                LOST_ARRIVALS, seen_at_receiver(unread_ratio=0.6)),
    WatchedCase("the largest window without scaling, as the kernel keeps it", "window_scaling.own",
                seen_at_receiver(own_window=shape(600_000, 600_000, 600_000))(UNSCALED),
                seen_at_receiver(own_window=shape(30_000, 60_000, 600_000))),
    WatchedCase("an even rate with one ACK for a window", "not_known.watched.late_acks",
                all_of(of_windows(cwnd_segments_median=60),
                       seen_at_sender(went_segments=10_000, came_count=200))(ON_PATH),
                seen_at_sender(came_count=2_000)),
    WatchedCase("a closed window, and losses", "not_known.watched.reader",
                all_of(of_whole(segments=LOSSY.segments), of_windows(cwnd_segments_median=20),
                      at_sender(shares(receive_window=0.5, in_flight=0.5)))(CLOSED),
                seen_at_sender(peer_window=shape(400_000, 450_000, 500_000))),
    WatchedCase("the largest window without scaling", "window_scaling.own", UNSCALED, of_whole(rate_bps=20e6)),
    WatchedCase("the same with scaling", "receive_buffer.own",
                of_windows(window_scaling=True)(UNSCALED), of_windows(window_scaling=False)),
    WatchedCase("less than a segment waits for a delayed ACK", "nagle_delayed_ack.sampled",
                PARTIAL, at_sender({"sockets.no_delay": True})),
    WatchedCase("less than a segment waits for the path", "nagle_delayed_ack.sampled",
                PARTIAL, of_windows(rtt_ns_min=38 * MS)),
    WatchedCase("segments that were sent again had arrived", "reordering.seen",
                OVERTAKEN, of_segments({"spurious_ratio": 0.1})),
    WatchedCase("data in flight, and no reason", "not_known.watched.in_flight",
                of_sender(sockets(waiting_ratio=0.95), shares(in_flight=1.0), windows=TRIPS),
                at_sender(shares(in_flight=0.3, not_writing=0.7) | ASLEEP)),
    WatchedCase("losses that the congestion control does not heed", "not_known.watched.unheeded",
                seen_at_sender(congestion_control="bbr")(LOSSY), seen_at_sender(congestion_control="cubic")),
    WatchedCase("segments far smaller than the MTU", "small_mtu.held", PACKETS, seen_at_sender(pmtu_bytes=576)),
    WatchedCase("segments of half the window", "small_mtu.held",
                seen_at_sender(peer_window=shape(60_000, 60_000, 60_000))(PACKETS),
                seen_at_sender(peer_window=shape(1_048, 1_048, 1_048))),
    WatchedCase("few segments far smaller than the MTU", "small_mtu.held", PACKETS, of_whole(rate_bps=8e6)),
    WatchedCase("a writer that costs much for each byte", "sender_cpu.busy",
                BUSY_WRITER, at_sender({"devices.sent_packets": 90_000})),
    WatchedCase("a writer that others keep from its CPU", "other_load",
                of_whole(rate_bps=20e9)(BUSY_WRITER), at_sender(cpu(thread=0.1, run_queue=0.15))),
    WatchedCase("one of many connections of a busy program", "many_connections",
                all_of(at_sender(cpu(thread=0.95) | shares(in_flight=1.0)),
                       seen_at_sender(program_connections=300))(IDLE),
                seen_at_sender(program_connections=3)),
    WatchedCase("a connection for commands", "not_known.watched.idle", COMMANDS, seen_at_sender(waiting_ratio=0.9)),
    WatchedCase("a reader that does nothing but read small pieces", "receiver_cpu.busy",
                all_of(of_whole(rate_bps=2e9), at_receiver(cpu(thread=0.95)))(BEHIND), of_whole(rate_bps=20e9)),
    WatchedCase("a reader that sleeps, and waits for a CPU when it wakes", "slow_reader.behind",
                at_receiver(cpu(withheld=0.25, other=0.5, run_queue=0.25))(BEHIND),
                at_receiver(cpu(withheld=0.6, run_queue=0.6))),
    WatchedCase("a window that never changes", "receive_buffer.steady",
                STEADY, seen_at_sender(peer_window=shape(9_000, 20_000, 32_000))),
    WatchedCase("a steady window of one segment", "not_known.watched.window",
                seen_at_sender(peer_window=shape(2_000, 2_000, 2_100))(STEADY),
                seen_at_sender(peer_window=shape(2_900, 2_900, 3_000))),
    WatchedCase("a window that varies", "not_known.watched.window",
                seen_at_sender(peer_window=shape(9_000, 20_000, 32_000))(STEADY), at_sender(shares(in_flight=1.0))),
    WatchedCase("a window that unread payload has closed", "not_known.watched.reader",
                CLOSED, seen_at_sender(peer_window=shape(400_000, 450_000, 500_000))),
    WatchedCase("a full send buffer", "send_buffer", FILLED, seen_at_sender(filled_ratio=0.2)),
    WatchedCase("a full send buffer as large as the windows", "send_buffer",
                FILLED, of_windows(cwnd_segments_median=22)),
    WatchedCase("a large send buffer between neighbors", "not_known.watched.full_buffer",
                all_of(of_windows(rtt_ns_min=30_000), seen_at_sender(send_buffer_bytes=4 << 20))(FILLED),
                of_windows(rtt_ns_min=10 * MS)),
    WatchedCase("a large window between neighbors", "not_known.watched.window",
                all_of(of_windows(rtt_ns_min=30_000),
                       seen_at_sender(peer_window=shape(3 << 20, 3 << 20, 3 << 20)))(STEADY),
                of_windows(rtt_ns_min=10 * MS)),
    WatchedCase("a steady window before a queue", "not_known.watched.window_in_queue",
                of_windows(rtt_ns_median=14 * MS)(STEADY), of_windows(rtt_ns_median=11 * MS)),
    WatchedCase("a steady window between neighbors, whose round trips vary", "receive_buffer.steady",
                of_windows(rtt_ns_min=MS // 50, rtt_ns_median=MS // 20)(STEADY),
                of_windows(rtt_ns_min=2 * MS, rtt_ns_median=5 * MS)),
    WatchedCase("a full send buffer, and payload that comes back", "not_known.watched.full_or_reply",
                of_segments({"data_back_packets": 40})(FILLED), of_segments({"data_back_packets": 0})),
    WatchedCase("an idle writer whose buffer nobody sampled, with losses", "not_known.watched.idle_or_full",
                of_segments({"retransmitted_ratio": 0.01})(IDLE), seen_at_sender(filled_ratio=0.0)),
    WatchedCase("an idle writer within a few round trips", "not_known.watched.short",
                of_whole(life_ns=200 * MS)(IDLE), of_whole(life_ns=900 * MS)),
    WatchedCase("a full path", "bottleneck", ON_PATH, at_sender(shares(not_writing=1.0))),
    WatchedCase("a full path with segments that overtake each other", "not_known.watched.overtaken",
                of_segments({"reordering_events": 9})(ON_PATH), of_whole(watched_sides="both")),
    WatchedCase("a queue that others fill, or a late host", "not_known.watched.queue_or_host",
                in_flight(SHARED_COUNTED), of_whole(watched_sides="both")),
    WatchedCase("losses on the path or behind it", "path_loss.far", LOSSY, of_segments({"retransmitted_ratio": 0.0})),
    WatchedCase("a program that writes nothing", "slow_writer", IDLE, seen_at_sender(filled_ratio=0.9)),
    WatchedCase("a writer whose threads nobody sees", "not_known.watched.own_writer",
                at_sender(cpu(thread=None))(IDLE), at_sender(ASLEEP)),
    WatchedCase("a sender that computes", "sender_cpu",
                of_sender(sockets(waiting_ratio=0.0),
                          shares(not_writing=0.7, in_flight=0.3) | cpu(thread=0.9, own_user=0.85), windows=TRIPS),
                at_sender(shares(in_flight=1.0))),
    WatchedCase("a thread that computes while data always waits in the kernel", "not_known",
                of_sender(sockets(waiting_ratio=0.95), shares(in_flight=1.0) | cpu(thread=0.95), windows=TRIPS),
                seen_at_sender(waiting_ratio=0.1)),
    WatchedCase("answers that take a round trip", "round_trip.exchange", ASKING, of_exchanges(peer_ns=40 * MS)),
    WatchedCase("answers that take long", "not_known.watched.peer_delay",
                of_exchanges(peer_ns=60 * MS)(ASKING), of_exchanges(peer_ratio=0.1, own_ratio=0.1)),
    WatchedCase("a program that pauses before it asks again", "think_time.exchange",
                of_exchanges(own_ratio=0.8, peer_ratio=0.15)(ASKING), at_sender(cpu(thread=0.6))),
    WatchedCase("a program that works before it asks again", "sender_cpu.exchange",
                all_of(of_exchanges(own_ratio=0.7, peer_ratio=0.2), at_sender(cpu(thread=0.6)))(ASKING),
                at_sender(ASLEEP)),
    WatchedCase("a program that asks, whose threads nobody sees", "not_known.watched.own_delay",
                all_of(of_exchanges(own_ratio=0.8, peer_ratio=0.15), at_sender(cpu(thread=None)))(ASKING),
                at_sender(ASLEEP)),
    WatchedCase("exchanges by counts that take a round trip", "round_trip.exchange.counted",
                of_whole(conversation=Conversation(80))(ASKING), of_exchanges(exchanges_most=20)),
    WatchedCase("answers behind a queue", "not_known.watched.queued_delay",
                of_windows(rtt_ns_median=14 * MS)(ASKING), of_windows(rtt_ns_median=11 * MS)),
    WatchedCase("exchanges by counts behind a queue", "not_known.watched.queued_delay",
                all_of(of_whole(conversation=Conversation(80)), of_windows(rtt_ns_median=14 * MS))(ASKING),
                of_windows(rtt_ns_median=11 * MS)),
    WatchedCase("the peer's payload came last, by samples", "not_known.watched.sampled_delay",
                of_exchanges(own_ratio=0.8, peer_ratio=0.15, is_logged=False)(ASKING), of_exchanges(is_logged=True)),
    WatchedCase("nothing to send, and payload that comes back", "not_known.watched.both_ways",
                of_segments({"data_back_packets": 40})(IDLE), of_segments({"data_back_packets": 0})),
    WatchedCase("exchanges by counts that take long", "not_known.watched.exchanges",
                of_whole(conversation=Conversation(20))(ASKING), seen_at_sender(waiting_ratio=0.9)),
    WatchedCase("unread payload fills the window", "slow_reader.behind", BEHIND, seen_at_receiver(pressed_ratio=0.05)),
    WatchedCase("unread payload, and a sender that never waits", "slow_reader.behind",
                BEHIND, at_sender(cpu(thread=0.95))),
    WatchedCase("unread payload, and threads that compute", "receiver_cpu",
                at_receiver(cpu(thread=0.7, own_user=0.6))(BEHIND), at_receiver(ASLEEP)),
    WatchedCase("unread payload, and threads that wait for a CPU", "other_load.withheld.programs",
                at_receiver(cpu(withheld=0.5, other=0.5, run_queue=0.5))(BEHIND),
                at_receiver(cpu(withheld=0.0))),
    WatchedCase("unread payload, and threads that nobody sees", "not_known.watched.own_reader",
                at_receiver(cpu(thread=None))(BEHIND), at_receiver(ASLEEP)),
    WatchedCase("unread payload in a small buffer", "not_known.watched.own_small",
                seen_at_receiver(pressed_ratio=0.3, own_window=shape(0, 3_000, 4_000))(BEHIND),
                seen_at_receiver(pressed_ratio=0.7)),
    WatchedCase("the same in a large one", "slow_reader.behind",
                seen_at_receiver(pressed_ratio=0.3, own_window=shape(0, 3_000, 4_000_000))(BEHIND),
                seen_at_receiver(own_window=shape(0, 3_000, 4_000))),
    WatchedCase("a window that arrives in each round trip", "receive_buffer.own",
                of_receiver(sockets(unread_ratio=0.2, pressed_ratio=0.02, own_window=NARROW), shares(waiting=1.0),
                            windows=TRIPS, rate_bps=20e6),
                of_whole(rate_bps=5e6)),
    WatchedCase("the same while round trips have grown", "not_known.watched.own_window",
                of_receiver(sockets(unread_ratio=0.02, own_window=NARROW), shares(waiting=1.0),
                            windows=TRIPS | {"rtt_ns_median": 14 * MS}, rate_bps=16e6),
                seen_at_receiver(own_window=shape(30_000, 60_000, 300_000))),
    WatchedCase("a window of which unread payload takes a part", "not_known.watched.own_small",
                of_receiver(sockets(unread_ratio=0.5, pressed_ratio=0.3, own_window=NARROW),
                            shares(waiting=0.5, unread=0.5), windows=TRIPS, rate_bps=20e6),
                seen_at_receiver(pressed_ratio=0.05)),
    WatchedCase("gaps after all was sent", "not_known.watched.idle_peer",
                of_receiver(sockets(unread_ratio=0.0, late_ratio=0.0), shares(waiting=1.0),
                            level="segments", segments={"short_gap_ratio": 0.8}),
                of_segments({"short_gap_ratio": 0.1})),
    WatchedCase("segments behind gaps", "not_known.watched.late",
                seen_at_receiver(late_ratio=0.02)(WAITING), seen_at_receiver(late_ratio=0.0001)),
    WatchedCase("an even rate of arrivals", "not_known.watched.even",
                seen_at_receiver(rate_spread=0.03)(WAITING), seen_at_receiver(rate_spread=0.5)),
    WatchedCase("a receiver whose queue nobody sampled", "not_known.watched.waiting",
                all_of(seen_at_receiver(unread_ratio=None, own_window=shape(60_000, 60_000, 60_000)),
                      at_receiver(shares(unknown=1.0)))(WAITING),
                seen_at_receiver(own_window=shape(10_000, 60_000, 60_000))),
    WatchedCase("a receiver that waits", "not_known.watched.waiting", WAITING, at_receiver(shares(unread=0.9))),
)  # fmt: skip
