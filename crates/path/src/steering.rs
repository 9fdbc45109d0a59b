//! Receive packet steering: which CPUs process what arrives at a device.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cpus;
use crate::enter::mount_own_sysfs;
use crate::error::PathError;

/// Writes the mask of `cpus` to every receive queue of `device` and returns the masks as read
/// back. Must run on a thread of its own in the device's network namespace, because it mounts.
///
/// # Errors
/// The queues cannot be written, or read back differently.
pub(crate) fn set(device: &'static str, cpus: &BTreeSet<u32>) -> Result<Vec<String>, PathError> {
    mount_own_sysfs()?;
    let mask = cpus::to_mask(cpus);
    let queues = receive_queues(device).map_err(|error| PathError::system(format!("list the receive queues of {device}"), error))?;
    queues.iter().map(|queue| set_queue(device, queue, cpus, &mask)).collect()
}

fn set_queue(device: &'static str, queue: &Path, cpus: &BTreeSet<u32>, mask: &str) -> Result<String, PathError> {
    let file = queue.join("rps_cpus");
    let failed = |error: io::Error| PathError::system(format!("steer packets of {device} to the CPU mask {mask}"), error);
    fs::write(&file, mask).map_err(failed)?;
    let got = fs::read_to_string(&file).map_err(failed)?.trim().to_owned();
    if cpus::from_mask(&got).as_ref() == Some(cpus) {
        return Ok(got);
    }
    Err(PathError::NotTaken { what: "the packet steering mask", device, asked: mask.to_owned(), got })
}

fn receive_queues(device: &str) -> io::Result<Vec<PathBuf>> {
    let mut queues: Vec<PathBuf> =
        fs::read_dir(format!("/sys/class/net/{device}/queues"))?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    queues.retain(|queue| queue.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rx-")));
    queues.sort();
    Ok(queues)
}
