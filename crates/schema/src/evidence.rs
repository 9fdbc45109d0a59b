//! The closeness of the watch on the kernel during a trial, and what was really seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The amount of evidence that is taken. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Level 0: what the kernel reports to any user about its own sockets.
    #[default]
    User,
    /// Level 1: counted in the kernel by BPF.
    Counters,
    /// Level 2: every segment logged by BPF.
    Segments,
}

impl Evidence {
    /// The word used in the record.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::User => "user",
            Evidence::Counters => "counters",
            Evidence::Segments => "segments",
        }
    }
}

/// Whose BPF programs watch an end. Ends on one machine share one set, because a tracepoint that
/// runs two costs far more than twice as much.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Programs {
    /// The end loads its own, for itself.
    #[default]
    Own,
    /// The end loads its own with room for the other side, and says how to find it.
    Lend,
    /// The end uses what the other has lent; where it cannot, it loads its own.
    Borrow(Loan),
}

/// The way that an end finds what the other has loaded into the kernel of the machine they share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loan {
    /// Level that the programs were loaded for.
    pub level: Evidence,
    /// Number of the map of what is watched.
    pub control_map: u32,
    /// Number of the map of connections.
    pub connections_map: u32,
    /// Number of the map of CPUs.
    pub cpus_map: u32,
    /// Number of the map of the load's threads.
    pub load_threads_map: u32,
    /// Number of the map of logs; absent without a log.
    pub logs_map: Option<u32>,
    /// Number of the map of logs of calls; absent without one.
    pub calls_map: Option<u32>,
    /// Numbers of the programs that see segments.
    pub programs: Vec<u32>,
    /// Tags of all programs: the kernel's hash of their instructions.
    pub tags: Vec<String>,
    /// Hooks that are not there.
    pub missing: Vec<Hook>,
}

/// A place in the kernel where a probe looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Tracepoint, as `group:name`.
    pub name: String,
    /// True if it can be, or was, used.
    pub can: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// The facts that it gives: lost without it.
    pub gives: String,
}

/// The worth of the evidence of one end of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceReport {
    /// Asked for.
    pub asked: Evidence,
    /// The level that it came to.
    pub got: Evidence,
    /// Why it is less than asked for, in a sentence; absent when it is not.
    pub reason: Option<String>,
    /// Hooks that this level wants and that were missing.
    pub missing: Vec<Hook>,
    /// Segments the log should hold, those lost included; 0 without a log.
    pub logged_events_count: u64,
    /// Segments lost because the log was full, by CPU; empty when none was lost.
    pub lost_events_count: Vec<CpuCount>,
    /// Calls that the log of calls should hold, those lost included; 0 without one.
    #[serde(default)]
    pub logged_calls_count: u64,
    /// Calls lost because that log was full, by CPU; empty when none was lost.
    #[serde(default)]
    pub lost_calls_count: Vec<CpuCount>,
    /// Runs of a program that sees segments that the kernel left out because the same program was
    /// already running on that CPU. Sides that share programs report the same runs, because
    /// a run that was left out has no owner.
    pub missed_runs_count: u64,
    /// Segments of the trial's connections that TCP counted and no program saw, at least.
    #[serde(default)]
    pub unseen_segments_count: u64,
    /// Why the log breaks off before the trial's end, in a sentence; absent when it does not.
    pub broken_off: Option<String>,
    /// The stack samples; absent where none were asked for.
    #[serde(default)]
    pub profile: Option<Box<ProfileReport>>,
    /// The stage times; absent where none were asked for.
    #[serde(default)]
    pub stages: Option<Box<StagesReport>>,
}

/// Which segments of a trial have stage times. Both sides are asked for the same, so that they sample the same
/// segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StagesSpec {
    /// The sequence space is cut into blocks of so many bytes, a power of two. All of a sampled block is sampled.
    pub block_bytes: u32,
    /// Of so many blocks one is sampled at first, a power of two; a hash of connection and block decides.
    pub one_in_count: u32,
    /// Share of the CPUs' time that the programs may take, in millionths: with more, fewer blocks are sampled. 0: any.
    pub overhead_ppm: u32,
    /// For so long the programs are attached in each second, where both sides are one host. 0: all the time.
    pub window_ms: u32,
}

/// The way that an end finds the programs for stage times that the other has loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StagesLoan {
    /// Number of the map of what is sampled.
    pub control_map: u32,
    /// Number of the map of logs.
    pub logs_map: u32,
    /// Number of the map of gaps.
    pub gaps_map: u32,
    /// Number of the map of CPUs.
    pub cpus_map: u32,
    /// Cost of two runs of programs without anything between them, in ns, as measured when they were loaded.
    pub empty_pair_ns: u32,
    /// Tags of all programs.
    pub tags: Vec<String>,
    /// Hooks that are not there.
    pub missing: Vec<Hook>,
}

/// The worth of the stage times of one end of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StagesReport {
    /// Why there are none, in a sentence; absent when there are.
    pub reason: Option<String>,
    /// Hooks that were missing.
    pub missing: Vec<Hook>,
    /// Parts of the connections' path in this host that stages do not show, or show as a part of another stage.
    #[serde(default)]
    pub limits: Vec<StageLimit>,
    /// Bytes of a block of the sequence space.
    pub block_bytes: u32,
    /// Of so many blocks one was sampled, and from when on.
    pub sampling: Vec<SamplingChange>,
    /// Share of the CPUs' time that the programs may take, in millionths; 0: any.
    pub overhead_ppm: u32,
    /// Cost of two runs of programs without anything between them, in ns: what a stage has in addition to its own time
    /// for each of its `probes_count`.
    pub empty_pair_ns: u64,
    /// Rows that the log should hold, those lost included.
    pub rows_count: u64,
    /// Rows lost because the log was full, by CPU; empty when none was lost.
    pub lost_rows_count: Vec<CpuCount>,
    /// Runs of programs that ended or began a stage of this side near a sampled segment, on all CPUs.
    pub runs_count: u64,
    /// Time that these runs took, in ns, without what each costs before and after it.
    pub own_ns: u64,
    /// Why the log breaks off before the trial's end, in a sentence; absent when it does not.
    pub broken_off: Option<String>,
}

/// Things that can keep stages from being shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageLimitKind {
    /// Packets arrive without NAPI: through the backlog of a CPU. `value` is the kind of device.
    NoNapi,
    /// Threads, not softirqs, take packets from the device.
    ThreadedNapi,
    /// Receive calls take packets from the device themselves, for up to `value`.
    BusyPolling,
    /// The device's packets are given to other CPUs (RPS): `value` lists them.
    Steering,
    /// A program processes packets before the first stage; `value` is how it is attached.
    Xdp,
    /// The device is on top of others: a tunnel, VLAN, bridge or bond. `value` is its kind, and on what.
    StackedDevice,
    /// The clock of a CPU differs from the first one's, or could not be compared: `value`.
    CpuClocks,
    /// Some of this could not be found out, for the reason in `value`.
    Unknown,
}

/// One thing that keeps stages of a trial from being shown on one host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageLimit {
    /// The kind.
    pub kind: StageLimitKind,
    /// The network device; absent where it is about the host.
    pub device: Option<String>,
    /// Details, see the kind.
    pub value: String,
}

/// The share of blocks that is sampled from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplingChange {
    /// The moment, on this host's `CLOCK_MONOTONIC` in ns.
    pub mono_ns: u64,
    /// Of so many blocks one is sampled.
    pub one_in_count: u32,
}

/// The event after which a sample of a profile is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SampledEvent {
    /// So many cycles of the CPU, which its hardware counts.
    Cycles,
    /// So much time, where there is no such hardware.
    #[default]
    CpuClock,
}

/// The worth of the stack samples of one end of a trial. The time that they stand for is that of the phase that is
/// measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileReport {
    /// Samples of each CPU in a second, as asked for.
    pub frequency_hz: u32,
    /// The event; absent where nothing was sampled.
    pub event: Option<SampledEvent>,
    /// Why nothing was sampled, in a sentence; absent when it was.
    pub reason: Option<String>,
    /// Why the kernel's functions have no names, in a sentence; absent when they have.
    pub unnamed: Option<String>,
    /// Count of programs that lack names of functions because reading their files failed, and why; absent when none does.
    #[serde(default)]
    pub unnamed_programs: Option<String>,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// When sampling began, on this host's `CLOCK_MONOTONIC` in ns.
    pub start_mono_ns: u64,
    /// When it ended.
    pub end_mono_ns: u64,
    /// Samples, those lost included.
    pub samples_count: u64,
    /// Samples whose stack found no room.
    pub lost_samples_count: u64,
    /// Time that taking them took, on all these CPUs, in ns.
    pub own_ns: u64,
    /// True if the kernel keeps the time of interrupts and softirqs out of the CPU time of the thread that they
    /// interrupt (`CONFIG_IRQ_TIME_ACCOUNTING`, in effect).
    #[serde(default)]
    pub keeps_interrupts_apart: bool,
    /// Time for which threads of the load had a CPU while stacks were sampled, in ns: with interrupts on top of them, and
    /// with what the hypervisor took meanwhile, both of which samples fall into. Absent where the kernel does not show it.
    #[serde(default)]
    pub on_cpu_ns: Option<u64>,
}

/// A count of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuCount {
    /// Number of the CPU.
    pub cpu: u32,
    /// The count.
    pub count: u64,
}
