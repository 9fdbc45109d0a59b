//! What a path may be, and that a refusal says what to change.

use proptest::prelude::*;
use schema::path::{CrossTraffic, DirectionSpec, Discipline, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};

const MTU_BYTES: u32 = 1500;
const BILLION: u32 = 1_000_000_000;
const MINUTE_NS: u64 = 60_000_000_000;

fn path(forward: DirectionSpec) -> PathSpec {
    PathSpec {
        implementation: PathImplementation::Auto,
        seed: 1,
        forward,
        backward: DirectionSpec { delay_ns: 20_000_000, ..DirectionSpec::default() },
        interval_ns: 10_000_000,
    }
}

fn limited() -> DirectionSpec {
    DirectionSpec { rate_bps: Some(50_000_000), delay_ns: 20_000_000, ..DirectionSpec::default() }
}

fn refusal(forward: DirectionSpec) -> String {
    path(forward).validate(MTU_BYTES).expect_err("a refusal").to_string()
}

#[test]
fn a_queue_without_a_limit_holds_the_bandwidth_delay_product() {
    let path = path(limited());
    path.validate(MTU_BYTES).expect("valid");
    assert_eq!(path.queue_limit(&path.forward), Some(QueueLimit::Bytes { bytes: 250_000 }));
    assert_eq!(path.queue_limit(&path.backward), None);
}

#[test]
fn a_queue_smaller_than_a_packet_is_refused() {
    let queue = QueueSpec { limit: QueueLimit::Bytes { bytes: 1513 }, ..QueueSpec::default() };
    assert_eq!(
        refusal(DirectionSpec { queue, ..limited() }),
        "path forward: a queue of 1513 bytes holds no packet of 1514 bytes; choose at least that"
    );
    let short = DirectionSpec { rate_bps: Some(100_000), delay_ns: 1_000_000, ..DirectionSpec::default() };
    assert!(refusal(short).contains("bandwidth-delay product is 262 bytes"));
}

#[test]
fn scripts_and_probabilities_are_checked() {
    for (segments, word) in [(vec![0, 3], "counted from 1"), (vec![5, 5], "ascending"), (vec![7, 5], "ascending")] {
        let loss = LossSpec::Scripted { segments };
        assert!(refusal(DirectionSpec { loss, ..limited() }).contains(word));
    }
    let loss = LossSpec::Random { probability_per_billion: 1_000_000_001 };
    assert!(refusal(DirectionSpec { loss, ..limited() }).contains("a probability of 1"));
    let for_ever = LossSpec::GilbertElliott {
        good_to_bad_per_billion: 1,
        bad_to_good_per_billion: 0,
        bad_loss_per_billion: 1,
        good_loss_per_billion: 0,
    };
    assert!(refusal(DirectionSpec { loss: for_ever, ..limited() }).contains("never left"));
}

#[test]
fn what_needs_a_bottleneck_or_a_delay_says_so() {
    let cross = CrossTraffic { rate_bps: 1_000_000, amplitude_bps: 0, period_ns: 0, packet_bytes: 1514 };
    assert!(refusal(DirectionSpec { rate_bps: None, cross_traffic: vec![cross], ..limited() }).contains("give a rate"));
    let swinging = CrossTraffic { amplitude_bps: 2_000_000, period_ns: 1_000_000_000, ..cross };
    assert!(refusal(DirectionSpec { cross_traffic: vec![swinging], ..limited() }).contains("below 0"));
    let no_delay = DirectionSpec { delay_ns: 0, reorder_per_billion: 1, ..limited() };
    assert!(refusal(no_delay).contains("give a delay"));
    assert!(refusal(DirectionSpec { jitter_ns: 20_000_001, ..limited() }).contains("less jitter or more delay"));
    let marking = QueueSpec { ecn: true, ..QueueSpec::default() };
    assert!(refusal(DirectionSpec { queue: marking, ..limited() }).contains("marks nothing"));
}

#[test]
fn thresholds_fit_the_queue() {
    let red = |min_bytes, max_bytes| Discipline::Red {
        min_bytes,
        max_bytes,
        probability_per_billion: 20_000_000,
        weight_log: 9,
        is_gentle: false,
    };
    let queue = |discipline| QueueSpec { discipline, ..QueueSpec::default() };
    assert!(refusal(DirectionSpec { queue: queue(red(50_000, 50_000)), ..limited() }).contains("0 < min < max"));
    assert!(refusal(DirectionSpec { queue: queue(red(50_000, 250_001)), ..limited() }).contains("never reached"));
    path(DirectionSpec { queue: queue(red(50_000, 150_000)), ..limited() }).validate(MTU_BYTES).expect("valid");
    let codel = Discipline::Codel { target_ns: 100_000_000, interval_ns: 100_000_000 };
    assert!(refusal(DirectionSpec { queue: queue(codel), ..limited() }).contains("between 0 and the interval"));
}

#[test]
fn what_netem_cannot_do_has_a_name() {
    assert_eq!(path(limited()).beyond_netem(), None);
    assert_eq!(path(DirectionSpec { ack_thinning: 4, ..limited() }).beyond_netem(), Some("ACK thinning"));
    let scripted = LossSpec::Scripted { segments: vec![1000, 1003] };
    assert_eq!(path(DirectionSpec { loss: scripted, ..limited() }).beyond_netem(), Some("scripted loss"));
    assert_eq!(path(DirectionSpec { jitter_ns: 1_000, ack_thinning: 1, ..limited() }).beyond_netem(), None);
    let cross = CrossTraffic { rate_bps: 1_000_000, amplitude_bps: 0, period_ns: 0, packet_bytes: 1514 };
    assert_eq!(path(DirectionSpec { cross_traffic: vec![cross], ..limited() }).beyond_netem(), Some("cross traffic"));
    let uneven = DirectionSpec { rate_bps: Some(50_000_001), ..limited() };
    assert_eq!(path(uneven).beyond_netem(), Some("rate that is no multiple of 8 bit/s"));
}

#[test]
fn a_queue_counts_as_the_kernel_s_discipline_does() {
    let codel = Discipline::Codel { target_ns: 5_000_000, interval_ns: 100_000_000 };
    let red = |min_bytes| Discipline::Red {
        min_bytes,
        max_bytes: 2 * min_bytes,
        probability_per_billion: 100_000_000,
        weight_log: 9,
        is_gentle: false,
    };
    let beyond = |limit, discipline| {
        let queue = QueueSpec { limit, discipline, ecn: false };
        path(DirectionSpec { queue, ..limited() }).beyond_netem()
    };
    let (packets, bytes) = (QueueLimit::Packets { packets: 100 }, QueueLimit::Bytes { bytes: 10_000_000 });
    assert_eq!(beyond(packets, codel), None);
    assert!(beyond(bytes, codel).is_some_and(|what| what.contains("only one of packets")));
    assert_eq!(beyond(bytes, red(50_000)), None);
    assert!(beyond(packets, red(50_000)).is_some_and(|what| what.contains("only one of bytes")));
    let gentle = Discipline::Red { min_bytes: 1, max_bytes: 2, probability_per_billion: 1, weight_log: 9, is_gentle: true };
    assert_eq!(beyond(bytes, gentle), Some("gentle RED"));
    // The kernel keeps the average with 9 more bits, in 32.
    assert_eq!(beyond(bytes, red((1 << 22) - 1)), None);
    assert!(beyond(bytes, red(1 << 22)).is_some_and(|what| what.contains("threshold")));
}

/// Of each limit the last value that is allowed and the first that is not.
#[test]
fn limits_are_where_the_refusals_say() {
    fn queued(change: impl FnOnce(&mut QueueSpec)) -> DirectionSpec {
        let mut direction = limited();
        change(&mut direction.queue);
        direction
    }
    let cross = |change: &dyn Fn(&mut CrossTraffic)| {
        let mut cross = CrossTraffic { rate_bps: 1_000_000, amplitude_bps: 1_000_000, period_ns: 5, packet_bytes: 1514 };
        change(&mut cross);
        DirectionSpec { cross_traffic: vec![cross], ..limited() }
    };
    let bursts = |place: usize, per_billion| {
        let mut probability = [5, 5, 5, 5];
        probability[place] = per_billion;
        let [good_to_bad_per_billion, bad_to_good_per_billion, bad_loss_per_billion, good_loss_per_billion] = probability;
        let loss =
            LossSpec::GilbertElliott { good_to_bad_per_billion, bad_to_good_per_billion, bad_loss_per_billion, good_loss_per_billion };
        DirectionSpec { loss, ..limited() }
    };
    let random = |probability_per_billion| DirectionSpec { loss: LossSpec::Random { probability_per_billion }, ..limited() };
    let codel = |target_ns, interval_ns| queued(|queue| queue.discipline = Discipline::Codel { target_ns, interval_ns });
    let red = |min_bytes, max_bytes, probability_per_billion, weight_log| {
        let discipline = Discipline::Red { min_bytes, max_bytes, probability_per_billion, weight_log, is_gentle: false };
        queued(|queue| queue.discipline = discipline)
    };
    let red_of_packets = |packets| {
        let mut direction = red(1, 15_140, 5, 9);
        direction.queue.limit = QueueLimit::Packets { packets };
        direction
    };
    let limit = |limit| queued(|queue| queue.limit = limit);
    let unlimited = |queue| DirectionSpec { rate_bps: None, queue, ..limited() };
    let pairs = [
        (DirectionSpec { delay_ns: MINUTE_NS, ..limited() }, DirectionSpec { delay_ns: MINUTE_NS + 1, ..limited() }),
        (DirectionSpec { jitter_ns: 20_000_000, ..limited() }, DirectionSpec { jitter_ns: 20_000_001, ..limited() }),
        (DirectionSpec { reorder_per_billion: BILLION, ..limited() }, DirectionSpec { reorder_per_billion: BILLION + 1, ..limited() }),
        (DirectionSpec { duplicate_per_billion: BILLION, ..limited() }, DirectionSpec { duplicate_per_billion: BILLION + 1, ..limited() }),
        (
            DirectionSpec { delay_ns: 0, ..limit(QueueLimit::Packets { packets: 1 }) },
            DirectionSpec { delay_ns: 0, reorder_per_billion: 1, ..limit(QueueLimit::Packets { packets: 1 }) },
        ),
        (random(BILLION), random(BILLION + 1)),
        (bursts(0, BILLION), bursts(0, BILLION + 1)),
        (bursts(1, BILLION), bursts(1, BILLION + 1)),
        (bursts(2, BILLION), bursts(2, BILLION + 1)),
        (bursts(3, BILLION), bursts(3, BILLION + 1)),
        (bursts(1, 1), bursts(1, 0)),
        (
            DirectionSpec { rate_bps: Some(1_000), ..limit(QueueLimit::Packets { packets: 1 }) },
            DirectionSpec { rate_bps: Some(999), ..limit(QueueLimit::Packets { packets: 1 }) },
        ),
        (
            DirectionSpec { rate_bps: Some(1_000_000_000_000), ..limited() },
            DirectionSpec { rate_bps: Some(1_000_000_000_001), ..limited() },
        ),
        (limit(QueueLimit::Packets { packets: 1 }), limit(QueueLimit::Packets { packets: 0 })),
        (limit(QueueLimit::Bytes { bytes: 1514 }), limit(QueueLimit::Bytes { bytes: 1513 })),
        (codel(99, 100), codel(100, 100)),
        (codel(1, 2), codel(0, 2)),
        (codel(1, MINUTE_NS), codel(1, MINUTE_NS + 1)),
        (red(1, 2, 5, 9), red(0, 2, 5, 9)),
        (red(1, 2, 5, 9), red(2, 2, 5, 9)),
        (red(1, 250_000, 5, 9), red(1, 250_001, 5, 9)),
        (red_of_packets(10), red_of_packets(9)),
        (red(1, 2, 1, 9), red(1, 2, 0, 9)),
        (red(1, 2, BILLION, 9), red(1, 2, BILLION + 1, 9)),
        (red(1, 2, 5, 1), red(1, 2, 5, 0)),
        (red(1, 2, 5, 24), red(1, 2, 5, 25)),
        (cross(&|cross| (cross.rate_bps, cross.amplitude_bps) = (1, 1)), cross(&|cross| (cross.rate_bps, cross.amplitude_bps) = (0, 0))),
        (cross(&|cross| cross.rate_bps = 1_000_000_000_000), cross(&|cross| cross.rate_bps = 1_000_000_000_001)),
        (cross(&|_| {}), cross(&|cross| cross.amplitude_bps = 1_000_001)),
        (cross(&|cross| (cross.amplitude_bps, cross.period_ns) = (0, 0)), cross(&|cross| cross.amplitude_bps = 0)),
        (cross(&|cross| cross.amplitude_bps = 1), cross(&|cross| cross.period_ns = 0)),
        (cross(&|cross| cross.packet_bytes = 42), cross(&|cross| cross.packet_bytes = 41)),
        (cross(&|cross| cross.packet_bytes = 65_549), cross(&|cross| cross.packet_bytes = 65_550)),
        (
            unlimited(QueueSpec::default()),
            unlimited(QueueSpec { discipline: Discipline::Codel { target_ns: 1, interval_ns: 2 }, ..QueueSpec::default() }),
        ),
        (
            DirectionSpec { loss: LossSpec::Scripted { segments: vec![1, 2] }, ..limited() },
            DirectionSpec { loss: LossSpec::Scripted { segments: vec![2, 2] }, ..limited() },
        ),
    ];
    for (allowed, refused) in pairs {
        assert_eq!(path(allowed).validate(MTU_BYTES), Ok(()));
        path(refused.clone()).validate(MTU_BYTES).expect_err(&format!("{refused:?} is beyond a limit"));
    }
    for (interval_ns, is_allowed) in [(99_999, false), (100_000, true), (MINUTE_NS, true), (MINUTE_NS + 1, false)] {
        assert_eq!(PathSpec { interval_ns, ..path(limited()) }.validate(MTU_BYTES).is_ok(), is_allowed, "{interval_ns}");
    }
    let backward = DirectionSpec { delay_ns: MINUTE_NS + 1, ..DirectionSpec::default() };
    assert_eq!(PathSpec { backward, ..path(limited()) }.validate(MTU_BYTES).map_err(|error| error.place), Err("backward"));
}

proptest! {
    /// No delay and no rate, however large, makes the arithmetic of the check overflow.
    #[test]
    fn a_check_never_panics(rate_bps in any::<Option<u64>>(), delay_ns in any::<u64>(), bytes in any::<u64>(), mtu_bytes in 68u32..=65_535) {
        let queue = QueueSpec { limit: QueueLimit::Packets { packets: bytes }, ..QueueSpec::default() };
        let mut spec = path(DirectionSpec { rate_bps, delay_ns, queue, ..DirectionSpec::default() });
        let _ = spec.validate(mtu_bytes);
        spec.forward.queue.limit = QueueLimit::BandwidthDelayProduct;
        let _ = spec.validate(mtu_bytes);
    }
}
