//! Rows of what the host's CPUs did: table cpu.

use probe::clock::mono_ns;
use probe::cpu::{CpuProbe, CpuSample};
use schema::table::{CPU, Value};
use schema::trial::TrialSpec;
use std::collections::BTreeMap;

use crate::counted::Interval;
use crate::record::TableBuilder;

/// Looks at the CPUs' accounts.
pub(super) struct Cpus {
    probe: CpuProbe,
    before: (u64, BTreeMap<u32, CpuSample>),
    rows: TableBuilder,
}

impl Cpus {
    /// Counts from now.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn open() -> anyhow::Result<Self> {
        let mut probe = CpuProbe::open()?;
        let before = (mono_ns(), probe.sample()?);
        Ok(Self { probe, before, rows: TableBuilder::new(&CPU) })
    }

    /// Counts from now instead.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn begin(&mut self) -> anyhow::Result<()> {
        self.before = (mono_ns(), self.probe.sample()?);
        Ok(())
    }

    /// When the last look was, on `CLOCK_MONOTONIC` in ns.
    pub fn looked_mono_ns(&self) -> u64 {
        self.before.0
    }

    /// A row a CPU. Returns the time that the rows cover.
    ///
    /// # Errors
    /// `/proc` cannot be read, or a row does not fit its table.
    pub fn sample(&mut self, spec: &TrialSpec, index: u32, phase: &'static str) -> anyhow::Result<Interval> {
        let now = (mono_ns(), self.probe.sample()?);
        let interval = Interval { index, phase, start_mono_ns: self.before.0, end_mono_ns: now.0 };
        for (cpu, sample) in &now.1 {
            let Some(before) = self.before.1.get(cpu) else { continue };
            let times = sample.times.since(&before.times);
            let difference = |after: Option<u64>, before: Option<u64>| {
                Value::from(after.zip(before).map(|(after, before)| after.saturating_sub(before)))
            };
            self.rows.push(vec![
                spec.host.as_str().into(),
                (*cpu).into(),
                (spec.own_cpus.is_empty() || spec.own_cpus.contains(cpu)).into(),
                index.into(),
                phase.into(),
                interval.start_mono_ns.into(),
                interval.end_mono_ns.into(),
                times.user_ns.into(),
                times.system_ns.into(),
                times.irq_ns.into(),
                times.softirq_ns.into(),
                times.steal_ns.into(),
                times.idle_ns.into(),
                difference(sample.ksoftirqd_ns, before.ksoftirqd_ns),
                difference(sample.pmu_cycles_count, before.pmu_cycles_count),
            ])?;
        }
        self.before = now;
        Ok(interval)
    }

    /// Why there are no PMU cycles, if there are none.
    pub fn pmu_missing(&self) -> Option<&str> {
        self.probe.pmu_missing()
    }

    /// The table.
    pub fn into_table(self) -> TableBuilder {
        self.rows
    }
}
