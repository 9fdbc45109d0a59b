//! The `cpuN` lines of `/proc/stat`.

use std::collections::BTreeMap;

/// Times of one CPU since boot, in ns; the kernel counts them in ticks of its accounting clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode on behalf of processes.
    pub system_ns: u64,
    /// Hardware interrupts.
    pub irq_ns: u64,
    /// Soft interrupts.
    pub softirq_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
    /// Idle, waiting for I/O included.
    pub idle_ns: u64,
}

impl CpuTimes {
    /// The times that passed since `earlier`. A counter that ran backward (idle and iowait may, see
    /// Documentation/filesystems/proc.rst) counts as no time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            irq_ns: self.irq_ns.saturating_sub(earlier.irq_ns),
            softirq_ns: self.softirq_ns.saturating_sub(earlier.softirq_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }
}

/// Reads the CPUs' times out of the text of `/proc/stat`, with ticks of `tick_ns`.
pub fn parse(text: &str, tick_ns: u64) -> BTreeMap<u32, CpuTimes> {
    text.lines().take_while(|line| line.starts_with("cpu")).filter_map(|line| parse_line(line, tick_ns)).collect()
}

fn parse_line(line: &str, tick_ns: u64) -> Option<(u32, CpuTimes)> {
    let mut fields = line.split_ascii_whitespace();
    // The first line, "cpu", sums all CPUs and has no number.
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut next = || fields.next().and_then(|word| word.parse::<u64>().ok()).map_or(0, |ticks| ticks * tick_ns);
    let (user, nice, system, idle, iowait, irq, softirq, steal) = (next(), next(), next(), next(), next(), next(), next(), next());
    let times =
        CpuTimes { user_ns: user + nice, system_ns: system, irq_ns: irq, softirq_ns: softirq, steal_ns: steal, idle_ns: idle + iowait };
    Some((cpu, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cpus_are_not_the_sum() {
        let text = "cpu  30 0 3 9 0 0 0 0 0 0\ncpu0 10 1 2 3 4 5 6 7 0 0\ncpu3 20 0 0 0 0 0 0 0 0 0\nintr 5\n";
        let times = parse(text, 10);
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), [0, 3]);
        let expected = CpuTimes { user_ns: 110, system_ns: 20, idle_ns: 70, irq_ns: 50, softirq_ns: 60, steal_ns: 70 };
        assert_eq!(times[&0], expected);
    }
}
