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
pub(crate) fn set(device: &str, spec: &TestbedSpec) -> Result<(), PathError> {
    let socket = Device::open(device).map_err(|error| PathError::system("open a socket for device settings", error))?;
    // GSO before TSO: a kernel may tie TSO to it.
    let wanted = [(Offload::Gso, spec.gso), (Offload::Tso, spec.tso), (Offload::Gro, spec.gro)];
    for (offload, on) in wanted {
        let action = || format!("turn {} {} on {device}", offload.name(), word(on));
        socket.set_offload(offload, on).map_err(|error| PathError::system(action(), error))?;
    }
    let got = read(device)?;
    for (offload, on) in wanted {
        if offload.state_in(got) != on {
            return Err(PathError::NotTaken {
                what: offload.name().to_owned(),
                device: device.to_owned(),
                asked: word(on).to_owned(),
                got: word(!on).to_owned(),
            });
        }
    }
    Ok(())
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
