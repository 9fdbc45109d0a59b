//! Messages between the conductor and the threads: orders and reports.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tls::Session;

use super::sys::Waker;

/// To one thread.
#[derive(Debug)]
pub enum Order {
    /// The transactions of this number begin.
    Begin {
        /// Number of the transaction in its group.
        round: u32,
        /// When, on CLOCK_MONOTONIC in ns.
        at_mono_ns: u64,
    },
    /// The end that leads has had this many executions.
    Limit {
        /// Whose.
        user: u32,
        /// Number of executions.
        executions_count: u64,
    },
    /// A user's other half is gone.
    GiveUp {
        /// Which.
        user: u32,
        /// Why, in words.
        reason: String,
    },
    /// A connection has come for a user.
    Adopt(Arrival),
    /// All is over.
    Finish,
}

/// A connection that came during the trial.
#[derive(Debug)]
pub struct Arrival {
    /// For which user.
    pub user: u32,
    /// Which of those that its user opened; over UDP, the number of the operation that opens it.
    pub ordinal: u64,
    /// The connection.
    pub descriptor: OwnedFd,
    /// Payload that was read behind its preamble, in bytes.
    pub credit_bytes: u32,
    /// Over TLS: what has opened it.
    pub tls: Option<Box<Session>>,
}

/// Where a thread finds its orders.
#[derive(Debug)]
pub struct Inbox {
    orders: Mutex<Vec<Order>>,
    is_full: AtomicBool,
    /// Wakes the thread.
    pub waker: Waker,
}

impl Inbox {
    /// An empty one.
    ///
    /// # Errors
    /// No file is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { orders: Mutex::default(), is_full: AtomicBool::new(false), waker: Waker::new()? })
    }

    /// Gives an order.
    pub fn push(&self, order: Order) {
        self.extend([order]);
    }

    /// Gives several.
    pub fn extend(&self, orders: impl IntoIterator<Item = Order>) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).extend(orders);
        self.is_full.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// All orders since the last look; costs one look at a flag when there are none.
    pub fn take(&self) -> Vec<Order> {
        if !self.is_full.load(Ordering::Relaxed) || !self.is_full.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(&mut *self.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// From a thread to the conductor.
#[derive(Debug)]
pub enum Report {
    /// This host has had this many executions, and the other must know.
    Limit {
        /// Of which user.
        user: u32,
        /// Number of executions.
        executions_count: u64,
    },
    /// A user has failed.
    Failed {
        /// Which.
        user: u32,
    },
    /// All users of the thread have ended the transactions of this number.
    Reached {
        /// Number of the transaction.
        round: u32,
        /// Payload that each user has sent and received so far, in bytes, of those that go on.
        totals: Vec<Total>,
    },
}

/// The amounts that a user moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// Which user.
    pub user: u32,
    /// Payload sent in bytes.
    pub sent_bytes: u64,
    /// Payload received in bytes.
    pub received_bytes: u64,
}
