//! Stacks of whatever ran on a side's CPUs, sampled by perf events and counted in the kernel by a BPF program
//! (evidence level 3, `profile`).
//!
//! An event fires on each CPU at a fixed frequency: `cycles` of the PMU where there is one, otherwise `cpu-clock`. The
//! program ([`Sampler`]) counts the stack that it finds there, by whose thread it is ([`ThreadGroup`]); nothing is sent
//! to user space while the load runs. Afterwards the addresses become names ([`symbols`]) on this host: those of programs
//! in child processes without privileges ([`resolver`]), because anybody may have made the files. Tables:
//! [`schema::table::STACKS`], [`schema::table::FUNCTIONS`].
//!
//! Not seen: code that runs with interrupts off, where `cpu-clock` is the event (its samples come where they are on
//! again); callers in a program that was compiled without frame pointers. Frames beyond the 127th are cut off. Functions
//! of another program have no names where it has ended before the load, where its file has no symbols, and where the agent
//! is in another PID namespace than the initial one: the kernel numbers processes by that one.
//! Needs `CAP_BPF` and `CAP_PERFMON`, and for names of kernel functions a `/proc/kallsyms` with addresses.

mod context;
mod kernel_symbols;
#[rustfmt::skip]
#[allow(missing_docs, dead_code, unused_imports, clippy::doc_markdown, clippy::unreadable_literal, reason = "it is generated")]
mod layout;
mod names;
mod resolver;
mod sampler;
mod symbols;

pub use resolver::{RESOLVE_VERB, resolve_stdio};
pub use sampler::{STACKS_MOST, Sampled, SampledLoad, Sampler, SamplingRequest};
pub use symbols::{CountedStack, Function, Profile, Symbols};
