//! Controlled delay: RFC 8289. The state of the control law, apart from the queue.

/// Time after which the next stay above target starts from one drop again (RFC 8289 section 5.4, appendix
/// code: 16 intervals).
const MEMORY_INTERVALS: u64 = 16;

/// The fate of the packet at the head of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Send,
    /// It is marked if it can be and then sent, else dropped, and the next one is looked at.
    Strike,
}

/// The head of the queue at the instant at which it could be sent.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// The instant.
    pub now_ns: u64,
    /// Since when it waits.
    pub arrived_ns: u64,
    /// Bytes that wait behind it.
    pub backlog_bytes: u64,
}

/// The control law's state.
#[derive(Debug, Clone)]
pub struct Codel {
    target_ns: u64,
    interval_ns: u64,
    /// The RFC's MAXPACKET: the largest packet seen.
    largest_bytes: u64,
    /// When the stay above target will have lasted an interval.
    above_until_ns: Option<u64>,
    is_dropping: bool,
    /// True if the strike under direction is the first of a dropping state.
    is_entering: bool,
    drop_next_ns: u64,
    count: u64,
    count_at_entry: u64,
}

impl Codel {
    pub fn new(target_ns: u64, interval_ns: u64) -> Self {
        Self {
            target_ns,
            interval_ns,
            largest_bytes: 0,
            above_until_ns: None,
            is_dropping: false,
            is_entering: false,
            drop_next_ns: 0,
            count: 0,
            count_at_entry: 0,
        }
    }

    /// A packet enters the queue.
    pub fn on_arrival(&mut self, bytes: u32) {
        self.largest_bytes = self.largest_bytes.max(u64::from(bytes));
    }

    /// The link asked for a packet, and the queue was empty.
    pub fn on_empty(&mut self) {
        self.above_until_ns = None;
        self.is_dropping = false;
        self.is_entering = false;
    }

    /// The link asks for a packet.
    pub fn on_head(&mut self, head: Head) -> Verdict {
        let can_drop = self.can_drop(head);
        if !self.is_dropping {
            if !can_drop {
                return Verdict::Send;
            }
            self.enter(head.now_ns);
            return Verdict::Strike;
        }
        self.is_dropping = can_drop;
        self.strike_when_due(head.now_ns)
    }

    /// The head was struck and dropped; this is the next one.
    pub fn on_next_head(&mut self, head: Head) -> Verdict {
        let can_drop = self.can_drop(head);
        if std::mem::take(&mut self.is_entering) {
            return Verdict::Send;
        }
        self.is_dropping = can_drop;
        if can_drop {
            self.drop_next_ns = self.after(self.drop_next_ns);
        }
        self.strike_when_due(head.now_ns)
    }

    /// The head was struck, marked, and is sent.
    pub fn on_marked(&mut self) {
        if !std::mem::take(&mut self.is_entering) {
            self.drop_next_ns = self.after(self.drop_next_ns);
        }
    }

    fn strike_when_due(&mut self, now_ns: u64) -> Verdict {
        if !self.is_dropping || now_ns < self.drop_next_ns {
            return Verdict::Send;
        }
        self.count += 1;
        Verdict::Strike
    }

    /// Section 5.4: the sojourn time has been above target for a whole interval, with more than a packet
    /// waiting.
    fn can_drop(&mut self, head: Head) -> bool {
        if head.now_ns - head.arrived_ns < self.target_ns || head.backlog_bytes <= self.largest_bytes {
            self.above_until_ns = None;
            return false;
        }
        let above_until_ns = *self.above_until_ns.get_or_insert(head.now_ns + self.interval_ns);
        head.now_ns >= above_until_ns
    }

    /// Section 5.5: a dropping state soon after another goes on at about its rate.
    fn enter(&mut self, now_ns: u64) {
        let struck = self.count - self.count_at_entry;
        let is_soon = now_ns.saturating_sub(self.drop_next_ns) < MEMORY_INTERVALS * self.interval_ns;
        self.count = if struck > 1 && is_soon { struck } else { 1 };
        self.count_at_entry = self.count;
        self.is_dropping = true;
        self.is_entering = true;
        self.drop_next_ns = self.after(now_ns);
    }

    /// The control law of section 3.3: the n-th drop follows after interval / sqrt(n).
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 … interval_ns
    fn after(&self, from_ns: u64) -> u64 {
        from_ns + (self.interval_ns as f64 / (self.count as f64).sqrt()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A head that has waited for `waited_ms` with enough behind it.
    fn head(now_ms: u64, waited_ms: u64) -> Head {
        Head { now_ns: now_ms * MS, arrived_ns: (now_ms - waited_ms) * MS, backlog_bytes: 100_000 }
    }

    /// Above target from 1000 ms on, and struck until `count` is 4: at 1100, 1200, 1271 and 1329 ms.
    fn struck_four_times() -> Codel {
        let mut codel = Codel::new(5 * MS, 100 * MS);
        codel.on_arrival(1514);
        assert_eq!(codel.on_head(head(1000, 5)), Verdict::Send);
        for now_ms in [1100, 1200, 1271, 1329] {
            assert_eq!(codel.on_head(head(now_ms - 1, 50)), Verdict::Send, "{now_ms}");
            assert_eq!(codel.on_head(head(now_ms, 50)), Verdict::Strike, "{now_ms}");
            assert_eq!(codel.on_next_head(head(now_ms, 50)), Verdict::Send);
        }
        assert_eq!(codel.count, 4);
        codel
    }

    #[test]
    fn a_stay_above_target_soon_after_another_goes_on_at_its_rate() {
        let mut codel = struck_four_times();
        assert_eq!(codel.on_head(head(1330, 4)), Verdict::Send);
        assert_eq!(codel.on_head(head(1400, 5)), Verdict::Send);
        assert_eq!(codel.on_head(head(1500, 5)), Verdict::Strike);
        // 4 less the 1 it began with: the next follows after 100/√3 = 57.7 ms.
        assert_eq!(codel.count, 3);
        assert_eq!(codel.on_next_head(head(1500, 5)), Verdict::Send);
        assert_eq!(codel.on_head(head(1557, 5)), Verdict::Send);
        assert_eq!(codel.on_head(head(1558, 5)), Verdict::Strike);
    }

    #[test]
    fn after_sixteen_intervals_it_begins_anew() {
        let mut codel = struck_four_times();
        assert_eq!(codel.on_head(head(1330, 4)), Verdict::Send);
        assert_eq!(codel.on_head(head(3000, 5)), Verdict::Send);
        assert_eq!(codel.on_head(head(3100, 5)), Verdict::Strike);
        assert_eq!(codel.count, 1);
    }

    #[test]
    fn the_last_packet_is_never_struck() {
        let mut codel = Codel::new(5 * MS, 100 * MS);
        codel.on_arrival(1514);
        for now_ms in (1000..2000).step_by(10) {
            let lone = Head { backlog_bytes: 1514, ..head(now_ms, 50) };
            assert_eq!(codel.on_head(lone), Verdict::Send);
        }
    }

    /// The last of 16 intervals still counts, the instant at its end does not.
    #[test]
    fn the_memory_ends_with_the_sixteenth_interval() {
        for (late_ns, count) in [(0, 3), (1, 1)] {
            let mut codel = struck_four_times();
            // Due at 1200 ms, then 100/√2, 100/√3 and 100/√4 ms later.
            assert_eq!(codel.drop_next_ns, 1_378_445_704);
            let entry_ns = codel.drop_next_ns + 1600 * MS - 1 + late_ns;
            assert_eq!(codel.on_head(head(1330, 4)), Verdict::Send);
            for (now_ns, verdict) in [(entry_ns - 100 * MS, Verdict::Send), (entry_ns, Verdict::Strike)] {
                let waited = Head { now_ns, arrived_ns: now_ns - 5 * MS, backlog_bytes: 100_000 };
                assert_eq!(codel.on_head(waited), verdict);
            }
            assert_eq!(codel.count, count, "{late_ns}");
        }
    }

    #[test]
    fn a_queue_that_was_empty_or_below_target_begins_its_interval_anew() {
        let mut codel = struck_four_times();
        codel.on_empty();
        assert_eq!(codel.on_head(head(1400, 50)), Verdict::Send);
        assert_eq!(codel.on_head(head(1499, 50)), Verdict::Send);
        assert_eq!(codel.on_head(head(1500, 50)), Verdict::Strike);
        // A mark at the entry, and later ones by the law.
        codel.on_marked();
        assert_eq!(codel.on_head(Head { now_ns: codel.drop_next_ns - 1, ..head(1600, 50) }), Verdict::Send);
        assert_eq!(codel.on_head(Head { now_ns: codel.drop_next_ns, ..head(1600, 50) }), Verdict::Strike);
        let before_ns = codel.drop_next_ns;
        codel.on_marked();
        assert_eq!((codel.count, codel.drop_next_ns - before_ns), (4, 50 * MS));
    }
}
