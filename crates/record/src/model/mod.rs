//! The record's tables from trials on the model: the columns of a live run, null where the model has no value.
//!
//! Instants are the model's own, from 0. What the model's levels are in the table `cpu`: `system_ns` is the process in
//! its calls, copies included; `softirq_ns` protocol code, whoever runs it; `irq_ns` interrupts and drivers. Its
//! processes spend no time outside of calls, so `user_ns` is 0, and nobody else runs there, so `steal_ns` is.

mod executions;
mod folder;
mod logs;
mod rows;
mod run;
mod stages;
mod tables;

pub use folder::Folder;
pub use run::{RunOutput, mss_bytes};
