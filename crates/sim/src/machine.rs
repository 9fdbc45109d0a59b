//! An end system of any operating system, so that two kinds can meet in one run.

use crate::application::{Application, Executed};
use crate::calls::AtCall;
use crate::end_system::{Arrival, Departure, EndState, EndSystem, Hello, LEVELS, Outbox};
use crate::link::LinkSpec;
use crate::profile::{HostProfile, Refusal};
use crate::stages::Staged;
use crate::time::Ps;
use crate::{linux, solaris, sunos};

/// One of the kinds.
#[derive(Debug, Clone)]
pub enum Machine {
    /// `SunOS` 4.1.
    Sunos(Box<sunos::host::Host>),
    /// Solaris 8.
    Solaris(Box<solaris::host::Host>),
    /// Linux.
    Linux(Box<linux::host::Host>),
}

/// The same for each kind, without a call through a table.
macro_rules! each {
    ($machine:expr, $end:ident => $call:expr) => {
        match $machine {
            Machine::Sunos($end) => $call,
            Machine::Solaris($end) => $call,
            Machine::Linux($end) => $call,
        }
    };
}

/// Requests to a host's socket; `None` leaves what its system gives by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Send buffer, in bytes.
    pub send_bytes: Option<u32>,
    /// Receive buffer, in bytes.
    pub receive_bytes: Option<u32>,
    /// Most that it may announce, in bytes.
    pub window_bytes: Option<u32>,
    /// Upper bound of its rate, in bytes a second; only Linux has it.
    pub pacing_rate: Option<u64>,
    /// It asks for ECN (`tcp_ecn` 1); only Linux has it.
    pub has_ecn: bool,
}

impl Buffers {
    /// All of one size, as the studies' hosts had them.
    pub fn all(bytes: u32) -> Self {
        Self { send_bytes: Some(bytes), receive_bytes: Some(bytes), window_bytes: Some(bytes), pacing_rate: None, has_ecn: false }
    }

    /// The one size that an old system has for both, or its default.
    fn one_or(&self, default_bytes: u32) -> u32 {
        self.receive_bytes.or(self.send_bytes).or(self.window_bytes).unwrap_or(default_bytes)
    }
}

/// A host from its profile with buffers of one size, and the line that it is for.
///
/// # Errors
/// What is wrong with the profile, by name, and a system that has no model.
pub fn build(profile: &HostProfile, window_bytes: u32, application: Application, seed: u64) -> Result<(Machine, LinkSpec), Refusal> {
    build_with(profile, &Buffers::all(window_bytes), application, seed)
}

/// A host from its profile, and the line that it is for.
///
/// # Errors
/// Those of [`build`].
pub fn build_with(profile: &HostProfile, buffers: &Buffers, application: Application, seed: u64) -> Result<(Machine, LinkSpec), Refusal> {
    build_several(profile, buffers, vec![application], seed)
}

/// A host from its profile with a connection for each process, and the line that it is for.
///
/// # Errors
/// Those of [`build`], and a system whose hosts have one connection here.
pub fn build_several(
    profile: &HostProfile,
    buffers: &Buffers,
    applications: Vec<Application>,
    seed: u64,
) -> Result<(Machine, LinkSpec), Refusal> {
    match profile.system.as_str() {
        "sunos-4.1" => {
            let (spec, link) = sunos::profile::read(profile, buffers.one_or(sunos::spec::DEFAULT_WINDOW_BYTES))?;
            Ok((Machine::Sunos(Box::new(sunos::host::Host::new(spec, only(profile, applications)?, seed))), link))
        }
        "linux" => {
            let (spec, link) = linux::profile::read(profile, buffers)?;
            Ok((Machine::Linux(Box::new(linux::host::Host::with_several(spec, applications, seed))), link))
        }
        "solaris-8" => {
            let (spec, link) = solaris::profile::read(profile, buffers.one_or(solaris::spec::DEFAULT_WINDOW_BYTES))?;
            Ok((Machine::Solaris(Box::new(solaris::host::Host::with_several(spec, applications, seed))), link))
        }
        other => Err(Refusal::Unknown { kind: "system", name: other.to_owned(), known: "sunos-4.1, solaris-8, linux".to_owned() }),
    }
}

fn only(profile: &HostProfile, mut applications: Vec<Application>) -> Result<Application, Refusal> {
    let (count, HostProfile { host, system, .. }) = (applications.len(), profile);
    let refused = Refusal::Several { host: host.clone(), system: system.clone(), count };
    if count == 1 { applications.pop().ok_or(refused) } else { Err(refused) }
}

impl EndSystem for Machine {
    fn hello(&self) -> Hello {
        each!(self, end => end.hello())
    }

    fn open(&mut self, peer: &Hello) {
        each!(self, end => end.open(peer));
    }

    fn next_at(&self) -> Option<Ps> {
        each!(self, end => end.next_at())
    }

    fn advance(&mut self, now: Ps, out: &mut Outbox) {
        each!(self, end => end.advance(now, out));
    }

    fn on_accepted(&mut self, departure: &Departure, left: Ps) {
        each!(self, end => end.on_accepted(departure, left));
    }

    fn is_taking(&self, connection: u16) -> bool {
        each!(self, end => end.is_taking(connection))
    }

    fn on_interrupting(&mut self, now: Ps, connection: u16) {
        each!(self, end => end.on_interrupting(now, connection));
    }

    fn arrive(&mut self, now: Ps, arrival: &Arrival) {
        each!(self, end => end.arrive(now, arrival));
    }

    fn taken_frames(&self) -> (u64, u16) {
        each!(self, end => end.taken_frames())
    }

    fn on_peer_took(&mut self, now: Ps, connection: u16, frames: u64) {
        each!(self, end => end.on_peer_took(now, connection, frames));
    }

    fn delivered_bytes(&self) -> u64 {
        each!(self, end => end.delivered_bytes())
    }

    fn is_complete(&self) -> bool {
        each!(self, end => end.is_complete())
    }

    fn connections_count(&self) -> u16 {
        each!(self, end => end.connections_count())
    }

    fn keep_stages(&mut self) {
        each!(self, end => end.keep_stages());
    }

    fn stages(&mut self) -> Vec<Staged> {
        each!(self, end => end.stages())
    }

    fn at_call(&self, connection: u16) -> AtCall {
        each!(self, end => end.at_call(connection))
    }

    fn processors(&self) -> Vec<[Ps; LEVELS]> {
        each!(self, end => end.processors())
    }

    fn adapter_busy(&self) -> [Ps; 2] {
        each!(self, end => end.adapter_busy())
    }

    fn connection_state(&self, now: Ps, connection: u16) -> EndState {
        each!(self, end => end.connection_state(now, connection))
    }

    fn executed(&self) -> Vec<Executed> {
        each!(self, end => end.executed())
    }

    fn waits_for(&self, connection: u16) -> String {
        each!(self, end => end.waits_for(connection))
    }
}
