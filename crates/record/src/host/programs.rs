//! Rows of the CPU time of watched programs' threads: table `threads`.

use probe::clock::mono_ns;
use probe::threads::{self, ThreadProbe, ThreadSample};
use schema::table::ThreadRow;
use schema::trial::{Phase, Role};
use std::collections::{BTreeMap, BTreeSet};

use crate::table::Rows;

/// Threads that are looked at, at most: each keeps two files open.
const MAX_THREADS: usize = 256;

/// Looks at the accounts of other programs' threads.
#[derive(Default)]
pub struct Programs {
    /// By process and thread.
    threads: BTreeMap<(u32, u32), Known>,
    /// Its table.
    pub rows: Rows<ThreadRow<'static>>,
}

struct Known {
    probe: ThreadProbe,
    before: (u64, ThreadSample),
}

impl Programs {
    /// Looks at the threads of these processes from now on; those of other processes are forgotten.
    pub fn follow(&mut self, processes: &BTreeSet<u32>) {
        self.threads.retain(|(process, _), _| processes.contains(process));
        for process in processes {
            for thread in threads::of_process(*process) {
                if self.threads.len() < MAX_THREADS && !self.threads.contains_key(&(*process, thread)) {
                    self.add(*process, thread);
                }
            }
        }
    }

    /// A row a thread that used a CPU, or waited for one, since the last look. One that has ended is forgotten: what it used
    /// last is not known.
    pub fn sample(&mut self, host: &str, index: u32) {
        let rows = &mut self.rows;
        self.threads.retain(|(process, thread), known| {
            let Some(sample) = known.probe.sample() else { return false };
            let now = (mono_ns(), sample);
            let before = std::mem::replace(&mut known.before, now);
            if now.1 != before.1 {
                rows.push(ThreadRow {
                    host,
                    thread: *thread,
                    role: Role::Sender,
                    interval: index,
                    phase: Phase::Measure,
                    start_mono_ns: before.0,
                    end_mono_ns: now.0,
                    cpu: now.1.cpu,
                    cpu_ns: now.1.cpu_ns.saturating_sub(before.1.cpu_ns),
                    run_queue_ns: now.1.run_queue_ns.saturating_sub(before.1.run_queue_ns),
                    scheduled_count: now.1.scheduled_count.saturating_sub(before.1.scheduled_count),
                    process: Some(*process),
                });
            }
            true
        });
    }

    fn add(&mut self, process: u32, thread: u32) {
        // One that has just ended is not missed.
        if let Ok(probe) = ThreadProbe::open_of(process, thread)
            && let Some(sample) = probe.sample()
        {
            self.threads.insert((process, thread), Known { before: (mono_ns(), sample), probe });
        }
    }
}
