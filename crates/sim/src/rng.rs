//! The seeded generator: splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014).

use crate::time::Ps;

/// Deviates from a cost: real ones are never exactly alike, and without that timers lock to the flow.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
    /// Largest deviation in thousandths.
    per_mille: u64,
}

impl Rng {
    /// The same seed gives the same deviations.
    pub fn new(seed: u64, per_mille: u64) -> Self {
        Self { state: seed, per_mille }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform from 0 to `below` - 1.
    #[inline]
    pub fn below(&mut self, below: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(below)) >> 64).unwrap_or(0)
    }

    /// The cost, more or less.
    #[inline]
    pub fn around(&mut self, cost: Ps) -> Ps {
        let most = cost / 1000 * self.per_mille;
        if most == 0 { cost } else { cost - most + self.below(2 * most + 1) }
    }
}
