//! Two ends execute the same workload over pipes that move as little as they like, in any order: both
//! must count the same bytes and executions, and come to the end.

use proptest::prelude::*;
use schema::workload::{Arrivals, Group, Operation, Repeat, Size, Step, Transaction, WeightedSize, Workload};
use std::collections::VecDeque;
use workload::script::Script;
use workload::user::{Action, Direction, Ending, VirtualUser};

/// One end of a user, with what it counted.
struct End {
    script: Script,
    user: VirtualUser,
    executions: Vec<u64>,
    /// Executions that must be announced to the other host.
    limit: Option<u64>,
    is_over: bool,
    now_ns: u64,
}

impl End {
    fn new(script: Script) -> Self {
        let user = VirtualUser::new(&script, 0);
        Self { script, user, executions: Vec::new(), limit: None, is_over: false, now_ns: 0 }
    }
}

/// What is in flight from one host to the other.
#[derive(Default)]
struct Pipe {
    bytes: u64,
    calls: VecDeque<u64>,
    closed_count: u32,
}

/// Random choices that a failing test reproduces.
struct Draws<'a> {
    draws: &'a [u8],
    next: usize,
}

impl Draws<'_> {
    fn draw(&mut self, most: u64) -> u64 {
        self.next += 1;
        // A long run of the same draw must not starve an end.
        (u64::from(self.draws[self.next % self.draws.len()]) + self.next as u64 / 7) % (most + 1)
    }
}

/// What an end does next; returns whether it could do anything.
fn go_on(end: &mut End, out: &mut Pipe, back: &mut Pipe, random: &mut Draws<'_>) -> bool {
    const ROOM: u64 = 3_000;
    end.now_ns += 1 + random.draw(50);
    let now_ns = end.now_ns;
    match end.user.poll_action(&end.script, now_ns) {
        Action::Send { bytes, .. } | Action::SendFile { bytes, .. } => {
            let moved = bytes.min(ROOM.saturating_sub(out.bytes)).min(1 + random.draw(255) * 7);
            if moved == 0 {
                end.user.on_blocked(Direction::Send);
            } else {
                out.bytes += moved;
                end.user.on_moved(Direction::Send, moved, now_ns);
            }
        }
        Action::Receive { bytes, .. } => {
            let moved = bytes.min(back.bytes).min(1 + random.draw(255) * 7);
            if moved == 0 {
                end.user.on_blocked(Direction::Receive);
            } else {
                back.bytes -= moved;
                end.user.on_moved(Direction::Receive, moved, now_ns);
            }
        }
        Action::Connect { ordinal, .. } => {
            out.calls.push_back(ordinal);
            end.user.on_done(now_ns);
        }
        Action::Accept { ordinal, .. } => {
            let Some(call) = back.calls.pop_front() else { return false };
            assert_eq!(call, ordinal);
            end.user.on_done(now_ns);
        }
        Action::Disconnect { .. } => {
            out.closed_count += 1;
            end.user.on_done(now_ns);
        }
        Action::Hear { .. } => {
            if back.closed_count == 0 {
                return false;
            }
            back.closed_count -= 1;
            end.user.on_done(now_ns);
        }
        Action::Wait { until_ns } | Action::Spin { until_ns } => {
            end.user.on_ready(Direction::Send.bit() | Direction::Receive.bit());
            if until_ns == u64::MAX {
                return false;
            }
            end.now_ns = now_ns.max(until_ns);
        }
        Action::Ended(execution) => {
            assert!(execution.begin_ns <= execution.end_ns);
            assert!(execution.intended_ns.is_none_or(|intended_ns| intended_ns <= execution.begin_ns));
            *end.executions.last_mut().expect("a transaction has begun") += 1;
        }
        Action::Limit { executions_count } => end.limit = Some(executions_count),
        Action::Barrier => {
            end.is_over = true;
            return false;
        }
        Action::Over => panic!("nothing fails here"),
    }
    true
}

/// Executes all transactions at both hosts.
fn execute(workload: &Workload, ending: Ending, draws: &[u8]) -> [End; 2] {
    let near = Script::near(workload).expect("a valid workload");
    let rounds_count = u32::try_from(near.rounds_count()).expect("few");
    let mut ends = [End::new(near.clone()), End::new(near.mirror())];
    let mut pipes = [Pipe::default(), Pipe::default()];
    let mut random = Draws { draws, next: 0 };
    for round in 0..rounds_count {
        for end in &mut ends {
            end.is_over = false;
            end.executions.push(0);
            let begin_ns = end.now_ns;
            end.user.start(&end.script, round, begin_ns, &ending);
        }
        let mut idle = 0;
        while !(ends[0].is_over && ends[1].is_over) {
            // Draws that repeat may choose the same end for ever: one that could not go on lets the other try.
            let is_far = random.draw(1) == 1;
            let who = if idle < 20 { usize::from(is_far) } else { idle % 2 };
            let [first, second] = &mut pipes;
            let (out, back) = if who == 0 { (first, second) } else { (second, first) };
            idle = if go_on(&mut ends[who], out, back, &mut random) { 0 } else { idle + 1 };
            if let Some(executions_count) = ends[who].limit.take() {
                let end = &mut ends[1 - who];
                end.user.on_limit(&end.script, executions_count);
            }
            assert!(idle < 2_000, "stuck: {} / {}", ends[0].user.describe(&ends[0].script), ends[1].user.describe(&ends[1].script));
        }
        assert_eq!([pipes[0].bytes, pipes[1].bytes], [0, 0], "bytes are left in flight");
    }
    ends
}

/// Whether nothing passes between the ends: then each has its own count of it.
fn is_silent(script: &Script, round: usize) -> bool {
    script.groups[0].transactions[round].is_silent
}

fn agree(ends: &[End; 2]) {
    for (round, (near, far)) in ends[0].executions.iter().zip(&ends[1].executions).enumerate() {
        assert!(near == far || is_silent(&ends[0].script, round), "transaction {round}: {near} and {far} executions");
    }
    assert_eq!(ends[0].user.sent_bytes(), ends[1].user.received_bytes());
    assert_eq!(ends[0].user.received_bytes(), ends[1].user.sent_bytes());
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        (1u64..5_000).prop_map(|bytes| Size::Fixed { bytes }),
        (1u64..100, 100u64..5_000).prop_map(|(low_bytes, high_bytes)| Size::Uniform { low_bytes, high_bytes }),
        prop::collection::vec((1u64..3_000, 1u32..5), 1..4).prop_map(|values| Size::Weighted {
            values: values.into_iter().map(|(bytes, weight)| WeightedSize { bytes, weight }).collect()
        }),
        prop::collection::vec(1u64..2_000, 1..4).prop_map(|bytes| Size::Sequence { bytes }),
    ]
}

fn plain(operation: Operation) -> Step {
    Step { operation, count: 1, can_fail: false }
}

fn data_step(connection: u32) -> impl Strategy<Value = Step> {
    let operation = prop_oneof![
        (size(), prop::option::of(1u32..2_000)).prop_map(move |(size, call_bytes)| Operation::Write { connection, size, call_bytes }),
        (size(), prop::option::of(1u32..2_000)).prop_map(move |(size, call_bytes)| Operation::Read {
            connection,
            size,
            call_bytes,
            timeout_ns: None
        }),
    ];
    (operation, 1u32..4).prop_map(|(operation, count)| Step { operation, count, can_fail: false })
}

fn think() -> impl Strategy<Value = Step> {
    (0u64..500, any::<bool>(), any::<bool>())
        .prop_map(|(duration_ns, is_busy, is_mirrored)| plain(Operation::Think { duration_ns, is_busy, is_mirrored }))
}

fn repeat() -> impl Strategy<Value = Repeat> {
    prop_oneof![
        (0u64..20).prop_map(|count| Repeat::Iterations { count }),
        (0u64..20_000).prop_map(|duration_ns| Repeat::Duration { duration_ns }),
        Just(Repeat::Trial),
    ]
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        3 => Just(Arrivals::Closed),
        1 => (1u64 << 30..1 << 34).prop_map(|per_kilosecond| Arrivals::Constant { per_kilosecond }),
        1 => (1u64 << 30..1 << 34).prop_map(|per_kilosecond| Arrivals::Poisson { per_kilosecond }),
        1 => prop::collection::vec(0u64..20_000, 0..10).prop_map(|mut intended_ns| {
            intended_ns.sort_unstable();
            Arrivals::Trace { intended_ns }
        }),
    ]
}

fn transaction(number: usize) -> impl Strategy<Value = Transaction> {
    let pipelined = (prop::collection::vec(data_step(0), 1..4), 1u32..9);
    let mixed = (prop::collection::vec(prop_oneof![3 => data_step(0), 1 => think()], 1..5), Just(1u32));
    let connecting = (prop::collection::vec(data_step(1), 0..3), any::<bool>()).prop_map(|(mut steps, is_active)| {
        let open = if is_active { Operation::Connect { connection: 1 } } else { Operation::Accept { connection: 1 } };
        steps.insert(0, plain(open));
        steps.push(plain(Operation::Disconnect { connection: 1 }));
        (steps, 1u32)
    });
    (repeat(), arrivals(), prop_oneof![pipelined, mixed, connecting]).prop_map(move |(repeat, arrivals, (steps, outstanding_count))| {
        Transaction { name: format!("t{number}"), repeat, arrivals, outstanding_count, steps }
    })
}

fn workload() -> impl Strategy<Value = Workload> {
    (any::<u64>(), (transaction(0), transaction(1)), any::<bool>()).prop_map(|(seed, (first, second), has_two)| {
        let transactions = if has_two { vec![first, second] } else { vec![first] };
        let group = Group { name: "all".to_owned(), strands_count: 1, is_connected: true, transactions };
        Workload { name: "any".to_owned(), seed, groups: vec![group] }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn both_sides_count_the_same_when_time_is_up(
        workload in workload(),
        draws in prop::collection::vec(any::<u8>(), 1..50),
        until_ns in 1u64..30_000,
    ) {
        let ending = Ending { until_ns: Some(until_ns), payload_bytes: None, is_lossy: false };
        agree(&execute(&workload, ending, &draws));
    }

    #[test]
    fn both_sides_stop_at_the_same_byte(
        steps in prop::collection::vec(data_step(0), 1..4),
        outstanding_count in 1u32..5,
        payload_bytes in 1u64..50_000,
        draws in prop::collection::vec(any::<u8>(), 1..50),
    ) {
        let transaction =
            Transaction { name: "all".to_owned(), repeat: Repeat::Trial, arrivals: Arrivals::Closed, outstanding_count, steps };
        let group = Group { name: "all".to_owned(), strands_count: 1, is_connected: true, transactions: vec![transaction] };
        let workload = Workload { name: "any".to_owned(), seed: 1, groups: vec![group] };
        let ending = Ending { until_ns: None, payload_bytes: Some(payload_bytes), is_lossy: false };
        let ends = execute(&workload, ending, &draws);
        agree(&ends);
        prop_assert_eq!(ends[0].user.sent_bytes() + ends[0].user.received_bytes(), payload_bytes);
    }

    #[test]
    fn a_mirror_of_a_mirror_is_itself(workload in workload()) {
        let script = Script::near(&workload).expect("a valid workload");
        prop_assert_eq!(script.clone().mirror().mirror(), script);
    }
}
