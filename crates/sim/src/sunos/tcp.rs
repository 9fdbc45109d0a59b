//! TCP's rules of 4.3BSD-Tahoe as `SunOS` 4.1 has them: when to send, how much, and what window to announce.
//!
//! Source of the rules: study 1 (Moldeklev, Klovning, Kure) where it states them, else W. R. Stevens,
//! G. Wright, "TCP/IP Illustrated, Volume 2" (1995), chapters 25 to 29, whose section is named.
//!
//! Not modeled: urgent data, options, and the handshake.

use super::recovery::Recovery;
pub use super::rules::{Nagle, SlowStart, TcpRules};
use crate::segment::Segment;

/// One end of a connection.
#[derive(Debug, Clone)]
pub struct Tcp {
    /// Largest segment in bytes.
    pub mss: u32,
    /// Oldest byte without an acknowledgment.
    pub una: u64,
    /// Next byte to send.
    pub next: u64,
    /// Highest byte ever sent, plus one.
    pub highest: u64,
    /// Bytes that the other host's window allows from `una` on.
    pub send_window: u32,
    /// The largest window the other host ever announced.
    pub largest_window: u32,
    /// Next byte expected.
    pub expected: u64,
    /// The highest edge ever announced.
    pub announced_edge: u64,
    /// An acknowledgment waits for the fast timer.
    pub is_ack_delayed: bool,
    /// An acknowledgment must leave.
    pub is_ack_due: bool,
    /// Its rules.
    pub rules: TcpRules,
    /// The reaction to loss.
    pub recovery: Recovery,
}

/// The two buffers of the socket, as TCP sees them.
#[derive(Debug, Clone, Copy)]
pub struct Buffers {
    /// Bytes waiting in the send buffer, sent ones that are not acknowledged included.
    pub send_bytes: u64,
    /// Bytes waiting in the receive buffer.
    pub receive_bytes: u64,
    /// Size of the receive buffer.
    pub receive_limit: u64,
}

/// A segment to send, and whether to look again behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// The segment.
    pub segment: Segment,
    /// More than a segment's worth may be sent.
    pub is_more: bool,
}

impl Tcp {
    /// A connection that is open: the other host has announced `window`.
    pub fn new(rules: TcpRules, mss: u32, window: u32, receive_limit: u64) -> Self {
        Self {
            mss,
            una: 0,
            next: 0,
            highest: 0,
            send_window: window,
            largest_window: window,
            expected: 0,
            announced_edge: receive_limit,
            is_ack_delayed: false,
            is_ack_due: false,
            rules,
            recovery: Recovery::new(&rules, mss),
        }
    }

    /// True if everything sent is acknowledged; asked once for each run of [`Tcp::output`] (Stevens 26.3).
    pub fn is_idle(&self) -> bool {
        self.highest == self.una
    }

    /// Decides whether a segment is to be sent, and takes it for sent (Stevens 26.3 to 26.7).
    pub fn output(&mut self, is_idle: bool, is_forced: bool, buffers: Buffers) -> Option<Sending> {
        let sent = self.next - self.una;
        let window = u64::from(self.send_window).min(self.recovery.cwnd).max(u64::from(is_forced));
        let sendable = buffers.send_bytes.min(window).saturating_sub(sent);
        let is_more = sendable > u64::from(self.mss);
        let bytes = u32::try_from(sendable.min(u64::from(self.mss))).unwrap_or(self.mss);
        if !self.is_worth_sending(is_idle, is_forced, bytes, sent, buffers) && !self.is_window_worth_announcing(buffers) && !self.is_ack_due
        {
            return None;
        }
        let window = self.window(buffers);
        if self.next >= self.highest {
            self.recovery.on_output(self.next, bytes);
        }
        let mut segment = Segment { acknowledgment: self.expected, window, ..Segment::data(self.next, bytes) };
        segment.flags.is_push = bytes > 0 && sent + u64::from(bytes) == buffers.send_bytes;
        segment.flags.is_retransmission = bytes > 0 && self.next < self.highest;
        self.next += u64::from(bytes);
        self.highest = self.highest.max(self.next);
        self.announced_edge = self.announced_edge.max(self.expected + u64::from(window));
        self.is_ack_due = false;
        self.is_ack_delayed = false;
        Some(Sending { segment, is_more })
    }

    /// A segment smaller than the MSS and than half the largest window waits while anything is without
    /// acknowledgment: Nagle's algorithm in this system's form (study 1; Stevens 26.4).
    fn is_worth_sending(&self, is_idle: bool, is_forced: bool, bytes: u32, sent: u64, buffers: Buffers) -> bool {
        if bytes == 0 {
            return false;
        }
        let empties = sent + u64::from(bytes) >= buffers.send_bytes;
        bytes == self.mss
            || ((is_idle || self.rules.nagle == Nagle::Off) && empties)
            || is_forced
            || (self.rules.nagle != Nagle::BelowSegment && bytes >= self.largest_window / 2)
            || self.next < self.highest
    }

    /// The edge would move by two segments or by 35 % of the buffer, against the highest edge announced.
    fn is_window_worth_announcing(&self, buffers: Buffers) -> bool {
        let open = buffers.receive_limit.saturating_sub(buffers.receive_bytes);
        let moves = (self.expected + open).saturating_sub(self.announced_edge);
        let (percent, segments) = (u64::from(self.rules.update_percent), u64::from(self.rules.update_segments));
        moves > 0
            && ((segments > 0 && buffers.receive_bytes == 0 && moves >= segments * u64::from(self.mss))
                || 100 * moves / buffers.receive_limit >= percent)
    }

    /// The window that is announced: nothing below a quarter of the buffer and below a segment, and never less than
    /// what was announced before (Stevens 26.7).
    fn window(&self, buffers: Buffers) -> u32 {
        let mut open = buffers.receive_limit.saturating_sub(buffers.receive_bytes);
        if open < buffers.receive_limit / 4 && open < u64::from(self.mss) {
            open = 0;
        }
        u32::try_from(open.max(self.announced_edge.saturating_sub(self.expected))).unwrap_or(u32::MAX)
    }

    /// A segment has arrived: what it acknowledges, and how many bytes it brings in order. Those out of
    /// order and old ones are answered at once (Stevens 28.4, 29.4).
    pub fn input(&mut self, segment: &Segment) -> Arrived {
        let acknowledged = segment.acknowledgment.saturating_sub(self.una);
        let is_window_changed = segment.acknowledgment >= self.una && segment.window != self.send_window;
        let is_duplicate = segment.acknowledgment == self.una && segment.bytes == 0 && !is_window_changed && self.highest > self.una;
        if segment.acknowledgment >= self.una {
            self.una = segment.acknowledgment;
            self.next = self.next.max(self.una);
            self.highest = self.highest.max(self.una);
            self.send_window = segment.window;
            self.largest_window = self.largest_window.max(segment.window);
        }
        if acknowledged > 0 {
            self.recovery.on_acknowledged(&self.rules, self.una, self.highest);
        }
        let is_lost = is_duplicate && self.recovery.on_duplicate(&self.rules, self.send_window);
        let mut taken = 0;
        if segment.bytes > 0 {
            taken = self.recovery.take_in(&self.rules, self.expected, self.announced_edge, segment);
            self.expected += u64::from(taken);
            if taken == 0 || segment.sequence != self.expected - u64::from(taken) || taken != segment.bytes {
                self.is_ack_due = true;
            } else {
                self.is_ack_delayed = true;
            }
        }
        Arrived { acknowledged, taken, wants_output: acknowledged > 0 || is_window_changed, is_lost }
    }

    /// The fast timer: what was delayed is due (Stevens 25.4).
    pub fn on_fast_timer(&mut self) -> bool {
        if std::mem::take(&mut self.is_ack_delayed) {
            self.is_ack_due = true;
        }
        self.is_ack_due
    }

    /// The retransmission timer: back to the oldest byte, and on from there (go-back-N, Stevens 25.9).
    pub fn on_retransmission_timer(&mut self) {
        self.recovery.on_timeout(&self.rules, self.send_window);
        self.next = self.una;
    }
}

/// The results of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes of the send buffer that may go.
    pub acknowledged: u64,
    /// Bytes for the receive buffer.
    pub taken: u32,
    /// True if what it said may let data leave.
    pub wants_output: bool,
    /// True if the oldest segment is held for lost.
    pub is_lost: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const LIMIT: u64 = 10_000;

    /// The window that is announced when so many bytes have come, and so many of them are unread.
    fn shown(came: u64, unread: u64) -> Option<u32> {
        let mut tcp = Tcp::new(TcpRules::SUNOS_4_1, MSS, 8192, LIMIT);
        tcp.input(&Segment::data(0, u32::try_from(came).expect("small")));
        let buffers = Buffers { send_bytes: 0, receive_bytes: unread, receive_limit: LIMIT };
        tcp.output(true, false, buffers).map(|sending| sending.segment.window)
    }

    #[test]
    fn a_read_announces_35_percent_or_of_two_segments_of_an_empty_buffer() {
        assert_eq!(shown(6000, 2501), None);
        assert_eq!(shown(6000, 2500), Some(7500));
        // Two segments suffice only where nothing is left to read.
        assert_eq!(shown(2000, 0), Some(10_000));
        assert_eq!(shown(2001, 1), None);
        assert_eq!(shown(1999, 0), None);
    }
}
