//! An emulated path by the kernel's own disciplines, on the real kernel. Needs root and the
//! disciplines; without them every test says so and passes.

use std::process::Command;

use crate::support::{Exclusive, received_twice, spec, transfer_counted, when_privileged};
use path::netem::{Counted, Interval};
use path::{Carried, PathError, Testbed, build};
use schema::path::{DirectionSpec, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};
use schema::testbed::{TestbedEnd, TestbedSpec};

const MS: u64 = 1_000_000;
const MSS_BYTES: usize = 1448;
const FRAME_BYTES: u64 = 1514;

fn path_spec(forward: DirectionSpec, backward: DirectionSpec) -> PathSpec {
    PathSpec { implementation: PathImplementation::Netem, seed: 1, forward, backward, interval_ns: 10 * MS }
}

/// A testbed that is this path from now on; `None`, and says so, where it cannot be here.
fn with_path(path: &PathSpec) -> Option<(Exclusive, Testbed)> {
    let guard = when_privileged()?;
    let asked = TestbedSpec { path: Some(path.clone()), path_cpu: Some(0), tso: false, gso: false, gro: false, ..spec() };
    let testbed = build(&asked).expect("build");
    match testbed.carry_path(path, MS) {
        Err(error @ PathError::Path { .. }) if error.to_string().contains("queueing discipline") => {
            eprintln!("skipped: {error}");
            return None;
        }
        carried => carried.expect("carry"),
    }
    testbed.begin_path(0).expect("begin");
    Some((guard, testbed))
}

fn ended(testbed: &Testbed) -> Counted {
    match testbed.end_path().expect("end") {
        Carried::Counted(counted) => counted,
        Carried::Routed(_) => panic!("netem was asked for"),
    }
}

fn sum(intervals: &[Interval], of: impl Fn(&Interval) -> u64) -> u64 {
    intervals.iter().map(of).sum()
}

/// Sends all of `bytes`; how many segments the sender sent again.
fn sent_over(near: &TestbedEnd, far: &TestbedEnd, address: &str, bytes: usize) -> u64 {
    let (received, again) = transfer_counted(near, far, address, bytes);
    assert_eq!(received, bytes);
    u64::from(again)
}

/// Needs nothing but tbf, which has a queue of bytes.
#[test]
fn what_the_bottleneck_drops_is_sent_again_and_counted() {
    let queue = QueueSpec { limit: QueueLimit::Bytes { bytes: 20 * FRAME_BYTES }, ..QueueSpec::default() };
    let path = path_spec(DirectionSpec { rate_bps: Some(40_000_000), queue, ..DirectionSpec::default() }, DirectionSpec::default());
    let Some((_guard, testbed)) = with_path(&path) else { return };
    let (near, far) = (&testbed.report().near, &testbed.report().far);
    for address in [&far.ipv4, &far.ipv6] {
        testbed.carry_path(&path, MS).expect("carry");
        testbed.begin_path(0).expect("begin");
        let before = received_twice(far);
        let again = sent_over(near, far, address, 1000 * MSS_BYTES);
        let twice = received_twice(far) - before;
        let counted = ended(&testbed);
        let [forward, backward] = &counted.intervals;
        let dropped = sum(forward, |interval| interval.dropped_full_packets);
        assert!(dropped > 0, "{forward:?}");
        // On a host that stalls the sender probes a loss that was none (RFC 8985 section 7), or its timer
        // expires for none, and what it sends so may be dropped, too; else it arrives twice.
        assert!(again + 3 >= dropped && again <= dropped + twice + 3, "{again} sent again for {dropped}, {twice} came twice");
        let passed = sum(forward, |interval| interval.passed_packets.expect("tbf counts"));
        // What was sent again for no loss may still wait in the queue when this begins, and when it ends.
        let arrived = sum(forward, |interval| interval.arrived_packets.expect("tbf counts"));
        let [waits, waited] =
            [forward.last().map_or(0, |last| last.queue_bytes[1]), forward.first().map_or(0, |first| first.queue_bytes[0])]
                .map(|bytes| bytes.div_ceil(FRAME_BYTES));
        // A last packet may be a short one.
        assert!((arrived + waited).abs_diff(passed + dropped + waits) <= 1, "{arrived} {waited} {passed} {dropped} {waits}");
        assert!(passed >= 1000, "{passed}");
        let most_bytes = forward.iter().map(|interval| interval.queue_bytes[1]).max().expect("intervals");
        assert!(most_bytes <= 20 * FRAME_BYTES, "{most_bytes}");
        // Where nothing lies, nothing is counted.
        assert!(backward.iter().all(|interval| interval.passed_packets.is_none()));
        assert_eq!((counted.audit.late_packets, counted.audit.device_dropped_packets), (None, 0));
        assert!(counted.audit.unaudited[0].contains("late"), "{:?}", counted.audit);
    }
}

#[test]
fn loss_begins_with_the_path_and_ends_with_it() {
    let at_random = LossSpec::Random { probability_per_billion: 20_000_000 };
    let path = path_spec(
        DirectionSpec { loss: at_random, delay_ns: MS, ..DirectionSpec::default() },
        DirectionSpec { delay_ns: MS, ..DirectionSpec::default() },
    );
    let Some((_guard, testbed)) = with_path(&path) else { return };
    let (near, far) = (&testbed.report().near, &testbed.report().far);
    let again = sent_over(near, far, &far.ipv4, 2000 * MSS_BYTES);
    let counted = ended(&testbed);
    let lost = sum(&counted.intervals[0], |interval| interval.lost_random_packets);
    let twice = received_twice(far);
    assert!(lost > 0 && again >= lost && again - lost <= twice + 3, "{again} sent again for {lost}, {twice} came twice");
    let again = sent_over(near, far, &far.ipv4, 2000 * MSS_BYTES);
    assert!(again <= received_twice(far) - twice, "{again} sent again, although nothing was lost");
}

#[test]
fn the_namespaces_go_with_the_testbed() {
    let path = path_spec(DirectionSpec { rate_bps: Some(8_000_000), ..DirectionSpec::default() }, DirectionSpec::default());
    let queue = QueueSpec { limit: QueueLimit::Bytes { bytes: 100_000 }, ..QueueSpec::default() };
    let path = PathSpec { forward: DirectionSpec { queue, ..path.forward }, ..path };
    let Some((_guard, testbed)) = with_path(&path) else { return };
    let listed = Command::new("tc").args(["qdisc", "show"]).output().expect("tc");
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("path-"), "the host has none of it");
    let netns = testbed.report().middle.clone().expect("middle").netns;
    drop(testbed);
    assert!(std::fs::File::open(netns).is_err(), "nobody holds the namespace any more");
}
