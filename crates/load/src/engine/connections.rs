//! The state that a thread keeps of each user and of each of its connections.

use socket2::Socket;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tls::{Hosts, Session};
use workload::user::VirtualUser;

use super::orders::Arrival;
use crate::open::ListenPlace;
use crate::preamble::{LATER_BYTES, Token};

/// A user and what the thread keeps of it.
pub(crate) struct Slot {
    pub user: VirtualUser,
    pub first_link: u32,
    /// True if it is in the queue of those that can go on.
    pub(super) is_queued: bool,
    /// True if it has not ended the transaction yet.
    pub(super) is_running: bool,
    /// When it is to be woken; the timer that is not for this instant is stale.
    pub(super) wake_ns: u64,
    pub(super) first_call_ns: u64,
    pub(super) last_call_ns: u64,
    pub(super) short_calls_count: u64,
    pub(super) other_calls_count: u64,
    /// Executions that had begun after its last turn; wraps.
    pub(super) begun_before: u32,
    /// True if a sentence says why it goes on no more.
    pub(super) has_failed: bool,
    /// When the connection was begun that is opening.
    pub(super) opening_ns: u64,
    /// True if the preamble of that connection is still to be taken.
    pub(super) is_greeting: bool,
    /// Connections opened by the workload so far.
    pub(super) connects_count: u32,
    /// Those that came before the user asked for them.
    pub(super) arrivals: Vec<Arrival>,
}

impl Slot {
    /// A user that has not begun.
    pub fn new(user: VirtualUser, first_link: u32) -> Self {
        Self {
            user,
            first_link,
            is_queued: false,
            is_running: false,
            wake_ns: u64::MAX,
            first_call_ns: u64::MAX,
            last_call_ns: 0,
            short_calls_count: 0,
            other_calls_count: 0,
            begun_before: 0,
            has_failed: false,
            opening_ns: 0,
            is_greeting: false,
            connects_count: 0,
            arrivals: Vec::new(),
        }
    }
}

/// The descriptor of a link that is not open.
pub(super) const NO_DESCRIPTOR: RawFd = -1;

/// A connection of a user, as the thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub descriptor: RawFd,
    /// The thread's own number of the user.
    pub slot: u32,
    /// Events that epoll reports.
    pub(super) armed: u8,
    /// Events that the user waits for.
    pub(super) wanted: u8,
    pub(super) is_watched: bool,
    /// True if data may be there.
    pub(super) is_readable: bool,
    /// True if its preamble has not been sent yet.
    pub(super) must_greet: bool,
    /// True if calls wait in the kernel, though not for long.
    pub(super) is_blocking: bool,
    /// True if nobody else holds the descriptor.
    pub(super) is_own: bool,
    /// Payload already read, in bytes.
    pub(super) credit_bytes: u32,
}

impl Link {
    /// A connection of this user.
    pub fn new(descriptor: RawFd, slot: u32) -> Self {
        Self {
            descriptor,
            slot,
            armed: 0,
            wanted: 0,
            is_watched: false,
            is_readable: true,
            must_greet: false,
            is_blocking: false,
            is_own: false,
            credit_bytes: 0,
        }
    }

    /// One that is being opened here.
    pub fn connecting(descriptor: RawFd, slot: u32) -> Self {
        let mut link = Self::new(descriptor, slot);
        (link.must_greet, link.is_own, link.is_readable) = (true, true, false);
        link
    }

    /// One that the other host has opened, with payload that was read behind its preamble.
    pub fn arrived(descriptor: RawFd, slot: u32, credit_bytes: u32) -> Self {
        let mut link = Self::new(descriptor, slot);
        (link.credit_bytes, link.is_own) = (credit_bytes, true);
        link
    }
}

/// The needs of opening a connection.
pub(crate) struct Openings {
    pub token: Token,
    pub place: ListenPlace,
    pub listeners: Vec<Socket>,
    /// The same over UDP.
    pub receivers: Vec<UdpSocket>,
    /// This host's address.
    pub local_ip: IpAddr,
    /// Connections that did not present the token.
    pub unauthenticated: AtomicU64,
    /// Both sides of TLS, where the trial has it.
    pub hosts: Option<Arc<Hosts>>,
}

/// A connection that has not presented the token yet.
pub(crate) struct PendingConnection {
    pub(super) socket: OwnedFd,
    pub(super) since_ns: u64,
    pub(super) have: usize,
    pub(super) bytes: [u8; LATER_BYTES],
    pub(super) is_watched: bool,
    /// Over TLS, once it has begun.
    pub(super) tls: Option<Box<Session>>,
}
