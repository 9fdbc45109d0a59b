//! The sending side: numbers, stamps, and keeps to its rate.

use nix::sys::prctl;
use probe::clock::mono_ns;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};
use workload::datagrams::{HEADER_BYTES, Header, Schedule};
use workload::pace::Pace;

use super::DatagramTask;
use super::agreement::FlowCounts;
use super::transport::TICK;
use crate::LoadError;
use crate::connection_result::{ConnectionResult, Ended};
use crate::counter::Counts;
use crate::{options, sockopt};

/// Most bytes of a call with segmentation offload: they make one IPv4 packet on the path.
const MAX_CALL_BYTES: usize = 65_507;
/// Time after which a sender that waits for its turn looks again whether the load is over.
const STOP_CHECK_NS: u64 = 20_000_000;
/// Time that a device that has no room gets.
const NO_BUFFERS: Duration = Duration::from_micros(100);
/// Time that the receiver may take to count the rest; it waits for late ones.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sets the socket up for its datagrams.
///
/// # Errors
/// The kernel has no segmentation offload for UDP (before 4.18), or takes another size.
pub(crate) fn prepare(task: &DatagramTask, socket: &Socket) -> Result<(), LoadError> {
    if task.stream.batch_count == 1 {
        return Ok(());
    }
    let size = i32::try_from(task.stream.datagram_bytes).unwrap_or(i32::MAX);
    let advice = "; segmentation of datagrams needs Linux 4.18: choose a batch of 1";
    options::set_checked(socket, &sockopt::UDP_SEGMENT, size, advice)
}

/// Sends datagrams until the payload is sent or the load is stopped, reports how many, and receives how
/// many arrived. `source` fills them.
pub(crate) fn carry(task: &mut DatagramTask, source: &[u8]) -> ConnectionResult {
    // A sleep ends when the next datagram is due, not 50 µs later, where that is allowed.
    let _ = prctl::set_timerslack(1);
    let mut result = ConnectionResult::new(task.number);
    result.first_call_mono_ns = Some(mono_ns());
    let sent = Sending::new(task, source).send_all(&mut result);
    result.last_call_mono_ns = Some(mono_ns());
    let ended = sent.and_then(|sent_count| {
        task.transport.drain(&task.control)?;
        confirm(task, FlowCounts { datagrams_count: sent_count, payload_bytes: result.payload_bytes })
    });
    task.transport.close();
    result.ended = match (task.control.cut(), ended) {
        (Some(cut), _) => Ended::Cut(cut),
        (None, Ok(())) => Ended::Complete,
        (None, Err(error)) => Ended::Failed(format!("sending datagrams of flow {}: {error}", task.number)),
    };
    result
}

struct Sending<'a> {
    task: &'a mut DatagramTask,
    /// Length of a datagram, and how many make a call.
    size: usize,
    batch: usize,
    /// A batch; the same memory each time.
    buffer: Vec<u8>,
    schedule: Option<Schedule>,
    sent_count: u64,
}

impl<'a> Sending<'a> {
    fn new(task: &'a mut DatagramTask, source: &[u8]) -> Self {
        let size = (task.stream.datagram_bytes as usize).max(HEADER_BYTES);
        let batch = (task.stream.batch_count as usize).min(MAX_CALL_BYTES / size).max(1);
        let buffer = source.iter().copied().cycle().take(batch * size).collect();
        let schedule = Pace::new(task.stream.rate_bps).map(|pace| Schedule::new(pace, mono_ns()));
        Self { task, size, batch, buffer, schedule, sent_count: 0 }
    }

    fn send_all(mut self, result: &mut ConnectionResult) -> io::Result<u64> {
        let mut left_bytes = self.task.planned_bytes.unwrap_or(u64::MAX);
        while left_bytes > 0 && !self.task.control.is_stopped() {
            let due = self.await_due(result.payload_bytes);
            if due == 0 {
                continue;
            }
            let (taken, bytes) = match self.send(due, left_bytes) {
                Ok(taken) => taken,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    std::thread::sleep(NO_BUFFERS);
                    result.other_calls_count += 1;
                    continue;
                }
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) || error.raw_os_error() == Some(libc::EINVAL) => {
                    let text = format!("{error}; {} bytes are too many for a datagram on this path, or for a batch of them", self.size);
                    return Err(io::Error::new(error.kind(), text));
                }
                Err(error) => return Err(error),
            };
            self.sent_count += taken;
            result.payload_bytes += bytes;
            result.calls_count += 1;
            left_bytes = left_bytes.saturating_sub(bytes);
            self.task.counts.show_sent(self.sent_count, result.payload_bytes);
            self.task.counter.show(Counts { payload_bytes: result.payload_bytes, calls_count: result.calls_count });
        }
        Ok(self.sent_count)
    }

    /// Waits until a datagram is due, but not long; returns how many are, at most a batch.
    fn await_due(&mut self, sent_bytes: u64) -> usize {
        let Some(schedule) = &mut self.schedule else { return self.batch };
        let now = mono_ns();
        let due_ns = schedule.poll_due_ns(sent_bytes, now);
        if due_ns > now {
            self.task.transport.pause_until(due_ns.min(now.saturating_add(STOP_CHECK_NS)));
            return 0;
        }
        let size = self.size as u64;
        (1..self.batch).take_while(|more| schedule.poll_due_ns(sent_bytes + *more as u64 * size, now) <= now).count() + 1
    }

    /// Sends up to `due` datagrams, the last shorter when the payload ends there. Returns how many
    /// the kernel took, and their bytes.
    fn send(&mut self, due: usize, left_bytes: u64) -> io::Result<(u64, u64)> {
        let left = usize::try_from(left_bytes).unwrap_or(usize::MAX);
        let due = due.min(left.div_ceil(self.size));
        let length = |position: usize| left.saturating_sub(position * self.size).clamp(HEADER_BYTES, self.size);
        let now = mono_ns();
        for (position, sequence) in (0..due).zip(self.sent_count..) {
            let header =
                Header { tag: self.task.tag, sequence, sent_mono_ns: now, length_bytes: u32::try_from(length(position)).unwrap_or(0) };
            header.encode(&mut self.buffer[position * self.size..]);
        }
        let bytes = (due - 1) * self.size + length(due - 1);
        let taken = self.task.transport.send(&self.buffer[..bytes], self.size)?;
        Ok((taken.div_ceil(self.size) as u64, taken as u64))
    }
}

/// Reports how many were sent and waits for what arrived.
fn confirm(task: &mut DatagramTask, sent: FlowCounts) -> io::Result<()> {
    task.counts_sender.send(task.number, sent)?;
    let gone = || io::Error::other("the receiver did not report what arrived");
    let end = Instant::now() + REPORT_TIMEOUT;
    let arrived = loop {
        match task.inbox.try_recv() {
            Ok(arrived) => break arrived,
            Err(TryRecvError::Empty) if Instant::now() < end && task.control.cut().is_none() => task.transport.attend(TICK)?,
            Err(_) => return Err(gone()),
        }
    };
    if arrived.datagrams_count <= sent.datagrams_count && arrived.payload_bytes <= sent.payload_bytes {
        return Ok(());
    }
    Err(io::Error::other(format!("sent {} datagrams, the receiver counts {}", sent.datagrams_count, arrived.datagrams_count)))
}
