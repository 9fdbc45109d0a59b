//! Everything that a host must allow for many connections, checked before, or reported when it is missing.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use schema::trial::TrialSpec;
use schema::workload::IoModel;
use std::fmt::Display;
use std::fs;
use std::io;

use crate::LoadError;

/// Open files in addition to those of connections: the pipe, the probes, unauthenticated peers.
const SPARE_FILES: u64 = 64;
/// Peers without a token that are kept waiting, whatever is left.
const MIN_PENDING: u64 = 16;
/// Most of them, over all ports: more than the connecting host ever has under way.
const MAX_PENDING: u64 = 2048;
/// Open files of a connection that a thread carries: its socket, and two to watch the thread.
const FILES_A_THREAD: u64 = 3;
/// Open files more where it executes a workload: what it waits for, and what wakes it.
const FILES_A_WORKER: u64 = 2;
/// Most open files a process may ever be allowed.
const NR_OPEN: &str = "/proc/sys/fs/nr_open";
/// Ports that a connecting socket is given.
const LOCAL_PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Raises this process's limit of open files to what the host allows: a login's usual limit is 1024.
pub fn raise_open_files() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Without it only many connections fail, and that says why.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Peers without a token that a listening host may keep waiting: what the limit of open files leaves
/// in addition to those that are open and those that the trial takes.
pub fn pending_room(spec: &TrialSpec) -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(now, _)| now);
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
    let left = limit.saturating_sub(open).saturating_sub(files_of(spec));
    usize::try_from(left.clamp(MIN_PENDING, MAX_PENDING)).unwrap_or(usize::MAX)
}

/// Open files that a trial takes at this host, and some to spare.
fn files_of(spec: &TrialSpec) -> u64 {
    let each = match (is_a_thread_each(spec), spec.workload.is_some()) {
        (true, true) => FILES_A_THREAD + FILES_A_WORKER,
        (true, false) => FILES_A_THREAD,
        (false, _) => 1,
    };
    u64::from(spec.connections_count) * each + SPARE_FILES
}

/// True if each connection has a thread that waits in its calls.
pub(crate) fn is_a_thread_each(spec: &TrialSpec) -> bool {
    spec.io_model == IoModel::Blocking || spec.datagrams.is_some()
}

/// Makes sure that the trial's connections can be open at once.
///
/// # Errors
/// [`LoadError::Limit`] with the limit, its value and what to do.
pub fn allow_open_files(spec: &TrialSpec) -> Result<(), LoadError> {
    let wanted: rlim_t = files_of(spec);
    let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    // More than the hard limit only a privileged process gets.
    if most >= wanted || setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted).is_ok() {
        return Ok(());
    }
    let nr_open = number_in(NR_OPEN).unwrap_or(u64::MAX);
    let remedy = if wanted > nr_open {
        format!("raise fs.nr_open, which is {nr_open} (sysctl fs.nr_open={wanted}), and the limit (ulimit -Hn {wanted})")
    } else {
        format!("raise it (ulimit -Hn {wanted}, or LimitNOFILE={wanted} of the service)")
    };
    let fewer = if is_a_thread_each(spec) { ", choose an I/O model of few threads" } else { "" };
    Err(LoadError::Limit(format!(
        "{} connections take {wanted} open files, and RLIMIT_NOFILE allows {most} here; {remedy}{fewer}, or ask for fewer connections",
        spec.connections_count
    )))
}

/// Reads what a failure to open one socket more says of the host's limits, if it does.
pub(crate) fn of_open_files(error: &io::Error) -> Option<LoadError> {
    match error.raw_os_error()? {
        libc::EMFILE => {
            let most = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(most, _)| most);
            Some(LoadError::Limit(format!(
                "too many connections: this process may have {most} open files (RLIMIT_NOFILE); raise the limit (ulimit -Hn)"
            )))
        }
        libc::ENFILE => {
            let most = number_in("/proc/sys/fs/file-max").unwrap_or(0);
            Some(LoadError::Limit(format!("too many connections: this host may have {most} open files; raise it (sysctl fs.file-max)")))
        }
        _ => None,
    }
}

/// The error when no port is left to connect from.
pub(crate) fn of_local_ports(place: &impl Display, ports_count: u16, connections_count: u32) -> LoadError {
    let range = fs::read_to_string(LOCAL_PORTS).unwrap_or_default();
    let mut bounds = range.split_ascii_whitespace().filter_map(|bound| bound.parse::<u32>().ok());
    let (low, high) = (bounds.next().unwrap_or(0), bounds.next().unwrap_or(0));
    let ports = (high + 1).saturating_sub(low);
    let each = connections_count.div_ceil(u32::from(ports_count));
    LoadError::Limit(format!(
        "no port is left to connect from: {each} connections go to each port of {place}, and net.ipv4.ip_local_port_range \
         ({low} to {high}) has {ports}, less those in use; widen it (sysctl net.ipv4.ip_local_port_range=\"1024 65535\")"
    ))
}

fn number_in(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
