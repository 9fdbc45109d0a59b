//! The transfers of study 1 on the shipped hosts; and those of study 2.

mod ablations;
mod flows;
mod loss;
mod solaris;
mod tables;
mod throughputs;

use sim::application::Application;
use sim::link::LinkSpec;
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::sunos::host::Host;
use sim::sunos::profile;
use sim::sunos::spec::HostSpec;
use sim::world::{End, Outcome, WorldSpec, run};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static LIBRARY: LazyLock<Library> = LazyLock::new(|| Library::shipped().expect("shipped"));

pub const OLD: &str = "sparc2+sba-100@2.0";
pub const NEW: &str = "sparc2+sba-100@2.2.6";
pub const FASTER: &str = "sparc10+sba-100@2.2.6";
pub const DMA: &str = "sparc10+sba-200@2.2.6";
pub const MEGABYTES: u64 = 1 << 20;
/// A transfer of the study. Flows change late in it, so that shorter ones say less of its throughputs.
pub const WHOLE: u64 = 16 * MEGABYTES;

/// Two hosts of a kind, and the line between them.
#[derive(Clone, Copy)]
pub struct Pair {
    pub spec: HostSpec,
    pub link: LinkSpec,
}

/// What a transfer is.
#[derive(Clone, Copy)]
pub struct Transfer {
    pub window_bytes: u32,
    pub write_bytes: u32,
    pub read_bytes: u32,
    pub bytes: u64,
    pub seed: u64,
}

/// Window and calls of both hosts alike.
pub fn of(window_bytes: u32, call_bytes: u32) -> Transfer {
    Transfer { window_bytes, write_bytes: call_bytes, read_bytes: call_bytes, bytes: 4 * MEGABYTES, seed: 1 }
}

impl Pair {
    /// With a set of the ensemble.
    pub fn of_set(expression: &str, set: usize) -> Self {
        let profile = LIBRARY.resolve_set(expression, set).expect("shipped");
        let (spec, link) = profile::read(&profile, 4096).expect("it can be read");
        Self { spec, link }
    }

    /// With one rule or number of the profile changed.
    pub fn changed(expression: &str, key: &str, value: Value) -> Self {
        let mut profile = LIBRARY.resolve(expression).expect("shipped");
        profile.set(key, value).expect("the key is there");
        let (spec, link) = profile::read(&profile, 4096).expect("it can be read");
        Self { spec, link }
    }

    /// As its profile has it.
    pub fn shipped(expression: &str) -> Self {
        let profile = LIBRARY.resolve(expression).expect("shipped");
        let (spec, link) = profile::read(&profile, 4096).expect("it can be read");
        Self { spec, link }
    }

    /// With its log.
    pub fn run(&self, transfer: Transfer) -> Outcome {
        self.run_as(transfer, true)
    }

    fn run_as(&self, transfer: Transfer, is_logged: bool) -> Outcome {
        let Transfer { window_bytes, write_bytes, read_bytes, bytes: left_bytes, seed } = transfer;
        let spec = HostSpec { window_bytes, ..self.spec };
        let writer = Host::new(spec, Application::Writer { call_bytes: write_bytes, left_bytes }, seed ^ 0x57);
        let reader = Host::new(spec, Application::Reader { call_bytes: read_bytes, left_bytes }, seed ^ 0x52);
        let outcome = run(&WorldSpec { link: self.link, until: None, is_logged }, [writer, reader]);
        assert_eq!(outcome.end, End::Complete);
        assert_eq!(outcome.states[1].read_bytes, left_bytes);
        outcome
    }

    /// Mean over seeds, in Mbit/s.
    pub fn rate(&self, transfer: Transfer, seeds: u64) -> f64 {
        let rates = (0..seeds).map(|seed| self.run_as(Transfer { seed, ..transfer }, false).goodput_bps(1) / 1e6);
        rates.sum::<f64>() / seeds as f64
    }
}

/// How many sets there are.
pub fn sets() -> usize {
    LIBRARY.sets_count("sunos-4.1")
}

/// Bytes that were sent in cycles of such payloads, as a share of all.
pub fn share(outcome: &Outcome, cycle: &[u32]) -> f64 {
    let mut shares = BTreeMap::<Vec<u32>, u64>::new();
    for cycle in outcome.log.cycles() {
        let bytes: u32 = cycle.iter().sum();
        *shares.entry(cycle).or_default() += u64::from(bytes);
    }
    shares.get(cycle).map_or(0.0, |&bytes| bytes as f64 / outcome.states[1].read_bytes as f64)
}

/// Payloads in the order in which they left.
pub fn payloads(outcome: &Outcome) -> Vec<u32> {
    outcome.log.entries.iter().map(|entry| entry.segment.bytes).filter(|&bytes| bytes > 0).collect()
}
