//! The receiving side of the bulk workload.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use probe::clock::mono_ns;
use schema::trial::ReadWait;
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;

use crate::counter::Counts;
use crate::life::{Ended, Life};
use crate::running::Task;
use crate::{options, outlet};

/// Length of the receiver's closing report: its count of the payload, big-endian.
pub(crate) const REPORT_BYTES: usize = 8;

/// Reads calls into `buffer` to the end of the stream and reports the count to the sender.
pub(crate) fn carry(task: &mut Task, buffer: &mut [u8]) -> Life {
    let mut life = Life::new(task.number);
    let ended = read_all(task, buffer, &mut life).and_then(|()| confirm(task, &life));
    if ended.is_err() {
        // The sender waits for a count that will not come.
        let _ = task.socket.shutdown(Shutdown::Both);
    }
    life.ended = match (task.control.cut(), ended) {
        (Some(cut), _) => Ended::Cut(cut),
        (None, Ok(())) => Ended::Complete,
        (None, Err(error)) => Ended::Failed(format!("receiving on connection {}: {error}", task.number)),
    };
    life
}

fn read_all(task: &mut Task, buffer: &mut [u8], life: &mut Life) -> io::Result<()> {
    let ask = buffer.len();
    let reply = vec![0; task.exchange.reply_bytes()];
    loop {
        if task.read_wait == ReadWait::Poll {
            wait_readable(&task.socket)?;
            life.other_calls_count += 1;
        }
        let read = if task.spec.truncate { outlet::receive_nothing(&task.socket, ask) } else { (&*task.socket).read(buffer) };
        let moved = match read {
            Ok(0) => break,
            Ok(moved) => moved,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if life.calls_count == 0 {
            life.first_call_mono_ns = Some(mono_ns());
        }
        life.payload_bytes += moved as u64;
        life.calls_count += 1;
        life.short_calls_count += u64::from(moved < ask);
        task.counter.show(Counts { payload_bytes: life.payload_bytes, calls_count: life.calls_count });
        if task.quick_ack {
            options::quick_ack(&*task.socket)?;
            life.other_calls_count += 1;
        }
        if let Some(window_bytes) = task.window_bytes
            && is_clamp_due(life.calls_count)
        {
            options::keep_clamp(&*task.socket, window_bytes)?;
            life.other_calls_count += 1;
        }
        task.transfer.on_moved(moved);
        if let Some(reply_bytes) = task.exchange.on_moved(moved) {
            (&*task.socket).write_all(&reply[..reply_bytes])?;
            life.other_calls_count += 1;
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

/// Sleeps until there is something to read, be it the end of the stream.
fn wait_readable(socket: &Socket) -> io::Result<()> {
    let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the window clamp is looked at after this read: after each of the first ones, when
/// segments grow to their full size, and now and then later.
fn is_clamp_due(calls_count: u64) -> bool {
    const FIRST_READS: u64 = 1024;
    const LATER_READS: u64 = 64;
    calls_count <= FIRST_READS || calls_count.is_multiple_of(LATER_READS)
}

/// Checks that the stream did not end early, and tells the sender the count.
fn confirm(task: &Task, life: &Life) -> io::Result<()> {
    let early = match task.planned_bytes {
        Some(planned) => life.payload_bytes < planned,
        None => !task.control.has_run_for(task.least_ns),
    };
    if early {
        let text = format!("the sender closed early, after {} bytes", life.payload_bytes);
        return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
    }
    (&*task.socket).write_all(&life.payload_bytes.to_be_bytes())
}
