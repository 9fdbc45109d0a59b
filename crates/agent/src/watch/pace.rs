//! The pace of something that takes CPU time: no more often than asked, and no more than a share of a CPU.

/// However long the next round may be put off, rounds take no more than a quarter of a CPU.
const MIN_FACTOR: u64 = 4;

/// When something is done next.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The rule that is asked of it.
    pub rule: Rule,
    due_ns: u64,
}

/// A rule for the frequency.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Time between two rounds at least, in ns.
    pub least_ns: u64,
    /// Time to the next round as a multiple of the CPU time of a round: 100 is 1 % of a CPU.
    pub factor: u64,
    /// It is no further away for that reason, in ns: on a slow host, a look that took a second would put off the next one
    /// by minutes.
    pub put_off_ns: u64,
}

impl Pace {
    /// The first round is due at once.
    pub fn new(rule: Rule) -> Self {
        Self { rule, due_ns: 0 }
    }

    /// When the next round is due.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// True if it is due.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// A round that began then took so much CPU time. Rounds that were missed are not made up for.
    pub fn on_round(&mut self, started_ns: u64, cpu_ns: u64) {
        let Rule { least_ns, factor, put_off_ns } = self.rule;
        let in_step_ns = self.due_ns.saturating_add(least_ns);
        let regular_ns = if in_step_ns > started_ns { in_step_ns } else { started_ns.saturating_add(least_ns) };
        let longest_ns = put_off_ns.max(cpu_ns.saturating_mul(MIN_FACTOR));
        self.due_ns = regular_ns.max(started_ns.saturating_add(cpu_ns.saturating_mul(factor).min(longest_ns)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace() -> Pace {
        Pace::new(Rule { least_ns: 100 * MS, factor: 100, put_off_ns: 2_000 * MS })
    }

    #[test]
    fn rounds_keep_in_step_although_each_begins_a_little_late() {
        let mut pace = pace();
        pace.on_round(1_000 * MS, 0);
        assert_eq!(pace.due_ns(), 1_100 * MS);
        pace.on_round(1_103 * MS, MS / 10);
        assert_eq!(pace.due_ns(), 1_200 * MS);
        assert!(!pace.is_due(1_199 * MS) && pace.is_due(1_200 * MS));
    }

    #[test]
    fn a_round_that_costs_much_puts_the_next_one_off() {
        let mut pace = pace();
        pace.on_round(1_000 * MS, 20 * MS);
        assert_eq!(pace.due_ns(), 3_000 * MS);
        pace.on_round(3_000 * MS, MS);
        assert_eq!(pace.due_ns(), 3_100 * MS);
    }

    #[test]
    fn a_round_on_a_slow_host_puts_the_next_one_off_by_some_seconds_at_most() {
        let mut pace = pace();
        pace.on_round(1_000 * MS, 300 * MS);
        assert_eq!(pace.due_ns(), 3_000 * MS);
        pace.on_round(3_000 * MS, 1_000 * MS);
        assert_eq!(pace.due_ns(), 7_000 * MS, "a quarter of a CPU at most");
    }

    #[test]
    fn rounds_that_were_missed_are_not_made_up_for() {
        let mut pace = pace();
        pace.on_round(1_000 * MS, 0);
        pace.on_round(1_950 * MS, 0);
        assert_eq!(pace.due_ns(), 2_050 * MS);
    }
}
