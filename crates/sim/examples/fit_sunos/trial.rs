//! One transfer between two hosts of a kind.

use sim::application::Application;
use sim::link::LinkSpec;
use sim::profile::HostProfile;
use sim::sunos::host::Host;
use sim::sunos::profile;
use sim::sunos::spec::HostSpec;
use sim::world::{Outcome, WorldSpec, run};

/// A host with some numbers.
#[derive(Clone, Copy)]
pub struct Kind {
    spec: HostSpec,
    link: LinkSpec,
}

impl Kind {
    /// From its profile; `None` where its numbers cannot be.
    pub fn new(profile: &HostProfile) -> Option<Self> {
        let (spec, link) = profile::read(profile, 4096).ok()?;
        Some(Self { spec, link })
    }

    /// The costs of its steps.
    pub fn costs(&self) -> &sim::sunos::spec::Costs {
        &self.spec.costs
    }

    /// So many bytes with a window and calls of that size at both hosts.
    pub fn transfer(&self, window_bytes: u32, call_bytes: u32, left_bytes: u64, seed: u64) -> Outcome {
        self.run(window_bytes, [call_bytes; 2], left_bytes, seed, false)
    }

    /// The same with writes of one size and reads of another.
    pub fn transfer_of(&self, window_bytes: u32, [write_bytes, read_bytes]: [u32; 2], left_bytes: u64, seed: u64) -> Outcome {
        self.run(window_bytes, [write_bytes, read_bytes], left_bytes, seed, false)
    }

    /// Payloads between two acknowledgments, in order.
    pub fn cycles(&self, window_bytes: u32, call_bytes: u32, left_bytes: u64, seed: u64) -> Vec<Vec<u32>> {
        self.run(window_bytes, [call_bytes; 2], left_bytes, seed, true).log.cycles()
    }

    fn run(&self, window_bytes: u32, [write_bytes, read_bytes]: [u32; 2], left_bytes: u64, seed: u64, is_logged: bool) -> Outcome {
        let spec = HostSpec { window_bytes, ..self.spec };
        let writer = Host::new(spec, Application::Writer { call_bytes: write_bytes, left_bytes }, seed ^ 0x57);
        let reader = Host::new(spec, Application::Reader { call_bytes: read_bytes, left_bytes }, seed ^ 0x52);
        run(&WorldSpec { link: self.link, until: None, is_logged }, [writer, reader])
    }

    /// Mean throughput over seeds from 0 on, in Mbit/s.
    pub fn rate(&self, window_bytes: u32, call_bytes: u32, left_bytes: u64, seeds: u64) -> f64 {
        let sum: f64 = (0..seeds).map(|seed| self.transfer(window_bytes, call_bytes, left_bytes, seed).goodput_bps(1) / 1e6).sum();
        sum / seeds as f64
    }
}
