//! The sending half of a connection: what may leave, and what an acknowledgment changes.
//!
//! Not modeled: selective acknowledgments, which Solaris 8 has; with one loss in a window the flow is the same, with
//! several this recovers slower (RFC 6582 against RFC 2018).

use super::messages::{Blocks, Unsent};
use super::nagle::{Question, holds};
use crate::time::{MS, Ps, S};

/// `tcp_rexmit_interval_min` and `tcp_rexmit_interval_max` (Solaris 8 manual).
const RTO_MIN: Ps = 400 * MS;
const RTO_MAX: Ps = 60 * S;
/// `tcp_rexmit_interval_initial`.
const RTO_INITIAL: Ps = 3 * S;
/// `tcp_dupack_fast_retransmit`.
const DUPLICATES: u32 = 3;
/// Segments of the first flight (`tcp_slow_start_initial`; RFC 2414).
const INITIAL_SEGMENTS: u64 = 4;

/// The piece that is to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Number of its first byte.
    pub sequence: u64,
    /// Its payload.
    pub bytes: u32,
    /// The blocks that the payload consists of.
    pub blocks: Blocks,
    /// Bytes that left before.
    pub is_retransmission: bool,
}

/// One host's data.
#[derive(Debug, Clone)]
pub struct Sender {
    /// Largest payload.
    pub mss: u32,
    /// Nagle's limit: the MSS, or 1 with `TCP_NODELAY`.
    pub nagle_limit: u32,
    /// Oldest byte without an acknowledgment.
    pub una: u64,
    /// Next byte to send.
    pub next: u64,
    /// Highest byte ever sent, plus one.
    pub highest: u64,
    /// Data that was never sent.
    pub unsent: Unsent,
    /// Bytes that the other host's window allows from `una` on.
    pub window: u64,
    largest_window: u64,
    last_sent_bytes: u32,
    /// The congestion window.
    pub cwnd: u64,
    /// Where slow start ends.
    pub ssthresh: u64,
    duplicates: u32,
    /// While a loss is repaired: the highest byte when it was found.
    recover: Option<u64>,
    resend: bool,
    timed: Option<(u64, Ps)>,
    /// Smoothed round trip and its variation, in ps.
    pub srtt: Ps,
    variation: Ps,
    /// Retransmission timeout.
    pub rto: Ps,
    /// When it strikes.
    pub rto_at: Option<Ps>,
    /// Number of times that it struck.
    pub timeouts: u64,
}

impl Sender {
    /// An open connection whose other host has announced `window`.
    pub fn new(mss: u32, nagle_limit: u32, window: u32, unsent: Unsent) -> Self {
        Self {
            mss,
            nagle_limit,
            una: 0,
            next: 0,
            highest: 0,
            unsent,
            window: u64::from(window),
            largest_window: u64::from(window),
            last_sent_bytes: 0,
            cwnd: INITIAL_SEGMENTS * u64::from(mss),
            ssthresh: u64::MAX,
            duplicates: 0,
            recover: None,
            resend: false,
            timed: None,
            srtt: 0,
            variation: 0,
            rto: RTO_INITIAL,
            rto_at: None,
            timeouts: 0,
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// True if something is to be sent again.
    pub fn is_repairing(&self) -> bool {
        self.resend || self.next < self.highest
    }

    fn room(&self) -> u64 {
        self.window.min(self.cwnd).saturating_sub(self.outstanding())
    }

    /// Number of bytes that one run of output may send, decided once at its beginning; 0: nothing leaves.
    pub fn begin_run(&self) -> u64 {
        if self.resend {
            return u64::from(self.mss);
        }
        if self.next < self.highest {
            return self.room().min(self.highest - self.next);
        }
        let usable_bytes = self.room().min(self.unsent.bytes);
        let is_unacknowledged = self.next > self.una;
        let question = Question { usable_bytes, is_unacknowledged, last_sent_bytes: self.last_sent_bytes };
        if usable_bytes == 0 || holds(question, self.nagle_limit) { 0 } else { usable_bytes }
    }

    /// The next segment of a run that has `left` bytes, taken for sent at `now`.
    pub fn send(&mut self, now: Ps, left: u64) -> Option<Piece> {
        if std::mem::take(&mut self.resend) {
            let bytes = cap(self.highest - self.una, self.mss);
            self.arm(now);
            return (bytes > 0).then_some(Piece { sequence: self.una, bytes, blocks: Blocks::single(bytes), is_retransmission: true });
        }
        let is_retransmission = self.next < self.highest;
        let wanted = if is_retransmission { cap(self.highest - self.next, self.mss) } else { self.unsent.next_segment(self.mss) };
        let bytes = cap(left.min(self.room()), wanted);
        // The window cuts the segment: below half of the largest window seen that waits for more (RFC 1122 4.2.3.4).
        let is_cut = bytes < wanted && self.outstanding() > 0 && u64::from(bytes) < self.largest_window / 2;
        if bytes == 0 || is_cut {
            return None;
        }
        let sequence = self.next;
        self.next += u64::from(bytes);
        // Which messages were in a segment that leaves again is not kept.
        let blocks = if is_retransmission { Blocks::single(bytes) } else { self.unsent.blocks(bytes) };
        if !is_retransmission {
            self.unsent.take(bytes);
            self.timed.get_or_insert((self.next, now));
        }
        self.highest = self.highest.max(self.next);
        self.last_sent_bytes = bytes;
        if self.rto_at.is_none() {
            self.arm(now);
        }
        Some(Piece { sequence, bytes, blocks, is_retransmission })
    }

    fn arm(&mut self, now: Ps) {
        self.rto_at = Some(now + self.rto);
    }

    /// An acknowledgment; `is_pure` if it came without data. Returns whether something new is acknowledged.
    pub fn on_acknowledgment(&mut self, now: Ps, acknowledgment: u64, window: u32, is_pure: bool) -> bool {
        let window = u64::from(window);
        if acknowledgment < self.una {
            return false;
        }
        let is_same_window = window == self.window;
        self.window = window;
        self.largest_window = self.largest_window.max(window);
        if acknowledgment == self.una {
            if is_pure && is_same_window && self.highest > self.una {
                self.on_duplicate();
            }
            return false;
        }
        let acknowledged = acknowledgment - self.una;
        self.una = acknowledgment;
        self.next = self.next.max(self.una);
        self.duplicates = 0;
        if let Some((_, sent_at)) = self.timed.take_if(|(end, _)| acknowledgment >= *end) {
            self.take_round_trip(now - sent_at);
        }
        match self.recover {
            // A partial acknowledgment: the next hole (RFC 6582 section 3.2).
            Some(recover) if acknowledgment < recover => {
                self.resend = true;
                self.cwnd = self.cwnd.saturating_sub(acknowledged).max(u64::from(self.mss)) + u64::from(self.mss);
            }
            Some(_) => {
                self.recover = None;
                self.cwnd = self.ssthresh;
            }
            None => self.grow(),
        }
        self.rto_at = if self.highest > self.una { Some(now + self.rto) } else { None };
        true
    }

    /// Slow start and congestion avoidance (RFC 2581 section 3.1), up to what the window can use.
    fn grow(&mut self) {
        let mss = u64::from(self.mss);
        if self.cwnd < self.largest_window.max(INITIAL_SEGMENTS * mss) {
            self.cwnd += if self.cwnd < self.ssthresh { mss } else { (mss * mss / self.cwnd).max(1) };
        }
    }

    fn on_duplicate(&mut self) {
        self.duplicates += 1;
        if self.recover.is_some() {
            self.cwnd += u64::from(self.mss);
        } else if self.duplicates == DUPLICATES {
            self.reduce();
            self.cwnd = self.ssthresh + u64::from(DUPLICATES * self.mss);
            self.recover = Some(self.highest);
            self.resend = true;
            self.timed = None;
        }
    }

    fn reduce(&mut self) {
        self.ssthresh = ((self.highest - self.una) / 2).max(2 * u64::from(self.mss));
    }

    /// The retransmission timer: back to the oldest byte, with a window of one segment (RFC 2581 section 3.1).
    pub fn on_timeout(&mut self, now: Ps) {
        self.reduce();
        self.cwnd = u64::from(self.mss);
        self.next = self.una;
        self.recover = None;
        self.resend = false;
        self.timed = None;
        self.duplicates = 0;
        self.timeouts += 1;
        self.rto = (2 * self.rto).min(RTO_MAX);
        self.arm(now);
    }

    /// RFC 2988 section 2.
    fn take_round_trip(&mut self, round_trip: Ps) {
        if self.srtt == 0 {
            (self.srtt, self.variation) = (round_trip, round_trip / 2);
        } else {
            self.variation = (3 * self.variation + self.srtt.abs_diff(round_trip)) / 4;
            self.srtt = (7 * self.srtt + round_trip) / 8;
        }
        self.rto = (self.srtt + 4 * self.variation).clamp(RTO_MIN, RTO_MAX);
    }
}

fn cap(bytes: u64, most: u32) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1460;

    fn sender(nagle_limit: u32) -> Sender {
        Sender { cwnd: 1 << 20, ..Sender::new(MSS, nagle_limit, 65_535, Unsent::default()) }
    }

    /// Writes messages one by one and notes what leaves.
    fn write(sender: &mut Sender, messages: &[u32]) -> Vec<u32> {
        let mut sent = Vec::new();
        for &message in messages {
            sender.unsent.push(message);
            let mut left = sender.begin_run();
            while left > 0 {
                let Some(piece) = sender.send(0, left) else { break };
                left -= u64::from(piece.bytes);
                sent.push(piece.bytes);
            }
        }
        sent
    }

    #[test]
    fn small_messages_leave_in_pairs() {
        // Messages, and the payloads of gbe_small_packets_nagle.csv behind the first, which finds an idle connection.
        for (message, pair) in [(60, [1440, 60]), (100, [1400, 100]), (250, [1250, 250]), (536, [1072, 536]), (1024, [1024, 1024])] {
            let mut sender = sender(MSS);
            let sent = write(&mut sender, &vec![message; 1 + 4 * (MSS / message + 1) as usize]);
            assert_eq!(sent, [[message].as_slice(), &pair, &pair, &pair, &pair].concat());
        }
        assert_eq!(write(&mut sender(MSS), &[1460; 3]), [1460; 3]);
        assert_eq!(write(&mut sender(1), &[60; 3]), [60; 3]);
    }

    #[test]
    fn an_acknowledgment_of_all_lets_the_rest_go() {
        let mut sender = sender(MSS);
        assert_eq!(write(&mut sender, &[60, 60, 60]), [60]);
        assert!(sender.on_acknowledgment(1, 60, 65_535, true));
        assert_eq!(sender.begin_run(), 120);
        assert_eq!(sender.send(1, 120).map(|piece| piece.bytes), Some(120));
    }

    #[test]
    fn three_duplicates_resend_and_a_timeout_goes_back() {
        let mut sender = sender(MSS);
        assert_eq!(write(&mut sender, &[MSS; 10]).len(), 10);
        for _ in 0..3 {
            sender.on_acknowledgment(1, 0, 65_535, true);
        }
        let again = sender.send(1, sender.begin_run()).expect("the hole is resent");
        assert_eq!((again.sequence, again.is_retransmission), (0, true));
        sender.on_timeout(2);
        assert_eq!((sender.next, sender.cwnd), (0, u64::from(MSS)));
        let again = sender.send(2, sender.begin_run()).expect("it begins again");
        assert_eq!((again.sequence, again.bytes, again.is_retransmission), (0, MSS, true));
    }

    #[test]
    fn a_partial_acknowledgment_shows_the_next_hole() {
        // RFC 6582 section 3.2: ten segments out, ssthresh 5 of them, and 3 more for the duplicates.
        let segments = |count: u64| count * u64::from(MSS);
        let mut sender = sender(MSS);
        write(&mut sender, &[MSS; 10]);
        for _ in 0..4 {
            sender.on_acknowledgment(1, 0, 65_535, true);
        }
        assert_eq!((sender.ssthresh, sender.cwnd), (segments(5), segments(9)));
        sender.send(1, sender.begin_run());
        sender.on_acknowledgment(2, segments(4), 65_535, true);
        assert_eq!(sender.cwnd, segments(9 - 4 + 1));
        assert_eq!(sender.send(2, sender.begin_run()).map(|piece| piece.sequence), Some(segments(4)));
        sender.on_acknowledgment(3, segments(10), 65_535, true);
        assert_eq!((sender.cwnd, sender.is_repairing(), sender.rto_at), (segments(5), false, None));
    }

    #[test]
    fn the_timeout_follows_the_round_trip() {
        // RFC 2988 section 2: 200 + 4 * 100 ms; then RTTVAR = (3 * 100 + 100) / 4 and SRTT = (7 * 200 + 300) / 8.
        let mut sender = sender(MSS);
        write(&mut sender, &[MSS]);
        assert_eq!(sender.rto_at, Some(3 * S));
        sender.on_acknowledgment(200 * MS, u64::from(MSS), 65_535, true);
        assert_eq!(sender.rto, 600 * MS);
        sender.take_round_trip(300 * MS);
        assert_eq!((sender.srtt, sender.rto), (212_500 * MS / 1000, 612_500 * MS / 1000));
        sender.on_timeout(S);
        assert_eq!(sender.rto, 1225 * MS);
        // A short one is not below 400 ms.
        (0..200).for_each(|_| sender.take_round_trip(MS));
        assert_eq!(sender.rto, RTO_MIN);
    }
}
