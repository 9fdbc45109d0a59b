//! Rows of what TCP says of its connections: table `tcp_info`.

use load::running::Load;
use probe::clock::mono_ns;
use probe::tcp_info::{self, Sample, TcpInfo};
use schema::table::TCP_INFO;
use schema::trial::TrialSpec;
use std::os::fd::AsFd;
use workload::phases::Phase;

use super::MAX_SINGLE_FLOWS;
use crate::known::{Known, MAX_SAMPLED};
use crate::record::{RecordError, TableBuilder};

/// Asks connections in turn.
pub(super) struct Tcp {
    rows: TableBuilder,
    /// What was last seen of the first connection.
    first: Option<TcpInfo>,
    /// Position of the connection that is asked next.
    next: usize,
}

impl Tcp {
    /// Nobody was asked yet.
    pub fn new() -> Self {
        Self { rows: TableBuilder::new(&TCP_INFO), first: None, next: 0 }
    }

    /// Asks the connections in turn, beginning behind the last one asked, until all are done or it is
    /// `until_mono_ns`. Of a multitude only some have rows before the last sample: 15,000 rows ten
    /// times a second would be 40 MB/s of memory.
    ///
    /// # Errors
    /// A row does not fit its table.
    pub fn sample(
        &mut self,
        spec: &TrialSpec,
        load: &Load,
        known: &mut [Known],
        phase: Phase,
        until_mono_ns: Option<u64>,
    ) -> Result<(), RecordError> {
        let count = load.flows.len();
        let is_final = until_mono_ns.is_none();
        let step = if count > MAX_SINGLE_FLOWS && !is_final { count.div_ceil(MAX_SAMPLED) } else { 1 };
        for _ in 0..count {
            let position = self.next;
            let flow = &load.flows[position];
            self.next = (position + 1) % count;
            if let Some(info) = flow.socket.as_ref().and_then(|socket| TcpInfo::read(socket.as_fd()).ok()) {
                if position.is_multiple_of(step) {
                    let sample = Sample {
                        host: &spec.host,
                        connection: flow.number,
                        role: spec.role_of(flow.number).name(),
                        phase: phase.name(),
                        sample_mono_ns: mono_ns(),
                        is_final,
                    };
                    self.rows.push(tcp_info::row(&sample, &info))?;
                }
                known[position].on_info(&info);
                if position == 0 {
                    self.first = Some(info);
                }
            }
            if until_mono_ns.is_some_and(|until| mono_ns() > until) {
                break;
            }
        }
        Ok(())
    }

    /// What was last seen of the first connection.
    pub fn first(&self) -> Option<&TcpInfo> {
        self.first.as_ref()
    }

    /// The table.
    pub fn into_table(self) -> TableBuilder {
        self.rows
    }
}
