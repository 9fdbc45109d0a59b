//! Workloads of `crates/workload` as the processes of the model.

use schema::workload::{Arrivals, Group, Operation, Repeat, Size, Step, Transaction, Workload};
use sim::application::{Application, Call, Scripted};
use sim::machine::{Buffers, build_several};
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::time::{MS, US};
use sim::world::{WorldSpec, run};
use workload::user::Ending;

fn exchange(count: u64, think_ns: u64) -> Workload {
    let step = |operation| Step { operation, count: 1, can_fail: false };
    let size = |bytes| Size::Fixed { bytes };
    let steps = vec![
        step(Operation::Write { connection: 0, size: size(100), call_bytes: Some(60) }),
        step(Operation::Read { connection: 0, size: size(300), call_bytes: None, timeout_ns: None }),
        step(Operation::Think { duration_ns: think_ns, is_busy: false, is_mirrored: false }),
    ];
    let transaction = Transaction {
        name: "rr".to_owned(),
        repeat: Repeat::Iterations { count },
        arrivals: Arrivals::Closed,
        outstanding_count: 1,
        steps,
    };
    let group = Group { name: "clients".to_owned(), strands_count: 1, is_connected: true, transactions: vec![transaction] };
    Workload { name: "rr".to_owned(), seed: 1, groups: vec![group] }
}

fn process(workload: &Workload, is_near: bool) -> Application {
    Application::Scripted(Box::new(Scripted::new(workload, is_near, 0, Ending::default()).expect("known operations")))
}

#[test]
fn an_exchange_is_calls_on_both_hosts() {
    let workload = exchange(2, 5_000);
    let (mut near, mut far) = (process(&workload, true), process(&workload, false));
    for start in [0, 100 * US] {
        assert_eq!(near.next_call(start), Call::Write(60));
        near.on_moved(60);
        assert_eq!(near.next_call(start), Call::Write(40));
        near.on_moved(40);
        // The other host's calls have the same size.
        assert_eq!(far.next_call(start), Call::Read(60));
        far.on_moved(60);
        assert_eq!(far.next_call(start), Call::Read(40));
        // A read may return with less than it has room for.
        far.on_moved(10);
        assert_eq!(far.next_call(start), Call::Read(30));
        far.on_moved(30);
        assert_eq!(far.next_call(start), Call::Write(300));
        far.on_moved(300);
        assert_eq!(near.next_call(start), Call::Read(300));
        near.on_moved(300);
        assert_eq!(near.next_call(start + 20 * US), Call::Wait(start + 25 * US));
        near.next_call(start + 25 * US);
    }
    assert_eq!(far.next_call(300 * US), Call::Over);
    assert_eq!((near.is_complete(), far.is_complete()), (true, true));
    let times: Vec<(u64, u64)> = near.executed().iter().map(|executed| (executed.execution.begin_ns, executed.execution.end_ns)).collect();
    assert_eq!(times.len(), 2);
    assert_eq!(times[0], (0, 25_000));
}

#[test]
fn what_the_model_has_no_rule_for_is_named() {
    let mut pipelined = exchange(1, 0);
    pipelined.groups[0].transactions[0].outstanding_count = 4;
    let mut connecting = exchange(1, 0);
    connecting.groups[0].is_connected = false;
    let mut busy = exchange(1, 1_000);
    busy.groups[0].transactions[0].steps[2].operation = Operation::Think { duration_ns: 1, is_busy: true, is_mirrored: false };
    for (workload, named) in [(pipelined, "outstanding"), (connecting, "handshake"), (busy, "CPU busy")] {
        let refusal = Scripted::new(&workload, true, 0, Ending::default()).expect_err("unknown to the model");
        assert!(refusal.to_string().contains(named), "{refusal}");
    }
}

#[test]
fn a_process_whose_wait_ends_stands_behind_the_one_that_runs() {
    let mut profile = Library::shipped().and_then(|library| library.resolve("solaris8+gigabit")).expect("shipped");
    profile.set("processors", Value::Number(1.0)).expect("the key is there");
    let mut workload = exchange(1, 1_000_000);
    workload.groups[0].transactions[0].steps.rotate_right(1);
    let writer = Application::Writer { call_bytes: 8192, left_bytes: u64::MAX };
    let reader = Application::Reader { call_bytes: 65_536, left_bytes: u64::MAX };
    // A window so large that the writer never sleeps.
    let build = |processes, seed| build_several(&profile, &Buffers::all(64 << 20), processes, seed).expect("it can be");
    let (near, link) = build(vec![writer, process(&workload, true)], 1);
    let (far, _) = build(vec![reader, process(&workload, false)], 2);
    let outcome = run(&WorldSpec { link, until: Some(60 * MS), is_logged: true }, [near, far]);
    // It waits for 1 ms, and then until the writer has had its 20 ms.
    let first = outcome.calls[0][1].iter().find(|call| call.moved_bytes > 0).expect("it writes");
    assert!((20 * MS..25 * MS).contains(&first.to), "{first:?}");
}
