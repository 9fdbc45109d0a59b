//! The makeup of a host with Linux, as data.

use crate::coalescing::Coalescing;
use crate::cost::Cost;
use crate::linux::buffer::WindowShare;
use crate::linux::congestion::Algorithm;
use crate::time::Ps;

/// Traits that differ between kernels and can be set for a whole host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// Share of the receive buffer that is window.
    pub window_share: WindowShare,
    /// A buffer that leaves takes the beginning of the next with it (`tcp_grow_skb`, from 6.8 on).
    pub grows_buffers: bool,
    /// An acknowledgment that is due while the socket's owner works off its backlog waits for the last segment of it
    /// (`tcp_backlog_ack_defer`, from 6.7 on).
    pub defers_backlog_acks: bool,
    /// `tcp_timestamps`.
    pub stamps: bool,
    /// `tcp_autocorking`.
    pub corks: bool,
    /// `tcp_slow_start_after_idle`.
    pub restarts_after_idle: bool,
    /// `tcp_min_tso_segs`.
    pub least_burst_segments: u32,
    /// `tcp_tso_win_divisor`.
    pub burst_window_divisor: u64,
    /// `tcp_limit_output_bytes`.
    pub device_limit_bytes: u64,
    /// `gso_max_size` of the device.
    pub gso_max_bytes: u32,
    /// `tcp_wmem`: least, default and most, in bytes of memory.
    pub send_memory: [u64; 3],
    /// `tcp_rmem`.
    pub receive_memory: [u64; 3],
}

impl Default for Kernel {
    /// Kernel 6.18 with its defaults.
    fn default() -> Self {
        Self {
            window_share: WindowShare::Measured,
            grows_buffers: true,
            defers_backlog_acks: true,
            stamps: true,
            corks: true,
            restarts_after_idle: true,
            least_burst_segments: 2,
            burst_window_divisor: 3,
            device_limit_bytes: 4 << 20,
            gso_max_bytes: 65536,
            send_memory: [4096, 16384, 4 << 20],
            receive_memory: [4096, 131_072, 32 << 20],
        }
    }
}

/// Options of a connection; `None` leaves the kernel's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// `SO_SNDBUF` in bytes; the kernel doubles it.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` in bytes; the kernel doubles it.
    pub receive_buffer_bytes: Option<u32>,
    /// `TCP_WINDOW_CLAMP` in bytes.
    pub window_clamp_bytes: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `TCP_QUICKACK`, armed again after every read.
    pub quick_ack: bool,
    /// `TCP_CONGESTION`.
    pub algorithm: Algorithm,
    /// `SO_MAX_PACING_RATE` in bytes a second.
    pub pacing_rate: Option<u64>,
    /// `tcp_ecn` 1: the host asks for ECN.
    pub has_ecn: bool,
}

impl Default for Socket {
    fn default() -> Self {
        Self {
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            window_clamp_bytes: None,
            no_delay: false,
            quick_ack: false,
            algorithm: Algorithm::Cubic,
            pacing_rate: None,
            has_ecn: false,
        }
    }
}

/// The adapter and how the host takes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adapter {
    /// Super-segments leave whole: TSO, or a veth with its offloads on. Else the host cuts them up.
    pub has_segmentation: bool,
    /// Segments that follow each other are merged on receiving.
    pub has_gro: bool,
    /// When it interrupts.
    pub coalescing: Coalescing,
    /// When a buffer is given back.
    pub completion: Completion,
}

/// When the memory of what was sent is free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// So long after it has left: the adapter's interrupt for it.
    After(Ps),
    /// When the other host has taken it: a veth hands over the buffer itself (`skb_orphan` in `ip_rcv`).
    WhenTaken,
}

/// Where what arrives is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// On the processor of the process.
    SameProcessor,
    /// On another one.
    OtherProcessor,
}

/// The way that processes share processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    /// Processors on which they run, at least 1.
    pub processors: u16,
    /// The time that one runs at least before others that wait for its processor have their turn.
    pub slice: Ps,
}

impl Default for Scheduling {
    /// One processor, with the slice of a kernel of 250 ticks a second: `sched_base_slice` is over at the next tick.
    fn default() -> Self {
        Self { processors: 1, slice: 4 * crate::time::MS }
    }
}

/// The costs of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Entering and leaving a write call, with the lock of the socket.
    pub write_call: Ps,
    /// From the user into the send queue, each piece.
    pub copy_in: Cost,
    /// A new buffer of the send queue.
    pub new_buffer: Ps,
    /// TCP and IP of a super-segment that leaves.
    pub output: Ps,
    /// Cutting up a super-segment, for each segment.
    pub segmentation: Ps,
    /// Driver of a frame that leaves; on a veth, putting it before the other host and waking its processor.
    pub transmit: Ps,
    /// Making the other host's processor take a frame that is handed over in memory, unless that is at it already
    /// (`net_rps_send_ipi`, `net/core/dev.c`): on a virtual machine an exit to the hypervisor.
    pub handover: Ps,
    /// An interrupt.
    pub interrupt: Ps,
    /// Driver and IP of a frame that arrives.
    pub softirq: Cost,
    /// Merging a segment on receiving.
    pub merge: Ps,
    /// TCP of a super-segment with payload that arrives.
    pub input: Ps,
    /// Putting a segment that arrives before the socket's owner.
    pub backlog: Ps,
    /// Making an acknowledgment, until it is with the driver.
    pub ack_output: Ps,
    /// TCP of an acknowledgment that arrives.
    pub ack_input: Ps,
    /// Freeing a buffer that is acknowledged.
    pub free_buffer: Ps,
    /// Waking a process, for whoever does it.
    pub wake_up: Ps,
    /// Until an idle processor takes an interrupt: out of its sleep, with a hypervisor's help in a virtual machine.
    pub idle_exit: Ps,
    /// Into the process and out of it.
    pub switch: Ps,
    /// Entering and leaving a read call.
    pub read_call: Ps,
    /// From the receive queue to the user, each buffer.
    pub copy_out: Cost,
    /// Waiting for data in a call of its own before each read; 0: the read waits.
    pub poll_call: Ps,
    /// A timer.
    pub timer: Ps,
}

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its connection's options.
    pub socket: Socket,
    /// Its adapter.
    pub adapter: Adapter,
    /// Which processor takes what arrives.
    pub steering: Steering,
    /// The processors of its processes.
    pub scheduling: Scheduling,
    /// The costs of its steps.
    pub costs: Costs,
    /// Largest payload of a segment: the MTU less 52 bytes of headers with time stamps.
    pub mss: u32,
    /// Largest deviation of a cost, in thousandths.
    pub jitter_per_mille: u64,
}
