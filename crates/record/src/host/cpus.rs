//! Rows of what the host's CPUs did: table cpu.

use probe::clock::mono_ns;
use probe::cpu::{CpuProbe, CpuSample};
use schema::table::CpuRow;
use schema::trial::Phase;
use std::collections::BTreeMap;

use super::intervals::Interval;
use crate::table::Rows;

/// Looks at the CPUs' accounts.
pub struct Cpus {
    probe: CpuProbe,
    before: (u64, BTreeMap<u32, CpuSample>),
    /// Its table.
    pub rows: Rows<CpuRow<'static>>,
}

impl Cpus {
    /// Counts from now.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn open() -> anyhow::Result<Self> {
        let mut probe = CpuProbe::open()?;
        let before = (mono_ns(), probe.sample()?);
        Ok(Self { probe, before, rows: Rows::new() })
    }

    /// Counts from now instead.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.before = (mono_ns(), self.probe.sample()?);
        Ok(())
    }

    /// When the last look was, on `CLOCK_MONOTONIC` in ns.
    pub fn looked_mono_ns(&self) -> u64 {
        self.before.0
    }

    /// A row a CPU; `own_cpus` are those that are this side's alone, all where it is empty. Returns the time that the rows
    /// cover.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn sample(&mut self, host: &str, own_cpus: &[u32], index: u32, phase: Phase) -> anyhow::Result<Interval> {
        let now = (mono_ns(), self.probe.sample()?);
        let interval = Interval { index, phase, start_mono_ns: self.before.0, end_mono_ns: now.0 };
        for (cpu, sample) in &now.1 {
            let Some(before) = self.before.1.get(cpu) else { continue };
            let times = sample.times.since(&before.times);
            let difference =
                |after: Option<u64>, before: Option<u64>| after.zip(before).map(|(after, before)| after.saturating_sub(before));
            self.rows.push(CpuRow {
                host,
                cpu: *cpu,
                own: own_cpus.is_empty() || own_cpus.contains(cpu),
                interval: index,
                phase,
                start_mono_ns: interval.start_mono_ns,
                end_mono_ns: interval.end_mono_ns,
                user_ns: times.user_ns,
                system_ns: times.system_ns,
                irq_ns: times.irq_ns,
                softirq_ns: times.softirq_ns,
                steal_ns: times.steal_ns,
                idle_ns: times.idle_ns,
                ksoftirqd_ns: difference(sample.ksoftirqd_ns, before.ksoftirqd_ns),
                pmu_cycles_count: difference(sample.pmu_cycles_count, before.pmu_cycles_count),
            });
        }
        self.before = now;
        Ok(interval)
    }

    /// Why there are no PMU cycles, if there are none.
    pub fn pmu_missing(&self) -> Option<&str> {
        self.probe.pmu_missing()
    }
}
