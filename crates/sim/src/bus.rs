//! The bus of a host: all adapters of the host share it, in both directions, one transfer after the other.
//!
//! Not modeled: arbitration (a transfer is not divided), descriptors and status words, and the processor's own use of the
//! bus. Each would make the bus slower than it is here.

use crate::segment::Segment;
use crate::time::{Ps, S};

/// Bytes that a link's header takes of a bus: addresses and type (IEEE 802.3 clause 3).
const MAC: u32 = 14;

/// A bus as it stands.
#[derive(Debug, Clone)]
pub struct Bus {
    bytes_per_s: u64,
    headers_bytes: u32,
    free_at: Ps,
    /// Time for which it moved something, in ps.
    pub busy: Ps,
}

impl Bus {
    /// An idle bus of so many bytes a second, for packets with headers of IP and TCP of that length.
    pub fn new(bytes_per_s: u64, headers_bytes: u32) -> Self {
        Self { bytes_per_s: bytes_per_s.max(1), headers_bytes, free_at: 0, busy: 0 }
    }

    /// Moves a segment that is there at `at`; returns when the last byte has crossed.
    pub fn cross(&mut self, at: Ps, segment: &Segment) -> Ps {
        let frames = u32::from(segment.wire_segments_count.max(1));
        let bytes = u64::from(segment.bytes + frames * (self.headers_bytes + MAC));
        let takes = Ps::try_from(u128::from(bytes) * u128::from(S) / u128::from(self.bytes_per_s)).unwrap_or(Ps::MAX);
        self.busy += takes;
        self.free_at = at.max(self.free_at).saturating_add(takes);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::US;

    #[test]
    fn transfers_follow_one_another_at_the_rate_of_the_bus() {
        // 1460 and 54 bytes at 132 MB/s: 11.47 us.
        let mut bus = Bus::new(132_000_000, 40);
        let takes = 1514 * S / 132_000_000;
        assert_eq!(bus.cross(0, &Segment::data(0, 1460)), takes);
        assert_eq!(bus.cross(0, &Segment::data(1460, 1460)), 2 * takes);
        assert_eq!(bus.cross(100 * US, &Segment::data(2920, 1460)), 100 * US + takes);
        assert_eq!(bus.busy, 3 * takes);
    }
}
