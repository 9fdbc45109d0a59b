//! The sending half of a connection: what may leave, and in which pieces (`tcp_write_xmit`, `tcp_output.c`).

use crate::linux::buffer::truesize;
use crate::linux::congestion::{Algorithm, Congestion};
use crate::linux::delivery::Delivery;
use crate::linux::ecn::Ecn;
use crate::linux::nagle::{self, Burst};
use crate::linux::pacing::Pacing;
use crate::linux::recovery::Recovery;
use crate::linux::round_trip::RoundTrip;
use crate::linux::sizing;
use crate::linux::spec::{Kernel, Socket};
use crate::linux::write_queue::{Buffer, WriteQueue};
use crate::time::{Ps, S};

/// The condition on which a small last segment may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    /// By Nagle's rule.
    Nagle,
    /// In any case (`TCP_NAGLE_PUSH`).
    Forced,
    /// In any case, and one buffer alone (`tcp_push_one`).
    One,
    /// The amount that the window takes, though it be less than a segment (`tcp_write_wakeup`).
    Probe,
}

/// A timer of the sender: there is one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// RFC 6298.
    Retransmission,
    /// The tail is probed (RFC 8985 7).
    LossProbe,
    /// Segments sent before one that arrived are held for lost (RFC 8985 6).
    Reordering,
    /// The other host's window is shut (RFC 9293 3.8.6.1).
    WindowProbe,
}

/// An instant that never comes.
const HELD: Ps = Ps::MAX;

/// Segments as counted for the congestion window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    /// Sent and not acknowledged.
    pub out: u32,
    /// Of these, those that the other host has.
    pub sacked: u32,
    /// Of these, those held for lost.
    pub lost: u32,
    /// Sent again and under way.
    pub again: u32,
}

impl Segments {
    /// In flight (RFC 6675 "pipe"; `tcp_packets_in_flight`).
    pub fn in_flight(self) -> u32 {
        (self.out + self.again).saturating_sub(self.sacked + self.lost)
    }
}

/// The sending half.
#[derive(Debug, Clone)]
pub struct Sender {
    /// Largest payload of a segment.
    pub mss: u32,
    pub(super) kernel: Kernel,
    pub(super) socket: Socket,
    /// Data that was written and not acknowledged.
    pub queue: WriteQueue,
    /// Oldest byte without an acknowledgment.
    pub una: u64,
    /// Next byte to send.
    pub next: u64,
    /// The other host's window: its first byte too many, and its size.
    pub window_end: u64,
    pub(super) window: u32,
    pub(super) largest_window: u32,
    /// Sequence of the segment that last updated the window (`snd_wl1`).
    pub(super) window_updated_at: u64,
    small_end: u64,
    pushed_end: u64,
    /// Congestion window.
    pub congestion: Congestion,
    /// Round trip.
    pub round_trip: RoundTrip,
    /// Loss.
    pub recovery: Recovery,
    /// Rates of delivery.
    pub(super) delivery: Delivery,
    /// Marks of congestion.
    pub ecn: Ecn,
    /// Counts of what is out.
    pub segments: Segments,
    pub(super) timer: Option<(Ps, Timer)>,
    pub(super) backoff: u32,
    /// When the next buffer may leave.
    pub pacing: Pacing,
    /// Memory of what lies with the device (`sk_wmem_alloc`).
    pub device_memory: u64,
    /// The device held too much: sending goes on when it is done with some (TSQ).
    pub is_throttled: bool,
    last_sent_at: Ps,
    is_burst_limited: bool,
}

impl Sender {
    /// A connection that is open: the other host has announced `window`, and has SACK or not.
    pub fn new(kernel: Kernel, socket: Socket, mss: u32, window: u32, has_sack: bool) -> Self {
        Self {
            mss: sizing::within_half_window(mss, window),
            kernel,
            socket,
            queue: WriteQueue::default(),
            una: 0,
            next: 0,
            window_end: u64::from(window),
            window,
            largest_window: window,
            window_updated_at: 0,
            small_end: 0,
            pushed_end: 0,
            congestion: Congestion::new(socket.algorithm).paced_within(socket.pacing_rate),
            round_trip: RoundTrip::default(),
            recovery: Recovery::new(has_sack),
            delivery: Delivery::default(),
            ecn: Ecn::default(),
            segments: Segments::default(),
            timer: None,
            backoff: 0,
            pacing: Pacing::new(socket.pacing_rate.is_some() || socket.algorithm == Algorithm::Bbr),
            device_memory: 0,
            is_throttled: false,
            last_sent_at: 0,
            is_burst_limited: false,
        }
    }

    /// The size to which a write fills a buffer.
    pub fn goal(&self) -> u32 {
        sizing::goal(self.mss, self.kernel.gso_max_bytes, self.largest_window)
    }

    /// True if half of the largest window lies behind the last push: then a full buffer leaves although the write goes
    /// on (`forced_push`, tcp.c).
    pub fn must_push(&self) -> bool {
        self.queue.end > self.pushed_end + u64::from(self.largest_window / 2)
    }

    /// The last buffer is to be pushed (`tcp_mark_push`).
    pub fn mark_push(&mut self) {
        self.queue.push();
        self.pushed_end = self.queue.end;
    }

    /// True if not a byte more may leave.
    pub fn is_window_shut(&self) -> bool {
        self.next >= self.window_end
    }

    /// True if a write's end stays where it is, since the device is busy.
    pub fn is_corked(&mut self) -> bool {
        let tail = self.queue.tail().map_or(0, |tail| tail.bytes);
        let corks = self.kernel.corks && nagle::corks(tail, self.goal(), self.queue.sent_count() > 0, self.device_memory, truesize(tail));
        self.is_throttled |= corks;
        corks
    }

    /// Rate at which bursts are sized, in bytes a second (`tcp_update_pacing_rate`, `tcp_input.c`): twice the window in
    /// a round trip in slow start, else 1.2 times; unlimited before a round trip is known. BBR has its own.
    pub fn pacing_rate(&self) -> u64 {
        let own = self.socket.pacing_rate.unwrap_or(u64::MAX);
        if let Some(rate) = self.congestion.pacing_rate() {
            return rate.min(own);
        }
        if self.round_trip.smoothed == 0 {
            return own;
        }
        let percent = if self.congestion.window < self.congestion.threshold / 2 { 200 } else { 120 };
        let window = u64::from(self.congestion.window.max(self.segments.out)) * u64::from(self.mss);
        u64::try_from(u128::from(window * percent / 100) * u128::from(S) / u128::from(self.round_trip.smoothed))
            .unwrap_or(u64::MAX)
            .min(own)
    }

    pub(super) fn most_segments(&self) -> u32 {
        sizing::autosize(self.pacing_rate(), self.round_trip.least, self.mss, self.kernel.gso_max_bytes, self.kernel.least_burst_segments)
    }

    pub(super) fn count(&self, bytes: u32) -> u32 {
        sizing::segments(bytes, self.mss)
    }

    /// The next buffer that leaves, if any; asked until there is none, and then [`Sender::end_burst`] is called.
    pub fn poll(&mut self, now: Ps, push: Push) -> Option<Buffer> {
        if let Some(again) = self.poll_again(now) {
            return Some(again);
        }
        let head = *self.queue.head()?;
        if push != Push::Probe && self.pacing.holds(now) {
            return None;
        }
        let quota = self.congestion.window.saturating_sub(self.segments.in_flight());
        if quota == 0 {
            self.is_burst_limited = true;
            return None;
        }
        let most = self.most_segments();
        let quota = quota.min(most);
        if self.kernel.grows_buffers && !self.queue.is_head_last() {
            self.queue.grow_head(quota * self.mss);
        }
        let head = self.queue.head().copied().unwrap_or(head);
        let bytes = self.sendable(now, &head, quota, most, push)?;
        if self.is_device_full(bytes) {
            self.is_throttled = true;
            return None;
        }
        Some(self.send_head(now, bytes))
    }

    /// Bytes of the first unsent buffer that may leave.
    fn sendable(&mut self, now: Ps, head: &Buffer, quota: u32, most: u32, push: Push) -> Option<u32> {
        if push == Push::Probe {
            let window = u32::try_from(self.window_end.saturating_sub(head.start)).unwrap_or(u32::MAX);
            return Some(head.bytes.min(self.mss).min(window)).filter(|&bytes| bytes > 0);
        }
        if head.start + u64::from(head.bytes.min(self.mss)) > self.window_end {
            return None;
        }
        let is_last = self.queue.is_head_last();
        let holds_partial =
            push == Push::Nagle && is_last && nagle::holds(true, self.socket.no_delay, self.segments.out > 0, self.small_end, self.una);
        if head.bytes <= self.mss {
            return (head.bytes == self.mss || !holds_partial).then_some(head.bytes);
        }
        let window = self.window_end - head.start;
        if push != Push::One && self.defers(now, head, most, window) {
            return None;
        }
        let cut = sizing::split_point(head.bytes, self.mss, window, quota, is_last, holds_partial);
        Some(cut.min(head.bytes))
    }

    fn defers(&mut self, now: Ps, head: &Buffer, most: u32, receive_room: u64) -> bool {
        if self.recovery.is_under_way() {
            return false;
        }
        let mss = u64::from(self.mss);
        let window = u64::from(self.congestion.window) * mss;
        let congestion_room = u64::from(self.congestion.window.saturating_sub(self.segments.in_flight())) * mss;
        let burst = Burst {
            bytes: head.bytes,
            is_last: self.queue.is_head_last(),
            receive_room,
            congestion_room,
            whole_window: window.min(u64::from(self.window)),
            most_bytes: u64::from(most) * mss,
            since_sent: now - self.last_sent_at,
            oldest_age: self.queue.sent().next().map(|oldest| now - oldest.sent_at),
            round_trip: self.round_trip.smoothed,
        };
        let defers = nagle::defers(&burst, self.kernel.burst_window_divisor);
        self.is_burst_limited |= defers && congestion_room < receive_room && congestion_room <= u64::from(head.bytes);
        defers
    }

    /// TCP small queues (`tcp_small_queue_check`): the device may hold two buffers or what is paced in a millisecond,
    /// and always one.
    fn is_device_full(&self, bytes: u32) -> bool {
        let limit = (2 * truesize(bytes)).max((self.pacing_rate() >> 10).min(self.kernel.device_limit_bytes));
        self.device_memory > limit && self.queue.sent_count() > 1
    }

    fn send_head(&mut self, now: Ps, bytes: u32) -> Buffer {
        let known = self.delivery.on_sent(now, self.segments.out == 0);
        let sent = self.queue.send_head(now, bytes, known).unwrap_or_default();
        self.next = sent.end();
        let count = self.count(sent.bytes);
        self.start(now);
        self.segments.out += count;
        self.pacing.on_sent(now, sent.bytes, count, self.pacing_rate());
        if !sent.bytes.is_multiple_of(self.mss) {
            self.small_end = sent.end();
        }
        self.last_sent_at = now;
        self.device_memory += truesize(sent.bytes);
        self.recovery.on_sent(self.segments.out);
        if !matches!(self.timer, Some((_, Timer::Retransmission | Timer::Reordering))) {
            self.arm(now);
        }
        sent
    }

    /// Something leaves (`tcp_event_data_sent`).
    fn start(&mut self, now: Ps) {
        if self.segments.in_flight() == 0 {
            let is_application_limited = self.delivery.is_application_limited();
            self.congestion.on_begun(now, now - self.last_sent_at, is_application_limited, self.mss);
        }
    }

    /// A write begins a buffer: a window that was idle is not trusted (`tcp_slow_start_after_idle_check`, tcp.h).
    pub fn on_new_buffer(&mut self, now: Ps) {
        let idle = now - self.last_sent_at;
        let timeout = self.round_trip.timeout(self.backoff);
        if self.kernel.restarts_after_idle && self.segments.out == 0 && idle > timeout {
            self.congestion.restart(now, idle, timeout);
        }
    }

    /// A write begins: where all that was written has left, and the window has room, the application was the limit
    /// (`tcp_rate_check_app_limited`).
    pub fn on_write(&mut self) {
        let unsent = self.queue.end - self.next;
        let in_flight = self.segments.in_flight();
        if unsent < u64::from(self.mss)
            && self.device_memory < truesize(1)
            && in_flight < self.congestion.window
            && self.segments.lost <= self.segments.again
        {
            self.delivery.on_application_limited(in_flight);
        }
    }

    /// A buffer leaves again.
    pub(super) fn count_again(&mut self, now: Ps, bytes: u32) {
        self.last_sent_at = now;
        self.device_memory += truesize(bytes);
        self.pacing.on_sent(now, bytes, self.count(bytes), self.pacing_rate());
    }

    /// Nothing more leaves for now; the writer may wait for memory (`SOCK_NOSPACE`).
    pub fn end_burst(&mut self, now: Ps, has_sent: bool, is_out_of_memory: bool) {
        let is_limited = std::mem::take(&mut self.is_burst_limited) || self.segments.in_flight() >= self.congestion.window;
        if has_sent || is_limited {
            self.congestion.on_sent(is_limited, self.una, self.next, self.segments.out);
            let can_fall = self.kernel.restarts_after_idle && self.recovery.is_open() && !is_out_of_memory;
            self.congestion.on_used(now, self.segments.out, self.round_trip.timeout(self.backoff), can_fall);
        }
        if self.segments.out == 0 && self.queue.head().is_some() && self.timer.is_none() && !self.is_throttled {
            let after = self.pacing.delay(now) + self.round_trip.timeout(self.backoff);
            self.timer = Some((now + after, Timer::WindowProbe));
        }
    }

    /// The timer for what is out: a loss probe where the tail may be lost (`tcp_schedule_loss_probe`), else the
    /// retransmission timeout.
    pub(super) fn arm(&mut self, now: Ps) {
        if self.segments.out == 0 {
            self.timer = None;
            return;
        }
        let timeout = self.round_trip.timeout(self.backoff);
        let now = now + self.pacing.delay(now);
        self.timer = match self.recovery.probe_delay(&self.round_trip, self.segments) {
            Some(delay) if delay < timeout => Some((now + delay, Timer::LossProbe)),
            _ => Some((now + timeout, Timer::Retransmission)),
        };
    }

    /// When the timer is up.
    pub fn timer_at(&self) -> Option<Ps> {
        self.timer.map(|(at, _)| at).filter(|&at| at != HELD)
    }

    /// The timer is up; its work waits for a processor or for the socket.
    pub fn hold_timer(&mut self) {
        self.timer = self.timer.map(|(_, timer)| (HELD, timer));
    }

    /// The device is done with so much memory. True where sending goes on (`tcp_wfree`).
    pub fn on_device_done(&mut self, memory: u64) -> bool {
        self.device_memory -= memory;
        std::mem::take(&mut self.is_throttled)
    }
}
