//! When an application that writes at a rate writes next.

/// A rate in bits a second, from an instant on. An application that came late catches up: the
/// schedule does not wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    bits_per_second: u64,
}

impl Pace {
    /// A rate above 0.
    pub fn new(bits_per_second: u64) -> Option<Self> {
        (bits_per_second > 0).then_some(Self { bits_per_second })
    }

    /// When the next write is due after `written_bytes`, in ns since the first. Exact: nothing is
    /// rounded from write to write.
    pub fn due_ns(self, written_bytes: u64) -> u64 {
        let ns = u128::from(written_bytes) * 8 * 1_000_000_000 / u128::from(self.bits_per_second);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holds_the_rate() {
        let pace = Pace::new(1_000_000_007).expect("above 0");
        assert_eq!(pace.due_ns(0), 0);
        assert_eq!(pace.due_ns(125_000_000), 999_999_993);
        assert_eq!(pace.due_ns(1_250_000_000_000), 9_999_999_930_000);
        assert_eq!(Pace::new(0), None);
    }
}
