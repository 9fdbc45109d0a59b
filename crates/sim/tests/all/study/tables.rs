//! Tables 1 to 3 of study 2, and what the model makes of their settings.

use schema::workload::{Arrivals, Group, Operation, Repeat, Size, Step, Transaction, Workload};
use sim::application::{Application, Scripted};
use sim::machine::{self, Buffers};
use sim::profile::HostProfile;
use sim::profile::profile_file::Value;
use sim::world::{Outcome, WorldSpec, run};
use workload::user::Ending;

/// The hosts of the study.
pub const HOST: &str = "solaris8+gigabit";
/// Its best compromise of a socket's buffer.
const WINDOW_BYTES: u32 = 65_536;
const TRANSACTIONS: u64 = 300;

/// Transactions a second with deferred ACKs off and on, by payload: `gbe_tcp_rr.csv`.
pub const REQUEST_RESPONSE: [(u32, [f64; 2]); 7] = [
    (4, [6972.0, 6978.0]),
    (40, [6990.0, 6885.0]),
    (100, [6714.0, 5358.0]),
    (250, [5452.0, 5634.0]),
    (536, [4973.0, 5157.0]),
    (1024, [4196.0, 4302.0]),
    (1460, [3104.0, 3244.0]),
];

/// Packets a second with Nagle's algorithm, by message: `gbe_small_packets_nagle.csv`.
pub const NAGLE: [(u32, f64); 6] = [(60, 13_198.0), (100, 15_224.0), (250, 26_427.0), (536, 36_548.0), (1024, 42_417.0), (1460, 57_146.0)];

/// The same without, with deferred ACKs on and off: `gbe_small_packets_nodelay.csv`.
pub const NO_DELAY: [(u32, [f64; 2]); 6] = [
    (60, [37_224.0, 39_010.0]),
    (100, [41_987.0, 43_736.0]),
    (250, [41_297.0, 42_193.0]),
    (536, [43_724.0, 41_861.0]),
    (1024, [42_576.0, 41_024.0]),
    (1460, [57_527.0, 57_554.0]),
];

/// A figure of the study, and the model's.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Which table and column.
    pub table: &'static str,
    /// Message or request.
    pub payload_bytes: u32,
    /// The study's.
    pub reported: f64,
    /// The model's.
    pub modeled: f64,
}

impl Row {
    /// How far the model is off, relative to the study.
    pub fn error(&self) -> f64 {
        self.modeled / self.reported - 1.0
    }
}

/// Every figure of the three tables.
pub fn rows(profile: &HostProfile) -> Vec<Row> {
    rows_of(profile, |_, _| true)
}

/// The figures of the tables and payloads that `is_wanted` says.
pub fn rows_of(profile: &HostProfile, is_wanted: impl Fn(&str, u32) -> bool) -> Vec<Row> {
    let undeferred = with(profile, "deferred_acks_max", Value::Number(1.0));
    let [on, off] = [profile, &undeferred].map(|profile| with(profile, "nagle", Value::Word("off".to_owned())));
    let requests = REQUEST_RESPONSE.map(|(payload, [off, on])| [("rr-off", payload, off), ("rr-on", payload, on)]);
    let without_delay = NO_DELAY.map(|(payload, [on, off])| [("nodelay-on", payload, on), ("nodelay-off", payload, off)]);
    let nagle = NAGLE.map(|(payload, reported)| ("nagle", payload, reported));
    let wanted = requests.into_iter().flatten().chain(nagle).chain(without_delay.into_iter().flatten());
    let wanted = wanted.filter(|&(table, payload_bytes, _)| is_wanted(table, payload_bytes));
    let row = |(table, payload_bytes, reported)| {
        let modeled = match table {
            "rr-off" => transactions_per_s(&undeferred, payload_bytes),
            "rr-on" => transactions_per_s(profile, payload_bytes),
            "nodelay-on" => packets_per_s(&on, payload_bytes),
            "nodelay-off" => packets_per_s(&off, payload_bytes),
            _ => packets_per_s(profile, payload_bytes),
        };
        Row { table, payload_bytes, reported, modeled }
    };
    wanted.map(row).collect()
}

/// The host with another rule or number.
pub fn with(profile: &HostProfile, key: &str, value: Value) -> HostProfile {
    let mut profile = profile.clone();
    profile.set(key, value).expect("the host has the key");
    profile
}

/// Requests and responses of equal size, one at a time.
pub fn transactions_per_s(profile: &HostProfile, bytes: u32) -> f64 {
    let size = Size::Fixed { bytes: u64::from(bytes) };
    let write = Operation::Write { connection: 0, size: size.clone(), call_bytes: None };
    let read = Operation::Read { connection: 0, size, call_bytes: None, timeout_ns: None };
    let steps = [write, read].map(|operation| Step { operation, count: 1, can_fail: false }).to_vec();
    let repeat = Repeat::Iterations { count: TRANSACTIONS };
    let transaction = Transaction { name: "rr".to_owned(), repeat, arrivals: Arrivals::Closed, outstanding_count: 1, steps };
    let group = Group { name: "rr".to_owned(), strands_count: 1, is_connected: true, transactions: vec![transaction] };
    let workload = Workload { name: "rr".to_owned(), seed: 1, groups: vec![group] };
    let user = |is_near| Scripted::new(&workload, is_near, 0, Ending::default()).expect("the model has these steps");
    let ends = [true, false].map(|is_near| vec![Application::Scripted(Box::new(user(is_near)))]);
    let outcome = outcome(profile, ends, false);
    TRANSACTIONS as f64 * 1e12 / outcome.duration as f64
}

/// Messages in one direction: packets with payload a second.
pub fn packets_per_s(profile: &HostProfile, message_bytes: u32) -> f64 {
    // Whole pairs, as table 2 shows them.
    let left_bytes = 800 * u64::from(1460 / message_bytes + 1) * u64::from(message_bytes);
    let ends = stream(message_bytes, left_bytes, 1);
    let outcome = outcome(profile, ends, true);
    // Without the end, where a last small message waits for the timer of the deferred acknowledgment.
    let times: Vec<_> = outcome.log.entries.iter().filter(|entry| entry.from == 0).map(|entry| entry.at).collect();
    let (first, last) = (times.len() / 10, times.len() / 10 * 9);
    (last - first) as f64 * 1e12 / (times[last] - times[first]) as f64
}

/// Mbit/s of all connections with writes of 64 KB and segments' worth copied at once.
pub fn copy_steps_mbps(profile: &HostProfile, connections: usize, multiplier: u32) -> f64 {
    let profile = with(profile, "maxpsz_multiplier", Value::Number(f64::from(multiplier)));
    outcome(&profile, stream(65_536, (16 << 20) / connections as u64, connections), false).goodput_bps(1) / 1e6
}

fn stream(call_bytes: u32, left_bytes: u64, connections: usize) -> [Vec<Application>; 2] {
    [
        vec![Application::Writer { call_bytes, left_bytes }; connections],
        vec![Application::Reader { call_bytes: 65_536, left_bytes }; connections],
    ]
}

fn outcome(profile: &HostProfile, ends: [Vec<Application>; 2], is_logged: bool) -> Outcome {
    let [near, far] = ends;
    let build = |applications, seed| machine::build_several(profile, &Buffers::all(WINDOW_BYTES), applications, seed).expect("a host");
    let (near, link) = build(near, 1);
    let (far, _) = build(far, 2);
    run(&WorldSpec { link, until: None, is_logged }, [near, far])
}
