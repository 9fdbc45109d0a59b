//! The line between the adapters, a direction at a time: framing, rate, propagation, loss.
//!
//! - [`media`]: the lines by name. [`framing`]: how packets become frames or cells. [`loss`]: what is lost. [`path`]: what
//!   lies behind the line.

pub mod framing;
pub mod loss;
pub mod media;
pub mod path;

use crate::end_system::{Arrival, Departure};
use crate::segment::Segment;
use crate::time::{Ps, US};
use framing::{Aal, Framing};
use loss::{Loss, Losses};
use media::{Clock, Medium, Named};
use std::collections::VecDeque;

/// IPv4 and TCP without options (RFC 791, RFC 9293).
pub const HEADERS: u32 = 40;

/// A line, both directions alike but for what they lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// Which line.
    pub named: Named,
    /// The framing that stands around a packet on it.
    pub framing: Framing,
    /// Headers of IP and TCP, options included, in bytes.
    pub headers_bytes: u32,
    /// From one end of the line to the other.
    pub propagation: Ps,
    /// The losses, in the order of the end systems that send.
    pub losses: [Losses; 2],
    /// Both directions share the line: one of them sends at a time. Nothing collides.
    pub is_half_duplex: bool,
    /// Adapters of each host, each with a line of this kind to one of the other host. A connection is on one of them.
    pub adapters_count: u16,
    /// Bytes a second that the bus of each host moves for all of its adapters; 0: as many as they want.
    pub bus_bytes_per_s: [u64; 2],
}

impl LinkSpec {
    /// Study 1's: TAXI of 140 Mbit/s, and nothing between IP and the adaptation layer, for its MSS of 9148 bytes leaves 40
    /// of the MTU of 9188.
    pub const fn study_1(aal: Aal) -> Self {
        Self {
            named: media::TAXI_140,
            framing: Framing { medium: Medium::Atm, aal, llc_bytes: 0, vlan_tags: 0 },
            headers_bytes: HEADERS,
            propagation: US,
            losses: [Losses::NONE; 2],
            is_half_duplex: false,
            adapters_count: 1,
            bus_bytes_per_s: [0; 2],
        }
    }

    /// A line with its usual framing, plain headers, no loss.
    pub fn usual(named: Named, propagation: Ps) -> Self {
        let framing = Framing::usual(named.medium);
        Self { named, framing, headers_bytes: HEADERS, propagation, ..Self::study_1(framing.aal) }
    }
}

/// One direction.
#[derive(Debug, Clone)]
pub struct Link {
    spec: LinkSpec,
    clock: Clock,
    loss: Loss,
    free_at: Ps,
}

impl Link {
    /// An idle line in the direction from end system `from`.
    pub fn new(spec: LinkSpec, from: usize) -> Self {
        Self { spec, clock: Clock::new(spec.named.unit_time()), loss: Loss::new(spec.losses[from]), free_at: 0 }
    }

    /// Frames that it lost.
    pub fn lost_count(&self) -> u64 {
        self.loss.lost_count
    }

    /// The other direction has the line until then.
    pub fn hold(&mut self, until: Ps) {
        self.free_at = self.free_at.max(until);
    }

    /// Takes a segment on: it leaves while it is handed over, and the slower of both sets the pace. What comes to the
    /// other host is put behind `arrivals`. Returns when the line is done with it.
    pub fn send(&mut self, departure: &Departure, arrivals: &mut VecDeque<Arrival>) -> Ps {
        let Departure { at, pace, segment, .. } = *departure;
        let frames = u32::from(segment.wire_segments_count.max(1));
        let full = segment.bytes.div_ceil(frames);
        let last = segment.bytes - full * (frames - 1).min(segment.bytes / full.max(1));
        let units = u64::from(frames - 1) * self.units(full) + self.units(last);
        let start = at.max(self.free_at);
        self.free_at = (start + self.clock.of(units)).max(at + pace);
        if self.loss.is_possible() {
            self.split(&segment, full, start, arrivals);
        } else {
            let first = start + self.clock.whole(self.spec.framing.units_before_first(units));
            arrivals.push_back(self.arrival(first.min(self.free_at), self.free_at, segment));
        }
        self.free_at
    }

    fn units(&self, payload: u32) -> u64 {
        self.spec.framing.units(payload + self.spec.headers_bytes)
    }

    fn arrival(&self, first: Ps, last: Ps, segment: Segment) -> Arrival {
        Arrival { first: first + self.spec.propagation, last: last + self.spec.propagation, segment }
    }

    /// Frame by frame: what lies between two lost frames of a super-segment arrives as one.
    fn split(&mut self, segment: &Segment, full: u32, start: Ps, arrivals: &mut VecDeque<Arrival>) {
        let frames = segment.wire_segments_count.max(1);
        let (mut from, mut count) = (0, 0);
        for number in 0..=frames {
            let is_over = number == frames;
            if !is_over && !self.loss.takes_next() {
                count += 1;
                continue;
            }
            if count > 0 {
                // Of the whole time, as much as its share of the payload, or of the frames where there is none.
                let upto = if is_over { segment.bytes } else { (full * u32::from(number)).min(segment.bytes) };
                let taken = u64::from(number) * (self.free_at - start) / u64::from(frames);
                let part =
                    Segment { sequence: segment.sequence + u64::from(from), bytes: upto - from, wire_segments_count: count, ..*segment };
                let last = start + taken;
                let first = last.saturating_sub(u64::from(count) * (self.free_at - start) / u64::from(frames));
                let waits = self.clock.whole(self.spec.framing.units_before_first(self.units(upto - from)));
                arrivals.push_back(self.arrival((first + waits).min(last), last, part));
            }
            from = (full * (u32::from(number) + 1)).min(segment.bytes);
            count = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::end_system::Cause;
    use crate::time::NS;

    fn link(losses: Losses) -> Link {
        let named = media::named("ethernet-1G").expect("it is in the table");
        Link::new(LinkSpec { losses: [losses; 2], ..LinkSpec::usual(named, 10 * US) }, 0)
    }

    fn departure(segment: Segment) -> Departure {
        Departure { at: 0, pace: 0, segment, outstanding_bytes: 0, cwnd_bytes: u64::MAX, cause: Cause::WriteCall }
    }

    fn sent(link: &mut Link, segments: &[Segment]) -> Vec<(Ps, u64, u32, u16)> {
        let mut arrivals = VecDeque::new();
        for &segment in segments {
            link.send(&departure(segment), &mut arrivals);
        }
        let shown =
            |arrival: &Arrival| (arrival.last, arrival.segment.sequence, arrival.segment.bytes, arrival.segment.wire_segments_count);
        arrivals.iter().map(shown).collect()
    }

    #[test]
    fn frames_follow_one_another() {
        let segments = [Segment::data(0, 1460), Segment::data(1460, 1460)];
        let frame = 1538 * 8 * NS;
        let expected = vec![(frame + 10 * US, 0, 1460, 1), (2 * frame + 10 * US, 1460, 1460, 1)];
        assert_eq!(sent(&mut link(Losses::default()), &segments), expected);
    }

    #[test]
    fn a_super_segment_takes_the_time_of_its_frames() {
        let large = Segment { wire_segments_count: 3, ..Segment::data(0, 2 * 1460 + 100) };
        let time = (2 * 1538 + 178) * 8 * NS;
        assert_eq!(sent(&mut link(Losses::default()), &[large]), [(time + 10 * US, 0, 3020, 3)]);
    }

    #[test]
    fn a_lost_frame_divides_a_super_segment() {
        let large = Segment { wire_segments_count: 4, ..Segment::data(5000, 4 * 1460) };
        let script = Losses { scripted: [2, 0, 0, 0, 0, 0, 0, 0], ..Losses::default() };
        let mut link = link(script);
        let parts: Vec<_> = sent(&mut link, &[large]).into_iter().map(|(_, sequence, bytes, count)| (sequence, bytes, count)).collect();
        assert_eq!(parts, [(5000, 1460, 1), (5000 + 2 * 1460, 2 * 1460, 2)]);
        assert_eq!(link.lost_count(), 1);
    }

    #[test]
    fn a_slow_adapter_sets_the_pace() {
        let mut arrivals = VecDeque::new();
        let mut link = link(Losses::default());
        assert_eq!(link.send(&Departure { pace: 100 * US, ..departure(Segment::data(0, 1460)) }, &mut arrivals), 100 * US);
    }
}
