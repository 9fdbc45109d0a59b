//! Registrations as the kernel shows them: the maps that hold them, and who holds those.

use libbpf_rs::MapType;
use libbpf_rs::query::MapInfoIter;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::algorithms::Algorithm;

/// Numbers of the maps that register the algorithm, or did; none where this user may not see them.
pub(crate) fn maps_of(algorithm: &Algorithm) -> Vec<u32> {
    let maps = MapInfoIter::default().filter(|map| map.ty == MapType::StructOps && map.name == algorithm.own_name);
    maps.map(|map| map.id).collect()
}

/// A process that holds one of the maps, or a link to it.
pub(crate) fn process_with(maps: &[u32]) -> Option<u32> {
    let lines: Vec<String> = maps.iter().map(|number| format!("map_id:\t{number}")).collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|process| {
        let files = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_to_string(file.path()).ok())
            .any(|text| text.lines().any(|line| lines.iter().any(|wanted| line == wanted)))
    })
}

/// A file descriptor of the map of this number, which is no other map's as long as it is held.
///
/// # Errors
/// There is no such map, or this user may not have it.
pub(crate) fn open_map(number: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes a number, and gives a new file descriptor or a negative error.
    let map = unsafe { libbpf_sys::bpf_map_get_fd_by_id(number) };
    if map < 0 {
        return Err(io::Error::from_raw_os_error(-map));
    }
    // SAFETY: the file descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(map) })
}

/// Takes the congestion control of this map from the kernel; connections that use it keep it. That it is gone already
/// is no error.
///
/// # Errors
/// The kernel refuses: one that a link registers ends with that.
pub(crate) fn unregister(map: &OwnedFd) -> io::Result<()> {
    let key = 0_u32;
    // SAFETY: the kernel reads a key of 4 bytes, which such a map has.
    let failed = unsafe { libbpf_sys::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) };
    match -failed {
        0 | libc::ENOENT => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}
