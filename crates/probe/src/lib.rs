//! Looks, never acts: reads what the kernel says of connections, threads, CPUs, devices and the
//! host. One module or folder a probe, which states its source, its columns and its cost.

pub mod clock;
pub mod cpu;
pub mod devices;
pub mod evidence;
pub mod host;
pub mod limits;
pub mod processes;
pub mod sockets;
pub mod stacks;
pub mod stages;
pub mod tcp_info;
pub mod threads;
