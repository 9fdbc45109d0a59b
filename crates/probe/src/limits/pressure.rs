//! Pressure stall information (`Documentation/accounting/psi.rst`).

const NS_PER_US: u64 = 1_000;

/// Time in ns in which some thread was stalled, from a file's text.
pub(super) fn stalled_ns(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total_us: u64 = some.split(' ').find_map(|word| word.strip_prefix("total="))?.trim().parse().ok()?;
    Some(total_us.saturating_mul(NS_PER_US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_some_is_read() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=700\n";
        assert_eq!(stalled_ns(text), Some(1_500_000));
        assert_eq!(stalled_ns(""), None);
    }
}
