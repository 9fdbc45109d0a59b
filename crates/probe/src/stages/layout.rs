//! Generated from `bpf/layout.h` by `make schemas`; a test compares the two.

use {u8 as __u8, u16 as __u16, u32 as __u32, u64 as __u64};

pub const LEVELS: u8 = 2;
pub const OWNERS: u8 = 4;
pub const NO_STAGE: u8 = 255;
pub const EMPTY_BINS: u16 = 1024;
pub const EMPTY_CALL: u16 = 22505;
pub const LISTENING: EndNumber = 0;
pub const CONNECTING: EndNumber = 1;
pub const ENDS: EndNumber = 2;
/// The ends of a trial. Where both are on this machine, one set of programs watches both.
pub type EndNumber = ::core::ffi::c_uint;
/// Which connections of a side are sampled, and where its rows go. Each side's reader writes its own.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct SampledEnd {
    /// inode number of the network namespace
    pub netns: __u32,
    /// the listening end's port; 0: nothing is sampled
    pub port: __u16,
    pub unused: __u16,
    /// first of its part of the map `stage_logs`
    pub logs_first: __u32,
    pub unused_too: __u32,
}
/// Values that readers set and see without a system call; all there is in .bss.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct StageControl {
    pub ends: [SampledEnd; 2usize],
    /// of so many blocks one is sampled, less one
    pub sample_mask: __u32,
    /// a block is 2 to this power bytes
    pub block_shift: __u32,
    /// the programs' own: packets put into a queue discipline or backlog, about
    pub waiting_count: __u32,
    /// whether empty pairs are measured
    pub is_measuring: __u32,
    /// since when all programs look; what was seen before is forgotten. 0: they do not
    pub window_ns: __u64,
    /// how often an empty pair took so many ns; the last bin counts all beyond
    pub empty_ns: [__u64; 1024usize],
}
/// All that is known of a segment, or of a part of a call.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct StageSegment {
    /// the end's number and the connecting end's port; 0: none
    pub which: __u32,
    pub sequence: __u32,
    pub payload_bytes: __u32,
    pub wire_segments: __u16,
    /// of `enum direction`
    pub direction: __u8,
    /// of `enum retransmission`, or `NONE`
    pub retransmission: __u8,
    pub is_sampled: __u8,
    pub unused: [__u8; 3usize],
}
/// The stage that a thread or a softirq is in on a CPU.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct StageLevel {
    /// when the stage began, on a clock that stands still while `above_ns` grows; 0: not known
    pub cursor_ns: __u64,
    /// the same on CLOCK_MONOTONIC
    pub start_ns: __u64,
    /// time of interrupts, softirqs and writing rows on top, since the programs were loaded
    pub above_ns: __u64,
    pub segment: StageSegment,
    /// of an ACK's transmission: what went on before it
    pub before: StageSegment,
    /// runs of programs within the stage
    pub probes: __u32,
    /// of `enum stage`, or `NO_STAGE`
    pub stage: __u8,
    pub stage_before: __u8,
    pub unused: [__u8; 2usize],
}
/// Of one CPU, written by that CPU alone.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct StageCpu {
    pub levels: [StageLevel; 2usize],
    /// vector + 1; 0: no softirq runs
    pub running: __u32,
    /// so many runs of programs still take the time; 0: no sampled segment is near
    pub attention: __u32,
    /// when the softirq began; 0: not known
    pub entered_ns: __u64,
    /// when the hardware interrupt began; 0: not known, or none runs
    pub interrupted_ns: __u64,
    /// when receive processing was asked for; 0: not known
    pub raised_ns: __u64,
    /// the hardware interrupt that asked for it
    pub interrupt_start_ns: __u64,
    /// how long that took; 0: there is none whose time was not given to a segment yet
    pub interrupt_ns: __u64,
    /// when the receive processing that runs was asked for
    pub waited_from_ns: __u64,
    /// how long it waited; 0: that was given to a segment already
    pub waited_ns: __u64,
    /// what is between TCP and the driver, by its address
    pub queued_packet: __u64,
    /// what is in the driver
    pub driver_packet: __u64,
    /// runs of programs that took the time: by side, 0 for neither
    pub runs_count: [__u64; 4usize],
    /// time of these that was not the stages'
    pub own_ns: [__u64; 4usize],
    /// whether the receive processing that runs uses GRO
    pub has_gro: __u32,
    /// whether an empty pair has begun
    pub is_measuring: __u32,
    /// the last that the driver took; receive processing that follows signals another CPU of it
    pub handed: StageSegment,
    pub unused: __u32,
    /// the window that all of this is of
    pub window_ns: __u64,
    /// whether it was seen in this window that a thread, or that a softirq runs
    pub is_known: __u64,
    /// no two CPUs write to one cache line
    pub pad: [__u64; 1usize],
}
/// A row.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct StageRecord {
    /// CLOCK_MONOTONIC in ns
    pub start_ns: __u64,
    pub wall_ns: __u64,
    pub cpu_ns: __u64,
    pub sequence: __u32,
    pub payload_bytes: __u32,
    pub copied_bytes: __u32,
    /// number of the thread in the initial PID namespace
    pub thread: __u32,
    /// of so many blocks one is sampled, less one
    pub sample_mask: __u32,
    pub wire_segments: __u16,
    /// port of the connecting end: identifies the connection
    pub port: __u16,
    pub probes: __u16,
    /// of `enum stage`
    pub stage: __u8,
    /// of `enum direction`
    pub direction: __u8,
    /// of `enum context`
    pub context: __u8,
    /// of `enum retransmission`, or `NONE`
    pub retransmission: __u8,
    pub unused: [__u8; 2usize],
}
/// Key of the map of gaps.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct GapKey {
    /// the end's number and the connecting end's port
    pub which: __u32,
    /// of `enum stage_gap`
    pub reason: __u32,
}
