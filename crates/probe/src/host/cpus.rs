//! The CPUs that this process may run on and that are online.

use super::system;

/// CPUs online, ascending; empty where the kernel does not say.
pub(crate) fn online() -> Vec<u32> {
    from_list(&system::read("/sys/devices/system/cpu/online"))
}

/// CPUs online within the process's affinity, ascending.
pub(crate) fn allowed() -> Vec<u32> {
    let status = system::read("/proc/self/status");
    let online = online();
    let mut cpus = from_list(system::field(&status, "Cpus_allowed_list").unwrap_or_default());
    if !online.is_empty() {
        cpus.retain(|cpu| online.contains(cpu));
    }
    cpus
}

/// Reads a list such as `0-3,8`. Words that are not CPUs are passed over.
fn from_list(text: &str) -> Vec<u32> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(from_list("0-2,7\n"), [0, 1, 2, 7]);
        assert_eq!(from_list("5"), [5]);
        assert!(from_list("\n").is_empty());
    }
}
