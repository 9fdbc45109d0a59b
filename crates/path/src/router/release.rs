//! Letting packets go: what is due at the same time leaves together, as super-segments where its
//! packets came as one.

use emulate::Release;

use super::frames::Frames;
use super::slice::{Run, cut};
use super::socket::{Outbox, PacketSocket};

/// Packets of one frame that leave together, and how many of them are the last of their frame.
#[derive(Debug, Clone, Copy)]
struct Departure {
    frame: u32,
    run: Run,
    is_last: bool,
}

/// The packets that are about to leave on one side.
#[derive(Debug, Default)]
pub(super) struct Departures {
    waiting: Vec<Departure>,
    /// When each packet was due, in ns.
    pub due_ns: Vec<u64>,
}

impl Departures {
    /// A packet is to leave.
    pub fn add(&mut self, release: &Release) {
        let frame = u32::try_from(release.key).unwrap_or(u32::MAX);
        let segment = u32::from(release.segment);
        self.due_ns.push(release.due_ns);
        if let Some(last) = self.waiting.last_mut()
            && last.frame == frame
            && last.run.first + last.run.count == segment
            && last.run.is_marked == release.is_marked
        {
            last.run.count += 1;
            last.is_last |= release.is_last;
            return;
        }
        let run = Run { first: segment, count: 1, is_marked: release.is_marked };
        self.waiting.push(Departure { frame, run, is_last: release.is_last });
    }

    /// Sends everything, forgets the frames of which nothing is under way any more, and returns how
    /// many frames the kernel refused. `due_ns` is left to the caller to clear.
    pub fn send(&mut self, socket: &PacketSocket, frames: &mut Frames) -> u64 {
        if self.waiting.is_empty() {
            return 0;
        }
        let mut outbox = Outbox::new(socket);
        for departure in &self.waiting {
            if let Some(frame) = frames.get(departure.frame) {
                outbox.put(frame.bytes(), cut(frame.bytes(), &frame.anatomy, frame.notes, departure.run));
            }
        }
        outbox.send();
        let refused_count = outbox.refused_count;
        for departure in self.waiting.drain(..).filter(|departure| departure.is_last) {
            frames.forget(departure.frame);
        }
        refused_count
    }
}
