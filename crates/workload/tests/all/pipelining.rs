//! Several executions outstanding over a path with delay: by Little's law their number is the rate times the round trip.

use schema::workload::{Arrivals, Group, Operation, Repeat, Size, Step, Transaction, Workload};
use std::collections::VecDeque;
use workload::script::Script;
use workload::user::{Action, Direction, Ending, VirtualUser};

const ROUND_TRIP_NS: u64 = 40;

/// What both hosts have done after so many round trips over a path that delays and never fills.
struct Done {
    /// Executions that ended at the near host, each with its latency in ns.
    latencies_ns: Vec<u64>,
    /// Bytes that the near host sent.
    sent_bytes: u64,
}

fn execute(letters: &str, outstanding_count: u32, arrivals: Arrivals, until_ns: u64) -> Done {
    let steps = letters.chars().map(|letter| {
        let size = Size::Fixed { bytes: 1 };
        let operation = match letter {
            'w' => Operation::Write { connection: 0, size, call_bytes: None },
            _ => Operation::Read { connection: 0, size, call_bytes: None, timeout_ns: None },
        };
        Step { operation, count: 1, can_fail: false }
    });
    let transaction = Transaction { name: "all".to_owned(), repeat: Repeat::Trial, arrivals, outstanding_count, steps: steps.collect() };
    let group = Group { name: "all".to_owned(), strands_count: 1, is_connected: true, transactions: vec![transaction] };
    let near = Script::near(&Workload { name: "any".to_owned(), seed: 1, groups: vec![group] }).expect("a valid workload");
    let mut ends = [near.clone(), near.mirror()].map(|script| (VirtualUser::new(&script, 0), script));
    for (user, script) in &mut ends {
        user.start(script, 0, 0, &Ending::default());
    }
    // When each byte arrives at the near host and at the far host.
    let mut arriving: [VecDeque<u64>; 2] = Default::default();
    let mut latencies_ns = Vec::new();
    for now_ns in 0..=until_ns {
        for (index, (user, script)) in ends.iter_mut().enumerate() {
            user.on_ready(Direction::Send.bit() | Direction::Receive.bit());
            loop {
                match user.poll_action(script, now_ns) {
                    Action::Send { bytes, .. } => {
                        arriving[1 - index].extend((0..bytes).map(|_| now_ns + ROUND_TRIP_NS / 2));
                        user.on_moved(Direction::Send, bytes, now_ns);
                    }
                    Action::Receive { .. } if arriving[index].front().is_some_and(|at_ns| *at_ns <= now_ns) => {
                        arriving[index].pop_front();
                        user.on_moved(Direction::Receive, 1, now_ns);
                    }
                    Action::Receive { .. } => user.on_blocked(Direction::Receive),
                    Action::Ended(execution) if index == 0 => latencies_ns.push(execution.end_ns - execution.begin_ns),
                    Action::Ended(_) => {}
                    Action::Wait { .. } => break,
                    other => panic!("{other:?} has no place here"),
                }
            }
        }
    }
    Done { latencies_ns, sent_bytes: ends[0].0.sent_bytes() }
}

#[test]
fn as_many_as_are_outstanding_end_in_a_round_trip() {
    for outstanding_count in [1, 2, 8, 64] {
        let done = execute("wr", outstanding_count, Arrivals::Closed, 10 * ROUND_TRIP_NS);
        assert_eq!(done.latencies_ns, vec![ROUND_TRIP_NS; 10 * outstanding_count as usize], "{outstanding_count} outstanding");
    }
}

#[test]
fn several_writes_go_before_the_first_reply() {
    let done = execute("wwrr", 4, Arrivals::Closed, ROUND_TRIP_NS / 2);
    assert_eq!((done.sent_bytes, done.latencies_ns.len()), (8, 0));
}

#[test]
fn a_write_behind_a_read_waits_for_it() {
    assert_eq!(execute("wrw", 8, Arrivals::Closed, ROUND_TRIP_NS - 1).sent_bytes, 1);
    // Then the next execution begins at once, though the other host's user is still to read.
    assert_eq!(execute("wrw", 8, Arrivals::Closed, ROUND_TRIP_NS).sent_bytes, 3);
}

#[test]
fn an_open_loop_begins_when_intended_while_fewer_are_outstanding() {
    // One every 10 ns, and 4 in a round trip.
    let arrivals = || Arrivals::Constant { per_kilosecond: 100_000_000_000 };
    let done = execute("wr", 8, arrivals(), 20 * ROUND_TRIP_NS);
    assert!(done.latencies_ns.iter().all(|latency_ns| *latency_ns == ROUND_TRIP_NS), "{:?}", done.latencies_ns);
    assert!((75..=77).contains(&done.latencies_ns.len()), "{}", done.latencies_ns.len());
}
