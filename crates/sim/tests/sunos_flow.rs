//! The segment flows that study 1 saw between hosts with `SunOS` 4.1, as they come out of the rules.
//!
//! Costs here are round numbers of the right size: what is asserted must not depend on them.

use sim::application::Application;
use sim::cost::Cost;
use sim::link::LinkSpec;
use sim::link::framing::Aal;
use sim::sunos::host::Host;
use sim::sunos::socket::Pieces;
use sim::sunos::spec::{Adapter, Costs, HostSpec, Rules};
use sim::time::{NS, US};
use sim::world::{End, Outcome, WorldSpec, run};
use std::collections::BTreeMap;

/// An adapter that holds more than ever comes.
const NO_LOSS: Adapter = Adapter::ProgrammedIo { fifo_bytes: 1 << 30 };
const MEGABYTES: u64 = 1 << 20;

fn costs() -> Costs {
    Costs {
        write_call: 60 * US,
        copy_in: Cost { fixed: 15 * US, per_byte: 45 * NS },
        output: Cost { fixed: 130 * US, per_byte: 45 * NS },
        driver_send: Cost { fixed: 100 * US, per_byte: 120 * NS },
        driver_receive: Cost { fixed: 120 * US, per_byte: 150 * NS },
        input: Cost { fixed: 130 * US, per_byte: 45 * NS },
        wake_up: 150 * US,
        read_call: 60 * US,
        copy_out: Cost { fixed: 15 * US, per_byte: 45 * NS },
        timer: 20 * US,
    }
}

/// 140 Mbit/s in cells of AAL3/4, and every segment logged.
const WORLD: WorldSpec = WorldSpec { link: LinkSpec::study_1(Aal::Aal34), until: None, is_logged: true };

fn host(window_bytes: u32) -> HostSpec {
    HostSpec {
        rules: Rules::SUNOS_4_1,
        costs: costs(),
        pieces: Pieces { first: 44, others: 1012 },
        adapter: NO_LOSS,
        mss: 9148,
        window_bytes,
        jitter_per_mille: 20,
    }
}

fn writer(window_bytes: u32, call_bytes: u32, left_bytes: u64, seed: u64) -> Host {
    Host::new(host(window_bytes), Application::Writer { call_bytes, left_bytes }, seed ^ 0x57)
}

/// Window and calls of both hosts alike.
fn transfer_of(window_bytes: u32, call_bytes: u32, left_bytes: u64, seed: u64) -> Outcome {
    let reader = Host::new(host(window_bytes), Application::Reader { call_bytes, left_bytes }, seed ^ 0x52);
    let outcome = run(&WORLD, [writer(window_bytes, call_bytes, left_bytes, seed), reader]);
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.states[1].read_bytes, left_bytes);
    outcome
}

fn transfer(window_bytes: u32, call_bytes: u32, seed: u64) -> Outcome {
    transfer_of(window_bytes, call_bytes, 16 * MEGABYTES, seed)
}

/// Bytes that were sent in cycles of such payloads, as a share of all.
fn shares(outcome: &Outcome) -> BTreeMap<Vec<u32>, f64> {
    let mut shares = BTreeMap::new();
    for cycle in outcome.log.cycles() {
        let bytes: u32 = cycle.iter().sum();
        *shares.entry(cycle).or_insert(0.0) += f64::from(bytes) / outcome.states[1].read_bytes as f64;
    }
    shares
}

fn share(outcome: &Outcome, cycle: &[u32]) -> f64 {
    shares(outcome).get(cycle).copied().unwrap_or(0.0)
}

fn payloads(outcome: &Outcome) -> Vec<u32> {
    outcome.log.entries.iter().map(|entry| entry.segment.bytes).filter(|&bytes| bytes > 0).collect()
}

#[test]
fn a_write_of_the_window_goes_in_two_segments_for_each_acknowledgment() {
    for seed in 0..5 {
        assert!(share(&transfer(8192, 8192, seed), &[4096, 4096]) > 0.9);
    }
}

#[test]
fn a_write_of_8704_goes_as_4096_4096_and_512() {
    let sent = payloads(&transfer(8192, 8704, 1));
    let triples = sent.chunks_exact(3).filter(|triple| *triple == [4096, 4096, 512]).count();
    assert!(triples * 3 > sent.len() * 9 / 10, "{triples} of {}", sent.len() / 3);
}

#[test]
fn a_timer_changes_the_flow_of_writes_of_a_small_window() {
    // Whole windows at first; then the timer's acknowledgments announce what was just freed, and that is
    // buffers of 44 and 1012 bytes: 3080 first, 2068 where the timer strikes a copy again.
    let known: [&[u32]; 3] = [&[4096], &[1016, 3080], &[2028, 2068]];
    let mut seen = [0.0; 3];
    for seed in 0..10 {
        let outcome = transfer(4096, 4096, seed);
        assert_eq!(payloads(&outcome)[..3], [4096; 3]);
        for (index, cycle) in known.iter().enumerate() {
            seen[index] += share(&outcome, cycle) / 10.0;
        }
    }
    assert!(seen.iter().sum::<f64>() > 0.9, "{seen:?}");
    assert!(seen[0] > 0.1 && seen[1] > 0.1, "{seen:?}");
}

#[test]
fn half_a_window_is_acknowledged_each_time() {
    let outcome = transfer(4096, 2048, 1);
    let acknowledgments = outcome.log.entries.iter().filter(|entry| entry.from == 1).count();
    let sent = payloads(&outcome);
    assert!(sent.iter().filter(|&&bytes| bytes == 2048).count() * 100 > sent.len() * 98);
    // Two for every 4096 bytes.
    let two = 2 * 16 * 1024 * 1024 / 4096;
    assert!(acknowledgments.abs_diff(two) * 100 < two, "{acknowledgments}");
}

#[test]
fn writes_of_7168_stop_and_go() {
    assert!(share(&transfer(8192, 7168, 1), &[1024, 6144]) > 0.95);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    assert_eq!(transfer(4096, 4096, 3).log.entries, transfer(4096, 4096, 3).log.entries);
    assert_ne!(transfer(4096, 4096, 3).log.entries, transfer(4096, 4096, 4).log.entries);
}

#[test]
fn a_run_that_cannot_go_on_says_in_what_state() {
    // Both write, and nobody reads.
    let ends = [writer(8192, 8192, 16 * MEGABYTES, 1), writer(8192, 8192, 1, 2)];
    let End::Stuck(state) = run(&WORLD, ends).end else { panic!("nobody read") };
    assert!(state.contains("the writer sleeps"), "{state}");
    assert!(state.contains("8192 bytes are unread"), "{state}");
}

#[test]
fn no_byte_is_lost_or_made_whatever_the_sizes() {
    for (window_bytes, call_bytes) in [(4096, 1), (4096, 64), (8192, 1000), (16384, 6000), (24576, 32768), (52428, 8192)] {
        let outcome = transfer_of(window_bytes, call_bytes, 200_000, 5);
        let mut next = 0;
        for entry in outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.bytes > 0) {
            assert_eq!(entry.segment.sequence, next);
            next += u64::from(entry.segment.bytes);
        }
        assert_eq!(next, 200_000);
    }
}
