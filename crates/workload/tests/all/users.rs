//! One user as a trace: what it asks for, and what it says of itself.

use schema::workload::{Arrivals, FileToSend, Group, Operation, Repeat, Size, Step, Transaction, Workload};
use workload::script::Script;
use workload::user::{Action, Datagram, Direction, Ending, Execution, LOST_AFTER_NS, VirtualUser};

const TEN: Size = Size::Fixed { bytes: 10 };

fn step(operation: Operation) -> Step {
    Step { operation, count: 1, can_fail: false }
}

fn failing(operation: Operation) -> Step {
    Step { can_fail: true, ..step(operation) }
}

fn write() -> Operation {
    Operation::Write { connection: 0, size: TEN, call_bytes: Some(6) }
}

fn read(timeout_ns: Option<u64>) -> Operation {
    Operation::Read { connection: 0, size: TEN, call_bytes: Some(6), timeout_ns }
}

fn script(repeat: Repeat, steps: Vec<Step>) -> Script {
    let transaction = Transaction { name: "t".to_owned(), repeat, arrivals: Arrivals::Closed, outstanding_count: 1, steps };
    let group = |name: &str, strands_count| Group {
        name: name.to_owned(),
        strands_count,
        is_connected: true,
        transactions: vec![transaction.clone()],
    };
    Script::near(&Workload { name: "w".to_owned(), seed: 1, groups: vec![group("a", 2), group("b", 3)] }).expect("a valid workload")
}

/// The first user of the second group, started at 100 ns.
fn started(script: &Script, ending: Ending) -> VirtualUser {
    let mut user = VirtualUser::new(script, 2);
    user.start(script, 0, 100, &ending);
    user
}

fn twice() -> Repeat {
    Repeat::Iterations { count: 2 }
}

#[test]
fn a_user_says_where_it_is() {
    let steps = vec![step(write()), step(read(None)), step(Operation::Think { duration_ns: 5, is_busy: true, is_mirrored: false })];
    let script = script(twice(), steps);
    let mut user = VirtualUser::new(&script, 4);
    assert_eq!((user.number(), user.row(&script), user.describe(&script).as_str()), (4, Some(1), "waiting for the other virtual users"));
    assert_eq!(user.poll_action(&script, 0), Action::Barrier);
    user.start(&script, 0, 100, &Ending::default());
    assert_eq!((user.describe(&script).as_str(), user.begun_count()), ("before execution 1 of t", 0));
    assert_eq!(user.poll_action(&script, 101), Action::Send { connection: 0, bytes: 6, is_last: false });
    assert!(!user.on_moved(Direction::Send, 6, 102));
    assert_eq!((user.describe(&script).as_str(), user.begun_count()), ("in execution 1 of t, step 1: 4 of 10 bytes not taken", 1));
    assert_eq!(user.poll_action(&script, 103), Action::Send { connection: 0, bytes: 4, is_last: true });
    user.on_blocked(Direction::Send);
    assert_eq!(user.poll_action(&script, 103), Action::Wait { until_ns: u64::MAX });
    user.on_ready(Direction::Receive.bit());
    assert_eq!(user.poll_action(&script, 103), Action::Wait { until_ns: u64::MAX });
    user.on_ready(Direction::Send.bit());
    assert_eq!(user.poll_action(&script, 103), Action::Send { connection: 0, bytes: 4, is_last: true });
    assert!(user.on_moved(Direction::Send, 4, 104));
    assert_eq!(user.poll_action(&script, 105), Action::Receive { connection: 0, bytes: 6 });
    user.on_blocked(Direction::Receive);
    assert_eq!(user.poll_action(&script, 105), Action::Wait { until_ns: u64::MAX });
    assert!(!user.on_moved(Direction::Receive, 3, 106));
    assert_eq!(user.describe(&script), "in execution 1 of t, step 2: 7 of 10 bytes missing");
    assert!(user.on_moved(Direction::Receive, 7, 107));
    assert_eq!(user.poll_action(&script, 110), Action::Spin { until_ns: 115 });
    assert_eq!(user.describe(&script), "in execution 1 of t, step 3: thinking");
    let ended = Execution { intended_ns: None, begin_ns: 101, end_ns: 116, is_failed: false };
    assert_eq!(user.poll_action(&script, 116), Action::Ended(ended));
    assert_eq!((user.begun_count(), user.ended_count(), user.sent_bytes(), user.received_bytes()), (1, 1, 10, 10));
    assert!(!user.is_pipelined() && !user.has_failed());
    user.give_up();
    assert!(user.has_failed());
    assert_eq!(user.poll_action(&script, 117), Action::Over);
    user.start(&script, 0, 200, &Ending::default());
    assert_eq!(user.poll_action(&script, 201), Action::Over);
}

#[test]
fn a_read_that_waits_too_long_fails_unless_that_is_passed_over() {
    let strict = script(twice(), vec![step(read(Some(50)))]);
    let mut user = started(&strict, Ending::default());
    assert_eq!(user.poll_action(&strict, 200), Action::Receive { connection: 0, bytes: 6 });
    user.on_blocked(Direction::Receive);
    assert_eq!(user.poll_action(&strict, 249), Action::Wait { until_ns: 250 });
    assert_eq!(user.poll_action(&strict, 250), Action::Over);
    assert!(user.has_failed());

    let lenient = script(twice(), vec![failing(read(Some(50))), step(write())]);
    let mut user = started(&lenient, Ending::default());
    user.poll_action(&lenient, 200);
    assert_eq!(user.poll_action(&lenient, 250), Action::Wait { until_ns: 250 });
    assert_eq!(user.poll_action(&lenient, 251), Action::Send { connection: 0, bytes: 6, is_last: false });
    user.on_moved(Direction::Send, 10, 252);
    let Action::Ended(execution) = user.poll_action(&lenient, 253) else { panic!("the execution has ended") };
    assert!(execution.is_failed);

    // Where messages get lost, the execution alone fails.
    let lossy = script(twice(), vec![step(write()), step(read(Some(50)))]);
    let mut user = started(&lossy, Ending { is_lossy: true, ..Ending::default() });
    user.poll_action(&lossy, 200);
    user.on_moved(Direction::Send, 10, 201);
    user.poll_action(&lossy, 202);
    let Action::Ended(execution) = user.poll_action(&lossy, 252) else { panic!("the execution has ended") };
    assert_eq!((execution.begin_ns, execution.is_failed), (200, true));
    assert_eq!(user.poll_action(&lossy, 253), Action::Send { connection: 0, bytes: 6, is_last: false });
}

#[test]
fn a_pause_is_the_other_hosts_too_where_it_is_mirrored() {
    for (is_mirrored, expected) in [(true, Action::Wait { until_ns: 106 }), (false, Action::Receive { connection: 0, bytes: 6 })] {
        let think = Operation::Think { duration_ns: 5, is_busy: false, is_mirrored };
        let far = script(twice(), vec![step(think), step(write())]).mirror();
        assert_eq!(started(&far, Ending::default()).poll_action(&far, 101), expected, "{is_mirrored}");
    }
}

#[test]
fn a_failure_is_passed_over_where_the_script_says_so() {
    let open = |operation| vec![failing(operation), step(Operation::Disconnect { connection: 1 })];
    let connecting = script(Repeat::Trial, open(Operation::Connect { connection: 1 }));
    let mut user = started(&connecting, Ending { until_ns: Some(1000), ..Ending::default() });
    assert_eq!(user.poll_action(&connecting, 101), Action::Connect { connection: 1, ordinal: 0 });
    assert_eq!(user.describe(&connecting), "in execution 1 of t, step 1: connecting");
    // The execution begins again under its number.
    assert!(user.on_failed(&connecting));
    assert_eq!(user.poll_action(&connecting, 110), Action::Connect { connection: 1, ordinal: 0 });
    user.on_done(111);
    assert_eq!(user.poll_action(&connecting, 112), Action::Disconnect { connection: 1 });
    user.on_blocked(Direction::Send);
    assert_eq!(user.poll_action(&connecting, 112), Action::Wait { until_ns: u64::MAX });
    assert_eq!(user.describe(&connecting), "in execution 1 of t, step 2: closing");
    user.on_done(113);
    let ended = Execution { intended_ns: None, begin_ns: 110, end_ns: 114, is_failed: true };
    assert_eq!(user.poll_action(&connecting, 114), Action::Ended(ended));
    // The clock ends it, and the other host learns how many there were.
    assert_eq!(user.poll_action(&connecting, 1000), Action::Limit { executions_count: 1 });
    assert_eq!(user.poll_action(&connecting, 1000), Action::Barrier);

    let far = connecting.mirror();
    let mut user = started(&far, Ending { until_ns: Some(1000), ..Ending::default() });
    assert_eq!(user.poll_action(&far, 101), Action::Accept { connection: 1, ordinal: 0 });
    assert_eq!(user.describe(&far), "in execution 1 of t, step 1: waiting for the other host to connect");
    user.on_done(102);
    assert_eq!(user.poll_action(&far, 103), Action::Hear { connection: 1 });
    assert_eq!(user.describe(&far), "in execution 1 of t, step 2: waiting for the other host to close");
    assert!(!user.on_failed(&far), "the second step may not fail");
    assert!(user.has_failed());
}

#[test]
fn a_payload_that_follows_an_opened_connection_greets() {
    let write = |connection| step(Operation::Write { connection, size: TEN, call_bytes: None });
    let read = |connection| step(Operation::Read { connection, size: TEN, call_bytes: None, timeout_ns: None });
    let think = || step(Operation::Think { duration_ns: 1, is_busy: false, is_mirrored: false });
    let close = || step(Operation::Disconnect { connection: 1 });
    for (between, near_greets, far_greets) in [
        (vec![write(1)], true, false),
        (vec![read(1)], false, true),
        (vec![write(0)], false, false),
        (vec![], true, false),
        (vec![think(), write(1)], false, false),
        (vec![think(), read(1)], false, true),
    ] {
        let mut steps = vec![step(Operation::Connect { connection: 1 })];
        steps.extend(between);
        steps.push(close());
        let near = script(twice(), steps);
        for (script, greets) in [(near.clone(), near_greets), (near.mirror(), far_greets)] {
            let mut user = started(&script, Ending::default());
            user.poll_action(&script, 101);
            assert_eq!(user.greets_by_payload(&script), greets, "{:?}", script.groups[0].transactions[0].steps);
        }
    }
}

#[test]
fn a_file_is_sent_in_calls_from_its_offset() {
    let files = vec![FileToSend { path: "/f".to_owned(), length_bytes: 10 }];
    let script = script(twice(), vec![step(read(None)), step(Operation::SendFile { connection: 0, files, call_bytes: Some(6) })]);
    let mut user = started(&script, Ending::default());
    user.poll_action(&script, 101);
    user.on_moved(Direction::Receive, 10, 102);
    assert_eq!(user.poll_action(&script, 103), Action::SendFile { connection: 0, file: 0, step: 1, offset: 0, bytes: 6 });
    user.on_moved(Direction::Send, 6, 104);
    assert_eq!(user.poll_action(&script, 105), Action::SendFile { connection: 0, file: 0, step: 1, offset: 6, bytes: 4 });
    assert_eq!((user.file_path(&script, 1, 0), user.file_path(&script, 0, 0), user.file_path(&script, 1, 1)), (Some("/f"), None, None));
    let far = script.mirror();
    let mut user = started(&far, Ending::default());
    user.poll_action(&far, 101);
    user.on_moved(Direction::Send, 10, 102);
    assert_eq!(user.poll_action(&far, 103), Action::Receive { connection: 0, bytes: 6 });
}

/// A datagram of ten bytes with the number of an operation.
fn numbered(number: u64) -> [u8; 10] {
    let mut datagram = [0; 10];
    workload::datagram_order::write_number(&mut datagram, number);
    datagram
}

const LOSSY: Ending = Ending { until_ns: None, payload_bytes: None, is_lossy: true };

#[test]
fn a_datagram_belongs_to_its_operation() {
    let near = script(Repeat::Trial, vec![step(write()), step(read(Some(50))), step(read(Some(50)))]);
    let far = near.clone().mirror();
    let (mut near_user, mut far_user) = (started(&near, LOSSY), started(&far, LOSSY));
    near_user.poll_action(&near, 101);
    far_user.poll_action(&far, 101);
    // Three operations an execution: the request is number 0, the replies are 1 and 2.
    assert_eq!((near_user.datagram_number(&near), far_user.datagram_number(&far)), (0, 0));
    let judged = |number| far_user.judge(&far, 0, &numbered(number));
    assert_eq!(far_user.judge(&far, 0, &numbered(0)[..9]), Datagram::Unknown, "of another size");
    assert_eq!(far_user.judge(&far, 1, &numbered(0)), Datagram::Unknown, "of another connection");
    assert_eq!((judged(0), judged(3)), (Datagram::Awaited, Datagram::Early(3)));
    assert_eq!((judged(4), judged(1 << 48)), (Datagram::Unknown, Datagram::Unknown), "a reply, and another transaction");
    // The first request is lost: the end that follows goes on to the second, and never had the first.
    far_user.skip_to(3);
    assert_eq!(far_user.poll_action(&far, 102), Action::Receive { connection: 0, bytes: 6 });
    assert_eq!((far_user.datagram_number(&far), far_user.ended_count()), (3, 0));
    assert_eq!(far_user.judge(&far, 0, &numbered(0)), Datagram::Late(0));
    far_user.on_late(10);
    far_user.on_moved(Direction::Receive, 10, 110);
    assert_eq!(far_user.received_bytes(), 20);
    far_user.poll_action(&far, 111);
    assert_eq!(far_user.datagram_number(&far), 4);
    // The end that leads takes what it waits for and nothing else.
    near_user.on_moved(Direction::Send, 10, 102);
    near_user.poll_action(&near, 103);
    let judged = |number| near_user.judge(&near, 0, &numbered(number));
    assert_eq!((judged(2), judged(1)), (Datagram::Unknown, Datagram::Awaited));
    near_user.on_moved(Direction::Receive, 10, 104);
    near_user.poll_action(&near, 105);
    near_user.on_moved(Direction::Receive, 10, 106);
    let Action::Ended(execution) = near_user.poll_action(&near, 107) else { panic!("both replies came") };
    assert!(!execution.is_failed);
    // The other host's count of executions ends one in which nothing is missing, and fails one in which a reply is.
    for replies in [1, 2] {
        let mut far_user = far_user.clone();
        for reply in 0..replies {
            far_user.poll_action(&far, 111);
            far_user.on_moved(Direction::Send, 10, 112 + reply);
        }
        far_user.on_limit(&far, 2);
        let Action::Ended(execution) = far_user.poll_action(&far, 115) else { panic!("it has begun") };
        assert_eq!((execution.begin_ns, execution.is_failed), (110, replies == 1));
        assert_eq!(far_user.poll_action(&far, 116), Action::Barrier);
    }
}

#[test]
fn what_is_left_of_a_lost_execution_opens_and_closes_connections_alone() {
    let on = |connection: u32, operation: Operation| match operation {
        Operation::Write { size, call_bytes, .. } => step(Operation::Write { connection, size, call_bytes }),
        Operation::Read { size, call_bytes, timeout_ns, .. } => step(Operation::Read { connection, size, call_bytes, timeout_ns }),
        other => step(other),
    };
    // Numbers:    0         1                    2                      3                        4
    let steps = || {
        vec![
            on(0, write()),
            on(0, read(Some(50))),
            step(Operation::Connect { connection: 1 }),
            on(1, write()),
            step(Operation::Disconnect { connection: 1 }),
        ]
    };
    let near = script(Repeat::Trial, steps());
    let mut user = started(&near, Ending { until_ns: Some(1000), ..LOSSY });
    user.poll_action(&near, 101);
    user.on_moved(Direction::Send, 10, 102);
    user.poll_action(&near, 103);
    user.on_blocked(Direction::Receive);
    assert_eq!(user.poll_action(&near, 104), Action::Wait { until_ns: 153 });
    assert!(matches!(user.poll_action(&near, 153), Action::Connect { connection: 1, .. }));
    assert!(user.is_skipping(&near));
    user.on_done(154);
    assert_eq!(user.poll_action(&near, 155), Action::Disconnect { connection: 1 });
    user.on_done(156);
    let Action::Ended(execution) = user.poll_action(&near, 157) else { panic!("the execution has ended") };
    assert!(execution.is_failed);
    assert!(matches!(user.poll_action(&near, 158), Action::Send { connection: 0, .. }));
    assert!(!user.is_skipping(&near));

    let far = near.mirror();
    let mut user = started(&far, LOSSY);
    user.poll_action(&far, 101);
    // The write of the second execution shows that the first is over: its connection is closed if it has come.
    user.skip_to(8);
    assert!(matches!(user.poll_action(&far, 102), Action::Accept { connection: 1, .. }));
    assert!(user.is_skipping(&far));
    user.on_absent();
    assert_eq!(user.poll_action(&far, 103), Action::Hear { connection: 1 });
    user.on_done(104);
    let Action::Ended(execution) = user.poll_action(&far, 105) else { panic!("a connection was opened") };
    assert!(execution.is_failed);
    assert!(matches!(user.poll_action(&far, 106), Action::Accept { connection: 1, .. }));
    assert!(user.is_skipping(&far), "the connection comes before its write");
    user.on_done(107);
    assert_eq!(user.poll_action(&far, 108), Action::Receive { connection: 1, bytes: 6 });
    assert!(!user.is_skipping(&far));
    // Of many executions that are missed as a whole, the last one's connections alone are opened and closed.
    user.skip_to(5_000_000_003);
    let mut accepted = 0;
    let mut now_ns = 110;
    loop {
        now_ns += 1;
        match user.poll_action(&far, now_ns) {
            Action::Accept { .. } => {
                accepted += 1;
                user.on_done(now_ns);
            }
            Action::Hear { .. } => user.on_done(now_ns),
            Action::Ended(execution) => assert!(execution.is_failed),
            Action::Receive { .. } if user.datagram_number(&far) == 5_000_000_003 => break,
            other => panic!("{other:?}"),
        }
        assert!(now_ns < 200, "it skips one by one");
    }
    assert_eq!(accepted, 2);
}

#[test]
fn the_end_that_leads_waits_for_a_connection_as_long_as_for_a_datagram() {
    let steps = vec![step(write()), step(Operation::Accept { connection: 1 }), step(Operation::Disconnect { connection: 1 })];
    let near = script(Repeat::Trial, steps);
    let mut user = started(&near, LOSSY);
    user.poll_action(&near, 101);
    user.on_moved(Direction::Send, 10, 102);
    assert!(matches!(user.poll_action(&near, 103), Action::Accept { connection: 1, .. }));
    user.on_blocked(Direction::Receive);
    assert_eq!(user.poll_action(&near, 104), Action::Wait { until_ns: 103 + LOST_AFTER_NS });
    assert_eq!(user.poll_action(&near, 103 + LOST_AFTER_NS), Action::Disconnect { connection: 1 });
    user.on_done(104 + LOST_AFTER_NS);
    let Action::Ended(execution) = user.poll_action(&near, 105 + LOST_AFTER_NS) else { panic!("the execution has ended") };
    assert!(execution.is_failed);
}
