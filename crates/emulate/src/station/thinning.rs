//! ACK thinning: of the pure ACKs only some pass, as cable modems and other gear do it to save the
//! return channel (RFC 3449 section 5.2).

/// Silence after which the next ACK passes: a lone one is never held to belong to a burst.
const SILENCE_NS: u64 = 10_000_000;

/// Counts pure ACKs.
#[derive(Debug, Clone)]
pub struct Thinning {
    every: u32,
    since_passed: u32,
    last_ns: Option<u64>,
}

impl Thinning {
    /// Lets each `every`-th pass; 0 and 1: all.
    pub fn new(every: u32) -> Self {
        Self { every: every.max(1), since_passed: 0, last_ns: None }
    }

    /// Decides whether a pure ACK passes.
    pub fn can_pass(&mut self, now_ns: u64) -> bool {
        let is_after_silence = self.last_ns.is_none_or(|last_ns| now_ns - last_ns >= SILENCE_NS);
        self.last_ns = Some(now_ns);
        self.since_passed += 1;
        let passes = is_after_silence || self.since_passed >= self.every;
        if passes {
            self.since_passed = 0;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_every_third_pass() {
        let mut thinning = Thinning::new(3);
        let mut passes = |at_us: &[u64]| at_us.iter().map(|us| if thinning.can_pass(us * 1000) { '|' } else { '.' }).collect::<String>();
        assert_eq!(passes(&[0, 1, 2, 3, 4, 5, 6, 7]), "|..|..|.");
        // After 10 ms of silence the count begins anew.
        assert_eq!(passes(&[10_007, 10_008, 10_009, 10_010]), "|..|");
    }

    #[test]
    fn one_lets_all_pass() {
        for every in [0, 1] {
            let mut thinning = Thinning::new(every);
            assert!((0..10).all(|at_ns| thinning.can_pass(at_ns)));
        }
    }
}
