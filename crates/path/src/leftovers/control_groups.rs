//! Control groups that disturbed a trial, and whose keeper was killed (`lab/disturb/host.py`).

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::ending::Outcome;

/// Hierarchies of version 1 in which keepers make groups.
pub(super) const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"];
/// The beginning of a group's name; the process id of its keeper follows.
const PREFIX: &str = "whyperf-disturb-";
/// The file of a group with the ids of its processes.
const PROCESSES: &str = "cgroup.procs";

/// This user's groups below `hierarchy` that no keeper locks.
pub(super) fn left_in(hierarchy: &Path) -> Vec<PathBuf> {
    let mut left = Vec::new();
    // Two hierarchies may be one, by a link.
    let mut folders: Vec<PathBuf> = fs::canonicalize(hierarchy).into_iter().collect();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let inside = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
        let (named, others): (Vec<_>, Vec<_>) = inside.partition(|path| is_named(path));
        left.extend(named.into_iter().filter(|path| is_own(path) && lock(path).is_some()));
        folders.extend(others);
    }
    left
}

/// Moves the processes of a group to the one above, and removes it.
pub(super) fn remove(group: &Path) -> Outcome {
    let Some(_lock) = lock(group) else {
        return if group.exists() {
            Outcome::Refused { reason: format!("a keeper uses {} again", group.display()) }
        } else {
            Outcome::AlreadyGone
        };
    };
    let above = group.parent().unwrap_or(group).join(PROCESSES);
    for process in fs::read_to_string(group.join(PROCESSES)).unwrap_or_default().lines() {
        // What does not move keeps the group from being removed, which is reported.
        let _ = fs::write(&above, process);
    }
    match fs::remove_dir(group) {
        Ok(()) => Outcome::Removed,
        Err(error) if error.kind() == ErrorKind::NotFound => Outcome::AlreadyGone,
        Err(error) => Outcome::Failed { reason: format!("{} cannot be removed: {error}; remove it with rmdir", group.display()) },
    }
}

fn is_named(path: &Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.uid() == nix::unistd::geteuid().as_raw())
}

/// The lock that a keeper holds while it lives. Unlike a process id it means the same in every namespace.
fn lock(group: &Path) -> Option<Flock<File>> {
    Flock::lock(File::open(group).ok()?, FlockArg::LockExclusiveNonblock).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_no_keeper_locks_are_removed() {
        let place = std::env::temp_dir().join(format!("whyperf-groups-{}", std::process::id()));
        let group = |name: &str| {
            let group = place.join("user.slice").join(name);
            fs::create_dir_all(&group).expect("folder");
            group
        };
        let (left, used) = (group("whyperf-disturb-4194305"), group("whyperf-disturb-4194306"));
        let others = [group("whyperf-disturb-"), group("whyperf-disturb-7-x"), group("other-7")];
        let keeper = lock(&used).expect("nobody else has it");
        assert_eq!(left_in(&place), std::slice::from_ref(&left));
        assert_eq!(remove(&left), Outcome::Removed);
        assert_eq!(remove(&left), Outcome::AlreadyGone);
        assert!(matches!(remove(&used), Outcome::Refused { .. }));
        assert_eq!(left_in(&place), [] as [PathBuf; 0]);
        assert!(used.exists() && others.iter().all(|group| group.exists()));
        drop(keeper);
        assert_eq!(left_in(&place), [used]);
        fs::remove_dir_all(&place).expect("remove");
    }
}
