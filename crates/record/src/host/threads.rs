//! Rows of the CPU time of the load's threads: table threads.

use anyhow::Context;
use load::running::Load;
use probe::clock::mono_ns;
use probe::threads::{ThreadProbe, ThreadSample};
use schema::table::ThreadRow;
use schema::trial::{Phase, Role, TrialSpec};

use crate::table::Rows;

/// Looks at the threads' accounts.
pub struct Threads {
    probes: Vec<ThreadProbe>,
    roles: Vec<Role>,
    before: Vec<(u64, ThreadSample)>,
    reported_cpu_ns: u64,
    looked_mono_ns: u64,
    /// Its table.
    pub rows: Rows<ThreadRow<'static>>,
}

/// Least time between looks for each thread: one takes about 10 us, and they shall take no more than 5 % of a CPU.
const PERIOD_NS_EACH: u64 = 200_000;

impl Threads {
    /// Counts from now.
    ///
    /// # Errors
    /// The accounts cannot be opened.
    pub fn open(spec: &TrialSpec, load: &Load) -> anyhow::Result<Self> {
        let probes = load.threads.iter().map(|thread| ThreadProbe::open(*thread)).collect::<Result<Vec<_>, _>>();
        let probes = probes
            .context("watching the load's threads takes two open files each; with many connections raise the host's limit (ulimit -Hn)")?;
        let before: Vec<_> = probes.iter().map(|probe| (mono_ns(), probe.sample().unwrap_or_default())).collect();
        let reported_cpu_ns = before.iter().map(|(_, sample)| sample.cpu_ns).sum();
        Ok(Self { probes, roles: roles(spec, load), before, reported_cpu_ns, looked_mono_ns: mono_ns(), rows: Rows::new() })
    }

    /// True if it is too early to look again at as many threads as there are.
    pub fn is_early(&self) -> bool {
        mono_ns().saturating_sub(self.looked_mono_ns) < self.probes.len() as u64 * PERIOD_NS_EACH
    }

    /// A row a thread that still runs.
    pub fn sample(&mut self, spec: &TrialSpec, index: u32, phase: Phase) {
        self.looked_mono_ns = mono_ns();
        for position in 0..self.probes.len() {
            // A thread that has ended left its own account, which `sample_ended` takes.
            if let Some(sample) = self.probes[position].sample() {
                self.push(spec, position, (mono_ns(), sample), index, phase);
            }
        }
    }

    /// A row a thread that has ended, by the account that it left.
    pub fn sample_ended(&mut self, spec: &TrialSpec, accounts: &[Option<(u64, ThreadSample)>], index: u32, phase: Phase) {
        for (position, account) in accounts.iter().enumerate() {
            if let Some(end) = *account {
                self.push(spec, position, end, index, phase);
            }
        }
    }

    fn push(&mut self, spec: &TrialSpec, position: usize, now: (u64, ThreadSample), index: u32, phase: Phase) {
        let before = std::mem::replace(&mut self.before[position], now);
        self.rows.push(ThreadRow {
            host: &spec.host,
            thread: self.probes[position].thread,
            role: self.roles[position],
            interval: index,
            phase,
            start_mono_ns: before.0.min(now.0),
            end_mono_ns: now.0,
            cpu: now.1.cpu,
            cpu_ns: now.1.cpu_ns.saturating_sub(before.1.cpu_ns),
            run_queue_ns: now.1.run_queue_ns.saturating_sub(before.1.run_queue_ns),
            scheduled_count: now.1.scheduled_count.saturating_sub(before.1.scheduled_count),
            process: None,
        });
    }

    /// CPU time in ns that all threads together took since this was last asked, as of the last sample.
    pub fn newly_cpu_ns(&mut self) -> u64 {
        let cpu_ns: u64 = self.before.iter().map(|(_, sample)| sample.cpu_ns).sum();
        cpu_ns.saturating_sub(std::mem::replace(&mut self.reported_cpu_ns, cpu_ns))
    }
}

/// The role of each thread: that of the connections it carries.
fn roles(spec: &TrialSpec, load: &Load) -> Vec<Role> {
    let mut roles = vec![spec.role; load.threads.len()];
    for flow in &load.flows {
        if let Some(role) = roles.get_mut(flow.thread as usize) {
            *role = spec.role_of(flow.number);
        }
    }
    roles
}
