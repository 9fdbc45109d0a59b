//! Every segment as it left its host.

use crate::end_system::{Arrival, Cause, EndState};
use crate::segment::Segment;
use crate::time::Ps;
use std::collections::VecDeque;

/// The state that the socket of an end system holds when a segment leaves or comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes written and not sent.
    pub unsent_bytes: u64,
    /// Bytes received in sequence and not read.
    pub unread_bytes: u64,
    /// The window that the other host last announced.
    pub send_window_bytes: u64,
    /// Congestion window and slow-start threshold; `u64::MAX` where there is none.
    pub cwnd_bytes: u64,
    /// As above.
    pub ssthresh_bytes: u64,
    /// Smoothed round trip, 0 where none was taken.
    pub srtt: Ps,
    /// Rate by which bursts are sized, in bytes a second; 0 where there is none.
    pub pacing_rate: u64,
}

impl From<&EndState> for Held {
    fn from(state: &EndState) -> Self {
        Self {
            unsent_bytes: state.queued_bytes.saturating_sub(state.outstanding_bytes),
            unread_bytes: state.unread_bytes,
            send_window_bytes: state.send_window_bytes,
            cwnd_bytes: state.cwnd_bytes,
            ssthresh_bytes: state.ssthresh_bytes,
            srtt: state.srtt,
            pacing_rate: state.pacing_rate,
        }
    }
}

/// A segment and when it was given to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The instant.
    pub at: Ps,
    /// Which end system sent it.
    pub from: usize,
    /// The segment.
    pub segment: Segment,
    /// Bytes of its connection that were sent and not acknowledged, this segment included.
    pub outstanding_bytes: u64,
    /// The congestion window of its connection, in bytes; `u64::MAX` where there is none.
    pub cwnd_bytes: u64,
    /// The cause that made it leave.
    pub cause: Cause,
    /// When its last bit comes to the other host system's adapter, whatever becomes of it there; [`Ps::MAX`] where the
    /// line has lost it, or a path has it ([`Log::came`]).
    pub arrives: Ps,
    /// The sender's socket behind it.
    pub at_sender: Held,
    /// The other host's socket when the segment began to come in; `None` where it did not.
    pub at_receiver: Option<Held>,
}

/// All of them, in the order in which they left.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Entries that came out of a path behind the line, in the order of their coming: `arrives` and `at_receiver` count.
    pub came: Vec<Entry>,
    /// Of each host system, the entries in flight to it, and in how many pieces each comes.
    under_way: [VecDeque<(usize, usize)>; 2],
}

impl Log {
    /// An entry that comes to the other host in so many pieces; none where the line has lost it.
    pub(crate) fn add(&mut self, entry: Entry, pieces: usize) {
        if pieces > 0 {
            self.under_way[1 - entry.from].push_back((self.entries.len(), pieces));
        }
        self.entries.push(entry);
    }

    /// A piece begins to come in at an end system, whose socket holds that; the last one counts.
    pub(crate) fn on_arrival(&mut self, who: usize, held: Held) {
        let Some((number, pieces)) = self.under_way[who].front_mut() else { return };
        *pieces -= 1;
        if *pieces == 0 {
            self.entries[*number].at_receiver = Some(held);
            self.under_way[who].pop_front();
        }
    }

    /// A segment begins to come in from a path, at an end system whose socket holds that.
    pub(crate) fn on_path_arrival(&mut self, who: usize, arrival: &Arrival, held: Held) {
        self.came.push(Entry {
            at: arrival.first,
            from: 1 - who,
            segment: arrival.segment,
            outstanding_bytes: 0,
            cwnd_bytes: u64::MAX,
            cause: Cause::Arrival,
            arrives: arrival.last,
            at_sender: Held::default(),
            at_receiver: Some(held),
        });
    }

    /// Payloads that the first end system sent between two acknowledgments, in the order of time.
    pub fn cycles(&self) -> Vec<Vec<u32>> {
        let mut cycles = vec![Vec::new()];
        for entry in &self.entries {
            match (entry.from, cycles.last_mut()) {
                (0, Some(cycle)) if entry.segment.bytes > 0 => cycle.push(entry.segment.bytes),
                (1, Some(cycle)) if !cycle.is_empty() => cycles.push(Vec::new()),
                _ => {}
            }
        }
        cycles.retain(|cycle| !cycle.is_empty());
        cycles
    }
}
