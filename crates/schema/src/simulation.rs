//! Requests to `whyperf-agent simulate`, a line of JSON for each trial, and its answer to each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::path::PathSpec;
use crate::trial::{Role, SocketSpec, Stop};
use crate::workload::Workload;

/// One trial on the model. The same line has the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Name of the trial, which the answer repeats.
    #[serde(default)]
    pub trial: String,
    /// The near and the far host.
    pub hosts: [SimulatedHost; 2],
    /// The link that joins them; absent: what the near host's adapter is made for.
    #[serde(default)]
    pub link: Option<String>,
    /// Both directions share the link: one of them sends at a time.
    #[serde(default)]
    pub is_half_duplex: bool,
    /// Adapters of each host, each with a link to one of the other host; connection n is on adapter n modulo their number.
    #[serde(default = "default_adapters")]
    pub adapters_count: u16,
    /// Bytes a second that the bus of each host moves for all its adapters; absent: as many as they want.
    #[serde(default)]
    pub bus_bytes_per_second: Option<u64>,
    /// Delay of the path in each direction, in addition to that of the link, in ns.
    #[serde(default)]
    pub delay_ns: u64,
    /// Emulated path behind the link.
    #[serde(default)]
    pub path: Option<PathSpec>,
    /// Largest IP packet of the link; absent: the link's own.
    #[serde(default)]
    pub mtu_bytes: Option<u32>,
    /// Seed of timers' phases and of deviations.
    #[serde(default)]
    pub seed: u64,
    /// The near host's role: it sends the payload of a stream, or receives it.
    #[serde(default = "sends")]
    pub near_role: Role,
    /// Connections.
    #[serde(default = "default_connections")]
    pub connections_count: u32,
    /// Bytes a send call asks for.
    #[serde(default = "usual_call")]
    pub write_size_bytes: u32,
    /// Bytes a receive call asks for.
    #[serde(default = "usual_call")]
    pub read_size_bytes: u32,
    /// When the load ends.
    pub stop: Stop,
    /// Time between samples, in ns.
    #[serde(default = "usual_interval")]
    pub interval_ns: u64,
    /// The load is cut this long after its start, in ns of the model; absent: never.
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// Segmentation offload; absent: as the adapters have it. Off at hosts without it, too.
    #[serde(default)]
    pub has_segmentation: Option<bool>,
    /// Merging of segments on receiving; absent: as the adapters have it.
    #[serde(default)]
    pub has_merging: Option<bool>,
    /// True if small writes wait while a packet of the connection is below TCP; absent: as the profile's host does.
    #[serde(default)]
    pub has_corking: Option<bool>,
    /// Options of the sockets.
    #[serde(default)]
    pub socket: SocketSpec,
    /// The application's work; absent: the stream that the sizes describe.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// With `segments`, every segment is logged.
    #[serde(default)]
    pub evidence: Evidence,
    /// True if the stages of every segment are recorded, where the host's model has them: `SunOS`.
    #[serde(default)]
    pub has_stages: bool,
}

/// A host of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedHost {
    /// An expression such as `sparc2+sba-100@2.2.6`; with a `profile`, the name of that host.
    #[serde(default)]
    pub host: Option<String>,
    /// A host profile as TOML, instead of an expression.
    #[serde(default)]
    pub profile: Option<String>,
    /// Which of the accepted sets of numbers, from 0; absent: the profile's own numbers.
    #[serde(default)]
    pub ensemble_set: Option<u32>,
    /// Rules and numbers of the profile that are changed, by their keys.
    #[serde(default)]
    pub set: BTreeMap<String, serde_json::Value>,
}

/// The way that a trial on the model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SimulatedEnd {
    /// As asked.
    Complete,
    /// Cut at its deadline.
    Deadline,
    /// Nothing moved any more; the reason says what each side waited for.
    Stuck,
    /// It was not run; the reason says what the model cannot do.
    Refused,
}

/// The answer to one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedTrial {
    /// Name of the trial.
    pub trial: String,
    /// The way that it ended.
    pub end: SimulatedEnd,
    /// Why, where it did not end as asked.
    pub reason: Option<String>,
    /// Time of the model that the figures are about, in ns: the phase of measurement, or from the first call to the
    /// last byte that was read.
    pub duration_ns: u64,
    /// Payload that was read at the receiving end in that time, in bytes; of a workload at both.
    pub payload_bytes: u64,
    /// The one over the other, in bit/s. Of use to a search; no record has it.
    pub goodput_bps: f64,
    /// Executions of a workload's transactions that ended in that time, as the near side sees it.
    pub transactions_count: u64,
    /// The near and the far host as they were put together; only where trials are checked and not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ResolvedHost>,
    /// The near and the far side over the whole run; empty where it was not run.
    pub ends: Vec<SimulatedEndSystem>,
}

/// All rules and numbers of a host, those of the trial's factors among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvedHost {
    /// Its expression, or the name of the user's profile.
    pub host: String,
    /// Its operating system, which decides what keys there are.
    pub system: String,
    /// Each by its key.
    pub values: BTreeMap<String, ResolvedValue>,
}

/// A rule or a number, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvedValue {
    /// Number, switch or word; a number is in the unit that its key ends with.
    pub value: serde_json::Value,
    /// Paper, section, or how it was found.
    pub source: String,
}

/// The counts of an end system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedEndSystem {
    /// Part of `duration_ns` that its processors were busy in processes, in protocols, and in interrupts and drivers;
    /// 1 is one processor.
    pub busy_share: [f64; 3],
    /// Payload its processes wrote, in bytes.
    pub written_bytes: u64,
    /// Payload its processes read, in bytes.
    pub read_bytes: u64,
    /// Write calls that returned.
    pub write_calls_count: u64,
    /// Read calls that returned.
    pub read_calls_count: u64,
    /// Times a process was woken.
    pub wake_ups_count: u64,
    /// Segments with payload that left.
    pub data_segments: u64,
    /// Segments without payload that left.
    pub pure_acks: u64,
    /// Segments that left again.
    pub retransmitted_segments: u64,
    /// Segments that its adapter lost on receiving.
    pub lost_segments: u64,
    /// Retransmission timeouts.
    pub timeouts_count: u64,
    /// Rows of its segment log; 0 where none was written.
    pub logged_events_count: u64,
    /// Rows of its stages; 0 where none were asked for, or its model has none.
    #[serde(default)]
    pub stages_count: u64,
}

fn sends() -> Role {
    Role::Sender
}

fn default_adapters() -> u16 {
    1
}

fn default_connections() -> u32 {
    1
}

fn usual_call() -> u32 {
    8192
}

fn usual_interval() -> u64 {
    100_000_000
}
