//! Rows of what libraries know of the connections that they carry.

use load::running::Load;
use load::transport::Facts;
use probe::clock::mono_ns;
use schema::table::{TRANSPORT_INFO, Value};
use schema::trial::TrialSpec;
use std::collections::BTreeMap;

use crate::record::{RecordError, TableBuilder};

/// Samples the connections of a trial that a library carries.
pub struct TransportInfo {
    table: TableBuilder,
    /// What was last seen of the first of them.
    first: Option<Facts>,
    /// Packets that each has sent again, or where a library does not say so, lost.
    again_packets: BTreeMap<u32, u64>,
}

impl TransportInfo {
    /// Of a trial that has such connections.
    pub fn open(load: &Load) -> Option<Self> {
        let is_any = !load.watched.is_empty();
        is_any.then(|| Self { table: TableBuilder::new(&TRANSPORT_INFO), first: None, again_packets: BTreeMap::new() })
    }

    /// A row a connection.
    ///
    /// # Errors
    /// A row does not fit its table.
    pub fn sample(&mut self, spec: &TrialSpec, load: &Load, phase: &str, is_final: bool) -> Result<(), RecordError> {
        let mut is_first = true;
        for (number, watched) in &load.watched {
            let Some(facts) = watched.facts() else { continue };
            self.again_packets.insert(*number, facts.retransmitted_packets.unwrap_or(facts.lost_packets));
            let mut row: Vec<Value> = vec![
                spec.host.as_str().into(),
                (*number).into(),
                spec.role_of(*number).name().into(),
                phase.into(),
                mono_ns().into(),
                is_final.into(),
                watched.granted().transport.name().into(),
            ];
            row.extend(values(&facts));
            self.table.push(row)?;
            if is_first {
                self.first = Some(facts);
                is_first = false;
            }
        }
        Ok(())
    }

    /// What was last seen of the first connection.
    pub fn first(&self) -> Option<&Facts> {
        self.first.as_ref()
    }

    /// Packets sent again so far, over all connections.
    pub fn again_packets(&self) -> u64 {
        self.again_packets.values().sum()
    }

    /// The table.
    pub fn into_table(self) -> TableBuilder {
        self.table
    }
}

fn values(facts: &Facts) -> [Value; 18] {
    [
        facts.rtt_ns.into(),
        facts.packet_payload_bytes.into(),
        facts.cwnd_bytes.into(),
        facts.peer_window_bytes.into(),
        facts.flight_bytes.into(),
        facts.sending_period_ns.into(),
        facts.capacity_bytes_per_second.into(),
        facts.sent_packets.into(),
        facts.received_packets.into(),
        facts.lost_packets.into(),
        facts.lost_bytes.into(),
        facts.missed_packets.into(),
        facts.retransmitted_packets.into(),
        facts.acks_sent_count.into(),
        facts.acks_received_count.into(),
        facts.congestion_events_count.into(),
        facts.send_calls_count.into(),
        facts.receive_calls_count.into(),
    ]
}
