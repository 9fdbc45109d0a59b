//! Several connections between two hosts: what they share, and what each has for itself.

use sim::application::Application;
use sim::link::{LinkSpec, media};
use sim::machine::{Buffers, Machine, build_several};
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::time::{MS, Ps};
use sim::world::{Outcome, WorldSpec, run};

const ENDLESS: u64 = u64::MAX;

/// What is asked of a run, in addition to its hosts.
#[derive(Clone, Copy)]
struct Request {
    connections: usize,
    buffers: Buffers,
    line: Option<&'static str>,
    until: Ps,
    is_logged: bool,
    seed: u64,
}

const STREAMS: Request = Request {
    connections: 2,
    buffers: Buffers { send_bytes: None, receive_bytes: None, window_bytes: None, pacing_rate: None, has_ecn: false },
    line: None,
    until: 100 * MS,
    is_logged: false,
    seed: 1,
};

/// Streams from one host to another of its kind with other rules than usual; the readers of `silent` never read.
fn streams_with_silent(host: &str, rules: &[(&str, Value)], asked: Request, silent: &[usize]) -> Outcome {
    let mut profile = Library::shipped().and_then(|library| library.resolve(host)).expect("shipped");
    for (key, value) in rules {
        profile.set(key, value.clone()).expect("the key is there");
    }
    let reader = |number| Application::Reader { call_bytes: 65_536, left_bytes: if silent.contains(&number) { 0 } else { ENDLESS } };
    let writers = vec![Application::Writer { call_bytes: 65_536, left_bytes: ENDLESS }; asked.connections];
    let readers = (0..asked.connections).map(reader).collect();
    let build = |processes, seed| build_several(&profile, &asked.buffers, processes, seed).expect("it can be");
    let ((writer, usual), (reader, _)): ((Machine, LinkSpec), _) = (build(writers, asked.seed), build(readers, asked.seed + 1));
    let between = asked.line.map_or(usual, |name| LinkSpec { named: media::named(name).expect("it is in the table"), ..usual });
    run(&WorldSpec { link: between, until: Some(asked.until), is_logged: asked.is_logged }, [writer, reader])
}

fn streams(host: &str, rules: &[(&str, Value)], asked: Request) -> Outcome {
    streams_with_silent(host, rules, asked, &[])
}

fn read(outcome: &Outcome) -> Vec<f64> {
    outcome.connections[1].iter().map(|state| state.read_bytes as f64).collect()
}

/// Jain, Chiu, Hawe, "A quantitative measure of fairness", DEC TR-301, 1984.
fn fairness(shares: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    sum * sum / (shares.len() as f64 * squares)
}

const LINUX: &str = "linux-6.18+veth";
const SOLARIS: &str = "solaris8+gigabit";

#[test]
fn connections_of_one_processor_share_it_alike_and_have_no_more_than_one_alone() {
    let alone = streams(LINUX, &[], Request { connections: 1, ..STREAMS });
    for connections in [2, 16] {
        let together = streams(LINUX, &[], Request { connections, until: 400 * MS, ..STREAMS });
        let rate = |outcome: &Outcome| outcome.goodput_bps(1);
        assert!(fairness(&read(&together)) > 0.95, "{connections}: {:?}", read(&together));
        assert!(rate(&together) < 1.1 * rate(&alone), "{connections}: {} and {}", rate(&together), rate(&alone));
    }
}

#[test]
fn two_processors_carry_more_of_what_one_was_too_slow_for() {
    let of = |processors: f64| streams(LINUX, &[("processors", Value::Number(processors))], STREAMS).goodput_bps(1);
    let (single, dual) = (of(1.0), of(2.0));
    assert!(dual > 1.8 * single, "{single} and {dual}");
}

#[test]
fn a_slow_line_is_shared_and_full() {
    let asked = Request { line: Some("ethernet-1G"), until: 500 * MS, ..STREAMS };
    let alone = streams("linux-6.18+nic", &[], Request { connections: 1, ..asked });
    let together = streams("linux-6.18+nic", &[], Request { connections: 4, ..asked });
    let ratio = together.goodput_bps(1) / alone.goodput_bps(1);
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
    assert!(fairness(&read(&together)) > 0.9, "{:?}", read(&together));
}

#[test]
fn a_reader_that_does_not_read_stops_its_own_connection_alone() {
    for (host, buffers, segment_bytes) in [(LINUX, STREAMS.buffers, 1448), (SOLARIS, Buffers::all(24_576), 1460)] {
        let asked = Request { buffers, ..STREAMS };
        let outcome = streams_with_silent(host, &[], asked, &[0]);
        let [stopped, other] = [0, 1].map(|number: usize| outcome.connections[1][number]);
        let sender = outcome.connections[0][0];
        assert_eq!(stopped.read_bytes, 0);
        let room = sender.send_window_bytes.saturating_sub(sender.outstanding_bytes);
        assert!(room < segment_bytes, "its window is full");
        let alone = streams(host, &[], Request { connections: 1, ..asked });
        assert!(other.read_bytes as f64 > 0.9 * alone.states[1].read_bytes as f64);
    }
}

#[test]
fn every_connection_has_its_own_numbers_in_the_log() {
    let outcome = streams(LINUX, &[], Request { connections: 3, until: 20 * MS, is_logged: true, ..STREAMS });
    for number in 0..3u16 {
        let sent =
            outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.connection == number && entry.segment.bytes > 0);
        let mut next = 0;
        for entry in sent {
            assert_eq!(entry.segment.sequence, next, "connection {number}");
            next = entry.segment.end();
        }
        assert!(next > 0);
        let calls = &outcome.calls[0][usize::from(number)];
        assert_eq!(calls.iter().map(|call| call.moved_bytes).sum::<u64>(), outcome.connections[0][usize::from(number)].written_bytes);
        assert!(calls.iter().any(|call| call.inside.runnable > 0), "it waits for the others' turns");
    }
}

#[test]
fn without_slices_one_process_keeps_the_processor_from_the_other() {
    let of = |slice_us: f64| {
        let outcome = streams(LINUX, &[("slice_us", Value::Number(slice_us))], Request { until: 20 * MS, is_logged: true, ..STREAMS });
        outcome.calls[0].iter().flatten().map(|call| call.inside.runnable).max().unwrap_or(0)
    };
    assert!(of(10_000.0) > 3 * of(1_000.0), "{} and {}", of(10_000.0), of(1_000.0));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for host in [LINUX, SOLARIS] {
        let of = |seed| streams(host, &[], Request { connections: 5, seed, ..STREAMS });
        assert_eq!(of(7).connections, of(7).connections);
        assert_ne!(of(7).connections, of(8).connections);
    }
}

#[test]
fn solaris_shares_its_processors_and_its_adapter_alike() {
    let asked = Request { buffers: Buffers::all(65_536), until: 1_000 * MS, ..STREAMS };
    for processors in [1.0, 4.0] {
        let rules = [("processors", Value::Number(processors))];
        let alone = streams(SOLARIS, &rules, Request { connections: 1, ..asked });
        let together = streams(SOLARIS, &rules, Request { connections: 10, ..asked });
        assert!(fairness(&read(&together)) > 0.95, "{processors}: {:?}", read(&together));
        let ratio = together.goodput_bps(1) / alone.goodput_bps(1);
        assert!((0.9..1.3).contains(&ratio), "{processors}: {ratio}");
    }
}
