//! The sending side of the bulk workload.

use probe::clock::mono_ns;
use schema::trial::Role;
use std::io::{self, ErrorKind};
use workload::schedule::Due;

use crate::connection_result::{ConnectionResult, Ended};
use crate::control::StreamTask;
use crate::counter::Counts;
use crate::transport::StreamTransport;

/// Bytes of a reply that are read at a time.
const REPLY_PIECE_BYTES: usize = 64 << 10;
/// Longest first call that comes ahead of other threads, in bytes.
const MAX_URGENT_BYTES: usize = 1 << 20;
/// Time after which a sender that waits for its turn looks again whether the load is over.
const STOP_CHECK_NS: u64 = 20_000_000;

/// Writes calls from the front of `source` until the transfer is complete or stopped, closes the direction, and compares the
/// receiver's count with its own.
pub(crate) fn carry(task: &mut StreamTask, transport: &mut impl StreamTransport, source: &[u8]) -> ConnectionResult {
    let mut result = ConnectionResult::new(task.number);
    if let Some(Due::At(start_ns)) = due(task) {
        await_due(task, transport, task.begin_mono_ns.saturating_add(start_ns));
    }
    result.first_call_mono_ns = Some(mono_ns());
    let written = transport.start(Role::Sender, source).and_then(|()| {
        write_all(task, transport, source, &mut result)?;
        result.zero_copy = transport.let_go()?;
        Ok(())
    });
    result.last_call_mono_ns = Some(mono_ns());
    let ended = written.and_then(|()| confirm(transport, result.payload_bytes));
    result.other_calls_count = transport.other_calls_count();
    result.ended = match (task.control.cut(), ended) {
        (Some(cut), _) => Ended::Cut(cut),
        (None, Ok(())) => Ended::Complete,
        (None, Err(error)) => Ended::Failed(format!("sending on connection {}: {error}", task.number)),
    };
    result
}

fn write_all(task: &mut StreamTask, transport: &mut impl StreamTransport, source: &[u8], result: &mut ConnectionResult) -> io::Result<()> {
    if task.pace.is_some() || source.len() > MAX_URGENT_BYTES {
        task.urgent = None;
    }
    let mut reply = vec![0; task.exchange.reply_bytes().min(REPLY_PIECE_BYTES)];
    let start_mono_ns = mono_ns();
    loop {
        if let Some(pace) = task.pace {
            let stop_mono_ns = task.active.map_or(u64::MAX, |active| task.begin_mono_ns.saturating_add(active.stop_ns));
            await_due(task, transport, start_mono_ns.saturating_add(pace.due_ns(result.payload_bytes)).min(stop_mono_ns));
        }
        let ask = task.transfer.poll_call();
        if ask == 0 || task.control.is_stopped() || due(task) == Some(Due::Over) {
            return Ok(());
        }
        let moved = match transport.write(&source[..ask]) {
            Ok(moved) => moved,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        task.urgent = None;
        result.payload_bytes += moved as u64;
        result.calls_count += 1;
        result.short_calls_count += u64::from(moved < ask);
        task.counter.show(Counts { payload_bytes: result.payload_bytes, calls_count: result.calls_count });
        task.transfer.on_moved(moved);
        if let Some(mut reply_bytes) = task.exchange.on_moved(moved) {
            while reply_bytes > 0 {
                let length = reply_bytes.min(reply.len());
                reply_bytes -= read_some(task, transport, &mut reply[..length])?;
            }
        }
    }
}

/// The schedule's order for it now, if it has one.
fn due(task: &StreamTask) -> Option<Due> {
    task.active.map(|active| active.poll(mono_ns().saturating_sub(task.begin_mono_ns)))
}

/// Waits until a write is due, looking for the end of the load all the while.
fn await_due(task: &StreamTask, transport: &mut impl StreamTransport, due_mono_ns: u64) {
    let mut now = mono_ns();
    while now < due_mono_ns && !task.control.is_stopped() {
        transport.pause_until(due_mono_ns.min(now.saturating_add(STOP_CHECK_NS)));
        now = mono_ns();
    }
}

/// Reads a piece of a reply; the end of the stream is an error there.
fn read_some(task: &StreamTask, transport: &mut impl StreamTransport, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match transport.read(piece) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the receiver closed before its reply")),
            Err(error) if error.kind() == ErrorKind::Interrupted && task.control.cut().is_none() => {}
            read => return read,
        }
    }
}

/// Closes the direction and waits for the receiver's count of the payload.
fn confirm(transport: &mut impl StreamTransport, sent_bytes: u64) -> io::Result<()> {
    let received_bytes = transport.finish(sent_bytes)?;
    if received_bytes == sent_bytes {
        Ok(())
    } else {
        Err(io::Error::other(format!("sent {sent_bytes} bytes, the receiver counts {received_bytes}")))
    }
}
