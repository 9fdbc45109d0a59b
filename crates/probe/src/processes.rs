//! CPU time of the other processes of this host: who took CPU time while a trial ran. Evidence level 0.
//!
//! Source: `/proc/PID/stat` (`proc_pid_stat(5)`), read once before a trial and once after it; about 10 µs a process.
//! A process that starts and ends in between is not seen, and neither is one of another PID namespace.

use std::collections::HashMap;
use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::process;

use crate::clock::mono_ns;

/// `PF_KTHREAD` (include/linux/sched.h): kernel threads work for whoever sends and receives.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The CPU time that the processes of this host had used up at an instant.
#[derive(Debug)]
pub struct Processes {
    at_mono_ns: u64,
    /// CPU time in ticks, by process id and start time: ids are used again.
    ticks: HashMap<(u32, u64), u64>,
}

/// A process and what it used up between two instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// Name, 15 bytes at most.
    pub name: String,
    /// Process id.
    pub pid: u32,
    /// CPU time in user and kernel mode, in ns, in steps of the kernel's ticks.
    pub cpu_ns: u64,
    /// Time between the two instants, in ns.
    pub wall_ns: u64,
}

impl Processes {
    /// Reads what they have used up by now.
    pub fn now() -> Self {
        let ticks = all().map(|process| ((process.pid, process.started), process.ticks)).collect();
        Self { at_mono_ns: mono_ns(), ticks }
    }

    /// The process that has used up most since then; none that belongs to this trial: this process, its parent, which
    /// is the controller or its `ssh`, the parent's other agents, and all that the controller has started here, also over
    /// `ssh`, with the same mark ([`RUN`]).
    pub fn busiest_since(&self) -> Option<Busy> {
        let (own, wall_ns) = (Own::now()?, mono_ns() - self.at_mono_ns);
        let tick_ns = 1_000_000_000 / ticks_per_s();
        let used = |process: &Process| process.ticks.saturating_sub(self.ticks.get(&(process.pid, process.started)).copied().unwrap_or(0));
        let mut busy: Vec<_> = all().map(|process| (used(&process), process)).collect();
        busy.sort_unstable_by_key(|(ticks, process)| (std::cmp::Reverse(*ticks), process.pid));
        let (ticks, found) = busy.into_iter().find(|(_, process)| !own.has(process))?;
        Some(Busy { name: found.name, pid: found.pid, cpu_ns: ticks * tick_ns, wall_ns })
    }
}

/// The variable with which a controller marks what it starts, here and on other hosts. Its value is random and no secret.
const RUN: &str = "WHYPERF_RUN";

/// The longest string that a process is started with (`MAX_ARG_STRLEN`, include/uapi/linux/binfmts.h).
const MAX_ENVIRONMENT_BYTES: u64 = 131_072;

/// The processes of a trial on this host.
struct Own {
    agent: Process,
    /// The mark of this process, as in `environ`; none where it was started without.
    mark: Option<Vec<u8>>,
}

impl Own {
    fn now() -> Option<Self> {
        let mark = env::var_os(RUN).filter(|value| !value.is_empty()).map(|value| [RUN.as_bytes(), b"=", value.as_bytes()].concat());
        process_of(process::id()).map(|agent| Self { agent, mark })
    }

    fn has(&self, other: &Process) -> bool {
        let is_sibling = other.parent == self.agent.parent && other.name == self.agent.name;
        other.pid == self.agent.pid || other.pid == self.agent.parent || is_sibling || self.has_marked(other.pid)
    }

    /// True if a process of the same user has the mark of this one. Others could take it from a command line.
    fn has_marked(&self, pid: u32) -> bool {
        let Some(mark) = &self.mark else { return false };
        let folder = format!("/proc/{pid}");
        if fs::metadata(&folder).map(|of| of.uid()).ok() != Some(nix::unistd::geteuid().as_raw()) {
            return false;
        }
        let mut environment = Vec::new();
        let Ok(file) = File::open(format!("{folder}/environ")) else { return false };
        // A process chooses where its environment ends, and so how much there is to read.
        if file.take(MAX_ENVIRONMENT_BYTES).read_to_end(&mut environment).is_err() {
            return false;
        }
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_slice())
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    name: String,
    parent: u32,
    started: u64,
    ticks: u64,
    /// Nothing is left of it but the code that its parent has not asked for yet.
    has_ended: bool,
}

/// The numbers of all processes that are visible here.
pub(crate) fn numbers() -> impl Iterator<Item = u32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok())
}

/// When a process started, in ticks since the host did; `None` when it has ended, whether or not somebody has asked yet how.
pub fn start_of(pid: u32) -> Option<u64> {
    process_of(pid).filter(|process| !process.has_ended).map(|process| process.started)
}

/// The processes that this one has started and that are still its children.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts: Option<Vec<String>> = tasks.map(|task| fs::read_to_string(task.path().join("children")).ok()).collect();
    match texts {
        Some(texts) => texts.iter().flat_map(|text| text.split_ascii_whitespace()).filter_map(|word| word.parse().ok()).collect(),
        // A kernel without CONFIG_PROC_CHILDREN, or a thread that has just ended.
        None => all().filter(|process| process.parent == pid).map(|process| process.pid).collect(),
    }
}

/// All processes but the kernel's threads. One that ends meanwhile is left out.
fn all() -> impl Iterator<Item = Process> {
    numbers().filter_map(process_of)
}

fn process_of(pid: u32) -> Option<Process> {
    parse(pid, &String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// A process out of its `stat`; `None` for a kernel thread. Fields are counted behind the name, which may hold anything.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    if field(9)? & KERNEL_THREAD != 0 {
        return None;
    }
    let parent = u32::try_from(field(4)?).ok()?;
    let has_ended = matches!(fields.first(), Some(&("Z" | "X")));
    Some(Process { pid, name: name.to_owned(), parent, started: field(22)?, ticks: field(14)? + field(15)?, has_ended })
}

fn ticks_per_s() -> u64 {
    let hertz = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    u64::try_from(hertz).unwrap_or(100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_name_may_hold_what_separates_fields() {
        let stat = "7 (a) b (c) S 3 7 7 0 -1 4194304 1 2 3 4 50 6 7 8 20 0 1 0 999 1 2";
        let process = Process { pid: 7, name: "a) b (c".to_owned(), parent: 3, started: 999, ticks: 56, has_ended: false };
        assert_eq!(parse(7, stat), Some(process));
        assert_eq!(parse(7, &stat.replace("4194304", "2129984")), None);
        assert!(parse(7, &stat.replace(" S ", " Z ")).is_some_and(|process| process.has_ended));
    }

    #[test]
    fn a_busy_process_is_counted_and_the_trials_own_are_not() {
        let before = Processes::now();
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        let end = Instant::now() + Duration::from_secs(20);
        while process_of(child.id()).expect("it runs").ticks < 5 && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        let busiest = before.busiest_since();
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        // A neighbor may be busier than the shell.
        let busiest = busiest.expect("the shell at least");
        assert!(busiest.cpu_ns >= 50_000_000, "{busiest:?}");
        assert_ne!(busiest.pid, process::id());
    }

    #[test]
    fn the_agent_its_parent_and_its_siblings_are_the_trials_own() {
        let process = |pid, parent, name: &str| Process { pid, name: name.to_owned(), parent, started: 0, ticks: 0, has_ended: false };
        let own = Own { agent: process(7, 3, "agent"), mark: None };
        assert!(own.has(&process(7, 3, "agent")) && own.has(&process(3, 1, "whyperf")) && own.has(&process(8, 3, "agent")));
        assert!(!own.has(&process(9, 4, "agent")) && !own.has(&process(10, 3, "stress")));
    }

    /// An agent that `sshd` has started on the same machine is no child of the controller.
    #[test]
    fn what_has_the_mark_of_the_run_is_the_trials_own() {
        let own = Own { agent: process_of(process::id()).expect("it runs"), mark: Some(b"WHYPERF_RUN=8f3a".to_vec()) };
        let user = nix::unistd::geteuid();
        // Another user's may have taken it from a command line; only root can start one.
        let nobody = nix::unistd::Uid::from_raw(65_534);
        let others = user.is_root().then_some(("8f3a", nobody, false));
        for (mark, user, is_own) in [("8f3a", user, true), ("8f3", user, false), ("other", user, false)].into_iter().chain(others) {
            let mut command = Command::new("sh");
            command.args(["-c", "echo; read line"]).env(RUN, mark).uid(user.as_raw()).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("a shell");
            // Its environment is there once it runs.
            child.stdout.take().expect("it is piped").read_exact(&mut [0]).expect("a line");
            assert_eq!(own.has_marked(child.id()), is_own, "{mark} of {user}");
            child.kill().expect("it runs");
            child.wait().expect("it was killed");
        }
    }
}
