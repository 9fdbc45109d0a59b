//! Rows of what libraries know of the connections that they carry.

use load::running::Load;
use load::transport::Facts;
use probe::clock::mono_ns;
use schema::table::TransportInfoRow;
use schema::trial::{Phase, TrialSpec};
use std::collections::BTreeMap;

use crate::table::Rows;

/// Samples the connections of a trial that a library carries.
pub struct TransportInfo {
    /// Its table.
    pub table: Rows<TransportInfoRow<'static>>,
    /// The state of the first of them when last seen.
    first: Option<Facts>,
    /// Packets that each has sent again, or where a library does not say so, lost.
    again_packets: BTreeMap<u32, u64>,
}

impl TransportInfo {
    /// Of a trial that has such connections.
    pub fn open(load: &Load) -> Option<Self> {
        let is_any = !load.watched.is_empty();
        is_any.then(|| Self { table: Rows::new(), first: None, again_packets: BTreeMap::new() })
    }

    /// A row a connection.
    pub fn sample(&mut self, spec: &TrialSpec, load: &Load, phase: Phase, is_final: bool) {
        let mut is_first = true;
        for (number, watched) in &load.watched {
            let Some(facts) = watched.facts() else { continue };
            self.again_packets.insert(*number, facts.retransmitted_packets.unwrap_or(facts.lost_packets));
            self.table.push(TransportInfoRow {
                host: &spec.host,
                connection: *number,
                role: spec.role_of(*number),
                phase,
                sample_mono_ns: mono_ns(),
                is_final,
                transport: watched.granted().transport,
                rtt_ns: facts.rtt_ns,
                packet_payload_bytes: facts.packet_payload_bytes,
                cwnd_bytes: facts.cwnd_bytes,
                peer_window_bytes: facts.peer_window_bytes,
                flight_bytes: facts.flight_bytes,
                sending_period_ns: facts.sending_period_ns,
                capacity_bytes_per_second: facts.capacity_bytes_per_second,
                sent_packets: facts.sent_packets,
                received_packets: facts.received_packets,
                lost_packets: facts.lost_packets,
                lost_bytes: facts.lost_bytes,
                missed_packets: facts.missed_packets,
                retransmitted_packets: facts.retransmitted_packets,
                acks_sent_count: facts.acks_sent_count,
                acks_received_count: facts.acks_received_count,
                congestion_events_count: facts.congestion_events_count,
                send_calls_count: facts.send_calls_count,
                receive_calls_count: facts.receive_calls_count,
            });
            if is_first {
                self.first = Some(facts);
                is_first = false;
            }
        }
    }

    /// The state of the first connection when last seen.
    pub fn first(&self) -> Option<&Facts> {
        self.first.as_ref()
    }

    /// Packets sent again so far, over all connections.
    pub fn again_packets(&self) -> u64 {
        self.again_packets.values().sum()
    }
}
