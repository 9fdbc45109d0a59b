//! A stream of Linux over an emulated path: what its bottleneck, queue, loss and delay make of it.

use emulate::ledger::Tally;
use schema::path::{DirectionSpec, Discipline, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};
use sim::application::Application;
use sim::link::path::Path;
use sim::machine::{Buffers, build_with};
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::time::MS;
use sim::world::{End, Outcome, Sample, WorldSpec, run_sampled};

const BYTES: u64 = 10_000_000;
const RATE_BPS: u64 = 50_000_000;
const DELAY_NS: u64 = 10_000_000;
/// Payload and frame of a whole segment at MTU 1500 with time stamps.
const SEGMENT: [f64; 2] = [1448.0, 1514.0];
const SEGMENT_BYTES: u32 = 1448;

fn queue(bytes: u64, discipline: Discipline) -> QueueSpec {
    QueueSpec { limit: QueueLimit::Bytes { bytes }, discipline, ecn: false }
}

fn bottleneck(bytes: u64, discipline: Discipline) -> DirectionSpec {
    DirectionSpec { rate_bps: Some(RATE_BPS), delay_ns: DELAY_NS, queue: queue(bytes, discipline), ..DirectionSpec::default() }
}

fn transfer(forward: DirectionSpec) -> (Outcome, Vec<Sample>) {
    transfer_with(forward, true)
}

fn transfer_with(forward: DirectionSpec, time_stamps: bool) -> (Outcome, Vec<Sample>) {
    transfer_by("cubic", forward, time_stamps, BYTES)
}

fn transfer_by(control: &str, forward: DirectionSpec, time_stamps: bool, bytes: u64) -> (Outcome, Vec<Sample>) {
    let backward = DirectionSpec { delay_ns: DELAY_NS, ..DirectionSpec::default() };
    let spec = PathSpec { implementation: PathImplementation::Auto, seed: 3, forward, backward, interval_ns: 10_000_000 };
    spec.validate(1500).expect("it can be");
    let mut profile = Library::shipped().and_then(|library| library.resolve("linux-6.18+veth")).expect("shipped");
    profile.set("completion", Value::Word("timed".to_owned())).expect("the rule is there");
    profile.set("time_stamps", Value::Switch(time_stamps)).expect("the rule is there");
    profile.set("congestion_control", Value::Word(control.to_owned())).expect("the rule is there");
    let buffers = Buffers { has_ecn: spec.forward.queue.ecn, ..Buffers::default() };
    let writer = build_with(&profile, &buffers, Application::Writer { call_bytes: 65_536, left_bytes: bytes }, 1);
    let reader = build_with(&profile, &buffers, Application::Reader { call_bytes: 65_536, left_bytes: bytes }, 2);
    let ((writer, link), (reader, _)) = (writer.expect("it can be"), reader.expect("it can be"));
    let world = WorldSpec { link, until: None, is_logged: true };
    let path = Path::new(&spec, link.headers_bytes, SEGMENT_BYTES);
    let (outcome, samples) = run_sampled(&world, Some(path), [writer, reader], &mut (1..).map(|number| number * 100 * MS));
    assert_eq!((&outcome.end, outcome.states[1].read_bytes), (&End::Complete, bytes));
    (outcome, samples)
}

/// The longest smoothed round trip behind the first second, in ms.
fn longest_ms(samples: &[Sample]) -> f64 {
    samples.iter().skip(10).map(|sample| sample.states[0].srtt).max().expect("it takes longer") as f64 / MS as f64
}

#[test]
fn a_bottleneck_is_filled_and_a_full_queue_drops() {
    let (outcome, samples) = transfer(bottleneck(125_000, Discipline::DropTail));
    let most = RATE_BPS as f64 * SEGMENT[0] / SEGMENT[1];
    let ratio = outcome.goodput_bps(1) / most;
    assert!((0.9..1.0).contains(&ratio), "{ratio}");
    // The queue is one of the path's own delay: the round trip goes from 20 ms to 40 and no further.
    assert!((35.0..41.0).contains(&longest_ms(&samples)), "{}", longest_ms(&samples));
    let dropped: u64 = outcome.path[0].iter().map(|tally| tally.dropped_full_packets).sum();
    assert!(dropped > 0 && dropped == outcome.lost_frames[0], "{dropped} of {:?}", outcome.lost_frames);
    // What was dropped leaves again, and hardly anything else.
    let again = outcome.states[0].retransmitted_segments;
    assert!((dropped..=dropped + dropped / 10 + 2).contains(&again), "{again} for {dropped}");
    assert!(outcome.path[0].iter().map(|tally| tally.queue_bytes_max).max() <= Some(125_000));
}

#[test]
fn the_receivers_log_has_each_packet_that_came_out() {
    let (outcome, _) = transfer(bottleneck(125_000, Discipline::DropTail));
    let came: Vec<_> = outcome.log.came.iter().filter(|entry| entry.from == 0).collect();
    let passed: u64 = outcome.path[0].iter().map(|tally| tally.passed_packets).sum();
    assert_eq!(came.len() as u64, passed);
    // One after the other, as the bottleneck sends them: 1514 bytes take 242 us.
    assert!(came.iter().all(|entry| entry.segment.wire_segments_count == 1));
    assert!(came.windows(2).all(|pair| pair[0].arrives <= pair[1].arrives));
    let whole = came.windows(2).filter(|pair| pair[1].segment.bytes == SEGMENT_BYTES);
    assert!(whole.clone().count() > 1000);
    assert!(whole.clone().all(|pair| pair[1].arrives - pair[0].arrives >= 242_240_000 - 1000));
}

#[test]
fn codel_keeps_a_long_queue_short() {
    let drop_tail = transfer(bottleneck(1_000_000, Discipline::DropTail));
    let codel = transfer(bottleneck(1_000_000, Discipline::Codel { target_ns: 5_000_000, interval_ns: 100_000_000 }));
    let held = |outcome: &Outcome| outcome.path[0].iter().map(|tally| tally.queue_bytes_ns_sum).sum::<u64>();
    assert!(held(&codel.0) * 3 < held(&drop_tail.0), "{} and {}", held(&codel.0), held(&drop_tail.0));
    assert!(codel.0.path[0].iter().any(|tally| tally.dropped_early_packets > 0));
}

#[test]
fn nothing_is_lost_for_good_whatever_the_path_does() {
    let whole = bottleneck(125_000, Discipline::DropTail);
    let random = DirectionSpec { loss: LossSpec::Random { probability_per_billion: 20_000_000 }, ..whole.clone() };
    let twice = DirectionSpec { duplicate_per_billion: 50_000_000, ..whole.clone() };
    let overtaken = DirectionSpec { reorder_per_billion: 10_000_000, ..whole.clone() };
    let wandering = DirectionSpec { jitter_ns: 5_000_000, ..whole.clone() };
    for forward in [random, twice, overtaken, wandering] {
        let (outcome, _) = transfer(forward.clone());
        let (again, _) = transfer(forward);
        assert_eq!(outcome.duration, again.duration);
        assert_eq!(outcome.states, again.states);
    }
}

#[test]
fn what_is_only_reordered_takes_no_window_with_time_stamps() {
    let reordering = || DirectionSpec {
        delay_ns: DELAY_NS,
        reorder_per_billion: 2_000_000,
        jitter_ns: 0,
        rate_bps: Some(1_000_000_000),
        ..bottleneck(5_000_000, Discipline::DropTail)
    };
    let [with, without] = [true, false].map(|time_stamps| transfer_with(reordering(), time_stamps).0);
    assert_eq!(with.lost_frames, [0, 0]);
    assert!(with.duration * 3 < without.duration * 2, "{} and {}", with.duration, without.duration);
    let least = |outcome: &Outcome| {
        let late = outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.sequence > BYTES / 2);
        late.map(|entry| entry.cwnd_bytes).min()
    };
    assert!(least(&with) > least(&without));
}

fn sum(outcome: &Outcome, count: fn(&Tally) -> u64) -> u64 {
    outcome.path[0].iter().map(count).sum()
}

#[test]
fn a_marking_queue_loses_nothing_and_every_mark_takes_window() {
    let discipline = Discipline::Codel { target_ns: 5_000_000, interval_ns: 100_000_000 };
    let marking = || DirectionSpec { queue: QueueSpec { ecn: true, ..queue(1_000_000, discipline) }, ..bottleneck(0, discipline) };
    for control in ["reno", "cubic"] {
        let (outcome, _) = transfer_by(control, marking(), true, BYTES);
        let (marked, lost) = (sum(&outcome, |tally| tally.marked_packets), outcome.lost_frames[0]);
        assert!(marked >= 2 && lost == 0 && outcome.states[0].retransmitted_segments == 0, "{control}: {marked} marked, {lost} lost");
        // The queue is as short as one that drops, and the rate hardly lower.
        let dropping = transfer_by(control, bottleneck(1_000_000, discipline), true, BYTES).0;
        let held = |outcome: &Outcome| sum(outcome, |tally| tally.queue_bytes_ns_sum) as f64 / outcome.duration as f64;
        assert!(held(&outcome) < 2.0 * held(&dropping), "{control}: {} and {}", held(&outcome), held(&dropping));
        assert!(outcome.goodput_bps(1) > 0.9 * dropping.goodput_bps(1), "{control}");
        // Each first mark of a round trip is answered once: CWR goes out as often as the window falls, and no more.
        let said = outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.flags.is_window_reduced).count() as u64;
        assert!(said >= 2 && said <= marked, "{control}: {said} for {marked}");
        // Hosts that do not ask cannot be marked.
        let mut unasked = marking();
        unasked.queue.ecn = false;
        assert_eq!(sum(&transfer_by(control, unasked, true, BYTES).0, |tally| tally.marked_packets), 0);
    }
}

#[test]
fn bbr_fills_the_path_and_not_its_queue() {
    // A queue of four times what fills the path.
    let forward = || bottleneck(500_000, Discipline::DropTail);
    let bytes = 80_000_000;
    let (bbr, samples) = transfer_by("bbr", forward(), true, bytes);
    let most = RATE_BPS as f64 * SEGMENT[0] / SEGMENT[1];
    let ratio = bbr.goodput_bps(1) / most;
    assert!((0.93..1.0).contains(&ratio), "{ratio}");
    assert_eq!(bbr.lost_frames[0], 0);
    let cubic = transfer_by("cubic", forward(), true, bytes).0;
    let held = |outcome: &Outcome| sum(outcome, |tally| tally.queue_bytes_ns_sum) as f64 / outcome.duration as f64;
    assert!(4.0 * held(&bbr) < held(&cubic), "{} and {}", held(&bbr), held(&cubic));
    // The window is twice what fills the path, and four segments while the round trip is looked for, every ten seconds.
    let windows: Vec<u64> = samples.iter().map(|sample| sample.states[0].cwnd_bytes / u64::from(SEGMENT_BYTES)).collect();
    let probed = windows.iter().position(|&window| window == 4).expect("it probes");
    assert!((100..106).contains(&probed), "{probed}");
    assert!(windows[50..90].iter().all(|window| (170..230).contains(window)), "{:?}", &windows[50..90]);
}

#[test]
fn bbr_keeps_its_rate_under_random_loss() {
    let lossy =
        || DirectionSpec { loss: LossSpec::Random { probability_per_billion: 10_000_000 }, ..bottleneck(125_000, Discipline::DropTail) };
    let [bbr, cubic] = ["bbr", "cubic"].map(|control| transfer_by(control, lossy(), true, 20_000_000).0.goodput_bps(1));
    assert!(bbr > 0.85 * RATE_BPS as f64 && cubic < 0.5 * bbr, "{bbr} and {cubic}");
}
