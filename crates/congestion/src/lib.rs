//! Congestion controls that the kernel may lack, as BPF programs (`struct_ops`): Scalable, `HighSpeed`,
//! `HighSpeed` Low Priority, BIC, H-TCP, FAST and LTCP, each from its paper.
//!
//! A trial names one by its common name. Where the kernel has its own, that one is taken; elsewhere
//! [`Holder`] registers ours, under a name of its own (`wp_htcp`). A registration is the whole
//! machine's, all namespaces included, and ends with the process that made it, however that ends.
//!
//! Needs Linux 6.1 with BTF, `CAP_BPF` and `CAP_NET_ADMIN`; [`list()`] says what is missing. The
//! algorithms' arithmetic is in headers of pure functions under `bpf/`, which the tests run in user
//! space.

mod algorithms;
mod guard;
mod holder;
mod kernel;
pub mod leftovers;
mod list;
mod registered;
mod registration;

pub use algorithms::{ALGORITHMS, Algorithm};
pub use guard::{GUARD_VERB, stand_guard};
pub use holder::Holder;
pub use list::{ability, list};
pub use registration::Refused;
