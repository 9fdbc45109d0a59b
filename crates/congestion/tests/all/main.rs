//! Congestion controls against their papers, and in the kernel.

mod arithmetic;
mod kernel;
mod responses;
