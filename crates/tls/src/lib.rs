//! TLS (RFC 8446, RFC 5246) by rustls, over a stream that the caller reads and writes.
//!
//! [`Identity`] derives the listening host's key from a trial's secret, so that the connecting host can check it.
//! [`Session`] encrypts and decrypts in this process. [`kernel`] hands an open connection's keys to the kernel (kTLS), where
//! it has TLS.

mod identity;
pub mod kernel;
mod session;
mod settings;

pub use identity::{Identity, derived};
pub use session::{Hosts, Session};
pub use settings::{Cipher, Negotiated, Settings, Version};
