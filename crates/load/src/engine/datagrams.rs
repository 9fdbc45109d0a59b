//! Workloads over UDP: a write is one datagram, and so is a read.
//!
//! What is lost fails its execution: the end that begins executions stops waiting after the read's
//! timeout and begins the next, which the other host learns from the number in front of its datagram
//! ([`workload::datagram_order`]). What comes later than that is dropped.

use probe::clock::mono_ns;
use std::io;
use std::time::Duration;
use workload::datagram_order::write_number;
use workload::script::{Act, Script};
use workload::sizes;
use workload::user::Direction;

use super::worker::Worker;
use crate::LoadError;
use crate::open::MAX_DATAGRAM_BYTES;

/// How long a reply is waited for where the workload does not say, in ns.
const LOST_AFTER_NS: u64 = 1_000_000_000;

/// The workload as it is executed over UDP.
///
/// # Errors
/// It asks for what datagrams cannot do; the reason.
pub(super) fn over_udp(mut script: Script) -> Result<Script, LoadError> {
    let refused = |text: String| Err(LoadError::Usage(text));
    if script.groups.iter().any(|group| !group.is_connected) || script.steps().any(|step| matches!(step.act, Act::Connect | Act::Accept)) {
        return refused("over udp no connection is opened while a workload runs; let its groups begin connected".to_owned());
    }
    if script.steps().any(|step| matches!(step.act, Act::SendFile(..) | Act::ReadFile(..))) {
        return refused("over udp no files are sent; use a write".to_owned());
    }
    for transaction in script.groups.iter_mut().flat_map(|group| &mut group.transactions) {
        if transaction.outstanding_count > 1 {
            return refused(format!("over udp one execution of \"{}\" can be outstanding, not several", transaction.name));
        }
        for step in &mut transaction.steps {
            let (Act::Write(transfer) | Act::Read(transfer)) = &mut step.act else { continue };
            let largest = sizes::largest(&transfer.size);
            if largest > MAX_DATAGRAM_BYTES {
                return refused(format!("a datagram of {largest} bytes; it has at most {MAX_DATAGRAM_BYTES}"));
            }
            transfer.call_bytes = u64::MAX;
            // The end that follows waits for whatever comes next, however long that takes.
            transfer.timeout_ns = transaction.leads.then(|| transfer.timeout_ns.unwrap_or(LOST_AFTER_NS));
        }
    }
    Ok(script)
}

/// The shortest time that a datagram is waited for.
pub(super) fn least_timeout(script: &Script) -> Option<Duration> {
    let timeouts = script.steps().filter_map(|step| match &step.act {
        Act::Read(transfer) => transfer.timeout_ns,
        _ => None,
    });
    timeouts.min().map(|ns| Duration::from_nanos(ns.max(1000)))
}

impl Worker {
    pub(super) fn send_datagram(&mut self, index: usize, row: Option<usize>, connection: u32, bytes: u64) -> io::Result<()> {
        let link = self.link(index, connection)?;
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.buffers.datagram.len());
        write_number(&mut self.buffers.datagram[..ask], self.slots[index].user.datagram_number(&self.plan.script));
        self.on_first_call(index);
        let sent = super::sys::send(self.links[link].descriptor, &self.buffers.datagram[..ask], self.waiting(index, link));
        self.on_sent(index, row, link, ask, sent)
    }

    pub(super) fn receive_datagram(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        let link = self.link(index, connection)?;
        if !self.links[link].is_readable && !self.links[link].is_blocking {
            return self.refused(io::ErrorKind::WouldBlock.into(), index, link, Direction::Receive);
        }
        let flags = self.waiting(index, link);
        let received = self.take_in(index, link, self.buffers.sink.len(), flags);
        self.count_call(index, row);
        let moved = match received {
            Ok(moved) => moved,
            Err(error) => return self.refused(error, index, link, Direction::Receive),
        };
        self.now_ns = mono_ns();
        self.links[link].is_readable = true;
        let slot = &mut self.slots[index];
        if !slot.user.takes_datagram(&self.plan.script, &self.buffers.sink[..moved]) {
            slot.other_calls_count += 1;
            return Ok(());
        }
        // Whatever came is the operation.
        self.count_moved(index, row, Direction::Receive, moved as u64);
        Ok(())
    }

    /// Takes what has come before the other host said that it had ended: that way was the shorter one.
    pub(super) fn hear_the_rest(&mut self, index: usize) {
        let link = self.slots[index].first_link as usize;
        let is_blocking = std::mem::replace(&mut self.links[link].is_blocking, false);
        loop {
            self.links[link].is_readable = true;
            self.slots[index].user.on_ready(Direction::Receive.bit());
            self.run_slice(index);
            if !self.slots[index].is_queued {
                break;
            }
        }
        self.links[link].is_blocking = is_blocking;
    }
}
