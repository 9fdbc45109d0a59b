//! Rows of a trial on this host: what each probe saw since the sampler last looked, a module a table. Those of a
//! trial with evidence are in [`counted`] and [`logs`], those of other programs' connections in [`watched`] and
//! [`programs`].

pub mod connection;
pub mod counted;
pub mod cpus;
pub mod datagrams;
pub mod devices;
pub mod executed;
pub mod flows;
pub mod intervals;
pub mod limits;
pub mod logs;
pub mod programs;
pub mod sctp;
pub mod stacks;
pub mod stages;
pub mod tcp;
pub mod threads;
pub mod tls;
pub mod transport_info;
pub mod watched;

use load::round_trips::RoundTrip;
use schema::table::RoundTripRow;

use crate::table::{Columns, Rows};

/// The table of the round-trip probe's requests.
pub fn round_trips(host: &str, round_trips: &[RoundTrip]) -> Columns {
    let mut rows = Rows::<RoundTripRow<'_>>::new();
    for (probe, round_trip) in (0_u64..).zip(round_trips) {
        rows.push(RoundTripRow { host, probe, sent_mono_ns: round_trip.sent_mono_ns, rtt_ns: round_trip.rtt_ns });
    }
    rows.into_columns()
}
