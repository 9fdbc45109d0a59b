//! Evidence of real connections, held against what their sockets say.

mod chosen;
mod evidence;
mod sockets;
mod stacks;
mod stages;

use libbpf_rs::{MapHandle, MapType};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: programs of two would be in each other's counts, and a sampler sees all threads of the process.
fn guard() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A map with keys, values and room of these sizes that another program could have.
fn foreign_map(map_type: MapType, name: &str, [key_bytes, value_bytes, entries]: [u32; 3]) -> MapHandle {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64,
        ..libbpf_sys::bpf_map_create_opts::default()
    };
    MapHandle::create(map_type, Some(name), key_bytes, value_bytes, entries, &options).expect("a map")
}
