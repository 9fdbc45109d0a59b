//! The bottleneck's rate: when a packet that arrives has been sent.

const BITS_NS: u64 = 8 * 1_000_000_000;

/// Sends one packet after another at a fixed rate.
///
/// Time is exact: the part of a nanosecond that a packet's end lies beyond a whole one is carried to the
/// next, so that no rate is off by rounding however long the server stays busy. Rounding each packet to
/// whole ns would be wrong by 0.5 ns in 121 at 100 Gbit/s.
#[derive(Debug, Clone)]
pub struct Server {
    rate_bps: u64,
    /// End of the last packet, in whole ns.
    free_ns: u64,
    /// The rest beyond it, in 1 / `rate_bps` of a ns.
    remainder: u64,
}

impl Server {
    /// A server that is free. The rate is above 0.
    pub fn new(rate_bps: u64) -> Self {
        Self { rate_bps: rate_bps.max(1), free_ns: 0, remainder: 0 }
    }

    /// When it has sent everything it was given, rounded down to whole ns.
    pub fn free_ns(&self) -> u64 {
        self.free_ns
    }

    /// Sends a packet that is there from `now_ns` on; gives back when its last bit has left.
    pub fn send(&mut self, now_ns: u64, bytes: u32) -> u64 {
        if now_ns > self.free_ns {
            self.free_ns = now_ns;
            self.remainder = 0;
        }
        // At most 65549 * 8 * 10^9 plus a remainder below 10^12: far from the end of 64 bits.
        let work = u64::from(bytes) * BITS_NS + self.remainder;
        self.free_ns += work / self.rate_bps;
        self.remainder = work % self.rate_bps;
        self.free_ns
    }

    /// Time that a packet takes, rounded down.
    pub fn duration_ns(&self, bytes: u32) -> u64 {
        u64::from(bytes) * BITS_NS / self.rate_bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_lost_to_rounding() {
        // 1514 bytes at 7 Gbit/s take 1730.2857… ns; seven of them exactly 12112.
        let mut server = Server::new(7_000_000_000);
        let ends: Vec<u64> = (0..7).map(|_| server.send(0, 1514)).collect();
        assert_eq!(ends, [1730, 3460, 5190, 6921, 8651, 10381, 12112]);
    }

    #[test]
    fn a_pause_starts_anew() {
        let mut server = Server::new(1_000_000_000);
        assert_eq!(server.send(100, 1514), 100 + 12_112);
        assert_eq!(server.send(200, 1514), 100 + 2 * 12_112);
        assert_eq!(server.send(50_000, 125), 51_000);
    }
}
