//! Host profiles as data: what a host is made of, each rule and number with its source, from TOML.
//!
//! A host is an expression `machine+adapter@driver`, e.g. `sparc2+sba-100@2.2.6`; `@driver` may be left out
//! where the adapter has one for the machine. [`Library::resolve`] puts the parts together to a [`HostProfile`], a
//! flat table from a key to a value; the operating system's own module reads it ([`crate::sunos::profile`])
//! and refuses keys that it does not know. Nothing here reads a file: texts are arguments.
//!
//! - [`profile_file`]: the TOML of a machine, an adapter, and of a user. [`library`]: the shipped ones.
//! - [`host_profile`]: the table, and how a module reads it. [`sets`]: the ensemble of accepted numbers.
//! - [`refusal`]: why a host cannot be, and what to do about it.

pub mod host_profile;
pub mod library;
pub mod profile_file;
pub mod refusal;
pub mod sets;

pub use host_profile::HostProfile;
pub use library::Library;
pub use refusal::Refusal;
