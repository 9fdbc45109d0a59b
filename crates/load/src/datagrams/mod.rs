//! A stream of numbered datagrams: sent at a rate, counted where they arrive.
//!
//! A thread a flow, as with streams. [`sender`] numbers and stamps, [`receiver`] keeps account, and
//! [`agreement`] sends each host over a connection that loses nothing how many the other one counts,
//! so that what is lost at the tail is known to be lost. What carries them is [`transport`]; [`calls`] has the
//! system calls.

pub(crate) mod agreement;
mod calls;
pub(crate) mod receiver;
pub(crate) mod sender;
mod transport;

use schema::trial::{Role, Stop, TrialSpec};
use schema::workload::DatagramStream;
use socket2::Socket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use workload::datagrams::Arrived;

use self::agreement::{CountsSender, FlowCounts};
use self::transport::DatagramTransport;
use crate::LoadError;
use crate::control::Control;
use crate::counter::Counter;
use crate::open::{Connection, Opened, OpenedQuic, Times, controller_of};
use crate::sockopt;
use crate::transport::Watched;
use crate::transport::quic::QuicView;

/// The counts of a flow's thread, for the sampler to read at any time. The numbers may be a few
/// datagrams apart.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counts {
    sent_count: AtomicU64,
    received_count: AtomicU64,
    payload_bytes: AtomicU64,
    late_count: AtomicU64,
    duplicate_count: AtomicU64,
    highest_count: AtomicU64,
    jitter_ns: AtomicU64,
    strangers_count: AtomicU32,
}

/// The counts of a flow at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountsSnapshot {
    /// Datagrams the kernel took.
    pub sent_count: u64,
    /// The arrivals; at the sender nothing but the payload sent.
    pub arrived: Arrived,
    /// Datagrams without the flow's tag.
    pub strangers_count: u32,
}

impl Counts {
    /// Reads all.
    pub fn read(&self) -> CountsSnapshot {
        let number = |of: &AtomicU64| of.load(Ordering::Relaxed);
        CountsSnapshot {
            sent_count: number(&self.sent_count),
            arrived: Arrived {
                received_count: number(&self.received_count),
                payload_bytes: number(&self.payload_bytes),
                late_count: number(&self.late_count),
                duplicate_count: number(&self.duplicate_count),
                highest_count: number(&self.highest_count),
                jitter_ns: number(&self.jitter_ns),
            },
            strangers_count: self.strangers_count.load(Ordering::Relaxed),
        }
    }

    fn show_sent(&self, sent_count: u64, payload_bytes: u64) {
        self.sent_count.store(sent_count, Ordering::Relaxed);
        self.payload_bytes.store(payload_bytes, Ordering::Relaxed);
    }

    fn show_arrived(&self, arrived: &Arrived, strangers_count: u32) {
        let show = |to: &AtomicU64, number: u64| to.store(number, Ordering::Relaxed);
        show(&self.received_count, arrived.received_count);
        show(&self.payload_bytes, arrived.payload_bytes);
        show(&self.late_count, arrived.late_count);
        show(&self.duplicate_count, arrived.duplicate_count);
        show(&self.highest_count, arrived.highest_count);
        show(&self.jitter_ns, arrived.jitter_ns);
        self.strangers_count.store(strangers_count, Ordering::Relaxed);
    }
}

/// Number of the last datagrams that the receiver of each flow remembers: a second of them at a rate that
/// one flow reaches, less where many flows share the memory.
pub(crate) fn window(flows: usize) -> usize {
    const MAX: usize = 1 << 20;
    const MIN: usize = 1 << 14;
    const FLOWS: usize = 16;
    if flows <= FLOWS { MAX } else { MIN }
}

/// Datagrams that a flow's socket dropped since it was opened, because its buffer was full.
pub fn kernel_drops(socket: &Socket) -> u32 {
    sockopt::dropped_count(socket).unwrap_or(0)
}

/// The needs of a flow's thread, and what others see of the flow.
pub(crate) struct Ready {
    pub task: DatagramTask,
    pub times: Times,
    /// The kernel's socket, where that is what carries it.
    pub socket: Option<Arc<Socket>>,
    /// The library's connection, where that does.
    pub watched: Option<Arc<dyn Watched>>,
}

/// Collects what the threads of all flows need, in the order of their numbers.
///
/// # Errors
/// There is no connection to agree over, an option is refused, or datagrams are too long for what carries them.
pub(crate) fn tasks(spec: &TrialSpec, stream: &DatagramStream, opened: Opened, control: &Arc<Control>) -> Result<Vec<Ready>, LoadError> {
    let conductor = opened.conductor.ok_or_else(|| LoadError::Usage("datagrams need a conductor's connection".to_owned()))?;
    let (counts_sender, inboxes) = agreement::open(conductor, spec.connections_count)?;
    let window = window(opened.connections.len().max(opened.over_quic.len()));
    let planned_bytes = match spec.stop {
        Stop::Bytes { payload_bytes } => Some(payload_bytes),
        Stop::Duration { .. } | Stop::Workload => None,
    };
    let ready = |((number, times, transport, watched), inbox): (Open, Receiver<FlowCounts>)| {
        let task = DatagramTask {
            number,
            tag: workload::datagrams::tag(&spec.token, number),
            transport,
            counter: Arc::default(),
            counts: Arc::default(),
            control: Arc::clone(control),
            stream: stream.clone(),
            is_stamped: spec.socket.kernel_timestamps,
            planned_bytes,
            window,
            counts_sender: Arc::clone(&counts_sender),
            inbox,
        };
        let socket = match &task.transport {
            DatagramTransport::Socket(socket) => Some(Arc::clone(socket)),
            DatagramTransport::Quic(_) => None,
        };
        match (spec.role, &socket) {
            (Role::Sender, Some(socket)) => sender::prepare(&task, socket)?,
            (Role::Receiver, Some(socket)) => receiver::prepare(&task, socket)?,
            (_, None) => {}
        }
        Ok(Ready { task, times, socket, watched })
    };
    let mut flows: Vec<Open> = opened.connections.into_iter().map(over_socket).collect();
    for connection in opened.over_quic {
        flows.push(over_quic(spec, stream, connection)?);
    }
    flows.into_iter().zip(inboxes).map(ready).collect()
}

/// A flow that is open: number, times, what carries it, and what others see of a library's connection.
type Open = (u32, Times, DatagramTransport, Option<Arc<dyn Watched>>);

fn over_socket(Connection { number, socket, times, .. }: Connection) -> Open {
    (number, times, DatagramTransport::Socket(Arc::new(socket)), None)
}

fn over_quic(spec: &TrialSpec, stream: &DatagramStream, connection: OpenedQuic) -> Result<Open, LoadError> {
    let OpenedQuic { number, mut connection, times } = connection;
    let most = connection.max_datagram_bytes().unwrap_or(0);
    if stream.datagram_bytes as usize > most {
        let asked = stream.datagram_bytes;
        return Err(LoadError::Usage(format!("datagram_bytes is {asked}; a datagram of QUIC has room for {most} on this path")));
    }
    let view: Arc<dyn Watched> = Arc::new(QuicView::new(&connection, controller_of(spec, number).as_deref()));
    Ok((number, times, DatagramTransport::Quic(Box::new(connection)), Some(view)))
}

/// Everything a flow's thread needs.
pub(crate) struct DatagramTask {
    pub number: u32,
    /// In front of every datagram of the flow.
    pub tag: u32,
    pub transport: DatagramTransport,
    pub counter: Arc<Counter>,
    pub counts: Arc<Counts>,
    pub control: Arc<Control>,
    pub stream: DatagramStream,
    /// True if the kernel says when a datagram arrived.
    pub is_stamped: bool,
    /// Payload to send; `None` when a clock ends it.
    pub planned_bytes: Option<u64>,
    /// Number of the last datagrams that the receiver remembers.
    pub window: usize,
    pub counts_sender: Arc<CountsSender>,
    pub inbox: Receiver<FlowCounts>,
}
