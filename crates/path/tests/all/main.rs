//! Testbeds on the real kernel, and what is decided before. The tests that enter one are in `processes`, which has no threads.

mod build;
mod carry;
mod counted;
mod emulated;
mod leftovers;
mod netem_plan;
mod support;
