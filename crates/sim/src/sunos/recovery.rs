//! The reaction of 4.3BSD-Tahoe's TCP to loss: timers in ticks of 500 ms, slow start, fast retransmit, and
//! what the receiver keeps (Stevens 25.7 to 25.11, 27.8, 27.9, 29.4).

use super::rules::{SlowStart, TcpRules};
use crate::segment::Segment;

/// Most ticks until a segment is sent again: 64 s (`TCPTV_REXMTMAX`).
const MAX_TICKS: u32 = 128;
/// A window that is not limited by congestion.
const UNLIMITED: u64 = u64::MAX;
/// The size that the congestion window never exceeds (`TCP_MAXWIN`).
const LARGEST_WINDOW: u64 = 65_535;

/// The state of it.
#[derive(Debug, Clone)]
pub struct Recovery {
    mss: u64,
    /// The congestion window in bytes.
    pub cwnd: u64,
    /// Where slow start ends, in bytes.
    pub ssthresh: u64,
    duplicates: u32,
    /// Smoothed round trip in eighths of a tick, and its deviation in quarters.
    srtt: u32,
    rttvar: u32,
    /// The byte of which the round trip is being taken, and the ticks so far.
    timed: Option<(u64, u32)>,
    backoff: u32,
    /// Ticks until the oldest segment is sent again; 0: the timer does not run.
    pub retransmission_ticks: u32,
    /// Ticks until the window is asked for; 0: the timer does not run.
    pub persist_ticks: u32,
    /// Data that was kept out of order, as first byte and the one behind the last, in order.
    kept: Vec<(u64, u64)>,
}

/// The request of the slow timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// The oldest segment again.
    Retransmission,
    /// A byte that asks for the window.
    Probe,
}

impl Recovery {
    /// The handshake took one round trip, below a tick (Stevens 25.10).
    pub fn new(rules: &TcpRules, mss: u32) -> Self {
        let cwnd = match rules.slow_start {
            SlowStart::Never => UNLIMITED,
            SlowStart::AfterLoss => LARGEST_WINDOW,
            SlowStart::Always => u64::from(mss),
        };
        Self {
            mss: u64::from(mss),
            cwnd,
            ssthresh: LARGEST_WINDOW,
            duplicates: 0,
            srtt: 8,
            rttvar: 2,
            timed: None,
            backoff: 0,
            retransmission_ticks: 0,
            persist_ticks: 0,
            kept: Vec::new(),
        }
    }

    /// Ticks until a segment that leaves now is sent again.
    fn timeout_ticks(&self, rules: &TcpRules) -> u32 {
        let ticks = (self.srtt >> 3) + self.rttvar;
        (ticks.max(rules.least_retransmission_ticks) << self.backoff.min(6)).min(MAX_TICKS)
    }

    /// Bytes leave for the first time: one segment at a time is timed (Karn's rule).
    pub(super) fn on_output(&mut self, sequence: u64, bytes: u32) {
        if bytes > 0 && self.timed.is_none() {
            self.timed = Some((sequence, 1));
        }
    }

    /// Something of ours is under way.
    pub(super) fn start_timer(&mut self, rules: &TcpRules) {
        self.persist_ticks = 0;
        if self.retransmission_ticks == 0 {
            self.retransmission_ticks = self.timeout_ticks(rules);
        }
    }

    /// Data waits, and nothing that is under way will bring an acknowledgment (Stevens 25.8).
    pub(super) fn start_persist(&mut self, rules: &TcpRules) {
        if self.retransmission_ticks == 0 && self.persist_ticks == 0 {
            self.persist_ticks = rules.persist_ticks << self.backoff.min(3);
        }
    }

    /// Bytes up to `una` are acknowledged.
    pub(super) fn on_acknowledged(&mut self, rules: &TcpRules, una: u64, highest: u64) {
        self.duplicates = 0;
        if let Some((_, ticks)) = self.timed.filter(|&(sequence, _)| una > sequence) {
            self.timed = None;
            self.backoff = 0;
            self.measure(ticks);
        }
        if una == highest {
            self.retransmission_ticks = 0;
        } else {
            self.retransmission_ticks = self.timeout_ticks(rules);
        }
        if rules.slow_start != SlowStart::Never {
            let grows = if self.cwnd > self.ssthresh { (self.mss * self.mss / self.cwnd).max(1) } else { self.mss };
            self.cwnd = (self.cwnd + grows).min(LARGEST_WINDOW);
        }
    }

    /// Jacobson's estimate in integers (Stevens 25.10).
    fn measure(&mut self, ticks: u32) {
        let error = i64::from(ticks - 1) - i64::from(self.srtt >> 3);
        self.srtt = u32::try_from((i64::from(self.srtt) + error).max(1)).unwrap_or(1);
        let deviation = error.abs() - i64::from(self.rttvar >> 2);
        self.rttvar = u32::try_from((i64::from(self.rttvar) + deviation).max(1)).unwrap_or(1);
    }

    /// A duplicate acknowledgment; whether it is the one by which the oldest segment is held for lost.
    pub(super) fn on_duplicate(&mut self, rules: &TcpRules, send_window: u32) -> bool {
        self.duplicates += 1;
        let is_lost = rules.duplicate_acks > 0 && self.duplicates == rules.duplicate_acks && self.retransmission_ticks > 0;
        if is_lost {
            self.reduce(rules, send_window);
            self.retransmission_ticks = 0;
            self.timed = None;
        }
        is_lost
    }

    /// The oldest segment was not acknowledged in time.
    pub(super) fn on_timeout(&mut self, rules: &TcpRules, send_window: u32) {
        self.reduce(rules, send_window);
        self.backoff += 1;
        self.timed = None;
        self.duplicates = 0;
    }

    fn reduce(&mut self, rules: &TcpRules, send_window: u32) {
        if rules.slow_start != SlowStart::Never {
            let half = (u64::from(send_window).min(self.cwnd) / 2 / self.mss).max(2);
            self.ssthresh = half * self.mss;
            self.cwnd = self.mss;
        }
    }

    /// The slow timer.
    pub(super) fn on_slow_timer(&mut self) -> Due {
        if let Some((_, ticks)) = &mut self.timed {
            *ticks += 1;
        }
        let is_up = |ticks: &mut u32| {
            let ran = *ticks > 0;
            *ticks = ticks.saturating_sub(1);
            ran && *ticks == 0
        };
        if is_up(&mut self.retransmission_ticks) {
            Due::Retransmission
        } else if is_up(&mut self.persist_ticks) {
            Due::Probe
        } else {
            Due::Nothing
        }
    }

    /// Counts the bytes from `expected` on that are there with this segment: it may begin before, and may fill a
    /// hole in front of what was kept. Nothing is taken beyond `edge`, which was announced (Stevens 28.2).
    pub(super) fn take_in(&mut self, rules: &TcpRules, expected: u64, edge: u64, segment: &Segment) -> u32 {
        let (start, end) = (segment.sequence.max(expected), segment.end().min(edge));
        if end <= expected || (start > expected && !rules.keeps_out_of_order) {
            return 0;
        }
        if start > expected {
            let place = self.kept.partition_point(|&(first, _)| first < start);
            self.kept.insert(place, (start, end));
            return 0;
        }
        let mut last_in_order = end;
        if !self.kept.is_empty() {
            for &(first, last) in &self.kept {
                if first <= last_in_order {
                    last_in_order = last_in_order.max(last);
                }
            }
            self.kept.retain(|&(_, last)| last > last_in_order);
        }
        u32::try_from(last_in_order - expected).unwrap_or(u32::MAX)
    }

    /// The timeout as it stands, in ticks.
    pub(super) fn rto_ticks(&self, rules: &TcpRules) -> u32 {
        self.timeout_ticks(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: TcpRules = TcpRules::SUNOS_4_1;
    const MSS: u32 = 1000;

    fn recovery() -> Recovery {
        Recovery::new(&RULES, MSS)
    }

    #[test]
    fn timeouts_double_and_a_round_trip_of_a_segment_sent_once_ends_that() {
        // Stevens 25.10: (srtt >> 3) + rttvar = 1 + 2 ticks; then 6, 12, 24 and so on to 128.
        let mut recovery = recovery();
        let mut ticks = Vec::new();
        for _ in 0..7 {
            ticks.push(recovery.rto_ticks(&RULES));
            recovery.on_timeout(&RULES, 8000);
        }
        assert_eq!(ticks, [3, 6, 12, 24, 48, 96, 128]);
        // Four ticks of round trip: an error of 3 - 1 = 2 eighths, and a deviation of 2 - 0 quarters.
        recovery.on_output(5000, MSS);
        recovery.on_output(6000, MSS);
        (0..3).for_each(|_| _ = recovery.on_slow_timer());
        recovery.on_acknowledged(&RULES, 6000, 7000);
        assert_eq!((recovery.srtt, recovery.rttvar, recovery.rto_ticks(&RULES)), (10, 4, 5));
    }

    #[test]
    fn the_timer_runs_while_something_is_out_and_the_window_is_asked_for_otherwise() {
        let mut recovery = recovery();
        recovery.start_timer(&RULES);
        recovery.start_persist(&RULES);
        assert_eq!((recovery.retransmission_ticks, recovery.persist_ticks), (3, 0));
        assert_eq!([0; 4].map(|_| recovery.on_slow_timer()), [Due::Nothing, Due::Nothing, Due::Retransmission, Due::Nothing]);
        recovery.start_timer(&RULES);
        recovery.on_acknowledged(&RULES, 1000, 2000);
        assert_eq!(recovery.retransmission_ticks, 3, "it begins anew");
        recovery.on_acknowledged(&RULES, 2000, 2000);
        assert_eq!(recovery.retransmission_ticks, 0, "nothing is out");
        recovery.start_persist(&RULES);
        assert_eq!(recovery.persist_ticks, 10);
        assert_eq!((0..10).map(|_| recovery.on_slow_timer()).filter(|due| *due == Due::Probe).count(), 1);
    }

    #[test]
    fn three_duplicates_or_a_timeout_halve_what_was_out_and_slow_start_follows() {
        // Stevens 21.6: half of the smaller window in whole segments, at least 2; then a segment for each ACK, and above
        // ssthresh mss * mss / cwnd.
        let mut recovery = recovery();
        assert_eq!(recovery.cwnd, 65_535);
        recovery.start_timer(&RULES);
        assert_eq!([0; 4].map(|_| recovery.on_duplicate(&RULES, 9000)), [false, false, true, false]);
        assert_eq!((recovery.ssthresh, recovery.cwnd, recovery.retransmission_ticks), (4000, 1000, 0));
        let mut windows = Vec::new();
        for una in 1..=5 {
            recovery.on_acknowledged(&RULES, una * 1000, 9000);
            windows.push(recovery.cwnd);
        }
        assert_eq!(windows, [2000, 3000, 4000, 5000, 5200]);
        recovery.on_timeout(&RULES, 3000);
        assert_eq!((recovery.ssthresh, recovery.cwnd), (2000, 1000));
        // With 4.3BSD's older rule nothing limits but the window.
        let never = TcpRules { slow_start: SlowStart::Never, ..RULES };
        let mut unlimited = Recovery::new(&never, MSS);
        unlimited.on_timeout(&never, 9000);
        assert_eq!(unlimited.cwnd, UNLIMITED);
        assert_eq!(Recovery::new(&TcpRules { slow_start: SlowStart::Always, ..RULES }, MSS).cwnd, 1000);
    }

    #[test]
    fn what_comes_out_of_order_is_kept_and_counts_when_the_hole_is_filled() {
        let take = |recovery: &mut Recovery, rules: &TcpRules, expected, sequence, bytes| {
            recovery.take_in(rules, expected, 9000, &Segment::data(sequence, bytes))
        };
        let mut recovery = recovery();
        assert_eq!(take(&mut recovery, &RULES, 1000, 500, 1000), 500, "it begins before");
        assert_eq!(take(&mut recovery, &RULES, 1500, 500, 1000), 0, "it is there already");
        assert_eq!(take(&mut recovery, &RULES, 1500, 3500, 1000), 0);
        assert_eq!(take(&mut recovery, &RULES, 1500, 2500, 1000), 0);
        assert_eq!(take(&mut recovery, &RULES, 1500, 6500, 1000), 0);
        assert_eq!(take(&mut recovery, &RULES, 1500, 1500, 1000), 3000, "to the next hole");
        assert_eq!(take(&mut recovery, &RULES, 4500, 4500, 2000), 3000);
        assert_eq!(take(&mut recovery, &RULES, 7500, 7500, 2000), 1500, "not beyond what was announced");
        let drops = TcpRules { keeps_out_of_order: false, ..RULES };
        assert_eq!(take(&mut recovery, &drops, 0, 1000, 1000), 0);
        assert_eq!(take(&mut recovery, &drops, 0, 0, 1000), 1000);
    }
}
