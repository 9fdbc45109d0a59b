//! The size of a super-segment: the goal while a write fills it, and what leaves at once.

use crate::time::{Ps, US};

/// Room for headers in front of a buffer (`MAX_TCP_HEADER` with 64-byte cache lines).
pub const HEADER_ROOM_BYTES: u32 = 320;
/// The smallest MSS that every host must take (RFC 9293 3.7.1; `TCP_MSS_DEFAULT`).
pub const MSS_DEFAULT_BYTES: u32 = 536;
/// The smallest payload of a segment, whatever the window (`tcp_bound_to_half_wnd`, 68 less a header of 32).
const MIN_BYTES: u32 = 36;
/// A super-segment carries what the pacing rate moves in 2^-10 s (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Near hosts get larger ones: the bonus halves with every 512 us of round trip (`tcp_tso_rtt_log` 9).
const ROUND_TRIP_UNIT: Ps = 512 * US;

/// At most half of the largest window that the other host announced (`tcp_bound_to_half_wnd`, tcp.h).
pub fn within_half_window(bytes: u32, largest_window: u32) -> u32 {
    let cutoff = if largest_window > MSS_DEFAULT_BYTES { largest_window / 2 } else { largest_window };
    if cutoff > 0 && bytes > cutoff { cutoff.max(MIN_BYTES) } else { bytes }
}

/// Bytes that a write puts into one buffer: whole segments (`tcp_xmit_size_goal`, tcp.c).
pub fn goal(mss: u32, gso_max_bytes: u32, largest_window: u32) -> u32 {
    let most = within_half_window(gso_max_bytes.saturating_sub(HEADER_ROOM_BYTES + 1), largest_window);
    (most / mss * mss).max(mss)
}

/// Segments that leave in one go (`tcp_tso_autosize`, `tcp_output.c`): what `pacing_rate` (bytes a second)
/// moves in a millisecond, more for near hosts, at least `least` (`tcp_min_tso_segs`).
pub fn autosize(pacing_rate: u64, round_trip_min: Ps, mss: u32, gso_max_bytes: u32, least: u32) -> u32 {
    let most = u64::from(gso_max_bytes.saturating_sub(HEADER_ROOM_BYTES + 1));
    let halvings = u32::try_from(round_trip_min / ROUND_TRIP_UNIT).unwrap_or(u32::MAX);
    let bonus = most.checked_shr(halvings).unwrap_or(0);
    let bytes = ((pacing_rate >> PACING_SHIFT) + bonus).min(most);
    u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).max(least)
}

/// Segments of `mss` in so many bytes.
pub fn segments(bytes: u32, mss: u32) -> u32 {
    bytes.div_ceil(mss).max(1)
}

/// Where a buffer of `bytes` is cut before it leaves (`tcp_mss_split_point`, `tcp_output.c`). `window` is what is
/// open from its first byte on, `holds_partial` whether Nagle's rule keeps a last small segment back.
pub fn split_point(bytes: u32, mss: u32, window: u64, most_segments: u32, is_last: bool, holds_partial: bool) -> u32 {
    let most = mss.saturating_mul(most_segments);
    if u64::from(most) <= window && !is_last {
        return most;
    }
    let needed = u32::try_from(window).unwrap_or(u32::MAX).min(bytes);
    if most <= needed {
        return most;
    }
    let partial = needed % mss;
    if partial != 0 && holds_partial { needed - partial } else { needed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_whole_segments_of_64_kilobytes_or_of_half_a_window() {
        assert_eq!(goal(1448, 65536, 4 << 20), 65160);
        assert_eq!(goal(9136, 65536, 4 << 20), 63952);
        assert_eq!(goal(1448, 65536, 65535), 31856);
        // Half of 8192 holds two segments, half of 2000 not one.
        assert_eq!(goal(1448, 65536, 8192), 2896);
        assert_eq!(goal(1448, 65536, 2000), 1448);
    }

    #[test]
    fn a_segment_is_no_larger_than_half_a_window() {
        assert_eq!(within_half_window(9136, 4096), 2048);
        assert_eq!(within_half_window(1448, 4096), 1448);
        assert_eq!(within_half_window(1448, 500), 500);
        assert_eq!(within_half_window(1448, 20), 36);
    }

    #[test]
    fn far_and_slow_connections_send_small_bursts() {
        // 10 ms away at 12.5 MB/s: a millisecond's worth. Nearby: all that fits.
        assert_eq!(autosize(12_500_000, 10_000 * US, 1448, 65536, 2), 8);
        assert_eq!(autosize(12_500_000, 30 * US, 1448, 65536, 2), 45);
        assert_eq!(autosize(100_000, 10_000 * US, 1448, 65536, 2), 2);
        assert_eq!(autosize(u64::MAX, Ps::MAX, 1448, 65536, 2), 45);
    }

    #[test]
    fn a_last_small_segment_is_cut_off_where_it_must_wait() {
        assert_eq!(split_point(5000, 1448, 1 << 20, 45, true, true), 4344);
        assert_eq!(split_point(5000, 1448, 1 << 20, 45, true, false), 5000);
        assert_eq!(split_point(5000, 1448, 4000, 45, true, false), 4000);
        assert_eq!(split_point(65160, 1448, 1 << 20, 10, false, true), 14480);
    }
}
