//! The scenario on the model: two hosts with Linux, joined by a veth pair.

use super::{Observation, Scenario};
use schema::workload::{Arrivals, Group, Operation, Repeat, Size, Step, Transaction, Workload};
use sim::application::{Application, Scripted};
use sim::link::LinkSpec;
use sim::link::loss::Losses;
use sim::machine;
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::world::{End, WorldSpec, run};
use workload::user::Ending;

pub fn step(operation: Operation) -> Step {
    Step { operation, count: 1, can_fail: false }
}

pub fn write(bytes: u32, call_bytes: u32) -> Step {
    step(Operation::Write { connection: 0, size: Size::Fixed { bytes: u64::from(bytes) }, call_bytes: Some(call_bytes) })
}

pub fn read(bytes: u32) -> Step {
    step(Operation::Read { connection: 0, size: Size::Fixed { bytes: u64::from(bytes) }, call_bytes: None, timeout_ns: None })
}

pub fn transaction(name: &str, count: u64, steps: Vec<Step>) -> Transaction {
    Transaction { name: name.to_owned(), repeat: Repeat::Iterations { count }, arrivals: Arrivals::Closed, outstanding_count: 1, steps }
}

fn workload(scenario: &Scenario) -> Workload {
    let bytes = scenario.message_bytes;
    let transactions = vec![
        transaction("exchange", u64::from(scenario.exchanges), vec![write(bytes, bytes), read(bytes)]),
        transaction("burst", 1, vec![write(scenario.burst * bytes, bytes), read(bytes)]),
    ];
    let group = Group { name: "dialog".to_owned(), strands_count: 1, is_connected: true, transactions };
    Workload { name: "dialog".to_owned(), seed: 1, groups: vec![group] }
}

/// Every segment as it left.
pub fn segments(scenario: &Scenario) -> Vec<Observation> {
    let clean = play(scenario, Losses::NONE);
    if !scenario.is_first_lost {
        return clean;
    }
    let near: Vec<&Observation> = clean.iter().filter(|segment| segment.is_near).collect();
    let first = near.iter().position(|segment| segment.bytes > 0 && segment.sequence == scenario.burst_from()).expect("the burst leaves");
    play(scenario, Losses { scripted: [first as u64 + 1, 0, 0, 0, 0, 0, 0, 0], ..Losses::NONE })
}

fn play(scenario: &Scenario, losses: Losses) -> Vec<Observation> {
    let workload = workload(scenario);
    let mut profile = Library::shipped().expect("the shipped parts").resolve("linux-6.18+veth").expect("a shipped host");
    if scenario.no_delay {
        profile.set("nagle", Value::Word("off".to_owned())).expect("the rule is there");
    }
    let build = |is_near, seed| {
        let process = Scripted::new(&workload, is_near, 0, Ending::default()).expect("the model has its operations");
        machine::build(&profile, 65_536, Application::Scripted(Box::new(process)), seed).expect("the profile is right")
    };
    let ((near, link), (far, _)) = (build(true, 1), build(false, 2));
    let link = LinkSpec { losses: [losses, Losses::NONE], ..link };
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, [near, far]);
    assert_eq!(outcome.end, End::Complete);
    let seen = |entry: &sim::log::Entry| Observation {
        is_near: entry.from == 0,
        sequence: entry.segment.sequence,
        bytes: entry.segment.bytes,
        acknowledgment: entry.segment.acknowledgment,
    };
    outcome.log.entries.iter().map(seen).collect()
}
