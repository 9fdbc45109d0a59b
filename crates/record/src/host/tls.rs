//! Rows of what TLS agreed on; table tls.

use load::running::Load;
use schema::table::TlsRow;
use schema::trial::TrialSpec;

use crate::table::{Columns, Rows};

/// A row a connection whose handshake is over; none where there is no TLS.
pub fn table(spec: &TrialSpec, load: &Load) -> Option<Columns> {
    let mut rows = Rows::<TlsRow<'_>>::new();
    for flow in &load.flows {
        let Some(facts) = flow.tls.as_ref().and_then(|view| view.get()) else { continue };
        rows.push(TlsRow {
            host: &spec.host,
            connection: flow.number,
            role: spec.role_of(flow.number),
            version: facts.negotiated.version.name(),
            cipher: facts.negotiated.cipher.name(),
            in_kernel: facts.is_in_kernel,
            requested_record_bytes: spec.socket.tls_record_bytes,
        });
    }
    let is_any = load.flows.iter().any(|flow| flow.tls.is_some());
    is_any.then(|| rows.into_columns())
}
