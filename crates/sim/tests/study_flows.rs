//! The segment flows of study 1, to the byte, for every set of the ensemble.

mod study;

use sim::end_system::Cause;
use study::{MEGABYTES, NEW, Pair, Transfer, of, payloads, sets, share};

/// Phases of the timer in which a flow is looked at: it strikes the last 4 bytes of a segment in some, which gives another flow.
const PHASES: u64 = 16;

#[test]
fn a_write_of_the_window_goes_in_two_segments_for_each_acknowledgment() {
    for set in 0..sets() {
        let outcome = Pair::of_set(NEW, set).run(of(8192, 8192));
        assert!(share(&outcome, &[4096, 4096]) > 0.9, "set {set}: {}", share(&outcome, &[4096, 4096]));
    }
}

#[test]
fn a_write_of_8704_goes_as_4096_4096_and_512() {
    for set in 0..sets() {
        let sent = payloads(&Pair::of_set(NEW, set).run(of(8192, 8704)));
        let triples = sent.chunks_exact(3).filter(|triple| *triple == [4096, 4096, 512]).count();
        assert!(triples * 3 > sent.len() * 9 / 10, "set {set}: {triples} of {}", sent.len() / 3);
    }
}

#[test]
fn a_timer_changes_the_flow_of_writes_of_a_small_window() {
    // Whole windows at first; then the timer's acknowledgments announce what was just freed, and that is buffers of
    // 44 and 1012 bytes. Which flow a run has depends on the phase of the timer; a third change would give 3040 and 1056.
    let known: [&[u32]; 4] = [&[4096], &[1016, 3080], &[2028, 2068], &[3040, 1056]];
    for set in 0..sets() {
        let pair = Pair::of_set(NEW, set);
        let mut seen = [0.0; 4];
        for seed in 0..PHASES {
            let outcome = pair.run(Transfer { seed, bytes: 16 * MEGABYTES, ..of(4096, 4096) });
            assert_eq!(payloads(&outcome)[..3], [4096; 3], "set {set}");
            known.iter().zip(&mut seen).for_each(|(cycle, seen)| *seen += share(&outcome, cycle) / PHASES as f64);
        }
        assert!(seen.iter().sum::<f64>() > 0.9, "set {set}: {seen:?}");
        assert!(seen[0] > 0.0 && seen[1] > 0.0, "set {set}: {seen:?}");
    }
}

#[test]
fn the_later_flow_of_2028_and_2068_is_there_in_some_phases() {
    let pair = Pair::shipped(NEW);
    let seen = (0..40).map(|seed| {
        let outcome = pair.run(Transfer { seed, bytes: 16 * MEGABYTES, ..of(4096, 4096) });
        share(&outcome, &[2028, 2068])
    });
    let seen: Vec<f64> = seen.collect();
    assert!(seen.iter().any(|&share| share > 0.05), "{seen:?}");
}

#[test]
fn the_change_begins_with_an_acknowledgment_of_the_timer() {
    let outcome = Pair::shipped(NEW).run(Transfer { bytes: 16 * MEGABYTES, ..of(4096, 4096) });
    let entries = &outcome.log.entries;
    let changed = entries.iter().position(|entry| entry.segment.bytes == 3080).expect("the flow changes");
    let before = entries[..changed].iter().rev().find(|entry| entry.from == 1).expect("an acknowledgment");
    assert_eq!((before.cause, before.segment.window), (Cause::DelayedAck, 3080));
}

#[test]
fn half_a_window_is_acknowledged_each_time() {
    for set in 0..sets() {
        let outcome = Pair::of_set(NEW, set).run(of(4096, 2048));
        let sent = payloads(&outcome);
        assert!(sent.iter().filter(|&&bytes| bytes == 2048).count() * 100 > sent.len() * 98, "set {set}");
        let acknowledgments = outcome.states[1].pure_acks;
        let two = 2 * 4 * MEGABYTES / 4096;
        assert!(acknowledgments.abs_diff(two) * 100 < two, "set {set}: {acknowledgments}");
    }
}

#[test]
fn writes_of_7168_stop_and_go_and_drop() {
    for set in 0..sets() {
        let pair = Pair::of_set(NEW, set);
        let outcome = pair.run(of(8192, 7168));
        assert!(share(&outcome, &[1024, 6144]) > 0.9, "set {set}: {}", share(&outcome, &[1024, 6144]));
        let rate = |call| pair.run(of(8192, call)).goodput_bps(1);
        assert!(rate(7168) < 0.92 * rate(8192), "set {set}");
        assert!(rate(8704) < 0.92 * rate(8192), "set {set}");
    }
}
