//! Answers a controller over the pipe, one trial at a time, until the pipe closes.
//!
//! The trial runs in a thread of its own, so that requests, above all the end of the pipe, are
//! always heard. When the pipe closes the load is cut and everything the agent changed is put
//! back by dropping what holds it.

use anyhow::Context;
use load::LoadError;
use load::open::{self, Arrivals, Listening, Opened};
use load::round_trips::Echo;
use path::Testbed;
use schema::message::{Envelope, Fault, Reply, Request};
use schema::trial::{Opening, ProbeTransport, TrialSpec};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::evidence::{EvidenceCollector, LoadedPrograms};
use crate::pipe::{Replies, ReplySink, Requests, watch_for_close};
use crate::transports;
use crate::trial::{self, Abort};

/// How long everything may take to end after the pipe closed; only what hangs takes that long.
const END_GRACE: Duration = Duration::from_secs(1);
/// How long after the pipe closed the process ends, whatever it is doing: an agent never outlives its pipe by 2 s.
const CLOSED_GRACE: Duration = Duration::from_millis(1_700);
/// How long a trial may take to end, and to reply with its result, after it was aborted.
const ABORT_GRACE: Duration = Duration::from_millis(1_500);
/// How long a thread may take to be gone after its last reply.
const LAST_REPLY_GRACE: Duration = Duration::from_millis(100);

/// Where the agent stands with its trial.
enum Stage {
    Idle,
    /// The near side, before it connects.
    Ready(Arc<TrialSpec>, EvidenceCollector),
    /// Either side, while its connections open and until the start.
    Opening {
        spec: Arc<TrialSpec>,
        evidence: EvidenceCollector,
        abort: Abort,
        opener: JoinHandle<Result<Opened, Refusal>>,
    },
    Running {
        abort: Abort,
        runner: JoinHandle<()>,
    },
}

struct Server {
    replies: Replies,
    stage: Stage,
    testbed: Option<Testbed>,
    programs: LoadedPrograms,
    controls: congestion::Holder,
    /// Answers the trial's round-trip probe, on the far side.
    echo: Option<Echo>,
    /// Where the near side sends its probe.
    echo_address: Option<SocketAddr>,
    /// What comes to the listening end of the trial.
    arrivals: Arc<Arrivals>,
    /// Why it awaits no more.
    opening_problem: Arc<OnceLock<String>>,
}

/// A request that failed.
#[derive(Clone)]
struct Refusal {
    fault: Fault,
    text: String,
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        let fault = match &error {
            LoadError::Usage(_) => Fault::Usage,
            LoadError::Host { .. } | LoadError::Limit(_) => Fault::Host,
            LoadError::Peer(_) => Fault::Peer,
        };
        Self { fault, text: error.to_string() }
    }
}

impl From<path::PathError> for Refusal {
    fn from(error: path::PathError) -> Self {
        Self { fault: error.fault(), text: error.to_string() }
    }
}

fn usage(text: &str) -> Refusal {
    Refusal { fault: Fault::Usage, text: text.to_owned() }
}

/// Serves until the pipe closes, which `closed` says before the last request that lies in it was read.
///
/// # Errors
/// What came through the pipe is not the protocol.
fn serve(input: impl Read, output: impl Write + Send + 'static, closed: &AtomicBool) -> anyhow::Result<()> {
    let mut requests = Requests::new(input);
    let (replies, writer) = Replies::new(output);
    let mut server = Server {
        replies,
        stage: Stage::Idle,
        testbed: None,
        programs: LoadedPrograms::default(),
        controls: congestion::Holder::default(),
        echo: None,
        echo_address: None,
        arrivals: Arc::default(),
        opening_problem: Arc::default(),
    };
    let ended = loop {
        match requests.next() {
            // Nobody is left to answer.
            Ok(Some(_)) if closed.load(Ordering::SeqCst) => break Ok(()),
            Ok(Some(request)) => server.handle(request),
            Ok(None) => break Ok(()),
            Err(error) => {
                // Identifier 0 is no request's: the pipe itself is at fault.
                server.replies.fail(0, Fault::Usage, error.to_string());
                break Err(error).context("the controller's pipe");
            }
        }
    };
    let end = Instant::now() + END_GRACE;
    server.replies.close();
    server.end_trial(end);
    // The writer ends when the last sender is gone; one that hangs on a full pipe is left behind.
    drop(server);
    wait_for(&writer, end);
    ended
}

impl Server {
    fn handle(&mut self, Envelope { id, body }: Envelope<Request>) {
        match self.answer(id, body) {
            Ok(Some(reply)) => self.replies.send(id, reply),
            Ok(None) => {}
            Err(Refusal { fault, text }) => self.replies.fail(id, fault, text),
        }
    }

    fn answer(&mut self, id: u64, request: Request) -> Result<Option<Reply>, Refusal> {
        let reply = match request {
            Request::Hello { version } => hello(&version)?,
            Request::Clock => Reply::Clock { mono_ns: probe::clock::mono_ns(), realtime_ns: probe::clock::realtime_ns() },
            Request::DescribeHost { with_hooks } => Reply::Host(Box::new(transports::describe_host(with_hooks))),
            Request::ListTransports => Reply::Transports { offers: transports::list() },
            Request::BuildTestbed(spec) => {
                // The old one goes first: a host has room for one set of names.
                self.testbed = None;
                let testbed = path::build(&spec)?;
                let report = testbed.report().clone();
                self.testbed = Some(testbed);
                Reply::Testbed(Box::new(report))
            }
            Request::RemoveTestbed => {
                self.testbed = None;
                Reply::Done
            }
            Request::CarryPath { path, budget_ns } => {
                self.testbed()?.carry_path(&path, budget_ns)?;
                Reply::Done
            }
            Request::BeginPath { at_mono_ns } => {
                self.testbed()?.begin_path(at_mono_ns)?;
                Reply::Done
            }
            Request::EndPath => {
                self.end_path(id)?;
                Reply::Done
            }
            Request::Prepare(spec) => self.prepare(spec)?,
            Request::Connect { address, port, echo_port } => {
                self.connect(id, &address, port, echo_port)?;
                return Ok(None);
            }
            Request::DescribeOpening => {
                let (connections_count, strangers_count) = self.arrivals.counts();
                Reply::Opening { connections_count, strangers_count, problem: self.opening_problem.get().cloned() }
            }
            Request::Start { at_mono_ns } => {
                self.start(id, at_mono_ns)?;
                return Ok(None);
            }
            Request::Abort => {
                self.end_trial(Instant::now() + ABORT_GRACE);
                Reply::Done
            }
        };
        Ok(Some(reply))
    }

    fn testbed(&self) -> Result<&Testbed, Refusal> {
        self.testbed.as_ref().ok_or_else(|| usage("there is no testbed; build one with a path"))
    }

    fn end_path(&self, id: u64) -> Result<(), Refusal> {
        let carried = self.testbed()?.end_path()?;
        self.replies.send(id, Reply::PathCarried(carried.audit().clone()));
        let broken = |error: record::RecordError| Refusal { fault: Fault::Internal, text: error.to_string() };
        for table in record::emulated::tables(carried) {
            let name = table.name();
            self.replies.send_table(id, name, &table.finish().map_err(broken)?);
        }
        Ok(())
    }

    fn prepare(&mut self, mut spec: Box<TrialSpec>) -> Result<Reply, Refusal> {
        self.forget_finished();
        if !matches!(self.stage, Stage::Idle) {
            return Err(usage("a trial is under way; abort it first"));
        }
        (self.echo, self.echo_address) = (None, None);
        open::check(&spec)?;
        load::round_trips::check(&spec)?;
        if let Some(workload) = &spec.workload {
            load::engine::script(&spec, workload)?;
        }
        transports::register(&mut self.controls, &mut spec)?;
        let spec = Arc::<TrialSpec>::from(spec);
        let mut evidence = self.programs.collector(&spec);
        let loan = evidence.loan();
        if spec.opening == Opening::Connect {
            self.stage = Stage::Ready(spec, evidence);
            return Ok(Reply::Prepared { port: None, loan, echo_port: None });
        }
        let listening = Listening::open(&spec)?;
        self.echo = Echo::for_trial(&spec)?;
        let port = listening.port();
        evidence.start(port, true, &spec.own_cpus);
        let abort = Abort::default();
        self.arrivals = listening.arrivals();
        self.opening_problem = Arc::default();
        let problem = Arc::clone(&self.opening_problem);
        let on_opened = move |refusal: Option<Refusal>| {
            // It is set once: the cell is this trial's own.
            let _ = refusal.map(|Refusal { text, .. }| problem.set(text));
        };
        let opener = open_in_thread(&abort, move |aborted| listening.accept_all(aborted), on_opened);
        self.stage = Stage::Opening { spec, evidence, abort, opener };
        Ok(Reply::Prepared { port: Some(port), loan, echo_port: self.echo.as_ref().map(Echo::port) })
    }

    fn connect(&mut self, id: u64, address: &str, port: u16, echo_port: Option<u16>) -> Result<(), Refusal> {
        let Stage::Ready(spec, evidence) = &self.stage else {
            return Err(usage("connect comes after prepare, at the connecting end"));
        };
        let ip: IpAddr = address.parse().map_err(|_| usage(&format!("\"{address}\" is not a numeric address")))?;
        let (spec, mut evidence, abort) = (Arc::clone(spec), evidence.clone(), Abort::default());
        evidence.start(port, false, &spec.own_cpus);
        // The kernel answers ICMP at no port.
        let echo_port = echo_port.or((spec.round_trip_probe_by == ProbeTransport::Icmp).then_some(0));
        self.echo_address = echo_port.map(|port| SocketAddr::new(ip, port));
        let (asked, replies) = (Arc::clone(&spec), self.replies.clone());
        let connections_count = spec.connections_count;
        let connect = move |aborted: &_| open::connect_all(&asked, SocketAddr::new(ip, port), aborted);
        let opener = open_in_thread(&abort, connect, move |refusal| match refusal {
            None => replies.send(id, Reply::Connected { connections_count }),
            Some(Refusal { fault, text }) => replies.fail(id, fault, text),
        });
        self.stage = Stage::Opening { spec, evidence, abort, opener };
        Ok(())
    }

    fn start(&mut self, id: u64, at_mono_ns: u64) -> Result<(), Refusal> {
        let (spec, evidence, abort, opener) = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Opening { spec, evidence, abort, opener } => (spec, evidence, abort, opener),
            other => {
                self.stage = other;
                return Err(usage("start comes after the connections are open"));
            }
        };
        let (handle, replies, echo) = (abort.clone(), self.replies.clone(), self.echo_address);
        let runner = thread::spawn(move || {
            let outcome = joined(opener).and_then(|opened| {
                trial::run(&spec, opened, at_mono_ns, echo, &handle, &evidence, &ReplySink::new(&replies, id)).map_err(|error| {
                    let fault = if error.is::<LoadError>() { Fault::Host } else { Fault::Internal };
                    Refusal { fault, text: format!("{error:#}") }
                })
            });
            if let Err(Refusal { fault, text }) = outcome {
                replies.fail(id, fault, text);
            }
        });
        self.stage = Stage::Running { abort, runner };
        Ok(())
    }

    /// A trial that has sent all its replies, or whose connections failed, leaves the stage to the next.
    fn forget_finished(&mut self) {
        // The controller may ask again as soon as it has the last reply, a moment before the
        // thread has ended.
        let end = Instant::now() + LAST_REPLY_GRACE;
        let is_over = match &self.stage {
            Stage::Idle | Stage::Ready(..) => false,
            Stage::Opening { abort, opener, .. } => abort.flag().load(Ordering::SeqCst) && wait_for(opener, end),
            Stage::Running { runner, .. } => wait_for(runner, end),
        };
        if is_over {
            self.stage = Stage::Idle;
        }
    }

    /// Ends the trial, which has until `end` to send its last replies.
    fn end_trial(&mut self, end: Instant) {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle | Stage::Ready(..) => {}
            Stage::Opening { abort, opener, .. } => {
                abort.abort();
                wait_for(&opener, end);
            }
            Stage::Running { abort, runner } => {
                abort.abort();
                wait_for(&runner, end);
            }
        }
    }
}

/// Opens a trial's connections in a thread, and reports when they are open or why they are not. A trial
/// whose connections failed counts as aborted.
fn open_in_thread(
    abort: &Abort,
    open: impl FnOnce(&AtomicBool) -> Result<Opened, LoadError> + Send + 'static,
    on_opened: impl FnOnce(Option<Refusal>) + Send + 'static,
) -> JoinHandle<Result<Opened, Refusal>> {
    let abort = abort.clone();
    thread::spawn(move || {
        let opened = open(abort.flag()).map_err(Refusal::from);
        if opened.is_err() {
            abort.abort();
        }
        on_opened(opened.as_ref().err().cloned());
        opened
    })
}

fn joined(opener: JoinHandle<Result<Opened, Refusal>>) -> Result<Opened, Refusal> {
    let panicked = |_| Refusal { fault: Fault::Internal, text: "the thread that opens connections panicked".to_owned() };
    opener.join().map_err(panicked)?
}

fn hello(version: &str) -> Result<Reply, Refusal> {
    let own = env!("CARGO_PKG_VERSION");
    if version == own {
        return Ok(Reply::Hello { version: own.to_owned(), pid: std::process::id() });
    }
    Err(usage(&format!("the agent is version {own}, the controller {version}; install the same whyperf on both hosts")))
}

/// Waits for a thread until `end`; says whether it has ended.
fn wait_for<T>(thread: &JoinHandle<T>, end: Instant) -> bool {
    while !thread.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
    thread.is_finished()
}

/// Serves on the process's standard input and output.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio() -> anyhow::Result<()> {
    load::limits::raise_open_files();
    let closed = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&closed);
    watch_for_close(io::stdin(), move || {
        noted.store(true, Ordering::SeqCst);
        thread::sleep(CLOSED_GRACE);
        // A request under way hangs. What the agent changed goes with the process.
        std::process::exit(0);
    });
    serve(io::stdin().lock(), io::stdout(), &closed)
}
