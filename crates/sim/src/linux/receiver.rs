//! The receiving half of a connection: what lies unread, the window, and what is to be acknowledged.

use crate::end_system::Cause;
use crate::linux::acknowledging::{Acknowledging, Came};
use crate::linux::buffer::{OVERHEAD_BYTES, Share, truesize};
use crate::linux::round_trip::RoundTrip;
use crate::linux::spec::{Kernel, Socket};
use crate::linux::tuning::Tuning;
use crate::linux::window::{self, Room};
use crate::segment::{Block, SACK_BLOCKS, Sack, Segment};
use crate::time::Ps;
use std::collections::VecDeque;

/// Payload that the smallest segment must have to let the window grow (`tcp_event_data_recv`).
const GROWS_FROM_BYTES: u32 = 128;
/// Bytes that a collapsed buffer holds at most (`tcp_collapse`): a page less its overhead.
const COLLAPSED_BYTES: u64 = 3776;

/// A buffer of the receive queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unread {
    bytes: u32,
    memory: u64,
}

/// The consequences of a segment with payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Bytes that can be read now and could not before.
    pub readable: u64,
    /// Why an acknowledgment leaves at once, if it does.
    pub acknowledges: Option<Cause>,
}

/// The receiving half.
#[derive(Debug, Clone)]
pub struct Receiver {
    mss: u32,
    kernel: Kernel,
    /// Next byte expected.
    pub expected: u64,
    /// Bytes that the application has read.
    pub copied: u64,
    unread: VecDeque<Unread>,
    /// Memory of what is unread or out of order (`sk_rmem_alloc`).
    memory: u64,
    /// Memory of what waits for the socket's owner (`sk_backlog.len`).
    pub backlog_memory: u64,
    limit: u64,
    is_locked: bool,
    clamp: u64,
    is_clamped: bool,
    threshold: u64,
    share: Share,
    scale: u32,
    /// The last window announced, and where it began (`rcv_wnd`, `rcv_wup`).
    window: u64,
    window_from: u64,
    /// Acknowledgments owed.
    pub acks: Acknowledging,
    tuning: Tuning,
    /// Ranges beyond a hole, by their start; and the one that came last.
    beyond: Vec<(u64, u64)>,
    newest: u64,
    /// Segments that found no room.
    pub dropped: u64,
}

impl Receiver {
    /// Before the connection is open.
    pub fn new(kernel: Kernel, socket: Socket, mss: u32) -> Self {
        let limit = socket.receive_buffer_bytes.map_or(kernel.receive_memory[1], |bytes| 2 * u64::from(bytes));
        let share = Share::new(kernel.window_share);
        let full = share.window(limit);
        let most = socket.window_clamp_bytes.map_or(kernel.receive_memory[2], u64::from);
        let clamp = socket.window_clamp_bytes.map_or(full, |bytes| u64::from(bytes).min(2 * full));
        let window = clamp.min(full).min(65535);
        let mut acks = Acknowledging::new(mss, u32::try_from(window).unwrap_or(u32::MAX));
        acks.is_always_quick = socket.quick_ack;
        Self {
            mss,
            kernel,
            expected: 0,
            copied: 0,
            unread: VecDeque::new(),
            memory: 0,
            backlog_memory: 0,
            limit,
            is_locked: socket.receive_buffer_bytes.is_some(),
            clamp,
            is_clamped: socket.window_clamp_bytes.is_some(),
            threshold: window,
            share,
            scale: window::scale(most),
            window,
            window_from: 0,
            acks,
            tuning: Tuning::new(window, mss),
            beyond: Vec::with_capacity(64),
            newest: 0,
            dropped: 0,
        }
    }

    /// The first window.
    pub fn initial_window(&self) -> u64 {
        self.window
    }

    /// Up to where everything was acknowledged to the other host.
    pub fn acknowledged(&self) -> u64 {
        self.window_from
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.expected - self.copied
    }

    fn room(&self) -> Room {
        Room {
            free: self.share.window(self.limit.saturating_sub(self.memory + self.backlog_memory)),
            full: self.share.window(self.limit),
            clamp: self.clamp,
            threshold: self.threshold,
            mss_seen: u64::from(self.acks.mss_seen),
            scale: self.scale,
            announced: self.window,
        }
    }

    fn select(&mut self) -> u64 {
        let (selected, is_filling) = window::select(&self.room());
        if is_filling {
            self.acks.quick = 0;
        }
        selected
    }

    /// The rest of the announced window.
    fn current(&self) -> u64 {
        (self.window_from + self.window).saturating_sub(self.expected)
    }

    /// A segment leaves: the window that it announces (`tcp_select_window`), and the acknowledgment with it.
    pub fn announce(&mut self) -> u32 {
        let selected = self.select();
        self.window = window::announce(selected, self.current(), self.scale);
        self.window_from = self.expected;
        self.acks.on_sent();
        u32::try_from(self.window).unwrap_or(u32::MAX)
    }

    /// The path has marked what came, for the first time since the other host reduced its window.
    pub fn on_mark(&mut self) {
        self.acks.on_mark(u32::try_from(self.window).unwrap_or(u32::MAX));
    }

    /// A segment with payload arrived (`tcp_data_queue`, `tcp_input.c`).
    pub fn on_data(&mut self, now: Ps, segment: &Segment, trip: &RoundTrip) -> Taken {
        let window = u32::try_from(self.window).unwrap_or(u32::MAX);
        if segment.end() <= self.expected || segment.sequence >= self.expected + self.current().max(1) {
            self.acks.on_disorder(window);
            return Taken { readable: 0, acknowledges: Some(Cause::OutOfOrder) };
        }
        if !self.finds_room() {
            self.dropped += 1;
            return Taken { readable: 0, acknowledges: Some(Cause::OutOfOrder) };
        }
        if segment.sequence > self.expected {
            self.keep_beyond(segment);
            self.acks.on_disorder(window);
            return Taken { readable: 0, acknowledges: Some(Cause::OutOfOrder) };
        }
        let before = self.expected;
        self.queue(u32::try_from(segment.end() - self.expected).unwrap_or(0));
        let had_hole = !self.beyond.is_empty();
        self.join();
        self.on_in_order(now, segment, trip);
        let unacknowledged = self.expected - self.window_from;
        let would_be = if unacknowledged > u64::from(self.acks.mss_seen) { self.select() } else { 0 };
        let narrow = |window: u64| u32::try_from(window).unwrap_or(u32::MAX);
        let is_quick = self.acks.is_quick();
        let acknowledges = if self.acks.is_due_on_input(unacknowledged, narrow(would_be), narrow(self.window)) {
            Some(if is_quick { Cause::QuickAck } else { Cause::SecondSegment })
        } else if had_hole {
            Some(Cause::OutOfOrder)
        } else {
            self.acks.delay(now, trip.smoothed).then_some(Cause::DelayedAck)
        };
        Taken { readable: self.expected - before, acknowledges }
    }

    /// Learns from data in order: the other host's segment size, the round trip, how far the window may grow.
    fn on_in_order(&mut self, now: Ps, segment: &Segment, trip: &RoundTrip) {
        let window = u32::try_from(self.window).unwrap_or(u32::MAX);
        let segment_bytes = segment.bytes.div_ceil(u32::from(segment.wire_segments_count).max(1)).min(self.mss);
        let came = Came { bytes: segment.bytes, segment_bytes };
        let memory = truesize(segment.bytes);
        if self.acks.on_data(now, came, self.mss, window, trip.timeout(0)) && self.share.measure(segment.bytes, memory) && !self.is_clamped
        {
            self.clamp = self.share.window(self.limit);
        }
        self.tuning.on_data(now, self.expected, self.window);
        if segment.bytes >= GROWS_FROM_BYTES {
            self.grow(segment.bytes, memory);
        }
    }

    /// The window grows while segments make good use of memory, and each growth is announced at once (`tcp_grow_window`).
    fn grow(&mut self, bytes: u32, memory: u64) {
        let free = self.share.window(self.limit.saturating_sub(self.memory));
        let room = self.clamp.min(free).saturating_sub(self.threshold);
        if room == 0 {
            return;
        }
        let step = if self.share.window(memory) <= u64::from(bytes) { 2 * u64::from(self.mss) } else { self.step_of_small(bytes, memory) };
        if step > 0 {
            self.threshold += room.min(step.max(2 * u64::from(bytes)));
            self.acks.quick = self.acks.quick.max(1);
        }
    }

    /// A window that is far below the largest possible one grows with wasteful segments, too (`__tcp_grow_window`).
    fn step_of_small(&self, bytes: u32, memory: u64) -> u64 {
        let mut memory = self.share.window(memory) / 2;
        let mut window = self.share.window(self.kernel.receive_memory[2]) / 2;
        while self.threshold <= window {
            if memory <= u64::from(bytes) {
                return 2 * u64::from(self.acks.mss_seen);
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// True if the buffer takes another segment; one that is too full is collapsed first (`tcp_try_rmem_schedule`,
    /// `tcp_prune_queue`).
    fn finds_room(&mut self) -> bool {
        if self.memory > self.limit {
            self.collapse();
        }
        self.memory <= self.limit
    }

    fn collapse(&mut self) {
        for unread in &mut self.unread {
            let bytes = u64::from(unread.bytes);
            let collapsed = bytes + bytes.div_ceil(COLLAPSED_BYTES) * (4096 - COLLAPSED_BYTES);
            self.memory -= unread.memory.saturating_sub(collapsed);
            unread.memory = unread.memory.min(collapsed);
        }
    }

    fn queue(&mut self, bytes: u32) {
        let memory = truesize(bytes);
        self.memory += memory;
        self.unread.push_back(Unread { bytes, memory });
        self.expected += u64::from(bytes);
    }

    /// Keeps what lies beyond a hole (`tcp_data_queue_ofo`), merged with what it touches.
    fn keep_beyond(&mut self, segment: &Segment) {
        let (mut start, mut end) = (segment.sequence, segment.end());
        let memory = |start: u64, end: u64| OVERHEAD_BYTES + (end - start);
        let first = self.beyond.partition_point(|&(_, other_end)| other_end < start);
        let after = self.beyond.partition_point(|&(other_begin, _)| other_begin <= end);
        for &(other_begin, other_end) in &self.beyond[first..after] {
            self.memory -= memory(other_begin, other_end);
            (start, end) = (start.min(other_begin), end.max(other_end));
        }
        self.beyond.splice(first..after, [(start, end)]);
        self.memory += memory(start, end);
        self.newest = start;
    }

    /// Makes readable what lay beyond a hole that is filled (`tcp_ofo_queue`).
    fn join(&mut self) {
        while let Some(&(start, end)) = self.beyond.first().filter(|&&(start, _)| start <= self.expected) {
            self.beyond.remove(0);
            self.memory -= OVERHEAD_BYTES + (end - start);
            if end > self.expected {
                self.queue(u32::try_from(end - self.expected).unwrap_or(u32::MAX));
            }
        }
    }

    /// Blocks for an acknowledgment, the newest first (RFC 2018 4).
    pub fn sack(&self) -> Sack {
        let mut sack = Sack::default();
        let block = |&(start, end): &(u64, u64)| Block {
            after_bytes: u32::try_from(start - self.expected).unwrap_or(u32::MAX),
            bytes: u32::try_from(end - start).unwrap_or(u32::MAX),
        };
        if let Some(newest) = self.beyond.iter().find(|&&(start, _)| start == self.newest) {
            sack.push(block(newest));
        }
        for other in self.beyond.iter().rev().filter(|&&(start, _)| start != self.newest).take(SACK_BLOCKS) {
            sack.push(block(other));
        }
        sack
    }

    /// Bytes that a read with so much room copies from the first buffer.
    pub fn next_piece(&self, room: u32) -> u32 {
        self.unread.front().map_or(0, |unread| unread.bytes.min(room))
    }

    /// They are copied; an empty buffer is freed.
    pub fn take(&mut self, now: Ps, bytes: u32) {
        if let Some(unread) = self.unread.front_mut() {
            unread.bytes -= bytes;
            if unread.bytes == 0 {
                self.memory -= unread.memory;
                self.unread.pop_front();
            }
        }
        self.copied += u64::from(bytes);
        self.tune(now);
    }

    /// `tcp_rcv_space_adjust`; an explicit buffer switches it off.
    fn tune(&mut self, now: Ps) {
        let unread = self.readable();
        let Some(window) = self.tuning.on_read(now, self.copied, unread, self.mss) else { return };
        if self.is_locked {
            return;
        }
        let limit = self.share.space(window).min(self.kernel.receive_memory[2]);
        if limit > self.limit {
            self.limit = limit;
            if !self.is_clamped {
                self.clamp = self.share.window(limit);
            }
        }
    }

    /// At the end of a read: whether an acknowledgment or the window leaves (`tcp_cleanup_rbuf`).
    pub fn is_due_on_read(&mut self) -> bool {
        let unacknowledged = self.expected - self.window_from;
        if self.acks.is_due_on_read(unacknowledged, self.memory == 0) {
            return true;
        }
        let current = self.current();
        if 2 * current > self.clamp {
            return false;
        }
        let selected = self.select();
        window::is_worth_announcing(current, self.clamp, selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    const MSS: u32 = 1448;

    fn receiver(window: Option<u32>) -> Receiver {
        let socket = Socket { receive_buffer_bytes: window, window_clamp_bytes: window, ..Socket::default() };
        Receiver::new(Kernel::default(), socket, MSS)
    }

    /// A segment of the other host arrives: `+` acknowledged at once, `-` later.
    fn arrive(receiver: &mut Receiver, now: Ps, sequence: u64, bytes: u32) -> char {
        let mut segment = Segment::data(sequence, bytes);
        segment.wire_segments_count = u16::try_from(bytes.div_ceil(MSS)).expect("few");
        let taken = receiver.on_data(now, &segment, &RoundTrip::default());
        if taken.acknowledges.is_some() {
            receiver.announce();
            '+'
        } else {
            '-'
        }
    }

    #[test]
    fn an_explicit_buffer_is_the_window_and_is_not_tuned() {
        let receiver = receiver(Some(32_768));
        assert_eq!(receiver.initial_window(), 32_768);
        let mut tuned = Receiver::new(Kernel::default(), Socket::default(), MSS);
        assert_eq!(tuned.initial_window(), 65_535);
        tuned.tuning.round_trip = MS;
        let before = tuned.limit;
        let mut set = receiver.clone();
        set.tuning.round_trip = MS;
        for end in [&mut tuned, &mut set] {
            for number in 0..10_u64 {
                arrive(end, number, number * 20_000, 20_000);
                while end.next_piece(u32::MAX) > 0 {
                    end.take(number, end.next_piece(u32::MAX));
                }
            }
            end.take(10 * MS, 0);
        }
        assert!(tuned.limit > before);
        assert_eq!(set.limit, 65_536);
    }

    #[test]
    fn the_first_segments_then_every_second_are_acknowledged() {
        let mut receiver = receiver(Some(65_536));
        let mut trace = String::new();
        for number in 0..40 {
            trace.push(arrive(&mut receiver, number * MS, number * u64::from(MSS), MSS));
            receiver.take(number * MS, MSS);
        }
        assert!(trace.starts_with("++++++++++++++++"), "{trace}");
        assert!(trace.ends_with("-+-+-+-+"), "{trace}");
    }

    #[test]
    fn a_hole_is_reported_with_blocks_and_filled_at_once() {
        let mut receiver = receiver(Some(65_536));
        for number in 0..30 {
            arrive(&mut receiver, number * MS, number * u64::from(MSS), MSS);
            receiver.take(number * MS, MSS);
        }
        let hole = receiver.expected;
        assert_eq!(arrive(&mut receiver, 40 * MS, hole + 1448, MSS), '+');
        assert_eq!(arrive(&mut receiver, 40 * MS, hole + 4344, MSS), '+');
        let blocks: Vec<_> = receiver.sack().blocks().iter().map(|block| (block.after_bytes, block.bytes)).collect();
        assert_eq!(blocks, [(4344, 1448), (1448, 1448)]);
        assert_eq!(arrive(&mut receiver, 41 * MS, hole, MSS), '+');
        assert_eq!(receiver.expected, hole + 2896);
        assert_eq!(receiver.sack().blocks().len(), 1);
        // An old one is answered.
        assert_eq!(arrive(&mut receiver, 42 * MS, 0, MSS), '+');
    }

    #[test]
    fn small_segments_fill_the_buffer_with_overhead() {
        let mut receiver = receiver(Some(16_384));
        let window = receiver.initial_window();
        let mut sequence = 0;
        while sequence < 2000 {
            arrive(&mut receiver, MS, sequence, 64);
            sequence += 64;
        }
        // 32 segments take 1.3 KB of memory each; a full buffer is collapsed instead of dropping.
        assert!(receiver.current() < window);
        assert_eq!(receiver.dropped, 0);
    }

    #[test]
    fn a_read_announces_the_window_when_it_has_doubled() {
        // tcp_cleanup_rbuf: not while more than half of the largest window is left, and then at twice what is left.
        let mut shown = Vec::new();
        for unread_segments in [10, 30, 40] {
            let mut receiver = receiver(Some(65_536));
            for number in 0..unread_segments {
                arrive(&mut receiver, MS, number * u64::from(MSS), MSS);
                receiver.announce();
            }
            let left = receiver.current();
            let updated_at = (1..=unread_segments).find(|_| {
                receiver.take(MS, MSS);
                receiver.is_due_on_read()
            });
            let Some(reads) = updated_at else {
                assert!(2 * left > receiver.clamp, "{left} left, and no window update was sent");
                continue;
            };
            assert!(2 * left <= receiver.clamp, "{left} left are more than half");
            let window = u64::from(receiver.announce());
            assert!(window >= 2 * left && window < 2 * left + 4 * u64::from(MSS), "{window} after {reads} reads, {left} left");
            shown.push(unread_segments);
        }
        assert_eq!(shown, [40]);
    }
}
