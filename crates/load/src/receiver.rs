//! The receiving side of the bulk workload.

use probe::clock::mono_ns;
use schema::trial::Role;
use std::io::{self, ErrorKind};

use crate::carrier::Carrier;
use crate::control::Task;
use crate::counter::Counts;
use crate::life::{Ended, Life};

/// Reads calls into `buffer` to the end of the stream and reports the count to the sender.
pub(crate) fn carry(task: &mut Task, carrier: &mut impl Carrier, buffer: &mut [u8]) -> Life {
    let mut life = Life::new(task.number);
    let read = carrier.begin(Role::Receiver, buffer).and_then(|()| read_all(task, carrier, buffer, &mut life));
    let ended = read.and_then(|()| confirm(task, carrier, &life));
    if ended.is_err() {
        // The sender waits for a count that will not come.
        carrier.abandon();
    }
    life.other_calls_count = carrier.other_calls_count();
    life.ended = match (task.control.cut(), ended) {
        (Some(cut), _) => Ended::Cut(cut),
        (None, Ok(())) => Ended::Complete,
        (None, Err(error)) => Ended::Failed(format!("receiving on connection {}: {error}", task.number)),
    };
    life
}

fn read_all(task: &mut Task, carrier: &mut impl Carrier, buffer: &mut [u8], life: &mut Life) -> io::Result<()> {
    let ask = buffer.len();
    let reply = vec![0; task.exchange.reply_bytes()];
    loop {
        let moved = match carrier.read(buffer) {
            Ok(0) => break,
            Ok(moved) => moved,
            Err(error) if error.kind() == ErrorKind::Interrupted && task.control.cut().is_none() => continue,
            Err(error) => return Err(error),
        };
        if life.calls_count == 0 {
            life.first_call_mono_ns = Some(mono_ns());
        }
        life.payload_bytes += moved as u64;
        life.calls_count += 1;
        life.short_calls_count += u64::from(moved < ask);
        task.counter.show(Counts { payload_bytes: life.payload_bytes, calls_count: life.calls_count });
        task.transfer.on_moved(moved);
        if let Some(reply_bytes) = task.exchange.on_moved(moved) {
            write_all(task, carrier, &reply[..reply_bytes])?;
        }
        // The end of a counted transfer is its last payload byte, not the FIN behind it.
        if task.transfer.is_complete() && life.last_call_mono_ns.is_none() {
            life.last_call_mono_ns = Some(mono_ns());
        }
    }
    if life.last_call_mono_ns.is_none() && life.calls_count > 0 {
        life.last_call_mono_ns = Some(mono_ns());
    }
    Ok(())
}

/// Sends all of a reply.
fn write_all(task: &Task, carrier: &mut impl Carrier, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match carrier.write(bytes) {
            Ok(taken) => bytes = &bytes[taken..],
            Err(error) if error.kind() == ErrorKind::Interrupted && task.control.cut().is_none() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks that the stream did not end early, and tells the sender the count.
fn confirm(task: &Task, carrier: &mut impl Carrier, life: &Life) -> io::Result<()> {
    let early = match task.planned_bytes {
        Some(planned) => life.payload_bytes < planned,
        None => !task.control.has_run_for(task.least_ns),
    };
    if early {
        let text = format!("the sender closed early, after {} bytes", life.payload_bytes);
        return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
    }
    carrier.report(life.payload_bytes)
}
