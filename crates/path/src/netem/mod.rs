//! An emulated path by the kernel's own queueing disciplines: `netem`, `tbf`, `codel` and `red`.
//!
//! The disciplines that each direction passes are in [`plan`], their places in `halves`. The kernel decides over every
//! packet by itself; all that is seen of it are the counts of the disciplines, which a thread reads
//! at the end of every interval. How late a packet left, nobody knows.
//!
//! - `plan`, `red`: which disciplines with which settings.
//! - `encode`, `talk`, `answer`, `counts`: setting the kernel, and reading what it counted.
//! - `halves`: the namespaces in the path namespace.
//! - `watch`: the thread that reads the counts.

mod answer;
mod counts;
mod encode;
mod halves;
pub mod plan;
pub mod red;
mod talk;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};

use schema::path::{PathAudit, PathSpec};
use schema::testbed::TestbedSpec;

use crate::ends::{FAR, NEAR};
use crate::error::PathError;
use crate::link;
use crate::netns::Netns;
use halves::Half;
use plan::{DirectionPlan, Plan, Qdisc};
use talk::Talk;
pub use watch::Interval;
use watch::{QdiscPlace, Watch};

/// The counts from the start of a path to its end.
#[derive(Debug)]
pub struct Counted {
    /// By interval: forward, then backward.
    pub intervals: [Vec<Interval>; 2],
    /// The audit: what can be said of how well it was carried.
    pub audit: PathAudit,
}

/// Where the disciplines of one direction lie: on the sending end, in the first half that it
/// crosses, in the second.
type QdiscPlaces = [QdiscPlace; 3];

/// A path of the kernel's.
#[derive(Debug)]
pub struct Netem {
    halves: [Half; 2],
    places: Arc<[QdiscPlaces; 2]>,
    cpu: Option<u32>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: Option<(PathSpec, Plan, u64)>,
    watch: Option<Watch>,
}

impl Netem {
    /// Makes the path namespace. The ends' devices are not up yet.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn build(near: &Netns, far: &Netns, spec: &TestbedSpec) -> Result<Self, PathError> {
        let halves = halves::build(near, far, spec.mtu_bytes)?;
        for half in &halves {
            half.bring_up(spec, spec.path_cpu)?;
        }
        let [left, right] = &halves;
        let place = |netns: &Netns, device: &'static str| {
            netns.run(|| {
                let talk = Talk::open().map_err(|error| PathError::system("open a netlink socket", error))?;
                Ok(QdiscPlace { talk, device, index: link::read(device)?.index })
            })
        };
        let forward = [place(near, NEAR.device)?, place(&left.netns, left.far_plug.device)?, place(&right.netns, right.far_plug.device)?];
        let backward = [place(far, FAR.device)?, place(&right.netns, right.near_plug.device)?, place(&left.netns, left.near_plug.device)?];
        Ok(Self { places: Arc::new([forward, backward]), cpu: spec.path_cpu, halves, state: Mutex::default() })
    }

    /// Waits until the devices pass packets, which they do when the ends' are up too, and routes
    /// between them.
    ///
    /// # Errors
    /// They do not.
    pub fn route(&self, ipv6: bool) -> Result<(), PathError> {
        self.halves.iter().try_for_each(|half| half.route(ipv6))
    }

    /// Becomes the path of `spec`, without what happens whatever the load.
    ///
    /// # Errors
    /// The kernel lacks a discipline, or refuses it.
    pub fn carry(&self, spec: &PathSpec, mtu_bytes: u32, budget_ns: u64) -> Result<(), PathError> {
        let mut state = self.state();
        state.watch = None;
        self.clear()?;
        let plan = plan::plan(spec, mtu_bytes);
        for ([edge, first, second], way) in self.places.iter().zip(&plan.0) {
            first.add(way.bottleneck.as_ref())?;
            second.add(way.line.as_ref())?;
            // That it can be is found out now, not in the midst of a trial.
            edge.add(way.edge.as_ref())?;
            edge.remove()?;
        }
        state.asked = Some((spec.clone(), plan, budget_ns));
        Ok(())
    }

    /// From `at_mono_ns` on it is all of the path, and its counts begin.
    ///
    /// # Errors
    /// No path is carried, or the thread cannot be started.
    pub fn start_path(&self, at_mono_ns: u64) -> Result<(), PathError> {
        let mut state = self.state();
        let Some((spec, plan, budget_ns)) = state.asked.clone() else {
            return Err(PathError::Path { sentence: "no path is carried that could begin; carry one first".to_owned() });
        };
        let watch = Watch::start(Arc::clone(&self.places), plan, at_mono_ns, spec.interval_ns, budget_ns)
            .map_err(|error| PathError::system("start the thread that reads the path's counts", error))?;
        state.watch = Some(watch);
        Ok(())
    }

    /// Lets everything pass again, and reports what was counted since the start.
    ///
    /// # Errors
    /// The counts could not be read.
    pub fn end(&self) -> Result<Counted, PathError> {
        let mut state = self.state();
        let counted = match state.watch.take() {
            Some(watch) => watch.end().map_err(|error| PathError::system("read the path's counts", error))?,
            None => Counted { intervals: [Vec::new(), Vec::new()], audit: PathAudit::default() },
        };
        state.asked = None;
        self.clear()?;
        Ok(counted)
    }

    /// Packets that the path namespace's devices dropped since they exist.
    ///
    /// # Errors
    /// The devices are gone.
    pub fn dropped_packets(&self) -> Result<u64, PathError> {
        let of_half = |half: &Half| {
            half.netns.run(|| {
                [half.near_plug, half.far_plug]
                    .iter()
                    .map(|plug| link::read(plug.device).map(|link| link.dropped_packets))
                    .sum::<Result<u64, _>>()
            })
        };
        self.halves.iter().map(of_half).sum()
    }

    /// As it is reported to the controller.
    pub fn report(&self) -> schema::testbed::TestbedMiddle {
        let [left, right] = &self.halves;
        schema::testbed::TestbedMiddle {
            implementation: "netem".to_owned(),
            netns: left.netns.path(),
            devices: [left.near_plug, left.far_plug, right.near_plug, right.far_plug].map(|plug| plug.device.to_owned()).to_vec(),
            cpu: self.cpu,
        }
    }

    fn clear(&self) -> Result<(), PathError> {
        self.places.iter().flatten().try_for_each(QdiscPlace::remove)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QdiscPlace {
    fn add(&self, qdisc: Option<&Qdisc>) -> Result<(), PathError> {
        qdisc.map_or(Ok(()), |qdisc| self.talk.add(self.index, qdisc).map_err(|error| halves::refusal(error, self.device)))
    }

    fn remove(&self) -> Result<(), PathError> {
        self.talk.remove(self.index).map_err(|error| PathError::system(format!("clear {}", self.device), error))
    }
}

impl DirectionPlan {
    /// The discipline at a place, in the order of the places.
    fn at(&self, place: usize) -> Option<&Qdisc> {
        [&self.edge, &self.bottleneck, &self.line][place].as_ref()
    }
}
