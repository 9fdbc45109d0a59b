//! Rows of what flows of datagrams counted.

use load::datagrams::{Seen, kernel_drops};
use load::running::Load;
use probe::clock::mono_ns;
use schema::table::{DATAGRAMS, Value};
use schema::trial::{Role, TrialSpec};

use crate::record::{RecordError, TableBuilder};

/// Turns what flows counted since the last look into rows.
pub struct Datagrams {
    host: String,
    role: Role,
    before: Vec<(u64, Seen)>,
    rows: TableBuilder,
}

impl Datagrams {
    /// Counts from now; `None` where there are no datagrams.
    pub fn open(spec: &TrialSpec, load: &Load) -> Option<Self> {
        spec.datagrams.as_ref()?;
        let before = vec![(mono_ns(), Seen::default()); load.flows.len()];
        Some(Self { host: spec.host.clone(), role: spec.role, before, rows: TableBuilder::new(&DATAGRAMS) })
    }

    /// The first interval starts here.
    pub fn on_begin(&mut self, start_mono_ns: u64) {
        for before in &mut self.before {
            before.0 = start_mono_ns;
        }
    }

    /// A row a flow, of what was counted since the last.
    ///
    /// # Errors
    /// A row does not fit its table.
    pub fn sample(&mut self, load: &Load, index: u32, phase: &str) -> Result<(), RecordError> {
        for ((flow, counts), before) in load.flows.iter().zip(&load.datagrams).zip(&mut self.before) {
            let now = (mono_ns(), counts.read());
            let (start_mono_ns, was) = std::mem::replace(before, now);
            let is = now.1;
            let is_receiver = self.role == Role::Receiver;
            let since = |count: fn(&Seen) -> u64| Value::U64(count(&is).saturating_sub(count(&was)));
            self.rows.push(vec![
                self.host.as_str().into(),
                flow.number.into(),
                index.into(),
                phase.into(),
                start_mono_ns.min(now.0).into(),
                now.0.into(),
                since(|seen| seen.sent_count),
                since(|seen| seen.arrived.received_count),
                since(|seen| seen.arrived.payload_bytes),
                since(|seen| seen.arrived.late_count),
                since(|seen| seen.arrived.duplicate_count),
                is_receiver.then_some(is.arrived.highest_count).into(),
                is_receiver.then_some(is.arrived.jitter_ns).into(),
                flow.socket.as_ref().filter(|_| is_receiver).map_or(0, |socket| kernel_drops(socket)).into(),
            ])?;
        }
        Ok(())
    }

    /// The table.
    pub fn into_table(self) -> TableBuilder {
        self.rows
    }
}

/// Datagrams that were not the flows'.
pub fn strangers_count(load: &Load) -> u64 {
    load.datagrams.iter().map(|counts| u64::from(counts.read().strangers_count)).sum()
}
