//! Whose a socket is: the process that holds its inode (`/proc/<pid>/fd`), where that may be read.
//!
//! Cost: about 2 µs an open file of each process that is looked at, so processes are looked at only for sockets that are
//! not known yet, and the caller decides how often. A round looks at so many files at most, and the next one goes on behind
//! them: any user may have a million files open in each of many processes. A process that has closed a socket, or has
//! handed it to another one, keeps it here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, ReadDir};
use std::io;
use std::vec;

use crate::processes;

/// Open files and processes that a round looks at, at most: about 0.2 s. Most hosts have fewer.
const MAX_FILES: usize = 100_000;

/// A process that holds a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its number.
    pub process: u32,
    /// Its name, 15 bytes at most.
    pub program: String,
    /// The path of its executable; empty where it may not be read.
    pub executable: String,
    /// Its control group (version 2), from `/` on; empty where it has none.
    pub control_group: String,
}

impl Owner {
    /// All there is to know of a process; `None` when it has ended.
    pub fn of(process: u32) -> Option<Self> {
        let program = name_of(process)?;
        let executable = fs::read_link(format!("/proc/{process}/exe")).map(|path| path.display().to_string()).unwrap_or_default();
        let groups = fs::read(format!("/proc/{process}/cgroup")).unwrap_or_default();
        let control_group =
            String::from_utf8_lossy(&groups).lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned();
        Some(Self { process, program, executable, control_group })
    }
}

/// The name of a process, which may choose any bytes: what is no UTF-8 is replaced.
fn name_of(process: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{process}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Which processes are asked for, with those that they start; both lists empty: any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Their numbers.
    pub processes: Vec<u32>,
    /// The names of their programs, or of the files of these.
    pub programs: Vec<String>,
}

impl Wanted {
    /// True if any process will do.
    pub fn is_any(&self) -> bool {
        self.processes.is_empty() && self.programs.is_empty()
    }

    fn has_program(&self, process: u32) -> bool {
        if self.programs.is_empty() {
            return false;
        }
        let is_wanted = |name: &str| self.programs.iter().any(|wanted| wanted == name);
        if name_of(process).is_some_and(|name| is_wanted(&name)) {
            return true;
        }
        let executable = fs::read_link(format!("/proc/{process}/exe")).ok();
        executable.and_then(|path| path.file_name().map(|name| is_wanted(&name.to_string_lossy()))).unwrap_or(false)
    }
}

/// The processes that hold sockets, as far as they were looked for.
#[derive(Debug, Default)]
pub struct Owners {
    wanted: Wanted,
    /// Processes that are asked for, and those that they have started, with the times of their starts: numbers are used
    /// again. One that has been in here stays when the process that started it ends.
    followed: BTreeMap<u32, u64>,
    /// When those that are asked for by their numbers had started: the same number may be another process later.
    first: BTreeMap<u32, u64>,
    by_inode: HashMap<u32, u32>,
    search: Search,
}

impl Owners {
    /// Nobody yet.
    pub fn new(wanted: Wanted) -> Self {
        let first = wanted.processes.iter().filter_map(|process| Some((*process, processes::start_of(*process)?))).collect();
        Self { wanted, first, ..Self::default() }
    }

    /// The process that holds a socket, if it was found.
    pub fn process_of(&self, inode: u32) -> Option<u32> {
        self.by_inode.get(&inode).copied()
    }

    /// Looks for these sockets among those of the processes that are asked for, for a round. Forgets all others.
    pub fn follow(&mut self, inodes: &HashSet<u32>) {
        self.keep(inodes);
        self.find_followed();
        if self.search.is_over() {
            self.search = Search::new(self.followed.keys().copied().collect());
        }
        for (inode, process) in self.search.by_ref().take(MAX_FILES).flatten() {
            if inodes.contains(&inode) {
                self.by_inode.entry(inode).or_insert(process);
            }
        }
    }

    /// Number of processes that are asked for, and the inodes of their sockets, as far as a round finds them.
    pub fn sockets_of_followed(&mut self) -> (u32, HashSet<u32>) {
        self.find_followed();
        let found = Search::new(self.followed.keys().copied().collect()).take(MAX_FILES).flatten();
        (u32::try_from(self.followed.len()).unwrap_or(u32::MAX), found.map(|(inode, _)| inode).collect())
    }

    /// True if any process that is asked for is left, or any that it has started.
    pub fn is_any_left(&mut self) -> bool {
        self.find_followed();
        !self.followed.is_empty()
    }

    /// Looks for the holders of these sockets among all processes, until all are found, for a round.
    pub fn find(&mut self, inodes: &HashSet<u32>) {
        let mut missing: HashSet<u32> = inodes.iter().filter(|inode| !self.by_inode.contains_key(inode)).copied().collect();
        if self.search.is_over() {
            // Who holds some socket holds the next one, too.
            let known: BTreeSet<u32> = self.by_inode.values().copied().collect();
            let others = processes::numbers().filter(|process| !known.contains(process));
            self.search = Search::new(known.iter().copied().chain(others).collect());
        }
        let mut found = self.search.by_ref().take(MAX_FILES).flatten();
        while !missing.is_empty() {
            let Some((inode, process)) = found.next() else { return };
            if missing.remove(&inode) {
                self.by_inode.insert(inode, process);
            }
        }
        self.search = Search::default();
    }

    /// Forgets all sockets but these.
    pub fn keep(&mut self, inodes: &HashSet<u32>) {
        self.by_inode.retain(|inode, _| inodes.contains(inode));
    }

    /// Adds what the wanted processes have started, and those whose program is wanted.
    fn find_followed(&mut self) {
        let ended: Vec<u32> = self.followed.keys().copied().filter(|process| !self.is_alive(*process)).collect();
        for process in ended {
            self.followed.remove(&process);
        }
        let is_same = |(process, started): (&u32, &u64)| (processes::start_of(*process) == Some(*started)).then_some(*process);
        let mut found: Vec<u32> = self.first.iter().filter_map(is_same).collect();
        if !self.wanted.programs.is_empty() {
            found.extend(processes::numbers().filter(|process| self.wanted.has_program(*process)));
        }
        found.extend(self.followed.keys());
        let mut seen = BTreeSet::new();
        while let Some(process) = found.pop() {
            if seen.insert(process)
                && let Some(started) = processes::start_of(process)
            {
                self.followed.entry(process).or_insert(started);
                found.extend(processes::children_of(process));
            }
        }
    }

    fn is_alive(&self, process: u32) -> bool {
        self.followed.get(&process).is_some_and(|started| processes::start_of(process) == Some(*started))
    }
}

/// The rest of a search through the open files of processes. Each step is a file or the start of a process; it gives the
/// inode of a socket and the process that holds it, if it is one.
#[derive(Debug, Default)]
struct Search {
    processes: vec::IntoIter<u32>,
    /// The process that is looked at, and its files from here on.
    current: Option<(u32, ReadDir)>,
}

impl Search {
    fn new(processes: Vec<u32>) -> Self {
        Self { processes: processes.into_iter(), current: None }
    }

    fn is_over(&self) -> bool {
        self.current.is_none() && self.processes.len() == 0
    }
}

impl Iterator for Search {
    type Item = Option<(u32, u32)>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some((process, files)) = &mut self.current else {
            let process = self.processes.next()?;
            // Those of another user's process may not be read, and it may have ended.
            self.current = fs::read_dir(format!("/proc/{process}/fd")).ok().map(|files| (process, files));
            return Some(None);
        };
        let Some(file) = files.next() else {
            self.current = None;
            return Some(None);
        };
        let inode = file.and_then(|file| fs::read_link(file.path())).ok().and_then(|target| socket_inode(target.to_str()?));
        Some(inode.map(|inode| (inode, *process)))
    }
}

/// Why connections of a process cannot be watched here at all, in a sentence without its end; `None` where they can.
pub fn obstacle(process: u32) -> Option<String> {
    if processes::start_of(process).is_none() {
        return Some(format!("there is no process {process} on this host"));
    }
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net"));
    if let (Ok(its), Ok(own)) = (namespace(&process.to_string()), namespace("thread-self"))
        && its != own
    {
        return Some(format!("process {process} is in another network namespace; watch it with --netns {process}"));
    }
    match fs::read_dir(format!("/proc/{process}/fd")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some(format!("the open files of process {process} may not be read; watch it as its user or as root"))
        }
        _ => None,
    }
}

/// The inode in the target of a link to an open file.
fn socket_inode(target: &str) -> Option<u32> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}
