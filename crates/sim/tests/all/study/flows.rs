//! The segment flows of study 1, to the byte, for every set of the ensemble.

use super::{MEGABYTES, NEW, Pair, Transfer, of, payloads, sets, share};
use sim::application::Application;
use sim::end_system::Cause;
use sim::sunos::host::Host;
use sim::sunos::spec::HostSpec;
use sim::world::{End, WorldSpec, run};

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
    // 44 and 1012 bytes: 3080 first, 2068 where the timer strikes a copy again. When it does depends on its phase.
    let known: [&[u32]; 3] = [&[4096], &[1016, 3080], &[2028, 2068]];
    let mut seen = [0.0; 3];
    for seed in 0..4 {
        let outcome = Pair::shipped(NEW).run(Transfer { seed, bytes: 16 * MEGABYTES, ..of(4096, 4096) });
        assert_eq!(payloads(&outcome)[..3], [4096; 3]);
        known.iter().zip(&mut seen).for_each(|(cycle, seen)| *seen += share(&outcome, cycle) / 4.0);
        let entries = &outcome.log.entries;
        let Some(changed) = entries.iter().position(|entry| entry.segment.bytes == 3080) else { continue };
        let before = entries[..changed].iter().rev().find(|entry| entry.from == 1).expect("an acknowledgment");
        assert_eq!((before.cause, before.segment.window), (Cause::DelayedAck, 3080));
    }
    assert!(seen.iter().sum::<f64>() > 0.9 && seen[0] > 0.0 && seen[1] > 0.0, "{seen:?}");
}

#[test]
fn half_a_window_is_acknowledged_each_time() {
    let outcome = Pair::shipped(NEW).run(of(4096, 2048));
    let sent = payloads(&outcome);
    assert!(sent.iter().filter(|&&bytes| bytes == 2048).count() * 100 > sent.len() * 98);
    let acknowledgments = outcome.states[1].pure_acks;
    let two = 2 * 4 * MEGABYTES / 4096;
    assert!(acknowledgments.abs_diff(two) * 100 < two, "{acknowledgments}");
}

#[test]
fn writes_of_7168_stop_and_go_and_drop() {
    for set in 0..sets() {
        let pair = Pair::of_set(NEW, set);
        let outcome = pair.run(of(8192, 7168));
        assert!(share(&outcome, &[1024, 6144]) > 0.9, "set {set}: {}", share(&outcome, &[1024, 6144]));
        let rate = |call| pair.run(of(8192, call)).goodput_bps(1);
        assert!(outcome.goodput_bps(1) < 0.92 * rate(8192), "set {set}");
        assert!(rate(8704) < 0.92 * rate(8192), "set {set}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let entries = |seed| Pair::shipped(NEW).run(Transfer { seed, ..of(4096, 4096) }).log.entries;
    assert_eq!(entries(3), entries(3));
    assert_ne!(entries(3), entries(4));
}

#[test]
fn a_run_that_cannot_go_on_says_in_what_state() {
    // Both write, and nobody reads.
    let pair = Pair::shipped(NEW);
    let spec = HostSpec { window_bytes: 8192, ..pair.spec };
    let ends = [MEGABYTES, 1].map(|left_bytes| Host::new(spec, Application::Writer { call_bytes: 8192, left_bytes }, 1));
    let End::Stuck(state) = run(&WorldSpec { link: pair.link, until: None, is_logged: false }, ends).end else { panic!("nobody read") };
    assert!(state.contains("the writer sleeps") && state.contains("8192 bytes are unread"), "{state}");
}

#[test]
fn no_byte_is_lost_or_made_whatever_the_sizes() {
    for (window_bytes, call_bytes) in [(4096, 1), (4096, 64), (8192, 1000), (16384, 6000), (24576, 32768), (52428, 8192)] {
        let outcome = Pair::shipped(NEW).run(Transfer { bytes: 200_000, ..of(window_bytes, call_bytes) });
        let mut next = 0;
        for entry in outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.bytes > 0) {
            assert_eq!(entry.segment.sequence, next);
            next += u64::from(entry.segment.bytes);
        }
        assert_eq!(next, 200_000);
    }
}
