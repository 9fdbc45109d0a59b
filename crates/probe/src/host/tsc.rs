//! Rate of the time stamp counter.
//!
//! The kernel's own figure is taken where it exports one; otherwise the counter is measured
//! against `CLOCK_MONOTONIC_RAW`, which no time daemon slews. Where the counter stops or changes
//! its rate with the CPU's frequency there is no figure.

/// Rate in Hz; `None` where there is no constant counter.
pub(super) fn rate_hz(cpu_information: &str) -> Option<u64> {
    imp::rate_hz(cpu_information)
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use crate::host::system;
    use nix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// Pieces measured; the median of them is taken, so that one disturbed piece does not count.
    const PIECES: usize = 5;
    /// Length of a piece. With readings good to 50 ns a piece is good to about 1 in 100 000.
    const PIECE: Duration = Duration::from_millis(4);
    /// Readings tried at each end of a piece; the tightest counts.
    const READINGS: usize = 8;

    pub(super) fn rate_hz(cpu_information: &str) -> Option<u64> {
        let flags = system::field(cpu_information, "flags")?;
        if !["constant_tsc", "nonstop_tsc"].iter().all(|wanted| flags.split(' ').any(|flag| flag == *wanted)) {
            return None;
        }
        exported_hz().or_else(measure_hz)
    }

    /// The kernel's figure, where a module (`tsc_freq_khz`) or a patched kernel exports it.
    fn exported_hz() -> Option<u64> {
        let kilohertz: u64 = system::read("/sys/devices/system/cpu/cpu0/tsc_freq_khz").trim().parse().ok()?;
        (kilohertz > 0).then_some(kilohertz * 1000)
    }

    pub(super) fn measure_hz() -> Option<u64> {
        let mut rates = Vec::with_capacity(PIECES);
        let mut start = read_pair()?;
        for _ in 0..PIECES {
            std::thread::sleep(PIECE);
            let end = read_pair()?;
            let (ticks, ns) = (end.ticks.checked_sub(start.ticks)?, end.raw_ns.checked_sub(start.raw_ns)?);
            rates.push(u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(ns.max(1))).ok()?);
            start = end;
        }
        rates.sort_unstable();
        Some(rates[PIECES / 2])
    }

    /// Both counters at one instant.
    struct Pair {
        ticks: u64,
        raw_ns: u64,
    }

    /// Reads the clock between two readings of the counter and keeps the attempt with the least
    /// time between them.
    fn read_pair() -> Option<Pair> {
        let attempts = (0..READINGS).filter_map(|_| {
            let before = read_counter();
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).ok()?;
            let after = read_counter();
            let raw_ns = u64::try_from(now.tv_sec()).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec()).ok()?;
            let width = after.checked_sub(before)?;
            Some((width, Pair { ticks: before + width / 2, raw_ns }))
        });
        attempts.min_by_key(|(width, _)| *width).map(|(_, pair)| pair)
    }

    fn read_counter() -> u64 {
        // SAFETY: every x86_64 CPU has the instruction, and it touches no memory. Where the kernel
        // forbids it to processes (PR_SET_TSC) the flags above do not help either; nobody does
        // that to an agent.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    /// The architecture states the rate of its counter in a register.
    pub(super) fn rate_hz(_cpu_information: &str) -> Option<u64> {
        let rate: u64;
        // SAFETY: CNTFRQ_EL0 is readable from user space on Linux and reading it has no effect.
        unsafe { std::arch::asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack, preserves_flags)) };
        (rate > 0).then_some(rate)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    /// No counter is read on this architecture.
    pub(super) fn rate_hz(_cpu_information: &str) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_agree() {
        let (first, second) = (imp::measure_hz().expect("rate"), imp::measure_hz().expect("rate"));
        assert!(first.abs_diff(second) < first / 1000, "{first} {second}");
    }

    #[test]
    fn a_counter_that_changes_its_rate_has_none() {
        assert_eq!(rate_hz("flags\t\t: fpu tsc nonstop_tsc\n"), None);
        assert_eq!(rate_hz(""), None);
    }
}
