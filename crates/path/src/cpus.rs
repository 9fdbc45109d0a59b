//! Sets of CPUs as the kernel writes them: lists of ranges and masks of 32-bit words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Reads a list such as `0-3,8`. Words that are not CPUs are passed over.
pub(crate) fn from_list(text: &str) -> BTreeSet<u32> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

/// Reads a mask such as `00000001,00000003`; the last word holds CPUs 0 to 31. `None` when it is
/// not a mask.
pub(crate) fn from_mask(mask: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for (word, first) in mask.trim().rsplit(',').zip((0..).step_by(32)) {
        let bits = u32::from_str_radix(word, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(cpus)
}

/// Writes a mask that [`from_mask`] and the kernel read.
pub(crate) fn to_mask(cpus: &BTreeSet<u32>) -> String {
    let words_count = cpus.last().map_or(1, |highest| highest / 32 + 1);
    let mut mask = String::new();
    for word in (0..words_count).rev() {
        let bits = (0..32).filter(|bit| cpus.contains(&(word * 32 + bit))).fold(0u32, |bits, bit| bits | 1 << bit);
        let separator = if mask.is_empty() { "" } else { "," };
        let _ = write!(mask, "{separator}{bits:08x}");
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_and_masks_are_read_as_the_kernel_writes_them() {
        assert_eq!(from_list("0-2,7\n"), BTreeSet::from([0, 1, 2, 7]));
        assert_eq!(from_list("\n"), BTreeSet::new());
        assert_eq!(from_mask("3\n"), Some(BTreeSet::from([0, 1])));
        assert_eq!(from_mask("00000001,80000000"), Some(BTreeSet::from([31, 32])));
        assert_eq!(from_mask("no mask"), None);
        assert_eq!(to_mask(&BTreeSet::new()), "00000000");
        assert_eq!(to_mask(&BTreeSet::from([1, 32])), "00000001,00000002");
    }

    proptest! {
        #[test]
        fn masks_survive_writing_and_reading(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            prop_assert_eq!(from_mask(&to_mask(&cpus)), Some(cpus));
        }
    }
}
