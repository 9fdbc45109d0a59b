//! Watches connections of other programs: looks which there are, chooses, samples, reports, and hands the tables over.
//! It changes nothing of what it watches.

mod connections;
mod host;
mod kernel_evidence;
mod known_numbers;
mod looking;
mod pace;
mod socket_evidence;

use probe::clock::{mono_ns, thread_cpu_ns};
use probe::sockets::{Closings, Socket};
use record::host::intervals::Interval;
use record::host::watched;
use schema::message::{Fault, Finished, Note, Outcome, Reply};
use schema::trial::Phase;
use schema::watch::{CONNECTIONS_MOST, WatchProgress, WatchSpec};
use session::Refusal;
use session::report::{Table, send_result};
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::pipe::ReplySink;
use connections::{Connections, New, Room};
use host::HostSampler;
use kernel_evidence::{Chosen, KernelEvidence, Left};
use looking::{Candidate, Found, Looker};
use pace::{Pace, Rule};

/// Looks at all sockets: in the first moments and while nothing is watched, when whatever is there should be found at once;
/// and otherwise.
const EAGER: Rule = Rule { least_ns: 20_000_000, factor: 60, put_off_ns: 2_000_000_000 };
const CALM: Rule = Rule { least_ns: 100_000_000, factor: 160, put_off_ns: 5_000_000_000 };
/// Time for which looks are eager in any case.
const EAGER_NS: u64 = 1_000_000_000;
/// Samples may take 0.8 % of a CPU, and come once a second whatever they take.
const SAMPLE_FACTOR: u64 = 125;
const SAMPLE_PUT_OFF_NS: u64 = 1_000_000_000;
/// Looks for the processes that hold sockets: the same socket is not looked for more often. They may take 1 % of a CPU.
const OWNERS: Rule = Rule { least_ns: 50_000_000, factor: 100, put_off_ns: 1_000_000_000 };
/// Shortest times that make sense between samples and between reports.
const MIN_SAMPLE_NS: u64 = 1_000_000;
const MIN_REPORT_NS: u64 = 10_000_000;
/// The second report comes no later: until then nothing is known of what goes on.
const SECOND_REPORT_NS: u64 = 500_000_000;
/// So often in a row the kernel may leave a question without an answer.
const MAX_UNANSWERED: u32 = 10;
/// Intervals of the looks whether a process has ended; and whether all asked for have, with what they have started.
const PROCESS_NS: u64 = 20_000_000;
const PROCESSES: Rule = Rule { least_ns: 100_000_000, factor: 200, put_off_ns: 1_000_000_000 };
/// Time that the kernel's news of sockets that have just closed may take.
const NEWS_GRACE: Duration = Duration::from_millis(20);

/// Why a watch ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The controller has asked for the result.
    Requested,
    /// The controller is gone, or wants nothing more.
    Aborted,
}

/// Ends a watch from another thread.
#[derive(Debug, Clone, Default)]
pub struct Ender {
    state: Arc<(Mutex<Option<Ended>>, Condvar)>,
}

impl Ender {
    /// Ends the watch; the first reason counts.
    pub fn end(&self, ended: Ended) {
        let (state, changed) = &*self.state;
        state.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(ended);
        changed.notify_all();
    }

    /// Waits until the watch was ended, or until a time; says why it was.
    fn wait_until(&self, due_ns: u64) -> Option<Ended> {
        let (state, changed) = &*self.state;
        let mut ended = state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now_ns = mono_ns();
            if ended.is_some() || now_ns >= due_ns {
                return *ended;
            }
            ended = changed.wait_timeout(ended, Duration::from_nanos(due_ns - now_ns)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Watches until the time is up, the process has ended or the watch is ended, and sends its result and its tables, but not
/// the last `done`.
///
/// # Errors
/// What is asked makes no sense or is not possible here, or a table cannot be made.
pub fn run(spec: &WatchSpec, ender: &Ender, replies: &ReplySink) -> Result<(), Refusal> {
    let mut watch = Watching::open(spec)?;
    watch.look()?;
    replies.send_if_idle(Reply::Watched(watch.report()));
    let mut reason = None;
    while reason.is_none() && !watch.is_over() {
        reason = ender.wait_until(watch.due_ns());
        watch.do_what_is_due()?;
        if watch.reports.is_due(mono_ns()) {
            watch.reports.rule.least_ns = spec.report_ns;
            replies.send_if_idle(Reply::Watched(watch.report()));
        }
    }
    let outcome = if reason == Some(Ended::Aborted) { Outcome::Aborted } else { Outcome::Complete };
    watch.send(outcome, replies)
}

/// A watch under way.
struct Watching<'a> {
    spec: &'a WatchSpec,
    end_ns: u64,
    eager_until_ns: u64,
    looker: Looker,
    closings: Option<Closings>,
    connections: Connections,
    evidence: KernelEvidence,
    host: HostSampler,
    looks: Pace,
    samples: Pace,
    owners: Pace,
    reports: Pace,
    /// The process with whose end the watch ends, and when it started.
    process: Option<(u32, Option<u64>)>,
    /// When it is looked whether any process that was asked for is left; absent where none was.
    processes: Option<Pace>,
    have_processes_ended: bool,
    /// The findings of the last look, without its candidates.
    last: Found,
    /// Connections that were asked for and found no room at the last look.
    beyond_count: u64,
    /// The most of these at a time, and those that gave up their places.
    most_beyond_count: u64,
    displaced_count: u64,
    /// Connections that closed before a look found them, and what they moved.
    brief: (u64, u64),
    /// The end of the last round of samples.
    sampled_ns: u64,
    /// Number of times in a row that the kernel did not answer.
    unanswered_count: u32,
}

impl<'a> Watching<'a> {
    /// Checks what is asked, and opens the probes.
    fn open(spec: &'a WatchSpec) -> Result<Self, Refusal> {
        check(spec)?;
        let looker = Looker::open(spec)?;
        let host = HostSampler::open(&spec.host).map_err(|error| internal(&error))?;
        let now_ns = mono_ns();
        Ok(Self {
            end_ns: spec.duration_ns.map_or(u64::MAX, |duration_ns| now_ns.saturating_add(duration_ns)),
            eager_until_ns: now_ns + EAGER_NS,
            looker,
            // Without them, what a connection moved last may be missing.
            closings: Closings::open().ok(),
            connections: Connections::new(spec.connections_most),
            evidence: KernelEvidence::start(spec),
            host,
            looks: Pace::new(EAGER),
            samples: Pace::new(Rule { least_ns: spec.sample_ns, factor: SAMPLE_FACTOR, put_off_ns: SAMPLE_PUT_OFF_NS }),
            owners: Pace::new(OWNERS),
            // The first report sets when the second one is due.
            reports: Pace::new(Rule { least_ns: spec.report_ns.min(SECOND_REPORT_NS), factor: 0, put_off_ns: 0 }),
            process: spec.ends_with_process.map(|process| (process, probe::processes::start_of(process))),
            processes: (!spec.selection.processes.is_empty()).then(|| Pace::new(PROCESSES)),
            have_processes_ended: false,
            last: Found::default(),
            beyond_count: 0,
            most_beyond_count: 0,
            displaced_count: 0,
            brief: (0, 0),
            sampled_ns: now_ns,
            unanswered_count: 0,
            spec,
        })
    }

    /// True if its time is up, its process has ended, or all that are watched have.
    fn is_over(&self) -> bool {
        let has_ended = |(process, started): (u32, Option<u64>)| started.is_none() || probe::processes::start_of(process) != started;
        mono_ns() >= self.end_ns || self.process.is_some_and(has_ended) || self.have_processes_ended
    }

    /// When there is something to do next.
    fn due_ns(&self) -> u64 {
        let process_ns = if self.process.is_some() { mono_ns() + PROCESS_NS } else { u64::MAX };
        let processes_ns = self.processes.map_or(u64::MAX, |pace| pace.due_ns());
        let samples_ns = self.samples.due_ns().min(self.host.due_ns());
        let dues = [self.looks.due_ns(), samples_ns, self.reports.due_ns(), self.end_ns, process_ns, processes_ns];
        dues.into_iter().min().unwrap_or(process_ns)
    }

    /// Looks and samples, as far as that is due. What the kernel does not answer once is missing in the samples.
    fn do_what_is_due(&mut self) -> Result<(), Refusal> {
        let now_ns = mono_ns();
        let looked = if self.looks.is_due(now_ns) { self.look() } else { Ok(()) };
        let sampled = if self.samples.is_due(now_ns) { self.sample() } else { Ok(()) };
        match looked.and(sampled) {
            Ok(()) => self.unanswered_count = 0,
            Err(refusal) if self.unanswered_count >= MAX_UNANSWERED => return Err(refusal),
            Err(refusal) => {
                tracing::warn!("{}", refusal.text);
                self.unanswered_count += 1;
                // Not again at once.
                self.looks.on_round(now_ns, 0);
                self.samples.on_round(now_ns, 0);
            }
        }
        if let Some(pace) = &mut self.processes
            && pace.is_due(now_ns)
        {
            let (started_ns, cpu_ns) = (mono_ns(), thread_cpu_ns());
            self.have_processes_ended = self.looker.have_processes_ended();
            pace.on_round(started_ns, thread_cpu_ns() - cpu_ns);
        }
        self.sample_host(false)
    }

    /// Looks at all sockets, and chooses.
    fn look(&mut self) -> Result<(), Refusal> {
        let (started_ns, cpu_ns) = (mono_ns(), thread_cpu_ns());
        let is_eager = started_ns < self.eager_until_ns || self.connections.open_count() == 0;
        self.looks.rule = if is_eager { EAGER } else { CALM };
        // Of too many the busiest are chosen.
        let has_counters = self.looker.wants_busiest() || self.beyond_count > 0;
        let connections = &self.connections;
        let mut found = self.looker.look(has_counters, |cookie| connections.has(cookie))?;
        let candidates = std::mem::take(&mut found.candidates);
        self.beyond_count = 0;
        self.choose(candidates)?;
        self.most_beyond_count = self.most_beyond_count.max(self.beyond_count);
        self.last = found;
        self.find_owners(started_ns);
        let processes: BTreeSet<u32> = self.connections.processes().collect();
        self.host.follow(&processes);
        self.evidence.on_processes(&processes);
        self.looks.on_round(started_ns, thread_cpu_ns() - cpu_ns);
        Ok(())
    }

    /// Watches these connections from now on, as far as there is room; the first ones before the others.
    fn choose(&mut self, candidates: Vec<Candidate>) -> Result<(), Refusal> {
        let mut chosen = Vec::new();
        for candidate in candidates {
            match self.connections.room_for(candidate.moved_bytes) {
                // Those that are chosen in this look have no place yet.
                Room::Free if self.connections.len() + chosen.len() < self.spec.connections_most as usize => chosen.push(candidate),
                Room::InPlaceOf(number) => {
                    self.connections.drop_connection(number);
                    self.evidence.drop_connection(number);
                    self.displaced_count += 1;
                    chosen.push(candidate);
                }
                _ => self.beyond_count += 1,
            }
        }
        let keys: Vec<_> = chosen.iter().map(|candidate| candidate.socket.key).collect();
        let answers = self.looker.diag().query(&keys).map_err(|error| unanswered(&error))?;
        for (candidate, socket) in chosen.into_iter().zip(answers) {
            // One that has closed meanwhile is among the brief ones, if the kernel says so.
            let Some(socket) = socket else { continue };
            self.add(&candidate, &socket);
        }
        Ok(())
    }

    fn add(&mut self, candidate: &Candidate, socket: &Socket) {
        let owner = self.looker.owner(socket.inode);
        let control_group = self.looker.control_group(socket, owner.as_ref());
        let new = New {
            mono_ns: mono_ns(),
            opened_after_ns: candidate.opened_after_ns,
            listens: self.looker.listens(socket),
            socket: socket.clone(),
            owner,
            control_group,
        };
        if let Some(connection) = self.connections.add(new) {
            let fixed = self.evidence.choose(Chosen { connection, socket });
            self.connections.set_fixed(connection, fixed);
        }
    }

    /// Looks for the processes that hold watched sockets, where that is not known.
    fn find_owners(&mut self, now_ns: u64) {
        let missing: Vec<(u32, u32)> = self.connections.inodes(false).collect();
        if missing.is_empty() || !self.owners.is_due(now_ns) {
            return;
        }
        let cpu_ns = thread_cpu_ns();
        let all: HashSet<u32> = missing.iter().copied().chain(self.connections.inodes(true)).map(|(_, inode)| inode).collect();
        self.looker.find_owners(&all);
        for (number, inode) in missing {
            if let Some(owner) = self.looker.owner(inode) {
                self.connections.set_owner(number, owner);
            }
        }
        self.owners.on_round(now_ns, thread_cpu_ns() - cpu_ns);
    }

    /// A round of samples of all watched connections.
    fn sample(&mut self) -> Result<(), Refusal> {
        let (started_ns, cpu_ns) = (mono_ns(), thread_cpu_ns());
        let index = self.connections.begin_round();
        self.take_closings();
        let open = self.connections.open();
        let keys: Vec<_> = open.iter().map(|(_, key)| *key).collect();
        let answers = self.looker.diag().query(&keys).map_err(|error| unanswered(&error))?;
        // The kernel has answered just now.
        let now_ns = mono_ns();
        for ((number, _), answer) in open.into_iter().zip(answers) {
            if self.connections.on_answer(number, answer, now_ns) {
                self.evidence.on_closed(number);
            }
        }
        let interval = Interval { index, phase: Phase::Measure, start_mono_ns: self.sampled_ns, end_mono_ns: now_ns };
        self.sampled_ns = now_ns;
        self.evidence.sample_connections(interval);
        if self.connections.thin() {
            self.samples.rule.least_ns = self.spec.sample_ns.saturating_mul(u64::from(self.connections.stride()));
        }
        self.samples.on_round(started_ns, thread_cpu_ns() - cpu_ns);
        Ok(())
    }

    /// Takes in which sockets have closed, and what they had moved.
    fn take_closings(&mut self) {
        let Self { closings, connections, evidence, looker, brief, .. } = self;
        let now_ns = mono_ns();
        if let Some(closings) = closings {
            closings.take(|socket| match connections.on_closing(&socket, now_ns) {
                Some(number) => evidence.on_closed(number),
                None if looker.has_missed(&socket) && !socket.has_moved_nothing() => {
                    brief.0 += 1;
                    brief.1 = brief.1.saturating_add(socket.moved_bytes());
                }
                None => {}
            });
        }
    }

    fn sample_host(&mut self, is_last: bool) -> Result<(), Refusal> {
        if let Some(interval) = self.host.sample(is_last).map_err(|error| internal(&error))? {
            self.evidence.sample_cpus(interval);
        }
        Ok(())
    }

    fn report(&mut self) -> WatchProgress {
        let now_ns = mono_ns();
        self.reports.on_round(now_ns, 0);
        let open_count = self.connections.open_count();
        let unowned_count = self.connections.inodes(false).count() as u64;
        let connections = self.connections.report();
        WatchProgress {
            mono_ns: now_ns,
            level: self.evidence.level(),
            reason: self.evidence.reason().map(str::to_owned),
            instead: if connections.is_empty() { self.looker.instead() } else { None },
            connections,
            others_count: self.last.connections_count.saturating_sub(open_count),
            beyond_limit_count: self.beyond_count,
            unknown_owner_count: self.last.unknown_owner_count + unowned_count,
            look_ns: self.last.look_ns,
            sample_ns: self.samples.due_ns().saturating_sub(self.sampled_ns).max(self.samples.rule.least_ns),
        }
    }

    /// Takes the last samples, and sends what was found.
    fn send(mut self, outcome: Outcome, replies: &ReplySink) -> Result<(), Refusal> {
        if (self.process.is_some() || self.have_processes_ended) && self.closings.is_some() {
            std::thread::sleep(NEWS_GRACE);
        }
        self.sample()?;
        self.sample_host(true)?;
        // What closed while it was asked.
        self.connections.begin_round();
        self.take_closings();
        let notes = self.notes();
        let Left { report: evidence, tables: seen, files } = self.evidence.finish(self.connections.segments());
        let (rows, stride) = self.connections.into_rows();
        let payload_bytes = rows.iter().map(|row| row.moved().dominant_bytes()).sum();
        let finished = Finished { outcome, payload_bytes, notes, evidence };
        let mut tables = watched::tables(&self.spec.host, &rows, stride);
        tables.extend(self.host.into_tables().map_err(|error| internal(&error))?);
        tables.extend(seen);
        let tables = tables.into_iter().map(|table| anyhow::Ok(Table::of_bytes(table.name(), table.finish()?)));
        let files = files.into_iter().map(|(name, file)| Ok(Table::of_file(name, file)?));
        send_result(replies.id(), finished, tables.chain(files), |frame| replies.push(frame)).map_err(|error| internal(&error))
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.connections.stride() > 1 {
            notes.push(Note::SamplesThinned { sample_ns: self.samples.rule.least_ns });
        }
        let count = self.most_beyond_count + self.displaced_count;
        if count > 0 {
            notes.push(Note::ConnectionsBeyondLimit { count });
        }
        if let (count @ 1.., payload_bytes) = self.brief {
            notes.push(Note::BriefConnections { count, payload_bytes });
        }
        if let Some(reason) = self.host.pmu_missing() {
            notes.push(Note::NoPmu { reason: reason.to_owned() });
        }
        notes
    }
}

/// Checks that the numbers of a request make sense.
fn check(spec: &WatchSpec) -> Result<(), Refusal> {
    if !(1..=CONNECTIONS_MOST).contains(&spec.connections_most) {
        return Err(Refusal::usage(format!("a watch takes 1 to {CONNECTIONS_MOST} connections, not {}", spec.connections_most)));
    }
    if spec.sample_ns < MIN_SAMPLE_NS || spec.report_ns < MIN_REPORT_NS {
        return Err(Refusal::usage("samples are at least 1 ms apart, reports at least 10 ms"));
    }
    Ok(())
}

fn internal(error: &anyhow::Error) -> Refusal {
    Refusal { fault: Fault::Internal, text: format!("{error:#}") }
}

fn unanswered(error: &std::io::Error) -> Refusal {
    Refusal { fault: Fault::Host, text: format!("the kernel does not answer questions about sockets (sock_diag): {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn the_first_reason_ends_a_watch_at_once() {
        let ender = Ender::default();
        assert_eq!(ender.wait_until(mono_ns() + 1_000_000), None);
        let other = ender.clone();
        let waiting = thread::spawn(move || other.wait_until(u64::MAX / 2));
        ender.end(Ended::Requested);
        ender.end(Ended::Aborted);
        assert_eq!(waiting.join().expect("it ends"), Some(Ended::Requested));
    }
}
