//! A queue that decides when a packet arrives: drop-tail, or random early detection.
//!
//! Packets are sent in the order in which they came and nothing is dropped later, so the instant at which
//! one will have been sent is known at once. What this queue decides depends on arrivals alone.

use super::limit::Limit;
use super::red::{Red, Verdict};
use super::{Arriving, Exit};
use crate::ledger::Ledger;
use crate::packet::Cause;
use crate::station::server::Server;
use std::collections::VecDeque;

/// A packet that has not left yet.
#[derive(Debug, Clone, Copy)]
struct Inside {
    leaves_ns: u64,
    bytes: u32,
    is_cross: bool,
}

/// The queue. The packet that is being sent is in front.
#[derive(Debug, Clone)]
pub struct OnArrival {
    server: Server,
    limit: Limit,
    red: Option<Red>,
    ecn: bool,
    inside: VecDeque<Inside>,
    bytes: u64,
}

impl OnArrival {
    pub fn new(server: Server, limit: Limit, red: Option<Red>, ecn: bool) -> Self {
        Self { server, limit, red, ecn, inside: VecDeque::new(), bytes: 0 }
    }

    /// Lets go what has left by `to_ns`: a packet that arrives at that instant finds its room.
    pub fn advance(&mut self, to_ns: u64, ledger: &mut Ledger) {
        while let Some(first) = self.inside.front().copied().filter(|first| first.leaves_ns <= to_ns) {
            self.inside.pop_front();
            self.bytes -= u64::from(first.bytes);
            ledger.on_left(first.leaves_ns, first.bytes, first.is_cross);
        }
    }

    pub fn offer(&mut self, now_ns: u64, arriving: Arriving, ledger: &mut Ledger, exit: &mut impl Exit) {
        let is_cross = arriving.item.is_cross();
        let (is_marked, cause) = self.judge(now_ns, &arriving);
        if let Some(cause) = cause {
            ledger.on_dropped(cause, is_cross);
            exit.on_dropped(arriving.item, cause);
            return;
        }
        let leaves_ns = self.server.send(now_ns, arriving.bytes);
        self.inside.push_back(Inside { leaves_ns, bytes: arriving.bytes, is_cross });
        self.bytes += u64::from(arriving.bytes);
        ledger.on_entered(now_ns, arriving.bytes);
        if is_marked {
            ledger.on_marked();
        }
        exit.on_sent(leaves_ns, arriving.item, is_marked, ledger);
    }

    /// Decides whether it is marked, and why it is dropped if it is.
    fn judge(&mut self, now_ns: u64, arriving: &Arriving) -> (bool, Option<Cause>) {
        let verdict = match &mut self.red {
            None => Verdict::Pass,
            Some(red) => {
                let sending_bytes = self.inside.front().map_or(0, |first| u64::from(first.bytes));
                let idle_ns = if self.inside.is_empty() { now_ns - self.server.free_ns() } else { 0 };
                red.on_arrival(self.bytes - sending_bytes, idle_ns)
            }
        };
        let has_room = self.limit.has_room(self.bytes, self.inside.len(), arriving.bytes);
        match verdict {
            Verdict::Early if self.ecn && arriving.is_ecn_capable && has_room => (true, None),
            Verdict::Early | Verdict::Forced => (false, Some(Cause::Early)),
            Verdict::Pass if has_room => (false, None),
            Verdict::Pass => (false, Some(Cause::Full)),
        }
    }
}
