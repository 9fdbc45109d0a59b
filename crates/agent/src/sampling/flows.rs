//! Rows of connections as a whole: what was asked for, what was granted, how they ended; table flows.

use load::connection_result::{ConnectionResult, Cut, Ended};
use load::flow::Flow;
use load::options::{self, Requested};
use load::running::{Ends, Load};
use schema::table::FLOWS;
use schema::trial::TrialSpec;

use crate::known::Known;
use crate::record::TableBuilder;

/// A row a connection, once all have ended and the sockets still stand.
///
/// # Errors
/// A socket does not tell its options, or a row does not fit its table.
pub(super) fn table(spec: &TrialSpec, load: &Load, ends: &Ends, known: &[Known]) -> anyhow::Result<TableBuilder> {
    let mut rows = TableBuilder::new(&FLOWS);
    let requested = Requested::new(&spec.socket, spec.role);
    for ((result, flow), known) in ends.results.iter().zip(&load.flows).zip(known) {
        push(&mut rows, spec, &requested, load, (result, flow, known))?;
    }
    Ok(rows)
}

fn push(
    rows: &mut TableBuilder,
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
            let granted = socket.map(|socket| options::granted(socket, spec.of_connection(flow.number).transport)).transpose()?;
            (known.addresses(socket), granted.unwrap_or_default())
        }
    };
    let ended = match &result.ended {
        Ended::Complete => "complete",
        Ended::Cut(Cut::Deadline) => "deadline",
        Ended::Cut(Cut::Aborted) => "aborted",
        Ended::Failed(reason) => reason,
    };
    rows.push(vec![
        spec.host.as_str().into(),
        result.number.into(),
        spec.role_of(result.number).name().into(),
        granted.transport.name().into(),
        local_address.into(),
        remote_address.into(),
        if_known(flow.times.opening_mono_ns).into(),
        if_known(flow.times.opened_mono_ns).into(),
        spec.socket.window_bytes.into(),
        requested.send_buffer_bytes.into(),
        granted.send_buffer_bytes.into(),
        requested.receive_buffer_bytes.into(),
        granted.receive_buffer_bytes.into(),
        granted.window_clamp_bytes.into(),
        granted.mss_bytes.into(),
        granted.congestion_control.into(),
        granted.no_delay.into(),
        spec.socket.quick_ack.into(),
        load.threads.get(flow.thread as usize).copied().unwrap_or(0).into(),
        result.first_call_mono_ns.into(),
        result.last_call_mono_ns.into(),
        result.payload_bytes.into(),
        result.calls_count.into(),
        result.short_calls_count.into(),
        result.other_calls_count.into(),
        ended.into(),
    ])?;
    Ok(())
}

fn if_known(mono_ns: u64) -> Option<u64> {
    (mono_ns > 0).then_some(mono_ns)
}
