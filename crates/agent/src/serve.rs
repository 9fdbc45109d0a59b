//! Answers a controller over the pipe, one trial at a time, until the pipe closes.
//!
//! The trial runs in a thread of its own, so that requests, above all the end of the pipe, are
//! always heard. When the pipe closes the load is cut and everything the agent changed is put
//! back by dropping what holds it.

use anyhow::Context;
use load::LoadError;
use load::open::{self, Listening, Opened};
use path::Testbed;
use schema::message::{Envelope, Fault, Reply, Request};
use schema::trial::{Opening, TrialSpec};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::pipe::{Replies, Requests};
use crate::trial::{self, Abort};

/// How long a trial may take to end after the pipe closed.
const END_GRACE: Duration = Duration::from_millis(1_500);

/// Where the agent stands with its trial.
enum Stage {
    Idle,
    /// The near end, before it connects.
    Ready(Box<TrialSpec>),
    /// The far end, accepting in a thread.
    Accepting {
        spec: Box<TrialSpec>,
        abort: Arc<AtomicBool>,
        acceptor: JoinHandle<Result<Opened, LoadError>>,
    },
    Connected {
        spec: Box<TrialSpec>,
        opened: Opened,
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
}

/// A request that failed.
struct Refusal {
    fault: Fault,
    text: String,
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        let fault = match &error {
            LoadError::Usage(_) => Fault::Usage,
            LoadError::Host { .. } => Fault::Host,
            LoadError::Peer(_) => Fault::Peer,
        };
        Self { fault, text: error.to_string() }
    }
}

impl From<path::PathError> for Refusal {
    fn from(error: path::PathError) -> Self {
        Self { fault: Fault::Host, text: error.to_string() }
    }
}

fn usage(text: &str) -> Refusal {
    Refusal { fault: Fault::Usage, text: text.to_owned() }
}

/// Serves until the pipe closes.
///
/// # Errors
/// What came through the pipe is not the protocol.
pub fn serve(input: impl Read, output: impl Write + Send + 'static) -> anyhow::Result<()> {
    let mut requests = Requests::new(input);
    let (replies, writer) = Replies::new(output);
    let mut server = Server { replies, stage: Stage::Idle, testbed: None };
    let ended = loop {
        match requests.next() {
            Ok(Some(request)) => server.handle(request),
            Ok(None) => break Ok(()),
            Err(error) => {
                // Identifier 0 is no request's: the pipe itself is at fault.
                server.replies.fail(0, Fault::Usage, error.to_string());
                break Err(error).context("the controller's pipe");
            }
        }
    };
    server.end();
    // The writer ends when the last sender is gone; one that hangs on a full pipe is left behind.
    drop(server);
    wait_for(&writer, END_GRACE);
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
            Request::DescribeHost => Reply::Host(Box::new(probe::host::describe(env!("CARGO_PKG_VERSION")))),
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
            Request::Prepare(spec) => Reply::Prepared { port: self.prepare(spec)? },
            Request::Connect { address, port } => self.connect(&address, port)?,
            Request::Start { at_mono_ns } => {
                self.start(id, at_mono_ns)?;
                return Ok(None);
            }
            Request::Abort => {
                self.end_trial();
                Reply::Done
            }
        };
        Ok(Some(reply))
    }

    fn prepare(&mut self, spec: Box<TrialSpec>) -> Result<Option<u16>, Refusal> {
        self.forget_finished();
        if !matches!(self.stage, Stage::Idle) {
            return Err(usage("a trial is under way; abort it first"));
        }
        open::check(&spec)?;
        if spec.opening == Opening::Connect {
            self.stage = Stage::Ready(spec);
            return Ok(None);
        }
        let listening = Listening::open(&spec)?;
        let port = listening.port();
        let abort = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&abort);
        let acceptor = thread::spawn(move || listening.accept_all(&seen));
        self.stage = Stage::Accepting { spec, abort, acceptor };
        Ok(Some(port))
    }

    fn connect(&mut self, address: &str, port: u16) -> Result<Reply, Refusal> {
        let Stage::Ready(spec) = std::mem::replace(&mut self.stage, Stage::Idle) else {
            return Err(usage("connect comes after prepare, at the connecting end"));
        };
        let ip: IpAddr = address.parse().map_err(|_| usage(&format!("\"{address}\" is not a numeric address")))?;
        let opened = open::connect_all(&spec, SocketAddr::new(ip, port))?;
        let connections_count = spec.connections_count;
        self.stage = Stage::Connected { spec, opened };
        Ok(Reply::Connected { connections_count })
    }

    fn start(&mut self, id: u64, at_mono_ns: u64) -> Result<(), Refusal> {
        let (spec, opened) = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Connected { spec, opened } => (spec, opened),
            Stage::Accepting { spec, acceptor, .. } => {
                let opened =
                    acceptor.join().map_err(|_| Refusal { fault: Fault::Internal, text: "the acceptor panicked".to_owned() })??;
                (spec, opened)
            }
            other => {
                self.stage = other;
                return Err(usage("start comes after the connections are open"));
            }
        };
        let abort = Abort::default();
        let handle = abort.clone();
        let replies = self.replies.clone();
        let runner = thread::spawn(move || {
            if let Err(error) = trial::run(&spec, opened, at_mono_ns, &handle, &replies, id) {
                let fault = if error.is::<LoadError>() { Fault::Host } else { Fault::Internal };
                replies.fail(id, fault, format!("{error:#}"));
            }
        });
        self.stage = Stage::Running { abort, runner };
        Ok(())
    }

    /// A runner that has told everything leaves the stage to the next trial.
    fn forget_finished(&mut self) {
        if let Stage::Running { runner, .. } = &self.stage {
            // The controller may ask again as soon as it has the last reply, a moment before the
            // thread has ended.
            wait_for(runner, Duration::from_millis(100));
            if runner.is_finished() {
                self.stage = Stage::Idle;
            }
        }
    }

    fn end_trial(&mut self) {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle | Stage::Ready(_) | Stage::Connected { .. } => {}
            Stage::Accepting { abort, acceptor, .. } => {
                abort.store(true, Ordering::Relaxed);
                wait_for(&acceptor, END_GRACE);
            }
            Stage::Running { abort, runner } => {
                abort.abort();
                wait_for(&runner, END_GRACE);
            }
        }
    }

    fn end(&mut self) {
        self.end_trial();
        self.testbed = None;
    }
}

fn hello(version: &str) -> Result<Reply, Refusal> {
    let own = env!("CARGO_PKG_VERSION");
    if version == own {
        return Ok(Reply::Hello { version: own.to_owned(), pid: std::process::id() });
    }
    Err(usage(&format!("the agent is version {own}, the controller {version}; install the same whyperf on both hosts")))
}

fn wait_for<T>(thread: &JoinHandle<T>, limit: Duration) {
    let end = Instant::now() + limit;
    while !thread.is_finished() && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Serves on the process's standard input and output.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio() -> anyhow::Result<()> {
    serve(io::stdin().lock(), io::stdout())
}
