//! Table of what TLS agreed on.

use super::cell::table;
use super::{CONNECTION, HOST, ROLE, Text};
use crate::trial::Role;

table! {
    /// One row a TLS connection and side.
    TLS: TlsRow = "tls", "what the two sides of a TLS connection agreed on; with a workload, of each virtual user's first connection";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    version: Text = ("", "Version: 1.2 (RFC 5246) or 1.3 (RFC 8446).", "rustls; in the kernel, getsockopt(SOL_TLS)");
    cipher: Text = ("", "What encrypts and authenticates the records.", "rustls; in the kernel, getsockopt(SOL_TLS)");
    in_kernel: bool = ("", "This side's kernel encrypts and decrypts (kTLS), not the agent.", "setsockopt(SOL_TLS)");
    requested_record_bytes: Option<u32> = ("bytes", "Most payload of a record that was requested.", "plan");
}
