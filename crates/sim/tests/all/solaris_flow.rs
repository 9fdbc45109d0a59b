//! The flows that study 2 saw between hosts with Solaris 8 on Gigabit Ethernet, as they come out of the rules.

use sim::application::Application;
use sim::cost::Cost;
use sim::link::loss::Losses;
use sim::link::{LinkSpec, media};
use sim::machine::Machine;
use sim::profile::Library;
use sim::solaris::host::Host;
use sim::solaris::profile;
use sim::solaris::spec::{Costs, HostSpec, Rules};
use sim::time::{MS, NS, US};
use sim::world::{End, Outcome, WorldSpec, run};

const MSS: u32 = 1460;

fn spec() -> HostSpec {
    let profile = Library::shipped().and_then(|library| library.resolve("solaris8+gigabit")).expect("shipped");
    profile::read(&profile, 65_536).expect("it can be read").0
}

fn transfer(spec: &HostSpec, message_bytes: u32, bytes: u64, losses: Losses) -> Outcome {
    let named = media::named("ethernet-1G").expect("it is in the table");
    let link = LinkSpec { losses: [losses, Losses::NONE], ..LinkSpec::usual(named, US) };
    let ends =
        [Application::Writer { call_bytes: message_bytes, left_bytes: bytes }, Application::Reader { call_bytes: 8192, left_bytes: bytes }];
    let mut seed = 0;
    let ends = ends.map(|application| {
        seed += 1;
        Machine::Solaris(Box::new(Host::new(*spec, application, seed)))
    });
    run(&WorldSpec { link, until: None, is_logged: true }, ends)
}

fn payloads(outcome: &Outcome) -> Vec<u32> {
    outcome.log.entries.iter().filter(|entry| entry.from == 0).map(|entry| entry.segment.bytes).filter(|&bytes| bytes > 0).collect()
}

/// Message, and the payloads that alternate on the wire: `gbe_small_packets_nagle.csv`.
const PAIRS: [(u32, [u32; 2]); 6] =
    [(60, [60, 1440]), (100, [100, 1400]), (250, [250, 1250]), (536, [536, 1072]), (1024, [1024, 1024]), (1460, [1460, 1460])];

#[test]
fn payloads_alternate_as_the_study_saw_them() {
    for (message, pair) in PAIRS {
        // Whole pairs, so that the last message does not wait for more.
        let messages = 800 * u64::from(MSS / message + 1);
        let outcome = transfer(&spec(), message, messages * u64::from(message), Losses::NONE);
        assert_eq!(outcome.end, End::Complete);
        let sent = payloads(&outcome);
        assert!(sent.len() > 1500, "{message}: {}", sent.len());
        let odd = sent.chunks_exact(2).filter(|&chunk| chunk != pair).count();
        // The end of the transfer alone may differ: what is left waits for an acknowledgment.
        assert!(odd <= 1, "{message}: {odd} of {} pairs, {:?}", sent.len() / 2, &sent[..20]);
    }
}

#[test]
fn throughput_follows_the_studys_formula() {
    for (message, pair) in PAIRS {
        let outcome = transfer(&spec(), message, 2_000_000 / u64::from(message) * u64::from(message), Losses::NONE);
        let seconds = outcome.duration as f64 / 1e12;
        let packets_per_s = payloads(&outcome).len() as f64 / seconds;
        // Payload of a packet: (floor(1460/message) + 1) * message / 2.
        let formula_bps = packets_per_s * 8.0 * f64::from((MSS / message + 1) * message) / 2.0;
        let ratio = outcome.goodput_bps(1) / formula_bps;
        assert!((ratio - 1.0).abs() < 0.01, "{message} {pair:?}: {ratio}");
    }
}

#[test]
fn without_boundaries_segments_are_full() {
    let rules = Rules { keeps_boundaries: false, ..Rules::SOLARIS_8 };
    let sent = payloads(&transfer(&HostSpec { rules, ..spec() }, 60, 600_000, Losses::NONE));
    assert!(sent.iter().filter(|&&bytes| bytes == MSS).count() * 4 > sent.len(), "{:?}", &sent[..20]);
    assert!(!sent.contains(&1440));
}

#[test]
fn without_the_exception_acknowledgments_free_what_waits() {
    let rules = Rules { answers_small_segments: false, ..Rules::SOLARIS_8 };
    let with = transfer(&spec(), 60, 600_000, Losses::NONE);
    let without = transfer(&HostSpec { rules, ..spec() }, 60, 600_000, Losses::NONE);
    assert!(without.states[1].pure_acks * 2 < with.states[1].pure_acks, "{} {}", without.states[1].pure_acks, with.states[1].pure_acks);
    assert!(payloads(&without).iter().any(|bytes| ![60, 1440].contains(bytes)));
}

#[test]
fn with_no_delay_every_message_is_a_segment() {
    let sent = payloads(&transfer(&HostSpec { no_delay: true, ..spec() }, 100, 100_000, Losses::NONE));
    assert_eq!(sent, vec![100; 1000]);
}

#[test]
fn eight_full_segments_are_acknowledged_together() {
    let outcome = transfer(&spec(), 8192, 8_192_000, Losses::NONE);
    let ratio = outcome.states[0].data_segments as f64 / outcome.states[1].pure_acks as f64;
    assert!(ratio > 4.0, "{ratio}");
    let two = Rules { deferred_acks_max: 2, ..Rules::SOLARIS_8 };
    let outcome = transfer(&HostSpec { rules: two, ..spec() }, 8192, 8_192_000, Losses::NONE);
    let ratio = outcome.states[0].data_segments as f64 / outcome.states[1].pure_acks as f64;
    assert!((1.5..=2.2).contains(&ratio), "{ratio}");
}

#[test]
fn retransmissions_lower_the_segments_for_an_acknowledgment() {
    let full = |losses| transfer(&spec(), 1460, 1460 * 20_000, losses);
    let clean = full(Losses::NONE);
    let lossy = full(Losses { per_million: 2000, seed: 3, ..Losses::NONE });
    assert_eq!((clean.end.clone(), lossy.end.clone()), (End::Complete, End::Complete));
    assert!(lossy.lost_frames[0] > 10 && lossy.states[0].retransmitted_segments >= lossy.lost_frames[0]);
    // In the last tenth, behind some 40 retransmissions: 8 before, 2 now.
    let ratio = |outcome: &Outcome| {
        let from = outcome.duration / 10 * 9;
        let late = outcome.log.entries.iter().filter(|entry| entry.at > from);
        let acks = late.clone().filter(|entry| entry.from == 1).count();
        (late.count() - acks) as f64 / acks as f64
    };
    assert!(ratio(&clean) > 6.0 && (1.5..2.5).contains(&ratio(&lossy)), "{} {}", ratio(&clean), ratio(&lossy));
}

#[test]
fn more_at_once_costs_less() {
    // On one processor; with two, a writer that often finds the other inside TCP has its segments sent for it.
    let rate = |maxpsz_multiplier| {
        let rules = Rules { maxpsz_multiplier, ..Rules::SOLARIS_8 };
        let copy_in = Cost { fixed: 10 * US, per_byte: NS };
        let spec = HostSpec { rules, costs: Costs { copy_in, ..spec().costs }, has_interrupt_processor: false, ..spec() };
        transfer(&spec, 65_536, 13_107_200, Losses::NONE).goodput_bps(1)
    };
    assert!(rate(8) > 1.1 * rate(1), "{} {}", rate(1), rate(8));
    assert!(rate(44) < 1.1 * rate(8));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let once = || transfer(&spec(), 250, 500_000, Losses { per_million: 5000, seed: 1, ..Losses::NONE });
    assert_eq!(once().log.entries, once().log.entries);
}

#[test]
fn a_lone_small_message_waits_for_the_timer_and_nothing_hangs() {
    // Two small messages: the second waits for the acknowledgment of the first, which the timer sends.
    let outcome = transfer(&spec(), 100, 200, Losses::NONE);
    assert_eq!((outcome.end.clone(), payloads(&outcome)), (End::Complete, vec![100, 100]));
    assert!((100 * MS..110 * MS).contains(&outcome.duration), "{}", outcome.duration);
}

/// A reader so slow that the window shuts; the line loses the frame that reports that it is open again.
fn lost_window_update(has_persist_timer: bool) -> Outcome {
    let rules = Rules { has_persist_timer, deferred_acks_max: 2, ..Rules::SOLARIS_8 };
    let slow = HostSpec { rules, window_bytes: 10 * MSS, costs: Costs { read_call: 20 * MS, ..spec().costs }, ..spec() };
    let clean = slow_transfer(&slow, Losses::NONE);
    let answers = clean.log.entries.iter().filter(|entry| entry.from == 1);
    let shut = answers.clone().position(|entry| entry.segment.window == 0).expect("the window shuts");
    let update = answers.clone().skip(shut).position(|entry| entry.segment.window > 0).expect("it opens again");
    slow_transfer(&slow, Losses { scripted: [(shut + update + 1) as u64, 0, 0, 0, 0, 0, 0, 0], ..Losses::NONE })
}

fn slow_transfer(spec: &HostSpec, of_answers: Losses) -> Outcome {
    let named = media::named("ethernet-1G").expect("it is in the table");
    let link = LinkSpec { losses: [Losses::NONE, of_answers], ..LinkSpec::usual(named, US) };
    let writer = Host::new(spec_of_writer(spec), Application::Writer { call_bytes: 5 * MSS, left_bytes: 146_000 }, 1);
    let reader = Host::new(*spec, Application::Reader { call_bytes: 16_384, left_bytes: 146_000 }, 2);
    run(&WorldSpec { link, until: None, is_logged: true }, [writer, reader])
}

fn spec_of_writer(reader: &HostSpec) -> HostSpec {
    HostSpec { costs: spec().costs, ..*reader }
}

#[test]
fn a_lost_window_update_is_found_by_a_probe() {
    let outcome = lost_window_update(true);
    assert_eq!((outcome.end.clone(), outcome.lost_frames), (End::Complete, [0, 1]));
}

#[test]
fn without_the_persist_timer_it_ends_with_the_state_of_both() {
    let End::Stuck(state) = lost_window_update(false).end else { panic!("nobody could have found the window open") };
    assert!(state.contains("the other host's window is 0 bytes") && state.contains("the reader waits for data"), "{state}");
}
