//! A running load: one thread a connection, started together, stopped together.
//!
//! A thread a connection keeps the studies' meaning of a write: it blocks in the call when the
//! send buffer is full, as an application's does. Threads wait for a common instant, so that
//! making them is outside the measurement.

use probe::threads::ThreadSample;
use schema::trial::{Role, Stop, TrialSpec};
use schema::workload::{DatagramStream, Transport, Workload};
use socket2::Socket;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver as Channel, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workload::exchange::Exchange;
use workload::pace::Pace;
use workload::schedule::ActiveInterval;
use workload::stream::Transfer;

use crate::connection_result::{ConnectionResult, Cut, Ended};
use crate::control::{Control, StreamTask};
use crate::counter::Counter;
use crate::datagrams::{self, Ready, agreement};
use crate::engine::conductor::Conductor;
use crate::engine::connections::Openings;
use crate::engine::ledger::{Latencies, Ledger, SharedLatencies};
use crate::engine::{self, Wakers};
use crate::flow::{Flow, FlowCounter};
use crate::open::{Connection, Opened, OpenedQuic, UdtConnection, controller_of};
use crate::outlet::pattern;
use crate::secure::view_of;
use crate::thread::{account, pin_this_thread};
use crate::transport::quic::{QuicTransport, QuicView};
use crate::transport::sctp::{SctpTransport, SctpView};
use crate::transport::socket::SocketTransport;
use crate::transport::tls::TlsTransport;
use crate::transport::udt::UdtTransport;
use crate::transport::{StreamTransport, Watched};
use crate::{LoadError, receiver, sender};

/// A load under way.
pub struct Load {
    /// Its connections in the order of their numbers.
    pub flows: Vec<Flow>,
    /// Its threads.
    pub threads: Vec<u32>,
    /// Connections that a library carries, by their numbers; they stay open until the load is dropped.
    pub watched: BTreeMap<u32, Arc<dyn Watched>>,
    /// With datagrams: the counters of each flow.
    pub datagrams: Vec<Arc<datagrams::Counts>>,
    /// With a workload: the counters of each thread.
    pub ledgers: Vec<Arc<Ledger>>,
    /// With a workload: what its threads record latencies in.
    latencies: Vec<SharedLatencies>,
    control: Arc<Control>,
    workers: Vec<JoinHandle<ThreadEnd>>,
    /// Where the threads that were made last say that they run, with their ids.
    starting: Vec<Channel<Result<u32, LoadError>>>,
    wakers: Option<Wakers>,
    conductor: Option<Conductor>,
    openings: Option<Arc<Openings>>,
    /// Numbers of the first connections of the groups.
    groups: Vec<u32>,
    done: Channel<()>,
    done_count: usize,
}

/// The end of a thread of the load.
struct ThreadEnd {
    results: Vec<ConnectionResult>,
    account: Option<(u64, ThreadSample)>,
}

/// The end of a load.
#[derive(Debug, Default)]
pub struct Ends {
    /// Every connection's result, in the order of the numbers.
    pub results: Vec<ConnectionResult>,
    /// The usage of each thread when it ended, and when that was on CLOCK_MONOTONIC in ns.
    pub accounts: Vec<Option<(u64, ThreadSample)>>,
    /// With a workload: the latencies of all transactions.
    pub latencies: Option<Latencies>,
}

/// Lets another thread end a load at any time.
#[derive(Clone)]
pub struct AbortHandle {
    control: Arc<Control>,
    sockets: Vec<Arc<Socket>>,
    wakers: Option<Wakers>,
}

impl AbortHandle {
    /// Ends all connections at once: calls that block return. What the kernel still holds unsent
    /// is thrown away.
    pub fn cut(&self, cut: Cut) {
        self.control.cut_all(cut);
        for socket in &self.sockets {
            let _ = socket.set_linger(Some(Duration::ZERO));
            let _ = socket.shutdown(Shutdown::Both);
        }
        if let Some(wakers) = &self.wakers {
            wakers.wake();
        }
    }
}

impl Load {
    /// Makes the threads, which wait for [`Load::start`].
    ///
    /// # Errors
    /// A thread cannot be made, or not pinned as asked; the workload makes no sense.
    pub fn prepare(spec: &TrialSpec, opened: Opened) -> Result<Self, LoadError> {
        let control = Arc::new(Control::default());
        let (done_sender, done) = channel();
        let mut load = Self {
            flows: Vec::new(),
            threads: Vec::new(),
            watched: BTreeMap::new(),
            datagrams: Vec::new(),
            ledgers: Vec::new(),
            latencies: Vec::new(),
            control,
            workers: Vec::new(),
            starting: Vec::new(),
            wakers: None,
            conductor: None,
            openings: None,
            groups: Vec::new(),
            done,
            done_count: 0,
        };
        if let Some(workload) = &spec.workload {
            load.prepare_engine(spec, workload, opened, &done_sender)?;
        } else if let Some(stream) = &spec.datagrams {
            load.prepare_datagrams(spec, stream, opened, &done_sender)?;
        } else {
            load.prepare_streams(spec, opened, &done_sender)?;
        }
        Ok(load)
    }

    fn prepare_engine(&mut self, spec: &TrialSpec, workload: &Workload, opened: Opened, done: &Sender<()>) -> Result<(), LoadError> {
        let prepared = engine::prepare(spec, workload, opened, &self.control)?;
        self.flows = prepared.flows;
        self.ledgers = prepared.ledgers;
        self.latencies = prepared.latencies;
        self.wakers = Some(prepared.wakers);
        self.conductor = Some(prepared.conductor);
        self.openings = Some(prepared.openings);
        self.groups = prepared.groups;
        let threads_count = u32::try_from(prepared.workers.len()).unwrap_or(u32::MAX);
        for (position, mut worker) in prepared.workers.into_iter().enumerate() {
            // A thread a CPU, where there is one for each.
            let pin_cpus = spec.pin_cpus.get(position % spec.pin_cpus.len().max(1)).map_or_else(Vec::new, |cpu| vec![*cpu]);
            let control = Arc::clone(&self.control);
            self.spawn(format!("load-{position}"), pin_cpus, done.clone(), move || {
                let ending = worker.prepare(control.await_instant());
                let (_, urgent) = control.await_start_of_few(threads_count);
                let results = worker.run(&ending, urgent);
                ThreadEnd { results, account: None }
            })?;
        }
        self.await_threads()
    }

    fn prepare_datagrams(&mut self, spec: &TrialSpec, stream: &DatagramStream, opened: Opened, done: &Sender<()>) -> Result<(), LoadError> {
        let source: Arc<[u8]> = pattern(stream.datagram_bytes).into();
        for Ready { mut task, times, socket, watched } in datagrams::tasks(spec, stream, opened, &self.control)? {
            self.datagrams.push(Arc::clone(&task.counts));
            if let Some(watched) = watched {
                self.watched.insert(task.number, watched);
            }
            self.flows.push(Flow {
                socket,
                counter: FlowCounter::Own(Arc::clone(&task.counter)),
                thread: u32::try_from(self.workers.len()).unwrap_or(u32::MAX),
                ..Flow::new(task.number, times)
            });
            let (role, source, control) = (spec.role, Arc::clone(&source), Arc::clone(&self.control));
            self.spawn(format!("{}-{}", role.name(), task.number), spec.pin_cpus.clone(), done.clone(), move || {
                control.await_start();
                let result = match role {
                    Role::Sender => datagrams::sender::carry(&mut task, &source),
                    Role::Receiver => datagrams::receiver::carry(&mut task),
                };
                ThreadEnd { results: vec![result], account: None }
            })?;
        }
        self.await_threads()
    }

    /// Lets all threads begin together, at an instant of CLOCK_MONOTONIC, which is later than planned where this host was
    /// busy. To be called when whatever watches them is in place: a thread may have ended a moment after it began.
    ///
    /// # Errors
    /// The thread that agrees with the other host cannot be made.
    pub fn start(&mut self, planned_mono_ns: u64, start_mono_ns: u64) -> Result<(), LoadError> {
        if let Some(conductor) = self.conductor.take() {
            let conducting = thread::Builder::new().name("conductor".to_owned()).spawn(move || conductor.conduct());
            conducting.map_err(|error| LoadError::host("making the load's threads", error, ""))?;
        }
        self.control.start(planned_mono_ns, start_mono_ns);
        Ok(())
    }

    /// Makes a thread on these CPUs; `carry` is its work. It is not waited for: among thousands of others it may take
    /// seconds until it runs.
    fn spawn(
        &mut self,
        name: String,
        pin_cpus: Vec<u32>,
        done: Sender<()>,
        carry: impl FnOnce() -> ThreadEnd + Send + 'static,
    ) -> Result<(), LoadError> {
        let (ready_sender, ready) = channel();
        let worker = thread::Builder::new()
            .name(name)
            .spawn(move || {
                let pinned = pin_this_thread(&pin_cpus);
                let is_pinned = pinned.is_ok();
                let _ = ready_sender.send(pinned.map(|()| u32::try_from(nix::unistd::gettid().as_raw()).unwrap_or(0)));
                if !is_pinned {
                    return ThreadEnd { results: Vec::new(), account: None };
                }
                let mut end = carry();
                end.account = account();
                let _ = done.send(());
                end
            })
            .map_err(|error| {
                LoadError::host(
                    "making a thread for a connection",
                    error,
                    "; ask for fewer connections, or for an I/O model of few threads",
                )
            })?;
        self.workers.push(worker);
        self.starting.push(ready);
        Ok(())
    }

    /// Waits until all threads that were made run where they are to.
    fn await_threads(&mut self) -> Result<(), LoadError> {
        for ready in std::mem::take(&mut self.starting) {
            let thread = ready.recv().map_err(|_| LoadError::Usage("a load thread ended before it began".to_owned()))??;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// Streams over what was opened, each on a thread of its own.
    fn prepare_streams(&mut self, spec: &TrialSpec, mut opened: Opened, done: &Sender<()>) -> Result<(), LoadError> {
        let longest = (0..spec.connections_count).map(|number| call_bytes(&spec.of_connection(number))).max();
        let source: Arc<[u8]> = pattern(longest.unwrap_or(0)).into();
        let mut conductor = opened.conductor;
        if spec.transport == Transport::Sctp {
            let associations = std::mem::take(&mut opened.connections);
            self.prepare_associations(spec, associations, conductor.take(), &source, done)?;
        }
        for Connection { number, socket, times, tls, tls_facts } in opened.connections {
            let socket = Arc::new(socket);
            let transport = SocketTransport::new(Arc::clone(&socket), &spec.of_connection(number));
            let flow = Flow { socket: Some(socket), tls: tls_facts.map(|facts| view_of(Some(facts))), ..Flow::new(number, times) };
            match tls {
                Some(session) => self.add(spec, flow, TlsTransport::new(session, transport), &source, done)?,
                None => self.add(spec, flow, transport, &source, done)?,
            }
        }
        if let (Some(conductor), false) = (conductor, opened.over_udt.is_empty()) {
            let (teller, inboxes) = agreement::open(conductor, spec.connections_count)?;
            let mut inboxes: BTreeMap<u32, _> = (0..).zip(inboxes).collect();
            for UdtConnection { number, view, times } in opened.over_udt {
                let Some(inbox) = inboxes.remove(&number) else { continue };
                let transport = UdtTransport::new(number, Arc::clone(&view), spec, Arc::clone(&self.control), Arc::clone(&teller), inbox);
                self.watched.insert(number, view);
                self.add(spec, Flow::new(number, times), transport, &source, done)?;
            }
        }
        for OpenedQuic { number, connection, times } in opened.over_quic {
            let asked = controller_of(spec, number);
            self.watched.insert(number, Arc::new(QuicView::new(&connection, asked.as_deref())));
            let transport = QuicTransport::new(connection, Arc::clone(&self.control));
            self.add(spec, Flow::new(number, times), transport, &source, done)?;
        }
        self.flows.sort_by_key(|flow| flow.number);
        self.await_threads()?;
        // What they use up is the load's, too.
        self.threads.extend(opened.library_threads);
        Ok(())
    }

    /// Streams over SCTP, whose ends both hosts agree on over the conductor's association.
    fn prepare_associations(
        &mut self,
        spec: &TrialSpec,
        associations: Vec<Connection>,
        conductor: Option<Socket>,
        source: &Arc<[u8]>,
        done: &Sender<()>,
    ) -> Result<(), LoadError> {
        let Some(conductor) = conductor else { return Ok(()) };
        let (counts_sender, inboxes) = agreement::open(conductor, spec.connections_count)?;
        let mut inboxes: BTreeMap<u32, _> = (0..).zip(inboxes).collect();
        for Connection { number, socket, times, .. } in associations {
            let Some(inbox) = inboxes.remove(&number) else { continue };
            let socket = Arc::new(socket);
            let view = Arc::new(SctpView::new(Arc::clone(&socket))?);
            self.watched.insert(number, Arc::clone(&view) as Arc<dyn Watched>);
            let agreed = (Arc::clone(&counts_sender), inbox);
            let (own, control) = (spec.of_connection(number), Arc::clone(&self.control));
            let transport = SctpTransport::new(number, Arc::clone(&socket), view, &own, control, agreed)?;
            self.add(spec, Flow { socket: Some(socket), ..Flow::new(number, times) }, transport, source, done)?;
        }
        Ok(())
    }

    /// Makes the thread of a connection.
    fn add(
        &mut self,
        spec: &TrialSpec,
        flow: Flow,
        mut transport: impl StreamTransport + Send + 'static,
        source: &Arc<[u8]>,
        done: &Sender<()>,
    ) -> Result<(), LoadError> {
        let (spec, active) = (&*spec.of_connection(flow.number), ActiveInterval::of(spec, flow.number));
        let planned_bytes = match spec.stop {
            Stop::Bytes { payload_bytes } => Some(payload_bytes),
            Stop::Duration { .. } | Stop::Workload => None,
        };
        let counter = Arc::new(Counter::default());
        let mut task = StreamTask {
            number: flow.number,
            counter: Arc::clone(&counter),
            control: Arc::clone(&self.control),
            transfer: Transfer::new(call_bytes(spec), &spec.stop),
            planned_bytes,
            pace: Pace::new(spec.write_rate_bps),
            exchange: Exchange::new(spec.write_size_bytes, spec.reply_size_bytes),
            active,
            begin_mono_ns: 0,
            least_ns: least_ns(spec, active),
            urgent: None,
        };
        let threads_count = spec.connections_count;
        let length = call_bytes(spec) as usize;
        let (role, source) = (spec.role, Arc::clone(source));
        let thread = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        self.spawn(format!("{}-{}", spec.role.name(), flow.number), spec.pin_cpus.clone(), done.clone(), move || {
            (task.begin_mono_ns, task.urgent) = match role {
                Role::Sender => task.control.await_start_of_few(threads_count),
                Role::Receiver => (task.control.await_start(), None),
            };
            let result = match role {
                Role::Sender => sender::carry(&mut task, &mut transport, &source[..length]),
                Role::Receiver => receiver::carry(&mut task, &mut transport, &mut source[..length].to_vec()),
            };
            ThreadEnd { results: vec![result], account: None }
        })?;
        self.flows.push(Flow { counter: FlowCounter::Own(counter), thread, ..flow });
        Ok(())
    }

    /// Number of the first connection of a connection's group; without a workload all are one.
    pub fn group_of(&self, number: u32) -> u32 {
        let behind = self.groups.partition_point(|first| *first <= number);
        behind.checked_sub(1).map_or(0, |group| self.groups[group])
    }

    /// Connections without the token that came while the workload ran, and were dropped.
    pub fn strangers_count(&self) -> u64 {
        self.openings.as_ref().map_or(0, |openings| openings.unauthenticated.load(Ordering::Relaxed))
    }

    /// A handle that ends the load from another thread.
    pub fn abort_handle(&self) -> AbortHandle {
        let sockets = self.flows.iter().filter_map(|flow| flow.socket.clone()).collect();
        AbortHandle { control: Arc::clone(&self.control), sockets, wakers: self.wakers.clone() }
    }

    /// Ends a timed load in order: senders finish their call and close their direction.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Sleeps until `mono_ns` on CLOCK_MONOTONIC, or until all connections are done.
    /// Returns whether all are done.
    pub fn wait_until(&mut self, mono_ns: u64) -> bool {
        while self.done_count < self.workers.len() {
            let left = mono_ns.saturating_sub(probe::clock::mono_ns());
            if left == 0 {
                return false;
            }
            match self.done.recv_timeout(Duration::from_nanos(left)) {
                Ok(()) => self.done_count += 1,
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        true
    }

    /// Waits for the threads and says how all ended.
    pub fn join(&mut self) -> Ends {
        let mut ends = Ends::default();
        for worker in std::mem::take(&mut self.workers) {
            let end = worker.join().unwrap_or(ThreadEnd { results: Vec::new(), account: None });
            ends.results.extend(end.results);
            ends.accounts.push(end.account);
        }
        let recorded = self.latencies.iter().map(|latencies| std::mem::take(&mut *latencies.lock()));
        ends.latencies = recorded.reduce(|mut merged, latencies| {
            merged.merge(latencies);
            merged
        });
        ends.results.sort_by_key(|result| result.number);
        let broken = |number| ConnectionResult {
            ended: Ended::Failed("the connection's thread panicked".to_owned()),
            ..ConnectionResult::new(number)
        };
        let mut results = std::mem::take(&mut ends.results).into_iter().peekable();
        ends.results = self
            .flows
            .iter()
            .map(|flow| results.next_if(|result| result.number == flow.number).unwrap_or_else(|| broken(flow.number)))
            .collect();
        ends
    }
}

impl Drop for Load {
    /// A load that nobody waited for is cut, so that no thread of it stays behind.
    fn drop(&mut self) {
        if !self.workers.is_empty() {
            self.abort_handle().cut(Cut::Aborted);
        }
    }
}

/// Time after the start within which a connection of a timed load must not end. Without a cool-down, and in a
/// schedule, the sender closes at the very end of its time, by a clock of its own.
fn least_ns(spec: &TrialSpec, active: Option<ActiveInterval>) -> u64 {
    const SLACK_NS: u64 = 100_000_000;
    match (spec.stop, active) {
        (Stop::Bytes { .. } | Stop::Workload, _) => 0,
        (Stop::Duration { .. }, Some(active)) => active.stop_ns.saturating_sub(SLACK_NS),
        (Stop::Duration { warmup_ns, measure_ns, .. }, None) => warmup_ns.saturating_add(measure_ns).saturating_sub(SLACK_NS),
    }
}

/// Bytes a call of this host asks for.
fn call_bytes(spec: &TrialSpec) -> u32 {
    match spec.role {
        Role::Sender => spec.write_size_bytes,
        Role::Receiver => spec.read_size_bytes,
    }
}
