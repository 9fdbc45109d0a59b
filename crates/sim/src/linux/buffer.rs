//! Buffers as Linux counts them: memory with all overhead, of which the window is a share.

/// Memory that a buffer of the stack takes in addition to its payload, in bytes: 256 of `struct sk_buff`, 320 of shared
/// information, 384 of the small head (`SKB_SMALL_HEAD_CACHE_SIZE`, from 6.3 on; before it 704, 1280 in all).
pub const OVERHEAD_BYTES: u64 = 960;
/// A ratio of 1 (`TCP_RMEM_TO_WIN_SCALE` 8).
const WHOLE: u64 = 256;

/// Which share of a receive buffer is window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowShare {
    /// One half, always (`tcp_adv_win_scale` 1; to 6.5).
    Half,
    /// The share of memory that payload took when segments last grew, one half before (`scaling_ratio`; from 6.6 on).
    Measured,
}

/// Memory of the payload of so many bytes in so many buffers.
pub fn truesize(bytes: u32) -> u64 {
    OVERHEAD_BYTES + u64::from(bytes)
}

/// The share as it stands, in 1/256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    rule: WindowShare,
    ratio: u64,
}

impl Share {
    /// Before any data (`TCP_DEFAULT_SCALING_RATIO`).
    pub fn new(rule: WindowShare) -> Self {
        Self { rule, ratio: WHOLE / 2 }
    }

    /// A buffer with a larger segment than before came (`tcp_measure_rcv_mss`). True where the share changes.
    pub fn measure(&mut self, bytes: u32, truesize: u64) -> bool {
        let ratio = match self.rule {
            WindowShare::Half => WHOLE / 2,
            WindowShare::Measured => (u64::from(bytes) * WHOLE / truesize).max(1),
        };
        std::mem::replace(&mut self.ratio, ratio) != ratio
    }

    /// The window in so much memory (`tcp_win_from_space`).
    pub fn window(self, space: u64) -> u64 {
        space * self.ratio / WHOLE
    }

    /// The memory that such a window needs (`tcp_space_from_win`).
    pub fn space(self, window: u64) -> u64 {
        window * WHOLE / self.ratio
    }
}

/// The send buffer: whether a write may take another buffer, and when a sleeping writer is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendBuffer {
    /// `sk_sndbuf`, in bytes of memory.
    pub limit: u64,
    /// Set by the application: not tuned.
    pub is_locked: bool,
    /// `tcp_wmem`: most that tuning may give.
    pub most: u64,
}

impl SendBuffer {
    /// Another buffer may be begun (`sk_stream_memory_free`, sock.h): the last one may exceed the limit.
    pub fn has_room(&self, queued: u64) -> bool {
        queued < self.limit
    }

    /// A writer that sleeps is woken: a third is free (`sk_stream_is_writeable`: free >= queued / 2).
    pub fn wakes(&self, queued: u64) -> bool {
        self.limit.saturating_sub(queued) >= queued / 2
    }

    /// Grows with the congestion window (`tcp_sndbuf_expand`, `tcp_input.c`): memory for twice the window's segments.
    pub fn expand(&mut self, mss: u32, cwnd_segments: u32) {
        if !self.is_locked {
            // A segment alone takes a power of two with its headers, less the overhead of the buffer.
            let each = (u64::from(mss) + 320 + 320).next_power_of_two() + 256;
            let segments = u64::from(cwnd_segments).max(10);
            self.limit = self.limit.max((2 * segments * each).min(self.most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_half_the_buffer_until_segments_are_measured() {
        let mut share = Share::new(WindowShare::Measured);
        assert_eq!(share.window(131_072), 65_536);
        assert!(share.measure(65160, truesize(65160)));
        assert_eq!(share.window(131_072), 252 * 512);
        assert!(!share.measure(65160, truesize(65160)));
        let mut half = Share::new(WindowShare::Half);
        assert!(!half.measure(65160, truesize(65160)));
        assert_eq!(half.space(65_536), 131_072);
    }

    #[test]
    fn a_writer_sleeps_at_the_limit_and_wakes_at_a_third_free() {
        let buffer = SendBuffer { limit: 90_000, is_locked: true, most: 1 << 22 };
        assert!(buffer.has_room(89_999));
        assert!(!buffer.has_room(90_000));
        assert!(!buffer.wakes(60_001));
        assert!(buffer.wakes(60_000));
    }

    #[test]
    fn a_send_buffer_grows_unless_it_was_set() {
        let mut tuned = SendBuffer { limit: 87_040, is_locked: false, most: 4 << 20 };
        tuned.expand(1448, 100);
        assert_eq!(tuned.limit, 2 * 100 * (4096 + 256));
        tuned.expand(1448, 1 << 20);
        assert_eq!(tuned.limit, 4 << 20);
        let mut set = SendBuffer { is_locked: true, limit: 8192, ..tuned };
        set.expand(1448, 100);
        assert_eq!(set.limit, 8192);
    }
}
