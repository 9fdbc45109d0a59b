//! The receiving side of the bulk workload.

use probe::clock::mono_ns;
use schema::trial::Role;
use std::io::{self, ErrorKind};

use crate::connection_result::{ConnectionResult, Ended};
use crate::control::StreamTask;
use crate::counter::Counts;
use crate::transport::StreamTransport;

/// Reads calls into `buffer` to the end of the stream and reports the count to the sender.
pub(crate) fn carry(task: &mut StreamTask, transport: &mut impl StreamTransport, buffer: &mut [u8]) -> ConnectionResult {
    let mut result = ConnectionResult::new(task.number);
    let read = transport.start(Role::Receiver, buffer).and_then(|()| read_all(task, transport, buffer, &mut result));
    let ended = read.and_then(|()| confirm(task, transport, &result));
    if ended.is_err() {
        // The sender waits for a count that will not come.
        transport.abandon();
    }
    result.other_calls_count = transport.other_calls_count();
    result.ended = match (task.control.cut(), ended) {
        (Some(cut), _) => Ended::Cut(cut),
        (None, Ok(())) => Ended::Complete,
        (None, Err(error)) => Ended::Failed(format!("receiving on connection {}: {error}", task.number)),
    };
    result
}

fn read_all(
    task: &mut StreamTask,
    transport: &mut impl StreamTransport,
    buffer: &mut [u8],
    result: &mut ConnectionResult,
) -> io::Result<()> {
    let ask = buffer.len();
    let reply = vec![0; task.exchange.reply_bytes()];
    loop {
        let moved = match transport.read(buffer) {
            Ok(0) => break,
            Ok(moved) => moved,
            Err(error) if error.kind() == ErrorKind::Interrupted && task.control.cut().is_none() => continue,
            Err(error) => return Err(error),
        };
        if result.calls_count == 0 {
            result.first_call_mono_ns = Some(mono_ns());
        }
        result.payload_bytes += moved as u64;
        result.calls_count += 1;
        result.short_calls_count += u64::from(moved < ask);
        task.counter.show(Counts { payload_bytes: result.payload_bytes, calls_count: result.calls_count });
        task.transfer.on_moved(moved);
        if let Some(reply_bytes) = task.exchange.on_moved(moved) {
            write_all(task, transport, &reply[..reply_bytes])?;
        }
        // The end of a counted transfer is its last payload byte, not the FIN behind it.
        if task.transfer.is_complete() && result.last_call_mono_ns.is_none() {
            result.last_call_mono_ns = Some(mono_ns());
        }
    }
    if result.last_call_mono_ns.is_none() && result.calls_count > 0 {
        result.last_call_mono_ns = Some(mono_ns());
    }
    Ok(())
}

/// Sends all of a reply.
fn write_all(task: &StreamTask, transport: &mut impl StreamTransport, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match transport.write(bytes) {
            Ok(taken) => bytes = &bytes[taken..],
            Err(error) if error.kind() == ErrorKind::Interrupted && task.control.cut().is_none() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks that the stream did not end early, and sends the count to the sender.
fn confirm(task: &StreamTask, transport: &mut impl StreamTransport, result: &ConnectionResult) -> io::Result<()> {
    let early = match task.planned_bytes {
        Some(planned) => result.payload_bytes < planned,
        None => !task.control.has_run_for(task.least_ns),
    };
    if early {
        let text = format!("the sender closed early, after {} bytes", result.payload_bytes);
        return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
    }
    transport.report(result.payload_bytes)
}
