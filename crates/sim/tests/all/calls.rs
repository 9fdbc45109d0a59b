//! The log of calls, of hosts of each system: the calls of a process that only blocks follow one another without a
//! gap, move what the transfer moved, and sleep no longer than they last.

use schema::table::{Context, Stage};
use sim::application::Application;
use sim::calls::{Call, Kind};
use sim::end_system::EndSystem;
use sim::machine;
use sim::profile::Library;
use sim::world::{Outcome, WorldSpec, run};
use std::collections::BTreeSet;

const BYTES: u64 = 1 << 20;

fn transfer(host: &str, write_bytes: u32, is_logged: bool) -> Outcome {
    transfer_with(host, write_bytes, is_logged, false)
}

fn transfer_with(host: &str, write_bytes: u32, is_logged: bool, is_staged: bool) -> Outcome {
    let library = Library::shipped().expect("shipped");
    let profile = library.resolve(host).expect("shipped");
    let processes =
        [Application::Writer { call_bytes: write_bytes, left_bytes: BYTES }, Application::Reader { call_bytes: 8192, left_bytes: BYTES }];
    let mut joined = None;
    let ends = processes.map(|process| {
        let (mut machine, line) = machine::build(&profile, 32768, process, 7).expect("it can be built");
        joined = Some(line);
        if is_staged {
            machine.keep_stages();
        }
        machine
    });
    run(&WorldSpec { link: joined.expect("a line"), until: None, is_logged }, ends)
}

fn slept(calls: &[Call]) -> u64 {
    calls.iter().map(|call| call.inside.asleep).sum()
}

#[test]
fn calls_follow_one_another_and_move_everything() {
    for host in ["sparc2+sba-100@2.2.6", "solaris8+gigabit", "linux-6.18+veth"] {
        let outcome = transfer(host, 8192, true);
        for (calls, kind) in outcome.calls.iter().map(|of_end| &of_end[0]).zip([Kind::Write, Kind::Read]) {
            assert!(calls.iter().all(|call| call.kind == kind && call.from <= call.to), "{host}");
            assert_eq!(calls.iter().map(|call| call.moved_bytes).sum::<u64>(), BYTES, "{host}");
            assert!(calls.windows(2).all(|pair| pair[0].to == pair[1].from), "{host}: one call begins where the last ended");
            for call in calls {
                let elsewhere = call.inside.asleep + call.inside.runnable + call.inside.displaced;
                assert!(elsewhere <= call.to - call.from, "{host}: {call:?}");
            }
        }
        assert_eq!(outcome.calls[1][0].last().map(|call| call.to), Some(outcome.duration), "{host}: the reader calls until the end");
    }
}

#[test]
fn the_side_that_is_faster_sleeps() {
    // A Sparc2 receives more dearly than it sends; small writes make the sender the slower one.
    let large = transfer("sparc2+sba-100@2.2.6", 8192, true);
    let small = transfer("sparc2+sba-100@2.2.6", 256, true);
    assert!(slept(&large.calls[0][0]) * 10 > large.duration, "the writer waits for room");
    assert!(slept(&small.calls[1][0]) > 2 * slept(&small.calls[0][0]), "the reader waits for data");
}

#[test]
fn sockets_are_described_as_segments_left_and_came() {
    let outcome = transfer("linux-6.18+veth", 65536, true);
    assert!(outcome.log.entries.iter().any(|entry| entry.at_sender.unsent_bytes > 0));
    let came = outcome.log.entries.iter().filter(|entry| entry.arrives <= outcome.duration);
    assert!(came.clone().all(|entry| entry.at_receiver.is_some()));
    assert!(came.filter_map(|entry| entry.at_receiver).any(|held| held.unread_bytes > 0));
}

#[test]
fn without_the_log_no_call_is_kept() {
    let outcome = transfer("sparc2+sba-100@2.2.6", 8192, false);
    assert!(outcome.calls.iter().all(Vec::is_empty) && outcome.log.entries.is_empty());
}

#[test]
fn the_stages_of_a_host_with_sunos_are_the_time_of_its_processor() {
    let outcome = transfer_with("sparc2+sba-100@2.2.6", 4096, false, true);
    for who in [0, 1] {
        let (stages, state) = (&outcome.stages[who], &outcome.states[who]);
        let cpu: u64 = stages.iter().map(|staged| staged.cpu).sum();
        let busy: u64 = state.busy.iter().sum();
        // What wakes a writer and timers are in no stage.
        let rest = busy - cpu;
        assert!(rest * 10 < busy, "{who}: {rest} of {busy} ps are in no stage");
        assert!(stages.iter().all(|staged| staged.wall >= staged.cpu));
    }
    let bytes = |who: usize, stage: Stage| -> u64 {
        outcome.stages[who].iter().filter(|staged| staged.stage == stage && !staged.is_again).map(|staged| u64::from(staged.bytes)).sum()
    };
    let passed = [Stage::CopyIn, Stage::TcpOut, Stage::DriverOut].map(|stage| (0, stage));
    let taken = [Stage::DriverIn, Stage::TcpIn, Stage::CopyOut].map(|stage| (1, stage));
    for (who, stage) in passed.into_iter().chain(taken) {
        assert_eq!(bytes(who, stage), outcome.states[1].read_bytes, "{stage:?}");
    }
    // One row for each pure ACK; the last may be with the driver yet.
    let rows = |who: usize, stage: Stage| outcome.stages[who].iter().filter(move |staged| staged.stage == stage);
    let acks = rows(1, Stage::AckOut).count() as u64;
    assert!(acks > 0 && outcome.states[1].pure_acks.abs_diff(acks) <= 1, "{acks} rows of {} ACKs", outcome.states[1].pure_acks);
    // Output is its caller's: of the writer, or of the ACK that made room.
    let contexts: BTreeSet<&str> = rows(0, Stage::DriverOut).map(|staged| staged.context.name()).collect();
    assert_eq!(contexts, BTreeSet::from(["net_rx", "process"]));
    assert!(rows(0, Stage::CopyIn).all(|staged| staged.context == Context::Process));
    assert!(transfer("sparc2+sba-100@2.2.6", 4096, true).stages.iter().all(Vec::is_empty), "nobody asked for them");
}
