//! The delay line: what left the bottleneck waits here until it is due.

use crate::flights::Item;
use crate::rng::{Decision, Stream};
use crate::station::jitter::Jitter;
use schema::path::DirectionSpec;
use std::collections::VecDeque;

/// A packet on its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Travelling {
    /// When it is due.
    pub due_ns: u64,
    /// Which it is.
    pub item: Item,
    /// True where it carries a mark.
    pub is_marked: bool,
}

/// Two lines in order of time: packets that take the delay, and packets that skip it. Neither ever
/// needs sorting, because packets leave the bottleneck in order and jitter keeps it.
#[derive(Debug, Clone)]
pub struct DelayLine {
    delay_ns: u64,
    start_ns: u64,
    jitter: Jitter,
    reorder_per_billion: u32,
    reorder: Stream,
    ordinary: VecDeque<Travelling>,
    ahead: VecDeque<Travelling>,
}

impl DelayLine {
    /// The delay line of a direction; jitter is counted from `start_ns` on.
    pub fn new(spec: &DirectionSpec, seed: u64, direction: u64, start_ns: u64) -> Self {
        Self {
            delay_ns: spec.delay_ns,
            start_ns,
            jitter: Jitter::new(spec.jitter_ns, seed, direction),
            reorder_per_billion: spec.reorder_per_billion,
            reorder: Stream::new(seed, direction, Decision::Reorder),
            ordinary: VecDeque::new(),
            ahead: VecDeque::new(),
        }
    }

    /// Takes what leaves the bottleneck at `now_ns`; whether it skips the delay.
    pub fn push(&mut self, now_ns: u64, item: Item, is_marked: bool) -> bool {
        let is_reordered = self.reorder_per_billion > 0 && self.reorder.happens(self.reorder_per_billion);
        if is_reordered {
            self.ahead.push_back(Travelling { due_ns: now_ns, item, is_marked });
        } else {
            let delay_ns = self.jitter.delay_ns(self.delay_ns, now_ns.saturating_sub(self.start_ns));
            self.ordinary.push_back(Travelling { due_ns: now_ns + delay_ns, item, is_marked });
        }
        is_reordered
    }

    /// When the first is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        let front = |line: &VecDeque<Travelling>| line.front().map(|travelling| travelling.due_ns);
        [front(&self.ordinary), front(&self.ahead)].into_iter().flatten().min()
    }

    /// The first, if it is due by `until_ns`.
    pub fn pop(&mut self, until_ns: u64) -> Option<Travelling> {
        let is_ahead = match (self.ordinary.front(), self.ahead.front()) {
            (Some(ordinary), Some(ahead)) => ahead.due_ns < ordinary.due_ns,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let line = if is_ahead { &mut self.ahead } else { &mut self.ordinary };
        if line.front()?.due_ns > until_ns {
            return None;
        }
        line.pop_front()
    }

    /// The least time between the bottleneck and the other host.
    pub fn least_ns(&self) -> u64 {
        if self.reorder_per_billion > 0 { 0 } else { self.delay_ns - self.jitter.most_ns() }
    }

    /// Packets on their direction.
    pub fn len(&self) -> usize {
        self.ordinary.len() + self.ahead.len()
    }
}
