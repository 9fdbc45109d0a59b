//! Agent binaries that older versions pushed to this host over ssh.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

/// Age from which a binary is listed.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// A pushed agent binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PushedAgent {
    /// Where it lies.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Time since it was written, in s.
    pub age_s: u64,
}

/// `${XDG_CACHE_HOME:-~/.cache}/whyperf`; `None` without a home.
pub(super) fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("whyperf"))
}

/// Agents in `folder` that are older than a day and of another version than this.
pub(super) fn old_ones(folder: &Path) -> Vec<PushedAgent> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<PushedAgent> = entries.filter_map(|entry| describe(&entry.ok()?.path())).collect();
    found.sort_by(|agent, other| agent.path.cmp(&other.path));
    found
}

fn describe(path: &Path) -> Option<PushedAgent> {
    let version = path.file_name()?.to_str()?.strip_prefix("agent-")?;
    let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let age = SystemTime::now().duration_since(metadata.modified().ok()?).ok()?;
    let is_current = version == env!("CARGO_PKG_VERSION") || version.starts_with(concat!(env!("CARGO_PKG_VERSION"), "-"));
    (age > OLD && !is_current).then(|| PushedAgent { path: path.to_owned(), bytes: metadata.len(), age_s: age.as_secs() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_old_agents_of_other_versions_are_listed() {
        let folder = std::env::temp_dir().join(format!("whyperf-binaries-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("folder");
        let current = format!("agent-{}-x86_64", env!("CARGO_PKG_VERSION"));
        for (name, days) in [("agent-0.0.1-x86_64", 3), ("agent-0.0.2-x86_64", 0), (current.as_str(), 3), ("notes.txt", 3)] {
            let file = File::create(folder.join(name)).expect("file");
            file.set_len(7).expect("length");
            file.set_modified(SystemTime::now() - OLD * days - Duration::from_secs(60)).expect("time");
        }
        let found = old_ones(&folder);
        fs::remove_dir_all(&folder).expect("remove");
        let names: Vec<_> = found.iter().map(|agent| agent.path.file_name().expect("name").to_owned()).collect();
        assert_eq!(names, ["agent-0.0.1-x86_64"]);
        assert_eq!(found[0].bytes, 7);
        assert_eq!(old_ones(&folder), []);
    }
}
