//! Which disciplines a path becomes. What the kernel makes of them is seen in `counted` and, where a
//! kernel has netem, in tests/kernels.

use path::netem::plan::{Child, DirectionPlan, Loss, Netem, Plan, Qdisc, Share, Tbf, plan};
use schema::path::{DirectionSpec, Discipline, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};

const MTU_BYTES: u32 = 1500;
const MS: u64 = 1_000_000;

fn planned(forward: DirectionSpec, backward: DirectionSpec) -> Plan {
    let spec = PathSpec { implementation: PathImplementation::Netem, seed: 7, forward, backward, interval_ns: MS };
    spec.validate(MTU_BYTES).expect("a path that can be");
    assert_eq!(spec.beyond_netem(), None);
    plan(&spec, MTU_BYTES)
}

fn limited(limit: QueueLimit, discipline: Discipline) -> DirectionSpec {
    let queue = QueueSpec { limit, discipline, ecn: false };
    DirectionSpec { rate_bps: Some(50_000_000), delay_ns: 20 * MS, queue, ..DirectionSpec::default() }
}

fn tbf(way: &DirectionPlan) -> &Tbf {
    match &way.bottleneck {
        Some(Qdisc::Tbf(tbf)) => tbf,
        other => panic!("{other:?}"),
    }
}

fn netem(qdisc: Option<&Qdisc>) -> Netem {
    match qdisc {
        Some(Qdisc::Netem(netem)) => *netem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_queue_of_packets_is_a_netem_before_the_one_that_delays() {
    let Plan([forward, backward]) = planned(
        limited(QueueLimit::Packets { packets: 165 }, Discipline::DropTail),
        DirectionSpec { delay_ns: MS, ..DirectionSpec::default() },
    );
    assert_eq!(forward.edge, None);
    let bottleneck = Netem { limit_packets: 165, rate_bytes_per_s: 6_250_000, ..Netem::default() };
    assert_eq!(netem(forward.bottleneck.as_ref()), bottleneck);
    let line = netem(forward.line.as_ref());
    assert_eq!((line.delay_ns, line.rate_bytes_per_s, line.seed), (20 * MS, 0, None));
    // 125 000 bytes are in flight; in the smallest packets that are 2083, and twice as many have room.
    assert_eq!(line.limit_packets, 2 * (125_000 / 60));
    // Ways differ: no rate back, so no bottleneck.
    assert_eq!(backward.bottleneck, None);
    assert_eq!(netem(backward.line.as_ref()).delay_ns, MS);
}

#[test]
fn a_queue_of_bytes_is_a_bucket_that_catches_up_with_late_timers() {
    let Plan([forward, _]) = planned(limited(QueueLimit::Bytes { bytes: 250_000 }, Discipline::DropTail), DirectionSpec::default());
    assert_eq!(tbf(&forward), &Tbf { rate_bytes_per_s: 6_250_000, burst_bytes: 6250, child: Child::Bytes(250_000) });
    let slow = DirectionSpec { rate_bps: Some(1_000_000), ..limited(QueueLimit::Bytes { bytes: 250_000 }, Discipline::DropTail) };
    let Plan([forward, _]) = planned(slow, DirectionSpec::default());
    assert_eq!(tbf(&forward).burst_bytes, 2 * 1514);
}

#[test]
fn disciplines_are_the_bucket_s_queue() {
    let codel = Discipline::Codel { target_ns: 5 * MS, interval_ns: 100 * MS };
    let Plan([forward, _]) = planned(limited(QueueLimit::Packets { packets: 1000 }, codel), DirectionSpec::default());
    let child = Child::Codel { limit_packets: 1000, target_us: 5000, interval_us: 100_000, ecn: false };
    assert_eq!(tbf(&forward).child, child);
    assert!(child.bucket_limit_bytes() > 1 << 30, "the queue's limit is the discipline's");
    let red =
        Discipline::Red { min_bytes: 50_000, max_bytes: 250_000, probability_per_billion: 200_000_000, weight_log: 9, is_gentle: false };
    let Plan([forward, _]) = planned(limited(QueueLimit::Bytes { bytes: 1_000_000 }, red), DirectionSpec::default());
    let Child::Red(red) = tbf(&forward).child else { panic!("{forward:?}") };
    assert_eq!((red.limit_bytes, red.min_bytes, red.max_bytes, red.weight_log), (1_000_000, 50_000, 250_000, 9));
    // 20 % of 2^32.
    assert_eq!(red.probability, 858_993_459);
    assert_eq!(red.packet_ns, 242_240);
}

#[test]
fn random_loss_lies_on_the_sender_s_device_with_a_seed_for_each() {
    let bursts = LossSpec::GilbertElliott {
        good_to_bad_per_billion: 10_000_000,
        bad_to_good_per_billion: 500_000_000,
        bad_loss_per_billion: 750_000_000,
        good_loss_per_billion: 0,
    };
    let lossy =
        |loss| DirectionSpec { loss, delay_ns: MS, jitter_ns: MS / 2, duplicate_per_billion: 1_000_000, ..DirectionSpec::default() };
    let Plan([forward, backward]) = planned(lossy(bursts), lossy(LossSpec::Random { probability_per_billion: 1_000_000_000 }));
    // p, r, what the bad state lets through, what the good one loses.
    let shares = [10_000_000, 500_000_000, 250_000_000, 0].map(Share::from_billion);
    assert_eq!(netem(forward.edge.as_ref()).loss, Loss::Chain(shares));
    assert_eq!(netem(backward.edge.as_ref()).loss, Loss::Random(Share(u32::MAX)));
    let places = [&forward.edge, &backward.edge, &forward.line, &backward.line];
    let seeds: std::collections::BTreeSet<_> = places.iter().map(|place| netem(place.as_ref()).seed.expect("a seed")).collect();
    assert_eq!(seeds.len(), 4);
    // With a rate, however high, netem keeps packets in order though their delays differ.
    assert!(netem(forward.line.as_ref()).rate_bytes_per_s > 1 << 32);
}
