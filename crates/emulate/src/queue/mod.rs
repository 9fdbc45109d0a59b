//! The bottleneck of a direction with the queue in front of it.

mod codel;
pub mod cross;
mod limit;
mod on_arrival;
mod on_departure;
mod red;

use crate::flights::Item;
use crate::ledger::Ledger;
use crate::packet::Cause;
use crate::station::server::Server;
use codel::Codel;
use limit::Limit;
use on_arrival::OnArrival;
use on_departure::OnDeparture;
use red::Red;
use schema::path::{DirectionSpec, Discipline, PathSpec};

/// A packet before the queue.
#[derive(Debug, Clone, Copy)]
pub struct Arriving {
    /// Which it is.
    pub item: Item,
    /// Its size.
    pub bytes: u32,
    /// True if it can be marked.
    pub is_ecn_capable: bool,
}

/// Where packets go from the bottleneck.
pub trait Exit {
    /// It has been, or will have been, sent at `at_ns`. Calls come in order of time.
    fn on_sent(&mut self, at_ns: u64, item: Item, is_marked: bool, ledger: &mut Ledger);
    /// It was dropped. Not called for cross traffic.
    fn on_dropped(&mut self, item: Item, cause: Cause);
}

/// The bottleneck of a direction.
#[derive(Debug, Clone)]
pub enum Bottleneck {
    /// None: everything passes at once.
    None,
    /// Decides over a packet when it arrives, and knows then when it will have been sent.
    OnArrival(OnArrival),
    /// Decides over a packet when it is to be sent.
    OnDeparture(OnDeparture),
}

impl Bottleneck {
    /// The bottleneck of a direction.
    pub fn new(path: &PathSpec, direction: &DirectionSpec, number: u64) -> Self {
        let (Some(rate_bps), Some(limit)) = (direction.rate_bps, path.queue_limit(direction)) else {
            return Bottleneck::None;
        };
        let (server, limit, ecn) = (Server::new(rate_bps), Limit::new(limit), direction.queue.ecn);
        match direction.queue.discipline {
            Discipline::DropTail => Bottleneck::OnArrival(OnArrival::new(server, limit, None, ecn)),
            Discipline::Red { .. } => {
                let red = Red::new(&direction.queue.discipline, &server, path.seed, number);
                Bottleneck::OnArrival(OnArrival::new(server, limit, red, ecn))
            }
            Discipline::Codel { target_ns, interval_ns } => {
                Bottleneck::OnDeparture(OnDeparture::new(server, limit, Codel::new(target_ns, interval_ns), ecn))
            }
        }
    }

    /// Does all that happens before an arrival at `to_ns`.
    pub fn advance(&mut self, to_ns: u64, ledger: &mut Ledger, exit: &mut impl Exit) {
        match self {
            Bottleneck::None => {}
            Bottleneck::OnArrival(queue) => queue.advance(to_ns, ledger),
            Bottleneck::OnDeparture(queue) => queue.advance(to_ns, ledger, exit),
        }
    }

    /// A packet arrives at `now_ns`, up to which [`Bottleneck::advance`] has been called.
    pub fn offer(&mut self, now_ns: u64, arriving: Arriving, ledger: &mut Ledger, exit: &mut impl Exit) {
        match self {
            Bottleneck::None => {
                ledger.on_passed(arriving.bytes);
                exit.on_sent(now_ns, arriving.item, false, ledger);
            }
            Bottleneck::OnArrival(queue) => queue.offer(now_ns, arriving, ledger, exit),
            Bottleneck::OnDeparture(queue) => queue.offer(now_ns, arriving, ledger, exit),
        }
    }

    /// When the next decision is to be made that has not been made yet.
    pub fn next_decision_ns(&self) -> Option<u64> {
        match self {
            Bottleneck::None | Bottleneck::OnArrival(_) => None,
            Bottleneck::OnDeparture(queue) => queue.next_decision_ns(),
        }
    }

    /// Packets of which [`Exit`] has not heard yet, cross traffic not counted.
    pub fn undecided(&self) -> usize {
        match self {
            Bottleneck::None | Bottleneck::OnArrival(_) => 0,
            Bottleneck::OnDeparture(queue) => queue.undecided(),
        }
    }
}
