//! Workloads as both hosts execute them, and what is refused.

mod agreement;
mod pipelining;
mod refusals;
mod users;
