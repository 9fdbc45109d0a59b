//! Rows of connections as a whole: what was asked for, what was granted, how they ended; table flows.

use load::connection_result::{ConnectionResult, Cut, Ended};
use load::flow::Flow;
use load::options::{self, Granted, Requested};
use load::running::{Ends, Load};
use schema::table::FlowRow;
use schema::trial::TrialSpec;

use super::connection::Known;
use crate::table::{Columns, Rows};

/// A row a connection, once all have ended and the sockets still stand.
///
/// # Errors
/// A socket's options cannot be read.
pub fn table(spec: &TrialSpec, load: &Load, ends: &Ends, known: &[Known]) -> anyhow::Result<Columns> {
    let mut rows = Rows::new();
    let requested = Requested::new(&spec.socket, spec.role);
    for ((result, flow), known) in ends.results.iter().zip(&load.flows).zip(known) {
        push(&mut rows, spec, &requested, load, (result, flow, known))?;
    }
    Ok(rows.into_columns())
}

fn push(
    rows: &mut Rows<FlowRow<'_>>,
    spec: &TrialSpec,
    requested: &Requested,
    load: &Load,
    (result, flow, known): (&ConnectionResult, &Flow, &Known),
) -> anyhow::Result<()> {
    let ([local_address, remote_address], granted) = match (load.watched.get(&flow.number), flow.socket.as_deref()) {
        (Some(watched), _) => {
            let addresses = watched.addresses().map(|address| address.map_or_else(String::new, |address| address.to_string()));
            (addresses, watched.granted())
        }
        (None, socket) => {
            let transport = spec.of_connection(flow.number).transport;
            let granted = socket.map(|socket| options::granted(socket, transport)).transpose()?;
            (known.addresses(socket), granted.unwrap_or_else(|| Granted { transport, ..Granted::default() }))
        }
    };
    let ended = match &result.ended {
        Ended::Complete => "complete",
        Ended::Cut(Cut::Deadline) => "deadline",
        Ended::Cut(Cut::Aborted) => "aborted",
        Ended::Failed(reason) => reason,
    };
    rows.push(FlowRow {
        host: &spec.host,
        connection: result.number,
        role: spec.role_of(result.number),
        transport: granted.transport,
        local_address: &local_address,
        remote_address: &remote_address,
        opening_mono_ns: if_known(flow.times.opening_mono_ns),
        opened_mono_ns: if_known(flow.times.opened_mono_ns),
        window_requested_bytes: spec.socket.window_bytes,
        send_buffer_requested_bytes: requested.send_buffer_bytes,
        send_buffer_granted_bytes: granted.send_buffer_bytes,
        receive_buffer_requested_bytes: requested.receive_buffer_bytes,
        receive_buffer_granted_bytes: granted.receive_buffer_bytes,
        window_clamp_bytes: granted.window_clamp_bytes,
        mss_bytes: granted.mss_bytes,
        congestion_control: granted.congestion_control.as_deref(),
        no_delay: granted.no_delay,
        quick_ack: spec.socket.quick_ack,
        thread: load.threads.get(flow.thread as usize).copied().unwrap_or(0),
        first_call_mono_ns: result.first_call_mono_ns,
        last_call_mono_ns: result.last_call_mono_ns,
        payload_bytes: result.payload_bytes,
        calls_count: result.calls_count,
        short_calls_count: result.short_calls_count,
        other_calls_count: result.other_calls_count,
        ended,
    });
    Ok(())
}

fn if_known(mono_ns: u64) -> Option<u64> {
    (mono_ns > 0).then_some(mono_ns)
}
