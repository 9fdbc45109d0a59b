//! CPU time of the whole host: by kind from `/proc/stat`, of each CPU's ksoftirqd from its
//! schedstat, and core cycles from the PMU where there is one. Evidence level 0.
//!
//! Cost: two small reads a CPU and sample, tens of µs; so it is sampled less often than the
//! connections are. Columns: [`schema::table::CPU`].

mod pmu;
mod proc_stat;

pub use proc_stat::CpuTimes;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// Everything that one CPU had used up at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// Times by kind.
    pub times: CpuTimes,
    /// CPU time of the CPU's ksoftirqd in ns.
    pub ksoftirqd_ns: Option<u64>,
    /// Core cycles not halted.
    pub pmu_cycles_count: Option<u64>,
}

/// Reads the CPUs' times; holds the open files and counters.
#[derive(Debug)]
pub struct CpuProbe {
    stat: File,
    tick_ns: u64,
    ksoftirqd: BTreeMap<u32, File>,
    pmu: Result<pmu::CycleCounters, String>,
    text: Vec<u8>,
}

impl CpuProbe {
    /// Opens the sources. Missing ones (no PMU, hidden ksoftirqd) are absent from the samples.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn open() -> io::Result<Self> {
        let stat = File::open("/proc/stat")?;
        let hertz = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        let tick_ns = 1_000_000_000 / u64::try_from(hertz).unwrap_or(100).max(1);
        let mut probe = Self { stat, tick_ns, ksoftirqd: find_ksoftirqd(), pmu: Err(String::new()), text: vec![0; 64 << 10] };
        let cpus: Vec<u32> = probe.read_stat()?.into_keys().collect();
        probe.pmu = pmu::CycleCounters::open(&cpus);
        Ok(probe)
    }

    /// Why there are no PMU cycles, if there are none.
    pub fn pmu_missing(&self) -> Option<&str> {
        self.pmu.as_ref().err().map(String::as_str)
    }

    /// Reads all CPUs.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn sample(&mut self) -> io::Result<BTreeMap<u32, CpuSample>> {
        let times = self.read_stat()?;
        let samples = times.into_iter().map(|(cpu, times)| {
            let ksoftirqd_ns = self.ksoftirqd.get(&cpu).and_then(read_schedstat_cpu_ns);
            let pmu_cycles_count = self.pmu.as_mut().ok().and_then(|counters| counters.read(cpu));
            (cpu, CpuSample { times, ksoftirqd_ns, pmu_cycles_count })
        });
        Ok(samples.collect())
    }

    fn read_stat(&mut self) -> io::Result<BTreeMap<u32, CpuTimes>> {
        let length = self.stat.read_at(&mut self.text, 0)?;
        Ok(proc_stat::parse(&String::from_utf8_lossy(&self.text[..length]), self.tick_ns))
    }
}

/// The schedstat file of each CPU's ksoftirqd, found by the threads' names.
fn find_ksoftirqd() -> BTreeMap<u32, File> {
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeMap::new() };
    processes
        .flatten()
        .filter_map(|process| {
            let name = fs::read_to_string(process.path().join("comm")).ok()?;
            let cpu = name.trim_end().strip_prefix("ksoftirqd/")?.parse().ok()?;
            Some((cpu, File::open(process.path().join("schedstat")).ok()?))
        })
        .collect()
}

/// First field of a schedstat file: time on the CPU in ns (Documentation/scheduler/sched-stats.rst).
fn read_schedstat_cpu_ns(file: &File) -> Option<u64> {
    crate::threads::read_schedstat(file).map(|[cpu_ns, ..]| cpu_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    #[test]
    fn a_busy_process_shows_as_time_of_the_host() {
        let mut probe = CpuProbe::open().expect("/proc/stat");
        let before = probe.sample().expect("sample");
        // Time of its own: on a host that is busy otherwise it takes longer to get it.
        let own = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("clock"));
        let end = own() + Duration::from_millis(200);
        while own() < end {
            std::hint::black_box(fs::read("/proc/self/stat").ok());
        }
        let after = probe.sample().expect("sample");
        let busy_ns: u64 = after.iter().map(|(cpu, sample)| sample.times.since(&before[cpu].times)).map(|t| t.user_ns + t.system_ns).sum();
        assert!(busy_ns >= 100_000_000, "200 ms of work, seen {busy_ns} ns");
        assert!(after.values().all(|sample| sample.ksoftirqd_ns.is_some()), "ksoftirqd of every CPU is found");
    }
}
