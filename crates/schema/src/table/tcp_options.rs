//! Table of the options that the two sides of a TCP connection agreed on.

use super::cell::table;
use super::{CONNECTION, HOST, ROLE, Text};
use crate::trial::Role;

table! {
    /// One row a TCP connection and side.
    TCP_OPTIONS: TcpOptionsRow = "tcp_options", "the options of a TCP connection, at its last sample on one side";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    window_scaling: bool = (
        "",
        "Both sides agreed on window scaling (RFC 7323 section 2). Without it no window is larger than 65,535 bytes.",
        "tcpi_options",
    );
    own_window_shift: u32 = ("", "By how many bits the windows that this side announces are shifted.", "tcpi_rcv_wscale");
    peer_window_shift: u32 = ("", "By how many bits the windows that the peer announces are shifted.", "tcpi_snd_wscale");
    selective_acks: bool = ("", "Both sides agreed on selective acknowledgments (RFC 2018).", "tcpi_options");
    timestamps: bool = ("", "Both sides agreed on timestamps (RFC 7323 section 3).", "tcpi_options");
    ecn: bool = ("", "Both sides agreed on ECN (RFC 3168 section 6.1.1).", "tcpi_options");
    ecn_seen: bool = ("", "A packet arrived that the peer had marked as capable of ECN.", "tcpi_options");
}
