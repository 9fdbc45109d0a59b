//! When the receiver acknowledges: at once in quick mode, every second full segment, at a read, or by a timer.

use crate::linux::sizing::MSS_DEFAULT_BYTES;
use crate::time::{MS, Ps};

/// The shortest delay of an acknowledgment, and where adaptation begins (`TCP_DELACK_MIN`, `TCP_ATO_MIN`, tcp.h).
pub const DELAY_MIN: Ps = 40 * MS;
/// The longest (`TCP_DELACK_MAX`).
const DELAY_MAX: Ps = 200 * MS;
/// The longest where the connection goes one way and nothing was pushed (`tcp_send_delayed_ack`).
const DELAY_MAX_ONE_WAY: Ps = 500 * MS;
/// Segments acknowledged at once when data begins to flow (`TCP_MAX_QUICKACKS`).
const QUICK_MAX: u32 = 16;
/// The same behind a mark of congestion (`tcp_enter_quickack_mode(sk, 2)`).
const QUICK_FOR_MARK: u32 = 2;
/// The smallest segment size that is ever assumed (`TCP_MIN_MSS`).
const MSS_MIN_BYTES: u32 = 88;
/// The least payload that may stand for the other host's segment size although it is below (`tcp_measure_rcv_mss`:
/// 536 with a TCP header of 20, of which options take 12).
const MSS_CREDIBLE_BYTES: u32 = MSS_DEFAULT_BYTES - 12;

/// The acknowledgments that an end owes (`icsk_ack`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledging {
    /// Something is to be acknowledged.
    pub is_scheduled: bool,
    /// When the timer is up.
    pub due_at: Option<Ps>,
    /// A segment below the other host's size came, and another one.
    pushed: u8,
    /// Segments still to be acknowledged at once.
    pub quick: u32,
    /// The application answers: acknowledgments ride on data.
    pub is_two_way: bool,
    /// The delay as adapted (`ato`), 0: no data came yet.
    delay: Ps,
    /// Size of the other host's segments as seen (`rcv_mss`), in bytes.
    pub mss_seen: u32,
    last_size: u32,
    last_at: Ps,
    /// `TCP_QUICKACK`, armed again after every read as `load` does.
    pub is_always_quick: bool,
}

/// A segment as the acknowledging rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Came {
    /// Its payload in bytes, a super-segment's as a whole.
    pub bytes: u32,
    /// The size of each of a super-segment's segments.
    pub segment_bytes: u32,
}

impl Acknowledging {
    /// Before any data: segments are held for small (`tcp_initialize_rcv_mss`).
    pub fn new(mss: u32, window: u32) -> Self {
        let hint = mss.min(window / 2).clamp(MSS_MIN_BYTES, MSS_DEFAULT_BYTES);
        Self {
            is_scheduled: false,
            due_at: None,
            pushed: 0,
            quick: 0,
            is_two_way: false,
            delay: 0,
            mss_seen: hint,
            last_size: 0,
            last_at: 0,
            is_always_quick: false,
        }
    }

    /// Data in order came (`tcp_event_data_recv`, `tcp_input.c`). True where the segment size seen has changed.
    pub fn on_data(&mut self, now: Ps, came: Came, mss: u32, window: u32, retransmission: Ps) -> bool {
        self.is_scheduled = true;
        let has_changed = self.measure(came, mss);
        if self.delay == 0 {
            self.be_quick(window, QUICK_MAX);
            self.delay = DELAY_MIN;
        } else {
            let gap = now - self.last_at;
            if gap <= DELAY_MIN / 2 {
                self.delay = self.delay / 2 + DELAY_MIN / 2;
            } else if gap < self.delay {
                self.delay = (self.delay / 2 + gap).min(retransmission);
            } else if gap > retransmission {
                self.be_quick(window, QUICK_MAX);
            }
        }
        self.last_at = now;
        has_changed
    }

    /// Learns the size of the other host's segments (`tcp_measure_rcv_mss`): the largest, or one below it that came
    /// twice in a row. A smaller one marks the end of a write.
    fn measure(&mut self, came: Came, mss: u32) -> bool {
        let last = std::mem::take(&mut self.last_size);
        let size = came.segment_bytes;
        if size >= self.mss_seen {
            let before = std::mem::replace(&mut self.mss_seen, size.min(mss));
            return before != size;
        }
        if size >= MSS_CREDIBLE_BYTES {
            self.last_size = size;
            if size == last {
                self.mss_seen = size;
                return false;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
        false
    }

    /// The next segments are acknowledged at once (`tcp_incr_quickack`): half a window's worth, and no more than `most`.
    fn be_quick(&mut self, window: u32, most: u32) {
        let half = (window / (2 * self.mss_seen)).max(2);
        self.quick = self.quick.max(half.min(most));
    }

    /// The path has marked what came: so that the other host soon hears of it (`tcp_data_ecn_check`).
    pub fn on_mark(&mut self, window: u32) {
        self.be_quick(window, QUICK_FOR_MARK);
        self.is_two_way = false;
        self.delay = DELAY_MIN;
    }

    /// Something was wrong with the order of what came (`tcp_enter_quickack_mode`).
    pub fn on_disorder(&mut self, window: u32) {
        self.be_quick(window, QUICK_MAX);
        self.is_two_way = false;
        self.delay = DELAY_MIN;
        self.is_scheduled = true;
    }

    /// True if acknowledgments go at once (`tcp_in_quickack_mode`).
    pub fn is_quick(&self) -> bool {
        self.is_always_quick || (self.quick > 0 && !self.is_two_way)
    }

    /// True if data that came is acknowledged at once (`__tcp_ack_snd_check`): more than a segment since the last
    /// acknowledgment, and the window would not fall behind the one announced; otherwise the read decides.
    pub fn is_due_on_input(&self, unacknowledged: u64, window_would_be: u32, window: u32) -> bool {
        (unacknowledged > u64::from(self.mss_seen) && window_would_be >= window) || self.is_quick()
    }

    /// True if a read acknowledges what came (`tcp_cleanup_rbuf`, tcp.c), the window left aside: more than a segment,
    /// or the read emptied the buffer of something small.
    pub fn is_due_on_read(&self, unacknowledged: u64, is_empty: bool) -> bool {
        self.is_scheduled
            && (unacknowledged > u64::from(self.mss_seen)
                || (is_empty && (self.pushed == 2 || (self.pushed == 1 && !self.is_two_way)))
                || self.is_always_quick)
    }

    /// Puts an acknowledgment off (`tcp_send_delayed_ack`). True where it must leave now, since the timer is about to.
    pub fn delay(&mut self, now: Ps, round_trip: Ps) -> bool {
        let mut delay = self.delay.max(DELAY_MIN);
        if delay > DELAY_MIN {
            let most = if self.is_two_way || self.pushed > 0 { DELAY_MAX } else { DELAY_MAX_ONE_WAY };
            let most = if round_trip > 0 { most.min(round_trip.max(DELAY_MIN)) } else { most };
            delay = delay.min(most);
        }
        delay = delay.min(DELAY_MAX);
        if let Some(due_at) = self.due_at {
            if due_at <= now + delay / 4 {
                return true;
            }
            self.due_at = Some(due_at.min(now + delay));
        } else {
            self.due_at = Some(now + delay);
        }
        false
    }

    /// The timer is up (`tcp_delack_timer_handler`): true where an acknowledgment leaves.
    pub fn on_timer(&mut self, retransmission: Ps) -> bool {
        self.due_at = None;
        if !self.is_scheduled {
            return false;
        }
        if self.is_two_way {
            self.is_two_way = false;
            self.delay = DELAY_MIN;
        } else {
            self.delay = (2 * self.delay).min(retransmission);
        }
        true
    }

    /// A segment with an acknowledgment left (`tcp_event_ack_sent`, `tcp_dec_quickack_mode`).
    pub fn on_sent(&mut self) {
        if self.quick > 0 && self.is_scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = DELAY_MIN;
            }
        }
        self.is_scheduled = false;
        self.pushed = 0;
        self.due_at = None;
    }

    /// Data left soon after data came: this host answers (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Ps) {
        if self.last_at > 0 && now - self.last_at < self.delay {
            self.is_two_way = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Came = Came { bytes: 1448, segment_bytes: 1448 };
    const RTO: Ps = 200 * MS;

    /// Quick mode is over and one full segment is not acknowledged.
    fn settled() -> Acknowledging {
        let mut acks = Acknowledging::new(1448, 65535);
        for number in 0..40 {
            acks.on_data(1 + number * MS, FULL, 1448, 65535, RTO);
            acks.on_sent();
        }
        acks
    }

    #[test]
    fn the_first_segments_are_acknowledged_at_once() {
        let mut acks = Acknowledging::new(1448, 65535);
        let mut at_once = 0;
        for number in 0..40 {
            acks.on_data(number * MS, FULL, 1448, 65535, RTO);
            if acks.is_due_on_input(1448, 65535, 65535) {
                at_once += 1;
            }
            acks.on_sent();
        }
        assert_eq!(at_once, 16);
    }

    #[test]
    fn then_every_second_unless_the_window_would_fall() {
        let acks = settled();
        assert!(!acks.is_due_on_input(1448, 65535, 65535));
        assert!(acks.is_due_on_input(2896, 65535, 65535));
        assert!(!acks.is_due_on_input(2896, 64000, 65535));
    }

    #[test]
    fn a_segment_alone_waits_for_the_timer() {
        let mut acks = settled();
        acks.on_data(100 * MS, FULL, 1448, 65535, RTO);
        assert!(!acks.delay(100 * MS, 0));
        assert_eq!(acks.due_at, Some(140 * MS));
        assert!(acks.on_timer(RTO));
        assert_eq!(acks.due_at, None);
        // It was too short: the next one waits for longer, as long as the round trip is not known.
        acks.on_sent();
        acks.on_data(200 * MS, FULL, 1448, 65535, RTO);
        acks.delay(200 * MS, 0);
        assert!(acks.due_at.expect("armed") > 240 * MS);
    }

    #[test]
    fn a_timer_that_is_about_to_fire_is_not_waited_for() {
        let mut acks = settled();
        acks.on_data(100 * MS, FULL, 1448, 65535, RTO);
        assert!(!acks.delay(100 * MS, 0));
        acks.on_data(131 * MS, FULL, 1448, 65535, RTO);
        assert!(acks.delay(131 * MS, 0));
    }

    #[test]
    fn a_read_acknowledges_two_segments_or_the_end_of_a_write() {
        let mut acks = settled();
        acks.on_data(100 * MS, FULL, 1448, 65535, RTO);
        assert!(acks.is_due_on_read(2896, false));
        assert!(!acks.is_due_on_read(1448, true));
        acks.on_data(100 * MS, Came { bytes: 100, segment_bytes: 100 }, 1448, 65535, RTO);
        assert!(acks.is_due_on_read(1448, true));
        assert!(!acks.is_due_on_read(1448, false));
        acks.is_two_way = true;
        assert!(!acks.is_due_on_read(1448, true));
    }

    #[test]
    fn a_size_that_comes_twice_is_the_others_segment_size() {
        let mut acks = settled();
        let small = Came { bytes: 1000, segment_bytes: 1000 };
        acks.on_data(100 * MS, small, 1448, 65535, RTO);
        assert_eq!(acks.mss_seen, 1448);
        acks.on_data(101 * MS, small, 1448, 65535, RTO);
        assert_eq!(acks.mss_seen, 1000);
    }
}
