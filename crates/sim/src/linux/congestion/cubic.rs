//! CUBIC (RFC 9438) as `tcp_cubic.c` computes it, in 1/1024 s, and how it leaves slow start: `HyStart`
//! (Ha, Rhee, "Taming the elephants: New TCP slow start", 2011).

use super::Acked;
use crate::time::{MS, Ps, S};

/// The window falls to 717/1024 (RFC 9438 4.6: 0.7).
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// C = 0.4 (RFC 9438 5): 410/1024.
const C: u64 = 410;
/// Units of time in a second.
const UNITS: u64 = 1024;
/// The curve is followed anew only so often while the window stands.
const SAME_WINDOW: Ps = S / 32;
/// `HyStart` begins at this window.
const HYSTART_LOW: u32 = 16;
/// Acknowledgments so near each other are of one train.
const TRAIN_GAP: Ps = 2 * MS;
/// Round trips of a round that are looked at.
const DELAY_SAMPLES: u32 = 8;

/// The state of one connection.
#[derive(Debug, Clone, Default)]
pub struct Cubic {
    last_most: u32,
    origin: u32,
    /// Time from the last loss to the origin, in units.
    k: u64,
    epoch: Option<Ps>,
    last_window: u32,
    last_at: Ps,
    each: u32,
    /// The window that Reno would have (RFC 9438 4.3), and segments acknowledged towards it.
    reno_window: u32,
    acked: u32,
    delay_least: Ps,
    round: Round,
    has_found: bool,
}

/// A round trip of slow start.
#[derive(Debug, Clone, Default)]
struct Round {
    start: Ps,
    last_ack: Ps,
    end: u64,
    delay_least: Option<Ps>,
    samples: u32,
}

impl Cubic {
    /// Segments that are to be acknowledged for one more in the window (`bictcp_update`).
    pub fn segments_for_one(&mut self, now: Ps, window: u32, acked: u32) -> u32 {
        self.acked += acked;
        if self.last_window == window && self.each > 0 && now - self.last_at <= SAME_WINDOW {
            return self.each;
        }
        self.last_window = window;
        self.last_at = now;
        let epoch = self.epoch.unwrap_or_else(|| self.start_epoch(now, window, acked));
        let t = units(now - epoch + self.delay_least);
        let offset = t.abs_diff(self.k);
        let delta = u32::try_from((u128::from(C) * u128::from(offset).pow(3)) >> 40).unwrap_or(u32::MAX);
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        let mut each = if target > window { window / (target - window) } else { 100 * window };
        if self.last_most == 0 {
            // Nothing was ever lost: at least 5 % a round trip.
            each = each.min(20);
        }
        self.each = self.as_fast_as_reno(window, each).max(2);
        self.each
    }

    fn start_epoch(&mut self, now: Ps, window: u32, acked: u32) -> Ps {
        self.epoch = Some(now);
        self.acked = acked;
        self.reno_window = window;
        if self.last_most <= window {
            self.k = 0;
            self.origin = window;
        } else {
            self.k = cube_root((1 << 40) / C * u64::from(self.last_most - window));
            self.origin = self.last_most;
        }
        now
    }

    /// Never slower than Reno with the same fall (RFC 9438 4.3).
    fn as_fast_as_reno(&mut self, window: u32, each: u32) -> u32 {
        const SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
        let step = u32::try_from(u64::from(window) * SCALE / 8).unwrap_or(u32::MAX).max(1);
        self.reno_window += self.acked / step;
        self.acked %= step;
        if self.reno_window > window { each.min(window / (self.reno_window - window)) } else { each }
    }

    /// The threshold after a loss, with fast convergence (RFC 9438 4.6, 4.7).
    pub fn on_loss(&mut self, window: u32) -> u32 {
        self.epoch = None;
        self.each = 0;
        let scaled = |by: u64| u32::try_from(u64::from(window) * by / BETA_SCALE).unwrap_or(u32::MAX);
        self.last_most = if window < self.last_most { scaled(u64::midpoint(BETA_SCALE, BETA)) } else { window };
        scaled(BETA).max(2)
    }

    /// Nothing was under way for so long: the curve goes on where it was (`cubictcp_cwnd_event`).
    pub fn pass_over(&mut self, now: Ps, pause: Ps) {
        self.epoch = self.epoch.map(|epoch| (epoch + pause).min(now));
    }

    /// After a timeout the past does not count (`bictcp_reset`).
    pub fn forget(&mut self) {
        let delay_least = self.delay_least;
        *self = Self { delay_least, ..Self::default() };
    }

    /// True if slow start has filled the path (`hystart_update`): acknowledgments came in one train for half a round
    /// trip, or the round trip has grown by an eighth, 4 ms at least and 16 ms at most.
    pub fn ends_slow_start(&mut self, now: Ps, window: u32, is_in_slow_start: bool, acked: &Acked) -> bool {
        if self.epoch.is_some_and(|epoch| now - epoch < S) {
            return false;
        }
        if self.delay_least == 0 || acked.round_trip < self.delay_least {
            self.delay_least = acked.round_trip;
        }
        if self.has_found || !is_in_slow_start || window < HYSTART_LOW {
            return false;
        }
        if acked.una > self.round.end {
            self.round = Round { start: now, last_ack: now, end: acked.next, delay_least: None, samples: 0 };
        }
        let round = &mut self.round;
        if now - round.last_ack <= TRAIN_GAP {
            round.last_ack = now;
            self.has_found |= now - round.start > self.delay_least / 2;
        }
        let least = round.delay_least.map_or(acked.round_trip, |least| least.min(acked.round_trip));
        round.delay_least = Some(least);
        round.samples += 1;
        if round.samples >= DELAY_SAMPLES {
            self.has_found |= least > self.delay_least + (self.delay_least / 8).clamp(4 * MS, 16 * MS);
        }
        self.has_found
    }
}

fn units(time: Ps) -> u64 {
    u64::try_from(u128::from(time) * u128::from(UNITS) / u128::from(S)).unwrap_or(u64::MAX)
}

/// The largest integer whose cube is no larger; exact, so that runs are alike on every machine.
fn cube_root(of: u64) -> u64 {
    let mut root = 0;
    for bit in (0..21).rev() {
        let next: u64 = root | (1 << bit);
        if next * next * next <= of {
            root = next;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for (of, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (1_000_000, 100), (999_999, 99)] {
            assert_eq!(cube_root(of), root);
        }
    }

    #[test]
    fn slow_start_ends_when_the_round_trip_grows() {
        let mut cubic = Cubic::default();
        let acked = |round_trip| Acked { segments: 1, round_trip, una: 2, next: 3 };
        let mut now = 0;
        for _ in 0..20 {
            now += 3 * MS;
            assert!(!cubic.ends_slow_start(now, 100, true, &acked(40 * MS)));
        }
        cubic.round.end = 0;
        let ends: Vec<bool> = (0..8).map(|step| cubic.ends_slow_start(now + 3 * MS * step, 100, true, &acked(50 * MS))).collect();
        assert_eq!(ends.iter().position(|&ends| ends), Some(7));
    }

    #[test]
    fn slow_start_ends_when_acknowledgments_fill_half_a_round_trip() {
        let mut cubic = Cubic::default();
        let acked = Acked { segments: 1, round_trip: 40 * MS, una: 2, next: 1000 };
        let ends: Vec<bool> = (0..30).map(|step| cubic.ends_slow_start(step * MS, 100, true, &acked)).collect();
        assert_eq!(ends.iter().position(|&ends| ends), Some(21));
    }
}
