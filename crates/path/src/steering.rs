//! Who processes what arrives at a device: soft interrupts of the CPU that sent it, of other CPUs (receive packet
//! steering), or threads of the kernel (threaded NAPI).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::cpus;
use crate::enter::mount_own_sysfs;
use crate::error::PathError;

/// Who is to process what arrives at a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Steering {
    /// CPUs that packets are steered to; empty: they stay where they arrive.
    pub rps_cpus: BTreeSet<u32>,
    /// CPUs of the threads that poll the device, empty for any; absent: soft interrupts poll it.
    pub thread_cpus: Option<BTreeSet<u32>>,
}

/// Held while the threads of a device begin.
static STARTING: Mutex<()> = Mutex::new(());

impl Steering {
    /// Soft interrupts of this CPU.
    pub fn to(cpu: u32) -> Self {
        Self { rps_cpus: BTreeSet::from([cpu]), thread_cpus: None }
    }
}

/// Steers what arrives at `device`, which is up. Returns the masks of its receive queues and the CPUs of the threads
/// that poll it, as read back. Must run on a thread of its own in the device's network namespace, because it mounts.
///
/// # Errors
/// The kernel lacks a setting, refuses it, or it reads back differently.
pub(crate) fn set(device: &'static str, asked: &Steering) -> Result<(Vec<String>, Option<Vec<u32>>), PathError> {
    mount_own_sysfs()?;
    let mask = cpus::to_mask(&asked.rps_cpus);
    let queues = receive_queues(device).map_err(|error| PathError::system(format!("list the receive queues of {device}"), error))?;
    let masks = queues.iter().map(|queue| set_queue(device, queue, &asked.rps_cpus, &mask)).collect::<Result<_, _>>()?;
    let threads = asked.thread_cpus.as_ref().map(|cpus| set_threads(device, cpus)).transpose()?;
    Ok((masks, threads))
}

/// Has threads poll the device, each on `cpus`.
fn set_threads(device: &'static str, cpus: &BTreeSet<u32>) -> Result<Vec<u32>, PathError> {
    let file = format!("/sys/class/net/{device}/threaded");
    let failed =
        |error: io::Error| PathError::system(format!("have kernel threads poll {device} (write 1 to {file}; since Linux 5.12)"), error);
    let threads = {
        // Devices of other testbeds have the same names, and their threads too: no other one begins in between.
        let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = threads_of(device);
        fs::write(&file, "1").map_err(failed)?;
        threads_of(device).difference(&before).copied().collect::<Vec<i32>>()
    };
    let got = fs::read_to_string(&file).map_err(failed)?.trim().to_owned();
    if got != "1" {
        return Err(PathError::NotTaken { what: "threaded NAPI", device, asked: "1".to_owned(), got });
    }
    if threads.is_empty() {
        return Err(failed(io::Error::other("no thread of it was started")));
    }
    let mut got = BTreeSet::new();
    for thread in threads {
        got.extend(
            place(thread, cpus).map_err(|error| PathError::system(format!("place the thread {thread} that polls {device}"), error))?,
        );
    }
    if cpus.is_empty() || got == *cpus {
        return Ok(got.into_iter().collect());
    }
    let [asked, got] = [cpus, &got].map(|cpus| format!("{cpus:?}"));
    Err(PathError::NotTaken { what: "the CPUs of threaded NAPI", device, asked, got })
}

/// Threads of the kernel that poll devices of this name, in whatever network namespace. They are called
/// `napi/DEVICE-NUMBER` (`napi_kthread_create` in net/core/dev.c).
fn threads_of(device: &str) -> BTreeSet<i32> {
    let prefix = format!("napi/{device}-");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process: &i32| fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.starts_with(&prefix)))
        .collect()
}

/// Lets a thread run on `cpus` only, or anywhere where these are none; returns where it may run then.
fn place(thread: i32, cpus: &BTreeSet<u32>) -> io::Result<BTreeSet<u32>> {
    let thread = Pid::from_raw(thread);
    if !cpus.is_empty() {
        let mut wanted = CpuSet::new();
        for &cpu in cpus {
            wanted.set(usize::try_from(cpu).map_err(io::Error::other)?)?;
        }
        sched_setaffinity(thread, &wanted)?;
    }
    let got = sched_getaffinity(thread)?;
    Ok((0..CpuSet::count()).filter(|&cpu| got.is_set(cpu).unwrap_or(false)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

fn set_queue(device: &'static str, queue: &Path, cpus: &BTreeSet<u32>, mask: &str) -> Result<String, PathError> {
    let file = queue.join("rps_cpus");
    let failed = |error: io::Error| PathError::system(format!("steer packets of {device} to the CPU mask {mask}"), error);
    fs::write(&file, mask).map_err(failed)?;
    let got = fs::read_to_string(&file).map_err(failed)?.trim().to_owned();
    if cpus::from_mask(&got).as_ref() == Some(cpus) {
        return Ok(got);
    }
    Err(PathError::NotTaken { what: "the packet steering mask", device, asked: mask.to_owned(), got })
}

fn receive_queues(device: &str) -> io::Result<Vec<PathBuf>> {
    let mut queues: Vec<PathBuf> =
        fs::read_dir(format!("/sys/class/net/{device}/queues"))?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    queues.retain(|queue| queue.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rx-")));
    queues.sort();
    Ok(queues)
}
