//! Offloads of a veth device, set and read back.
//!
//! With TSO on, TCP's super-segments of up to 64 KiB cross the veth whole. With TSO off they are
//! cut to the MTU before the device. GRO puts arriving segments together again; on a veth it also
//! moves reception from the backlog queue to NAPI. TCP builds super-segments whether or not the
//! device has GSO (since Linux 4.17), so "no TSO and no GSO" additionally limits the device to one
//! segment at a time (see [`crate::link::limit_segments`]).

use device::{Device, Offload};
use schema::testbed::{Offloads, TestbedSpec};

use crate::error::PathError;

/// Sets the offloads of `device` in the calling thread's network namespace.
///
/// # Errors
/// The device refuses, or an offload reads back differently from what was asked.
pub(crate) fn set(device: &'static str, spec: &TestbedSpec) -> Result<(), PathError> {
    let socket = Device::open(device).map_err(|error| PathError::system("open a socket for device settings", error))?;
    for (offload, on) in wanted(spec) {
        let action = || format!("turn {} {} on {device}", offload.name(), word(on));
        socket.set_offload(offload, on).map_err(|error| PathError::system(action(), error))?;
    }
    compare(device, spec, read(device)?)
}

/// The offload settings that the spec asks for. GSO comes before TSO: a kernel may tie TSO to it.
fn wanted(spec: &TestbedSpec) -> [(Offload, bool); 3] {
    [(Offload::Gso, spec.gso), (Offload::Tso, spec.tso), (Offload::Gro, spec.gro)]
}

/// Names the first offload that is not as asked.
fn compare(device: &'static str, spec: &TestbedSpec, got: Offloads) -> Result<(), PathError> {
    match wanted(spec).into_iter().find(|(offload, on)| offload.state_in(got) != *on) {
        None => Ok(()),
        Some((offload, on)) => {
            Err(PathError::NotTaken { what: offload.name(), device, asked: word(on).to_owned(), got: word(!on).to_owned() })
        }
    }
}

/// The offloads of `device` as they stand.
///
/// # Errors
/// There is no such device in the calling thread's network namespace.
pub(crate) fn read(device: &str) -> Result<Offloads, PathError> {
    Device::open(device)
        .and_then(|socket| socket.offloads())
        .map_err(|error| PathError::system(format!("read the offloads of {device}"), error))
}

fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use schema::testbed::TcpQueueing;

    use super::*;

    #[test]
    fn an_offload_that_the_kernel_kept_is_named() {
        let spec = TestbedSpec {
            mtu_bytes: 1500,
            tso: true,
            gso: false,
            gro: true,
            near_rps_cpus: vec![],
            far_rps_cpus: vec![],
            path: None,
            path_cpu: None,
            napi_threads: None,
            tcp: TcpQueueing::default(),
        };
        let forced = Offloads { tso: false, gso: false, gro: true, tx_checksum: true, rx_checksum: true };
        let error = compare("veth-near", &spec, forced).expect_err("tso was asked for");
        assert!(error.to_string().starts_with("tso of veth-near reads back as off after it was set to on"), "{error}");
        assert!(compare("veth-near", &spec, Offloads { tso: true, ..forced }).is_ok());
    }
}
