//! A window that was not used loses its meaning (RFC 2861; RFC 5681 4.1): `tcp_cwnd_restart` behind a pause,
//! `tcp_cwnd_application_limited` where less than the window is sent (`tcp_output.c`).

use super::{Congestion, INITIAL_SEGMENTS};
use crate::time::Ps;

impl Congestion {
    /// Writing begins again, `idle` after the last segment left: the window halves for every timeout that has passed,
    /// down to the initial one (`tcp_cwnd_restart`).
    pub fn restart(&mut self, now: Ps, idle: Ps, timeout: Ps) {
        if self.is_by_rate() {
            return;
        }
        self.keep_threshold();
        let least = INITIAL_SEGMENTS.min(self.window);
        let mut left = idle.saturating_sub(timeout);
        while left > 0 && self.window > least {
            self.window /= 2;
            left = left.saturating_sub(timeout);
        }
        self.window = self.window.max(least);
        self.mark_worked(now);
    }

    /// The window was set anew.
    pub fn mark_worked(&mut self, now: Ps) {
        (self.worked_at, self.most_used) = (now, 0);
    }

    /// After sending (`tcp_cwnd_validate`): a window of which less was used for a timeout falls half way to what was
    /// used. `can_fall` is not given where the rule is off, segments are being sent again, or the application waits for
    /// memory.
    pub fn on_used(&mut self, now: Ps, out: u32, timeout: Ps, can_fall: bool) {
        if self.may_grow() {
            return self.mark_worked(now);
        }
        self.most_used = self.most_used.max(out);
        if now - self.worked_at < timeout {
            return;
        }
        let used = self.most_used.max(INITIAL_SEGMENTS);
        if can_fall && used < self.window && !self.is_by_rate() {
            self.keep_threshold();
            self.window = u32::midpoint(self.window, used);
        }
        self.mark_worked(now);
    }

    /// Data leaves, and nothing was under way (`CA_EVENT_TX_START`): CUBIC's curve is not followed for the time since the
    /// last of it, and BBR keeps to the rate that it has measured.
    pub fn on_begun(&mut self, now: Ps, pause: Ps, is_application_limited: bool, mss: u32) {
        if let Some(bbr) = &mut self.bbr
            && is_application_limited
        {
            self.window = bbr.on_begun(now, mss, self.window);
        }
        if let Some(cubic) = &mut self.cubic {
            cubic.pass_over(now, pause);
        }
    }

    /// Remembers what was reached (`tcp_current_ssthresh`).
    fn keep_threshold(&mut self) {
        self.threshold = self.threshold.max(self.window / 2 + self.window / 4);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::*;
    use crate::time::MS;

    fn with(window: u32, threshold: u32) -> Congestion {
        Congestion { window, threshold, ..Congestion::new(Algorithm::Reno) }
    }

    #[test]
    fn the_window_halves_for_every_timeout_of_a_pause() {
        for (idle, window) in [(200, 100), (201, 50), (400, 50), (401, 25), (601, 12), (801, 10), (60_000, 10)] {
            let mut congestion = with(100, 40);
            congestion.restart(0, idle * MS, 200 * MS);
            assert_eq!((congestion.window, congestion.threshold), (window, 75), "{idle} ms");
        }
        // One that is smaller than the initial one stays.
        let mut small = with(4, 40);
        small.restart(0, 60_000 * MS, 200 * MS);
        assert_eq!((small.window, small.threshold), (4, 40));
    }

    #[test]
    fn a_window_that_is_not_used_for_a_timeout_falls_half_way() {
        let mut congestion = with(100, 40);
        congestion.on_used(0, 20, 200 * MS, true);
        congestion.on_used(199 * MS, 30, 200 * MS, true);
        assert_eq!(congestion.window, 100);
        congestion.on_used(200 * MS, 20, 200 * MS, true);
        assert_eq!((congestion.window, congestion.threshold), (65, 75));
        // Not where it must not, and the time begins anew then.
        congestion.on_used(400 * MS, 20, 200 * MS, false);
        assert_eq!(congestion.window, 65);
        congestion.on_used(401 * MS, 20, 200 * MS, true);
        assert_eq!(congestion.window, 65);
    }
}
