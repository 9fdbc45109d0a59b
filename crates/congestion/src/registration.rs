//! Registrations as the kernel shows them: the maps that hold them, and who holds those.

use libbpf_rs::MapType;
use libbpf_rs::query::MapInfoIter;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::algorithms::{ALGORITHMS, Algorithm};

/// Why a congestion control cannot be had, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The sentence.
    pub reason: String,
}

/// Open files that are searched for a map, at most: any user may have millions.
const MAX_FILES: usize = 100_000;

/// Numbers of the maps that register the algorithm, or did; none where this user may not see them.
pub(crate) fn maps_of(algorithm: &Algorithm) -> Vec<u32> {
    let maps = MapInfoIter::default().filter(|map| map.ty == MapType::StructOps && map.name == algorithm.own_name);
    maps.map(|map| map.id).collect()
}

/// A process that holds one of the maps, or a link to it; `None` if there is none.
///
/// # Errors
/// There are too many open files to say so, in a sentence without its start.
pub(crate) fn process_with(maps: &[u32]) -> Result<Option<u32>, String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let files = numbers.flat_map(|process| {
        let files = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
        files.map(move |file| (process, fs::read_to_string(file.path()).unwrap_or_default()))
    });
    holder(maps, files)
}

/// The same of processes and what the kernel says of their open files.
fn holder(maps: &[u32], files: impl Iterator<Item = (u32, String)>) -> Result<Option<u32>, String> {
    let lines: Vec<String> = maps.iter().map(|number| format!("map_id:\t{number}")).collect();
    for (count, (process, text)) in files.enumerate() {
        if text.lines().any(|line| lines.iter().any(|wanted| line == wanted)) {
            return Ok(Some(process));
        }
        if count >= MAX_FILES {
            return Err(format!(
                "the host has more than {MAX_FILES} open files, and any may hold a registration; clean up when it has fewer"
            ));
        }
    }
    Ok(None)
}

/// A file descriptor of the map of this number that registers one of our algorithms. The number is no other map's as
/// long as it is held.
///
/// # Errors
/// There is no such map of ours, or this user may not have it.
pub(crate) fn open_map(number: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes a number, and gives a new file descriptor or a negative error.
    let map = unsafe { libbpf_sys::bpf_map_get_fd_by_id(number) };
    if map < 0 {
        return Err(io::Error::from_raw_os_error(-map));
    }
    // SAFETY: the file descriptor is new and nobody else's.
    let map = unsafe { OwnedFd::from_raw_fd(map) };
    // Of another map an element would be deleted. The number may have become that of one, or be on a command line.
    let is_ours = ALGORITHMS.iter().any(|algorithm| maps_of(algorithm).contains(&number));
    if is_ours { Ok(map) } else { Err(io::Error::from_raw_os_error(libc::ENOENT)) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::{MapCore, MapHandle};

    #[test]
    fn of_very_many_open_files_some_are_searched() {
        let of_others = std::iter::repeat_n((1, "pos:\t0\n".to_owned()), 10);
        let held = [(2, "map_type:\t26\nmap_id:\t7\n".to_owned())];
        assert_eq!(holder(&[6, 7], of_others.clone().chain(held)), Ok(Some(2)));
        assert_eq!(holder(&[70], of_others.clone()), Ok(None));
        let mut searched = 0;
        let without_end = of_others.cycle().inspect(|_| searched += 1);
        assert!(holder(&[7], without_end.take(10 * MAX_FILES)).is_err());
        assert_eq!(searched, MAX_FILES + 1);
    }

    #[test]
    fn a_map_of_another_program_is_not_taken() {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            ..libbpf_sys::bpf_map_create_opts::default()
        };
        let other = match MapHandle::create(MapType::Hash, Some("wp_bic"), 4, 4, 1, &options) {
            Ok(other) => other,
            Err(refused) => {
                eprintln!("skipped: {refused}");
                return;
            }
        };
        let number = other.info().expect("it is there").info.id;
        assert_eq!(open_map(number).map(drop).map_err(|error| error.raw_os_error()), Err(Some(libc::ENOENT)));
    }
}
