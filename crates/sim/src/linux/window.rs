//! The window that a receiver announces (`__tcp_select_window`, `tcp_select_window`, `tcp_output.c`).

/// The values that the window depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Window in what is free of the buffer (`tcp_space`).
    pub free: u64,
    /// Window in the whole buffer (`tcp_full_space`).
    pub full: u64,
    /// The application's or the tuning's limit (`window_clamp`).
    pub clamp: u64,
    /// The window that its growth allows so far (`rcv_ssthresh`).
    pub threshold: u64,
    /// Size of the other host's segments as seen.
    pub mss_seen: u64,
    /// Bits by which the window is scaled (RFC 7323 2).
    pub scale: u32,
    /// The window that was announced last.
    pub announced: u64,
}

/// The window that would be announced, and whether quick acknowledgments end because the buffer is half full.
pub fn select(room: &Room) -> (u64, bool) {
    let full = room.clamp.min(room.full);
    let mss = room.mss_seen.min(full);
    if mss == 0 {
        return (0, false);
    }
    let mut free = room.free;
    let is_filling = free < full / 2;
    if is_filling {
        free = free >> room.scale << room.scale;
        // Silly window syndrome (RFC 1122 4.2.3.3), and room for what is under way.
        if free < room.full / 16 || free < mss {
            return (0, true);
        }
    }
    free = free.min(room.threshold);
    if room.scale > 0 {
        return (round_up(free, room.scale), is_filling);
    }
    let window = room.announced;
    let selected = if window + mss <= free || window > free {
        free / mss * mss
    } else if mss == full && free > window + full / 2 {
        free
    } else {
        window
    };
    (selected, is_filling)
}

/// The window never shrinks below the edge announced before (RFC 9293 3.8.6.2.1): `current` is what is left of it.
pub fn announce(selected: u64, current: u64, scale: u32) -> u64 {
    let window = if selected < current { round_up(current, scale) } else { selected };
    window.min(65535 << scale)
}

/// True if a read has freed so much that it is announced at once: twice what is left of the announced window
/// (`tcp_cleanup_rbuf`, tcp.c).
pub fn is_worth_announcing(current: u64, clamp: u64, selected: u64) -> bool {
    2 * current <= clamp && selected > 0 && selected >= 2 * current
}

/// The scale that two ends agree on for a window of at most so many bytes (`tcp_select_initial_window`).
pub fn scale(most: u64) -> u32 {
    most.max(1).ilog2().saturating_sub(15).min(14)
}

fn round_up(bytes: u64, scale: u32) -> u64 {
    bytes.next_multiple_of(1 << scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { free: 52_428, full: 104_856, clamp: 52_428, threshold: 52_428, mss_seen: 9136, scale: 0, announced: 0 };

    #[test]
    fn an_unscaled_window_is_whole_segments() {
        // At MTU 9188, as the testbed announces them.
        for (clamp, announced) in [(24_576, 18_272), (32_768, 27_408), (40_960, 36_544), (52_428, 45_680)] {
            let room = Room { free: clamp, full: 2 * clamp, clamp, threshold: clamp, ..ROOM };
            assert_eq!(select(&room).0, announced);
        }
    }

    #[test]
    fn it_stays_within_a_segment_of_the_free_space() {
        let room = Room { free: 50_000, announced: 45_680, ..ROOM };
        assert_eq!(select(&room).0, 45_680);
        assert_eq!(select(&Room { free: 45_000, ..room }).0, 36_544);
    }

    #[test]
    fn a_scaled_window_is_all_that_is_free() {
        let room = Room { free: 100_001, full: 262_144, clamp: 131_072, threshold: 131_072, scale: 2, ..ROOM };
        assert_eq!(select(&room), (100_004, false));
        assert_eq!(select(&Room { free: 60_003, ..room }), (60_000, true));
        assert_eq!(select(&Room { free: 16_000, ..room }), (0, true));
    }

    #[test]
    fn it_never_shrinks_and_is_announced_when_it_doubles() {
        assert_eq!(announce(1000, 5000, 0), 5000);
        assert_eq!(announce(9000, 5000, 0), 9000);
        assert_eq!(announce(1 << 20, 0, 0), 65535);
        assert!(is_worth_announcing(10_000, 65_536, 20_000));
        assert!(!is_worth_announcing(10_000, 65_536, 19_999));
        assert!(!is_worth_announcing(40_000, 65_536, 80_000));
    }

    #[test]
    fn the_scale_follows_the_largest_window() {
        assert_eq!([52_428, 65_536, 131_072, 33_554_432].map(scale), [0, 1, 2, 10]);
    }
}
