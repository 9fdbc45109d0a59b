//! The state of a thread of the engine: many users, one epoll.
//!
//! Everything that is done with it stands in the modules that are named after it: [`super::run`] is the loop.

use schema::trial::{Role, SocketSpec};
use schema::workload::Transport;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tls::Session;
use workload::script::Script;
use workload::user::Ending;

use super::connections::{Link, NO_DESCRIPTOR, Openings, PendingConnection, Slot};
use super::datagrams::Flows;
use super::ledger::{Ledger, SharedLatencies};
use super::orders::{Inbox, Report, Total};
use super::ports::Ports;
use super::ring::Ring;
use super::sending::Sending;
use super::sys::{Epoll, Waker};
use super::wire::Wire;
use crate::control::Control;
use crate::pending::Pending;
use crate::secure::TlsView;

/// A thread: what it is to do, what it waits for, and its users with their connections.
pub(crate) struct Worker {
    pub plan: Plan,
    pub shared: Shared,
    pub tally: Tally,
    pub events: Events,
    pub buffers: CallBuffers,
    pub opening: Opening,
    pub slots: Vec<Slot>,
    pub links: Vec<Link>,
    /// Over TLS: what encrypts, by the number of the link; none where the kernel does.
    pub sessions: Vec<Option<Box<Session>>>,
    /// Over TLS: what was negotiated, by the thread's own numbers of its users.
    pub tls_views: Vec<TlsView>,
    /// Over UDP: what more there is to know of users and connections.
    pub flows: Flows,
    /// Where sends are not plain ones.
    pub sending: Option<Box<Sending>>,
    /// Where the kernel's stamps were asked for.
    pub wire: Option<Box<Wire>>,
    /// Number of the transactions under way, and users that have not ended theirs.
    pub round: u32,
    pub running_count: usize,
    /// The clock when it was last read.
    pub now_ns: u64,
}

/// The demands of the trial on all threads alike.
#[derive(Clone)]
pub(crate) struct Plan {
    pub script: Arc<Script>,
    pub ending: EndingSpec,
    /// The files that data are sent from.
    pub files: Arc<HashMap<String, File>>,
    pub transport: Transport,
    pub socket_spec: SocketSpec,
    pub role: Role,
    pub quick_ack: bool,
    /// Flags of each receive.
    pub receive_flags: i32,
    /// True if a thread has one user, whose calls block.
    pub is_alone: bool,
}

/// Everything that the thread shares with the conductor, the other threads and whoever stops the load.
pub(crate) struct Shared {
    pub control: Arc<Control>,
    pub inbox: Arc<Inbox>,
    pub inboxes: Arc<[Arc<Inbox>]>,
    pub reports: Sender<Report>,
    pub conductor: Arc<Waker>,
    pub openings: Arc<Openings>,
}

/// Everything that is counted.
pub(crate) struct Tally {
    pub ledger: Arc<Ledger>,
    pub latencies: SharedLatencies,
    /// Why users failed, by their numbers.
    pub failures: HashMap<u32, String>,
}

/// The things that the thread waits for, and who can go on.
pub(crate) struct Events {
    pub epoll: Epoll,
    /// Where sends and receives go through an `io_uring`.
    pub ring: Option<Ring>,
    pub ready: VecDeque<u32>,
    pub timers: BinaryHeap<Reverse<(u64, u32)>>,
}

/// The memory that calls read and write.
pub(crate) struct CallBuffers {
    pub source: Arc<[u8]>,
    /// A datagram to be numbered; empty where there are none.
    pub datagram: Vec<u8>,
    pub sink: Vec<u8>,
}

/// The needs of opening connections.
pub(crate) struct Opening {
    /// Connections that have not presented the token yet.
    pub pending: Pending<PendingConnection>,
    pub silence_check_ns: u64,
    /// The ports that connections come from.
    pub ports: Ports,
}

/// As [`Ending`], but relative to the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndingSpec {
    pub load_ns: Option<u64>,
    pub payload_bytes: Option<u64>,
    pub is_lossy: bool,
}

impl EndingSpec {
    pub(super) fn from(self, start_ns: u64) -> Ending {
        Ending {
            until_ns: self.load_ns.map(|load_ns| start_ns.saturating_add(load_ns)),
            payload_bytes: self.payload_bytes,
            is_lossy: self.is_lossy,
        }
    }
}

impl Worker {
    pub(super) fn enqueue(&mut self, slot: usize) {
        let queued = &mut self.slots[slot].is_queued;
        if !*queued {
            *queued = true;
            self.events.ready.push_back(u32::try_from(slot).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn link(&self, index: usize, connection: u32) -> io::Result<usize> {
        let link = (self.slots[index].first_link + connection) as usize;
        let is_closed = self.links[link].descriptor == NO_DESCRIPTOR;
        if is_closed || (self.plan.transport == Transport::Udp && self.links[link].must_greet) {
            Err(io::Error::other("the connection is not open"))
        } else {
            Ok(link)
        }
    }

    /// The thread's own number of a user.
    pub(super) fn slot_of(&self, user: u32) -> Option<usize> {
        self.slots.binary_search_by_key(&user, |slot| slot.user.number()).ok()
    }

    pub(super) fn fail(&mut self, index: usize, error: &io::Error) {
        let slot = &mut self.slots[index];
        let doing = slot.user.describe(&self.plan.script);
        if slot.user.on_failed(&self.plan.script) {
            return;
        }
        let user = slot.user.number();
        slot.has_failed = true;
        self.tally.failures.insert(user, format!("virtual user {user}, {doing}: {error}"));
        self.report(Report::Failed { user });
    }

    pub(super) fn report(&self, report: Report) {
        // A conductor that is gone ends everything by an order.
        let _ = self.shared.reports.send(report);
        self.shared.conductor.wake();
    }

    pub(super) fn on_reached(&mut self) {
        self.running_count -= 1;
        if self.running_count == 0 {
            self.report_reached();
        }
    }

    pub(super) fn report_reached(&self) {
        let totals = self.slots.iter().filter(|slot| !slot.has_failed).map(|slot| Total {
            user: slot.user.number(),
            sent_bytes: slot.user.sent_bytes(),
            received_bytes: slot.user.received_bytes(),
        });
        self.report(Report::Reached { round: self.round, totals: totals.collect() });
    }
}
