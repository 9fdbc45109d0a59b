//! Paths of control groups (version 2) by the numbers that sockets have of them: the inode of the group's folder.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Groups that are looked at, at most; a host has hundreds.
const MAX_GROUPS: usize = 20_000;

/// The hierarchy of this host, as far as it is visible here.
#[derive(Debug, Default)]
pub struct ControlGroups {
    mount: Option<PathBuf>,
    /// `None` for a number that the last walk did not find.
    paths: HashMap<u64, Option<String>>,
    has_walked: bool,
}

impl ControlGroups {
    /// That of this process's mount namespace; an empty one where none of version 2 is mounted.
    pub fn open() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self { mount: mount_of(&mounts), ..Self::default() }
    }

    /// Begins a look at all sockets: the next number that is not known yet is looked for.
    pub fn begin_look(&mut self) {
        self.has_walked = false;
    }

    /// The path of a group below the mount point, from `/` on. One that is not known yet is looked for among all groups, once
    /// in a look: anyone may open a connection and remove its group.
    pub fn path(&mut self, number: u64) -> Option<&str> {
        if !self.has_walked && !self.paths.contains_key(&number) {
            self.has_walked = true;
            self.read();
            self.paths.entry(number).or_default();
        }
        self.paths.get(&number)?.as_deref()
    }

    /// The numbers of the group with this path and of those inside it; empty where there is none.
    pub fn numbers_below(&self, path: &str) -> BTreeSet<u64> {
        let Some(mount) = &self.mount else { return BTreeSet::new() };
        // Nothing outside the hierarchy is looked at.
        let inner: PathBuf = Path::new(path).components().filter(|part| matches!(part, std::path::Component::Normal(_))).collect();
        let mut numbers = BTreeSet::new();
        walk(&mount.join(inner), &mut |_, number| _ = numbers.insert(number));
        numbers
    }

    fn read(&mut self) {
        self.paths.clear();
        let Some(mount) = &self.mount else { return };
        walk(mount, &mut |folder, number| {
            let path = folder.strip_prefix(mount).unwrap_or(folder);
            self.paths.insert(number, Some(format!("/{}", path.display())));
        });
    }
}

/// Calls `on_group` with the folder and the number of a group and of all that are inside it.
fn walk(folder: &Path, on_group: &mut impl FnMut(&Path, u64)) {
    let mut folders = vec![folder.to_owned()];
    for _ in 0..MAX_GROUPS {
        let Some(folder) = folders.pop() else { return };
        let Ok(about) = fs::metadata(&folder) else { continue };
        on_group(&folder, about.ino());
        let inner = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
}

/// Where version 2 is mounted (`proc_pid_mountinfo(5)`).
fn mount_of(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then(|| fields.split(' ').nth(4).map(PathBuf::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_point_is_found_by_the_kind_of_file_system() {
        let text = "30 24 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw\n\
                    31 30 0:27 / /sys/fs/cgroup/unified rw shared:5 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(mount_of(text), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_of(""), None);
    }

    #[test]
    fn a_look_walks_through_the_groups_once_and_for_no_number_again() {
        let mount = std::env::temp_dir().join(format!("whyperf-groups-{}", std::process::id()));
        let add = |name: &str| {
            fs::create_dir_all(mount.join(name)).expect("a folder");
            fs::metadata(mount.join(name)).expect("it was made").ino()
        };
        let mut groups = ControlGroups { mount: Some(mount.clone()), ..ControlGroups::default() };
        let (first, removed) = (add("first"), 0);
        let missing = groups.path(removed).map(str::to_owned);
        let second = add("second");
        let in_same_look = [first, second].map(|number| groups.path(number).map(str::to_owned));
        groups.begin_look();
        let in_next_look = [removed, second].map(|number| groups.path(number).map(str::to_owned));
        fs::remove_dir_all(&mount).expect("remove");
        assert_eq!(missing, None);
        assert_eq!(in_same_look, [Some("/first".to_owned()), None], "no second walk");
        assert_eq!(in_next_look, [None, Some("/second".to_owned())], "the number that is known to be missing took no walk");
    }

    #[test]
    fn a_group_has_a_path_and_is_below_itself_and_the_root() {
        let mut groups = ControlGroups::open();
        let Some(mount) = groups.mount.clone() else { return };
        let inner = fs::read_dir(&mount).expect("a folder").flatten().find(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let folder = inner.map_or_else(|| mount.clone(), |entry| entry.path());
        let number = fs::metadata(&folder).expect("a folder").ino();
        let path = groups.path(number).expect("it is there").to_owned();
        assert_eq!(path, format!("/{}", folder.strip_prefix(&mount).expect("inside").display()));
        assert!(groups.numbers_below(&path).contains(&number) && groups.numbers_below("/").contains(&number));
        assert_eq!(groups.numbers_below("/no/such/group"), BTreeSet::new());
        assert_eq!(groups.numbers_below("../../../../proc"), BTreeSet::new(), "a path never leads out of the hierarchy");
    }
}
