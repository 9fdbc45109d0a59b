//! The rules of `SunOS` 4.1, as data: of its socket layer and of TCP, whose sources `tcp` names.

use crate::time::{MS, Ps};

/// Which small segments wait while anything is without acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nagle {
    /// None: `TCP_NODELAY`.
    Off,
    /// Those smaller than the MSS (RFC 896).
    BelowSegment,
    /// Those smaller than the MSS and than half the largest window (study 1; Stevens 26.4).
    BelowHalfWindow,
}

/// Where the congestion window limits what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    /// Nowhere.
    Never,
    /// Behind a loss alone: a connection on the local subnet begins with the whole window.
    AfterLoss,
    /// From the first segment on.
    Always,
}

/// The rules of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpRules {
    /// Which small segments wait.
    pub nagle: Nagle,
    /// Percent of the receive buffer by which the window must have opened to be worth a segment.
    pub update_percent: u32,
    /// Segments by which it must have opened to be worth one where the receive buffer is empty; 0: however many.
    pub update_segments: u32,
    /// Where the congestion window limits what is sent.
    pub slow_start: SlowStart,
    /// Duplicate acknowledgments after which a segment is sent again; 0: however many.
    pub duplicate_acks: u32,
    /// True if what arrives out of order is kept.
    pub keeps_out_of_order: bool,
    /// Least ticks of the slow timer until a segment is sent again.
    pub least_retransmission_ticks: u32,
    /// Ticks of the slow timer after which a window that is too small is asked for with a byte.
    pub persist_ticks: u32,
}

impl TcpRules {
    /// Those of `SunOS` 4.1 (study 1; Stevens 25.3, 26.3 to 26.7, 27.6).
    pub const SUNOS_4_1: Self = Self {
        nagle: Nagle::BelowHalfWindow,
        update_percent: 35,
        update_segments: 2,
        slow_start: SlowStart::AfterLoss,
        duplicate_acks: 3,
        keeps_out_of_order: true,
        least_retransmission_ticks: 2,
        persist_ticks: 10,
    };
}

/// The way that a segment is stored where it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// The first buffer's bytes.
    pub first: u32,
    /// The others'.
    pub others: u32,
}

/// Into which buffers the socket layer copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendBuffers {
    /// Bytes of a cluster. It is used where at least half as much of the call is left and there is room for a whole one.
    pub cluster: u32,
    /// Bytes of a small buffer, which is used elsewhere.
    pub small: u32,
}

impl SendBuffers {
    /// `MCLBYTES` and `MLEN` of 4.3BSD.
    pub const SUNOS_4_1: Self = Self { cluster: 1024, small: 112 };
    /// One buffer for each piece.
    pub const WHOLE_PIECES: Self = Self { cluster: u32::MAX, small: u32::MAX };

    /// Counts buffers that the next `bytes` of a call with `remaining` left fill, where `room` is free (the inner loop
    /// of 4.3BSD's `sosend`).
    pub(super) fn count(self, mut bytes: u32, mut remaining: u32, mut room: u64) -> u32 {
        let mut count = 0;
        while bytes > 0 {
            let is_cluster = remaining >= self.cluster / 2 && room >= u64::from(self.cluster);
            let stored = if is_cluster { self.cluster } else { self.small }.min(bytes);
            bytes -= stored;
            remaining -= stored;
            room -= u64::from(stored);
            count += 1;
        }
        count
    }
}

/// When a writer sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteRule {
    /// 4.3BSD's `sosend`: nothing of a write that still has a piece's worth is put into less room than
    /// that while as much is queued, and nothing of one that has a cluster's worth into less than a cluster's.
    WholePieces,
    /// Only when there is no room at all.
    AnyRoom,
}

/// The rules of the socket layer and of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Bytes of a write that are copied before TCP is called.
    pub copy_limit_bytes: u32,
    /// Into which buffers they are copied.
    pub send_buffers: SendBuffers,
    /// When a writer sleeps.
    pub write: WriteRule,
    /// TCP's.
    pub tcp: TcpRules,
    /// The timer of delayed acknowledgments, which runs freely.
    pub fast_timer: Ps,
    /// The timer in whose ticks retransmission is counted.
    pub slow_timer: Ps,
}

impl Rules {
    /// Those of `SunOS` 4.1 (study 1).
    pub const SUNOS_4_1: Self = Self {
        copy_limit_bytes: 4096,
        send_buffers: SendBuffers::SUNOS_4_1,
        write: WriteRule::WholePieces,
        tcp: TcpRules::SUNOS_4_1,
        fast_timer: 200 * MS,
        slow_timer: 500 * MS,
    };
}
