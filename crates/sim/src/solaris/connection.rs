//! A connection of a host: its TCP, its process, and who is inside its perimeter.

use super::deferred::Deferred;
use super::messages::Unsent;
use super::receiver::Receiver;
use super::sender::Sender;
use super::spec::HostSpec;
use super::tasks::{Process, Run};
use crate::application::Application;
use crate::end_system::{Cause, EndState};
use crate::time::Ps;
use std::collections::VecDeque;

/// One connection as it stands.
#[derive(Debug, Clone)]
pub(super) struct HostConnection {
    pub number: u16,
    pub sender: Sender,
    pub receiver: Receiver,
    pub application: Application,
    pub process: Process,
    /// TCP's output under way: who is inside of the perimeter.
    pub run: Option<Run>,
    /// Somebody wanted output while another was at it.
    pub is_wanted_again: bool,
    /// Messages of the writer that wait for the one who is inside.
    pub handed_over: VecDeque<u32>,
    /// Their bytes.
    pub handed_over_bytes: u64,
    pub ack_due: Option<Cause>,
    pub deferred_at: Option<Ps>,
    pub persist_at: Option<Ps>,
    pub counted: EndState,
}

impl HostConnection {
    /// Before its process has begun.
    pub fn new(spec: &HostSpec, number: u16, application: Application) -> Self {
        Self {
            number,
            sender: sender(spec, spec.mss, 0),
            receiver: receiver(spec, spec.mss),
            application,
            process: Process::Over,
            run: None,
            is_wanted_again: false,
            handed_over: VecDeque::new(),
            handed_over_bytes: 0,
            ack_due: None,
            deferred_at: None,
            persist_at: None,
            counted: EndState::default(),
        }
    }

    pub fn open(&mut self, spec: &HostSpec, mss: u32, window_bytes: u32) {
        self.sender = sender(spec, mss, window_bytes);
        self.receiver = receiver(spec, mss);
    }

    /// Bytes of the writer that TCP has not sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.unsent.bytes + self.handed_over_bytes
    }

    /// When the next of its timers is due, or its process goes on.
    pub fn next_at(&self) -> Option<Ps> {
        let waits = if let Process::Waiting(until) = self.process { Some(until) } else { None };
        [self.deferred_at, self.sender.rto_at, self.persist_at, waits].into_iter().flatten().min()
    }

    /// Its counts and what it holds; the processors are the host's.
    pub fn state(&self) -> EndState {
        EndState {
            queued_bytes: self.unsent_bytes() + self.sender.highest - self.sender.una,
            unread_bytes: self.receiver.unread,
            outstanding_bytes: self.sender.outstanding(),
            acked_bytes: self.sender.una,
            send_window_bytes: self.sender.window,
            cwnd_bytes: self.sender.cwnd,
            ssthresh_bytes: self.sender.ssthresh,
            srtt: self.sender.srtt,
            rto: self.sender.rto,
            timeouts: self.sender.timeouts,
            ..self.counted
        }
    }

    pub fn waits_for(&self) -> String {
        format!(
            "{}, {} bytes are unsent and {} unacknowledged, the other host's window is {} bytes, {} bytes are unread",
            self.process,
            self.unsent_bytes(),
            self.sender.outstanding(),
            self.sender.window,
            self.receiver.unread
        )
    }
}

fn sender(spec: &HostSpec, mss: u32, window: u32) -> Sender {
    let limit = if spec.no_delay { 1 } else { spec.rules.nagle_limit_bytes.min(mss) };
    Sender::new(mss, limit, window, Unsent::new(spec.rules.keeps_boundaries))
}

fn receiver(spec: &HostSpec, mss: u32) -> Receiver {
    let deferred = Deferred::new(spec.rules.deferred_acks_max, spec.rules.answers_small_segments);
    Receiver::new(mss, spec.window_bytes, deferred)
}
