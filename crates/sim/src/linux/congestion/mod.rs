//! Congestion control: the window, and who raises and lowers it.

mod bbr;
mod cubic;
mod idle;
mod rates;

use crate::time::Ps;
pub use bbr::{Acknowledged, Bbr};
pub use cubic::Cubic;

/// Segments that may leave before anything is acknowledged (RFC 6928; `TCP_INIT_CWND`).
pub const INITIAL_SEGMENTS: u32 = 10;

/// Which rule raises the window behind slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681 (`tcp_cong.c`).
    Reno,
    /// RFC 9438 with `HyStart` (`tcp_cubic.c`).
    Cubic,
    /// Version 1 (`tcp_bbr.c`).
    Bbr,
}

/// The congestion window of a connection, in segments.
#[derive(Debug, Clone)]
pub struct Congestion {
    /// `snd_cwnd`.
    pub window: u32,
    /// `snd_ssthresh`.
    pub threshold: u32,
    credit: u32,
    /// The window was filled; one that is not filled does not grow.
    is_limited: bool,
    most_out: u32,
    usage_end: u64,
    /// When the window was last worked with (`snd_cwnd_stamp`), and the most of it that was used since (`snd_cwnd_used`).
    worked_at: Ps,
    most_used: u32,
    cubic: Option<Cubic>,
    bbr: Option<Box<Bbr>>,
}

/// Facts that congestion control reads from an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// Segments that it acknowledged for the first time.
    pub segments: u32,
    /// Round trip of the newest of them, 0: none.
    pub round_trip: Ps,
    /// Everything before is acknowledged.
    pub una: u64,
    /// Next byte to send.
    pub next: u64,
}

impl Congestion {
    /// A new connection.
    pub fn new(algorithm: Algorithm) -> Self {
        let cubic = (algorithm == Algorithm::Cubic).then(Cubic::default);
        Self {
            window: INITIAL_SEGMENTS,
            threshold: u32::MAX,
            credit: 0,
            is_limited: false,
            most_out: 0,
            usage_end: 0,
            worked_at: 0,
            most_used: 0,
            cubic,
            bbr: (algorithm == Algorithm::Bbr).then(|| Box::new(Bbr::default())),
        }
    }

    /// With an upper bound of the rate at which it paces, in bytes a second (`SO_MAX_PACING_RATE`).
    #[must_use]
    pub fn paced_within(mut self, most: Option<u64>) -> Self {
        if let Some(bbr) = &mut self.bbr {
            bbr.paced_most = most;
        }
        self
    }

    /// True if the window doubles each round trip (RFC 5681 3.1).
    pub fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// After sending: was the window the limit (`tcp_cwnd_validate`, `tcp_output.c`)?
    pub fn on_sent(&mut self, is_limited: bool, una: u64, next: u64, out: u32) {
        if una >= self.usage_end || is_limited || (!self.is_limited && out > self.most_out) {
            self.is_limited = is_limited;
            self.most_out = out;
            self.usage_end = next;
        }
    }

    /// True if an acknowledgment may raise it (`tcp_is_cwnd_limited`, tcp.h): in slow start half of it in use will do.
    fn may_grow(&self) -> bool {
        self.is_limited || (self.is_in_slow_start() && self.window < 2 * self.most_out)
    }

    /// True if it sets the window and the rate at every acknowledgment, in recovery as well (`cong_control`): then nobody
    /// else reduces the window.
    pub fn is_by_rate(&self) -> bool {
        self.bbr.is_some()
    }

    /// The rate at which it paces, in bytes a second.
    pub fn pacing_rate(&self) -> Option<u64> {
        self.bbr.as_ref().map(|bbr| bbr.pacing_rate())
    }

    /// An acknowledgment, in any state (`tcp_cong_control`). True while few segments leave on purpose, so that rates show
    /// nothing.
    pub fn on_delivered(&mut self, now: Ps, acked: &Acknowledged) -> bool {
        let Some(bbr) = &mut self.bbr else { return false };
        self.window = bbr.on_acknowledged(now, acked, self.window);
        self.threshold = bbr.poll_threshold().unwrap_or(self.threshold);
        bbr.is_probing_trip()
    }

    /// A recovery was not needed (`undo_cwnd`).
    pub fn on_undone(&mut self) {
        if let Some(bbr) = &mut self.bbr {
            bbr.on_undone();
        }
    }

    /// Behind a recovery, or a reduction for a mark, the window is the threshold (`tcp_end_cwnd_reduction`).
    pub fn end_reduction(&mut self) {
        if !self.is_by_rate() {
            self.window = self.threshold;
        }
    }

    /// An acknowledgment outside of recovery (`tcp_cong_avoid`).
    pub fn on_acked(&mut self, now: Ps, acked: &Acked) {
        if acked.segments > 0 {
            self.worked_at = now;
        }
        if let Some(cubic) = &mut self.cubic
            && acked.round_trip > 0
            && cubic.ends_slow_start(now, self.window, self.window < self.threshold, acked)
        {
            self.threshold = self.window;
        }
        if !self.may_grow() {
            return;
        }
        let mut segments = acked.segments;
        if self.is_in_slow_start() {
            let before = self.window;
            self.window = self.window.saturating_add(segments).min(self.threshold);
            segments -= self.window - before;
            if segments == 0 {
                return;
            }
        }
        let each = self.cubic.as_mut().map_or(self.window, |cubic| cubic.segments_for_one(now, self.window, segments));
        self.add(each, segments);
    }

    /// One more for every `each` segments (`tcp_cong_avoid_ai`).
    fn add(&mut self, each: u32, segments: u32) {
        if self.credit >= each {
            self.credit = 0;
            self.window += 1;
        }
        self.credit += segments;
        self.window += self.credit / each;
        self.credit %= each;
    }

    /// Something was lost: the threshold falls (`ssthresh`); the window is recovery's.
    pub fn on_loss(&mut self) {
        self.threshold = match (&mut self.cubic, &mut self.bbr) {
            (Some(cubic), _) => cubic.on_loss(self.window),
            (None, Some(bbr)) => {
                bbr.on_loss(self.window);
                self.threshold
            }
            (None, None) => (self.window / 2).max(2),
        };
        self.credit = 0;
    }

    /// A timeout: from the start again. The threshold is [`Congestion::on_loss`]'s.
    pub fn on_timeout(&mut self, in_flight: u32) {
        if let Some(cubic) = &mut self.cubic {
            cubic.forget();
        }
        if let Some(bbr) = &mut self.bbr {
            bbr.on_timeout();
        }
        self.credit = 0;
        self.window = in_flight + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    fn round(congestion: &mut Congestion, now: Ps) {
        let segments = congestion.window;
        congestion.on_sent(true, 0, 0, segments);
        congestion.on_acked(now, &Acked { segments, round_trip: 100 * MS, una: 0, next: 0 });
    }

    #[test]
    fn reno_doubles_then_adds_one_a_round_trip() {
        let mut reno = Congestion::new(Algorithm::Reno);
        round(&mut reno, 0);
        round(&mut reno, 0);
        assert_eq!(reno.window, 40);
        reno.on_loss();
        assert_eq!(reno.threshold, 20);
        reno.window = 20;
        for expected in [21, 22, 23] {
            round(&mut reno, 0);
            assert_eq!(reno.window, expected);
        }
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        let mut reno = Congestion::new(Algorithm::Reno);
        reno.on_sent(false, 0, 0, 4);
        reno.on_acked(0, &Acked { segments: 4, round_trip: 0, una: 0, next: 0 });
        assert_eq!(reno.window, 10);
        // In slow start half of it in use is enough.
        reno.on_sent(false, 0, 0, 6);
        reno.on_acked(0, &Acked { segments: 6, round_trip: 0, una: 0, next: 0 });
        assert_eq!(reno.window, 16);
    }

    #[test]
    fn cubic_falls_to_seven_tenths_and_follows_its_curve() {
        let mut cubic = Congestion::new(Algorithm::Cubic);
        cubic.window = 1000;
        cubic.on_loss();
        assert_eq!(cubic.threshold, 700);
        cubic.window = 700;
        // K = (W 0.3 / 0.4)^(1/3) = 9.09 s (RFC 9438 4.2), round trips of 100 ms: 1000 + 0.4 (t - K)^3.
        let mut windows = Vec::new();
        for step in 0..140 {
            round(&mut cubic, step * 100 * MS);
            windows.push(cubic.window);
        }
        for (step, expected) in [(20, 860), (40, 950), (60, 989), (120, 1011)] {
            assert!(windows[step].abs_diff(expected) <= 5, "{} for {expected}", windows[step]);
        }
    }

    #[test]
    fn a_timeout_starts_from_one() {
        let mut cubic = Congestion::new(Algorithm::Cubic);
        cubic.window = 100;
        cubic.on_loss();
        cubic.on_timeout(0);
        assert_eq!((cubic.window, cubic.threshold), (1, 70));
    }
}
