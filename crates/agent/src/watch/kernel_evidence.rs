//! Evidence of chosen sockets from inside the kernel: BPF programs that see only these sockets, and stack samples. At
//! level user there is none.

use probe::sockets::Socket;
use record::Columns;
use record::host::intervals::Interval;
use record::host::watched::FixedOptions;
use schema::evidence::{Evidence, EvidenceReport};
use schema::watch::WatchSpec;
use std::fs::File;

/// A socket when it is chosen, before its first sample.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// Number of its connection in the tables.
    pub connection: u32,
    /// What `sock_diag` says of it: addresses as the kernel has them (one of IPv4 in an IPv6 socket is mapped), cookie,
    /// inode, and the connection's `TCP_INFO` with its window scales.
    pub socket: &'a Socket,
    /// The process that holds it, where it is known.
    pub process: Option<u32>,
}

/// What the evidence leaves when it ends.
#[derive(Default)]
pub struct Left {
    /// What it is worth.
    pub report: EvidenceReport,
    /// Tables in memory.
    pub tables: Vec<Columns>,
    /// Tables that grew in files, by their names.
    pub files: Vec<(&'static str, File)>,
}

/// The evidence of one watch. Its methods are called by the watch's one thread; none of them waits or fails: what cannot
/// be had is in the report.
pub struct KernelEvidence {
    asked: Evidence,
    reason: Option<String>,
}

#[allow(clippy::unused_self, reason = "at level user nothing is kept of sockets")]
impl KernelEvidence {
    /// Loads and attaches what the level asks for, as far as this host allows. No socket is chosen yet.
    pub fn start(spec: &WatchSpec) -> Self {
        let reason = (spec.evidence != Evidence::User).then(|| "watched sockets are seen through sock_diag only".to_owned());
        Self { asked: spec.evidence, reason }
    }

    /// The level that is taken now.
    pub fn level(&self) -> Evidence {
        Evidence::User
    }

    /// Why it is lower than asked for.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Sees this socket from now on. Returns what `sock_diag` cannot say of it.
    pub fn choose(&mut self, chosen: Chosen<'_>) -> FixedOptions {
        let Chosen { connection, socket, process } = chosen;
        tracing::debug!("connection {connection} is socket {} of process {process:?}", socket.key.cookie);
        FixedOptions::default()
    }

    /// This socket has closed; its rows are kept.
    pub fn on_closed(&mut self, _connection: u32) {}

    /// This connection is watched no more, to make room for a busier one: its rows are left out of all tables.
    pub fn drop_connection(&mut self, _connection: u32) {}

    /// The threads of the programs that hold chosen sockets have changed: all of them, by their numbers in the agent's PID
    /// namespace.
    pub fn on_threads(&mut self, _threads: &[u32]) {}

    /// The end of an interval of the connections: rows of what was counted in it. Called right after their samples.
    pub fn sample_connections(&mut self, _interval: Interval) {}

    /// The end of an interval of the CPUs, as in the table `cpu`.
    pub fn sample_cpus(&mut self, _interval: Interval) {}

    /// Detaches everything.
    pub fn finish(self) -> Left {
        let report = EvidenceReport { asked: self.asked, got: Evidence::User, reason: self.reason, ..EvidenceReport::default() };
        Left { report, ..Left::default() }
    }
}
