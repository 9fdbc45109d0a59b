//! Rates of segments, as BBR reckons with them (`tcp_bbr.c`).

use crate::time::{Ps, US};
use std::collections::VecDeque;

/// Gains are in 1/256.
pub const UNIT: u64 = 256;
/// Rates are in segments a microsecond, times this.
pub const RATE_SCALE: u128 = 1 << 24;
/// The rate is 1 % below what was seen, so that no queue stands.
const PACED_PERCENT: u128 = 99;

/// Segments in a time, as a rate.
pub fn rate_of(segments: u64, interval: Ps) -> u64 {
    u64::try_from(u128::from(segments) * RATE_SCALE * u128::from(US) / u128::from(interval.max(1))).unwrap_or(u64::MAX)
}

/// Segments that come at a rate in a time.
pub fn segments_in(rate: u64, time: Ps) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(time / US) / RATE_SCALE).unwrap_or(u64::MAX)
}

/// The rate of segments times a gain, in bytes a second.
pub fn paced(rate: u64, gain: u64, mss: u32) -> u64 {
    let bytes = u128::from(rate) * u128::from(mss) * u128::from(gain) / u128::from(UNIT);
    u64::try_from(bytes * (1_000_000 / 100) * PACED_PERCENT / RATE_SCALE).unwrap_or(u64::MAX)
}

/// A count of segments; more than any window is as good as none.
pub fn narrow(segments: u64) -> u32 {
    u32::try_from(segments).unwrap_or(u32::MAX / 4)
}

/// Keeps the largest of the last rounds in front, exactly; the kernel's filter of three samples may hold a rate for less
/// long (`minmax_running_max`).
pub fn keep_most<T: Copy + PartialOrd>(kept: &mut VecDeque<(u64, T)>, round: u64, value: T, rounds: u64) {
    while kept.back().is_some_and(|&(_, last)| last <= value) {
        kept.pop_back();
    }
    kept.push_back((round, value));
    while kept.front().is_some_and(|&(at, _)| at + rounds < round) {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_of_the_last_rounds_counts() {
        let mut kept = VecDeque::new();
        let most: Vec<u64> = [9, 3, 5, 4, 4, 1]
            .into_iter()
            .zip(0..)
            .map(|(value, round)| {
                keep_most(&mut kept, round, value, 3);
                kept[0].1
            })
            .collect();
        assert_eq!(most, [9, 9, 9, 9, 5, 5]);
    }
}
