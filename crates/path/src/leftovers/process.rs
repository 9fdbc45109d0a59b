//! Processes of this user that are agents, from `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// An agent's command line is its path and some short arguments.
const MAX_COMMAND_LINE_BYTES: u64 = 16_384;

/// A `whyperf-agent serve` process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentProcess {
    /// Process id.
    pub pid: u32,
    /// Start in clock ticks since boot (proc(5)); distinguishes a process from a later one of the same id.
    pub start_ticks: u64,
    /// Time since its start, in s.
    pub age_s: u64,
    /// Its binary.
    pub binary: PathBuf,
    /// Its state in a word: `sleeping`, `stopped`, …
    pub state: String,
    /// Network namespaces that it is in or holds open, other than the caller's, such as
    /// `net:[4026532264]`.
    pub network_namespaces: Vec<String>,
}

/// The facts in `/proc/PID/stat` about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// State letter.
    pub state: char,
    /// Process id of the parent.
    pub parent: u32,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
}

/// All agents of this user that have not ended, whoever controls them; not the caller itself.
pub(super) fn agents() -> Vec<AgentProcess> {
    all().into_iter().filter(|&pid| pid != std::process::id()).filter_map(describe).collect()
}

/// Ids of all processes.
pub(super) fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Reads what the kernel says of a process; `None` when there is none or it has ended and waits for its
/// parent to notice.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).filter(|stat| !matches!(stat.state, 'Z' | 'X'))
}

fn describe(pid: u32) -> Option<AgentProcess> {
    let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    if owner != nix::unistd::geteuid().as_raw() || !serves(&command_line(pid)?) {
        return None;
    }
    let binary = binary_of(pid)?;
    let stat = stat(pid).filter(|_| is_agent(&binary))?;
    Some(AgentProcess {
        pid,
        start_ticks: stat.start_ticks,
        age_s: age_s(stat.start_ticks),
        binary,
        state: state_word(stat.state).to_owned(),
        network_namespaces: network_namespaces(pid),
    })
}

/// The first part of a command line: a process can make its own as long as its memory (`PR_SET_MM_MAP`, prctl(2)).
fn command_line(pid: u32) -> Option<Vec<u8>> {
    let mut read = Vec::new();
    fs::File::open(format!("/proc/{pid}/cmdline")).ok()?.take(MAX_COMMAND_LINE_BYTES).read_to_end(&mut read).ok()?;
    Some(read)
}

/// The binary, also when it was replaced or removed since.
fn binary_of(pid: u32) -> Option<PathBuf> {
    let link = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let text = link.to_str()?;
    Some(PathBuf::from(text.strip_suffix(" (deleted)").unwrap_or(text)))
}

/// True if a binary is an agent: installed as `whyperf-agent`, or pushed as `whyperf/agent-*`.
fn is_agent(binary: &Path) -> bool {
    let name = binary.file_name().unwrap_or_default();
    let pushed = name.as_encoded_bytes().starts_with(b"agent-") && binary.parent().and_then(Path::file_name) == Some(OsStr::new("whyperf"));
    name == "whyperf-agent" || pushed
}

/// True if a command line, words ended by zero bytes, runs `serve`.
fn serves(command_line: &[u8]) -> bool {
    command_line.split(|&byte| byte == 0).skip(1).any(|word| word == b"serve")
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name may hold spaces and parentheses; the last parenthesis ends it (proc(5)).
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 22 of the line; fields 3 and 4 are taken.
    let start_ticks = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start_ticks })
}

fn state_word(letter: char) -> &'static str {
    match letter {
        'R' => "running",
        'S' | 'I' => "sleeping",
        'D' => "uninterruptible",
        'T' => "stopped",
        't' => "traced",
        _ => "unknown",
    }
}

fn age_s(start_ticks: u64) -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let now: f64 = uptime.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let ticks_per_s = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an uptime in s is small and not negative")]
    (now as u64).saturating_sub(start_ticks / u64::try_from(ticks_per_s).unwrap_or(100).max(1))
}

/// Network namespaces other than the caller's that a process is in or holds open.
fn network_namespaces(pid: u32) -> Vec<String> {
    let own = fs::read_link("/proc/self/ns/net").ok();
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let held = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let links = fs::read_link(format!("/proc/{pid}/ns/net")).into_iter().chain(held).filter(|link| Some(link) != own.as_ref());
    let mut namespaces: Vec<String> =
        links.filter_map(|link| Some(link.to_str()?.to_owned())).filter(|link| link.starts_with("net:[")).collect();
    namespaces.sort();
    namespaces.dedup();
    namespaces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "77 (a) S (b) T 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 2 18446744073709551615";
        assert_eq!(parse_stat(line), Some(Stat { state: 'T', parent: 1, start_ticks: 123_456 }));
        assert_eq!(parse_stat("77 (half"), None);
    }

    #[test]
    fn an_agent_is_known_by_its_binary_and_its_verb() {
        assert!(is_agent(Path::new("/usr/bin/whyperf-agent")));
        assert!(is_agent(Path::new("/home/u/.cache/whyperf/agent-0.2.0-5d41")));
        assert!(!is_agent(Path::new("/usr/bin/agent-0.2.0")));
        assert!(!is_agent(Path::new("/usr/bin/ssh-agent")));
        assert!(serves(b"whyperf-agent\0serve\0"));
        assert!(!serves(b"whyperf-agent\0doctor\0"));
        assert!(!serves(b"serve\0"));
    }

    #[test]
    fn a_command_line_is_read_up_to_its_bound() -> Result<(), Box<dyn std::error::Error>> {
        let most = usize::try_from(MAX_COMMAND_LINE_BYTES)?;
        let long = "a".repeat(2 * most);
        let mut shell = std::process::Command::new("sh");
        let piped = std::process::Stdio::piped;
        let mut child = shell.args(["-c", "echo; read line", &long]).stdin(piped()).stdout(piped()).spawn()?;
        // It runs once it has written: until then the kernel may still be laying out its arguments.
        child.stdout.take().ok_or("no pipe")?.read_exact(&mut [0])?;
        let read = command_line(child.id());
        drop(child.stdin.take());
        child.wait()?;
        assert_eq!(read.map(|line| line.len()), Some(most));
        Ok(())
    }
}
