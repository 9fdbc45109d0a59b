//! Evidence of chosen sockets from inside the kernel: BPF programs that see only these sockets, and stack samples. At
//! level user there is none.

use probe::clock::mono_ns;
use probe::sockets::Socket;
use probe::sockets::settings::{Settings, SettingsReader};
use record::Columns;
use record::host::connection::Segments;
use record::host::intervals::Interval;
use record::host::stacks;
use record::host::watched::FixedOptions;
use schema::evidence::{Evidence, EvidenceReport};
use schema::watch::WatchSpec;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;

use super::socket_evidence::{Finished, SocketEvidence};
use crate::profile::StackSampling;

/// The settings of all sockets are read no more often.
const SETTINGS_NS: u64 = 50_000_000;

/// A socket when it is chosen, before its first sample.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// Number of its connection in the tables.
    pub connection: u32,
    /// The answer of `sock_diag`: addresses as the kernel has them (one of IPv4 in an IPv6 socket is mapped), cookie,
    /// inode, and the connection's `TCP_INFO` with its window scales.
    pub socket: &'a Socket,
}

/// The results that the evidence leaves when it ends.
#[derive(Default)]
pub struct Left {
    /// Its worth.
    pub report: EvidenceReport,
    /// Tables in memory.
    pub tables: Vec<Columns>,
    /// Tables that grew in files, by their names.
    pub files: Vec<(&'static str, File)>,
}

/// The evidence of one watch. Its methods are called by the watch's one thread; none of them waits or fails: what cannot
/// be had is in the report.
pub struct KernelEvidence {
    host: String,
    asked: Evidence,
    /// Why the level is lower.
    reason: Option<String>,
    sockets: Option<SocketEvidence>,
    settings: Option<KnownSettings>,
    sampling: Option<StackSampling>,
    processes: BTreeSet<u32>,
}

/// The settings that programs have made of their sockets, as they were last read.
struct KnownSettings {
    reader: SettingsReader,
    by_cookie: HashMap<u64, Settings>,
    read_ns: u64,
}

impl KnownSettings {
    fn of(&mut self, cookie: u64) -> Option<Settings> {
        let now_ns = mono_ns();
        if !self.by_cookie.contains_key(&cookie) && now_ns.saturating_sub(self.read_ns) >= SETTINGS_NS {
            self.by_cookie = self.reader.read().unwrap_or_default();
            self.read_ns = now_ns;
        }
        self.by_cookie.get(&cookie).copied()
    }
}

#[allow(clippy::unused_self, reason = "at level user nothing is kept of sockets")]
impl KernelEvidence {
    /// Loads and attaches what the level asks for, as far as this host allows. No socket is chosen yet.
    pub fn start(spec: &WatchSpec) -> Self {
        let (mut sockets, mut reason) = (None, None);
        for level in [Evidence::Segments, Evidence::Counters].into_iter().filter(|level| *level <= spec.evidence) {
            match SocketEvidence::open(spec, level) {
                Ok(opened) => {
                    sockets = Some(opened);
                    break;
                }
                Err(refused) => reason = reason.or(Some(refused.reason)),
            }
        }
        let reader = if sockets.is_some() { SettingsReader::open().ok() } else { None };
        Self {
            host: spec.host.clone(),
            asked: spec.evidence,
            reason,
            sockets,
            settings: reader.map(|reader| KnownSettings { reader, by_cookie: HashMap::new(), read_ns: 0 }),
            sampling: spec.profile_hz.map(StackSampling::of_watch),
            processes: BTreeSet::new(),
        }
    }

    /// The level that is taken now.
    pub fn level(&self) -> Evidence {
        self.sockets.as_ref().map_or(Evidence::User, SocketEvidence::level)
    }

    /// Why it is lower than asked for.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Sees this socket from now on. Returns what `sock_diag` cannot say of it.
    pub fn choose(&mut self, chosen: Chosen<'_>) -> FixedOptions {
        if let Some(sockets) = &mut self.sockets {
            sockets.choose(chosen.connection, chosen.socket);
        }
        let settings = self.settings.as_mut().and_then(|settings| settings.of(chosen.socket.key.cookie));
        FixedOptions {
            send_buffer_fixed: settings.map(|settings| settings.send_buffer_fixed),
            receive_buffer_fixed: settings.map(|settings| settings.receive_buffer_fixed),
            no_delay: settings.map(|settings| settings.no_delay),
            window_clamp_bytes: settings.map(|settings| settings.window_clamp_bytes),
        }
    }

    /// This socket has closed; its rows are kept.
    pub fn on_closed(&mut self, connection: u32) {
        if let Some(sockets) = &mut self.sockets {
            sockets.on_closed(connection);
        }
    }

    /// This connection is watched no more, to make room for a busier one. Rows of it that are written already stay, under a
    /// number that no connection has.
    pub fn drop_connection(&mut self, connection: u32) {
        if let Some(sockets) = &mut self.sockets {
            sockets.drop_connection(connection);
        }
    }

    /// The programs that hold chosen sockets are these, by their processes' numbers in the agent's PID namespace.
    pub fn on_processes(&mut self, processes: &BTreeSet<u32>) {
        if self.processes == *processes {
            return;
        }
        self.processes.clone_from(processes);
        let processes: Vec<u32> = processes.iter().copied().collect();
        if let Some(sockets) = &mut self.sockets {
            sockets.set_processes(&processes);
        }
        if let Some(sampling) = &mut self.sampling {
            sampling.set_load(&processes);
        }
    }

    /// The end of an interval of the connections: rows of what was counted in it. Called right after their samples.
    pub fn sample_connections(&mut self, interval: Interval) {
        if let Some(sockets) = &mut self.sockets {
            sockets.sample_connections(interval);
        }
    }

    /// The end of an interval of the CPUs, as in the table `cpu`.
    pub fn sample_cpus(&mut self, interval: Interval) {
        if let Some(sockets) = &mut self.sockets {
            sockets.sample_cpus(interval);
        }
    }

    /// Detaches everything. `segments` are those that TCP counted of each connection from its first sample after it was
    /// chosen to its last one.
    pub fn finish(self, segments: impl Iterator<Item = (u32, Segments)>) -> Left {
        let Self { host, asked, reason, sockets, sampling, .. } = self;
        // Sampling ends first: the rest is no work of the programs that are watched.
        let tags = sockets.as_ref().map(SocketEvidence::program_tags).unwrap_or_default();
        let (profile, found) = sampling.map(|sampling| sampling.finish(tags)).unzip();
        let mut left = match sockets.map(|sockets| sockets.finish(asked, segments)) {
            Some(Finished { report, softirqs, files }) => Left { report, tables: vec![softirqs], files },
            None => Left { report: EvidenceReport { asked, ..EvidenceReport::default() }, ..Left::default() },
        };
        left.report.reason = reason.or(left.report.reason);
        left.report.profile = profile.map(Box::new);
        if let Some(profile) = found.flatten() {
            left.tables.extend(stacks::tables(&host, &profile));
        }
        left
    }
}
