//! A queue that decides when a packet is about to be sent: `CoDel`.
//!
//! The fate of a packet depends on arrivals up to the instant at which the link asks for it. So
//! nothing is decided before the caller has said that all arrivals up to then are in.

use super::codel::{Codel, Head, Verdict};
use super::limit::Limit;
use super::{Arriving, Exit};
use crate::ledger::Ledger;
use crate::packet::Cause;
use crate::station::server::Server;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
struct Waiting {
    arrived_ns: u64,
    arriving: Arriving,
}

#[derive(Debug, Clone, Copy)]
struct FrameOnLink {
    leaves_ns: u64,
    bytes: u32,
    is_cross: bool,
}

/// The queue.
#[derive(Debug, Clone)]
pub struct OnDeparture {
    server: Server,
    limit: Limit,
    codel: Codel,
    ecn: bool,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    sending: Option<FrameOnLink>,
}

impl OnDeparture {
    pub fn new(server: Server, limit: Limit, codel: Codel, ecn: bool) -> Self {
        Self { server, limit, codel, ecn, waiting: VecDeque::new(), waiting_bytes: 0, sending: None }
    }

    /// Does what happens before an arrival at `to_ns`: packets leave up to that instant, but the link asks
    /// for the next one only before it, so that all packets of one instant are in before one is taken.
    pub fn advance(&mut self, to_ns: u64, ledger: &mut Ledger, exit: &mut impl Exit) {
        loop {
            if let Some(sending) = self.sending {
                if sending.leaves_ns > to_ns {
                    return;
                }
                self.sending = None;
                ledger.on_left(sending.leaves_ns, sending.bytes, sending.is_cross);
            }
            let Some(asked_ns) = self.next_decision_ns().filter(|asked_ns| *asked_ns < to_ns) else {
                return;
            };
            if asked_ns > self.server.free_ns() {
                self.codel.on_empty();
            }
            self.send_next(asked_ns, ledger, exit);
        }
    }

    /// When the link asks for the packet that is first now.
    pub fn next_decision_ns(&self) -> Option<u64> {
        self.waiting.front().map(|first| first.arrived_ns.max(self.server.free_ns()))
    }

    pub fn undecided(&self) -> usize {
        self.waiting.iter().filter(|waiting| !waiting.arriving.item.is_cross()).count()
    }

    pub fn offer(&mut self, now_ns: u64, arriving: Arriving, ledger: &mut Ledger, exit: &mut impl Exit) {
        let sending_bytes = self.sending.map_or(0, |sending| u64::from(sending.bytes));
        let packets = self.waiting.len() + usize::from(self.sending.is_some());
        if !self.limit.has_room(self.waiting_bytes + sending_bytes, packets, arriving.bytes) {
            ledger.on_dropped(Cause::Full, arriving.item.is_cross());
            exit.on_dropped(arriving.item, Cause::Full);
            return;
        }
        self.codel.on_arrival(arriving.bytes);
        self.waiting.push_back(Waiting { arrived_ns: now_ns, arriving });
        self.waiting_bytes += u64::from(arriving.bytes);
        ledger.on_entered(now_ns, arriving.bytes);
    }

    /// The link asks for a packet: it gets the first that is not dropped.
    fn send_next(&mut self, now_ns: u64, ledger: &mut Ledger, exit: &mut impl Exit) {
        let mut is_next = false;
        while let Some(first) = self.waiting.pop_front() {
            let arriving = first.arriving;
            self.waiting_bytes -= u64::from(arriving.bytes);
            let head = Head { now_ns, arrived_ns: first.arrived_ns, backlog_bytes: self.waiting_bytes };
            let verdict = if is_next { self.codel.on_next_head(head) } else { self.codel.on_head(head) };
            let is_marked = verdict == Verdict::Strike && self.ecn && arriving.is_ecn_capable;
            if verdict == Verdict::Strike && !is_marked {
                ledger.on_dropped_inside(now_ns, arriving.bytes, arriving.item.is_cross());
                exit.on_dropped(arriving.item, Cause::Early);
                is_next = true;
                continue;
            }
            if is_marked {
                self.codel.on_marked();
                ledger.on_marked();
            }
            let leaves_ns = self.server.send(now_ns, arriving.bytes);
            self.sending = Some(FrameOnLink { leaves_ns, bytes: arriving.bytes, is_cross: arriving.item.is_cross() });
            exit.on_sent(leaves_ns, arriving.item, is_marked, ledger);
            return;
        }
        self.codel.on_empty();
    }
}
