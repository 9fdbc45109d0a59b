//! The control messages. Every request carries an identifier; every reply names its request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::{EvidenceReport, Loan, StagesLoan};
use crate::host::HostFacts;
use crate::offer::Offer;
use crate::path::{PathAudit, PathSpec};
use crate::testbed::{Testbed, TestbedSpec};
use crate::trial::TrialSpec;
use crate::watch::{WatchProgress, WatchSpec};

/// Longest silence of an agent that lives, in ns: it sends [`Reply::Alive`] when it has sent nothing for so long. A
/// controller takes an agent for stopped that is silent for four times as long and a little more.
pub const HEARTBEAT_NS: u64 = 500_000_000;

/// From controller to agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Envelope<Body> {
    /// Identifier chosen by the controller; replies repeat it.
    pub id: u64,
    /// The request or reply.
    pub body: Body,
}

/// A request of the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// First message on a pipe. Answer: [`Reply::Hello`].
    Hello {
        /// Version of the controller's package; must equal the agent's.
        version: String,
    },
    /// Clock exchange. Answer: [`Reply::Clock`].
    Clock,
    /// Answer: [`Reply::Host`].
    DescribeHost {
        /// True to try every hook, which takes about a second; without it `hooks` is empty.
        #[serde(default)]
        with_hooks: bool,
    },
    /// The transports and congestion controls of this host. It takes about a second, because loading ours
    /// is tried.
    /// Answer: [`Reply::Transports`].
    ListTransports,
    /// Build the testbed; it stands until the pipe closes or [`Request::RemoveTestbed`].
    /// Answer: [`Reply::Testbed`].
    BuildTestbed(Box<TestbedSpec>),
    /// Answer: [`Reply::Done`].
    RemoveTestbed,
    /// Set up the emulated path, still without its losses, so that connections open. Answer: [`Reply::Done`].
    CarryPath {
        /// The path.
        path: Box<PathSpec>,
        /// Packets that leave later than this after they were due are counted, in ns.
        budget_ns: u64,
    },
    /// At this time, enable the losses of the path, and start counting. Answer: [`Reply::Done`].
    BeginPath {
        /// The instant, on the agent's CLOCK_MONOTONIC, in ns.
        at_mono_ns: u64,
    },
    /// Remove the path: from now on packets pass without delay. Answers: [`Reply::PathCarried`], a [`Reply::Table`] and its
    /// chunks for every table of the path, [`Reply::Done`].
    EndPath,
    /// Get ready for a trial: check the options, listen. Answer: [`Reply::Prepared`].
    Prepare(Box<TrialSpec>),
    /// Open the trial's connections. Answer: [`Reply::Connected`] when the listening side has
    /// accepted all of them.
    Connect {
        /// Numeric address of the listening side.
        address: String,
        /// Its port.
        port: u16,
        /// Its port for the round-trip probe, where the trial has one.
        #[serde(default)]
        echo_port: Option<u16>,
    },
    /// The number of connections that the listening side has accepted, after the connecting side failed. Answer:
    /// [`Reply::Opening`].
    DescribeOpening,
    /// Start the load. Answers: [`Reply::Progress`] after every interval, [`Reply::Finished`],
    /// a [`Reply::Table`] and its chunks for every table, [`Reply::Done`].
    Start {
        /// When, on the agent's CLOCK_MONOTONIC, in ns. An instant that is past means now.
        at_mono_ns: u64,
    },
    /// End the trial now and forget it. Answer: [`Reply::Done`]. A running trial answers its own
    /// request with [`Reply::Finished`] first.
    Abort,
    /// Watch connections of other programs. Answers: [`Reply::Watched`] at once and after every interval,
    /// [`Reply::Finished`], a [`Reply::Table`] and its chunks for every table, [`Reply::Done`].
    Watch(Box<WatchSpec>),
    /// End the watch now. Answer: [`Reply::Done`]. The watch answers its own request first, as when its time is up.
    EndWatch,
    /// Last message on a pipe: end everything, and undo what was changed on the host. Answer: [`Reply::Goodbye`].
    Goodbye {
        /// Frames that the controller has sent before this one.
        frames_count: u64,
    },
}

/// A reply of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reply", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// To [`Request::Hello`].
    Hello {
        /// Version of the agent.
        version: String,
        /// Process id of the agent.
        pid: u32,
    },
    /// To [`Request::Clock`]: both clocks read together.
    Clock {
        /// CLOCK_MONOTONIC in ns.
        mono_ns: u64,
        /// CLOCK_REALTIME in ns since the epoch.
        realtime_ns: u64,
    },
    /// To [`Request::DescribeHost`].
    Host(Box<HostFacts>),
    /// To [`Request::ListTransports`].
    Transports {
        /// Congestion controls, then transports.
        offers: Vec<Offer>,
    },
    /// To [`Request::BuildTestbed`].
    Testbed(Box<Testbed>),
    /// To [`Request::EndPath`].
    PathCarried(PathAudit),
    /// To [`Request::Prepare`].
    Prepared {
        /// Port of the listening side; absent at the connecting side.
        port: Option<u16>,
        /// The programs that this side lends, when it was asked to and has any.
        loan: Option<Loan>,
        /// The programs for stage times that it lends, as `loan`.
        #[serde(default)]
        stages_loan: Option<StagesLoan>,
        /// UDP port where the listening side answers the round-trip probe, when it was asked to.
        #[serde(default)]
        echo_port: Option<u16>,
    },
    /// To [`Request::Connect`].
    Connected {
        /// Connections open.
        connections_count: u32,
    },
    /// To [`Request::DescribeOpening`].
    Opening {
        /// Connections of the trial that have come.
        connections_count: u64,
        /// Connections that were dropped because they did not present the token.
        strangers_count: u64,
        /// Why no more of them are awaited, if it is so.
        problem: Option<String>,
    },
    /// While a trial runs.
    Progress(Progress),
    /// While connections are watched.
    Watched(WatchProgress),
    /// The load of a trial ended.
    Finished(Finished),
    /// A table follows as frames of kind table, `bytes` in all.
    Table {
        /// Name of the table.
        name: String,
        /// Length of the Parquet file in bytes.
        bytes: u64,
    },
    /// Sent when nothing else was sent for 0.5 s. Answers no request: its identifier is 0.
    Alive,
    /// To [`Request::Goodbye`], when everything is undone. Last message on a pipe.
    Goodbye {
        /// Frames that the agent has sent before this one.
        frames_count: u64,
    },
    /// Done; there is no result.
    Done,
    /// The request failed; the agent keeps running.
    Error(Failure),
}

/// One interval of a running trial, summed over the end's connections. For display only; the
/// record's tables are the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Number of the interval, from 0.
    pub interval: u32,
    /// `warm-up`, `measure` or `cool-down`.
    pub phase: String,
    /// Start on this host's CLOCK_MONOTONIC, in ns.
    pub start_mono_ns: u64,
    /// End on this host's CLOCK_MONOTONIC, in ns.
    pub end_mono_ns: u64,
    /// Payload moved in the interval, in bytes.
    pub payload_bytes: u64,
    /// CPU time of the load's threads in the interval, in ns.
    pub load_cpu_ns: u64,
    /// Segments retransmitted since the start.
    pub retransmitted_segments: u64,
    /// Congestion window of the first connection, in segments.
    pub cwnd_segments: u32,
    /// Smoothed round-trip time of the first connection, in ns.
    pub srtt_ns: u64,
    /// Window the peer announces on the first connection (at the sender), or that this side
    /// announces (at the receiver), in bytes.
    pub announced_window_bytes: u32,
}

/// The way that the load of a trial ended at one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    /// The way it ended.
    pub outcome: Outcome,
    /// Payload moved in all, in bytes.
    pub payload_bytes: u64,
    /// Things that bear on the result.
    pub notes: Vec<Note>,
    /// The worth of the evidence.
    pub evidence: EvidenceReport,
}

/// The way that a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ended", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// All bytes moved, or all phases over.
    Complete,
    /// Cut at the deadline; what was moved until then is recorded.
    Deadline,
    /// Aborted by the controller.
    Aborted,
    /// A connection failed.
    Failed {
        /// The failure, in a sentence.
        reason: String,
    },
}

/// A buffer of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// Of what is sent.
    Send,
    /// Of what is received.
    Receive,
}

/// A fact found during a trial that bears on its result. The text shown to a user is made by the
/// analysis, which knows what the user asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "note", rename_all = "snake_case", deny_unknown_fields)]
pub enum Note {
    /// The kernel granted less buffer than asked for.
    BufferCut {
        /// Which.
        buffer: Buffer,
        /// Asked for, in bytes.
        requested_bytes: u32,
        /// The limit that the kernel sets to a request, in bytes.
        limit_bytes: u32,
    },
    /// Connections that did not present the token were dropped.
    StrangersDropped {
        /// Number of connections.
        count: u64,
    },
    /// The sampler woke this much too late at worst; intervals carry their true times.
    SamplerLate {
        /// Worst delay in ns.
        worst_ns: u64,
    },
    /// Sends without copying that the kernel copied after all, as it does wherever the payload stays on
    /// the host.
    ZeroCopyCopied {
        /// Calls that it copied.
        count: u64,
        /// Calls in all.
        sent_count: u64,
    },
    /// Datagrams arrived without the time stamp that was asked of the kernel; for their jitter counts when
    /// they were read.
    NoKernelStamps {
        /// Number of messages.
        count: u64,
    },
    /// Another process of this host used at least 10 % of a CPU while the trial ran, and none used more.
    BusyProcess {
        /// Its name, 15 bytes at most.
        name: String,
        /// Its process id.
        pid: u32,
        /// CPU time that it used, in ns.
        cpu_ns: u64,
        /// Of so much time, in ns.
        wall_ns: u64,
    },
    /// Of a long watch, samples were left out evenly, so that it has room in memory.
    SamplesThinned {
        /// Time between those that are left, in ns.
        sample_ns: u64,
    },
    /// Connections that satisfied the selection and were not watched one by one, because there were too many.
    ConnectionsBeyondLimit {
        /// Most at one time, and the number that were dropped for busier ones.
        count: u64,
    },
    /// Connections that opened and closed between two looks; which program had them is not known.
    BriefConnections {
        /// Number of those that the selection's ports and addresses name.
        count: u64,
        /// Payload that they moved, in both directions together, in bytes.
        payload_bytes: u64,
    },
    /// CPU cycles could not be counted by the PMU.
    NoPmu {
        /// Why.
        reason: String,
    },
}

/// Whose fault a failure is; decides the exit code and the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The request makes no sense: exit code 2.
    Usage,
    /// The host does not allow or have it: exit code 1.
    Host,
    /// The other side: exit code 1.
    Peer,
    /// A defect of whyperf: exit code 1.
    Internal,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Whose fault.
    pub fault: Fault,
    /// The failure and what to do, in one sentence.
    pub text: String,
}
