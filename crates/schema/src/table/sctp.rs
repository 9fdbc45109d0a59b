//! Table of what the two sides of an SCTP association agreed on.

use super::cell::table;
use super::{CONNECTION, HOST, ROLE, Text};
use crate::trial::Role;

table! {
    /// One row an SCTP association and side.
    SCTP: SctpRow = "sctp", "what the two sides of an SCTP association agreed on; none where a workload opens it while it runs";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    requested_streams: Option<u32> = ("", "Streams requested in each direction.", "plan");
    outgoing_streams: u32 = ("", "Streams on which this side may send.", "SCTP_STATUS sstat_outstrms");
    incoming_streams: u32 = ("", "Streams on which the peer may send.", "SCTP_STATUS sstat_instrms");
}
