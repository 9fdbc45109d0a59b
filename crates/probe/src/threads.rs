//! CPU time and run-queue time of single threads: of this process exactly, of others as of the kernel's last tick. Evidence
//! level 0; of another user's processes, too, unless `/proc` hides them.
//!
//! Columns: [`schema::table::THREADS`].

use nix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// Everything that one thread had used up at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// CPU time in ns, exact also while the thread runs.
    pub cpu_ns: u64,
    /// Time runnable but not running, in ns.
    pub run_queue_ns: u64,
    /// Number of times that it was given a CPU.
    pub scheduled_count: u64,
    /// CPU it last ran on.
    pub cpu: u32,
}

/// Threads of this process whose name is one of these, by their ids.
pub fn named(is_one: impl Fn(&str) -> bool) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let has_name = |task: &fs::DirEntry| fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| is_one(comm.trim_end()));
    tasks.flatten().filter(has_name).filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of a process.
pub fn of_process(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Watches one thread.
#[derive(Debug)]
pub struct ThreadProbe {
    /// Thread id.
    pub thread: u32,
    /// Its CPU clock, which only threads of the same process may read.
    clock: Option<ClockId>,
    schedstat: File,
    stat: File,
}

impl ThreadProbe {
    /// Starts to watch `thread`, a thread id of this process.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn open(thread: u32) -> io::Result<Self> {
        let id = i32::try_from(thread).map_err(io::Error::other)?;
        Self::open_in("self", thread, Some(thread_clock(id)))
    }

    /// Starts to watch `thread` of another process, whose CPU time is as old as the kernel's last tick while it runs.
    ///
    /// # Errors
    /// There is no such thread, or it is hidden from this user.
    pub fn open_of(process: u32, thread: u32) -> io::Result<Self> {
        Self::open_in(&process.to_string(), thread, None)
    }

    fn open_in(process: &str, thread: u32, clock: Option<ClockId>) -> io::Result<Self> {
        let folder = format!("/proc/{process}/task/{thread}");
        Ok(Self { thread, clock, schedstat: File::open(format!("{folder}/schedstat"))?, stat: File::open(format!("{folder}/stat"))? })
    }

    /// Reads the thread's times; `None` when it has ended.
    pub fn sample(&self) -> Option<ThreadSample> {
        let exact_ns = match self.clock {
            Some(clock) => {
                let now = clock_gettime(clock).ok()?;
                Some(u64::try_from(now.tv_sec()).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec()).ok()?)
            }
            None => None,
        };
        let [cpu_ns, run_queue_ns, scheduled_count] = read_schedstat(&self.schedstat)?;
        let cpu_ns = exact_ns.unwrap_or(cpu_ns);
        Some(ThreadSample { cpu_ns, run_queue_ns, scheduled_count, cpu: self.last_cpu()? })
    }

    /// Field 39 of the thread's stat, counted behind the name, which may hold anything.
    fn last_cpu(&self) -> Option<u32> {
        let mut text = [0; 1024];
        let length = self.stat.read_at(&mut text, 0).ok()?;
        let text = String::from_utf8_lossy(&text[..length]);
        text.rsplit_once(')')?.1.split_ascii_whitespace().nth(36)?.parse().ok()
    }
}

/// The CPU clock of a thread, as the kernel codes it (include/linux/posix-timers_types.h):
/// complement of the id, the per-thread bit, the scheduler's clock.
fn thread_clock(thread: i32) -> ClockId {
    const PER_THREAD: i32 = 4;
    const SCHEDULER: i32 = 2;
    ClockId::from_raw((!thread << 3) | PER_THREAD | SCHEDULER)
}

/// CPU time and run-queue time in ns, and the number of time slices, out of a schedstat file.
pub(crate) fn read_schedstat(file: &File) -> Option<[u64; 3]> {
    let mut text = [0; 128];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    Some([fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn work_of_another_thread_is_seen_while_it_runs() {
        let (send, receive) = std::sync::mpsc::channel();
        let (ending, end) = (Arc::new(AtomicBool::new(false)), Instant::now() + Duration::from_secs(20));
        let noticed = Arc::clone(&ending);
        let worker = std::thread::spawn(move || {
            send.send(nix::unistd::gettid().as_raw()).expect("main thread waits");
            while !noticed.load(Ordering::Relaxed) && Instant::now() < end {}
        });
        let thread = u32::try_from(receive.recv().expect("worker sends")).expect("id");
        let probe = ThreadProbe::open(thread).expect("thread runs");
        let mut sample = probe.sample().expect("thread runs");
        while sample.cpu_ns < 30_000_000 {
            std::thread::sleep(Duration::from_millis(10));
            sample = probe.sample().expect("thread runs");
        }
        ending.store(true, Ordering::Relaxed);
        worker.join().expect("worker");
        // The kernel takes the thread out of its tables a moment after it has let go of whoever joins it.
        while probe.sample().is_some() {
            assert!(Instant::now() < end, "it has not ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn work_of_another_process_is_seen() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        let end = Instant::now() + Duration::from_secs(20);
        let probe = ThreadProbe::open_of(child.id(), child.id()).expect("it runs");
        while probe.sample().expect("it runs").cpu_ns < 30_000_000 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(of_process(child.id()), vec![child.id()]);
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        assert!(Instant::now() < end && probe.sample().is_none());
        assert!(ThreadProbe::open_of(child.id(), child.id()).is_err());
    }

    #[test]
    fn threads_are_found_by_their_name() {
        let (send, receive) = std::sync::mpsc::channel();
        let named_thread = std::thread::Builder::new().name("by-its-name".to_owned());
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let worker = named_thread.spawn(move || {
            send.send(nix::unistd::gettid().as_raw()).expect("main thread waits");
            let _ = stopped.recv();
        });
        let thread = u32::try_from(receive.recv().expect("worker sends")).expect("id");
        assert_eq!(named(|name| name == "by-its-name"), vec![thread]);
        drop(stop);
        worker.expect("thread").join().expect("worker");
        assert_eq!(named(|name| name == "by-its-other-name"), Vec::<u32>::new());
    }
}
