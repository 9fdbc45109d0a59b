//! A connection of a host: its socket, its TCP, and the process that writes or reads it.

use super::tasks::{Deferred, Process, Task, Then};
use crate::application::Application;
use crate::end_system::{Cause, EndState, Hello};
use crate::linux::buffer::SendBuffer;
use crate::linux::ecn::Ecn;
use crate::linux::receiver::Receiver;
use crate::linux::sender::Sender;
use crate::linux::spec::HostSpec;
use crate::segment::Segment;
use crate::time::Ps;
use std::collections::VecDeque;

/// One connection as it stands.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub number: u16,
    pub sender: Sender,
    pub receiver: Receiver,
    pub send_buffer: SendBuffer,
    pub application: Application,
    pub process: Process,
    pub then: Then,
    /// The process owns the socket.
    pub is_owned: bool,
    pub backlog: VecDeque<Segment>,
    pub deferred: Deferred,
    /// An acknowledgment leaves behind what is being sent, unless that carries it.
    pub ack_due: Option<Cause>,
    /// New buffers since the backlog was looked at.
    pub new_buffers: u32,
    pub wake_at: Option<Ps>,
    /// Memory of frames that the line has not yet accepted, and when the device is done with those it has.
    pub handed_over: VecDeque<u64>,
    pub completions: VecDeque<(Ps, u64)>,
    pub has_sent: bool,
    pub counted: EndState,
    /// Time stamp of the segment that is acknowledged next (`ts_recent`).
    pub recent_stamp: u32,
}

impl Connection {
    /// Before its process has begun.
    pub fn new(spec: &HostSpec, number: u16, application: Application) -> Self {
        let HostSpec { kernel, socket, mss, .. } = *spec;
        let limit = socket.send_buffer_bytes.map_or(kernel.send_memory[1], |bytes| 2 * u64::from(bytes));
        let is_locked = socket.send_buffer_bytes.is_some();
        let mut send_buffer = SendBuffer { limit, is_locked, most: kernel.send_memory[2] };
        send_buffer.expand(mss, 0);
        Self {
            number,
            sender: Sender::new(kernel, socket, mss, 0, true),
            receiver: Receiver::new(kernel, socket, mss),
            send_buffer,
            application,
            process: Process::Over,
            then: Then::Return,
            is_owned: false,
            backlog: VecDeque::new(),
            deferred: Deferred::default(),
            ack_due: None,
            new_buffers: 0,
            wake_at: None,
            handed_over: VecDeque::new(),
            completions: VecDeque::new(),
            has_sent: false,
            counted: EndState::default(),
            recent_stamp: 0,
        }
    }

    pub fn open(&mut self, spec: &HostSpec, peer: &Hello) {
        let HostSpec { kernel, socket, mss, .. } = *spec;
        self.sender = Sender::new(kernel, socket, mss.min(peer.mss), peer.window_bytes, peer.has_sack);
        self.sender.ecn = Ecn::new(socket.has_ecn && peer.has_ecn);
    }

    /// When the next of its timers is due, its device is done with what it waits for, or its process goes on.
    pub fn next_at(&self) -> Option<Ps> {
        let done = if self.sender.is_throttled { self.completions.front().map(|&(at, _)| at) } else { None };
        let waits = if let Process::Waiting(until) = self.process { Some(until) } else { None };
        let timers = [self.sender.timer_at(), self.sender.pacing.timer_at(), self.receiver.acks.due_at];
        timers.into_iter().chain([self.wake_at, done, waits]).flatten().min()
    }

    /// Its counts and what it holds; the processors are the host's.
    pub fn state(&self) -> EndState {
        let mss = u64::from(self.sender.mss);
        EndState {
            lost_segments: self.receiver.dropped,
            queued_bytes: self.sender.queue.end - self.sender.una,
            unread_bytes: self.receiver.readable(),
            outstanding_bytes: self.sender.next - self.sender.una,
            acked_bytes: self.sender.una,
            send_window_bytes: self.sender.window_end.saturating_sub(self.sender.una),
            cwnd_bytes: u64::from(self.sender.congestion.window) * mss,
            ssthresh_bytes: if self.sender.congestion.threshold == u32::MAX {
                u64::MAX
            } else {
                u64::from(self.sender.congestion.threshold) * mss
            },
            srtt: self.sender.round_trip.smoothed,
            rto: self.sender.round_trip.timeout(0),
            pacing_rate: Some(self.sender.pacing_rate()).filter(|&rate| rate < u64::MAX).unwrap_or(0),
            ..self.counted
        }
    }

    /// True if work of a processor is of its process.
    pub fn is_of_process(&self, work: &(u16, Task)) -> bool {
        work.0 == self.number && work.1.processor() == crate::calls::Processor::Own
    }

    pub fn waits_for(&self) -> String {
        let process = match self.process {
            Process::Writing { remaining, is_asleep: true } => {
                format!("the writer waits for memory with {remaining} bytes of its call left")
            }
            Process::Writing { remaining, .. } => format!("the writer has {remaining} bytes of its call left"),
            Process::Reading { .. } => "the reader waits for data".to_owned(),
            Process::Waiting(_) => "the process waits for its time".to_owned(),
            Process::Over => "the process is done".to_owned(),
        };
        let sender = &self.sender;
        format!(
            "{process}, {} bytes are queued, {} of them sent, the other host's window is {} bytes, the congestion window {} segments, {} bytes are unread",
            sender.queue.end - sender.una,
            sender.next - sender.una,
            sender.window_end.saturating_sub(sender.una),
            sender.congestion.window,
            self.receiver.readable()
        )
    }
}
