//! Rows of what flows of datagrams counted.

use load::datagrams::{CountsSnapshot, kernel_drops};
use load::running::Load;
use probe::clock::mono_ns;
use schema::table::DatagramRow;
use schema::trial::{Phase, Role, TrialSpec};

use crate::table::Rows;

/// Turns what flows counted since the last look into rows.
pub struct Datagrams {
    host: String,
    role: Role,
    before: Vec<(u64, CountsSnapshot)>,
    /// Its table.
    pub rows: Rows<DatagramRow<'static>>,
}

impl Datagrams {
    /// Counts from now; `None` where there are no datagrams.
    pub fn open(spec: &TrialSpec, load: &Load) -> Option<Self> {
        spec.datagrams.as_ref()?;
        let before = vec![(mono_ns(), CountsSnapshot::default()); load.flows.len()];
        Some(Self { host: spec.host.clone(), role: spec.role, before, rows: Rows::new() })
    }

    /// The first interval starts here.
    pub fn on_begin(&mut self, start_mono_ns: u64) {
        for before in &mut self.before {
            before.0 = start_mono_ns;
        }
    }

    /// A row a flow, of what was counted since the last.
    pub fn sample(&mut self, load: &Load, index: u32, phase: Phase) {
        for ((flow, counts), before) in load.flows.iter().zip(&load.datagrams).zip(&mut self.before) {
            let now = (mono_ns(), counts.read());
            let (start_mono_ns, was) = std::mem::replace(before, now);
            let is = now.1;
            let is_receiver = self.role == Role::Receiver;
            let since = |count: fn(&CountsSnapshot) -> u64| count(&is).saturating_sub(count(&was));
            self.rows.push(DatagramRow {
                host: &self.host,
                connection: flow.number,
                interval: index,
                phase,
                start_mono_ns: start_mono_ns.min(now.0),
                end_mono_ns: now.0,
                sent_count: since(|seen| seen.sent_count),
                received_count: since(|seen| seen.arrived.received_count),
                payload_bytes: since(|seen| seen.arrived.payload_bytes),
                late_count: since(|seen| seen.arrived.late_count),
                duplicate_count: since(|seen| seen.arrived.duplicate_count),
                highest_sequence_count: is_receiver.then_some(is.arrived.highest_count),
                jitter_ns: is_receiver.then_some(is.arrived.jitter_ns),
                kernel_drops_count: flow.socket.as_ref().filter(|_| is_receiver).map_or(0, |socket| kernel_drops(socket)),
            });
        }
    }
}

/// Datagrams that were not the flows'.
pub fn strangers_count(load: &Load) -> u64 {
    load.datagrams.iter().map(|counts| u64::from(counts.read().strangers_count)).sum()
}
