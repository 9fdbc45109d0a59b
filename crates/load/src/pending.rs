//! Peers that have connected and have not presented the token yet.
//!
//! They are kept in the order of their arrival, and never more than a number: who comes beyond it
//! takes the place of the one that has been silent longest. So a crowd of silent peers cannot keep
//! out the connection that presents the token.

use std::collections::BTreeMap;

/// Peers without a token yet, by the number of their arrival.
pub(crate) struct Pending<T> {
    entries: BTreeMap<u64, T>,
    next: u64,
    most: usize,
}

impl<T> Pending<T> {
    /// Room for `most` of them, whose numbers begin with `first`.
    pub fn new(most: usize, first: u64) -> Self {
        Self { entries: BTreeMap::new(), next: first, most: most.max(1) }
    }

    /// Keeps one more. Returns its number, and the oldest where that had to go.
    pub fn push(&mut self, entry: T) -> (u64, Option<T>) {
        let evicted = if self.is_full() { self.evict() } else { None };
        let number = self.next;
        self.next += 1;
        self.entries.insert(number, entry);
        (number, evicted)
    }

    /// Takes one out, to look at it.
    pub fn take(&mut self, number: u64) -> Option<T> {
        self.entries.remove(&number)
    }

    /// Puts back one that was taken out.
    pub fn put_back(&mut self, number: u64, entry: T) {
        self.entries.insert(number, entry);
    }

    /// Lets the oldest go.
    pub fn evict(&mut self) -> Option<T> {
        self.entries.pop_first().map(|(_, entry)| entry)
    }

    /// Lets the oldest go if this is so of it.
    pub fn evict_if(&mut self, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
        self.entries.first_key_value().is_some_and(|(_, oldest)| is_due(oldest)).then(|| self.evict()).flatten()
    }

    /// Looks at each, oldest first, and keeps those of which this is so. Returns how many were not kept.
    pub fn retain(&mut self, mut keeps: impl FnMut(&mut T) -> bool) {
        self.entries.retain(|_, entry| keeps(entry));
    }

    /// All of them, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.entries).into_values()
    }

    /// True if the next one takes the place of the oldest.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.most
    }

    /// The one that has been there longest.
    pub fn oldest(&self) -> Option<&T> {
        self.entries.first_key_value().map(|(_, oldest)| oldest)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut pending = Pending::new(2, 7);
        assert_eq!(pending.push('a'), (7, None));
        assert_eq!(pending.push('b'), (8, None));
        assert_eq!(pending.push('c'), (9, Some('a')));
        assert_eq!(pending.take(7), None);
        // One that was looked at keeps its place.
        let looked_at = pending.take(8).expect("is kept");
        pending.put_back(8, looked_at);
        assert_eq!(pending.push('d'), (10, Some('b')));
        assert_eq!(pending.evict_if(|oldest| *oldest == 'd'), None);
        assert_eq!(pending.evict_if(|oldest| *oldest == 'c'), Some('c'));
        assert_eq!(pending.len(), 1);
    }
}
