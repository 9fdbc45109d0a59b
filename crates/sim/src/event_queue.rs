//! Events to come, in order of time, and at one instant in the order in which they were planned.

use crate::time::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events to come.
#[derive(Debug, Clone)]
pub struct EventQueue<Event> {
    heap: BinaryHeap<Reverse<Entry<Event>>>,
    planned: u64,
}

#[derive(Debug, Clone)]
struct Entry<Event> {
    at: Ps,
    number: u64,
    event: Event,
}

impl<Event> Default for EventQueue<Event> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), planned: 0 }
    }
}

impl<Event> EventQueue<Event> {
    /// Plans an event.
    pub fn plan(&mut self, at: Ps, event: Event) {
        self.planned += 1;
        self.heap.push(Reverse(Entry { at, number: self.planned, event }));
    }

    /// When the next event is.
    pub fn next_at(&self) -> Option<Ps> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The next event and its instant.
    pub fn pop(&mut self) -> Option<(Ps, Event)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<Event> PartialEq for Entry<Event> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<Event> Eq for Entry<Event> {}

impl<Event> PartialOrd for Entry<Event> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<Event> Ord for Entry<Event> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
