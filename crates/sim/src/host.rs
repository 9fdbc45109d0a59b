//! An end system: a processor, a socket's buffers, TCP, and the process that reads or writes.

use crate::chance::Chance;
use crate::cost::Costs;
use crate::cpu::{Cpu, Level};
use crate::segment::Segment;
use crate::socket::{Pieces, Received};
use crate::tcp::{Buffers, Tcp};
use crate::time::Ps;

/// What a host is made of, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// What its steps cost.
    pub costs: Costs,
    /// In which pieces the driver stores a segment.
    pub pieces: Pieces,
    /// What the adapter holds of segments that the driver has not read, in bytes; `None`: more than ever comes.
    pub fifo_bytes: Option<u32>,
    /// Send buffer and receive buffer: the window.
    pub window_bytes: u32,
    /// Bytes that a read or write call asks for.
    pub call_bytes: u32,
    /// Bytes to write; a host that writes none reads.
    pub to_write_bytes: u64,
    /// Largest deviation of a cost, in thousandths.
    pub jitter_per_mille: u64,
}

/// Who runs TCP's output, and goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The process, in a write call.
    Writer,
    /// The process, at the end of a read call.
    Reader,
    /// The software interrupt that took a segment in.
    Input,
    /// A timer.
    Timer,
}

/// Work of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The process enters a write call.
    WriteCall,
    /// A piece of a write lies in the send buffer.
    CopiedIn(u32),
    /// TCP and IP have made a segment; the driver is next.
    Made(Output, Segment),
    /// The driver has sent it.
    Sent(Output),
    /// The driver has taken a segment from the adapter.
    Taken(Segment),
    /// The driver has read the cells that are left of a segment that did not fit into the adapter.
    Lost,
    /// TCP and IP have taken it in.
    Input(Segment),
    /// The process enters a read call.
    ReadCall,
    /// A piece of the receive buffer lies with the user.
    CopiedOut(u32),
    /// The process runs again.
    Awake,
    /// TCP's fast timer.
    FastTimer,
    /// The retransmission timer.
    RetransmissionTimer,
}

/// A run of TCP's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// Who asked for it.
    pub caller: Caller,
    /// Whether everything was acknowledged when it began.
    pub was_idle: bool,
    /// Whether there may be another segment.
    pub is_more: bool,
}

/// What the process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// In a write call with so many bytes left.
    Writing {
        /// Bytes of the call that are not copied.
        remaining: u32,
        /// Whether it waits for room.
        is_asleep: bool,
    },
    /// In a read call.
    Reading {
        /// Room that is left in the user's buffer.
        room: u32,
        /// Whether it waits for data.
        is_asleep: bool,
    },
    /// Done.
    Over,
}

/// One host as it stands.
#[derive(Debug, Clone)]
pub struct Host {
    /// What it is made of.
    pub spec: HostSpec,
    /// Its processor.
    pub cpu: Cpu<Task>,
    /// Its end of the connection.
    pub tcp: Tcp,
    /// Bytes in the send buffer.
    pub queued: u64,
    /// The receive buffer.
    pub received: Received,
    /// Its process.
    pub process: Process,
    /// Bytes written so far, or read.
    pub moved: u64,
    /// Its deviations.
    pub chance: Chance,
    /// Segments lost in the adapter.
    pub lost_segments: u64,
    /// When the retransmission timer is up, in ticks of the slow timer; 0: it does not run.
    pub retransmission_ticks: u32,
}

impl Host {
    /// A host whose connection is open and whose process has not begun.
    pub fn new(spec: HostSpec, mss: u32, peer_window: u32, seed: u64) -> Self {
        let process = if spec.to_write_bytes > 0 {
            Process::Writing { remaining: 0, is_asleep: false }
        } else {
            Process::Reading { room: 0, is_asleep: false }
        };
        Self {
            spec,
            cpu: Cpu::default(),
            tcp: Tcp::new(mss, peer_window, u64::from(spec.window_bytes)),
            queued: 0,
            received: Received::default(),
            process,
            moved: 0,
            chance: Chance::new(seed, spec.jitter_per_mille),
            lost_segments: 0,
            retransmission_ticks: 0,
        }
    }

    /// Whether a segment of `bytes`, whose last cell comes at `last`, finds room in the adapter while the driver reads
    /// what is there: as fast as it can, which may be slower than cells come.
    pub fn can_hold(&self, now: Ps, bytes: u32, last: Ps) -> bool {
        let (Some(fifo_bytes), per_byte) = (self.spec.fifo_bytes, self.spec.costs.driver_receive.per_byte) else {
            return true;
        };
        let unread = self.cpu.pending(now, Level::Interrupt, |task| matches!(task, Task::Taken(_) | Task::Lost));
        let to_read = unread + per_byte * Ps::from(bytes);
        to_read.saturating_sub(last.saturating_sub(now)) <= per_byte * Ps::from(fifo_bytes)
    }

    /// The buffers as TCP sees them.
    pub fn buffers(&self) -> Buffers {
        Buffers { send_bytes: self.queued, receive_bytes: self.received.bytes, receive_limit: u64::from(self.spec.window_bytes) }
    }
}

impl Host {
    /// The state in which it waits, in words.
    pub fn waits_for(&self) -> String {
        let process = match self.process {
            Process::Writing { remaining, is_asleep: true } => format!("the writer sleeps with {remaining} bytes of its call left"),
            Process::Writing { remaining, .. } => format!("the writer has {remaining} bytes of its call left"),
            Process::Reading { .. } => "the reader waits for data".to_owned(),
            Process::Over => "the writer is done".to_owned(),
        };
        format!(
            "{process}, {} bytes are queued, {} of them sent, the other end's window is {} bytes, {} bytes are unread",
            self.queued,
            self.tcp.next - self.tcp.una,
            self.tcp.send_window,
            self.received.bytes
        )
    }
}
