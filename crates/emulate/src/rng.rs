//! Random decisions that come out the same for the same seed.
//!
//! Each kind of decision has a stream of its own, so that switching one on does not change what another
//! one decides.

use schema::path::BILLION;

/// Kinds of decision, as names of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Random loss, and the state changes of bursts.
    Loss = 1,
    /// Loss inside a state of Gilbert-Elliott.
    StateLoss,
    /// Duplication.
    Duplicate,
    /// Reordering.
    Reorder,
    /// Jitter.
    Jitter,
    /// Random early detection.
    Red,
}

/// A stream of random numbers: `SplitMix64` (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Stream {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn finalize(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of a decision in the direction number `direction`.
    pub fn new(seed: u64, direction: u64, decision: Decision) -> Self {
        let name = (direction << 8) | decision as u64;
        Self { state: finalize(finalize(seed.wrapping_add(GOLDEN)) ^ name.wrapping_mul(GOLDEN)) }
    }

    /// The next 64 random bits.
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        finalize(self.state)
    }

    /// A whole number below `bound` (Lemire, ACM TOMACS 2019, without its correction: the bias is below
    /// `bound` / 2^64).
    pub fn below(&mut self, bound: u64) -> u64 {
        high_product(self.bits(), bound)
    }

    /// The `index`-th whole number below `bound` of a stream from which nothing is drawn in sequence.
    pub fn below_at(&self, index: u64, bound: u64) -> u64 {
        high_product(finalize(self.state.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN))), bound)
    }

    /// True if something of this probability happens. Draws in any case, so that decisions keep their
    /// numbers when a probability changes to another above 0.
    pub fn happens(&mut self, per_billion: u32) -> bool {
        self.below(u64::from(BILLION)) < u64::from(per_billion)
    }

    /// Evenly spread over [0, 1): 53 bits.
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 / SCALE
    }
}

fn high_product(bits: u64, bound: u64) -> u64 {
    u64::try_from((u128::from(bits) * u128::from(bound)) >> 64).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_way_and_decision() {
        let first = |seed, direction, decision| Stream::new(seed, direction, decision).bits();
        let all = [first(1, 0, Decision::Loss), first(2, 0, Decision::Loss), first(1, 1, Decision::Loss), first(1, 0, Decision::Duplicate)];
        for (index, value) in all.iter().enumerate() {
            assert!(!all[..index].contains(value));
        }
        assert_eq!(first(1, 0, Decision::Loss), first(1, 0, Decision::Loss));
    }

    #[test]
    fn the_share_of_a_probability_is_met() {
        let mut stream = Stream::new(7, 0, Decision::Loss);
        let hits = (0..1_000_000).filter(|_| stream.happens(10_000_000)).count();
        // 10000 expected, standard deviation 99.5.
        assert!((9_600..=10_400).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| !stream.happens(0)));
        assert!((0..1000).all(|_| stream.happens(BILLION)));
    }

    #[test]
    fn a_number_by_index_is_that_drawn_in_sequence() {
        let fixed = Stream::new(3, 1, Decision::Jitter);
        let mut drawn = fixed.clone();
        for index in 0..100 {
            assert_eq!(fixed.below_at(index, 1000), drawn.below(1000));
        }
    }

    /// The sequence that `splitmix64.c` (Vigna, 2015, public domain) gives from this state.
    #[test]
    fn bits_are_those_of_splitmix64() {
        let mut stream = Stream { state: 1_234_567 };
        let first: Vec<u64> = (0..3).map(|_| stream.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        // In [0, 1), and below a bound, they are the same bits' share.
        let fixed = || Stream { state: 1_234_567 };
        assert!((fixed().unit() - 0.350_079_542_0).abs() < 1e-9, "{}", fixed().unit());
        assert_eq!((fixed().below(1000), fixed().below_at(1, 1000), high_product(u64::MAX, 10)), (350, 173, 9));
    }
}
