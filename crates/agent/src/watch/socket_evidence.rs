//! BPF counts and logs of the watched sockets: rows of `counters`, `sizes`, `softirqs`, `segments` and `calls`.

use probe::clock::mono_ns;
use probe::evidence::{ChosenSocket, ChosenWatch, Connection, Cpu, Refused, Watch, network_namespace};
use probe::sockets::Socket;
use record::host::connection::Segments;
use record::host::counted::{self, Whose};
use record::host::intervals::Interval;
use record::{Columns, Log, RecordError, Rows};
use schema::evidence::{Evidence, EvidenceReport};
use schema::table::{CounterRow, SizeRow, SoftirqRow};
use schema::trial::Role;
use schema::watch::WatchSpec;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use super::known_numbers::KnownNumbers;
use crate::evidence;
use crate::segment_log::{KnownConnection, LogRequest, LogSource, SegmentLog, Written};

/// A log of segments and calls that is longer is broken off, in bytes.
const LOG_BYTES_MOST: u64 = 1 << 30;
/// A socket that has closed is seen for so long: its last segments, and what is sent for it without it.
const LINGER_NS: u64 = 500_000_000;
/// Records of the logs are read within so long.
const LOG_WAIT: Duration = Duration::from_secs(10);
/// A number is that of its connection for so long after the socket is forgotten: longer than its records wait, and shorter than
/// it takes until the number is given again.
const NUMBER_NS: u64 = 60_000_000_000;
/// State of a socket that has sent a SYN (`TCP_SYN_SENT`, `include/net/tcp_states.h`).
const SYN_SENT: u8 = 2;

/// A socket that has closed.
struct Closing {
    connection: u32,
    number: u16,
    socket: ChosenSocket,
    closed_ns: u64,
}

/// The programs, and the rows of what they see.
pub struct SocketEvidence {
    watch: Arc<ChosenWatch>,
    host: String,
    known: Arc<KnownNumbers>,
    log: Option<SegmentLog>,
    /// Sockets that are open, by their connections.
    open: BTreeMap<u32, (u16, ChosenSocket)>,
    closing: Vec<Closing>,
    /// Numbers of sockets that are forgotten, and since when.
    retired: VecDeque<(u64, u16)>,
    /// The counts of each connection when its rows were made; of those that are over, until their end.
    counted: BTreeMap<u32, Connection>,
    /// Of those that are over since: until their end.
    over: BTreeMap<u32, Connection>,
    cpus_before: Vec<Cpu>,
    counters: Log<CounterRow<'static>>,
    sizes: Log<SizeRow<'static>>,
    softirqs: Rows<SoftirqRow<'static>>,
    /// True if programs of processes are watched: what they open is seen from its SYN on.
    follows_processes: bool,
    /// Connections that the programs do not see, and why.
    refused: (u64, Option<String>),
    /// Why there are no more rows.
    broken_off: Option<String>,
}

/// Records of the watched sockets.
struct OfWatch {
    watch: Arc<ChosenWatch>,
    known: Arc<KnownNumbers>,
}

impl LogSource for OfWatch {
    fn watch(&self) -> &Watch {
        self.watch.watch()
    }

    fn stop(&self) {
        self.watch.stop();
    }

    fn connection(&self, port: u16) -> Option<KnownConnection> {
        self.known.get(port)
    }
}

impl SocketEvidence {
    /// Loads and attaches programs of this level; they see no socket yet.
    ///
    /// # Errors
    /// The host refuses, with the reason in a sentence.
    pub fn open(spec: &WatchSpec, level: Evidence) -> Result<Self, Refused> {
        let watch = Arc::new(ChosenWatch::open(level, spec.connections_most)?);
        let known = Arc::new(KnownNumbers::new());
        let unwritable = |error: RecordError| Refused { reason: error.to_string() };
        let (counters, sizes) = (Log::create_plain().map_err(unwritable)?, Log::create_plain().map_err(unwritable)?);
        let log = watch.watch().log().is_some().then(|| {
            let source = OfWatch { watch: Arc::clone(&watch), known: Arc::clone(&known) };
            let host = spec.host.clone();
            SegmentLog::start(source, LogRequest { host, role: Role::Sender, bytes_most: LOG_BYTES_MOST, wait_most: LOG_WAIT })
        });
        // What opens from now on is seen from its SYN on, as far as it can be recognized by then; a look finds the others.
        let selection = &spec.selection;
        let namespace = network_namespace().map_err(|error| no_namespace(&error))?;
        watch.arm(namespace, &selection.processes, &selection.ports)?;
        Ok(Self {
            cpus_before: watch.watch().cpus(),
            follows_processes: !(selection.processes.is_empty() && selection.programs.is_empty()),
            watch,
            host: spec.host.clone(),
            known,
            log,
            open: BTreeMap::new(),
            closing: Vec::new(),
            retired: VecDeque::new(),
            counted: BTreeMap::new(),
            over: BTreeMap::new(),
            counters,
            sizes,
            softirqs: Rows::new(),
            refused: (0, None),
            broken_off: None,
        })
    }

    /// The level.
    pub fn level(&self) -> Evidence {
        self.watch.watch().level()
    }

    /// Tags of the programs.
    pub fn program_tags(&self) -> Vec<String> {
        self.watch.watch().program_tags()
    }

    /// Sees a socket from now on, which has this connection.
    pub fn choose(&mut self, connection: u32, socket: &Socket) {
        let chosen = network_namespace().map_err(|error| no_namespace(&error));
        let chosen = chosen.map(|namespace| ChosenSocket {
            namespace,
            local: socket.key.local,
            remote: socket.key.remote,
            is_opening: socket.state.0 == SYN_SENT,
        });
        if let Err(refused) = chosen.and_then(|chosen| self.see(connection, socket, chosen)) {
            self.refused.0 += 1;
            self.refused.1.get_or_insert(refused.reason);
        }
    }

    fn see(&mut self, connection: u32, socket: &Socket, chosen: ChosenSocket) -> Result<(), Refused> {
        // The same addresses and ports again: the former socket is gone for good.
        self.forget(|closing| closing.socket.local == chosen.local && closing.socket.remote == chosen.remote);
        let scales = socket.info.map(|info| info.window_scales()).unwrap_or_default();
        let known = KnownConnection { number: connection, scales };
        let number = self.watch.choose(&chosen, |number| self.known.set(number, known))?;
        self.open.insert(connection, (number, chosen));
        Ok(())
    }

    /// The socket of a connection has closed.
    pub fn on_closed(&mut self, connection: u32) {
        if let Some((number, socket)) = self.open.remove(&connection) {
            self.closing.push(Closing { connection, number, socket, closed_ns: mono_ns() });
        }
    }

    /// Sees the socket of a connection no more. Rows that are written already stay, under a number that no connection has.
    pub fn drop_connection(&mut self, connection: u32) {
        self.on_closed(connection);
        self.forget(|closing| closing.connection == connection);
        self.over.remove(&connection);
        self.counted.remove(&connection);
    }

    /// Has the time of softirqs on top of these processes counted apart, and calls of all their threads timed.
    pub fn set_processes(&mut self, processes: &[u32]) {
        let named = self.watch.set_processes(processes);
        let armed = match network_namespace() {
            Ok(namespace) if self.follows_processes => self.watch.arm(namespace, processes, &[]),
            _ => Ok(()),
        };
        if let Err(refused) = named.and(armed) {
            self.refused.1.get_or_insert(refused.reason);
        }
    }

    /// Rows of what was counted of each connection in an interval.
    pub fn sample_connections(&mut self, interval: Interval) {
        let now_ns = mono_ns();
        self.watch.take_picked();
        while let Some((since_ns, number)) = self.retired.front().copied()
            && now_ns.saturating_sub(since_ns) >= NUMBER_NS
        {
            self.known.clear(number);
            self.retired.pop_front();
        }
        self.forget(|closing| now_ns.saturating_sub(closing.closed_ns) >= LINGER_NS);
        for (connection, after) in self.now() {
            let before = self.counted.get(&connection);
            if before != Some(&after) {
                let of = Whose { host: &self.host, connection, role: Role::Sender };
                let before = before.copied().unwrap_or_default();
                let rows = (counted::counter_row(of, interval, &before, &after), counted::size_rows(of, interval, &before, &after));
                if self.broken_off.is_none()
                    && let Err(error) = push(&mut self.counters, &mut self.sizes, rows)
                {
                    self.broken_off = Some(format!("counters could not be written: {error}"));
                }
                self.counted.insert(connection, after);
            }
        }
        self.over.clear();
    }

    /// Rows of the softirqs in an interval of the CPUs.
    pub fn sample_cpus(&mut self, interval: Interval) {
        let now = self.watch.watch().cpus();
        for row in counted::softirq_rows(&self.host, self.watch.watch(), interval, &self.cpus_before, &now) {
            self.softirqs.push(row);
        }
        self.cpus_before = now;
    }

    /// Detaches everything. `segments` are those that TCP counted of a connection while programs saw it.
    pub fn finish(mut self, asked: Evidence, segments: impl Iterator<Item = (u32, Segments)>) -> Finished {
        let open: Vec<_> = self.open.keys().copied().collect();
        for connection in open {
            self.on_closed(connection);
        }
        self.forget(|_| true);
        let last: BTreeMap<u32, Connection> = mem::take(&mut self.counted).into_iter().chain(mem::take(&mut self.over)).collect();
        let unseen = segments.filter_map(|(connection, counted)| Some(counted::unseen_of(counted, last.get(&connection)?)));
        let unseen_segments_count = unseen.sum();
        let written = self.log.take().map(SegmentLog::finish).unwrap_or_default();
        let Written { file, calls, broken_off, left_out } = written;
        let report = evidence::report_of(self.watch.watch(), asked, broken_off.or(self.broken_off), left_out);
        let reason = self.refused.1.map(|reason| match self.refused.0 {
            0 => reason,
            count => format!("{count} connections have no counters: {reason}"),
        });
        let report = EvidenceReport { reason: reason.or(report.reason), unseen_segments_count, ..report };
        let mut files = Vec::new();
        files.extend(self.counters.finish().ok().map(|file| ("counters", file)));
        files.extend(self.sizes.finish().ok().map(|file| ("sizes", file)));
        files.extend(file.map(|file| ("segments", file)));
        files.extend(calls.map(|file| ("calls", file)));
        Finished { report, softirqs: self.softirqs.into_columns(), files }
    }

    /// The counts of each connection now, and of those that are over since it was last asked.
    fn now(&self) -> BTreeMap<u32, Connection> {
        let by_number = self.watch.connections();
        let open = self.open.iter().map(|(connection, (number, _))| (*connection, *number));
        let seen = open.chain(self.closing.iter().map(|closing| (closing.connection, closing.number)));
        let seen = seen.filter_map(|(connection, number)| Some((connection, *by_number.get(&number)?)));
        seen.chain(self.over.iter().map(|(connection, last)| (*connection, *last))).collect()
    }

    /// Sees those sockets no more that have closed and are meant.
    fn forget(&mut self, is_meant: impl Fn(&Closing) -> bool) {
        let (over, still) = mem::take(&mut self.closing).into_iter().partition(is_meant);
        self.closing = still;
        let over: Vec<Closing> = over;
        for Closing { connection, number, .. } in over {
            if let Some(last) = self.watch.forget(number) {
                self.over.insert(connection, last);
                self.retired.push_back((mono_ns(), number));
            }
        }
    }
}

fn no_namespace(error: &io::Error) -> Refused {
    Refused { reason: format!("reading the network namespace: {error}") }
}

/// The results that are left when everything is detached.
pub struct Finished {
    /// The worth of the evidence.
    pub report: EvidenceReport,
    /// The table of softirqs.
    pub softirqs: Columns,
    /// Tables in files.
    pub files: Vec<(&'static str, File)>,
}

fn push(
    counters: &mut Log<CounterRow<'static>>,
    sizes: &mut Log<SizeRow<'static>>,
    (counter, size): (CounterRow<'_>, Vec<SizeRow<'_>>),
) -> Result<(), RecordError> {
    counters.push(counter)?;
    size.into_iter().try_for_each(|row| sizes.push(row))
}
