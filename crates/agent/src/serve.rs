//! Answers a controller over the pipe, one trial at a time, until the pipe closes. What is answered, and when, is
//! decided by [`Session`]; here it is carried out.
//!
//! The connections of a trial open, and its load runs, in threads of their own, so that requests, above all the end of
//! the pipe, are always heard. When the pipe closes the load is cut and everything the agent changed is put
//! back by dropping what holds it.

use anyhow::Context;
use load::LoadError;
use load::open::{self, Arrivals, Folder, Listening, Opened};
use load::round_trips::Echo;
use path::Testbed;
use schema::evidence::Programs;
use schema::message::{Fault, Reply, Request};
use schema::trial::{Opening, ProbeTransport, TrialSpec};
use schema::watch::WatchSpec;
use session::report::{Table, send_table};
use session::{Action, CLOSED_GRACE_NS, END_GRACE_NS, PipeError, Prepared, Refusal, Session};
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::evidence::{EvidenceCollector, LoadedPrograms};
use crate::pipe::{Replies, ReplySink, watch_for_close};
use crate::stages::{LoadedStages, StageTimes};
use crate::transports;
use crate::trial::{self, Abort, Watching};
use crate::watch::{self, Ended, Ender};

/// Bytes read from the pipe at once.
const READ_BYTES: usize = 64 << 10;

/// Reports of the threads to the one that serves.
enum Event {
    Bytes(Vec<u8>),
    /// The pipe has closed.
    End,
    /// The pipe cannot be read.
    ReadFailed(io::Error),
    Opened(u64, Box<Result<Opened, Refusal>>),
    LoadEnded(u64, Result<(), Refusal>),
    WatchEnded(u64, Result<(), Refusal>),
}

/// The state of a trial before its load runs.
struct Trial {
    /// The session's number of it, once its connections open.
    number: u64,
    spec: Arc<TrialSpec>,
    evidence: EvidenceCollector,
    stages: StageTimes,
    abort: Abort,
    /// On the far side, until it accepts.
    listening: Option<Listening>,
    opened: Option<Opened>,
    /// Removed with the trial.
    _folders: Vec<Folder>,
}

struct Server {
    replies: Replies,
    events: SyncSender<Event>,
    trial: Option<Trial>,
    /// Ends the watch, while there is one.
    watch: Option<Ender>,
    testbed: Option<Testbed>,
    programs: LoadedPrograms,
    stages: LoadedStages,
    controls: congestion::Holder,
    /// Answers the trial's round-trip probe, on the far side.
    echo: Option<Echo>,
    /// Where the near side sends its probe.
    echo_address: Option<SocketAddr>,
    /// The arrivals at the listening end of the trial.
    arrivals: Arc<Arrivals>,
}

fn refusal_of_load(error: &LoadError) -> Refusal {
    let fault = match error {
        LoadError::Usage(_) => Fault::Usage,
        LoadError::Host { .. } | LoadError::Limit(_) => Fault::Host,
        LoadError::Peer(_) => Fault::Peer,
    };
    Refusal { fault, text: error.to_string() }
}

fn refusal_of_path(error: &path::PathError) -> Refusal {
    Refusal { fault: error.fault(), text: error.to_string() }
}

/// Serves on the process's standard input and output until the pipe closes.
///
/// # Errors
/// What came through the pipe is not the protocol.
pub fn serve_stdio() -> anyhow::Result<()> {
    load::limits::raise_open_files();
    let closed = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&closed);
    watch_for_close(io::stdin(), move || {
        noted.store(true, Ordering::SeqCst);
        thread::sleep(Duration::from_nanos(CLOSED_GRACE_NS));
        // A request under way hangs. What the agent changed goes with the process.
        std::process::exit(0);
    });
    // A thread that reports waits until it is heard: nothing piles up behind a request that takes long.
    let (sender, events) = sync_channel(0);
    let (replies, writer) = Replies::new(io::stdout());
    let requests = sender.clone();
    thread::spawn(move || read_pipe(io::stdin(), &requests));
    let mut server = Server {
        replies,
        events: sender,
        trial: None,
        watch: None,
        testbed: None,
        programs: LoadedPrograms::default(),
        stages: LoadedStages::default(),
        controls: congestion::Holder::default(),
        echo: None,
        echo_address: None,
        arrivals: Arc::default(),
    };
    let mut session = Session::new(std::process::id());
    let end = server.serve(&mut session, &events, &closed);
    let replies = server.replies.clone();
    drop(server);
    // Everything is undone.
    if let Some(id) = session.goodbye() {
        replies.say_goodbye(id);
    }
    // One that hangs on a full pipe is left behind.
    wait_for(&writer, end);
    session.take_error().map_or(Ok(()), Err).context("the controller's pipe")
}

/// Reports what comes through the pipe, until it closes or nobody listens any more.
fn read_pipe(mut input: impl Read, events: &SyncSender<Event>) {
    let mut piece = vec![0; READ_BYTES];
    loop {
        let event = match input.read(&mut piece) {
            Ok(0) => Event::End,
            Ok(count) => Event::Bytes(piece[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Event::ReadFailed(error),
        };
        let is_last = !matches!(event, Event::Bytes(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

impl Server {
    /// Carries out what the session asks until it ends; returns by when everything must be gone. `closed` says that the
    /// pipe has closed before the last request that lies in it was read.
    fn serve(&mut self, session: &mut Session, events: &Receiver<Event>, closed: &AtomicBool) -> Instant {
        let mut end = Instant::now();
        loop {
            if closed.load(Ordering::SeqCst) {
                session.handle_hang_up();
            }
            match session.poll_action(probe::clock::mono_ns()) {
                Some(Action::Exit) => return end,
                Some(Action::CloseReplies(last_words)) => {
                    end = Instant::now() + Duration::from_nanos(END_GRACE_NS);
                    self.replies.close(last_words);
                }
                Some(Action::Leave) => {
                    end = Instant::now() + Duration::from_nanos(2 * END_GRACE_NS);
                    self.replies.leave();
                }
                Some(action) => self.carry_out(action, session),
                None => self.wait(session, events),
            }
        }
    }

    fn wait(&mut self, session: &mut Session, events: &Receiver<Event>) {
        let event = match session.timeout_ns() {
            None => events.recv().ok(),
            Some(due_ns) => events.recv_timeout(Duration::from_nanos(due_ns.saturating_sub(probe::clock::mono_ns()))).ok(),
        };
        match event {
            // The session's time has come.
            None => {}
            Some(Event::Bytes(bytes)) => session.handle_bytes(&bytes),
            Some(Event::End) => session.handle_end(probe::clock::mono_ns()),
            Some(Event::ReadFailed(error)) => session.handle_broken_pipe(PipeError::Io(error), probe::clock::mono_ns()),
            Some(Event::Opened(number, result)) => {
                let result = result.map(|opened| {
                    // Those of a trial that was aborted are closed here.
                    if let Some(trial) = self.trial.as_mut().filter(|trial| trial.number == number) {
                        trial.opened = Some(opened);
                    }
                });
                session.on_opened(number, result);
            }
            Some(Event::LoadEnded(number, result)) => session.on_load_ended(number, result),
            Some(Event::WatchEnded(number, result)) => session.on_watch_ended(number, result),
        }
    }

    fn carry_out(&mut self, action: Action, session: &mut Session) {
        match action {
            Action::Send(id, reply) => self.replies.send(id, reply),
            Action::Answer(id, request) => {
                let reply = self.answer(id, request).unwrap_or_else(Reply::from);
                self.replies.send(id, reply);
            }
            Action::CountArrivals(id) => {
                let (connections_count, strangers_count) = self.arrivals.counts();
                session.on_arrivals(id, connections_count, strangers_count);
            }
            Action::Prepare(spec) => session.on_prepared(self.prepare(spec)),
            Action::Accept { trial } => self.accept(trial),
            Action::Connect { trial, address, port, echo_port } => self.connect(trial, address, port, echo_port),
            Action::Load { trial, id, at_mono_ns } => self.load(trial, id, at_mono_ns),
            Action::Watch { watch, id, spec } => self.watch(watch, id, spec),
            Action::EndWatch => self.end_watch(Ended::Requested),
            Action::Abort => {
                if let Some(trial) = self.trial.take() {
                    trial.abort.abort();
                }
                self.end_watch(Ended::Aborted);
            }
            Action::CloseReplies(_) | Action::Leave | Action::Exit => {}
        }
    }

    /// Answers a request about this host.
    fn answer(&mut self, id: u64, request: Request) -> Result<Reply, Refusal> {
        match request {
            Request::Clock => {
                return Ok(Reply::Clock { mono_ns: probe::clock::mono_ns(), realtime_ns: probe::clock::realtime_ns() });
            }
            Request::DescribeHost { with_hooks } => return Ok(Reply::Host(Box::new(transports::describe_host(with_hooks)))),
            Request::ListTransports => return Ok(Reply::Transports { offers: transports::list() }),
            Request::BuildTestbed(spec) => {
                // The old one goes first: a host has room for one set of names.
                self.testbed = None;
                let testbed = path::build(&spec).map_err(|error| refusal_of_path(&error))?;
                let report = testbed.report().clone();
                self.testbed = Some(testbed);
                return Ok(Reply::Testbed(Box::new(report)));
            }
            Request::RemoveTestbed => self.testbed = None,
            Request::CarryPath { path, budget_ns } => {
                self.testbed()?.carry_path(&path, budget_ns).map_err(|error| refusal_of_path(&error))?;
            }
            Request::BeginPath { at_mono_ns } => self.testbed()?.begin_path(at_mono_ns).map_err(|error| refusal_of_path(&error))?,
            Request::EndPath => self.end_path(id)?,
            other => return Err(Refusal { fault: Fault::Internal, text: format!("nobody answers {other:?}") }),
        }
        Ok(Reply::Done)
    }

    fn testbed(&self) -> Result<&Testbed, Refusal> {
        self.testbed.as_ref().ok_or_else(|| Refusal::usage("there is no testbed; build one with a path"))
    }

    fn end_path(&self, id: u64) -> Result<(), Refusal> {
        let carried = self.testbed()?.end_path().map_err(|error| refusal_of_path(&error))?;
        self.replies.send(id, Reply::PathCarried(carried.audit().clone()));
        for table in record::emulated::tables(carried) {
            let name = table.name();
            let content = table.finish().map_err(|error| Refusal { fault: Fault::Internal, text: error.to_string() })?;
            send_table(id, Table::of_bytes(name, content), |frame| self.replies.push(frame))
                .map_err(|error| Refusal { fault: Fault::Internal, text: error.to_string() })?;
        }
        Ok(())
    }

    fn prepare(&mut self, mut spec: Box<TrialSpec>) -> Result<Prepared, Refusal> {
        (self.trial, self.echo, self.echo_address) = (None, None, None);
        open::check(&spec).map_err(|error| refusal_of_load(&error))?;
        load::round_trips::check(&spec).map_err(|error| refusal_of_load(&error))?;
        if let Some(workload) = &spec.workload {
            load::engine::script(&spec, workload).map_err(|error| refusal_of_load(&error))?;
        }
        transports::register(&mut self.controls, &mut spec).map_err(|error| refusal_of_load(&error))?;
        let spec = Arc::<TrialSpec>::from(spec);
        let mut evidence = self.programs.collector(&spec);
        let mut stages = self.stages.prepare(&spec);
        let (loan, stages_loan) = (evidence.loan(), stages.loan().filter(|_| spec.programs == Programs::Lend));
        let listening = match spec.opening {
            Opening::Connect => None,
            Opening::Listen => {
                let listening = Listening::open(&spec).map_err(|error| refusal_of_load(&error))?;
                self.echo = Echo::for_trial(&spec).map_err(|error| refusal_of_load(&error))?;
                evidence.start(listening.port(), true, &spec.own_cpus);
                stages.start(listening.port(), true);
                self.arrivals = listening.arrivals();
                Some(listening)
            }
        };
        let (port, echo_port) = (listening.as_ref().map(Listening::port), self.echo.as_ref().map(Echo::port));
        let reply = Reply::Prepared { port, loan, stages_loan, echo_port };
        let prepared = Prepared { reply, opening: spec.opening, connections_count: spec.connections_count };
        let folders = Folder::of_both_hosts(&spec);
        self.trial = Some(Trial { number: 0, spec, evidence, stages, abort: Abort::default(), listening, opened: None, _folders: folders });
        Ok(prepared)
    }

    fn accept(&mut self, number: u64) {
        let Some(trial) = &mut self.trial else { return };
        if let Some(listening) = trial.listening.take() {
            self.open(number, move |aborted| listening.accept_all(aborted));
        }
    }

    fn connect(&mut self, number: u64, address: IpAddr, port: u16, echo_port: Option<u16>) {
        let Some(trial) = &mut self.trial else { return };
        let spec = Arc::clone(&trial.spec);
        trial.evidence.start(port, false, &spec.own_cpus);
        trial.stages.start(port, false);
        // The kernel answers ICMP at no port.
        let echo_port = echo_port.or((spec.round_trip_probe_by == ProbeTransport::Icmp).then_some(0));
        self.echo_address = echo_port.map(|port| SocketAddr::new(address, port));
        self.open(number, move |aborted| open::connect_all(&spec, SocketAddr::new(address, port), aborted));
    }

    /// Opens the trial's connections in a thread.
    fn open(&mut self, number: u64, open: impl FnOnce(&AtomicBool) -> Result<Opened, LoadError> + Send + 'static) {
        let Some(trial) = &mut self.trial else { return };
        trial.number = number;
        let (abort, events) = (trial.abort.clone(), self.events.clone());
        thread::spawn(move || {
            let opened = open(abort.flag()).map_err(|error| refusal_of_load(&error));
            // Nobody listens any more when the agent ends.
            let _ = events.send(Event::Opened(number, Box::new(opened)));
        });
    }

    /// Watches other programs' connections in a thread.
    fn watch(&mut self, number: u64, id: u64, spec: Box<WatchSpec>) {
        let ender = Ender::default();
        self.watch = Some(ender.clone());
        let (replies, events) = (ReplySink::new(&self.replies, id), self.events.clone());
        thread::spawn(move || {
            let watched = watch::run(&spec, &ender, &replies);
            // As below.
            let _ = events.send(Event::WatchEnded(number, watched));
        });
    }

    fn end_watch(&mut self, ended: Ended) {
        if let Some(ender) = &self.watch {
            ender.end(ended);
        }
    }

    /// Runs the trial's load in a thread.
    fn load(&mut self, number: u64, id: u64, at_mono_ns: u64) {
        let Some(trial) = &mut self.trial else { return };
        let Some(opened) = trial.opened.take() else { return };
        let (spec, abort) = (Arc::clone(&trial.spec), trial.abort.clone());
        let (evidence, stages) = (trial.evidence.clone(), trial.stages.clone());
        let (replies, echo, events) = (ReplySink::new(&self.replies, id), self.echo_address, self.events.clone());
        thread::spawn(move || {
            let ran = trial::run(&spec, opened, at_mono_ns, echo, &abort, Watching { evidence: &evidence, stages: &stages }, &replies);
            let ended = ran.map_err(|error| {
                let fault = if error.is::<LoadError>() { Fault::Host } else { Fault::Internal };
                Refusal { fault, text: format!("{error:#}") }
            });
            drop((spec, evidence, stages, abort));
            // As above.
            let _ = events.send(Event::LoadEnded(number, ended));
        });
    }
}

/// Waits for a thread until `end`.
fn wait_for<T>(thread: &JoinHandle<T>, end: Instant) {
    while !thread.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}
