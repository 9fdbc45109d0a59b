//! The control groups of processes, versions 1 and 2: what CPU time and memory they allow, and how often that was
//! too little. A limit of any group above holds as well, as far as it is visible here.

use schema::table::HostCounter;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Readings, pressure};

const NS_PER_US: u64 = 1_000;
/// Limits from here on are none: version 1 writes the largest number of pages.
const UNLIMITED: u64 = 1 << 60;

/// Groups of a process in a hierarchy that are read, at most: its own and the nearest above. Any user may nest thousands.
const MAX_NESTED: usize = 32;
/// Groups that are read in all, at most: reading 1,000 takes about 0.2 s.
const MAX_GROUPS: usize = 1_000;
/// Bytes of their paths, at most: the kernel walks along a path for each file, and up to 14 rows have it. A path of a
/// container has about 200.
const MAX_PATH_BYTES: usize = 256 << 10;

/// The control groups of processes, and those above them.
#[derive(Debug)]
pub struct Groups {
    /// The lines of `/proc/self/mountinfo` about hierarchies.
    mounts: String,
    /// By folder, each once.
    known: BTreeMap<(PathBuf, Controller), Group>,
    path_bytes: usize,
}

#[derive(Debug)]
struct Group {
    name: String,
    /// True if a process is in it; of the others only those with a limit count.
    is_own: bool,
}

impl Groups {
    /// None yet.
    #[must_use]
    pub fn open() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self::mounted(mounts.lines().filter(|line| mounted(line).is_some()).flat_map(|line| [line, "\n"]).collect())
    }

    fn mounted(mounts: String) -> Self {
        Self { mounts, known: BTreeMap::new(), path_bytes: 0 }
    }

    /// Adds the groups of a process, by which they are read even when it has ended, and reads those that are new.
    pub fn add(&mut self, process: u32) -> Readings {
        self.add_listed(&fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default())
    }

    /// The same by what `/proc/<pid>/cgroup` says.
    fn add_listed(&mut self, groups: &str) -> Readings {
        let mut readings = Readings::new();
        for place in places(&self.mounts, groups) {
            for (position, folder) in place.folders().take(MAX_NESTED).enumerate() {
                let is_own = position == 0;
                let is_full = self.known.len() >= MAX_GROUPS || self.path_bytes + folder.as_os_str().len() > MAX_PATH_BYTES;
                let key = (folder.to_path_buf(), place.controller);
                match self.known.get_mut(&key) {
                    Some(known) if known.is_own || !is_own => continue,
                    Some(known) => known.is_own = true,
                    None if is_full => continue,
                    None => {
                        self.path_bytes += folder.as_os_str().len();
                        self.known.insert(key.clone(), Group { name: place.name_of(folder), is_own });
                    }
                }
                self.known[&key].read(&mut readings, folder, place.controller);
            }
        }
        readings
    }

    pub(super) fn read(&self, readings: &mut Readings) {
        for ((folder, controller), group) in &self.known {
            group.read(readings, folder, *controller);
        }
    }
}

impl Group {
    fn read(&self, readings: &mut Readings, folder: &Path, controller: Controller) {
        let found = controller.read(folder);
        if self.is_own || found.iter().any(|(counter, value)| is_limit(*counter) && value.is_some()) {
            let kind = controller.kind();
            readings.extend(found.into_iter().map(|(counter, value)| ((counter, self.name.clone(), kind.to_owned()), value)));
        }
    }
}

fn is_limit(counter: HostCounter) -> bool {
    use HostCounter as C;
    matches!(counter, C::CpuQuota | C::MemoryLimit | C::MemoryHigh | C::TcpMemoryLimit)
}

/// The resources that a hierarchy of groups limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Controller {
    /// Version 2: all of it.
    Unified,
    /// Version 1.
    Cpu,
    /// Version 1.
    CpuAccounting,
    /// Version 1.
    Memory,
}

impl Controller {
    fn kind(self) -> &'static str {
        if self == Self::Unified { "cgroup v2" } else { "cgroup v1" }
    }

    /// Reads what the group with these files has.
    fn read(self, folder: &Path) -> Vec<(HostCounter, Option<u64>)> {
        let text = |file: &str| fs::read_to_string(folder.join(file)).ok();
        match self {
            Self::Unified => unified(&text),
            Self::Cpu => cpu_v1(&text),
            Self::CpuAccounting => number(&text, "cpuacct.usage").map(|used| (HostCounter::CpuUsed, Some(used))).into_iter().collect(),
            Self::Memory => memory_v1(&text),
        }
    }
}

type Text<'reader> = &'reader dyn Fn(&str) -> Option<String>;

fn unified(text: Text<'_>) -> Vec<(HostCounter, Option<u64>)> {
    use HostCounter as C;
    let stat = text("cpu.stat").unwrap_or_default();
    let mut found = Vec::new();
    if let Some(max) = text("cpu.max") {
        let (quota, period) = max.trim().split_once(' ').unwrap_or((max.trim(), ""));
        found.extend([(C::CpuQuota, in_ns(quota)), (C::CpuPeriod, in_ns(period))]);
        found.extend([
            (C::CpuPeriods, keyed(&stat, "nr_periods")),
            (C::CpuThrottledPeriods, keyed(&stat, "nr_throttled")),
            (C::CpuThrottled, keyed(&stat, "throttled_usec").map(|us| us * NS_PER_US)),
        ]);
    }
    found.extend(keyed(&stat, "usage_usec").map(|us| (C::CpuUsed, Some(us * NS_PER_US))));
    found.extend(text("cpu.pressure").map(|pressure| (C::CpuStalled, pressure::stalled_ns(&pressure))));
    if text("memory.max").is_some() {
        let events = text("memory.events").unwrap_or_default();
        found.extend([
            (C::MemoryLimit, number(text, "memory.max")),
            (C::MemoryHigh, number(text, "memory.high")),
            (C::MemoryUsed, number(text, "memory.current")),
            (C::MemoryLimitHits, keyed(&events, "max")),
            (C::MemoryHighHits, keyed(&events, "high")),
            (C::MemoryKills, keyed(&events, "oom_kill")),
        ]);
    }
    found.extend(text("memory.pressure").map(|pressure| (C::MemoryStalled, pressure::stalled_ns(&pressure))));
    found
}

fn cpu_v1(text: Text<'_>) -> Vec<(HostCounter, Option<u64>)> {
    use HostCounter as C;
    // Without CONFIG_CFS_BANDWIDTH there are shares only.
    let Some(quota) = text("cpu.cfs_quota_us") else { return Vec::new() };
    let stat = text("cpu.stat").unwrap_or_default();
    vec![
        (C::CpuQuota, in_ns(quota.trim())),
        (C::CpuPeriod, text("cpu.cfs_period_us").and_then(|period| in_ns(period.trim()))),
        (C::CpuPeriods, keyed(&stat, "nr_periods")),
        (C::CpuThrottledPeriods, keyed(&stat, "nr_throttled")),
        (C::CpuThrottled, keyed(&stat, "throttled_time")),
    ]
}

fn memory_v1(text: Text<'_>) -> Vec<(HostCounter, Option<u64>)> {
    use HostCounter as C;
    let control = text("memory.oom_control").unwrap_or_default();
    vec![
        (C::MemoryLimit, number(text, "memory.limit_in_bytes")),
        (C::MemoryUsed, number(text, "memory.usage_in_bytes")),
        (C::MemoryLimitHits, number(text, "memory.failcnt")),
        (C::MemoryKills, keyed(&control, "oom_kill")),
        (C::TcpMemoryLimit, number(text, "memory.kmem.tcp.limit_in_bytes")),
        (C::TcpMemoryLimitHits, number(text, "memory.kmem.tcp.failcnt")),
    ]
}

/// A time in ns of one in µs; none of `max` and of -1.
fn in_ns(microseconds: &str) -> Option<u64> {
    microseconds.parse::<u64>().ok().map(|us| us.saturating_mul(NS_PER_US))
}

/// The number in a file; none where it says `max`, or as much as version 1 has for it.
fn number(text: Text<'_>, file: &str) -> Option<u64> {
    text(file)?.trim().parse().ok().filter(|value| *value < UNLIMITED)
}

/// The number behind a key, a line each.
fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A process's group of one hierarchy.
#[derive(Debug, PartialEq, Eq)]
struct OwnGroup {
    controller: Controller,
    /// Where the hierarchy is mounted.
    mount: PathBuf,
    /// The group's folder.
    folder: PathBuf,
}

impl OwnGroup {
    /// The group's folder and those above it up to the mount.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|folder| folder.starts_with(&self.mount))
    }

    fn name_of(&self, folder: &Path) -> String {
        let below = folder.strip_prefix(&self.mount).unwrap_or(folder);
        format!("/{}", below.display())
    }
}

/// The groups of a process (`cgroups(7)`), by where their hierarchies are mounted (`proc_pid_mountinfo(5)`).
fn places(mounts: &str, groups: &str) -> Vec<OwnGroup> {
    let mut found: Vec<OwnGroup> = Vec::new();
    for mount in mounts.lines().filter_map(mounted) {
        for (names, group) in groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')) {
            for (controller, is_it) in [
                (Controller::Unified, mount.kind == "cgroup2" && names.is_empty()),
                (Controller::Cpu, mount.kind == "cgroup" && has(names, "cpu") && has(mount.options, "cpu")),
                (Controller::CpuAccounting, mount.kind == "cgroup" && has(names, "cpuacct") && has(mount.options, "cpuacct")),
                (Controller::Memory, mount.kind == "cgroup" && has(names, "memory") && has(mount.options, "memory")),
            ] {
                if is_it && !found.iter().any(|place| place.controller == controller) {
                    found.push(OwnGroup { controller, mount: mount.point.into(), folder: folder_of(&mount, group) });
                }
            }
        }
    }
    found
}

fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|listed| listed == word)
}

/// A hierarchy that is mounted.
struct Mount<'text> {
    /// The group that is seen at the mount: a container's own, without a namespace of groups.
    root: &'text str,
    point: &'text str,
    kind: &'text str,
    options: &'text str,
}

fn mounted(line: &str) -> Option<Mount<'_>> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, _, options) = (after.next()?, after.next()?, after.next()?);
    kind.starts_with("cgroup").then_some(Mount { root, point, kind, options })
}

/// The folder of a group below a mount; that of the mount itself where the group is not below.
fn folder_of(mount: &Mount<'_>, group: &str) -> PathBuf {
    let below = Path::new(group).strip_prefix(mount.root).or_else(|_| Path::new(group).strip_prefix("/"));
    let folder = Path::new(mount.point).join(below.unwrap_or(Path::new("")));
    if folder.is_dir() { folder } else { mount.point.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use HostCounter as C;

    fn reader<'files>(files: &'files [(&'files str, &'files str)]) -> impl Fn(&str) -> Option<String> + 'files {
        |wanted| files.iter().find(|(name, _)| *name == wanted).map(|(_, text)| (*text).to_owned())
    }

    fn value(found: &[(HostCounter, Option<u64>)], counter: HostCounter) -> Option<u64> {
        found.iter().find(|(known, _)| *known == counter).expect("read").1
    }

    #[test]
    fn a_quota_of_version_two_is_in_ns() {
        let files = [("cpu.max", "30000 100000\n"), ("cpu.stat", "usage_usec 7\nnr_periods 50\nnr_throttled 40\nthrottled_usec 9\n")];
        let found = unified(&reader(&files));
        assert_eq!(value(&found, C::CpuQuota), Some(30_000_000));
        assert_eq!(value(&found, C::CpuPeriod), Some(100_000_000));
        assert_eq!(value(&found, C::CpuPeriods), Some(50));
        assert_eq!(value(&found, C::CpuThrottledPeriods), Some(40));
        assert_eq!(value(&found, C::CpuThrottled), Some(9_000));
        assert_eq!(value(&found, C::CpuUsed), Some(7_000));
        assert!(!found.iter().any(|(counter, _)| *counter == C::MemoryLimit), "no memory controller");
    }

    #[test]
    fn no_limit_is_no_number() {
        let found = unified(&reader(&[("cpu.max", "max 100000\n"), ("memory.max", "max\n"), ("memory.events", "high 2\nmax 1\n")]));
        assert_eq!(value(&found, C::CpuQuota), None);
        assert_eq!(value(&found, C::MemoryLimit), None);
        assert_eq!((value(&found, C::MemoryHighHits), value(&found, C::MemoryLimitHits)), (Some(2), Some(1)));
        let found = cpu_v1(&reader(&[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")]));
        assert_eq!(value(&found, C::CpuQuota), None);
        let found = memory_v1(&reader(&[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.failcnt", "3\n")]));
        assert_eq!((value(&found, C::MemoryLimit), value(&found, C::MemoryLimitHits)), (None, Some(3)));
        assert_eq!(cpu_v1(&reader(&[])), [], "a kernel without quotas");
    }

    #[test]
    fn throttled_time_of_version_one_is_in_ns_already() {
        let files = [("cpu.cfs_quota_us", "20000\n"), ("cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 12345\n")];
        let found = cpu_v1(&reader(&files));
        assert_eq!(value(&found, C::CpuThrottled), Some(12_345));
    }

    #[test]
    fn groups_of_a_hybrid_hierarchy_are_found() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:1 - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n\
                      42 31 0:39 / /proc rw - proc proc rw\n";
        let found = places(mounts, "4:memory:/\n1:cpu,cpuacct:/\n0::/\n");
        let kinds: Vec<Controller> = found.iter().map(|place| place.controller).collect();
        assert_eq!(kinds, [Controller::Cpu, Controller::CpuAccounting, Controller::Memory, Controller::Unified]);
        assert_eq!(found[2].mount, Path::new("/sys/fs/cgroup/memory"));
    }

    /// A container without a namespace of groups sees the host's path of its group, but its own folder at the mount.
    #[test]
    fn the_group_of_a_container_is_its_mount() {
        let temporary = std::env::temp_dir();
        let point = temporary.to_str().expect("UTF-8");
        let line = format!("5 4 0:1 /docker/1 {point} rw - cgroup cgroup rw,cpu");
        let mount = mounted(&line).expect("a hierarchy");
        assert_eq!(folder_of(&mount, "/docker/1"), temporary);
        assert_eq!(folder_of(&mount, "/elsewhere"), temporary, "a group that is not visible here");
    }

    #[test]
    fn groups_above_end_at_the_mount() {
        let place = OwnGroup { controller: Controller::Unified, mount: "/sys/fs/cgroup".into(), folder: "/sys/fs/cgroup/a/b".into() };
        let names: Vec<String> = place.folders().map(|folder| place.name_of(folder)).collect();
        assert_eq!(names, ["/a/b", "/a", "/"]);
    }

    /// A hierarchy of version 2 with these groups, each of which has a limit.
    struct Hierarchy(PathBuf);

    impl Hierarchy {
        fn new(name: &str, groups: impl IntoIterator<Item = String>) -> Self {
            let mount = std::env::temp_dir().join(format!("whyperf-groups-{}-{name}", std::process::id()));
            for group in groups {
                let folder = mount.join(&group[1..]);
                fs::create_dir_all(&folder).expect("a folder");
                for folder in folder.ancestors().take_while(|folder| *folder != mount && !folder.join("memory.max").exists()) {
                    fs::write(folder.join("memory.max"), "4096\n").expect("a file");
                }
            }
            Self(mount)
        }

        fn groups(&self) -> Groups {
            Groups::mounted(format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw\n", self.0.display()))
        }
    }

    impl Drop for Hierarchy {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("it is ours");
        }
    }

    fn names(readings: &Readings) -> Vec<&str> {
        readings.keys().filter(|(counter, ..)| *counter == C::MemoryLimit).map(|(_, name, _)| name.as_str()).collect()
    }

    #[test]
    fn of_very_many_nested_groups_the_nearest_are_read() {
        let group = "/g".repeat(300);
        let hierarchy = Hierarchy::new("nested", [group.clone()]);
        let readings = hierarchy.groups().add_listed(&format!("0::{group}\n"));
        assert_eq!(names(&readings).len(), MAX_NESTED);
        assert!(names(&readings).iter().all(|name| name.len() > group.len() - 2 * MAX_NESTED));
    }

    #[test]
    fn all_groups_together_have_a_bound() {
        let long = format!("/{}", "g".repeat(200));
        let group = |number: usize| format!("{}/{number}", long.repeat(12));
        let hierarchy = Hierarchy::new("long", (0..200).map(group));
        let mut groups = hierarchy.groups();
        for number in 0..200 {
            groups.add_listed(&format!("0::{}\n", group(number)));
        }
        let mut readings = Readings::new();
        groups.read(&mut readings);
        let bytes: usize = names(&readings).iter().map(|name| name.len()).sum();
        assert!((MAX_PATH_BYTES / 2..=MAX_PATH_BYTES).contains(&bytes), "{bytes} bytes");

        let hierarchy = Hierarchy::new("many", (0..=MAX_GROUPS).map(|number| format!("/{number}")));
        let mut groups = hierarchy.groups();
        let read: usize = (0..=MAX_GROUPS).map(|number| names(&groups.add_listed(&format!("0::/{number}\n"))).len()).sum();
        // The mount itself is known, and has no limit.
        assert_eq!(read, MAX_GROUPS - 1);
    }

    #[test]
    fn a_group_above_several_is_read_once() {
        let hierarchy = Hierarchy::new("shared", ["/a/b", "/a/c"].map(str::to_owned));
        let mut groups = hierarchy.groups();
        assert_eq!(names(&groups.add_listed("0::/a/b\n")), ["/a", "/a/b"]);
        assert_eq!(names(&groups.add_listed("0::/a/c\n")), ["/a/c"]);
        // A process may be in it, too; then it counts even without a limit.
        fs::write(hierarchy.0.join("a/memory.max"), "max\n").expect("a file");
        assert_eq!(names(&groups.add_listed("0::/a\n")), ["/a"]);
    }
}
