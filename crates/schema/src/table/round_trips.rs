//! What the round-trip probe measured during a trial.

use super::ColumnType::U64;
use super::{HOST, Table, column, optional};

/// Round trips of the probe.
pub const ROUND_TRIPS: Table = Table {
    name: "round_trips",
    row: "a request of the round-trip probe, at the near side; the probe runs during the trial where it is asked for",
    columns: &[
        HOST,
        column("probe", U64, "", "Number of the request, from 0 at the start of the load.", "header"),
        column("sent_mono_ns", U64, "ns", "When the request was handed to the kernel.", "CLOCK_MONOTONIC"),
        optional(
            "rtt_ns",
            U64,
            "ns",
            "Time until the answer was read; absent: no answer came until half a second after the load.",
            "CLOCK_MONOTONIC",
        ),
    ],
};
