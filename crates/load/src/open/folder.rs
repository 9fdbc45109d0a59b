//! The folders of Unix sockets: made for a trial, and removed whoever was killed.

use schema::trial::TrialSpec;
use schema::workload::Transport;
use serde::Serialize;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::ListenPlace;
use super::place::{FOLDERS, NAME, PREFIX};
use crate::LoadError;

/// Between its making and the first connection a folder looks as one that was left.
const NEW: Duration = Duration::from_secs(2);

/// A folder of this user alone, removed when dropped; sockets that are open stay.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub(super) fn make(socket: &Path) -> Result<Self, LoadError> {
        let folder = Self::of(socket);
        let made = DirBuilder::new().mode(0o700).create(&folder.0);
        made.map_err(|error| LoadError::host(format!("making the folder {}", folder.0.display()), error, ""))?;
        Ok(folder)
    }

    fn of(socket: &Path) -> Self {
        Self(socket.parent().unwrap_or(socket).to_owned())
    }

    /// Those that either host of a trial makes. Each host holds them while the trial lasts: a host that is killed leaves
    /// its own to the other.
    pub fn of_both_hosts(spec: &TrialSpec) -> Vec<Self> {
        match spec.transport {
            Transport::Unix => ListenPlace::files_of(spec).iter().map(|socket| Self::of(socket)).collect(),
            _ => Vec::new(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Somebody else's hand in there is no business of the trial.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder that trials left whose hosts were all killed, and that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removed {
    leftover: &'static str,
    path: PathBuf,
    outcome: &'static str,
}

/// Removes this user's folders of sockets where nobody listens.
pub fn clean() -> Vec<Removed> {
    clean_below(Path::new(FOLDERS), SystemTime::now())
}

fn clean_below(place: &Path, now: SystemTime) -> Vec<Removed> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let left = entries.map(|entry| entry.path()).filter(|path| is_left(path, now));
    let removed = left.filter(|path| fs::remove_dir_all(path).is_ok());
    removed.map(|path| Removed { leftover: "socket_folder", path, outcome: "removed" }).collect()
}

fn is_left(folder: &Path, now: SystemTime) -> bool {
    let is_named = folder
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix(PREFIX))
        .is_some_and(|number| number.len() == 16 && number.bytes().all(|digit| digit.is_ascii_hexdigit()));
    let Some(metadata) = is_named.then(|| fs::symlink_metadata(folder).ok()).flatten() else { return false };
    let is_old = metadata.modified().is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age > NEW));
    // SAFETY: it only returns a number.
    let is_own = metadata.is_dir() && metadata.uid() == unsafe { libc::geteuid() };
    is_own && is_old && is_silent(&folder.join(NAME))
}

/// True if nobody listens at the socket of a folder in which there is nothing else.
fn is_silent(socket: &Path) -> bool {
    let folder = socket.parent().unwrap_or(socket);
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let is_alone = entries.flatten().all(|entry| entry.path() == socket);
    let refusal = UnixStream::connect(socket).err().map(|error| error.kind());
    is_alone && matches!(refusal, Some(ErrorKind::ConnectionRefused | ErrorKind::NotFound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_old_folders_where_nobody_listens_are_removed() {
        let place = std::env::temp_dir().join(format!("whyperf-folders-{}", std::process::id()));
        let folder = |name: &str| {
            let folder = place.join(name);
            fs::create_dir_all(&folder).expect("folder");
            folder
        };
        let (left, empty) = (folder("whyperf-00000000000000aa"), folder("whyperf-00000000000000ab"));
        drop(UnixListener::bind(left.join(NAME)).expect("socket"));
        let used = folder("whyperf-00000000000000ac");
        let _listener = UnixListener::bind(used.join(NAME)).expect("socket");
        let others = folder("whyperf-00000000000000ad");
        fs::write(others.join("notes"), "a file").expect("file");
        let named_otherwise = folder("whyperf-results");
        let now = SystemTime::now();
        assert_eq!(clean_below(&place, now), []);
        let mut removed: Vec<_> = clean_below(&place, now + 2 * NEW).into_iter().map(|removed| removed.path).collect();
        removed.sort();
        assert_eq!(removed, [left, empty]);
        assert!([used, others, named_otherwise].iter().all(|folder| folder.exists()));
        fs::remove_dir_all(&place).expect("remove");
    }
}
