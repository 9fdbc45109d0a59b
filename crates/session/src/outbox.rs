//! The frames that wait for the controller, and the heartbeats between them.

use schema::frame::{self, Kind};
use schema::message::{Envelope, HEARTBEAT_NS, Reply};
use std::collections::VecDeque;

/// Frames waiting for the controller at most; a table is sent in pieces of a frame each.
const MAX_FRAMES: usize = 64;

/// Frames for the pipe, oldest first. Whoever adds one waits while it has no room.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<Vec<u8>>,
    is_closed: bool,
    /// Since when there has been nothing to send.
    idle_since_ns: Option<u64>,
}

/// What the pipe gets next.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// This frame.
    Frame(Vec<u8>),
    /// Nothing before this time, unless a frame is added.
    NothingUntil(u64),
    /// Nothing any more.
    End,
}

impl Outbox {
    /// Whether a frame can be added now; a closed one takes and drops any number.
    pub fn has_room(&self) -> bool {
        self.is_closed || self.frames.len() < MAX_FRAMES
    }

    /// Adds a frame.
    pub fn push(&mut self, frame: Vec<u8>) {
        if !self.is_closed {
            self.frames.push_back(frame);
        }
    }

    /// Takes nothing more, because the controller is gone. What waits is still sent, as far as the pipe takes it.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Takes the next frame: the oldest one, or a heartbeat when none came for as long as an agent may be silent.
    pub fn poll_frame(&mut self, now_ns: u64) -> Sent {
        if let Some(frame) = self.frames.pop_front() {
            self.idle_since_ns = None;
            return Sent::Frame(frame);
        }
        if self.is_closed {
            return Sent::End;
        }
        let due_ns = *self.idle_since_ns.get_or_insert(now_ns) + HEARTBEAT_NS;
        if now_ns < due_ns {
            return Sent::NothingUntil(due_ns);
        }
        self.idle_since_ns = None;
        Sent::Frame(message_frame(0, Reply::Alive))
    }
}

/// The frame of a reply.
pub fn message_frame(id: u64, reply: Reply) -> Vec<u8> {
    let mut frame = Vec::new();
    let encoded = serde_json::to_vec(&Envelope { id, body: reply }).map_err(|error| error.to_string());
    let framed = encoded.and_then(|json| frame::encode(Kind::Message, &json, &mut frame).map_err(|error| error.to_string()));
    if let Err(error) = framed {
        tracing::error!("a reply could not be encoded: {error}");
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_due_when_nothing_was_sent_for_half_a_second() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.poll_frame(10), Sent::NothingUntil(10 + HEARTBEAT_NS));
        outbox.push(vec![1]);
        assert_eq!(outbox.poll_frame(20), Sent::Frame(vec![1]));
        assert_eq!(outbox.poll_frame(30), Sent::NothingUntil(30 + HEARTBEAT_NS));
        assert_eq!(outbox.poll_frame(30 + HEARTBEAT_NS), Sent::Frame(message_frame(0, Reply::Alive)));
        assert_eq!(outbox.poll_frame(40 + HEARTBEAT_NS), Sent::NothingUntil(40 + 2 * HEARTBEAT_NS));
    }

    #[test]
    fn a_closed_one_sends_what_it_has_and_takes_nothing() {
        let mut outbox = Outbox::default();
        outbox.push(vec![1]);
        outbox.close();
        outbox.push(vec![2]);
        assert!(outbox.has_room());
        assert_eq!(outbox.poll_frame(0), Sent::Frame(vec![1]));
        assert_eq!(outbox.poll_frame(0), Sent::End);
    }

    #[test]
    fn a_full_one_has_no_room() {
        let mut outbox = Outbox::default();
        for _ in 0..MAX_FRAMES {
            assert!(outbox.has_room());
            outbox.push(vec![]);
        }
        assert!(!outbox.has_room());
    }
}
