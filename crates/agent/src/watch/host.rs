//! Samples of the host while connections are watched: its CPUs, the threads of the watched programs, its devices and
//! counters.

use probe::clock::{mono_ns, thread_cpu_ns};
use record::Columns;
use record::host::cpus::Cpus;
use record::host::devices::Devices;
use record::host::intervals::Interval;
use record::host::limits::Limits;
use record::host::programs::Programs;
use schema::trial::Phase;
use std::collections::BTreeSet;

use super::pace::{Pace, Rule};

/// Samples of CPUs and threads: ticks take up to 10 ms. 0.5 % of a CPU.
const SAMPLES: Rule = Rule { least_ns: 100_000_000, factor: 200, put_off_ns: 1_000_000_000 };
/// After so many rounds the time between them doubles, so that a watch of days has room in memory.
const ROUNDS: u32 = 10_000;

/// Samples the host.
pub struct HostSampler {
    name: String,
    cpus: Cpus,
    programs: Programs,
    /// The processes that are looked at.
    followed: BTreeSet<u32>,
    devices: Devices,
    limits: Limits,
    pace: Pace,
    rounds_count: u32,
}

impl HostSampler {
    /// Counts from now.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn open(name: &str) -> anyhow::Result<Self> {
        let mut pace = Pace::new(SAMPLES);
        pace.on_round(mono_ns(), 0);
        Ok(Self {
            name: name.to_owned(),
            cpus: Cpus::open()?,
            programs: Programs::default(),
            followed: BTreeSet::new(),
            devices: Devices::open()?,
            limits: Limits::open_without_groups(),
            pace,
            rounds_count: 0,
        })
    }

    /// When it is sampled next.
    pub fn due_ns(&self) -> u64 {
        self.pace.due_ns()
    }

    /// Looks at the threads and at the control groups of these processes.
    pub fn follow(&mut self, processes: &BTreeSet<u32>) {
        for process in processes.difference(&self.followed) {
            self.limits.follow(*process);
        }
        self.followed.clone_from(processes);
        self.programs.follow(processes);
    }

    /// Samples CPUs and threads when that is due, or now where it is the last time; the time that the rows cover.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn sample(&mut self, is_last: bool) -> anyhow::Result<Option<Interval>> {
        let (started_ns, cpu_ns) = (mono_ns(), thread_cpu_ns());
        if !is_last && !self.pace.is_due(started_ns) {
            return Ok(None);
        }
        let interval = self.cpus.sample(&self.name, &[], self.rounds_count, Phase::Measure)?;
        self.programs.sample(&self.name, self.rounds_count);
        self.rounds_count += 1;
        if self.rounds_count.is_multiple_of(ROUNDS) {
            self.pace.rule.least_ns *= 2;
        }
        self.pace.on_round(started_ns, thread_cpu_ns() - cpu_ns);
        Ok(Some(interval))
    }

    /// Why there are no PMU cycles, if there are none.
    pub fn pmu_missing(&self) -> Option<&str> {
        self.cpus.pmu_missing()
    }

    /// The tables.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn into_tables(self) -> anyhow::Result<Vec<Columns>> {
        let (devices, limits) = (self.devices.table(&self.name)?, self.limits.table(&self.name));
        Ok(vec![self.cpus.rows.into_columns(), self.programs.rows.into_columns(), devices, limits])
    }
}
