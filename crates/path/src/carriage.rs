//! Both ways to carry out an emulated path: one interface, two implementations.

use schema::path::{PathAudit, PathImplementation, PathSpec};
use schema::testbed::{TestbedMiddle, TestbedSpec};

use crate::error::PathError;
use crate::netem::{self, Netem};
use crate::netns::Netns;
use crate::path_namespace::PathNamespace;
use crate::router;

/// The implementation of a testbed's path.
#[derive(Debug)]
pub(crate) enum Carriage {
    /// The router in user space.
    Router(PathNamespace),
    /// The kernel's queueing disciplines.
    Netem(Box<Netem>),
}

/// All that was carried from the start of a path to its end.
#[derive(Debug)]
pub enum Carried {
    /// By the router, with the model's counts.
    Routed(Box<router::Carried>),
    /// By the kernel, with its counts.
    Counted(netem::Counted),
}

impl Carried {
    /// The audit of how well it was carried.
    pub fn audit(&self) -> &PathAudit {
        match self {
            Carried::Routed(carried) => &carried.audit,
            Carried::Counted(counted) => &counted.audit,
        }
    }

    /// The same, to be added to.
    pub(crate) fn audit_mut(&mut self) -> &mut PathAudit {
        match self {
            Carried::Routed(carried) => &mut carried.audit,
            Carried::Counted(counted) => &mut counted.audit,
        }
    }
}

impl Carriage {
    /// Makes the path namespace of the testbed. The ends' devices are not up yet.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn build(near: &Netns, far: &Netns, spec: &TestbedSpec, implementation: PathImplementation) -> Result<Self, PathError> {
        match implementation {
            PathImplementation::Auto | PathImplementation::Router => {
                PathNamespace::build(near, far, spec.mtu_bytes, spec.path_cpu).map(Self::Router)
            }
            PathImplementation::Netem => Netem::build(near, far, spec).map(|netem| Self::Netem(Box::new(netem))),
        }
    }

    /// Waits until the path namespace passes packets, which it does when the ends' devices are up too.
    ///
    /// # Errors
    /// It does not.
    pub fn await_up(&self, ipv6: bool) -> Result<(), PathError> {
        match self {
            Self::Router(middle) => middle.await_up(),
            Self::Netem(netem) => netem.route(ipv6),
        }
    }

    /// Becomes the path of `spec`, without its losses until it begins.
    ///
    /// # Errors
    /// It cannot.
    pub fn carry(&self, spec: &PathSpec, mtu_bytes: u32, budget_ns: u64) -> Result<(), PathError> {
        match (self, spec.implementation) {
            (Self::Router(middle), PathImplementation::Auto | PathImplementation::Router) => {
                middle.router().carry(spec, budget_ns).map_err(|error| PathError::system("carry the path", error))
            }
            (Self::Netem(netem), PathImplementation::Netem) => netem.carry(spec, mtu_bytes, budget_ns),
            _ => {
                let sentence = "this testbed was built for another path_implementation; build it anew for this one".to_owned();
                Err(PathError::Path { sentence })
            }
        }
    }

    /// From `at_mono_ns` on it is all of the path, and its counts begin.
    ///
    /// # Errors
    /// It cannot.
    pub fn start_path(&self, at_mono_ns: u64) -> Result<(), PathError> {
        match self {
            Self::Router(middle) => middle.router().start_path(at_mono_ns).map_err(|error| PathError::system("begin the path", error)),
            Self::Netem(netem) => netem.start_path(at_mono_ns),
        }
    }

    /// Lets everything pass again, and reports what was since the start.
    ///
    /// # Errors
    /// It cannot report.
    pub fn end(&self) -> Result<Carried, PathError> {
        match self {
            Self::Router(middle) => middle
                .router()
                .end()
                .map(|carried| Carried::Routed(Box::new(carried)))
                .map_err(|error| PathError::system("end the path", error)),
            Self::Netem(netem) => netem.end().map(Carried::Counted),
        }
    }

    /// Packets that the path namespace's devices dropped since they exist.
    ///
    /// # Errors
    /// The devices are gone.
    pub fn dropped_packets(&self) -> Result<u64, PathError> {
        match self {
            Self::Router(middle) => middle.dropped_packets(),
            Self::Netem(netem) => netem.dropped_packets(),
        }
    }

    /// As it is reported to the controller.
    pub fn report(&self) -> TestbedMiddle {
        match self {
            Self::Router(middle) => middle.report(),
            Self::Netem(netem) => netem.report(),
        }
    }
}
