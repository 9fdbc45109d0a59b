//! Executes workloads: few threads, each with many users.
//!
//! A thread is a [`worker::Worker`]; [`run`] is its loop. It keeps [`connections`]: a slot of each user,
//! a link of each connection. [`interest`] is what it waits for, [`moving`] payload, [`special_sends`]
//! sends that are not plain, [`opening`] and [`arriving`] connections that come and go while the load
//! runs, [`datagrams`] what differs over UDP, [`flows`] connections over UDP that come and go. With a [`ring`], sends and receives go through an
//! `io_uring` ([`ringing`]). Over TLS, [`securing`] encrypts and decrypts. [`conductor`] agrees with the other host over a connection of its own when
//! transactions start and end, and whether both counted the same; [`orders`] are the messages between
//! it and the threads, [`obeying`] carries them out; [`ledger`] holds the counts.

mod arriving;
pub(crate) mod conductor;
pub(crate) mod connections;
mod datagrams;
mod files;
mod flows;
mod interest;
pub mod ledger;
mod moving;
mod obeying;
mod opening;
pub(crate) mod orders;
mod ports;
mod ring;
mod ringing;
mod run;
mod securing;
mod sending;
mod special_sends;
mod sys;
mod wire;
mod worker;

use schema::trial::{Opening, SocketSpec, Stop, TrialSpec};
use schema::workload::{IoModel, Repeat, Transport, Workload};
use socket2::{Domain, Socket, Type};
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::time::Duration;
use workload::script::{Act, Script};
use workload::sizes;
use workload::user::VirtualUser;

use self::conductor::Conductor;
use self::connections::{Link, Openings, Slot};
use self::datagrams::Flows;
use self::ledger::{Ledger, SharedLatencies};
use self::orders::Inbox;
use self::ports::Ports;
use self::ring::Ring;
use self::sending::Sending;
use self::sys::{Epoll, Waker};
use self::wire::Wire;
use self::worker::{CallBuffers, EndingSpec, Events, Plan, Shared, Tally, Worker};
use crate::LoadError;
use crate::control::Control;
use crate::flow::{Flow, FlowCounter};
use crate::limits;
use crate::open::{Opened, Times, tokens_of};
use crate::outlet::pattern;
use crate::pending::Pending;
use crate::preamble::LATER_BYTES;
use crate::{options, secure, sockopt};

/// Largest buffer of a thread; longer operations take several calls.
const MAX_BUFFER_BYTES: u64 = 4 << 20;
/// Time that a blocking call waits before orders are looked at; what is still not there then is waited
/// for as other threads do.
const BLOCKED: Duration = Duration::from_millis(50);
/// The advice where files are missing.
const MANY_FILES: &str = "; raise the host's limit of open files (ulimit -Hn)";
/// Smallest.
const MIN_BUFFER_BYTES: u64 = 4 << 10;
const MIN_SINK_BYTES: usize = 4 << 10;

/// Threads that are made, but not begun.
pub(crate) struct Prepared {
    pub flows: Vec<Flow>,
    pub workers: Vec<Worker>,
    pub conductor: Conductor,
    pub wakers: Wakers,
    pub ledgers: Vec<Arc<Ledger>>,
    pub latencies: Vec<SharedLatencies>,
    pub openings: Arc<Openings>,
    pub groups: Vec<u32>,
}

/// Wakes everybody who waits.
#[derive(Clone)]
pub(crate) struct Wakers {
    inboxes: Arc<[Arc<Inbox>]>,
    conductor: Arc<Waker>,
}

impl Wakers {
    /// Wakes all threads and the conductor.
    pub fn wake(&self) {
        for inbox in &*self.inboxes {
            inbox.waker.wake();
        }
        self.conductor.wake();
    }
}

/// The workload as this host executes it.
///
/// # Errors
/// It makes no sense.
pub fn script(spec: &TrialSpec, workload: &Workload) -> Result<Script, LoadError> {
    let near = Script::near(workload).map_err(|error| LoadError::Usage(error.to_string()))?;
    if near.strands_count() != spec.connections_count {
        let (users, connections) = (near.strands_count(), spec.connections_count);
        return Err(LoadError::Usage(format!("the workload has {users} virtual users, the trial {connections} connections")));
    }
    let never_ends = |transaction: &workload::script::Transaction| transaction.repeat == Repeat::Trial;
    if spec.stop == Stop::Workload && near.groups.iter().flat_map(|group| &group.transactions).any(never_ends) {
        return Err(LoadError::Usage("a workload that is to end by itself has a transaction without a count or a time".to_owned()));
    }
    if spec.io_model == IoModel::IoUring {
        fits_ring(spec, &near)?;
    }
    if spec.socket.kernel_timestamps {
        wire::check(spec, &near)?;
    }
    let script = match spec.opening {
        Opening::Connect => near,
        Opening::Listen => near.mirror(),
    };
    if spec.transport == Transport::Udp { datagrams::over_udp(script) } else { Ok(script) }
}

/// Checks that a workload can go through an `io_uring`: a receive that is under way is not called back in
/// the course of a transaction.
fn fits_ring(spec: &TrialSpec, near: &Script) -> Result<(), LoadError> {
    let refuse = |what: &str| Err(LoadError::Usage(format!("this version executes no {what} by io_uring; choose blocking or epoll")));
    if spec.transport == Transport::Udp {
        return refuse("workload of datagrams");
    }
    let may_be_late = |act: &Act| matches!(act, Act::Read(transfer) if transfer.timeout_ns.is_some());
    if near.steps().any(|step| step.can_fail && may_be_late(&step.act)) {
        return refuse("read that may fail after a time");
    }
    Ok(())
}

/// When the phases end, relative to the start; all is measurement where bytes end the load.
fn boundaries(stop: &Stop) -> [u64; 2] {
    match *stop {
        Stop::Bytes { .. } | Stop::Workload => [0, u64::MAX],
        Stop::Duration { warmup_ns, measure_ns, .. } => [warmup_ns, warmup_ns.saturating_add(measure_ns)],
    }
}

fn ending(spec: &TrialSpec) -> EndingSpec {
    let is_lossy = spec.transport == Transport::Udp;
    match spec.stop {
        Stop::Workload => EndingSpec { load_ns: None, payload_bytes: None, is_lossy },
        Stop::Bytes { payload_bytes } => EndingSpec { load_ns: None, payload_bytes: Some(payload_bytes), is_lossy },
        Stop::Duration { warmup_ns, measure_ns, cooldown_ns } => {
            let load_ns = warmup_ns.saturating_add(measure_ns).saturating_add(cooldown_ns);
            EndingSpec { load_ns: Some(load_ns), payload_bytes: None, is_lossy }
        }
    }
}

/// Number of threads that carry the users.
fn threads_count(spec: &TrialSpec) -> u32 {
    if spec.io_model == IoModel::Blocking {
        return spec.connections_count.max(1);
    }
    let asked = if spec.threads_count == 0 { cpus_count(spec) } else { spec.threads_count };
    asked.clamp(1, spec.connections_count.max(1))
}

/// CPUs that its threads may run on.
fn cpus_count(spec: &TrialSpec) -> u32 {
    let cpus = match spec.pin_cpus.len() {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        pinned => pinned,
    };
    u32::try_from(cpus).unwrap_or(1)
}

/// Length of the buffers of a thread: of the largest operation on one side.
fn buffer_bytes(script: &Script, is_source: bool) -> usize {
    let largest = script.steps().filter_map(|step| match &step.act {
        Act::Write(transfer) if is_source => Some(sizes::largest(&transfer.size).min(transfer.call_bytes)),
        Act::Read(transfer) if !is_source => Some(sizes::largest(&transfer.size).min(transfer.call_bytes)),
        Act::ReadFile(files, call_bytes) if !is_source => {
            files.iter().map(|file| file.length_bytes).max().map(|most| most.min(*call_bytes))
        }
        _ => None,
    });
    usize::try_from(largest.max().unwrap_or(0).clamp(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES)).unwrap_or(1)
}

/// Bytes that a call of this host sends at most, with a preamble in front of them.
///
/// # Errors
/// The workload makes no sense.
pub(crate) fn longest_write(spec: &TrialSpec, workload: &Workload) -> Result<usize, LoadError> {
    Ok(buffer_bytes(&script(spec, workload)?, true) + LATER_BYTES)
}

/// The options of connections that are opened while the load runs, without what the kernel does
/// anyway: each costs a call, and for each connection.
fn lean(spec: &TrialSpec) -> SocketSpec {
    let mut lean = spec.socket.clone();
    // Both hosts of a workload send, and each holds its own payload back.
    lean.cork = false;
    let by_default = Socket::new(Domain::IPV4, Type::STREAM, None).and_then(|socket| socket.tcp_congestion()).unwrap_or_default();
    let by_default = String::from_utf8_lossy(&by_default);
    if lean.congestion_control.as_deref() == Some(by_default.trim_end_matches('\0')) {
        lean.congestion_control = None;
    }
    lean
}

/// Memory of our own that a user with one connection takes, in bytes, without the kernel's, the
/// buffers, which threads have, and what the sampler keeps.
pub const USER_BYTES: usize = size_of::<Slot>()
    + size_of::<Link>()
    + size_of::<ledger::UserCounter>()
    + size_of::<Flow>()
    + size_of::<Socket>()
    + 2 * size_of::<usize>();

/// Its places in the queue and among the timers, in bytes, at most.
pub const QUEUED_BYTES: usize = 32;

/// Time that a blocking call waits at most: no longer than a datagram is waited for.
fn longest_call(spec: &TrialSpec, script: &Script) -> Duration {
    match spec.transport {
        Transport::Udp => datagrams::least_timeout(script).map_or(BLOCKED, |least| least.min(BLOCKED)),
        _ => BLOCKED,
    }
}

/// The link of a connection that is open, or not yet.
fn link_of(open: Option<&Socket>, slot: u32, blocked: Option<Duration>, spec: &TrialSpec) -> Result<Link, LoadError> {
    let mut link = Link::new(open.map_or(-1, AsRawFd::as_raw_fd), slot);
    if let (true, Some(socket)) = (spec.socket.cork, open) {
        options::set_checked(socket, &sockopt::CORK, 1, "")?;
    }
    if let (IoModel::IoUring, Some(socket)) = (spec.io_model, open) {
        // A ring waits only for sockets whose calls may.
        socket.set_nonblocking(false).map_err(|error| LoadError::host("a data socket", error, ""))?;
    }
    if let (Some(blocked), Some(socket)) = (blocked, open) {
        let bounded = socket.set_read_timeout(Some(blocked)).and_then(|()| socket.set_write_timeout(Some(BLOCKED)));
        bounded.map_err(|error| LoadError::host("a data socket", error, ""))?;
        link.is_blocking = true;
    }
    Ok(link)
}

/// Makes everything that a trial with a workload needs.
///
/// # Errors
/// The workload makes no sense, or the host has no room for it.
#[allow(clippy::too_many_lines, reason = "one flat list of what a thread needs")]
pub(crate) fn prepare(spec: &TrialSpec, workload: &Workload, opened: Opened, control: &Arc<Control>) -> Result<Prepared, LoadError> {
    let script = Arc::new(script(spec, workload)?);
    let host = |doing: &'static str| move |error: io::Error| LoadError::host(doing, error, MANY_FILES);
    let is_blocking = spec.io_model == IoModel::Blocking;
    let count = threads_count(spec);
    let conductor_waker = Arc::new(Waker::new().map_err(host("preparing the load's threads"))?);
    let (report, reports) = channel();
    let source: Arc<[u8]> = pattern(u32::try_from(buffer_bytes(&script, true)).unwrap_or(0)).into();
    let sink_bytes = buffer_bytes(&script, false);
    // A port at which nobody is awaited any more is closed: unauthenticated peers there cost the load its time.
    let is_awaited = script.steps().any(|step| matches!(step.act, Act::Accept));
    let (listeners, receivers) = match spec.transport {
        _ if !is_awaited => (Vec::new(), Vec::new()),
        Transport::Udp => (Vec::new(), opened.receivers),
        _ => (opened.listeners, Vec::new()),
    };
    let local = opened.conductor.as_ref().and_then(|socket| socket.local_addr().ok()?.as_socket());
    let openings = Arc::new(Openings {
        token: tokens_of(spec)?.of(spec.transport == Transport::Tls).clone(),
        place: opened.place,
        listeners,
        receivers,
        local_ip: local.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |local| local.ip()),
        unauthenticated: AtomicU64::new(0),
        hosts: secure::hosts_of(spec)?,
    });
    // No more threads than CPUs record at a time.
    let latencies: Vec<_> =
        (0..count.min(cpus_count(spec))).map(|_| SharedLatencies::new(script.rows_count(), boundaries(&spec.stop))).collect();
    let inboxes = (0..count).map(|_| Inbox::new().map(Arc::new)).collect::<io::Result<Vec<_>>>();
    let inboxes: Arc<[_]> = inboxes.map_err(host("preparing the load's threads"))?.into();
    let plan = Plan {
        script: Arc::clone(&script),
        ending: ending(spec),
        files: Arc::new(files::open_all(&script)?),
        transport: spec.transport,
        socket_spec: lean(spec),
        role: spec.role,
        quick_ack: spec.socket.quick_ack,
        receive_flags: if spec.socket.truncate { libc::MSG_TRUNC } else { 0 },
        is_alone: is_blocking,
    };
    let mut workers = Vec::new();
    for thread in 0..count {
        workers.push(Worker {
            plan: plan.clone(),
            shared: Shared {
                control: Arc::clone(control),
                inbox: Arc::clone(&inboxes[thread as usize]),
                inboxes: Arc::clone(&inboxes),
                reports: report.clone(),
                conductor: Arc::clone(&conductor_waker),
                openings: Arc::clone(&openings),
            },
            tally: Tally {
                ledger: Arc::new(Ledger::new(0, 0)),
                latencies: latencies[thread as usize % latencies.len()].clone(),
                failures: HashMap::new(),
            },
            events: Events {
                epoll: Epoll::new().map_err(host("preparing the load's threads"))?,
                ring: None,
                ready: VecDeque::new(),
                timers: BinaryHeap::new(),
            },
            buffers: CallBuffers {
                source: Arc::clone(&source),
                datagram: if spec.transport == Transport::Udp { source.to_vec() } else { Vec::new() },
                // A ring's receives have a sink of their own.
                sink: vec![0; if spec.io_model == IoModel::IoUring { MIN_SINK_BYTES } else { sink_bytes }],
            },
            opening: worker::Opening {
                pending: Pending::new(limits::pending_room(spec) / count as usize, 0),
                silence_check_ns: 0,
                ports: Ports::of_host(thread, count),
            },
            slots: Vec::new(),
            links: Vec::new(),
            sessions: Vec::new(),
            tls_views: Vec::new(),
            flows: Flows::default(),
            sending: None,
            wire: None,
            round: 0,
            running_count: 0,
            now_ns: 0,
        });
    }
    let blocked = is_blocking.then(|| longest_call(spec, &script));
    let mut connections = opened.connections.into_iter().peekable();
    let mut flows = Vec::with_capacity(script.strands_count() as usize);
    for group in &script.groups {
        for number in group.first_user..group.first_user + group.strands_count {
            let thread = number % count;
            let worker = &mut workers[thread as usize];
            let slot = u32::try_from(worker.slots.len()).unwrap_or(u32::MAX);
            let first_link = u32::try_from(worker.links.len()).unwrap_or(u32::MAX);
            let (socket, times, mut session, facts) = match connections.next_if(|connection| connection.number == number) {
                Some(connection) => (Some(Arc::new(connection.socket)), connection.times, connection.tls, connection.tls_facts),
                None => (None, Times::default(), None, None),
            };
            if let Some(session) = &mut session {
                session.read_ahead(securing::AHEAD_BYTES);
            }
            let tls = (spec.transport == Transport::Tls).then(|| secure::view_of(facts));
            worker.tls_views.extend(tls.clone());
            // Who waits in a call for one connection does not hear the others.
            let blocked = blocked.filter(|_| spec.transport != Transport::Udp || group.connections_count == 1);
            if spec.transport == Transport::Udp {
                worker.flows.add_user(group.connections_count);
            }
            for connection in 0..group.connections_count {
                let open = socket.as_ref().filter(|_| connection == 0);
                worker.links.push(link_of(open.map(AsRef::as_ref), slot, blocked, spec)?);
                if spec.transport == Transport::Tls {
                    worker.sessions.push(session.take());
                }
            }
            worker.slots.push(Slot::new(VirtualUser::new(&script, number), first_link));
            flows.push(Flow { socket, thread, tls, ..Flow::new(number, times) });
        }
    }
    let mut ledgers = Vec::new();
    for worker in &mut workers {
        worker.tally.ledger = Arc::new(Ledger::new(worker.slots.len(), script.rows_count()));
        worker.sending = Sending::new(&spec.socket, &source, worker.slots.len()).map_err(host("preparing the load's calls"))?;
        worker.events.ready.reserve(worker.slots.len());
        worker.events.timers.reserve(worker.slots.len());
        if spec.io_model == IoModel::IoUring {
            worker.events.ring = Some(Ring::new(worker.slots.len(), Arc::clone(&source), sink_bytes)?);
        }
        if spec.socket.kernel_timestamps && script.transactions().any(wire::is_stamped) {
            let wire = Wire::new(worker.slots.len(), worker.links.len(), spec.transport == Transport::Tcp);
            worker.wire = Some(wire.map_err(host("preparing the load's time stamps"))?);
            (0..worker.links.len()).for_each(|link| worker.ask_for_stamps(link));
        }
        worker.watch().map_err(host("watching the connections"))?;
        ledgers.push(Arc::clone(&worker.tally.ledger));
    }
    for flow in &mut flows {
        flow.counter = FlowCounter::Shared(Arc::clone(&ledgers[flow.thread as usize]), flow.number / count);
    }
    let socket = opened.conductor.ok_or_else(|| LoadError::Usage("a workload needs a conductor's connection".to_owned()))?;
    let conductor = Conductor {
        socket,
        reports,
        waker: Arc::clone(&conductor_waker),
        inboxes: Arc::clone(&inboxes),
        control: Arc::clone(control),
        opening: spec.opening,
        rounds_count: u32::try_from(script.rounds_count()).unwrap_or(u32::MAX),
        strands_count: script.strands_count(),
        is_lossy: spec.transport == Transport::Udp,
    };
    let groups = script.groups.iter().map(|group| group.first_user).collect();
    let wakers = Wakers { inboxes, conductor: conductor_waker };
    Ok(Prepared { flows, workers, conductor, wakers, ledgers, latencies, openings, groups })
}
