//! The evidence of one end: which programs watch, which trial they watch, and what that is worth.

use probe::evidence::{LogReader, Watch, Watched};
use schema::evidence::{CpuCount, Evidence, EvidenceReport, Loan, Programs};
use std::sync::{Arc, MutexGuard};

/// Keeps loaded programs from trial to trial: loading takes longer than a short trial.
#[derive(Default)]
pub struct Witnesses {
    watch: Option<Arc<Watch>>,
}

/// Who watches one trial.
#[derive(Clone, Default)]
pub struct Witness {
    asked: Evidence,
    watch: Option<Arc<Watch>>,
    reason: Option<String>,
}

impl Witnesses {
    /// A witness of this level, or of a lower one that says why. Level user takes everything out of
    /// the kernel: even an idle program costs.
    pub fn call(&mut self, level: Evidence, connections: u32, programs: &Programs) -> Witness {
        if level == Evidence::User {
            self.watch = None;
            return Witness::default();
        }
        if let Programs::Borrow(loan) = programs
            && let Some(watch) = self.borrow(loan, level)
        {
            return Witness { asked: level, watch: Some(watch), reason: None };
        }
        let lends = *programs == Programs::Lend;
        if self.watch.as_ref().is_none_or(|watch| !watch.suits(level, connections, lends)) {
            self.watch = None;
            match Watch::open(level, connections, lends) {
                Ok(watch) => self.watch = Some(Arc::new(watch)),
                Err(refused) => return Witness { asked: level, watch: None, reason: Some(refused.reason) },
            }
        }
        Witness { asked: level, watch: self.watch.clone(), reason: None }
    }

    /// What the other end has lent. A user who may load programs need not be allowed to find another's.
    fn borrow(&mut self, loan: &Loan, level: Evidence) -> Option<Arc<Watch>> {
        if self.watch.as_ref().is_none_or(|watch| !watch.is_of(loan)) {
            self.watch = None;
            self.watch = Watch::borrow(loan).ok().map(Arc::new);
        }
        self.watch.clone().filter(|watch| watch.level() == level)
    }
}

impl Witness {
    /// Watches the connections to this port from now on, and the softirqs of the CPUs that are this
    /// end's own.
    pub fn begin(&mut self, port: u16, listens: bool, own_cpus: &[u32]) {
        if let Some(watch) = &self.watch
            && let Err(error) = watch.begin(&Watched { port, listens, timed_cpus: own_cpus.to_vec() })
        {
            self.reason = Some(format!("the network namespace cannot be told: {error}"));
            self.watch = None;
        }
    }

    /// What this end lends to the other, when it was loaded to be lent.
    pub fn loan(&self) -> Option<Loan> {
        self.watch.as_ref()?.loan()
    }

    /// The programs, when there are any.
    pub fn watch(&self) -> Option<&Arc<Watch>> {
        self.watch.as_ref()
    }

    /// The log, at level segments.
    pub fn log(&self) -> Option<MutexGuard<'_, LogReader>> {
        self.watch.as_ref()?.log()
    }

    /// Watches nothing more.
    pub fn stop(&self) {
        if let Some(watch) = &self.watch {
            watch.end();
        }
    }

    /// Watches nothing more and says what the evidence is worth; `broken_off` says why the log ended
    /// early, if it did, `unseen_segments_count` what TCP counted beyond it.
    pub fn end(&self, broken_off: Option<String>, unseen_segments_count: u64) -> EvidenceReport {
        self.stop();
        let Some(watch) = &self.watch else {
            return EvidenceReport { asked: self.asked, reason: self.reason.clone(), ..EvidenceReport::default() };
        };
        let lost = watch.log().map(|log| log.lost()).unwrap_or_default();
        let lost_events_count: Vec<_> =
            (0..).zip(&lost).filter(|(_, count)| **count > 0).map(|(cpu, count)| CpuCount { cpu, count: *count }).collect();
        let lost_sum: u64 = lost.iter().sum();
        let refused = watch.refused_count();
        let crowded = (refused > 0).then(|| format!("{refused} segments of strangers' connections, or of the trial's, found no room"));
        EvidenceReport {
            asked: self.asked,
            got: watch.level(),
            reason: crowded,
            missing: watch.missing().to_vec(),
            logged_events_count: watch.log().map_or(0, |log| log.written()) + lost_sum,
            lost_events_count,
            missed_runs_count: watch.missed_runs_count(),
            unseen_segments_count,
            broken_off,
        }
    }
}
