//! Core cycles of each CPU by `perf_event_open`, all contexts, interrupts included.

use perf_event::Builder;
use perf_event::Counter;
use perf_event::events::Event;
use std::collections::BTreeMap;

/// One counter a CPU.
#[derive(Debug)]
pub struct CycleCounters {
    counters: BTreeMap<u32, Counter>,
}

impl CycleCounters {
    /// Counts cycles on `cpus`.
    ///
    /// # Errors
    /// Why not, in words: no PMU (as in most virtual machines) or no permission.
    pub fn open(cpus: &[u32]) -> Result<Self, String> {
        Self::open_event(perf_event::events::Hardware::CPU_CYCLES, cpus)
    }

    fn open_event<E: Event + Copy>(event: E, cpus: &[u32]) -> Result<Self, String> {
        let mut counters = BTreeMap::new();
        for &cpu in cpus {
            let index = usize::try_from(cpu).map_err(|error| error.to_string())?;
            let mut counter = Builder::new(event)
                .any_pid()
                .one_cpu(index)
                .include_kernel()
                .build()
                .and_then(|mut counter| counter.enable().map(|()| counter))
                .map_err(|error| match error.raw_os_error() {
                    Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => "this machine offers no hardware counter of cycles".to_owned(),
                    Some(libc::EACCES | libc::EPERM) => {
                        "counting cycles of a whole CPU needs CAP_PERFMON or kernel.perf_event_paranoid <= 0".to_owned()
                    }
                    _ => format!("perf_event_open: {error}"),
                })?;
            counter.read().map_err(|error| format!("perf_event read: {error}"))?;
            counters.insert(cpu, counter);
        }
        Ok(Self { counters })
    }

    /// Cycles of one CPU since the counters were opened, scaled for the time the counter shared
    /// the hardware with others.
    pub fn read(&mut self, cpu: u32) -> Option<u64> {
        self.counters.get_mut(&cpu)?.read().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// The same path with an event that every machine has, so that the reading is tested where
    /// there is no PMU.
    #[test]
    fn counters_of_whole_cpus_advance() {
        let mut counters = match CycleCounters::open_event(perf_event::events::Software::CPU_CLOCK, &[0]) {
            Ok(counters) => counters,
            Err(reason) => {
                assert!(reason.contains("CAP_PERFMON"), "only permission may be missing: {reason}");
                return;
            }
        };
        let before = counters.read(0).expect("counter");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {}
        let after = counters.read(0).expect("counter");
        assert!(after > before, "{after} > {before}");
        assert_eq!(counters.read(9999), None);
    }
}
