//! A connection under load, as the sampler sees it.

use socket2::Socket;
use std::sync::Arc;

use crate::counter::{Counter, Counts};
use crate::engine::ledger::Ledger;
use crate::open::Times;
use crate::secure::TlsView;

/// Where a flow is counted.
#[derive(Debug)]
pub enum FlowCounter {
    /// Nowhere.
    None,
    /// By a thread of its own.
    Own(Arc<Counter>),
    /// By a thread that has many; the position among them.
    Shared(Arc<Ledger>, u32),
}

impl FlowCounter {
    /// Reads the totals.
    pub fn read(&self) -> Counts {
        match self {
            FlowCounter::None => Counts::default(),
            FlowCounter::Own(counter) => counter.read(),
            FlowCounter::Shared(ledger, position) => ledger.users[*position as usize].read(),
        }
    }
}

/// A connection or user under load, as the sampler sees it.
#[derive(Debug)]
pub struct Flow {
    /// Number of the connection.
    pub number: u32,
    /// The socket; stays open until the load is dropped. Absent where the workload opens it, or a
    /// library carries it.
    pub socket: Option<Arc<Socket>>,
    /// Its counters.
    pub counter: FlowCounter,
    /// Thread that carries it, by its position among the load's threads.
    pub thread: u32,
    /// When it opened; zeros where the workload opens it.
    pub times: Times,
    /// Over TLS: what was negotiated; with a workload, on the user's first connection.
    pub tls: Option<TlsView>,
}

impl Flow {
    /// A flow that nothing carries yet.
    pub(crate) fn new(number: u32, times: Times) -> Self {
        Self { number, socket: None, counter: FlowCounter::None, thread: 0, times, tls: None }
    }
}
