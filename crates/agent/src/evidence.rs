//! Evidence of this host's side: which programs watch, which trial they watch, and how complete that is.

use probe::evidence::{LogReader, Watch, Watched};
use probe::processes::{Busy, Processes};
use schema::evidence::{CpuCount, Evidence, EvidenceReport, Loan, Programs};
use schema::trial::TrialSpec;
use schema::workload::Operation;
use std::sync::Arc;

/// Connections that are watched one by one at most: what is kept of each takes 2 KB that cannot be
/// swapped, and beyond it they no longer come to one port.
const MAX_CONNECTIONS: u32 = 10_000;

/// Keeps loaded programs from trial to trial: loading takes longer than a short trial.
#[derive(Default)]
pub struct LoadedPrograms {
    watch: Option<Arc<Watch>>,
}

/// Collects the evidence of one trial.
#[derive(Clone, Default)]
pub struct EvidenceCollector {
    asked: Evidence,
    watch: Option<Arc<Watch>>,
    reason: Option<String>,
    /// Why only the CPUs' soft interrupts are watched, when it is so.
    only_cpus: Option<&'static str>,
    /// Earlier usage of other processes.
    others: Option<Arc<Processes>>,
}

/// Counts of records that were logged and not written: those of the connection that a load of few threads has of its own
/// in addition to the others.
#[derive(Debug, Default, Clone, Copy)]
pub struct LeftOut {
    /// Segments.
    pub events_count: u64,
    /// Calls.
    pub calls_count: u64,
}

/// Why the trial's connections cannot be watched one by one, when they cannot.
pub fn only_cpus(spec: &TrialSpec) -> Option<&'static str> {
    if spec.connections_count > MAX_CONNECTIONS {
        return Some("of more than 10,000 connections only the CPUs' soft interrupts are watched");
    }
    let workload = spec.workload.as_ref()?;
    let mut steps = workload.groups.iter().flat_map(|group| &group.transactions).flat_map(|transaction| &transaction.steps);
    steps
        .any(|step| matches!(step.operation, Operation::Connect { .. } | Operation::Accept { .. }))
        .then_some("connections that a workload opens are not watched, only the CPUs' soft interrupts")
}

impl LoadedPrograms {
    /// Who collects the evidence of a trial, at the level asked or at a lower one that says why. Level user takes
    /// everything out of the kernel: even an idle program costs.
    pub fn collector(&mut self, spec: &TrialSpec) -> EvidenceCollector {
        let only_cpus = only_cpus(spec);
        let connections = if only_cpus.is_some() { 1 } else { spec.connections_count };
        let others = Some(Arc::new(Processes::now()));
        EvidenceCollector { only_cpus, others, ..self.watching(spec.evidence, connections, &spec.programs) }
    }

    fn watching(&mut self, level: Evidence, connections: u32, programs: &Programs) -> EvidenceCollector {
        if level == Evidence::User {
            self.watch = None;
            return EvidenceCollector::default();
        }
        if let Programs::Borrow(loan) = programs
            && let Some(watch) = self.borrow(loan, level)
        {
            return EvidenceCollector { asked: level, watch: Some(watch), ..EvidenceCollector::default() };
        }
        let lends = *programs == Programs::Lend;
        if self.watch.as_ref().is_none_or(|watch| !watch.suits(level, connections, lends)) {
            self.watch = None;
            match Watch::open(level, connections, lends) {
                Ok(watch) => self.watch = Some(Arc::new(watch)),
                Err(refused) => return EvidenceCollector { asked: level, reason: Some(refused.reason), ..EvidenceCollector::default() },
            }
        }
        EvidenceCollector { asked: level, watch: self.watch.clone(), ..EvidenceCollector::default() }
    }

    /// Programs that the agent of the other side has lent. A user who may load programs need not be allowed to find another's.
    fn borrow(&mut self, loan: &Loan, level: Evidence) -> Option<Arc<Watch>> {
        if self.watch.as_ref().is_none_or(|watch| !watch.is_of(loan)) {
            self.watch = None;
            self.watch = Watch::borrow(loan).ok().map(Arc::new);
        }
        self.watch.clone().filter(|watch| watch.level() == level)
    }
}

/// Counts the records that a log should hold, and those of them that it lost, by CPU.
fn counted<R: Copy>(log: &LogReader<R>) -> (u64, Vec<CpuCount>) {
    let lost = log.lost();
    let should = log.written() + lost.iter().sum::<u64>();
    let by_cpu = (0..).zip(lost).filter(|(_, count)| *count > 0).map(|(cpu, count)| CpuCount { cpu, count });
    (should, by_cpu.collect())
}

impl EvidenceCollector {
    /// Watches the connections to this port from now on, and the softirqs of the CPUs that are this
    /// end's own.
    pub fn start(&mut self, port: u16, listens: bool, own_cpus: &[u32]) {
        // Port 0 is nobody's.
        let port = if self.only_cpus.is_some() { 0 } else { port };
        if let Some(watch) = &self.watch
            && let Err(error) = watch.start(&Watched { port, listens, timed_cpus: own_cpus.to_vec() })
        {
            self.reason = Some(format!("cannot read the network namespace: {error}"));
            self.watch = None;
        }
    }

    /// The other process of this host that has used up most CPU time since the trial was prepared.
    pub fn busiest_other(&self) -> Option<Busy> {
        self.others.as_ref()?.busiest_since()
    }

    /// The loan of this end to the other, when it was loaded to be lent.
    pub fn loan(&self) -> Option<Loan> {
        self.watch.as_ref()?.loan()
    }

    /// The programs, when there are any.
    pub fn watch(&self) -> Option<&Arc<Watch>> {
        self.watch.as_ref()
    }

    /// Tags of the BPF programs, as in their names in `/proc/kallsyms`; those of both sides where one lends them.
    pub fn program_tags(&self) -> Vec<String> {
        self.watch.as_ref().map(|watch| watch.program_tags()).unwrap_or_default()
    }

    /// Watches nothing more.
    pub fn stop(&self) {
        if let Some(watch) = &self.watch {
            watch.end();
        }
    }

    /// Watches nothing more and says what the evidence is worth; `broken_off` says why the log ended
    /// early, if it did, `unseen_segments_count` what TCP counted beyond it, `left_out` what was logged and is none of the
    /// load's.
    pub fn end(&self, broken_off: Option<String>, unseen_segments_count: u64, left_out: LeftOut) -> EvidenceReport {
        self.stop();
        let Some(watch) = &self.watch else {
            return EvidenceReport { asked: self.asked, reason: self.reason.clone(), ..EvidenceReport::default() };
        };
        let report = report_of(watch, self.asked, broken_off, left_out);
        EvidenceReport { reason: report.reason.or_else(|| self.only_cpus.map(str::to_owned)), unseen_segments_count, ..report }
    }
}

/// Reports the worth of the evidence of these programs.
pub fn report_of(watch: &Watch, asked: Evidence, broken_off: Option<String>, left_out: LeftOut) -> EvidenceReport {
    let (logged_events_count, lost_events_count) = watch.log().map(|log| counted(&log)).unwrap_or_default();
    let (logged_calls_count, lost_calls_count) = watch.calls().map(|log| counted(&log)).unwrap_or_default();
    let refused = watch.refused_count();
    let crowded =
        (refused > 0).then(|| format!("{refused} segments of unauthenticated peers' connections, or of the trial's, found no room"));
    EvidenceReport {
        asked,
        got: watch.level(),
        reason: crowded,
        missing: watch.missing().to_vec(),
        logged_events_count: logged_events_count.saturating_sub(left_out.events_count),
        lost_events_count,
        logged_calls_count: logged_calls_count.saturating_sub(left_out.calls_count),
        lost_calls_count,
        missed_runs_count: watch.missed_runs_count(),
        unseen_segments_count: 0,
        broken_off,
        profile: None,
        stages: None,
    }
}
