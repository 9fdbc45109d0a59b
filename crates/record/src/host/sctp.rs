//! Rows of what SCTP agreed on; table sctp.

use load::running::Load;
use schema::table::SctpRow;
use schema::trial::TrialSpec;
use schema::workload::Transport;

use crate::table::{Columns, Rows};

/// The associations of a trial that were open before its start, before they end; none over another transport.
pub fn table(spec: &TrialSpec, load: &Load) -> Option<Columns> {
    if spec.transport != Transport::Sctp {
        return None;
    }
    let mut rows = Rows::<SctpRow<'_>>::new();
    for flow in &load.flows {
        let granted = flow.socket.as_ref().and_then(|socket| load::options::granted(socket, spec.transport).ok());
        let Some((outgoing, incoming)) = granted.and_then(|granted| granted.sctp_streams) else { continue };
        rows.push(SctpRow {
            host: &spec.host,
            connection: flow.number,
            role: spec.role_of(flow.number),
            requested_streams: spec.socket.sctp_streams.map(u32::from),
            outgoing_streams: outgoing.into(),
            incoming_streams: incoming.into(),
        });
    }
    Some(rows.into_columns())
}
