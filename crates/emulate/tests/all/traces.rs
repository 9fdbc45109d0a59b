//! Courses worked out by hand.

use crate::drive::{START_NS, data, path, run};
use emulate::{Cause, Packet, PacketKind, Path};
use schema::path::{CrossTraffic, DirectionSpec, Discipline, LossSpec, QueueLimit, QueueSpec};

/// At this rate a packet of 1514 bytes takes 1 ms.
const PACKET_A_MS_BPS: u64 = 12_112_000;
const US: u64 = 1000;
const MS: u64 = 1_000_000;

fn bottleneck(limit: QueueLimit, discipline: Discipline, ecn: bool) -> DirectionSpec {
    let queue = QueueSpec { limit, discipline, ecn };
    DirectionSpec { rate_bps: Some(PACKET_A_MS_BPS), delay_ns: 0, queue, ..DirectionSpec::default() }
}

/// Full packets at these µs.
fn packets_at(us: impl IntoIterator<Item = u64>) -> Vec<Packet> {
    (0..).zip(us).map(|(key, us)| data(key, START_NS + us * US, 1514)).collect()
}

#[test]
fn a_drop_tail_queue_of_three() {
    let forward = bottleneck(QueueLimit::Packets { packets: 3 }, Discipline::DropTail, false);
    // Three at once fill it, the fourth is dropped. At 1000 µs the first has just left: one finds room,
    // the next does not.
    let fate = run(&path(1, forward), &packets_at([0, 0, 0, 0, 999, 1000, 1000, 10_000]));
    let due: Vec<(u64, u64)> = fate.releases.iter().map(|release| (release.key, (release.due_ns - START_NS) / US)).collect();
    assert_eq!(due, [(0, 1000), (1, 2000), (2, 3000), (5, 4000), (7, 11_000)]);
    assert!(fate.losses.iter().all(|loss| loss.cause == Cause::Full));
    assert_eq!(fate.losses.iter().map(|loss| loss.key).collect::<Vec<_>>(), [3, 4, 6]);
}

#[test]
fn a_queue_in_bytes_takes_a_small_packet_where_a_large_one_has_no_room() {
    let forward = bottleneck(QueueLimit::Bytes { bytes: 3000 }, Discipline::DropTail, false);
    let mut packets = packets_at([0, 1, 2]);
    packets[2] = data(2, packets[2].arrival_ns, 1400);
    let fate = run(&path(1, forward), &packets);
    assert_eq!(fate.losses.iter().map(|loss| loss.key).collect::<Vec<_>>(), [1]);
}

/// Twice the rate: packet i arrives at i/2 ms and is asked for at i ms, so that it has waited i/2 ms. Above
/// the target of 5 ms from 10 ms on; first drop at 110 ms, then after 100, 100/√2, 100/√3 … ms (RFC 8289
/// section 3.3), at the first whole ms that is not before. With n dropped, packet t + n is asked for at t.
#[test]
fn codel_drops_by_its_control_law() {
    let codel = Discipline::Codel { target_ns: 5 * MS, interval_ns: 100 * MS };
    let limit = QueueLimit::Packets { packets: 10_000 };
    let fate = run(&path(1, bottleneck(limit, codel, false)), &packets_at((0..960).map(|number| number * 500)));
    let dropped: Vec<u64> = fate.losses.iter().map(|loss| loss.key).collect();
    assert_eq!(dropped[..7], [110, 211, 283, 342, 393, 439, 480]);
    assert!(fate.losses.iter().all(|loss| loss.cause == Cause::Early));
}

/// Nothing is dropped, so packet t is asked for at t.
#[test]
fn codel_marks_by_the_same_law() {
    let codel = Discipline::Codel { target_ns: 5 * MS, interval_ns: 100 * MS };
    let limit = QueueLimit::Packets { packets: 10_000 };
    let mut packets = packets_at((0..960).map(|number| number * 500));
    for packet in &mut packets {
        packet.is_ecn_capable = true;
    }
    let fate = run(&path(1, bottleneck(limit, codel, true)), &packets);
    let marked: Vec<u64> = fate.releases.iter().filter(|release| release.is_marked).map(|release| release.key).collect();
    assert_eq!(marked[..7], [110, 210, 281, 339, 389, 434, 474]);
    assert_eq!(fate.losses, []);
}

/// A queue that empties before the interval is over forgets that it was above target.
#[test]
fn codel_leaves_a_burst_alone() {
    let codel = Discipline::Codel { target_ns: 5 * MS, interval_ns: 100 * MS };
    let limit = QueueLimit::Packets { packets: 10_000 };
    // 90 packets at once wait up to 90 ms; a second later the same again.
    let bursts = (0..90).map(|_| 0).chain((0..90).map(|_| 1_000_000));
    assert_eq!(run(&path(1, bottleneck(limit, codel, false)), &packets_at(bursts)).losses, []);
}

/// RED: at three times the rate the average passes the lower threshold, and only what can be marked is.
#[test]
fn red_marks_what_it_can_and_drops_the_rest() {
    let red =
        Discipline::Red { min_bytes: 15_140, max_bytes: 151_400, probability_per_billion: 100_000_000, weight_log: 6, is_gentle: false };
    let limit = QueueLimit::Packets { packets: 200 };
    let mut packets = packets_at((0..150).map(|number| number * 333));
    for packet in packets.iter_mut().step_by(2) {
        packet.is_ecn_capable = true;
    }
    let fate = run(&path(3, bottleneck(limit, red, true)), &packets);
    let marked: Vec<u64> = fate.releases.iter().filter(|release| release.is_marked).map(|release| release.key).collect();
    assert!(!marked.is_empty() && marked.iter().all(|key| key % 2 == 0), "{marked:?}");
    assert!(!fate.losses.is_empty());
    assert!(fate.losses.iter().all(|loss| loss.key % 2 == 1 && loss.cause == Cause::Early), "{:?}", fate.losses);
    // The average cannot have passed the threshold of ten packets before there were ten.
    assert!(marked[0].min(fate.losses[0].key) > 15);
}

/// RED's average leaves out the packet that is being sent, and is 0 for the second one here. The third finds one waiting.
#[test]
fn red_averages_what_waits() {
    let red = Discipline::Red { min_bytes: 1, max_bytes: 700, probability_per_billion: 1_000_000_000, weight_log: 1, is_gentle: false };
    let limit = QueueLimit::Packets { packets: 200 };
    let fate = run(&path(3, bottleneck(limit, red, false)), &packets_at([0, 0, 0]));
    assert_eq!(fate.losses.iter().map(|loss| loss.key).collect::<Vec<_>>(), [2]);
}

/// The average is 757 bytes when the third packet comes, and stays so while the link is idle for less than a packet takes.
/// 27 ms later it is 0.
#[test]
fn red_forgets_only_as_long_as_the_link_was_idle() {
    let red = Discipline::Red { min_bytes: 1, max_bytes: 700, probability_per_billion: 1_000_000_000, weight_log: 1, is_gentle: false };
    let limit = QueueLimit::Packets { packets: 200 };
    let fate = run(&path(3, bottleneck(limit, red, false)), &packets_at([0, 0, 0, 2500, 29_500]));
    assert_eq!(fate.losses.iter().map(|loss| loss.key).collect::<Vec<_>>(), [2, 3]);
}

/// Each packet leaves when another one comes, and the link asks for the next one after that: two wait behind it, more
/// than the one packet that `CoDel` tolerates (RFC 8289 section 4.4). After one drop a single one waits.
#[test]
fn codel_counts_a_packet_that_comes_when_another_leaves() {
    let codel = Discipline::Codel { target_ns: MS, interval_ns: 10 * MS };
    let limit = QueueLimit::Packets { packets: 10 };
    let arrivals = [0, 0].into_iter().chain((0..50).map(|number| number * 1000));
    let fate = run(&path(1, bottleneck(limit, codel, false)), &packets_at(arrivals));
    assert_eq!(fate.losses.iter().map(|loss| loss.key).collect::<Vec<_>>(), [11]);
}

/// Overload: in a second exactly the rate leaves, and the queue stays as full as it may.
#[test]
fn a_loaded_bottleneck_sends_at_its_rate() {
    let forward = DirectionSpec {
        rate_bps: Some(50_000_000),
        delay_ns: 20 * MS,
        queue: QueueSpec { limit: QueueLimit::Packets { packets: 165 }, ..QueueSpec::default() },
        ..DirectionSpec::default()
    };
    let fate = run(&path(1, forward), &packets_at((0..20_000).map(|number| number * 100)));
    let (from_ns, to_ns) = (START_NS + 500 * MS, START_NS + 1500 * MS);
    let bits = 8 * 1514 * fate.releases.iter().filter(|release| (from_ns..to_ns).contains(&release.due_ns)).count() as u64;
    assert!(bits.abs_diff(50_000_000) <= 8 * 1514, "{bits}");
    // The second interval of a second is full throughout: at least 164 packets, at most 165.
    let mean_bytes = fate.tallies[1].queue_bytes_ns_sum / (1000 * MS);
    assert!((164 * 1514..=165 * 1514).contains(&mean_bytes), "{mean_bytes}");
    assert_eq!(fate.tallies[1].queue_packets_max, 165);
}

/// Half of the rate goes to cross traffic, which is dropped as others are.
#[test]
fn cross_traffic_takes_its_share() {
    let cross = CrossTraffic { rate_bps: PACKET_A_MS_BPS / 2, amplitude_bps: 0, period_ns: 0, packet_bytes: 1514 };
    let mut forward = bottleneck(QueueLimit::Packets { packets: 20 }, Discipline::DropTail, false);
    forward.cross_traffic = vec![cross];
    // Alone this traffic would just fit.
    let fate = run(&path(1, forward), &packets_at((0..3000).map(|number| number * 1000 + 300)));
    let second = &fate.tallies[1];
    assert_eq!(second.cross_arrived_packets, 500);
    assert_eq!(second.passed_packets + (500 - second.cross_dropped_packets), 1000);
    assert!(second.dropped_full_packets + second.cross_dropped_packets == 500, "{second:?}");
}

#[test]
fn a_script_hits_what_it_names_within_super_segments() {
    let loss = LossSpec::Scripted { segments: vec![3, 46] };
    let spec = path(1, DirectionSpec { loss, delay_ns: 5 * MS, ..DirectionSpec::default() });
    let large = |key| Packet { segments: emulate::Segments::split(66 + 44 * 1448, 66, 1448), ..data(key, START_NS, 1514) };
    let ack = Packet { kind: PacketKind::PureAck, ..data(9, START_NS, 66) };
    let fate = run(&spec, &[large(1), ack, large(2)]);
    assert_eq!(fate.losses.iter().map(|loss| (loss.key, loss.segment)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
}

#[test]
fn a_script_counts_from_the_instant_it_is_carried_out() {
    let loss = LossSpec::Scripted { segments: vec![1] };
    let mut direction = Path::new(&path(1, DirectionSpec { loss, ..DirectionSpec::default() }), START_NS).forward;
    direction.count_from(START_NS + 10 * US);
    for packet in packets_at([0, 9, 10, 11]) {
        direction.handle_packet(&packet);
    }
    assert_eq!(direction.poll_loss().map(|loss| loss.key), Some(2));
    assert_eq!(direction.poll_loss(), None);
}

/// What skips the delay is due at once; what comes after it in order is due a delay later.
#[test]
fn a_reordered_packet_overtakes() {
    let forward = DirectionSpec { delay_ns: 10 * MS, reorder_per_billion: 200_000_000, ..DirectionSpec::default() };
    let fate = run(&path(5, forward), &packets_at((0..1000).map(|number| number * 100)));
    let reordered = fate.sum(|tally| tally.reordered_packets);
    assert!((150..=250).contains(&reordered), "{reordered}");
    let ahead = fate.releases.iter().filter(|release| release.due_ns == START_NS + release.key * 100 * US).count();
    assert_eq!(ahead as u64, reordered);
    assert!(fate.releases.is_sorted_by_key(|release| release.due_ns));
}

/// A packet that is handed in with too early a stamp is taken to have come when time had already come to.
#[test]
fn a_packet_that_comes_late_is_counted_and_not_lost() {
    let forward = DirectionSpec { delay_ns: 5 * MS, ..DirectionSpec::default() };
    let mut direction = Path::new(&path(1, forward), START_NS).forward;
    direction.handle_time(START_NS + 300 * US);
    let super_segment = Packet { segments: emulate::Segments::split(66 + 3 * 1448, 66, 1448), ..data(1, START_NS + 100 * US, 1514) };
    direction.handle_packet(&super_segment);
    direction.handle_packet(&data(2, START_NS + 300 * US, 1514));
    let due: Vec<u64> = std::iter::from_fn(|| direction.poll_release(START_NS + 300 * US + 5 * MS)).map(|release| release.due_ns).collect();
    assert_eq!(due, [START_NS + 300 * US + 5 * MS; 4]);
    let tally = direction.current_tally();
    assert_eq!((tally.misordered_packets, tally.arrived_packets, tally.passed_packets), (3, 4, 4));
}

/// When the next packet is due, how many are inside, and how far the caller may lag behind the clock.
#[test]
fn what_the_caller_has_to_wait_for_is_known() {
    let with_delay = |direction: DirectionSpec| DirectionSpec { delay_ns: 5 * MS, jitter_ns: 2 * MS, ..direction };
    let limit = QueueLimit::Packets { packets: 10 };
    let codel = Discipline::Codel { target_ns: 5 * MS, interval_ns: 100 * MS };
    let mut drop_tail = Path::new(&path(1, with_delay(bottleneck(limit, Discipline::DropTail, false))), START_NS).forward;
    let mut by_departure = Path::new(&path(1, with_delay(bottleneck(limit, codel, false))), START_NS).forward;
    assert_eq!((drop_tail.slack_ns(), by_departure.slack_ns()), (None, Some(3 * MS)));
    assert_eq!((drop_tail.next_due_ns(), by_departure.next_due_ns()), (None, None));
    for direction in [&mut drop_tail, &mut by_departure] {
        for packet in packets_at([0, 0, 500]) {
            direction.handle_packet(&packet);
        }
        assert_eq!(direction.inside(), 3);
    }
    // A millisecond to send it, and 3 to 7 ms behind the bottleneck.
    let due_ns = drop_tail.next_due_ns().expect("three are inside") - START_NS;
    assert!((4 * MS..=8 * MS).contains(&due_ns), "{due_ns}");
    // The second is undecided until the first has left, and then at least 3 ms away.
    assert_eq!(by_departure.next_due_ns().map(|at_ns| at_ns - START_NS), Some(4 * MS));
    assert_eq!(drop_tail.poll_release(START_NS + due_ns - 1), None);
    assert_eq!(drop_tail.poll_release(START_NS + due_ns).map(|release| release.due_ns), Some(START_NS + due_ns));
    assert_eq!(drop_tail.inside(), 2);
    // What may skip the delay can be due as soon as it has left the bottleneck.
    let reordering = DirectionSpec { reorder_per_billion: 1, ..with_delay(bottleneck(limit, codel, false)) };
    assert_eq!(Path::new(&path(1, reordering), START_NS).forward.slack_ns(), Some(0));
}
