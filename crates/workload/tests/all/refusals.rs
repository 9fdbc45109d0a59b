//! What a workload may be: of each limit the last that is allowed and the first that is refused, with its sentence.

use schema::workload::{Arrivals, FileToSend, Group, Operation, Repeat, Size, Step, Transaction, WeightedSize, Workload};
use workload::script::{Act, Script};
use workload::sizes;

fn write(connection: u32) -> Step {
    step(Operation::Write { connection, size: Size::Fixed { bytes: 1 }, call_bytes: None })
}

fn read(connection: u32) -> Step {
    step(Operation::Read { connection, size: Size::Fixed { bytes: 1 }, call_bytes: Some(7), timeout_ns: None })
}

fn step(operation: Operation) -> Step {
    Step { operation, count: 1, can_fail: false }
}

fn think() -> Step {
    step(Operation::Think { duration_ns: 1, is_busy: false, is_mirrored: false })
}

fn connect(connection: u32) -> Step {
    step(Operation::Connect { connection })
}

fn disconnect(connection: u32) -> Step {
    step(Operation::Disconnect { connection })
}

fn transaction(steps: Vec<Step>) -> Transaction {
    let repeat = Repeat::Iterations { count: 2 };
    Transaction { name: "t".to_owned(), repeat, arrivals: Arrivals::Closed, outstanding_count: 1, steps }
}

fn group(transactions: Vec<Transaction>) -> Group {
    Group { name: "g".to_owned(), strands_count: 1, is_connected: true, transactions }
}

fn near(groups: Vec<Group>) -> Result<Script, String> {
    Script::near(&Workload { name: "w".to_owned(), seed: 1, groups }).map_err(|error| error.to_string())
}

fn of_steps(steps: Vec<Step>) -> Result<Script, String> {
    near(vec![group(vec![transaction(steps)])])
}

fn of_size(size: Size) -> Result<Script, String> {
    of_steps(vec![step(Operation::Write { connection: 0, size, call_bytes: None })])
}

fn refused(result: Result<Script, String>, sentence: &str) {
    assert_eq!(result.map(|_| "a script"), Err(sentence.to_owned()));
}

#[test]
fn groups_and_transactions_are_checked() {
    refused(near(vec![]), "the workload: it has no group");
    refused(near(vec![group(vec![]), group(vec![])]), "group \"g\": there are two of that name");
    refused(
        near(vec![group(vec![transaction(vec![]), transaction(vec![])])]),
        "group \"g\", transaction \"t\": there are two of that name",
    );
    refused(near(vec![Group { strands_count: 0, ..group(vec![]) }]), "group \"g\": it has no virtual user");
    let users = |first, second| {
        let other = Group { name: "h".to_owned(), strands_count: second, ..group(vec![]) };
        near(vec![Group { strands_count: first, ..group(vec![]) }, other])
    };
    assert_eq!(users((1 << 24) - 1, 1).map(|script| script.strands_count()), Ok(1 << 24));
    refused(users(1 << 24, 1), "group \"h\": more than 16777216 virtual users in all");
    let outstanding = |outstanding_count, steps| near(vec![group(vec![Transaction { outstanding_count, ..transaction(steps) }])]);
    assert!(outstanding(1 << 16, vec![write(0), read(0)]).is_ok());
    assert!(outstanding(1, vec![think()]).is_ok());
    let range = |count| format!("group \"g\", transaction \"t\": outstanding_count is {count}; it must be from 1 to 65536");
    refused(outstanding(0, vec![write(0)]), &range(0));
    refused(outstanding((1 << 16) + 1, vec![write(0)]), &range(65_537));
    let together = "group \"g\", transaction \"t\": only reads and writes can be outstanding together";
    refused(outstanding(2, vec![write(0), think()]), together);
}

#[test]
fn arrivals_are_checked() {
    let arriving = |arrivals| near(vec![group(vec![Transaction { arrivals, ..transaction(vec![write(0)]) }])]).map(|_| ());
    let rate = Err("group \"g\", transaction \"t\": its rate is 0".to_owned());
    assert_eq!(arriving(Arrivals::Constant { per_kilosecond: 0 }), rate);
    assert_eq!(arriving(Arrivals::Poisson { per_kilosecond: 0 }), rate);
    assert_eq!(arriving(Arrivals::Constant { per_kilosecond: 1 }), Ok(()));
    assert_eq!(arriving(Arrivals::Poisson { per_kilosecond: 1 }), Ok(()));
    assert_eq!(arriving(Arrivals::Trace { intended_ns: vec![1, 1, 2] }), Ok(()));
    let order = Err("group \"g\", transaction \"t\": the instants of its trace do not ascend".to_owned());
    assert_eq!(arriving(Arrivals::Trace { intended_ns: vec![2, 1] }), order);
}

#[test]
fn steps_are_checked() {
    let place = |number, text: &str| format!("group \"g\", transaction \"t\", step {number}: {text}");
    refused(of_steps(vec![write(0), Step { count: 0, ..write(0) }]), &place(2, "its count is 0"));
    let call = |call_bytes| step(Operation::Write { connection: 0, size: Size::Fixed { bytes: 1 }, call_bytes: Some(call_bytes) });
    assert!(of_steps(vec![call(1)]).is_ok());
    refused(of_steps(vec![call(0)]), &place(1, "a call must ask for at least 1 byte"));
    let files = |lengths: &[u64]| {
        let files = lengths.iter().map(|&length_bytes| FileToSend { path: String::new(), length_bytes }).collect();
        of_steps(vec![step(Operation::SendFile { connection: 0, files, call_bytes: None })])
    };
    assert!(files(&[1, 2]).is_ok());
    refused(files(&[]), &place(1, "it sends no file, or an empty one"));
    refused(files(&[1, 0]), &place(1, "it sends no file, or an empty one"));
    assert_eq!(of_steps(vec![connect(1023), disconnect(1023)]).map(|script| script.groups[0].connections_count), Ok(1024));
    refused(of_steps(vec![connect(1024)]), &place(1, "connection 1024: a virtual user has at most 1024"));
}

#[test]
fn sizes_are_checked_and_bounded() {
    let place = |text: &str| format!("group \"g\", transaction \"t\", step 1: {text}");
    let weighted =
        |values: &[(u64, u32)]| Size::Weighted { values: values.iter().map(|&(bytes, weight)| WeightedSize { bytes, weight }).collect() };
    for (size, smallest, largest) in [
        (Size::Fixed { bytes: 7 }, 7, 7),
        (Size::Uniform { low_bytes: 3, high_bytes: 3 }, 3, 3),
        (Size::Uniform { low_bytes: 3, high_bytes: 9 }, 3, 9),
        (weighted(&[(9, 1), (2, 0)]), 2, 9),
        (Size::Sequence { bytes: vec![5, 4, 8] }, 4, 8),
    ] {
        assert_eq!((sizes::smallest(&size), sizes::largest(&size)), (smallest, largest));
        assert!(of_size(size).is_ok());
    }
    refused(of_size(Size::Uniform { low_bytes: 4, high_bytes: 3 }), &place("its least size, 4, is more than its largest, 3"));
    refused(of_size(weighted(&[(1, 0), (2, 0)])), &place("its sizes have no weight"));
    refused(of_size(Size::Sequence { bytes: vec![] }), &place("its sequence of sizes is empty"));
    for size in [Size::Fixed { bytes: 0 }, Size::Uniform { low_bytes: 0, high_bytes: 1 }, weighted(&[(0, 1), (2, 1)])] {
        refused(of_size(size), &place("a size of 0 bytes"));
    }
}

#[test]
fn connections_are_followed_through_transactions() {
    let place = |number, text: &str| format!("group \"g\", transaction \"t\", step {number}: {text}");
    refused(of_steps(vec![connect(1), connect(1)]), &place(2, "connection 1 is already open"));
    refused(of_steps(vec![connect(0)]), &place(1, "connection 0 is already open"));
    refused(of_steps(vec![Step { count: 2, ..connect(1) }, disconnect(1)]), &place(1, "connection 1 is already open"));
    refused(of_steps(vec![connect(1), Step { count: 2, ..disconnect(1) }]), &place(2, "connection 1 is not open"));
    refused(of_steps(vec![disconnect(1)]), &place(1, "connection 1 is not open"));
    for operation in [write(1), read(1)] {
        refused(of_steps(vec![operation.clone()]), &place(1, "connection 1 is not open"));
        assert!(of_steps(vec![connect(1), operation, disconnect(1)]).is_ok());
    }
    // What is repeated leaves them as it finds them; what is executed once, or never, need not.
    let opening = |repeat| near(vec![group(vec![Transaction { repeat, ..transaction(vec![connect(1)]) }])]);
    let left = "group \"g\", transaction \"t\": it is repeated, but does not leave the connections as it finds them";
    refused(opening(Repeat::Iterations { count: 2 }), left);
    refused(opening(Repeat::Trial), left);
    assert!(opening(Repeat::Iterations { count: 1 }).is_ok());
    // What was opened stays open for the next transaction, unless the first is never executed.
    let then = |count| {
        let first = Transaction { repeat: Repeat::Iterations { count }, ..transaction(vec![connect(1)]) };
        let second = Transaction { name: "u".to_owned(), ..transaction(vec![write(1)]) };
        near(vec![group(vec![first, second])])
    };
    assert!(then(1).is_ok());
    refused(then(0), "group \"g\", transaction \"u\", step 1: connection 1 is not open");
}

#[test]
fn a_script_numbers_users_and_transactions() {
    let named = |name: &str, steps| Transaction { name: name.to_owned(), ..transaction(steps) };
    let first = Group { strands_count: 3, ..group(vec![named("a", vec![write(0)]), named("b", vec![read(0), write(0), write(0)])]) };
    let steps = vec![write(0), write(0), read(0), write(0)];
    let second = Group { name: "h".to_owned(), strands_count: 2, is_connected: false, transactions: vec![named("c", vec![think()])] };
    let third = Group { name: "i".to_owned(), ..group(vec![named("d", steps)]) };
    let script = near(vec![first, second, third]).expect("a valid workload");
    assert_eq!(script.groups.iter().map(|group| group.first_user).collect::<Vec<_>>(), [0, 3, 5]);
    assert_eq!(script.groups.iter().map(|group| group.connections_count).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(script.transactions().map(|transaction| transaction.row).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!((script.strands_count(), script.rounds_count(), script.rows_count(), script.steps().count()), (6, 2, 4, 9));
    let of_each: Vec<_> =
        script.transactions().map(|transaction| (transaction.leads, transaction.is_silent, transaction.opening_steps_count)).collect();
    assert_eq!(of_each, [(true, false, 1), (false, false, 1), (true, true, 1), (true, false, 2)]);
    let calls: Vec<_> = script
        .steps()
        .filter_map(|step| match &step.act {
            Act::Write(transfer) | Act::Read(transfer) => Some(transfer.call_bytes),
            _ => None,
        })
        .collect();
    assert_eq!(calls[..2], [u64::MAX, 7]);
    assert!((0..5).all(|user| script.user_seed(user) != script.user_seed(user + 1)));
}
