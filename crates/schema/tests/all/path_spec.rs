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

fn cross(rate_bps: u64, amplitude_bps: u64, period_ns: u64, packet_bytes: u32) -> Vec<CrossTraffic> {
    vec![CrossTraffic { rate_bps, amplitude_bps, period_ns, packet_bytes }]
}

fn red(min_bytes: u64, max_bytes: u64, probability_per_billion: u32, weight_log: u8) -> Discipline {
    Discipline::Red { min_bytes, max_bytes, probability_per_billion, weight_log, is_gentle: false }
}

fn bursts(good_to_bad_per_billion: u32, bad_to_good_per_billion: u32, bad_loss_per_billion: u32, good_loss_per_billion: u32) -> LossSpec {
    LossSpec::GilbertElliott { good_to_bad_per_billion, bad_to_good_per_billion, bad_loss_per_billion, good_loss_per_billion }
}

/// What is changed of a path of 50 Mbit/s and 20 ms, and a part of the refusal.
type Refused = (fn(&mut DirectionSpec), &'static str);

const REFUSED: &[Refused] = &[
    (|path| path.delay_ns = MINUTE_NS + 1, "choose a minute at most"),
    (|path| path.jitter_ns = 20_000_001, "less jitter or more delay"),
    (|path| (path.delay_ns, path.reorder_per_billion, path.queue.limit) = (0, 1, ONE_PACKET), "give a delay"),
    (|path| path.reorder_per_billion = BILLION + 1, "reorder_per_billion is 1000000001, more than"),
    (|path| path.duplicate_per_billion = BILLION + 1, "duplicate_per_billion is"),
    (|path| path.loss = LossSpec::Random { probability_per_billion: BILLION + 1 }, "a probability of 1"),
    (|path| path.loss = bursts(BILLION + 1, 5, 5, 5), "good_to_bad_per_billion is"),
    (|path| path.loss = bursts(5, BILLION + 1, 5, 5), "bad_to_good_per_billion is"),
    (|path| path.loss = bursts(5, 5, BILLION + 1, 5), "bad_loss_per_billion is"),
    (|path| path.loss = bursts(5, 5, 5, BILLION + 1), "good_loss_per_billion is"),
    (|path| path.loss = bursts(5, 0, 5, 0), "never left"),
    (|path| path.loss = LossSpec::Scripted { segments: vec![0, 3] }, "counted from 1"),
    (|path| path.loss = LossSpec::Scripted { segments: vec![5, 5] }, "ascending"),
    (|path| path.loss = LossSpec::Scripted { segments: vec![7, 5] }, "ascending"),
    (|path| (path.rate_bps, path.queue.limit) = (Some(999), ONE_PACKET), "choose 1 kbit/s to 1 Tbit/s"),
    (|path| path.rate_bps = Some(1_000_000_000_001), "choose 1 kbit/s to 1 Tbit/s"),
    (|path| path.queue.limit = QueueLimit::Packets { packets: 0 }, "a queue of 0 packets"),
    (|path| path.queue.limit = QueueLimit::Bytes { bytes: 1513 }, "a queue of 1513 bytes holds no packet of 1514 bytes"),
    (|path| (path.rate_bps, path.delay_ns) = (Some(100_000), 1_000_000), "bandwidth-delay product is 262 bytes"),
    (|path| path.queue.ecn = true, "marks nothing"),
    (|path| path.queue.discipline = Discipline::Codel { target_ns: 9, interval_ns: 9 }, "between 0 and the interval"),
    (|path| path.queue.discipline = Discipline::Codel { target_ns: 0, interval_ns: 9 }, "between 0 and the interval"),
    (|path| path.queue.discipline = Discipline::Codel { target_ns: 1, interval_ns: MINUTE_NS + 1 }, "between 0 and the interval"),
    (|path| path.queue.discipline = red(0, 50_000, 5, 9), "0 < min < max"),
    (|path| path.queue.discipline = red(50_000, 50_000, 5, 9), "0 < min < max"),
    (|path| path.queue.discipline = red(50_000, 250_001, 5, 9), "never reached in a queue of 250000"),
    (|path| path.queue.discipline = red(1, 2, 0, 9), "a probability of 0"),
    (|path| path.queue.discipline = red(1, 2, BILLION + 1, 9), "probability_per_billion is"),
    (|path| path.queue.discipline = red(1, 2, 5, 0), "an exponent of 1 to 24"),
    (|path| path.queue.discipline = red(1, 2, 5, 25), "an exponent of 1 to 24"),
    (|path| path.cross_traffic = cross(0, 0, 0, 1514), "choose 1 bit/s to 1 Tbit/s"),
    (|path| path.cross_traffic = cross(1_000_000_000_001, 0, 0, 1514), "choose 1 bit/s to 1 Tbit/s"),
    (|path| path.cross_traffic = cross(5, 6, 9, 1514), "below 0"),
    (|path| path.cross_traffic = cross(5, 5, 0, 1514), "both an amplitude and a period"),
    (|path| path.cross_traffic = cross(5, 0, 9, 1514), "both an amplitude and a period"),
    (|path| path.cross_traffic = cross(5, 0, 0, 41), "41"),
    (|path| path.cross_traffic = cross(5, 0, 0, 65_550), "65550"),
    (|path| (path.rate_bps, path.cross_traffic) = (None, cross(5, 0, 0, 1514)), "give a rate"),
    (|path| (path.rate_bps, path.queue.discipline) = (None, red(1, 2, 5, 9)), "without a rate no queue builds up"),
];
const ONE_PACKET: QueueLimit = QueueLimit::Packets { packets: 1 };

#[test]
fn what_cannot_be_is_refused_with_what_to_change() {
    for (number, (change, expected)) in REFUSED.iter().enumerate() {
        let mut forward = limited();
        change(&mut forward);
        let refusal = path(forward).validate(MTU_BYTES).expect_err(&format!("{number}: {expected}")).to_string();
        assert!(refusal.starts_with("path forward: ") && refusal.contains(expected), "{expected}: {refusal}");
    }
    let backward = DirectionSpec { delay_ns: MINUTE_NS + 1, ..DirectionSpec::default() };
    assert_eq!(PathSpec { backward, ..path(limited()) }.validate(MTU_BYTES).map_err(|error| error.place), Err("backward"));
    for (interval_ns, is_allowed) in [(99_999, false), (100_000, true), (MINUTE_NS + 1, false)] {
        assert_eq!(PathSpec { interval_ns, ..path(limited()) }.validate(MTU_BYTES).is_ok(), is_allowed, "{interval_ns}");
    }
}

#[test]
fn what_a_path_can_be_at_most_is_allowed() {
    let most = DirectionSpec { delay_ns: MINUTE_NS, jitter_ns: MINUTE_NS, reorder_per_billion: BILLION, ..limited() };
    let slow = DirectionSpec { rate_bps: Some(1_000), queue: QueueSpec { limit: ONE_PACKET, ..QueueSpec::default() }, ..limited() };
    let red = QueueSpec { discipline: red(1, 250_000, BILLION, 24), ecn: true, ..QueueSpec::default() };
    let shared = DirectionSpec { cross_traffic: cross(5, 5, 9, 1514), queue: red, loss: bursts(BILLION, 1, 0, BILLION), ..limited() };
    for forward in [most, slow, shared] {
        assert_eq!(path(forward).validate(MTU_BYTES), Ok(()));
    }
}

#[test]
fn a_queue_without_a_limit_holds_the_bandwidth_delay_product() {
    let path = path(limited());
    path.validate(MTU_BYTES).expect("valid");
    assert_eq!(path.queue_limit(&path.forward), Some(QueueLimit::Bytes { bytes: 250_000 }));
    assert_eq!(path.queue_limit(&path.backward), None);
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
