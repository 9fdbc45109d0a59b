//! Stacks of whatever ran on a side's CPUs, sampled by perf events and counted in the kernel by a BPF program
//! (evidence level 3, `profile`).
//!
//! An event fires on each CPU at a fixed frequency: `cycles` of the PMU where there is one, otherwise `cpu-clock`. The
//! program ([`Sampler`]) counts the stack that it finds there, by whose thread it is ([`ThreadGroup`]); nothing is sent
//! to user space while the load runs. Afterwards the addresses become names ([`symbols`]) on this host. Tables:
//! [`schema::table::STACKS`], [`schema::table::FUNCTIONS`].
//!
//! Not seen: code that runs with interrupts off, where `cpu-clock` is the event (its samples come where they are on
//! again); callers in a program that was compiled without frame pointers. Frames beyond the 127th are cut off.
//! Needs `CAP_BPF` and `CAP_PERFMON`, and for names of kernel functions a `/proc/kallsyms` with addresses.

mod context;
mod kernel_symbols;
#[rustfmt::skip]
#[allow(missing_docs, dead_code, unused_imports, clippy::doc_markdown, clippy::unreadable_literal, reason = "it is generated")]
mod layout;
mod sampler;
mod symbols;

pub use sampler::{Sampled, Sampler, SamplingRequest};
pub use symbols::{CountedStack, Function, Profile, Symbols};
