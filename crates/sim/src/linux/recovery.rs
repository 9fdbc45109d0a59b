//! Lost segments, and how fast they are sent again: SACK (RFC 2018), RACK and the tail loss probe (RFC 8985),
//! proportional rate reduction (RFC 6937), and the timeout.
//!
//! Simplified: a segment that came twice is not reported (DSACK), so the patience with reordering never grows beyond a
//! quarter of the round trip, and forward RTO recovery (RFC 5682) is left out. Behind a timeout that was not needed, Linux
//! can be faster.

use crate::linux::congestion::{self, Acked};
use crate::linux::round_trip::{RoundTrip, TIMEOUT_MIN};
use crate::linux::sender::{Segments, Sender, Timer};
use crate::linux::undo::Undo;
use crate::linux::write_queue::Buffer;
use crate::segment::Segment;
use crate::time::{MS, Ps};

/// The least a probe waits beyond two round trips: two ticks of a kernel with 250 Hz (`TCP_TIMEOUT_MIN`).
const PROBE_MIN: Ps = 8 * MS;

/// Where loss recovery stands (`tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Open,
    /// The window is reduced for a mark of congestion (`TCP_CA_CWR`).
    Reduced,
    /// Segments are sent again at the rate of proportional reduction.
    Recovery,
    /// After a timeout: everything is sent again in slow start.
    Loss,
}

/// Loss recovery of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recovery {
    state: State,
    /// It is over when this is acknowledged.
    end: u64,
    pub(super) has_sack: bool,
    pub(super) duplicates: u32,
    /// Proportional reduction: the window before, delivered and sent since.
    window_before: u32,
    delivered: u32,
    sent: u32,
    out_before: u32,
    /// RACK: the newest segment that arrived left then and ended there, and its round trip.
    pub(super) newest_sent_at: Ps,
    pub(super) newest_end: u64,
    pub(super) newest_round_trip: Ps,
    /// Something came behind what left later (`reord_seen`), and the end of what came furthest out of order.
    pub(super) has_reordering: bool,
    highest_sacked: u64,
    pub(super) undo: Undo,
    is_probing: bool,
    has_probed: bool,
    /// A timeout since anything was last acknowledged (`icsk_retransmits`).
    has_timed_out: bool,
    /// Segments that were ever held for lost.
    pub(super) lost_ever: u64,
}

impl Recovery {
    /// With a peer that has SACK or not.
    pub fn new(has_sack: bool) -> Self {
        Self { has_sack, ..Self::default() }
    }

    /// Segments are being sent again.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, State::Recovery | State::Loss)
    }

    /// Nothing is lost, and the window is not reduced for a mark either.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// True if it is over when so much is acknowledged.
    pub(super) fn is_ended_by(&self, una: u64) -> bool {
        una >= self.end
    }

    /// True if a timeout began it.
    pub(super) fn is_behind_timeout(&self) -> bool {
        self.state == State::Loss
    }

    /// There was nothing to recover from.
    pub(super) fn reopen(&mut self) {
        self.state = State::Open;
    }

    pub(super) fn on_sent(&mut self, out: u32) {
        if matches!(self.state, State::Reduced | State::Recovery) {
            self.sent += out.saturating_sub(self.out_before);
        }
        self.out_before = out;
    }

    /// The wait of the tail's probe, if it may be sent (`tcp_schedule_loss_probe`): two round trips, and 200 ms more
    /// for a delayed acknowledgment where one segment alone is out.
    pub(super) fn probe_delay(&self, trip: &RoundTrip, segments: Segments) -> Option<Ps> {
        if self.is_under_way() || self.has_probed || !self.has_sack || segments.sacked > 0 || trip.smoothed == 0 {
            return None;
        }
        let more = if segments.out == 1 { TIMEOUT_MIN } else { PROBE_MIN };
        Some(2 * trip.smoothed + more)
    }
}

/// The effects of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Acknowledged {
    /// Bytes that were acknowledged for the first time.
    pub bytes: u64,
    /// Buffers that were freed.
    pub buffers: u32,
    /// Something may leave now.
    pub wants_output: bool,
}

impl Sender {
    /// An acknowledgment arrived (`tcp_ack`, `tcp_input.c`).
    pub fn on_acknowledgment(&mut self, now: Ps, segment: &Segment) -> Acknowledged {
        if segment.acknowledgment < self.una {
            return Acknowledged::default();
        }
        let before = self.una;
        let is_window_updated = self.take_window(segment);
        let (lost_before, lost_ever_before) = (self.segments.lost, self.recovery.lost_ever);
        let in_flight_before = self.segments.in_flight();
        let (mut acked, trip) = self.free(now, segment.acknowledgment);
        acked.bytes = self.una - before;
        if acked.bytes > 0 {
            self.recovery.has_timed_out = false;
            self.undo_in_part(segment.echo);
        }
        if let Some(sample) = trip {
            self.round_trip.on_sample(sample, self.una, self.next);
            self.backoff = 0;
        }
        let mut delivered = acked.delivered;
        delivered += self.take_sack(now, segment);
        if acked.bytes == 0 && !is_window_updated && segment.bytes == 0 && self.segments.out > 0 {
            self.recovery.duplicates += 1;
        }
        self.detect_losses(now);
        let has_new_losses = self.segments.lost > lost_before;
        let is_marked = self.ecn.is_echoed(segment.flags);
        self.go_through_states(now, &News { has_progress: acked.bytes > 0, delivered, has_new_losses, is_marked, echo: segment.echo });
        if self.congestion.is_by_rate() {
            let losses = u32::try_from(self.recovery.lost_ever - lost_ever_before).unwrap_or(u32::MAX);
            self.model(now, delivered, losses, in_flight_before);
        } else if matches!(self.recovery.state, State::Open | State::Loss) {
            let round_trip = trip.unwrap_or(0);
            self.congestion.on_acked(now, &Acked { segments: delivered, round_trip, una: self.una, next: self.next });
        }
        self.recovery.out_before = self.segments.out;
        if acked.bytes > 0 {
            self.recovery.duplicates = 0;
            self.recovery.has_probed = false;
            self.arm_again(now);
        } else if is_window_updated && self.segments.out == 0 {
            self.timer = None;
        }
        Acknowledged { bytes: acked.bytes, buffers: acked.buffers, wants_output: acked.bytes > 0 || is_window_updated || delivered > 0 }
    }

    /// The control that models the path sees the acknowledgment.
    fn model(&mut self, now: Ps, acked: u32, losses: u32, in_flight_before: u32) {
        let in_flight = self.segments.in_flight();
        let seen = congestion::Acknowledged {
            sample: self.delivery.sample(now, acked, self.round_trip.least),
            total: self.delivery.total,
            acked,
            losses,
            in_flight_before,
            in_flight,
            is_recovering: self.recovery.is_under_way(),
            is_fast_recovery: self.recovery.state == State::Recovery,
            smoothed: self.round_trip.smoothed,
            paced_for: self.pacing.delay(now),
            mss: self.mss,
        };
        if self.congestion.on_delivered(now, &seen) {
            self.delivery.on_application_limited(in_flight);
        }
    }

    /// Takes the window over, if the segment is newer than what is known of it (`tcp_may_update_window`).
    fn take_window(&mut self, segment: &Segment) -> bool {
        let is_newer = segment.acknowledgment > self.una
            || segment.sequence > self.window_updated_at
            || (segment.sequence == self.window_updated_at && segment.window > self.window);
        if !is_newer {
            return false;
        }
        let end = segment.acknowledgment + u64::from(segment.window);
        let has_moved = end != self.window_end;
        self.window_updated_at = segment.sequence;
        self.window = segment.window;
        self.window_end = end;
        self.largest_window = self.largest_window.max(segment.window);
        has_moved
    }

    /// Frees what is acknowledged (`tcp_clean_rtx_queue`). The round trip is the oldest's that was sent once.
    fn free(&mut self, now: Ps, una: u64) -> (Freed, Option<Ps>) {
        let mut freed = Freed::default();
        let mut sample = None;
        while let Some((buffer, left)) = self.queue.acknowledge(una) {
            let count = if left == 0 { self.count(buffer.bytes) } else { self.count(buffer.bytes + left) - self.count(left) };
            self.segments.out -= count;
            if buffer.is_sacked {
                self.segments.sacked -= count;
            } else {
                freed.delivered += count;
                self.delivery.on_delivered(&buffer);
                self.recovery.on_delivered(now, &buffer, self.round_trip.least);
            }
            self.segments.lost -= if buffer.is_lost { count } else { 0 };
            self.segments.again -= if buffer.is_again_out { count } else { 0 };
            if !buffer.was_again_out && !buffer.is_sacked {
                // A hole that was filled by what left first is reordering (`tcp_check_sack_reordering`).
                self.recovery.has_reordering |= buffer.start < self.recovery.highest_sacked;
                sample.get_or_insert(now - buffer.sent_at);
            }
            freed.buffers += u32::from(left == 0);
        }
        self.una = una;
        self.next = self.next.max(una);
        (freed, sample)
    }

    /// Marks what the other host has (`tcp_sacktag_write_queue`); buffers are cut at the edges of blocks. Segments that
    /// are new.
    fn take_sack(&mut self, now: Ps, segment: &Segment) -> u32 {
        let mut delivered = 0;
        let before = self.recovery.highest_sacked;
        for block in segment.sack.blocks() {
            let start = segment.acknowledgment + u64::from(block.after_bytes);
            let end = start + u64::from(block.bytes);
            let mut index = 0;
            while index < self.queue.sent_count() {
                let Some(&mut buffer) = self.queue.sent_mut(index) else { break };
                if buffer.start >= end {
                    break;
                }
                if buffer.end() > start && !buffer.is_sacked {
                    if buffer.start < start {
                        self.cut(index, &buffer, u32::try_from(start - buffer.start).unwrap_or(u32::MAX));
                    } else if buffer.end() <= end || self.cut(index, &buffer, u32::try_from(end - buffer.start).unwrap_or(u32::MAX)) {
                        delivered += self.mark_sacked(now, index, before);
                    }
                }
                index += 1;
            }
        }
        delivered
    }

    /// Cuts a sent buffer in two; the counts follow, for two parts may be more segments than the whole.
    fn cut(&mut self, index: usize, buffer: &Buffer, bytes: u32) -> bool {
        let more = self.count(bytes) + self.count(buffer.bytes - bytes) - self.count(buffer.bytes);
        self.queue.split(index, bytes);
        self.segments.out += more;
        self.segments.lost += if buffer.is_lost { more } else { 0 };
        self.segments.again += if buffer.is_again_out { more } else { 0 };
        true
    }

    fn mark_sacked(&mut self, now: Ps, index: usize, before: u64) -> u32 {
        let Some(buffer) = self.queue.sent_mut(index) else { return 0 };
        let was = *buffer;
        (buffer.is_sacked, buffer.is_lost, buffer.is_again_out) = (true, false, false);
        let count = self.count(was.bytes);
        // Further behind than what had come before this acknowledgment (`tcp_sacktag_one`).
        self.recovery.has_reordering |= !was.was_again_out && was.end() <= before;
        self.recovery.highest_sacked = self.recovery.highest_sacked.max(was.end());
        self.segments.sacked += count;
        self.segments.lost -= if was.is_lost { count } else { 0 };
        self.segments.again -= if was.is_again_out { count } else { 0 };
        self.delivery.on_delivered(&was);
        self.recovery.on_delivered(now, &was, self.round_trip.least);
        count
    }

    /// Into recovery, through it and out (`tcp_fastretrans_alert`).
    fn go_through_states(&mut self, now: Ps, news: &News) {
        if self.recovery.is_under_way() && self.una >= self.recovery.end {
            if self.recovery.undo.is_delayed(news.echo) {
                self.recovery.undo.take_back(&mut self.congestion);
            } else if self.recovery.state == State::Recovery && self.recovery.undo.is_open() {
                self.congestion.end_reduction();
            }
            self.recovery.undo.forget();
            self.congestion.mark_worked(now);
            self.recovery.state = State::Open;
        }
        // One segment behind what was out has to be acknowledged, so that the other host has heard of the reduction.
        if self.recovery.state == State::Reduced && self.una > self.recovery.end {
            self.congestion.end_reduction();
            self.congestion.mark_worked(now);
            self.recovery.state = State::Open;
        }
        if !self.recovery.is_under_way() && self.segments.lost > 0 {
            // A reduction for a mark stands; what is lost meanwhile takes no more, and nothing gives it back.
            self.recovery.undo.mark((self.recovery.is_open() && !news.is_marked).then_some(&self.congestion));
            if self.recovery.is_open() {
                self.begin_reduction();
            }
            self.recovery.state = State::Recovery;
            self.timer = Some((now + self.round_trip.timeout(self.backoff), Timer::Retransmission));
        } else if self.recovery.is_open() && news.is_marked {
            self.begin_reduction();
            self.recovery.state = State::Reduced;
        }
        let reduces = match self.recovery.state {
            State::Recovery => true,
            State::Reduced => news.delivered > 0,
            State::Open | State::Loss => false,
        };
        if reduces && !self.congestion.is_by_rate() {
            self.reduce(news.has_progress, news.delivered, news.has_new_losses);
        }
    }

    /// The threshold falls, and the window follows it (`tcp_init_cwnd_reduction`).
    fn begin_reduction(&mut self) {
        self.recovery.end = self.next;
        self.recovery.window_before = self.congestion.window;
        (self.recovery.delivered, self.recovery.sent) = (0, 0);
        self.congestion.on_loss();
        self.ecn.on_reduced();
    }

    /// The window of recovery (RFC 6937 3; `tcp_cwnd_reduction`).
    fn reduce(&mut self, has_progress: bool, delivered: u32, has_new_losses: bool) {
        let recovery = &mut self.recovery;
        recovery.delivered += delivered;
        let in_flight = self.segments.in_flight();
        let threshold = self.congestion.threshold;
        let more = if in_flight > threshold {
            let share = u64::from(threshold) * u64::from(recovery.delivered);
            u32::try_from(share.div_ceil(u64::from(recovery.window_before.max(1)))).unwrap_or(u32::MAX).saturating_sub(recovery.sent)
        } else {
            let grows = u32::from(has_progress && !has_new_losses);
            (recovery.delivered.saturating_sub(recovery.sent).max(delivered) + grows).min(threshold - in_flight)
        };
        // The first retransmission leaves in any case.
        self.congestion.window = in_flight + more.max(u32::from(recovery.sent == 0));
    }

    /// The next buffer that leaves again, if any.
    pub(super) fn poll_again(&mut self, now: Ps) -> Option<Buffer> {
        if std::mem::take(&mut self.recovery.is_probing) {
            return self.probe_tail(now);
        }
        if self.segments.lost == 0 || self.pacing.holds(now) {
            return None;
        }
        let quota = self.congestion.window.saturating_sub(self.segments.in_flight());
        if quota == 0 {
            return None;
        }
        let index = self.queue.sent().position(|buffer| buffer.is_lost && !buffer.is_again_out)?;
        let buffer = *self.queue.sent_mut(index)?;
        let most = quota.min(self.most_segments()) * self.mss;
        if most < buffer.bytes {
            self.cut(index, &buffer, most);
        }
        self.send_again(now, index)
    }

    fn send_again(&mut self, now: Ps, index: usize) -> Option<Buffer> {
        let buffer = self.queue.sent_mut(index)?;
        (buffer.is_again_out, buffer.was_again_out, buffer.sent_at) = (true, true, now);
        buffer.known = self.delivery.on_sent(now, false);
        let buffer = *buffer;
        let count = self.count(buffer.bytes);
        self.segments.again += count;
        if self.recovery.state == State::Recovery {
            self.recovery.sent += count;
        }
        self.recovery.undo.on_again(now);
        self.count_again(now, buffer.bytes);
        if self.timer.is_none() {
            self.arm(now);
        }
        Some(buffer)
    }

    /// The tail's last segment leaves again, so that its acknowledgment shows what is lost (`tcp_send_loss_probe`;
    /// new data, which Linux prefers, would have left by itself).
    fn probe_tail(&mut self, now: Ps) -> Option<Buffer> {
        let last = self.queue.sent_count().checked_sub(1)?;
        let buffer = *self.queue.sent_mut(last)?;
        let tail = (buffer.bytes - 1) % self.mss + 1;
        let index = if tail < buffer.bytes {
            self.cut(last, &buffer, buffer.bytes - tail);
            last + 1
        } else {
            last
        };
        if buffer.is_sacked || buffer.is_again_out {
            return None;
        }
        self.send_again(now, index)
    }

    /// After progress timers begin anew.
    fn arm_again(&mut self, now: Ps) {
        if !matches!(self.timer, Some((_, Timer::Reordering))) {
            self.arm(now);
        }
    }

    /// The timer is up at `now`. True for a timeout.
    pub fn on_timer(&mut self, now: Ps) -> bool {
        let Some((_, timer)) = self.timer.take() else { return false };
        match timer {
            Timer::LossProbe => {
                (self.recovery.is_probing, self.recovery.has_probed) = (true, true);
                self.timer = Some((now + self.round_trip.timeout(self.backoff), Timer::Retransmission));
            }
            Timer::Reordering => {
                let lost_before = self.segments.lost;
                self.detect_losses(now);
                let has_new_losses = self.segments.lost > lost_before;
                self.go_through_states(now, &News { has_progress: false, delivered: 0, has_new_losses, is_marked: false, echo: 0 });
                self.arm_again(now);
            }
            Timer::Retransmission => {
                self.on_timeout(now);
                return true;
            }
            Timer::WindowProbe => {
                self.backoff += 1;
                self.timer = Some((now + self.round_trip.timeout(self.backoff), Timer::WindowProbe));
            }
        }
        false
    }

    /// True if the window is shut, so that a probe leaves when its timer is up.
    pub fn is_window_probed(&self) -> bool {
        matches!(self.timer, Some((_, Timer::WindowProbe)))
    }

    /// Everything that the other host is not known to have is lost (`tcp_enter_loss`); the window begins anew.
    fn on_timeout(&mut self, now: Ps) {
        for index in 0..self.queue.sent_count() {
            if self.queue.sent_mut(index).is_some_and(|buffer| !buffer.is_sacked) {
                self.mark_lost(index);
            }
        }
        let in_flight = self.segments.in_flight();
        // Once a window: not behind a mark or a loss of the same one (RFC 3168 6.1.2), nor again without progress.
        let recovery = &self.recovery;
        if recovery.is_open() || self.una >= recovery.end || (recovery.state == State::Loss && !recovery.has_timed_out) {
            self.recovery.undo.mark(Some(&self.congestion));
            self.congestion.on_loss();
        } else if self.recovery.state == State::Reduced {
            self.recovery.undo.forget();
        }
        self.recovery.has_timed_out = true;
        self.congestion.on_timeout(in_flight);
        self.ecn.on_reduced();
        self.congestion.mark_worked(now);
        self.recovery.state = State::Loss;
        self.recovery.end = self.next;
        self.backoff += 1;
        self.timer = Some((now + self.round_trip.timeout(self.backoff), Timer::Retransmission));
    }
}

/// News of losses that an acknowledgment, or a timer, shows.
#[derive(Debug, Clone, Copy)]
struct News {
    has_progress: bool,
    delivered: u32,
    has_new_losses: bool,
    /// It echoes a mark of congestion.
    is_marked: bool,
    /// The time stamp that it echoes.
    echo: u32,
}

/// The data that was freed.
#[derive(Debug, Clone, Copy, Default)]
struct Freed {
    bytes: u64,
    buffers: u32,
    /// Segments of it that were not known to have arrived.
    delivered: u32,
}

#[cfg(test)]
mod tests {
    use super::super::congestion::Algorithm;
    use super::super::sender::Push;
    use super::super::spec::{Kernel, Socket};
    use super::*;
    use crate::segment::{Block, Sack};

    const MSS: u32 = 1000;
    const WINDOW: u32 = 1 << 20;

    /// Twenty segments are under way since 0, of a window of 20 and a threshold of 30, and so many more wait.
    fn twenty_out(has_sack: bool, waiting: u32) -> Sender {
        let socket = Socket { algorithm: Algorithm::Reno, ..Socket::default() };
        let mut sender = Sender::new(Kernel::default(), socket, MSS, WINDOW, has_sack);
        (sender.congestion.window, sender.congestion.threshold) = (20, 30);
        sender.queue.append(20 * MSS, true);
        assert_eq!(leaving(&mut sender, 0).len(), 1);
        if waiting > 0 {
            sender.queue.append(waiting * MSS, true);
        }
        sender
    }

    /// Collects what leaves now: first segment, how many, and whether they leave again.
    fn leaving(sender: &mut Sender, now: Ps) -> Vec<(u64, u32, bool)> {
        let buffers: Vec<_> = std::iter::from_fn(|| sender.poll(now, Push::Forced)).collect();
        sender.end_burst(now, !buffers.is_empty(), false);
        buffers.iter().map(|buffer| (buffer.start / u64::from(MSS), buffer.bytes / MSS, buffer.was_again_out)).collect()
    }

    /// An acknowledgment of all before `una`, and of the segments `from..to`; then what leaves.
    fn acknowledge(sender: &mut Sender, now: Ps, una: u64, (from, to): (u32, u32)) -> Vec<(u64, u32, bool)> {
        let mut sack = Sack::default();
        if from < to {
            let una = u32::try_from(una).expect("few");
            sack.push(Block { after_bytes: (from - una) * MSS, bytes: (to - from) * MSS });
        }
        let acknowledgment = una * u64::from(MSS);
        sender.on_acknowledgment(now, &Segment { acknowledgment, window: WINDOW, sack, ..Segment::data(0, 0) });
        leaving(sender, now)
    }

    #[test]
    fn one_segment_leaves_for_two_that_arrive_until_the_window_is_half() {
        // RFC 6937: ssthresh 10 of 20, so that sndcnt = CEIL(prr_delivered / 2) - prr_out.
        let mut sender = twenty_out(true, 20);
        assert_eq!(acknowledge(&mut sender, 100 * MS, 0, (1, 4)), [(0, 1, true), (20, 1, false)]);
        assert_eq!(sender.congestion.threshold, 10);
        assert_eq!(acknowledge(&mut sender, 101 * MS, 0, (1, 5)), []);
        assert_eq!(acknowledge(&mut sender, 102 * MS, 0, (1, 6)), [(21, 1, false)]);
        assert_eq!(acknowledge(&mut sender, 103 * MS, 0, (1, 8)), [(22, 1, false)]);
        // All that was out when it began: the window is the threshold, and one more for ten of the 13 that arrived.
        acknowledge(&mut sender, 200 * MS, 20, (0, 0));
        assert_eq!((sender.congestion.window, sender.recovery.is_open()), (11, true));
    }

    #[test]
    fn fewer_than_three_behind_a_hole_wait_for_a_quarter_of_the_round_trip() {
        // RFC 8985 6.2 step 4: a round trip of 100 ms, and min_RTT / 4 = 25 ms.
        let mut sender = twenty_out(true, 0);
        assert_eq!(acknowledge(&mut sender, 100 * MS, 1, (3, 4)), []);
        assert_eq!((sender.timer, sender.segments.lost), (Some((125 * MS, Timer::Reordering)), 0));
        assert!(!sender.on_timer(125 * MS));
        assert_eq!(sender.segments.lost, 2);
        assert_eq!(leaving(&mut sender, 125 * MS), [(1, 1, true)]);
    }

    #[test]
    fn what_came_behind_later_segments_is_waited_for_from_then_on() {
        let mut sender = twenty_out(true, 0);
        acknowledge(&mut sender, 100 * MS, 1, (3, 5));
        // The hole is filled by what left first: it was reordering.
        acknowledge(&mut sender, 101 * MS, 5, (0, 0));
        assert!(sender.recovery.has_reordering);
        assert_eq!(acknowledge(&mut sender, 102 * MS, 5, (6, 12)), []);
        assert_eq!((sender.segments.sacked, sender.segments.lost), (6, 0), "six are not enough any more");
    }

    #[test]
    fn a_tail_is_probed_after_two_round_trips_and_lost_after_a_timeout() {
        let mut sender = twenty_out(true, 0);
        acknowledge(&mut sender, 100 * MS, 17, (0, 0));
        // RFC 8985 7.2: 2 SRTT, and two ticks of 4 ms.
        assert_eq!(sender.timer, Some((308 * MS, Timer::LossProbe)));
        assert!(!sender.on_timer(308 * MS));
        assert_eq!(leaving(&mut sender, 308 * MS), [(19, 1, true)]);
        // RFC 6298: SRTT of 100 ms and at least 200 ms; doubled behind a timeout. Slow start had reached 30 segments.
        assert_eq!(sender.timer, Some((608 * MS, Timer::Retransmission)));
        assert!(sender.on_timer(608 * MS));
        assert_eq!((sender.congestion.window, sender.congestion.threshold, sender.segments.lost), (1, 15, 3));
        assert_eq!(leaving(&mut sender, 608 * MS), [(17, 1, true)]);
        assert_eq!(sender.timer, Some((1208 * MS, Timer::Retransmission)));
        // One segment alone waits for a delayed acknowledgment, which is longer than the timeout.
        let mut alone = twenty_out(true, 0);
        acknowledge(&mut alone, 100 * MS, 19, (0, 0));
        assert_eq!(alone.timer, Some((400 * MS, Timer::Retransmission)));
    }

    #[test]
    fn without_sack_three_duplicates_show_a_loss() {
        // RFC 5681 3.2.
        let mut sender = twenty_out(false, 0);
        assert_eq!(acknowledge(&mut sender, 100 * MS, 0, (0, 0)), []);
        assert_eq!(acknowledge(&mut sender, 101 * MS, 0, (0, 0)), []);
        assert_eq!(acknowledge(&mut sender, 102 * MS, 0, (0, 0)), [(0, 1, true)]);
        assert_eq!(sender.congestion.threshold, 10);
    }
}
