//! What pacing makes of a stream of Linux: the rate that was asked for, in bursts as the kernel sizes them.

use sim::application::Application;
use sim::end_system::Cause;
use sim::machine::{Buffers, build_with};
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::time::{MS, Ps, US};
use sim::world::{End, Outcome, WorldSpec, run};

const BYTES: u64 = 20 << 20;
/// Payload of a segment at MTU 1500.
const MSS: u32 = 1448;

fn transfer(pacing_rate: Option<u64>, round_trip: Ps) -> Outcome {
    let mut profile = Library::shipped().expect("the shipped hosts are whole").resolve("linux-6.18+veth").expect("shipped");
    profile.set("completion", Value::Word("timed".to_owned())).expect("the rule is there");
    let buffers = Buffers { pacing_rate, ..Buffers::all(4 << 20) };
    let writer = build_with(&profile, &buffers, Application::Writer { call_bytes: 65_536, left_bytes: BYTES }, 1);
    let reader = build_with(&profile, &Buffers::all(4 << 20), Application::Reader { call_bytes: 65_536, left_bytes: BYTES }, 2);
    let ((writer, mut link), (reader, _)) = (writer.expect("it can be"), reader.expect("it can be"));
    link.propagation += round_trip / 2;
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, [writer, reader]);
    assert_eq!((&outcome.end, outcome.states[1].read_bytes), (&End::Complete, BYTES));
    outcome
}

/// Payloads of the writer's buffers, and the distances between them, behind the first megabyte.
fn bursts(outcome: &Outcome) -> (Vec<u32>, Vec<Ps>) {
    let sent: Vec<_> = outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.sequence > 1 << 20).collect();
    let sizes = sent.iter().map(|entry| entry.segment.bytes).collect();
    (sizes, sent.windows(2).map(|pair| pair[1].at - pair[0].at).collect())
}

#[test]
fn the_payload_has_the_rate_that_was_asked_for() {
    for mbytes in [5_u64, 50, 125] {
        let outcome = transfer(Some(mbytes * 1_000_000), 0);
        let ratio = outcome.goodput_bps(1) / (8e6 * mbytes as f64);
        assert!((0.98..1.02).contains(&ratio), "{mbytes} MB/s: {ratio}");
    }
}

#[test]
fn near_hosts_send_large_bursts_and_far_ones_a_millisecond_of_the_rate() {
    // tcp_tso_autosize: 65215 bytes more within 512 us, 64 of 65215 at 5 ms, and what 2^-10 s of the rate moves.
    let near = bursts(&transfer(Some(50_000_000), 0));
    let whole = near.0.iter().filter(|&&bytes| bytes == 45 * MSS).count();
    assert!(whole as f64 > 0.95 * near.0.len() as f64, "{:?}", &near.0[..20]);
    // 48828 bytes and 127 of the 65215 at nine halvings: 33 segments.
    let far = bursts(&transfer(Some(50_000_000), 5 * MS));
    let usual = far.0.iter().filter(|&&bytes| bytes == 33 * MSS).count();
    assert!(usual as f64 > 0.9 * far.0.len() as f64, "{:?}", &far.0[..20]);
    // Each leaves as long behind the one before as that takes at the rate.
    let expected = Ps::from(33 * MSS) * 20_000;
    let mean = far.1.iter().sum::<Ps>() as f64 / far.1.len() as f64;
    assert!((mean / expected as f64 - 1.0).abs() < 0.02, "{mean} for {expected}");
}

#[test]
fn the_timer_is_what_lets_them_go() {
    let paced = transfer(Some(12_500_000), 0);
    let caused = |outcome: &Outcome, cause| outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.cause == cause).count();
    let all = paced.log.entries.iter().filter(|entry| entry.from == 0).count();
    assert!(caused(&paced, Cause::Pacing) as f64 > 0.9 * all as f64);
    assert_eq!(paced.states[0].timeouts + paced.states[0].retransmitted_segments, 0);
    // Without a rate, and with one that hosts never reach, none waits for it.
    let free = transfer(None, 0);
    assert_eq!(caused(&free, Cause::Pacing), 0);
    assert!(free.goodput_bps(1) > 10.0 * paced.goodput_bps(1));
    let first = paced.log.entries.iter().filter(|entry| entry.from == 0).take_while(|entry| entry.at < 100 * US);
    // The initial window is not paced but for its last part.
    assert!(first.map(|entry| entry.segment.bytes).sum::<u32>() >= 10 * MSS);
}
