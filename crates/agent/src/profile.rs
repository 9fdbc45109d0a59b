//! Samples stacks while a trial is measured or programs are watched, and names their functions when its load is over.

use probe::clock::mono_ns;
use probe::evidence::Refused;
use probe::stacks::{Profile, STACKS_MOST, SampledLoad, Sampler, SamplingRequest, Symbols};
use schema::evidence::ProfileReport;
use schema::trial::{Stop, TrialSpec};

/// Sampling, or why there is none.
pub struct StackSampling {
    report: ProfileReport,
    sampler: Option<Sampler>,
}

impl StackSampling {
    /// Prepares sampling, when the trial asks for it; no sample counts before [`Self::on_begin`].
    pub fn prepare(spec: &TrialSpec, load_threads: &[u32]) -> Option<Self> {
        Some(Self::start(spec.profile_hz?, spec.own_cpus.clone(), SampledLoad::Threads(load_threads.to_vec())))
    }

    /// Samples all CPUs from now on. The load is that of processes that [`Self::set_load`] names.
    pub fn of_watch(frequency_hz: u32) -> Self {
        let mut sampling = Self::start(frequency_hz, Vec::new(), SampledLoad::Processes(Vec::new()));
        sampling.set_window(mono_ns(), u64::MAX);
        sampling
    }

    fn start(frequency_hz: u32, cpus: Vec<u32>, load: SampledLoad) -> Self {
        let asked = SamplingRequest { cpus, frequency_hz, load, start_mono_ns: 0, end_mono_ns: 0, stacks_most: STACKS_MOST };
        let report = ProfileReport { frequency_hz, ..ProfileReport::default() };
        match Sampler::start(&asked) {
            Ok(sampler) => Self { report, sampler: Some(sampler) },
            Err(refused) => Self { report: ProfileReport { reason: Some(refused.reason), ..report }, sampler: None },
        }
    }

    /// Has the load be all threads of these processes, instead of others.
    pub fn set_load(&mut self, processes: &[u32]) {
        self.change(|sampler| sampler.set_load(processes));
    }

    /// Has the samples count in the phase that is measured of a load that starts then.
    pub fn on_begin(&mut self, spec: &TrialSpec, start_mono_ns: u64) {
        let (from_ns, until_ns) = match spec.stop {
            Stop::Duration { warmup_ns, measure_ns, .. } => (warmup_ns, warmup_ns.saturating_add(measure_ns)),
            Stop::Bytes { .. } | Stop::Workload => (0, u64::MAX),
        };
        self.set_window(start_mono_ns.saturating_add(from_ns), start_mono_ns.saturating_add(until_ns));
    }

    fn set_window(&mut self, start_mono_ns: u64, end_mono_ns: u64) {
        (self.report.start_mono_ns, self.report.end_mono_ns) = (start_mono_ns, end_mono_ns);
        self.change(|sampler| sampler.set_window(start_mono_ns, end_mono_ns));
    }

    /// Nothing is sampled any more where the kernel refuses a change.
    fn change(&mut self, change: impl FnOnce(&mut Sampler) -> Result<(), Refused>) {
        if let Some(Err(refused)) = self.sampler.as_mut().map(change) {
            self.report.reason = Some(refused.reason);
            self.sampler = None;
        }
    }

    /// Ends sampling; what it was worth, and what was found. `program_tags` are those of the BPF programs of this measurement.
    pub fn finish(self, program_tags: Vec<String>) -> (ProfileReport, Option<Profile>) {
        let report = ProfileReport { end_mono_ns: self.report.end_mono_ns.min(mono_ns()), ..self.report };
        let Some(sampler) = self.sampler else { return (report, None) };
        match sampler.finish() {
            Ok(found) => {
                let profile = Symbols::open(program_tags, "/proc/self/exe".into()).resolve(&found);
                let report = ProfileReport {
                    event: Some(profile.event),
                    unnamed: profile.unnamed.clone(),
                    unnamed_programs: profile.unnamed_programs.clone(),
                    cpus: profile.cpus.clone(),
                    samples_count: profile.samples_count,
                    lost_samples_count: profile.lost_count,
                    own_ns: profile.own_ns,
                    keeps_interrupts_apart: profile.keeps_interrupts_apart,
                    on_cpu_ns: profile.on_cpu_ns,
                    ..report
                };
                (report, Some(profile))
            }
            Err(refused) => (ProfileReport { reason: Some(refused.reason), ..report }, None),
        }
    }
}
