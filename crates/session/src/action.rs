//! Tasks that a session gives its driver, and why it refuses.

use schema::frame::FrameError;
use schema::message::{Failure, Fault, Reply, Request};
use schema::trial::{Opening, TrialSpec};
use schema::watch::WatchSpec;
use std::net::IpAddr;

/// Why the pipe cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub enum PipeError {
    /// Input that is not the protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message that is none.
    #[error("not a request of this version: {0}")]
    Message(#[from] serde_json::Error),
    /// The controller sent a table.
    #[error("the controller sent a table; only agents do")]
    Table,
    /// Reading failed.
    #[error("reading the pipe: {0}")]
    Io(#[from] std::io::Error),
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Whose fault.
    pub fault: Fault,
    /// Why, in one sentence.
    pub text: String,
}

impl Refusal {
    /// A request that makes no sense here.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { fault: Fault::Usage, text: text.into() }
    }
}

impl From<Refusal> for Reply {
    fn from(Refusal { fault, text }: Refusal) -> Self {
        Reply::Error(Failure { fault, text })
    }
}

/// The driver's next actions, in this order. It reports the result of `Answer`, `CountArrivals` and `Prepare` before it
/// asks again.
#[derive(Debug)]
pub enum Action {
    /// Send a reply to the request of this identifier.
    Send(u64, Reply),
    /// Answer a request that is about the host and not about the trial; nothing is reported.
    Answer(u64, Request),
    /// Report what has come to the listening end with [`crate::Session::on_arrivals`].
    CountArrivals(u64),
    /// Check what a trial asks, and listen where it does so. Report with [`crate::Session::on_prepared`].
    Prepare(Box<TrialSpec>),
    /// Begin to accept the connections of the prepared trial. Report with [`crate::Session::on_opened`].
    Accept {
        /// Number of the trial.
        trial: u64,
    },
    /// Open the connections of the prepared trial. Report with [`crate::Session::on_opened`].
    Connect {
        /// Number of the trial.
        trial: u64,
        /// Address of the listening side.
        address: IpAddr,
        /// Its port.
        port: u16,
        /// Its port for the round-trip probe.
        echo_port: Option<u16>,
    },
    /// Run the load over the open connections, and send its result. Report with [`crate::Session::on_load_ended`].
    Load {
        /// Number of the trial.
        trial: u64,
        /// The request that its result answers.
        id: u64,
        /// When, on this host's CLOCK_MONOTONIC.
        at_mono_ns: u64,
    },
    /// Watch connections of other programs, and send the result. Report with [`crate::Session::on_watch_ended`].
    Watch {
        /// Number of the watch, which no trial has.
        watch: u64,
        /// The request that its result answers.
        id: u64,
        /// The watch that is asked for.
        spec: Box<WatchSpec>,
    },
    /// End the watch as when its time is up.
    EndWatch,
    /// End the trial: its opening, its load, whatever is there. Let go of its open connections. The same of a watch.
    Abort,
    /// Send nothing more but this, which answers no request: the controller is gone, or cannot be understood.
    CloseReplies(Reply),
    /// Send nothing more but the goodbye, which comes after [`Action::Exit`].
    Leave,
    /// Let go of everything, and end.
    Exit,
}

/// A prepared trial, as it is to its controller.
#[derive(Debug)]
pub struct Prepared {
    /// The answer to the request.
    pub reply: Reply,
    /// Which end it is.
    pub opening: Opening,
    /// Connections of the trial.
    pub connections_count: u32,
}
