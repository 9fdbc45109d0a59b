//! Counts of the disciplines of one device since they were made.

use super::answer::Answer;
use super::encode::{CHILD, ROOT};

/// Counts of a root discipline and of the one in it. The kernel's are of 32 bits and wrap around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that it let go.
    pub packets: u32,
    /// The same in bytes, Ethernet headers included.
    pub bytes: u64,
    /// Packets that it or the one in it dropped.
    pub dropped_packets: u32,
    /// Of those, packets that active queue management dropped.
    pub dropped_early_packets: u32,
    /// Packets marked congestion experienced.
    pub marked_packets: u32,
    /// Packets that netem put in front of its queue.
    pub reordered_packets: u32,
    /// Packets that lie in it now.
    pub queue_packets: u32,
    /// The same in bytes.
    pub queue_bytes: u32,
}

impl Counts {
    /// Takes in what the kernel says of one of them.
    pub fn take_in(&mut self, answer: &Answer<'_>) {
        match (answer.handle, answer.kind) {
            (ROOT, kind) => {
                (self.packets, self.bytes) = (answer.basic.packets, answer.basic.bytes);
                self.dropped_packets = answer.queue.drops;
                (self.queue_packets, self.queue_bytes) = (answer.queue.qlen, answer.queue.backlog);
                self.reordered_packets = if kind == "netem" { answer.queue.requeues } else { 0 };
            }
            // struct tc_codel_xstats: largest packet, count, last count, delay, next drop, dropped
            // because full, marked.
            (CHILD, "codel") => {
                self.dropped_early_packets = answer.queue.drops.wrapping_sub(answer.own_word(5));
                self.marked_packets = answer.own_word(6);
            }
            // struct tc_red_xstats: early, dropped because full, others, marked.
            (CHILD, "red") => (self.dropped_early_packets, self.marked_packets) = (answer.own_word(0), answer.own_word(3)),
            _ => {}
        }
    }

    /// The counts since `before`; of the queue, what lies in it now.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            packets: self.packets.wrapping_sub(before.packets),
            bytes: self.bytes.wrapping_sub(before.bytes),
            dropped_packets: self.dropped_packets.wrapping_sub(before.dropped_packets),
            dropped_early_packets: self.dropped_early_packets.wrapping_sub(before.dropped_early_packets),
            marked_packets: self.marked_packets.wrapping_sub(before.marked_packets),
            reordered_packets: self.reordered_packets.wrapping_sub(before.reordered_packets),
            ..*self
        }
    }
}
