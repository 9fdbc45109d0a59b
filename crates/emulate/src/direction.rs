//! One direction of a path.

use crate::flights::{Flights, Item};
use crate::ledger::{Ledger, Tally};
use crate::packet::{Cause, Loss, Packet, PacketKind, Release};
use crate::queue::cross::Cross;
use crate::queue::{Arriving, Bottleneck, Exit};
use crate::rng::{Decision, Stream};
use crate::station::delay::DelayLine;
use crate::station::loss::LossModel;
use crate::station::thinning::Thinning;
use schema::path::{DirectionSpec, PathSpec};
use std::collections::VecDeque;

/// One direction: packets are handed in as they arrived, and polled as they are due.
///
/// Arrivals are handed in as soon as they are known, in order of their stamps.
/// [`Direction::handle_time`] says up to when all are known. With drop-tail and RED that matters for the
/// counts of intervals alone: it may lag behind, for every decision is made at the arrival. With `CoDel`
/// nothing leaves the queue before it. How far it may lag without making a packet late is
/// [`Direction::slack_ns`].
#[derive(Debug, Clone)]
pub struct Direction {
    thinning: Thinning,
    loss: LossModel,
    duplicate_per_billion: u32,
    duplicate: Stream,
    cross: Cross,
    bottleneck: Bottleneck,
    output: Output,
    ledger: Ledger,
    /// Up to where everything has happened.
    now_ns: u64,
    counts_from_ns: u64,
}

/// Behind the bottleneck.
#[derive(Debug, Clone)]
struct Output {
    line: DelayLine,
    losses: VecDeque<Loss>,
    flights: Flights,
}

impl Output {
    fn lose(&mut self, item: Item, cause: Cause) {
        let (key, is_last) = self.flights.settle(item.slot);
        self.losses.push_back(Loss { key, segment: item.segment, cause, is_duplicate: item.is_duplicate, is_last });
    }
}

impl Exit for Output {
    fn on_sent(&mut self, at_ns: u64, item: Item, is_marked: bool, ledger: &mut Ledger) {
        if !item.is_cross() && self.line.push(at_ns, item, is_marked) {
            ledger.on_reordered();
        }
    }

    fn on_dropped(&mut self, item: Item, cause: Cause) {
        if !item.is_cross() {
            self.lose(item, cause);
        }
    }
}

impl Direction {
    /// A direction of a valid path. Cross traffic, jitter and intervals start at `start_ns`. `number` separates
    /// the random streams of the directions.
    pub(crate) fn new(path: &PathSpec, spec: &DirectionSpec, number: u64, start_ns: u64) -> Self {
        Self {
            thinning: Thinning::new(spec.ack_thinning),
            loss: LossModel::new(&spec.loss, path.seed, number),
            duplicate_per_billion: spec.duplicate_per_billion,
            duplicate: Stream::new(path.seed, number, Decision::Duplicate),
            cross: Cross::new(&spec.cross_traffic, start_ns),
            bottleneck: Bottleneck::new(path, spec, number),
            output: Output {
                line: DelayLine::new(spec, path.seed, number, start_ns),
                losses: VecDeque::new(),
                flights: Flights::default(),
            },
            ledger: Ledger::new(path.interval_ns, start_ns),
            now_ns: start_ns,
            counts_from_ns: 0,
        }
    }

    /// Scripted loss counts segments that arrive at `at_ns` or later; without this call, all. What opens
    /// connections before the load begins is then not counted.
    pub fn count_from(&mut self, at_ns: u64) {
        self.counts_from_ns = at_ns;
    }

    /// A packet has arrived.
    pub fn handle_packet(&mut self, packet: &Packet) {
        let count = packet.segments.count;
        if packet.arrival_ns < self.now_ns {
            self.ledger.on_misordered(u64::from(count));
        } else {
            self.advance(packet.arrival_ns);
        }
        let slot = self.output.flights.open(packet.key, u32::from(count));
        let is_counted = packet.arrival_ns >= self.counts_from_ns;
        for segment in 0..count {
            let bytes = packet.segments.bytes(segment);
            self.ledger.on_arrived(1, u64::from(bytes));
            let item = Item { slot, segment, is_duplicate: false };
            match self.lost_before_queue(packet.kind, is_counted) {
                Some(cause) => {
                    self.ledger.on_dropped(cause, false);
                    self.output.lose(item, cause);
                }
                None => self.enter(Arriving { item, bytes, is_ecn_capable: packet.is_ecn_capable }),
            }
        }
    }

    fn lost_before_queue(&mut self, kind: PacketKind, is_counted: bool) -> Option<Cause> {
        if kind == PacketKind::PureAck && !self.thinning.can_pass(self.now_ns) {
            return Some(Cause::Thinned);
        }
        self.loss.on_packet(kind, is_counted)
    }

    /// Into the queue, perhaps twice.
    fn enter(&mut self, arriving: Arriving) {
        let is_twice = self.duplicate_per_billion > 0 && self.duplicate.happens(self.duplicate_per_billion);
        if is_twice {
            // Before the first is offered, so that it is not taken for the last.
            self.output.flights.add(arriving.item.slot);
            self.ledger.on_duplicated();
        }
        self.bottleneck.offer(self.now_ns, arriving, &mut self.ledger, &mut self.output);
        if is_twice {
            let item = Item { is_duplicate: true, ..arriving.item };
            self.bottleneck.offer(self.now_ns, Arriving { item, ..arriving }, &mut self.ledger, &mut self.output);
        }
    }

    /// All packets that arrived before `complete_ns` have been handed in. One that comes with an earlier
    /// stamp after all is taken to have arrived then, and counted as misordered.
    pub fn handle_time(&mut self, complete_ns: u64) {
        if complete_ns > self.now_ns {
            self.advance(complete_ns);
        }
    }

    /// Everything that happens before an arrival at `to_ns`, cross traffic of the same instant included.
    fn advance(&mut self, to_ns: u64) {
        while let Some((at_ns, bytes)) = self.cross.poll(to_ns) {
            // A packet that comes late can find cross traffic of its instant already there.
            let at_ns = at_ns.max(self.now_ns);
            self.now_ns = at_ns;
            self.bottleneck.advance(at_ns, &mut self.ledger, &mut self.output);
            self.ledger.advance(at_ns);
            self.ledger.on_cross_arrived();
            let arriving = Arriving { item: Item::cross(), bytes, is_ecn_capable: false };
            self.bottleneck.offer(at_ns, arriving, &mut self.ledger, &mut self.output);
        }
        self.now_ns = to_ns;
        self.bottleneck.advance(to_ns, &mut self.ledger, &mut self.output);
        self.ledger.advance(to_ns);
    }

    /// The next packet that is due by `until_ns`, in order of time.
    pub fn poll_release(&mut self, until_ns: u64) -> Option<Release> {
        let travelling = self.output.line.pop(until_ns)?;
        let (key, is_last) = self.output.flights.settle(travelling.item.slot);
        Some(Release {
            key,
            segment: travelling.item.segment,
            due_ns: travelling.due_ns,
            is_marked: travelling.is_marked,
            is_duplicate: travelling.item.is_duplicate,
            is_last,
        })
    }

    /// The next packet that was lost, in the order in which it was decided.
    pub fn poll_loss(&mut self) -> Option<Loss> {
        self.output.losses.pop_front()
    }

    /// Counts of the next interval that is over.
    pub fn poll_tally(&mut self) -> Option<Tally> {
        self.ledger.poll()
    }

    /// Counts of the interval under way, as far as it has come.
    pub fn current_tally(&self) -> Tally {
        self.ledger.current()
    }

    /// When the next packet may be due. With `CoDel` it may be one that is still undecided: call
    /// [`Direction::handle_time`] with a later instant first.
    pub fn next_due_ns(&self) -> Option<u64> {
        let undecided_ns = self.bottleneck.next_decision_ns().map(|at_ns| at_ns + self.output.line.least_ns());
        [self.output.line.next_due_ns(), undecided_ns].into_iter().flatten().min()
    }

    /// Time that [`Direction::handle_time`] may lag behind the clock without making a packet late; `None`: as
    /// far as it likes.
    pub fn slack_ns(&self) -> Option<u64> {
        matches!(self.bottleneck, Bottleneck::OnDeparture(_)).then(|| self.output.line.least_ns())
    }

    /// Packets that came and are neither released nor lost, duplicates counted.
    pub fn inside(&self) -> usize {
        self.bottleneck.undecided() + self.output.line.len()
    }
}
