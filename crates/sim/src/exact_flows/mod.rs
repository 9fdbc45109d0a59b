//! Whole flows to the picosecond: what each came to when its rules were last changed on purpose.
//!
//! The rules of both hosts meet in a flow, so a change of any rule changes the flows that follow it. The counts show
//! what changed, and the digest of all segments that something did. After an intended change write the table anew, and
//! give the reason in the commit: `WHYPERF_GENERATE=1 cargo test -p whyperf-sim exact_flows`.

mod linux;
mod solaris;
mod sunos;

use crate::application::{Application, Scripted};
use crate::link::loss::Losses;
use crate::link::path::Path;
use crate::link::{LinkSpec, media};
use crate::machine::Machine;
use crate::time::{MS, Ps};
use crate::world::{Outcome, WorldSpec, run_sampled};
use schema::workload::{Arrivals, Group, Operation, Repeat, Size, Step, Transaction, Workload};
use std::collections::HashSet;
use std::fmt::Write as _;
use workload::user::Ending;

const HEADER: &str = "flow,duration_ps,data_segments,acks_sent,retransmitted_segments,timeouts,lost_frames,received_acks_sent,digest\n";

/// Two hosts, what lies between them, and what becomes of it.
struct Table {
    rows: String,
}

impl Table {
    fn flow(&mut self, name: &str, link: LinkSpec, path: Option<Path>, ends: [Machine; 2]) {
        let spec = WorldSpec { link, until: Some(60_000 * MS), is_logged: true };
        let outcome = run_sampled(&spec, path, ends, &mut std::iter::empty()).0;
        let [writer, reader] = &outcome.states;
        writeln!(
            self.rows,
            "{name},{},{},{},{},{},{},{},{:016x}",
            outcome.duration,
            writer.data_segments,
            writer.pure_acks,
            writer.retransmitted_segments,
            writer.timeouts,
            outcome.lost_frames[0] + outcome.lost_frames[1],
            reader.pure_acks,
            digest(&outcome),
        )
        .expect("a string takes everything");
    }
}

/// FNV-1a over everything that the log has of each segment.
fn digest(outcome: &Outcome) -> u64 {
    let numbers = outcome.log.entries.iter().chain(&outcome.log.came).flat_map(|entry| {
        let segment = &entry.segment;
        let blocks =
            segment.sack.blocks().iter().fold(0, |all, block| all * 31 + u64::from(block.after_bytes) * 7 + u64::from(block.bytes));
        [
            entry.at,
            entry.arrives,
            segment.sequence,
            segment.acknowledgment,
            u64::from(segment.bytes) << 32 | u64::from(segment.window),
            u64::from(segment.flags.is_push) << 1 | u64::from(segment.flags.is_retransmission),
            blocks,
            entry.cwnd_bytes,
            entry.at_sender.ssthresh_bytes,
            entry.at_sender.srtt,
            entry.at_sender.pacing_rate,
            entry.cause as u64,
        ]
    });
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ number).wrapping_mul(0x0100_0000_01b3))
}

fn writer(call_bytes: u32, left_bytes: u64) -> Application {
    Application::Writer { call_bytes, left_bytes }
}

fn reader(call_bytes: u32, left_bytes: u64) -> Application {
    Application::Reader { call_bytes, left_bytes }
}

/// Losses of the frames of these numbers.
fn script(numbers: &[u64]) -> Losses {
    let mut losses = Losses::NONE;
    losses.scripted[..numbers.len()].copy_from_slice(numbers);
    losses
}

fn random(per_million: u32, seed: u64) -> Losses {
    Losses { per_million, seed, ..Losses::NONE }
}

fn line(name: &str, propagation: Ps, headers_bytes: u32, losses: Losses) -> LinkSpec {
    let named = media::named(name).expect("it is in the table");
    LinkSpec { headers_bytes, losses: [losses, Losses::NONE], ..LinkSpec::usual(named, propagation) }
}

/// A workload of one user: w and r are steps of so many bytes, t pauses of so many milliseconds.
fn workload(count: u64, steps: &[(char, u64)]) -> Workload {
    let step = |&(kind, number): &(char, u64)| {
        let size = Size::Fixed { bytes: number };
        let operation = match kind {
            'w' => Operation::Write { connection: 0, size, call_bytes: Some(20_000) },
            'r' => Operation::Read { connection: 0, size, call_bytes: Some(20_000), timeout_ns: None },
            _ => Operation::Think { duration_ns: number * 1_000_000, is_busy: false, is_mirrored: false },
        };
        Step { operation, count: 1, can_fail: false }
    };
    let steps = steps.iter().map(step).collect();
    let repeat = Repeat::Iterations { count };
    let transaction = Transaction { name: "all".to_owned(), repeat, arrivals: Arrivals::Closed, outstanding_count: 1, steps };
    let group = Group { name: "all".to_owned(), strands_count: 1, is_connected: true, transactions: vec![transaction] };
    Workload { name: "all".to_owned(), seed: 1, groups: vec![group] }
}

/// Both hosts of a workload.
fn users(count: u64, steps: &[(char, u64)]) -> [Application; 2] {
    let workload = workload(count, steps);
    [true, false].map(|is_near| {
        Application::Scripted(Box::new(Scripted::new(&workload, is_near, 0, Ending::default()).expect("the model has these steps")))
    })
}

fn stream(call_bytes: u32, bytes: u64) -> [Application; 2] {
    [writer(call_bytes, bytes), reader(65_536, bytes)]
}

type Changed<'a, S> = (&'a str, &'a dyn Fn(&mut S));

#[test]
fn flows_are_as_they_were_last_changed_on_purpose() {
    let mut table = Table { rows: HEADER.to_owned() };
    linux::add_flows(&mut table);
    solaris::add_flows(&mut table);
    sunos::add_flows(&mut table);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exact_flows.csv");
    if std::env::var_os("WHYPERF_GENERATE").is_some() {
        std::fs::write(path, &table.rows).expect("the table is written");
    }
    let before = std::fs::read_to_string(path).expect("the table is there");
    for (flow, before) in table.rows.lines().zip(before.lines()) {
        assert_eq!(flow, before, "a flow has changed");
    }
    assert_eq!(table.rows.len(), before.len());
    let digests: HashSet<&str> = before.lines().filter_map(|row| row.rsplit(',').next()).collect();
    assert_eq!(digests.len(), before.lines().count(), "two flows are alike");
}
