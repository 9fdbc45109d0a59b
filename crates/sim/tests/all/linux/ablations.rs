//! Rules of Linux switched off one at a time: each changes what it should.

use sim::application::Application;
use sim::machine::{Buffers, build_with};
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::world::{End, Outcome, WorldSpec, run};

const BYTES: u64 = 8 << 20;

/// A stream over a veth pair, with other rules than usual.
fn with(rules: &[(&str, Value)], window: u32, write: u32) -> Outcome {
    let mut profile = Library::shipped().and_then(|library| library.resolve("linux-6.18+veth")).expect("shipped");
    for (key, value) in rules {
        profile.set(key, value.clone()).expect("the key is there");
    }
    let process =
        [Application::Writer { call_bytes: write, left_bytes: BYTES }, Application::Reader { call_bytes: 131_072, left_bytes: BYTES }];
    let mut seed = 0;
    let ends = process.map(|process| {
        seed += 1;
        build_with(&profile, &Buffers::all(window), process, seed).expect("it can be")
    });
    let link = ends[0].1;
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, ends.map(|(machine, _)| machine));
    assert_eq!((&outcome.end, outcome.states[1].read_bytes), (&End::Complete, BYTES));
    outcome
}

fn acks(outcome: &Outcome) -> u64 {
    outcome.states[1].pure_acks
}

fn frames(outcome: &Outcome) -> usize {
    outcome.log.entries.iter().filter(|entry| entry.from == 0).count()
}

#[test]
fn with_quick_acks_every_segment_is_answered() {
    let cut = ("tso", Value::Switch(false));
    let usual = with(std::slice::from_ref(&cut), 65_536, 65_536);
    let quick = with(&[cut, ("quick_ack", Value::Switch(true))], 65_536, 65_536);
    assert!(acks(&quick) > acks(&usual) * 3 / 2, "{} and {}", acks(&quick), acks(&usual));
}

#[test]
fn an_owner_that_answers_each_segment_of_its_backlog_answers_more() {
    let cut = ("tso", Value::Switch(false));
    let usual = with(std::slice::from_ref(&cut), 1 << 20, 65_536);
    let each = with(&[cut, ("defers_backlog_acks", Value::Switch(false))], 1 << 20, 65_536);
    assert!(acks(&each) > acks(&usual), "{} and {}", acks(&each), acks(&usual));
}

#[test]
fn without_growing_buffers_a_window_of_five_segments_goes_in_more_pieces() {
    let usual = with(&[], 8192, 1024);
    let whole = usual.log.entries.iter().filter(|entry| entry.segment.bytes == 7240).count();
    assert!(whole * 10 > frames(&usual) * 9);
    let pieces = with(&[("grows_buffers", Value::Switch(false))], 8192, 1024);
    assert!(frames(&pieces) > 2 * frames(&usual));
    // What a write fills is half a window: two segments.
    assert!(pieces.log.entries.iter().all(|entry| entry.segment.bytes <= 2896));
}

#[test]
fn a_buffer_of_64_kilobytes_is_the_adapters_limit_and_not_the_writes() {
    let small = with(&[("gso_max_bytes", Value::Number(16_384.0))], 1 << 20, 262_144);
    assert!(small.log.entries.iter().all(|entry| entry.segment.bytes <= 15_928));
}

#[test]
fn softirqs_on_another_processor_leave_the_process_its_own() {
    let shared = with(&[], 1 << 20, 65_536);
    let separate = with(&[("steering", Value::Word("other-processor".to_owned()))], 1 << 20, 65_536);
    assert!(shared.busy_share(1) <= 1.0);
    assert!(separate.goodput_bps(1) > shared.goodput_bps(1), "{} and {}", separate.goodput_bps(1), shared.goodput_bps(1));
}

#[test]
fn a_sooner_interrupt_leaves_less_to_gather() {
    let [far, near] = [8.0, 0.1].map(|us| with(&[("propagation_us", Value::Number(us))], 1 << 20, 1024));
    assert!(2 * frames(&near) > 3 * frames(&far), "{} and {}", frames(&near), frames(&far));
}
