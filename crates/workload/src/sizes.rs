//! Random sizes that both hosts compute from the same seed.
//!
//! A draw depends on where it stands alone: seed, user, transaction, execution and operation. There
//! is no generator whose state two ends, or two cursors of one user, could advance differently.

use schema::workload::Size;

/// Where a draw stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Seed of the workload.
    pub seed: u64,
    /// Number of the user.
    pub user: u32,
    /// Number of the transaction in its group.
    pub transaction: u32,
    /// Number of the execution.
    pub execution: u64,
    /// Number of the step.
    pub step: u32,
    /// Which of the step's repetitions.
    pub repetition: u32,
    /// Number of repetitions of the step.
    pub repetitions_count: u32,
}

impl Place {
    /// 64 random bits of this place: each part goes through the finalizer of `SplitMix64` (Steele, Lea,
    /// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
    pub fn bits(&self) -> u64 {
        let parts = [
            (u64::from(self.user) << 32) | u64::from(self.transaction),
            self.execution,
            (u64::from(self.step) << 32) | u64::from(self.repetition),
        ];
        parts.into_iter().fold(mix(self.seed), |state, part| mix(state ^ part))
    }
}

/// One step of `SplitMix64`.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number below `bound` out of random bits (Lemire, "Fast random integer generation in an interval",
/// ACM TOMACS 2019, without its correction: the bias is below `bound` / 2^64).
pub(crate) fn below(bits: u64, bound: u64) -> u64 {
    u64::try_from((u128::from(bits) * u128::from(bound)) >> 64).unwrap_or(u64::MAX)
}

/// The bytes of an operation.
#[inline]
pub fn draw(size: &Size, place: &Place) -> u64 {
    match size {
        Size::Fixed { bytes } => *bytes,
        Size::Uniform { low_bytes, high_bytes } => low_bytes + below(place.bits(), (high_bytes - low_bytes).saturating_add(1)),
        Size::Weighted { values } => {
            let sum = values.iter().map(|value| u64::from(value.weight)).sum();
            let mut left = below(place.bits(), sum);
            for value in values {
                let weight = u64::from(value.weight);
                if left < weight {
                    return value.bytes;
                }
                left -= weight;
            }
            0
        }
        Size::Sequence { bytes } => {
            let ordinal = place.execution * u64::from(place.repetitions_count) + u64::from(place.repetition);
            usize::try_from(ordinal % bytes.len().max(1) as u64).ok().and_then(|index| bytes.get(index)).copied().unwrap_or(0)
        }
    }
}

/// The largest that can be drawn.
pub fn largest(size: &Size) -> u64 {
    match size {
        Size::Fixed { bytes } => *bytes,
        Size::Uniform { high_bytes, .. } => *high_bytes,
        Size::Weighted { values } => values.iter().map(|value| value.bytes).max().unwrap_or(0),
        Size::Sequence { bytes } => bytes.iter().copied().max().unwrap_or(0),
    }
}

/// The smallest that can be drawn.
pub fn smallest(size: &Size) -> u64 {
    match size {
        Size::Fixed { bytes } => *bytes,
        Size::Uniform { low_bytes, .. } => *low_bytes,
        Size::Weighted { values } => values.iter().map(|value| value.bytes).min().unwrap_or(0),
        Size::Sequence { bytes } => bytes.iter().copied().min().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::workload::WeightedSize;

    fn place(execution: u64) -> Place {
        Place { seed: 7, user: 3, transaction: 0, execution, step: 1, repetition: 0, repetitions_count: 1 }
    }

    #[test]
    fn draws_follow_their_distribution() {
        let uniform = Size::Uniform { low_bytes: 10, high_bytes: 12 };
        let mut counts = [0u32; 3];
        for execution in 0..30_000 {
            counts[usize::try_from(draw(&uniform, &place(execution)) - 10).expect("at most 2")] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");

        let weighted = Size::Weighted { values: vec![WeightedSize { bytes: 1, weight: 3 }, WeightedSize { bytes: 1000, weight: 1 }] };
        let large = (0..40_000).filter(|execution| draw(&weighted, &place(*execution)) == 1000).count();
        assert!((9_500..10_500).contains(&large), "{large}");
    }

    #[test]
    fn a_sequence_begins_anew() {
        let size = Size::Sequence { bytes: vec![5, 6, 7] };
        let drawn: Vec<u64> = (0..5).map(|execution| draw(&size, &place(execution))).collect();
        assert_eq!(drawn, [5, 6, 7, 5, 6]);
        let twice = |repetition| Place { repetition, repetitions_count: 2, ..place(1) };
        assert_eq!([draw(&size, &twice(0)), draw(&size, &twice(1))], [7, 5]);
    }

    /// The first of the sequence that `splitmix64.c` (Vigna, 2015, public domain) gives from this state.
    #[test]
    fn bits_are_those_of_splitmix64() {
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!((below(u64::MAX, 10), below(1 << 63, 10), below(0, 10)), (9, 5, 0));
    }

    #[test]
    fn every_part_of_a_place_counts() {
        let places = [
            place(0),
            place(1),
            Place { seed: 8, ..place(0) },
            Place { user: 4, ..place(0) },
            Place { transaction: 1, ..place(0) },
            Place { transaction: 3, user: 0, ..place(0) },
            Place { step: 2, ..place(0) },
            Place { repetition: 1, ..place(0) },
            Place { step: 0, repetition: 1, ..place(0) },
        ];
        let bits = places.map(|place| place.bits());
        assert!((1..bits.len()).all(|index| !bits[..index].contains(&bits[index])), "{bits:?}");
    }
}
