//! CPU time and run-queue time of single threads of this process. Evidence level 0.
//!
//! Columns: [`schema::table::THREADS`].

use nix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// What one thread had used up at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// CPU time in ns, exact also while the thread runs.
    pub cpu_ns: u64,
    /// Time runnable but not running, in ns.
    pub run_queue_ns: u64,
    /// How often it was given a CPU.
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

/// Watches one thread of this process.
#[derive(Debug)]
pub struct ThreadProbe {
    /// Thread id.
    pub thread: u32,
    clock: ClockId,
    schedstat: File,
    stat: File,
}

impl ThreadProbe {
    /// Starts to watch `thread`, a thread id of this process.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn open(thread: u32) -> io::Result<Self> {
        let folder = format!("/proc/self/task/{thread}");
        let id = i32::try_from(thread).map_err(io::Error::other)?;
        Ok(Self {
            thread,
            clock: thread_clock(id),
            schedstat: File::open(format!("{folder}/schedstat"))?,
            stat: File::open(format!("{folder}/stat"))?,
        })
    }

    /// Reads the thread's times; `None` when it has ended.
    pub fn sample(&self) -> Option<ThreadSample> {
        let now = clock_gettime(self.clock).ok()?;
        let cpu_ns = u64::try_from(now.tv_sec()).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec()).ok()?;
        let [_, run_queue_ns, scheduled_count] = read_schedstat(&self.schedstat)?;
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
