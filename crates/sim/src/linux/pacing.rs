//! TCP's own pacing (`tcp_pacing_check`, `tcp_update_skb_after_send`, `tcp_output.c`): a buffer leaves no sooner than
//! the one before it would have gone at the socket's rate.
//!
//! On as soon as a rate was asked for (`SO_MAX_PACING_RATE`, sock.c). Where the queueing discipline is `fq` that paces
//! instead, and counts headers: it is not modeled.

use crate::time::{Ps, S};

/// The first segments of a connection are not paced, so that an initial window leaves at once.
const FREE_SEGMENTS: u64 = 10;

/// When a connection may send again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pacing {
    is_on: bool,
    /// Departure time of the next buffer (`tcp_wstamp_ns`).
    next_at: Ps,
    /// Segments with payload that ever left (`data_segs_out`).
    segments: u64,
    /// The timer (`pacing_timer`); it runs once something wanted to leave sooner.
    wakes_at: Option<Ps>,
}

impl Pacing {
    /// Of a connection that asked for a rate, or did not.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// True if the next buffer has to wait; the timer is set then.
    pub fn holds(&mut self, now: Ps) -> bool {
        let holds = self.is_on && self.next_at > now;
        if holds && self.wakes_at.is_none() {
            self.wakes_at = Some(self.next_at);
        }
        holds
    }

    /// A buffer with so much payload leaves, at a `rate` in bytes a second. Time by which it left late is caught up,
    /// but for half of what it takes.
    pub fn on_sent(&mut self, now: Ps, bytes: u32, segments: u32, rate: u64) {
        if !self.is_on {
            return;
        }
        let late = now.saturating_sub(self.next_at);
        self.next_at = self.next_at.max(now);
        self.segments += u64::from(segments);
        if rate > 0 && rate < u64::MAX && self.segments >= FREE_SEGMENTS {
            let takes = Ps::try_from(u128::from(bytes) * u128::from(S) / u128::from(rate)).unwrap_or(Ps::MAX / 4);
            self.next_at += takes - late.min(takes / 2);
        }
    }

    /// The time that the next buffer has to wait yet; timers begin behind it (`tcp_pacing_delay`, tcp.h).
    pub fn delay(&self, now: Ps) -> Ps {
        self.next_at.saturating_sub(now)
    }

    /// When the timer is up.
    pub fn timer_at(&self) -> Option<Ps> {
        self.wakes_at
    }

    /// It is.
    pub fn on_timer(&mut self) {
        self.wakes_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    /// Bytes a second.
    const RATE: u64 = 1_000_000;

    /// Buffers of 1000 bytes leave as soon as they may, at instants a multiple of `every` apart.
    fn departures(every: Ps, count: usize) -> Vec<Ps> {
        let mut pacing = Pacing::new(true);
        let mut now = 0;
        let mut left = Vec::new();
        while left.len() < count {
            if pacing.holds(now) {
                now += every;
            } else {
                pacing.on_sent(now, 1000, 1, RATE);
                left.push(now);
            }
        }
        left
    }

    #[test]
    fn ten_segments_leave_at_once_and_the_others_at_the_rate() {
        let left = departures(MS / 1000, 13);
        assert_eq!(left[..10], [0; 10]);
        assert_eq!(left[10..], [MS, 2 * MS, 3 * MS]);
    }

    #[test]
    fn what_a_late_timer_costs_is_caught_up() {
        // A buffer a millisecond, looked at every 0.3 ms: the rate holds although each leaves late.
        let left = departures(3 * MS / 10, 200);
        let mean = (left[199] - left[10]) as f64 / 189.0;
        assert!((mean / MS as f64 - 1.0).abs() < 0.02, "{mean}");
        // But no burst follows a pause: half of a buffer's time is caught up at most.
        let mut pacing = Pacing::new(true);
        pacing.on_sent(0, 1000, 10, RATE);
        pacing.on_sent(100 * MS, 1000, 1, RATE);
        assert_eq!(pacing.delay(100 * MS), MS / 2);
    }

    #[test]
    fn nothing_waits_without_a_rate() {
        let mut pacing = Pacing::new(false);
        pacing.on_sent(0, 60_000, 40, RATE);
        assert!(!pacing.holds(0));
        assert_eq!((pacing.timer_at(), pacing.delay(0)), (None, 0));
        // Asked for, but not known yet.
        let mut pacing = Pacing::new(true);
        pacing.on_sent(0, 60_000, 40, u64::MAX);
        assert!(!pacing.holds(0));
    }
}
