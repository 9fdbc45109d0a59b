//! Data that waits for more although it might be sent: Nagle's rule in Minshall's form, automatic corking, and a
//! super-segment that is put off until it is larger.

use crate::time::{MS, Ps};

/// True if a small segment waits. `small_end` is the end of the last small segment that was sent: another may not
/// leave before it is acknowledged, while large ones do not matter (`tcp_nagle_check`, `tcp_minshall_check`,
/// `tcp_output.c`; Minshall, "A Proposed Modification to Nagle's Algorithm", 1999).
pub fn holds(is_partial: bool, no_delay: bool, has_unacknowledged: bool, small_end: u64, una: u64) -> bool {
    is_partial && !no_delay && has_unacknowledged && small_end > una
}

/// True if a write's end is not pushed, because the device still holds what was sent before and more may come
/// (`tcp_should_autocork`, tcp.c). `tail_truesize` is what the unfinished buffer takes, `device_truesize` what all
/// that lies with the device takes.
pub fn corks(tail_bytes: u32, goal: u32, has_unacknowledged: bool, device_truesize: u64, tail_truesize: u64) -> bool {
    tail_bytes < goal && has_unacknowledged && device_truesize > tail_truesize
}

/// The values that [`defers`] looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Bytes of the buffer that would leave.
    pub bytes: u32,
    /// True if a write may still add to it.
    pub is_last: bool,
    /// Bytes that the other host's window lets out.
    pub receive_room: u64,
    /// Bytes that the congestion window lets out.
    pub congestion_room: u64,
    /// The smaller of both windows as a whole.
    pub whole_window: u64,
    /// The largest burst.
    pub most_bytes: u64,
    /// Since the last segment left.
    pub since_sent: Ps,
    /// Since the oldest segment without an acknowledgment left; none where all is acknowledged.
    pub oldest_age: Option<Ps>,
    /// Smoothed round trip.
    pub round_trip: Ps,
}

/// True if a burst waits to grow (`tcp_tso_should_defer`, `tcp_output.c`): an acknowledgment is near, and less than a
/// third of the window is open (`divisor`, `tcp_tso_win_divisor` 3).
pub fn defers(burst: &Burst, divisor: u64) -> bool {
    let room = burst.receive_room.min(burst.congestion_room);
    let bytes = u64::from(burst.bytes);
    if burst.since_sent > MS || room >= burst.most_bytes || (!burst.is_last && room >= bytes) || room >= burst.whole_window / divisor.max(1)
    {
        return false;
    }
    burst.oldest_age.is_some_and(|age| age >= burst.round_trip / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::US;

    #[test]
    fn a_small_segment_waits_for_a_small_one_alone() {
        // 100 bytes sent small, unacknowledged: the next small one waits.
        assert!(holds(true, false, true, 100, 0));
        // Only full ones are out (Nagle's own rule would wait).
        assert!(!holds(true, false, true, 0, 0));
        assert!(!holds(true, false, true, 100, 100));
        assert!(!holds(true, true, true, 100, 0));
        assert!(!holds(false, false, true, 100, 0));
    }

    #[test]
    fn a_write_is_corked_while_the_device_is_busy() {
        assert!(corks(100, 65160, true, 4000, 1100));
        assert!(!corks(65160, 65160, true, 4000, 1100));
        assert!(!corks(100, 65160, false, 4000, 1100));
        assert!(!corks(100, 65160, true, 1000, 1100));
    }

    #[test]
    fn a_burst_waits_for_an_acknowledgment_that_is_near() {
        let burst = Burst {
            bytes: 20_000,
            is_last: true,
            receive_room: 10_000,
            congestion_room: 1 << 20,
            whole_window: 64_000,
            most_bytes: 64_000,
            since_sent: 10 * US,
            oldest_age: Some(80 * US),
            round_trip: 100 * US,
        };
        assert!(defers(&burst, 3));
        assert!(!defers(&Burst { oldest_age: Some(20 * US), ..burst }, 3));
        assert!(!defers(&Burst { oldest_age: None, ..burst }, 3));
        assert!(!defers(&Burst { receive_room: 22_000, ..burst }, 3));
        assert!(!defers(&Burst { since_sent: 2 * MS, ..burst }, 3));
        assert!(!defers(&Burst { is_last: false, bytes: 9000, ..burst }, 3));
    }
}
