//! Rate at which segments reach the other host, sampled at every acknowledgment (`tcp_rate.c`; Cheng, Cardwell, Yeganeh,
//! Jacobson, "Delivery Rate Estimation", draft-cheng-iccrg-delivery-rate-estimation).

use crate::linux::write_queue::{AtDeparture, Buffer};
use crate::time::Ps;

/// The deliveries of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery {
    /// Segments that the other host is known to have (`delivered`).
    pub total: u64,
    delivered_at: Ps,
    first_sent_at: Ps,
    /// The application had nothing to send before so many were delivered (`app_limited`); 0: it had.
    limited_until: u64,
    /// The buffer among those just delivered that left last.
    newest: Option<Newest>,
}

#[derive(Debug, Clone, Copy)]
struct Newest {
    sent_at: Ps,
    end: u64,
    was_again_out: bool,
    known: AtDeparture,
}

/// Sample of the rate that an acknowledgment shows (`struct rate_sample`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered in the interval; `None` where the sample is of no use.
    pub rate: Option<(u64, Ps)>,
    /// Segments that were delivered when the newest of them left.
    pub delivered_before: u64,
    /// Round trip of the newest, if it left once.
    pub round_trip: Option<Ps>,
    /// The application was the limit.
    pub is_application_limited: bool,
}

impl Delivery {
    /// A buffer leaves; `is_first` where nothing else is out (`tcp_rate_skb_sent`).
    pub fn on_sent(&mut self, now: Ps, is_first: bool) -> AtDeparture {
        if is_first {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        AtDeparture {
            delivered: self.total,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_application_limited: self.limited_until > 0,
        }
    }

    /// A buffer, or a part of it, has arrived (`tcp_rate_skb_delivered`).
    pub fn on_delivered(&mut self, buffer: &Buffer) {
        if self.newest.is_some_and(|newest| (buffer.sent_at, buffer.end()) <= (newest.sent_at, newest.end)) {
            return;
        }
        let &Buffer { sent_at, was_again_out, known, .. } = buffer;
        self.newest = Some(Newest { sent_at, end: buffer.end(), was_again_out, known });
        self.first_sent_at = sent_at;
    }

    /// The application has less to send than the window takes, `in_flight` segments under way (`tcp_rate_check_app_limited`).
    pub fn on_application_limited(&mut self, in_flight: u32) {
        self.limited_until = (self.total + u64::from(in_flight)).max(1);
    }

    /// True if the application was the limit of what is under way.
    pub fn is_application_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// An acknowledgment is worked off, which `delivered` so many segments (`tcp_rate_gen`). A rate over less than the
    /// `least` round trip is that of a burst, and no sample.
    pub fn sample(&mut self, now: Ps, delivered: u32, least: Ps) -> RateSample {
        self.total += u64::from(delivered);
        if self.limited_until > 0 && self.total > self.limited_until {
            self.limited_until = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let Some(newest) = self.newest.take() else { return RateSample::default() };
        let interval = (newest.sent_at - newest.known.first_sent_at).max(now - newest.known.delivered_at);
        let count = self.total - newest.known.delivered;
        RateSample {
            rate: (interval >= least.max(1)).then_some((count, interval)),
            delivered_before: newest.known.delivered,
            round_trip: (!newest.was_again_out).then_some(now - newest.sent_at),
            is_application_limited: newest.known.is_application_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    fn buffer(delivery: &mut Delivery, now: Ps, number: u64) -> Buffer {
        let known = delivery.on_sent(now, number == 0);
        Buffer { start: 1000 * number, bytes: 1000, sent_at: now, known, ..Buffer::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_acknowledging() {
        // Ten segments leave in 10 ms. Their acknowledgments come 2 ms apart: 0.5 of them in a millisecond.
        let mut delivery = Delivery::default();
        let sent: Vec<_> = (0..10).map(|number| buffer(&mut delivery, number * MS, number)).collect();
        let mut samples = Vec::new();
        for (number, buffer) in (0..).zip(&sent) {
            delivery.on_delivered(buffer);
            samples.push(delivery.sample((20 + 2 * number) * MS, 1, 20 * MS));
        }
        // All left before any was delivered: nothing else counts as an interval's start.
        assert_eq!(samples[9].rate, Some((10, 38 * MS)));
        assert_eq!((samples[9].delivered_before, samples[9].round_trip), (0, Some(29 * MS)));
        // The next one left when five were delivered, at 28 ms.
        let mut delivery = Delivery { total: 5, delivered_at: 28 * MS, first_sent_at: 4 * MS, ..Delivery::default() };
        let next = buffer(&mut delivery, 30 * MS, 10);
        delivery.on_delivered(&next);
        assert_eq!(delivery.sample(58 * MS, 15, 20 * MS).rate, Some((15, 30 * MS)));
    }

    #[test]
    fn what_is_shorter_than_a_round_trip_is_no_rate() {
        let mut delivery = Delivery::default();
        let first = buffer(&mut delivery, 0, 0);
        delivery.on_delivered(&first);
        assert_eq!(delivery.sample(5 * MS, 1, 20 * MS).rate, None);
        // Nothing new arrived.
        assert_eq!(delivery.sample(6 * MS, 0, 0), RateSample::default());
    }

    #[test]
    fn a_sample_is_limited_by_the_application_until_that_is_acknowledged() {
        let mut delivery = Delivery::default();
        delivery.on_application_limited(1);
        let limited = buffer(&mut delivery, 0, 0);
        delivery.on_delivered(&limited);
        assert!(delivery.sample(MS, 1, 0).is_application_limited);
        let also = buffer(&mut delivery, 2 * MS, 1);
        delivery.on_delivered(&also);
        assert!(delivery.sample(3 * MS, 1, 0).is_application_limited);
        let free = buffer(&mut delivery, 4 * MS, 2);
        delivery.on_delivered(&free);
        assert!(!delivery.sample(5 * MS, 1, 0).is_application_limited);
    }
}
