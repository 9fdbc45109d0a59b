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
    closing: Closing,
    /// Frames given out: each is numbered when it is sent, because a heartbeat may come between two that wait.
    frames_count: u32,
    /// Since when there has been nothing to send.
    idle_since_ns: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    Open,
    /// Only the goodbye is still to come.
    Leaving,
    /// The goodbye to the request of this identifier is next.
    Goodbye(u64),
    Closed,
}

/// The next thing that the pipe gets.
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
    /// True if a frame can be added now; a closed one takes and drops any number.
    pub fn has_room(&self) -> bool {
        self.closing != Closing::Open || self.frames.len() < MAX_FRAMES
    }

    /// Adds a frame.
    pub fn push(&mut self, frame: Vec<u8>) {
        if self.closing == Closing::Open {
            self.frames.push_back(frame);
        }
    }

    /// Takes nothing more but these last words, because the controller is gone. What waits is still sent, as far as the
    /// pipe takes it.
    pub fn close(&mut self, last_words: Option<Vec<u8>>) {
        if self.closing != Closing::Closed {
            self.closing = Closing::Closed;
            self.frames.extend(last_words);
        }
    }

    /// Takes nothing more but the goodbye, and forgets what waits, because the controller reads no more. Heartbeats go on.
    pub fn leave(&mut self) {
        if self.closing == Closing::Open {
            self.closing = Closing::Leaving;
            self.frames.clear();
        }
    }

    /// Says goodbye in answer to the request `id`, and nothing more.
    pub fn say_goodbye(&mut self, id: u64) {
        if self.closing != Closing::Closed {
            self.closing = Closing::Goodbye(id);
        }
    }

    /// Takes the next frame: the oldest one, or a heartbeat when none came for as long as an agent may be silent.
    pub fn poll_frame(&mut self, now_ns: u64) -> Sent {
        if let Some(frame) = self.frames.pop_front() {
            return self.numbered(frame);
        }
        match self.closing {
            Closing::Closed => return Sent::End,
            Closing::Goodbye(id) => {
                self.closing = Closing::Closed;
                return self.numbered(message_frame(id, Reply::Goodbye { frames_count: self.frames_count.into() }));
            }
            Closing::Open | Closing::Leaving => {}
        }
        let due_ns = *self.idle_since_ns.get_or_insert(now_ns) + HEARTBEAT_NS;
        if now_ns < due_ns {
            return Sent::NothingUntil(due_ns);
        }
        self.numbered(message_frame(0, Reply::Alive))
    }

    fn numbered(&mut self, mut frame: Vec<u8>) -> Sent {
        frame::seal(&mut frame, self.frames_count);
        self.frames_count = self.frames_count.wrapping_add(1);
        self.idle_since_ns = None;
        Sent::Frame(frame)
    }
}

/// The frame of a reply, still without its number.
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

    fn sealed(number: u32, id: u64, reply: Reply) -> Sent {
        let mut frame = message_frame(id, reply);
        frame::seal(&mut frame, number);
        Sent::Frame(frame)
    }

    #[test]
    fn a_heartbeat_is_due_when_nothing_was_sent_for_half_a_second() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.poll_frame(10), Sent::NothingUntil(10 + HEARTBEAT_NS));
        outbox.push(message_frame(7, Reply::Done));
        assert_eq!(outbox.poll_frame(20), sealed(0, 7, Reply::Done));
        assert_eq!(outbox.poll_frame(30), Sent::NothingUntil(30 + HEARTBEAT_NS));
        assert_eq!(outbox.poll_frame(30 + HEARTBEAT_NS), sealed(1, 0, Reply::Alive));
        assert_eq!(outbox.poll_frame(40 + HEARTBEAT_NS), Sent::NothingUntil(40 + 2 * HEARTBEAT_NS));
    }

    #[test]
    fn a_closed_one_sends_what_it_has_and_its_last_words() {
        let mut outbox = Outbox::default();
        outbox.push(message_frame(1, Reply::Done));
        outbox.close(Some(message_frame(0, Reply::Done)));
        outbox.close(Some(message_frame(2, Reply::Done)));
        outbox.push(message_frame(3, Reply::Done));
        outbox.say_goodbye(4);
        assert!(outbox.has_room());
        assert_eq!(outbox.poll_frame(0), sealed(0, 1, Reply::Done));
        assert_eq!(outbox.poll_frame(0), sealed(1, 0, Reply::Done));
        assert_eq!(outbox.poll_frame(0), Sent::End);
    }

    #[test]
    fn one_that_leaves_sends_heartbeats_and_its_goodbye() {
        let mut outbox = Outbox::default();
        outbox.push(message_frame(1, Reply::Done));
        outbox.leave();
        outbox.push(message_frame(2, Reply::Done));
        assert!(outbox.has_room());
        assert_eq!(outbox.poll_frame(0), Sent::NothingUntil(HEARTBEAT_NS));
        assert_eq!(outbox.poll_frame(HEARTBEAT_NS), sealed(0, 0, Reply::Alive));
        outbox.say_goodbye(3);
        assert_eq!(outbox.poll_frame(HEARTBEAT_NS), sealed(1, 3, Reply::Goodbye { frames_count: 1 }));
        assert_eq!(outbox.poll_frame(HEARTBEAT_NS), Sent::End);
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
