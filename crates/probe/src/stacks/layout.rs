//! Generated from `bpf/layout.h` by `make schemas`; a test compares the two.

use {u8 as __u8, u16 as __u16, u32 as __u32, u64 as __u64};

pub const MAX_FRAMES: u8 = 127;
/// a thread of the load, or of a program that is watched
pub const GROUP_LOAD: ThreadGroup = 0;
/// another thread of the agent that measures
pub const GROUP_AGENT: ThreadGroup = 1;
/// a thread of the kernel, such as ksoftirqd
pub const GROUP_KERNEL: ThreadGroup = 2;
/// none: the CPU was idle, or an interrupt came on top of that
pub const GROUP_IDLE: ThreadGroup = 3;
/// a thread of another program
pub const GROUP_OTHER: ThreadGroup = 4;
/// Whose thread was interrupted.
pub type ThreadGroup = ::core::ffi::c_uint;
/// The key that separates samples.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// number of the frames in the kernel; 0: none
    pub kernel_stack: __u64,
    /// number of the frames of the program; 0: none
    pub user_stack: __u64,
    /// of another program, or one that is watched: its number in the initial PID namespace
    pub process: __u32,
    /// of `enum thread_group`
    pub group: __u32,
    /// of a thread of the kernel, of another program or one that is watched: its name
    pub name: [__u8; 16usize],
}
/// The addresses of a stack, the innermost first.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Frames {
    pub count: __u64,
    pub addresses: [__u64; 127usize],
}
/// The program's counts on a CPU.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct SampledCpu {
    /// samples within the time that is asked for
    pub samples_count: __u64,
    /// of these, those that found no room
    pub lost_count: __u64,
    /// time that the program took for them
    pub own_ns: __u64,
    /// time of interrupts that the kernel keeps out of threads' time, at the first sample
    pub apart_from_ns: __u64,
    /// the same at the last one
    pub apart_ns: __u64,
    /// when the CPU was last given to another thread; 0: not since the program was attached
    pub switched_ns: __u64,
    /// time for which threads of the load had this CPU, within the time that is asked for
    pub on_cpu_ns: __u64,
}
/// The request; the reader writes it.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct SamplingRequest {
    /// samples count from here on, on CLOCK_MONOTONIC
    pub start_ns: __u64,
    /// and until here; 0: none counts
    pub end_ns: __u64,
    /// of the agent's PID namespace, as stat(2) has it
    pub namespace_device: __u64,
    pub namespace_inode: __u64,
    /// the agent's number in that namespace
    pub process: __u32,
    /// whether the load is of other programs, whose processes are named instead of its threads
    pub watches: __u32,
}
