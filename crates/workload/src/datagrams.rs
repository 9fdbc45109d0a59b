//! A stream of numbered datagrams: the header, when they are due, and what arrived of them.
//!
//! ```text
//!  0          4                   12                       20           24
//!  +----------+-------------------+------------------------+------------+
//!  | tag(be32)| sequence (be64)   | sent_mono_ns (be64)    |length(be32)|
//!  +----------+-------------------+------------------------+------------+
//! ```
//!
//! The tag is the flow's and hides the trial's token; who does not know it is an unauthenticated peer.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::pace::Pace;

/// Length of the header in bytes, the least that a datagram has.
pub const HEADER_BYTES: usize = 24;
/// The most that a sender that came late catches up, in ns: the rest of its schedule is given up, so that
/// a pause is not followed by a flood.
pub const MAX_BEHIND_NS: u64 = 20_000_000;

/// The header in front of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Of the flow.
    pub tag: u32,
    /// Number in the flow, from 0.
    pub sequence: u64,
    /// When it was handed to the kernel, on the sender's CLOCK_MONOTONIC in ns.
    pub sent_mono_ns: u64,
    /// Bytes of the datagram, the header included.
    pub length_bytes: u32,
}

impl Header {
    /// Writes it to the front of a datagram, which has at least [`HEADER_BYTES`].
    pub fn encode(&self, datagram: &mut [u8]) {
        datagram[..4].copy_from_slice(&self.tag.to_be_bytes());
        datagram[4..12].copy_from_slice(&self.sequence.to_be_bytes());
        datagram[12..20].copy_from_slice(&self.sent_mono_ns.to_be_bytes());
        datagram[20..HEADER_BYTES].copy_from_slice(&self.length_bytes.to_be_bytes());
    }

    /// The header of a whole datagram of the flow with this tag; `None` for an unauthenticated peer's.
    pub fn decode(tag: u32, datagram: &[u8]) -> Option<Self> {
        let (header, _) = datagram.split_first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        let header = Self { tag: word(0), sequence: long(4), sent_mono_ns: long(12), length_bytes: word(20) };
        (header.tag == tag && header.length_bytes as usize == datagram.len()).then_some(header)
    }
}

/// The tag of a flow.
pub fn tag(token: &str, flow: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    (token, flow).hash(&mut hasher);
    u32::try_from(hasher.finish() >> 32).unwrap_or(0)
}

/// When datagrams are due. Exact over time, since nothing is rounded from one to the next.
#[derive(Debug, Clone)]
pub struct Schedule {
    pace: Pace,
    start_ns: u64,
}

impl Schedule {
    /// A schedule that begins at `start_ns`.
    pub fn new(pace: Pace, start_ns: u64) -> Self {
        Self { pace, start_ns }
    }

    /// When the next datagram is due after `sent_bytes`, on the clock of `now_ns`. What lies further
    /// back than [`MAX_BEHIND_NS`] is given up.
    pub fn poll_due_ns(&mut self, sent_bytes: u64, now_ns: u64) -> u64 {
        let due_ns = self.start_ns.saturating_add(self.pace.due_ns(sent_bytes));
        let given_up_ns = now_ns.saturating_sub(due_ns).saturating_sub(MAX_BEHIND_NS);
        self.start_ns = self.start_ns.saturating_add(given_up_ns);
        due_ns.saturating_add(given_up_ns)
    }
}

/// The part of a flow that arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Datagrams, duplicates not counted.
    pub received_count: u64,
    /// Their payload in bytes.
    pub payload_bytes: u64,
    /// Of them, behind a later one (RFC 4737 section 3: type-P-reordered).
    pub late_count: u64,
    /// Datagrams that had arrived before.
    pub duplicate_count: u64,
    /// Highest sequence number seen, plus 1.
    pub highest_count: u64,
    /// Smoothed variation of the transit time in ns (RFC 3550 section 6.4.1), duplicates left out.
    pub jitter_ns: u64,
}

/// Keeps account of the datagrams of a flow as they arrive.
///
/// Loss is what the sender counts and this does not. A datagram that comes later than as many
/// others as the window holds counts as late, not as a duplicate: nobody remembers which it is.
#[derive(Debug, Clone)]
pub struct Account {
    arrived: Arrived,
    /// A bit for each of the last sequence numbers, a ring.
    seen: Box<[u64]>,
    /// Transit time of the one before in ns, on two clocks, so that it may be anything.
    transit_ns: Option<i64>,
    /// 16 times the jitter in ns, as RFC 3550 appendix A.8 keeps it.
    jitter_16_ns: u64,
}

impl Account {
    /// An account that finds duplicates among the last `window` datagrams.
    pub fn new(window: usize) -> Self {
        Self { arrived: Arrived::default(), seen: vec![0; window.div_ceil(64).max(1)].into(), transit_ns: None, jitter_16_ns: 0 }
    }

    /// A datagram arrived.
    pub fn on_arrival(&mut self, header: &Header, now_ns: u64) {
        let next = self.arrived.highest_count;
        if header.sequence >= next {
            self.forget(next, header.sequence);
            self.arrived.highest_count = header.sequence.saturating_add(1);
        } else if next - header.sequence > self.window() {
            self.arrived.late_count += 1;
        } else if self.has_seen(header.sequence) {
            self.arrived.duplicate_count += 1;
            return;
        } else {
            self.arrived.late_count += 1;
        }
        if self.arrived.highest_count - header.sequence <= self.window() {
            let (word, bit) = self.place(header.sequence);
            self.seen[word] |= bit;
        }
        self.arrived.received_count += 1;
        self.arrived.payload_bytes += u64::from(header.length_bytes);
        self.on_transit(now_ns.wrapping_sub(header.sent_mono_ns).cast_signed());
    }

    /// The part that arrived so far.
    pub fn arrived(&self) -> Arrived {
        Arrived { jitter_ns: self.jitter_16_ns >> 4, ..self.arrived }
    }

    fn on_transit(&mut self, transit_ns: i64) {
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            let difference = transit_ns.wrapping_sub(before).unsigned_abs();
            self.jitter_16_ns = self.jitter_16_ns.saturating_add(difference).saturating_sub((self.jitter_16_ns + 8) >> 4);
        }
    }

    /// Makes room for the numbers from `first` to `last`, which nobody has seen.
    fn forget(&mut self, first: u64, last: u64) {
        if last - first >= self.window() {
            self.seen.fill(0);
            return;
        }
        for sequence in first..=last {
            let (word, bit) = self.place(sequence);
            self.seen[word] &= !bit;
        }
    }

    fn has_seen(&self, sequence: u64) -> bool {
        let (word, bit) = self.place(sequence);
        self.seen[word] & bit != 0
    }

    fn window(&self) -> u64 {
        self.seen.len() as u64 * 64
    }

    fn place(&self, sequence: u64) -> (usize, u64) {
        let position = sequence % self.window();
        (usize::try_from(position / 64).unwrap_or(0), 1 << (position % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn header(sequence: u64) -> Header {
        Header { tag: 7, sequence, sent_mono_ns: sequence * 1_000, length_bytes: 100 }
    }

    proptest! {
        #[test]
        fn loss_reordering_and_duplicates_are_those_of_a_model(
            arrivals in prop::collection::vec(0u64..300, 0..600),
            window in 300usize..700,
        ) {
            let mut account = Account::new(window);
            let mut seen = HashSet::new();
            let (mut late, mut duplicates, mut highest) = (0, 0, 0);
            for sequence in arrivals {
                account.on_arrival(&header(sequence), 0);
                if !seen.insert(sequence) {
                    duplicates += 1;
                } else if sequence < highest {
                    late += 1;
                }
                highest = highest.max(sequence + 1);
            }
            let arrived = account.arrived();
            prop_assert_eq!(arrived.received_count, seen.len() as u64);
            prop_assert_eq!(arrived.payload_bytes, seen.len() as u64 * 100);
            prop_assert_eq!((arrived.late_count, arrived.duplicate_count, arrived.highest_count), (late, duplicates, highest));
        }

        #[test]
        fn a_small_window_is_exact_as_long_as_the_disorder_fits(
            steps in prop::collection::vec((0u64..40, 0u64..64), 1..500),
        ) {
            let mut account = Account::new(64);
            let mut seen = HashSet::new();
            let (mut highest, mut duplicates) = (0u64, 0u64);
            for (ahead, behind) in steps {
                let sequence = (highest + ahead).saturating_sub(behind).max(highest.saturating_sub(64));
                account.on_arrival(&header(sequence), 0);
                duplicates += u64::from(!seen.insert(sequence));
                highest = highest.max(sequence + 1);
            }
            prop_assert_eq!(account.arrived().received_count, seen.len() as u64);
            prop_assert_eq!(account.arrived().duplicate_count, duplicates);
        }

        #[test]
        fn a_paced_sender_keeps_its_rate_and_never_floods(
            rate in 1_000_000u64..100_000_000_000,
            pauses in prop::collection::vec(0u64..200_000_000, 1..50),
        ) {
            let mut schedule = Schedule::new(Pace::new(rate).expect("above 0"), 0);
            let (mut now, mut sent) = (0u64, 0u64);
            for pause in pauses {
                now = now.max(schedule.poll_due_ns(sent, now)) + pause;
                let due = schedule.poll_due_ns(sent, now);
                prop_assert!(now.saturating_sub(due) <= MAX_BEHIND_NS);
                sent += 1_472;
            }
            // What is due within the next second is at most the rate and what may be caught up.
            let mut until = sent;
            while schedule.poll_due_ns(until, now) < now + 1_000_000_000 && until - sent < 1 << 24 {
                until += 1_472;
            }
            let most = u128::from(rate) * u128::from(1_000_000_000 + MAX_BEHIND_NS) / 8_000_000_000 + 2 * 1_472;
            prop_assert!(u128::from(until - sent) <= most);
        }
    }

    #[test]
    fn headers_come_out_as_they_went_in() {
        let mut datagram = [0; 100];
        let header = header(1 << 40);
        header.encode(&mut datagram);
        assert_eq!(Header::decode(7, &datagram), Some(header));
        assert_eq!(Header::decode(8, &datagram), None, "another flow");
        assert_eq!(Header::decode(7, &datagram[..99]), None, "cut off");
        assert_eq!(Header::decode(7, &datagram[..20]), None, "too short");
        assert_ne!(tag("5a", 0), tag("5a", 1));
    }

    #[test]
    fn the_jitter_of_a_regular_stream_is_none_and_of_an_alternating_one_its_step() {
        let mut account = Account::new(64);
        for sequence in 0..1_000 {
            account.on_arrival(&header(sequence), sequence * 1_000 + 77);
        }
        assert_eq!(account.arrived().jitter_ns, 0);
        let mut account = Account::new(64);
        for sequence in 0..1_000 {
            account.on_arrival(&header(sequence), sequence * 1_000 + 500 * (sequence % 2));
        }
        assert!((495..=500).contains(&account.arrived().jitter_ns), "{}", account.arrived().jitter_ns);
    }
}
