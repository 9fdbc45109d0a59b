//! BBR, version 1, as `tcp_bbr.c` has it (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14, 2016): a model of the path, from which the pacing rate and the window follow.
//!
//! Not modeled: the detection of policers (`bbr_lt_bw_sampling`), and that a delayed acknowledgment is no round trip.

use super::INITIAL_SEGMENTS;
use super::rates::{RATE_SCALE, UNIT, keep_most, narrow, paced, rate_of, segments_in};
use crate::linux::delivery::RateSample;
use crate::time::{MS, Ps, S, US};
use std::collections::VecDeque;

/// 2/ln 2: the least with which a window and a rate double each round trip.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Its inverse: what startup has queued is gone in a round trip.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = 2 * UNIT;
/// A cycle's phases, each of a round trip: more, less, and as much as was seen.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Round trips over which the largest rate counts.
const RATE_ROUNDS: u64 = 10;
/// A least round trip is held for so long, and looked for anew with so few segments and for so long.
const TRIP_HELD_FOR: Ps = 10 * S;
const PROBED_SEGMENTS: u32 = 4;
const PROBED_FOR: Ps = 200 * MS;
/// The pipe is full when the rate has not grown by a quarter in three round trips.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Round trips of each of the two windows in which the most that acknowledgments brought at once counts, and the most time
/// that it is worth.
const EXCESS_ROUNDS: u32 = 5;
const EXCESS_FOR: Ps = 100 * MS;
/// An epoch of acknowledgments begins anew behind so many segments.
const EPOCH_SEGMENTS: u64 = 1 << 20;
/// A super-segment holds a millisecond at most, two segments at least, one below 1.2 Mbit/s.
const BURSTS_PER_S: u64 = 1024;
const BURST_BYTES: u64 = 65_536 - 1 - 320;
const SLOW_BYTES_PER_S: u64 = 150_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeRate,
    ProbeTrip,
}

/// The state of one connection.
#[derive(Debug, Clone, Default)]
pub struct Bbr {
    mode: Mode,
    /// Rates by round, falling: the first is the largest of the last rounds.
    rates: VecDeque<(u64, u64)>,
    rounds: u64,
    round_end: u64,
    is_round_start: bool,
    least_trip: Option<Ps>,
    least_trip_at: Ps,
    probe_done_at: Option<Ps>,
    has_probed_round: bool,
    full_rate: u64,
    full_rounds: u32,
    is_full: bool,
    phase: usize,
    phase_at: Ps,
    /// Window before a recovery, or before the round trip was probed.
    window_before: u32,
    was_recovering: bool,
    conserves: bool,
    is_restarting: bool,
    /// Beyond what the rate explains: the most of this window of rounds and of the one before, the rounds of this one, and
    /// those of the epoch.
    excess: [u32; 2],
    excess_rounds: u32,
    epoch_at: Ps,
    epoch_acked: u64,
    /// Bytes a second at which the connection paces; `None` before a round trip is known.
    paced_at: Option<u64>,
    /// The most of it that the socket allows (`SO_MAX_PACING_RATE`).
    pub(super) paced_most: Option<u64>,
    /// Threshold that draining sets.
    threshold: Option<u32>,
}

/// An acknowledgment as the control sees it.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    /// The delivery rate.
    pub sample: RateSample,
    /// Segments that are delivered in all.
    pub total: u64,
    /// Segments that this one delivered.
    pub acked: u32,
    /// Segments that it showed to be lost.
    pub losses: u32,
    /// Segments under way before it.
    pub in_flight_before: u32,
    /// And behind it.
    pub in_flight: u32,
    /// Lost segments leave again, or everything does behind a timeout.
    pub is_recovering: bool,
    /// It is no timeout's recovery.
    pub is_fast_recovery: bool,
    /// Smoothed round trip, 0: unknown.
    pub smoothed: Ps,
    /// The next buffer waits for so long.
    pub paced_for: Ps,
    /// Payload of a segment.
    pub mss: u32,
}

impl Bbr {
    /// An acknowledgment (`bbr_main`): the window that follows.
    pub fn on_acknowledged(&mut self, now: Ps, acked: &Acknowledged, window: u32) -> u32 {
        self.update_rate(acked);
        self.update_excess(now, acked, window);
        if self.mode == Mode::ProbeRate && self.is_phase_over(now, acked) {
            self.begin_phase(now, (self.phase + 1) % CYCLE.len());
        }
        self.look_for_full(&acked.sample);
        self.drain(now, acked);
        let window = self.update_least_trip(now, acked, window);
        self.set_pacing_rate(acked);
        self.window(acked, window)
    }

    /// The application begins again where it was the limit: the rate is kept, and no more is tried; a probe of the round
    /// trip may have ended meanwhile (`CA_EVENT_TX_START`). The window that follows.
    pub fn on_begun(&mut self, now: Ps, mss: u32, window: u32) -> u32 {
        self.is_restarting = true;
        (self.epoch_at, self.epoch_acked) = (now, 0);
        match (self.mode, self.probe_done_at) {
            (Mode::ProbeRate, _) => self.paced_at = Some(self.within_most(paced(self.rate(), UNIT, mss))),
            (Mode::ProbeTrip, Some(done_at)) => return self.end_probe(now, done_at, window),
            _ => {}
        }
        window
    }

    /// Ends the time in which the round trip is probed, where it is over (`bbr_check_probe_rtt_done`).
    fn end_probe(&mut self, now: Ps, done_at: Ps, window: u32) -> u32 {
        if now <= done_at {
            return window;
        }
        self.least_trip_at = now;
        if self.is_full {
            self.begin_cycle(now);
        } else {
            self.mode = Mode::Startup;
        }
        window.max(self.window_before)
    }

    /// Something was lost (`bbr_ssthresh`): the window comes back behind the recovery.
    pub fn on_loss(&mut self, window: u32) {
        self.window_before = if self.was_recovering || self.mode == Mode::ProbeTrip { self.window_before.max(window) } else { window };
    }

    /// A timeout (`bbr_set_state`): the rate may have changed.
    pub fn on_timeout(&mut self) {
        (self.was_recovering, self.full_rate, self.is_round_start) = (true, 0, true);
    }

    /// A recovery was not needed (`bbr_undo_cwnd`).
    pub fn on_undone(&mut self) {
        (self.full_rate, self.full_rounds) = (0, 0);
    }

    /// True if the round trip is probed, for which the application counts as the limit.
    pub fn is_probing_trip(&self) -> bool {
        self.mode == Mode::ProbeTrip
    }

    /// The slow-start threshold, where draining has set one.
    pub fn poll_threshold(&mut self) -> Option<u32> {
        self.threshold.take()
    }

    /// Bytes a second at which the connection paces; unlimited before a round trip is known.
    pub fn pacing_rate(&self) -> u64 {
        self.paced_at.unwrap_or(u64::MAX)
    }

    /// The largest rate of the last rounds.
    fn rate(&self) -> u64 {
        self.rates.front().map_or(0, |&(_, rate)| rate)
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeRate => CYCLE[self.phase],
            Mode::ProbeTrip => UNIT,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeRate => WINDOW_GAIN,
            Mode::ProbeTrip => UNIT,
        }
    }

    /// `bbr_update_bw`.
    fn update_rate(&mut self, acked: &Acknowledged) {
        self.is_round_start = false;
        let Some((count, interval)) = acked.sample.rate else { return };
        if acked.sample.delivered_before >= self.round_end {
            self.round_end = acked.total;
            self.rounds += 1;
            (self.is_round_start, self.conserves) = (true, false);
        }
        let rate = rate_of(count, interval);
        if !acked.sample.is_application_limited || rate >= self.rate() {
            keep_most(&mut self.rates, self.rounds, rate, RATE_ROUNDS);
        }
    }

    /// Updates how much more than the rate explains came at once (`bbr_update_ack_aggregation`).
    fn update_excess(&mut self, now: Ps, acked: &Acknowledged, window: u32) {
        if acked.sample.rate.is_none() || acked.acked == 0 {
            return;
        }
        self.excess_rounds += u32::from(self.is_round_start);
        if self.excess_rounds >= EXCESS_ROUNDS {
            (self.excess, self.excess_rounds) = ([0, self.excess[0]], 0);
        }
        let expected = segments_in(self.rate(), now - self.epoch_at);
        if self.epoch_acked <= expected || self.epoch_acked + u64::from(acked.acked) >= EPOCH_SEGMENTS {
            (self.epoch_at, self.epoch_acked) = (now, 0);
        }
        self.epoch_acked += u64::from(acked.acked);
        let expected = segments_in(self.rate(), now - self.epoch_at);
        let excess = narrow(self.epoch_acked - expected.min(self.epoch_acked)).min(window);
        self.excess[0] = self.excess[0].max(excess);
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, now: Ps, acked: &Acknowledged) -> bool {
        let is_full_length = now - self.phase_at > self.least_trip.unwrap_or(0);
        let gain = self.pacing_gain();
        if gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_flight_at_departure(acked, acked.in_flight_before);
        if gain > UNIT {
            is_full_length && (acked.losses > 0 || in_flight >= self.in_flight_for(gain, acked.mss))
        } else {
            is_full_length || in_flight <= self.in_flight_for(UNIT, acked.mss)
        }
    }

    fn begin_phase(&mut self, now: Ps, phase: usize) {
        (self.phase, self.phase_at) = (phase, now);
    }

    /// Any phase but that which drains; the instant takes the place of the kernel's generator.
    fn begin_cycle(&mut self, now: Ps) {
        self.mode = Mode::ProbeRate;
        let drawn = usize::try_from(now / US % 7).unwrap_or(0);
        self.begin_phase(now, (CYCLE.len() - drawn) % CYCLE.len());
    }

    /// `bbr_check_full_bw_reached`.
    fn look_for_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.is_round_start || sample.is_application_limited {
            return;
        }
        if self.rate() >= self.full_rate * FULL_GROWTH / UNIT {
            (self.full_rate, self.full_rounds) = (self.rate(), 0);
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= FULL_ROUNDS;
        }
    }

    /// `bbr_check_drain`.
    fn drain(&mut self, now: Ps, acked: &Acknowledged) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            self.threshold = Some(self.in_flight_for(UNIT, acked.mss));
        }
        let is_drained = self.in_flight_at_departure(acked, acked.in_flight) <= self.in_flight_for(UNIT, acked.mss);
        if self.mode == Mode::Drain && is_drained {
            self.begin_cycle(now);
        }
    }

    /// `bbr_update_min_rtt`: the least round trip, and the time in which it is looked for. The window, which comes back
    /// behind that time.
    fn update_least_trip(&mut self, now: Ps, acked: &Acknowledged, mut window: u32) -> u32 {
        let is_old = now > self.least_trip_at + TRIP_HELD_FOR;
        if let Some(trip) = acked.sample.round_trip
            && (is_old || self.least_trip.is_none_or(|least| trip < least))
        {
            (self.least_trip, self.least_trip_at) = (Some(trip), now);
        }
        if is_old && !self.is_restarting && self.mode != Mode::ProbeTrip {
            self.on_loss(window);
            (self.mode, self.probe_done_at) = (Mode::ProbeTrip, None);
        }
        if self.mode == Mode::ProbeTrip {
            match self.probe_done_at {
                None if acked.in_flight <= PROBED_SEGMENTS => {
                    self.probe_done_at = Some(now + PROBED_FOR);
                    (self.has_probed_round, self.round_end) = (false, acked.total);
                }
                None => {}
                Some(done_at) => {
                    self.has_probed_round |= self.is_round_start;
                    if self.has_probed_round {
                        window = self.end_probe(now, done_at, window);
                    }
                }
            }
        }
        if acked.sample.rate.is_some() {
            self.is_restarting = false;
        }
        window
    }

    /// `bbr_set_pacing_rate`: until the pipe is full it only grows.
    fn set_pacing_rate(&mut self, acked: &Acknowledged) {
        if self.paced_at.is_none() && acked.smoothed > 0 {
            let first = paced(rate_of(u64::from(INITIAL_SEGMENTS), acked.smoothed), HIGH_GAIN, acked.mss);
            self.paced_at = Some(self.within_most(first));
        }
        let rate = self.within_most(paced(self.rate(), self.pacing_gain(), acked.mss));
        if self.is_full || self.paced_at.is_some_and(|before| rate > before) {
            self.paced_at = Some(rate);
        }
    }

    /// The socket's bound comes before the size of bursts (`bbr_bw_to_pacing_rate`).
    fn within_most(&self, rate: u64) -> u64 {
        rate.min(self.paced_most.unwrap_or(u64::MAX))
    }

    /// `bbr_set_cwnd`.
    fn window(&mut self, acked: &Acknowledged, before: u32) -> u32 {
        let mut window = before;
        if acked.acked > 0 {
            window = self.around_recovery(acked, window);
            if !self.conserves {
                let excess = self.excess[0].max(self.excess[1]);
                let most = narrow(segments_in(self.rate(), EXCESS_FOR));
                let more = if self.is_full { excess.min(most) } else { 0 };
                let target = self.budget(self.product(self.window_gain()) + more, acked.mss);
                if self.is_full {
                    window = (window + acked.acked).min(target);
                } else if window < target || acked.total < u64::from(INITIAL_SEGMENTS) {
                    window += acked.acked;
                }
                window = window.max(PROBED_SEGMENTS);
            }
        }
        if self.mode == Mode::ProbeTrip { window.min(PROBED_SEGMENTS) } else { window }
    }

    /// In the first round of a recovery no more leaves than arrives, and behind it the window is as before
    /// (`bbr_set_cwnd_to_recover_or_restore`).
    fn around_recovery(&mut self, acked: &Acknowledged, window: u32) -> u32 {
        let mut window = window.saturating_sub(acked.losses).max(1);
        if acked.is_fast_recovery && !self.was_recovering {
            (self.conserves, self.round_end) = (true, acked.total);
            window = acked.in_flight + acked.acked;
        } else if !acked.is_recovering && self.was_recovering {
            self.conserves = false;
            window = window.max(self.window_before);
        }
        self.was_recovering = acked.is_recovering;
        if self.conserves { window.max(acked.in_flight + acked.acked) } else { window }
    }

    /// Segments that fill the path, times a gain (`bbr_bdp`).
    fn product(&self, gain: u64) -> u32 {
        let Some(least) = self.least_trip else { return INITIAL_SEGMENTS };
        let product = u128::from(self.rate()) * u128::from(least / US) * u128::from(gain) / u128::from(UNIT);
        u32::try_from(product.div_ceil(RATE_SCALE)).unwrap_or(u32::MAX / 4)
    }

    /// Room for what the hosts hold back in bursts (`bbr_quantization_budget`).
    fn budget(&self, segments: u32, mss: u32) -> u32 {
        let even = (segments + 3 * self.burst(mss) + 1) & !1;
        even + if self.mode == Mode::ProbeRate && self.phase == 0 { 2 } else { 0 }
    }

    fn in_flight_for(&self, gain: u64, mss: u32) -> u32 {
        self.budget(self.product(gain), mss)
    }

    /// Segments of a burst (`bbr_tso_segs_goal`).
    fn burst(&self, mss: u32) -> u32 {
        let least = if self.pacing_rate() < SLOW_BYTES_PER_S { 1 } else { 2 };
        narrow((self.pacing_rate() / BURSTS_PER_S).min(BURST_BYTES) / u64::from(mss.max(1))).clamp(least, 0x7f)
    }

    /// Segments that will be under way when the next buffer leaves (`bbr_packets_in_net_at_edt`).
    fn in_flight_at_departure(&self, acked: &Acknowledged, in_flight: u32) -> u32 {
        let more = if self.pacing_gain() > UNIT { self.burst(acked.mss) } else { 0 };
        (in_flight + more).saturating_sub(narrow(segments_in(self.rate(), acked.paced_for)))
    }
}

#[cfg(test)]
mod tests;
