//! Loss recovery and congestion control of Linux over a link that loses what it is set to lose.

use sim::application::Application;
use sim::coalescing::Coalescing;
use sim::end_system::Cause;
use sim::link::loss::Losses;
use sim::link::{LinkSpec, media};
use sim::linux::congestion::Algorithm;
use sim::linux::host::Host;
use sim::linux::spec::{Adapter, Completion, Costs, HostSpec, Kernel, Scheduling, Socket, Steering};
use sim::machine::Machine;
use sim::time::{MS, Ps, US};
use sim::world::{End, Outcome, WorldSpec, run};

const MSS: f64 = 1448.0;

/// Hosts that cost nothing: what is seen is the protocol's.
fn spec(algorithm: Algorithm) -> HostSpec {
    HostSpec {
        kernel: Kernel::default(),
        socket: Socket { algorithm, ..Socket::default() },
        adapter: Adapter { has_segmentation: true, has_gro: true, coalescing: Coalescing::NONE, completion: Completion::After(US) },
        steering: Steering::SameProcessor,
        scheduling: Scheduling::default(),
        costs: Costs { wake_up: 1000, switch: 1000, ..Costs::default() },
        mss: 1448,
        jitter_per_mille: 0,
    }
}

fn transfer(algorithm: Algorithm, losses: Losses, propagation: Ps, bytes: u64) -> Outcome {
    let named = media::named("ethernet-1G").expect("it is in the table");
    let link = LinkSpec { headers_bytes: 52, losses: [losses, Losses::NONE], ..LinkSpec::usual(named, propagation) };
    let writer = Host::new(spec(algorithm), Application::Writer { call_bytes: 65_536, left_bytes: bytes }, 1);
    let reader = Host::new(spec(algorithm), Application::Reader { call_bytes: 1 << 20, left_bytes: bytes }, 2);
    let ends = [writer, reader].map(|host| Machine::Linux(Box::new(host)));
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, ends);
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.states[1].read_bytes, bytes);
    outcome
}

fn losing(frames: &[u64]) -> Losses {
    let mut scripted = [0; 8];
    scripted[..frames.len()].copy_from_slice(frames);
    Losses { scripted, ..Losses::NONE }
}

/// Segments that left again, and why.
fn again(outcome: &Outcome) -> Vec<(u64, u32, Cause)> {
    let entries = outcome.log.entries.iter().filter(|entry| entry.segment.flags.is_retransmission);
    entries.map(|entry| (entry.segment.sequence / 1448, entry.segment.bytes, entry.cause)).collect()
}

#[test]
fn one_lost_segment_leaves_again_once_and_no_timer_is_needed() {
    let outcome = transfer(Algorithm::Reno, losing(&[100]), 10 * MS, 2_000_000);
    assert_eq!(again(&outcome), [(99, 1448, Cause::Arrival)]);
    assert_eq!(outcome.states[0].timeouts, 0);
}

#[test]
fn several_holes_of_a_window_are_filled_in_one_round_trip() {
    let outcome = transfer(Algorithm::Reno, losing(&[100, 103, 110]), 10 * MS, 2_000_000);
    let times: Vec<Ps> = outcome.log.entries.iter().filter(|entry| entry.segment.flags.is_retransmission).map(|entry| entry.at).collect();
    assert_eq!(times.len(), 3);
    assert!(times[2] - times[0] < 20 * MS, "{times:?}");
    assert_eq!(outcome.states[0].timeouts, 0);
}

#[test]
fn a_lost_tail_is_probed_before_the_timeout() {
    // 691 segments: the last three are lost.
    let outcome = transfer(Algorithm::Reno, losing(&[689, 690, 691]), 10 * MS, 1_000_000);
    let first = outcome.log.entries.iter().find(|entry| entry.segment.flags.is_retransmission).expect("one left again");
    assert_eq!((first.segment.sequence + u64::from(first.segment.bytes), first.cause), (1_000_000, Cause::Retransmission));
    assert_eq!(outcome.states[0].timeouts, 0);
    assert_eq!(again(&outcome).len(), 3);
}

#[test]
fn a_retransmission_that_is_lost_too_is_found_as_well() {
    let outcome = transfer(Algorithm::Cubic, losing(&[100, 137]), 10 * MS, 2_000_000);
    assert!(again(&outcome).iter().filter(|(segment, ..)| *segment == 99).count() >= 1);
    assert_eq!(outcome.states[0].timeouts, 0);
}

#[test]
fn reno_loses_half_of_its_window_and_cubic_three_tenths() {
    for (algorithm, kept) in [(Algorithm::Reno, 0.5), (Algorithm::Cubic, 0.7)] {
        let outcome = transfer(algorithm, losing(&[500]), 10 * MS, 4_000_000);
        let sent: Vec<_> = outcome.log.entries.iter().filter(|entry| entry.from == 0).collect();
        let at = sent.iter().position(|entry| entry.segment.flags.is_retransmission).expect("one left again");
        let before = sent[at - 1].cwnd_bytes as f64 / MSS;
        let lowest = sent[at..].iter().map(|entry| entry.cwnd_bytes).min().expect("more was sent") as f64 / MSS;
        let after =
            sent.iter().skip(at).find(|entry| entry.at > sent[at].at + 25 * MS).map_or(lowest, |entry| entry.cwnd_bytes as f64 / MSS);
        assert!((after / before - kept).abs() < 0.1, "{algorithm:?}: {before} to {after}");
    }
}

#[test]
fn reno_moves_what_its_loss_allows() {
    // Mathis et al. 1997: MSS / RTT sqrt(3 / 2p) where losses come at even distances, and up to 8 % more where they
    // come at random (Ott et al. 1996); p is what was lost of this run.
    let losses = Losses { per_million: 1000, seed: 7, ..Losses::NONE };
    let outcome = transfer(Algorithm::Reno, losses, 10 * MS, 60_000_000);
    let sender = &outcome.states[0];
    let lost = sender.retransmitted_segments as f64 / sender.data_segments as f64;
    let expected = MSS * 8.0 / 0.020 * (1.5 / lost).sqrt();
    let ratio = outcome.goodput_bps(1) / expected;
    assert!((0.9..1.3).contains(&ratio), "{ratio}");
}

#[test]
fn nothing_is_lost_for_good_whatever_the_line_loses() {
    for seed in 0..6 {
        let losses = Losses { per_million: 60_000, seed, ..Losses::NONE };
        transfer(Algorithm::Cubic, losses, MS, 300_000);
    }
}
