//! Samples stacks while a trial is measured, and names their functions when its load is over.

use probe::clock::mono_ns;
use probe::stacks::{Profile, STACKS_MOST, SampledLoad, Sampler, SamplingRequest, Symbols};
use schema::evidence::ProfileReport;
use schema::trial::{Stop, TrialSpec};

use crate::evidence::EvidenceCollector;

/// Sampling, or why there is none.
pub struct StackSampling {
    report: ProfileReport,
    sampler: Option<Sampler>,
}

impl StackSampling {
    /// Prepares sampling, when the trial asks for it; no sample counts before [`Self::on_begin`].
    pub fn prepare(spec: &TrialSpec, load_threads: &[u32]) -> Option<Self> {
        let frequency_hz = spec.profile_hz?;
        let asked = SamplingRequest {
            cpus: spec.own_cpus.clone(),
            frequency_hz,
            load: SampledLoad::Threads(load_threads.to_vec()),
            start_mono_ns: 0,
            end_mono_ns: 0,
            stacks_most: STACKS_MOST,
        };
        let report = ProfileReport { frequency_hz, ..ProfileReport::default() };
        Some(match Sampler::start(&asked) {
            Ok(sampler) => Self { report, sampler: Some(sampler) },
            Err(refused) => Self { report: ProfileReport { reason: Some(refused.reason), ..report }, sampler: None },
        })
    }

    /// Has the samples count in the phase that is measured of a load that starts then.
    pub fn on_begin(&mut self, spec: &TrialSpec, start_mono_ns: u64) {
        let (from_ns, until_ns) = match spec.stop {
            Stop::Duration { warmup_ns, measure_ns, .. } => (warmup_ns, warmup_ns.saturating_add(measure_ns)),
            Stop::Bytes { .. } | Stop::Workload => (0, u64::MAX),
        };
        self.report.start_mono_ns = start_mono_ns.saturating_add(from_ns);
        self.report.end_mono_ns = start_mono_ns.saturating_add(until_ns);
        let Some(sampler) = &mut self.sampler else { return };
        if let Err(refused) = sampler.set_window(self.report.start_mono_ns, self.report.end_mono_ns) {
            self.report.reason = Some(refused.reason);
            self.sampler = None;
        }
    }

    /// Ends sampling; what it was worth, and what was found.
    pub fn finish(self, evidence: &EvidenceCollector) -> (ProfileReport, Option<Profile>) {
        let report = ProfileReport { end_mono_ns: self.report.end_mono_ns.min(mono_ns()), ..self.report };
        let Some(sampler) = self.sampler else { return (report, None) };
        match sampler.finish() {
            Ok(found) => {
                let profile = Symbols::open(evidence.program_tags()).resolve(&found);
                let report = ProfileReport {
                    event: Some(profile.event),
                    unnamed: profile.unnamed.clone(),
                    cpus: profile.cpus.clone(),
                    samples_count: profile.samples_count,
                    lost_samples_count: profile.lost_count,
                    own_ns: profile.own_ns,
                    keeps_interrupts_apart: profile.keeps_interrupts_apart,
                    ..report
                };
                (report, Some(profile))
            }
            Err(refused) => (ProfileReport { reason: Some(refused.reason), ..report }, None),
        }
    }
}
