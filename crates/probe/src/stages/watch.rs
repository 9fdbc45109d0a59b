//! Programs in the kernel that sample the segments of one trial's connections after another's.

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use schema::evidence::{Hook, StagesLoan, StagesSpec};
use schema::table::StageGap;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::layout::{EMPTY_BINS, EMPTY_CALL, ENDS, GapKey, LEVELS, OWNERS, StageControl, StageCpu, StageRecord};
use super::limits::{CpuClock, compare};
use super::object::StagePrograms;
use crate::clock::mono_ns;
use crate::evidence::mapped::Mapped;
use crate::evidence::object::bytes_of;
use crate::evidence::shared::{LentHash, lent_array, lent_hash, lent_logs, mapped, possible_cpus};
use crate::evidence::{LogHead, LogReader, Refused};
use crate::host::cpus::allowed;

/// Memory of all logs together, as far as there is a choice.
const LOGS_BYTES: u64 = 64 << 20;
/// Rows of a log at least and at most. The largest fits into 4 MiB, which older kernels allow a map's value.
const LOG_SLOTS: (u32, u32) = (1 << 10, 1 << 16);
/// Empty pairs of programs that are measured.
const EMPTY_PAIRS: u32 = 20_000;

/// The map of gaps, as in `bpf/maps.h`.
const STAGE_GAPS: LentHash = LentHash { name: "stage_gaps", key_bytes: bytes_of::<GapKey>(), value_bytes: 8, max_entries: 16_384 };

/// A log of rows.
pub type StageLog = LogReader<StageRecord>;

/// Attached programs, and the memory shared with them.
pub struct StageWatch {
    origin: Origin,
    control: Mapped<StageControl>,
    cpus: Mapped<StageCpu>,
    log: Mutex<Option<StageLog>>,
    logs: Mutex<Option<Mapped<LogHead>>>,
    log_slots: u32,
    empty_pair_ns: u64,
    missing: Vec<Hook>,
    clocks: Vec<CpuClock>,
    /// The end that is sampled; `ENDS` before the first trial.
    end: AtomicUsize,
}

/// Whose the programs are.
enum Origin {
    Own(Mutex<StagePrograms>),
    /// Of another process, which alone keeps them in the kernel.
    Borrowed(StagesLoan),
}

/// Something that was not followed of a connection, or happened to its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The connecting end's port.
    pub port: u16,
    /// The reason.
    pub reason: StageGap,
    /// Number of times.
    pub count: u64,
}

/// The cost of programs on all CPUs, since they were loaded.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Runs that took the time.
    pub runs_count: u64,
    /// Time of these, without what each costs before and after it.
    pub own_ns: u64,
}

/// The CPU of a log, by the log's number.
pub fn cpu_of_log(number: u32) -> u32 {
    number / u32::from(LEVELS)
}

impl StageWatch {
    /// Loads and attaches programs for both hosts of trials; they idle until [`StageWatch::start`].
    ///
    /// # Errors
    /// The kernel refuses, with the reason in a sentence.
    pub fn open() -> Result<Self, Refused> {
        let cpus = possible_cpus()?;
        let log_slots = slots(cpus);
        let mut programs = StagePrograms::load(cpus, log_slots)?;
        let [control, of_cpus, logs] = [".bss", "stage_cpus", "stage_logs"].map(|name| programs.map(name));
        let (control, of_cpus, logs) = (mapped(&control?)?, mapped(&of_cpus?)?, mapped(&logs?)?);
        programs.attach()?;
        look_since(&control, mono_ns());
        let empty_pair_ns = measure_empty_pair(&control);
        let missing = programs.missing().to_vec();
        Ok(Self::new(Origin::Own(Mutex::new(programs)), missing, control, of_cpus, logs, log_slots, empty_pair_ns))
    }

    /// Samples with what another process on this machine has loaded, as the other side.
    ///
    /// # Errors
    /// It cannot be found or used, with the reason in a sentence.
    pub fn borrow(loan: &StagesLoan) -> Result<Self, Refused> {
        let possible = possible_cpus()?;
        let control = lent_array(loan.control_map, ".bss", bytes_of::<StageControl>(), Some(1))?;
        let cpus = lent_array(loan.cpus_map, "stage_cpus", bytes_of::<StageCpu>(), Some(possible))?;
        let logs_count = possible * ENDS * u32::from(LEVELS);
        let (logs, log_slots) = lent_logs(loan.logs_map, "stage_logs", bytes_of::<StageRecord>(), logs_count)?;
        lent_hash(loan.gaps_map, &STAGE_GAPS)?;
        let (control, cpus, logs) = (mapped(&control)?, mapped(&cpus)?, mapped(&logs)?);
        Ok(Self::new(Origin::Borrowed(loan.clone()), loan.missing.clone(), control, cpus, logs, log_slots, u64::from(loan.empty_pair_ns)))
    }

    fn new(
        origin: Origin,
        missing: Vec<Hook>,
        control: Mapped<StageControl>,
        cpus: Mapped<StageCpu>,
        logs: Mapped<LogHead>,
        log_slots: u32,
        empty_pair_ns: u64,
    ) -> Self {
        let end = AtomicUsize::new(ENDS as usize);
        let (log, logs, clocks) = (Mutex::new(None), Mutex::new(Some(logs)), compare(&allowed()));
        Self { origin, control, cpus, log, logs, log_slots, empty_pair_ns, missing, clocks, end }
    }

    /// True if it uses these programs of another process.
    pub fn is_of(&self, loan: &StagesLoan) -> bool {
        matches!(&self.origin, Origin::Borrowed(own) if own == loan)
    }

    /// True if the programs are this process's.
    pub fn is_own(&self) -> bool {
        matches!(self.origin, Origin::Own(_))
    }

    /// The loan by which another process finds these programs.
    pub fn loan(&self) -> Option<StagesLoan> {
        let Origin::Own(programs) = &self.origin else { return None };
        let programs = lock(programs);
        let number = |name| Some(programs.map(name).ok()?.info().ok()?.info.id);
        Some(StagesLoan {
            control_map: number(".bss")?,
            logs_map: number("stage_logs")?,
            gaps_map: number("stage_gaps")?,
            cpus_map: number("stage_cpus")?,
            empty_pair_ns: u32::try_from(self.empty_pair_ns).unwrap_or(u32::MAX),
            tags: programs.tags(),
            missing: programs.missing().to_vec(),
        })
    }

    /// Forgets everything of this end, and samples the connections to this port, in this thread's network namespace. The two
    /// ends keep to their sides from trial to trial: one listens, the other connects.
    ///
    /// # Errors
    /// The namespace cannot be read.
    pub fn start(&self, spec: &StagesSpec, port: u16, listens: bool) -> io::Result<()> {
        self.stop();
        let netns = fs::metadata("/proc/thread-self/ns/net")?.ino();
        let end = usize::from(!listens);
        let of_end = self.cpus.count() * usize::from(LEVELS);
        let previous = self.end.swap(end, Ordering::SeqCst);
        let mut log = lock(&self.log);
        if let Some(logs) = lock(&self.logs).take() {
            *log = Some(LogReader::new(logs, end * of_end..(end + 1) * of_end, self.log_slots));
        } else if previous != end {
            return Err(io::Error::other("programs for stage times serve one side of all trials"));
        }
        if let Some(log) = &*log {
            log.clear();
        }
        self.clear_gaps(end);
        let control = self.control.pointer(0);
        // SAFETY: into the one element of the mapping. With port 0 programs do not look at the rest of the end; the port is
        // written last, after a fence that keeps the order. Both sides of a trial write the same mask and shift.
        unsafe {
            (&raw mut (*control).sample_mask).write_volatile(spec.one_in_count.max(1) - 1);
            (&raw mut (*control).block_shift).write_volatile(spec.block_bytes.max(1).ilog2());
            (&raw mut (*control).waiting_count).write_volatile(0);
            let own = &raw mut (*control).ends[end];
            (&raw mut (*own).netns).write_volatile(u32::try_from(netns).unwrap_or(0));
            (&raw mut (*own).logs_first).write_volatile(u32::try_from(end * of_end).unwrap_or(0));
            fence(Ordering::SeqCst);
            (&raw mut (*own).port).write_volatile(port);
        }
        Ok(())
    }

    /// Samples nothing more; what was written stays until [`StageWatch::start`].
    pub fn stop(&self) {
        let end = self.end.load(Ordering::SeqCst);
        if end < ENDS as usize {
            // SAFETY: as in `start`.
            unsafe { (&raw mut (*self.control.pointer(0)).ends[end].port).write_volatile(0) }
        }
    }

    /// Attaches the programs again: a window opens. Nothing where one is open, or where they are another process's.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open_window(&self) -> Result<(), Refused> {
        let Origin::Own(programs) = &self.origin else { return Ok(()) };
        let mut programs = lock(programs);
        if !programs.is_attached() {
            programs.attach()?;
            let control = self.control.pointer(0);
            // SAFETY: as in `start`.
            unsafe { (&raw mut (*control).waiting_count).write_volatile(0) };
            look_since(&self.control, mono_ns());
        }
        Ok(())
    }

    /// Detaches the programs: no hook costs anything until the next window.
    pub fn close_window(&self) {
        if let Origin::Own(programs) = &self.origin {
            let mut programs = lock(programs);
            if programs.is_attached() {
                // They are detached one after another: the first must not be missed by the others.
                look_since(&self.control, 0);
                programs.detach();
            }
        }
    }

    /// The log of this end, after [`StageWatch::start`]; the number of a log names its CPU ([`cpu_of_log`]).
    pub fn log(&self) -> MutexGuard<'_, Option<StageLog>> {
        lock(&self.log)
    }

    /// Of so many blocks one is sampled.
    pub fn one_in_count(&self) -> u32 {
        // SAFETY: as in `start`.
        unsafe { (&raw const (*self.control.pointer(0)).sample_mask).read_volatile() }.saturating_add(1)
    }

    /// Samples one of so many blocks from now on, a power of two: what is sampled of fewer is sampled of more, too.
    pub fn set_one_in_count(&self, count: u32) {
        // SAFETY: as in `start`.
        unsafe { (&raw mut (*self.control.pointer(0)).sample_mask).write_volatile(count.max(1) - 1) }
    }

    /// Cost of two runs of programs without anything between them, in ns; 0 where it could not be measured.
    pub fn empty_pair_ns(&self) -> u64 {
        self.empty_pair_ns
    }

    /// The clocks of the CPUs against the first one's, as compared when this was made.
    pub fn cpu_clocks(&self) -> &[CpuClock] {
        &self.clocks
    }

    /// The cost of programs until now, for whichever side.
    pub fn usage(&self) -> Usage {
        self.usage_of(0..OWNERS as usize)
    }

    /// Of that, what they took in stages of this end.
    pub fn own_usage(&self) -> Usage {
        let owner = 1 + self.end.load(Ordering::SeqCst);
        self.usage_of(owner..owner + 1)
    }

    fn usage_of(&self, owners: Range<usize>) -> Usage {
        let sum = |counts: &[u64]| counts.get(owners.clone()).unwrap_or_default().iter().sum::<u64>();
        (0..self.cpus.count()).map(|cpu| self.cpus.read(cpu)).fold(Usage::default(), |found, cpu| Usage {
            runs_count: found.runs_count + sum(&cpu.runs_count),
            own_ns: found.own_ns + sum(&cpu.own_ns),
        })
    }

    /// The parts of this end's connections that were not followed, by port and reason.
    pub fn gaps(&self) -> Vec<Gap> {
        let Ok(map) = self.gaps_map() else { return Vec::new() };
        let end = self.end.load(Ordering::SeqCst);
        let mut gaps: Vec<_> = keys_of(&map, end)
            .filter_map(|(key, bytes)| {
                let count = map.lookup(&bytes, MapFlags::ANY).ok()??;
                let reason = StageGap::of_code(u8::try_from(key.reason).ok()?)?;
                Some(Gap { port: port_of(key.which), reason, count: u64::from_ne_bytes(count.try_into().ok()?) })
            })
            .collect();
        gaps.sort_unstable_by_key(|gap| (gap.port, gap.reason));
        gaps
    }

    /// Hooks that are not there, with the reason.
    pub fn missing(&self) -> &[Hook] {
        &self.missing
    }

    /// Tags of all programs, as in their names in `/proc/kallsyms`.
    pub fn program_tags(&self) -> Vec<String> {
        match &self.origin {
            Origin::Own(programs) => lock(programs).tags(),
            Origin::Borrowed(loan) => loan.tags.clone(),
        }
    }

    fn gaps_map(&self) -> Result<MapHandle, Refused> {
        match &self.origin {
            Origin::Own(programs) => lock(programs).map("stage_gaps"),
            Origin::Borrowed(loan) => lent_hash(loan.gaps_map, &STAGE_GAPS),
        }
    }

    fn clear_gaps(&self, end: usize) {
        let Ok(map) = self.gaps_map() else { return };
        for (_, key) in keys_of(&map, end).collect::<Vec<_>>() {
            // It may be gone already.
            let _ = map.delete(&key);
        }
    }
}

/// Opens the window of all programs; 0 closes it.
fn look_since(control: &Mapped<StageControl>, since_ns: u64) {
    // SAFETY: into the one element of the mapping, a field that programs only read.
    unsafe { (&raw mut (*control.pointer(0)).window_ns).write_volatile(since_ns) }
}

/// The keys of an end, and as the kernel reads them.
fn keys_of(map: &MapHandle, end: usize) -> impl Iterator<Item = (GapKey, Vec<u8>)> {
    let word = |bytes: &[u8], at: usize| bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_ne_bytes);
    let keys = map.keys().map(move |bytes| (GapKey { which: word(&bytes, 0), reason: word(&bytes, 4) }, bytes));
    keys.filter(move |(key, _)| usize::try_from(key.which >> 16).is_ok_and(|own| own == end))
}

/// The lower half of `which` is the connecting end's port.
#[allow(clippy::cast_possible_truncation)]
fn port_of(which: u32) -> u16 {
    which as u16
}

/// The median of many empty pairs: between the programs at the entry and at the exit of a system call that there is not.
fn measure_empty_pair(control: &Mapped<StageControl>) -> u64 {
    let control = control.pointer(0);
    // SAFETY: into the one element of the mapping; programs read the field and write the bins.
    unsafe { (&raw mut (*control).is_measuring).write_volatile(1) };
    for _ in 0..EMPTY_PAIRS {
        // SAFETY: the kernel has no such call and takes no argument of it.
        unsafe { libc::syscall(libc::c_long::from(EMPTY_CALL)) };
    }
    // SAFETY: as above.
    let bins: Vec<u64> = unsafe {
        (&raw mut (*control).is_measuring).write_volatile(0);
        let bins = (&raw const (*control).empty_ns).cast::<u64>();
        (0..usize::from(EMPTY_BINS)).map(|bin| bins.add(bin).read_volatile()).collect()
    };
    median(&bins)
}

/// The median of numbers that are counted by value; 0 of none.
fn median(bins: &[u64]) -> u64 {
    let half = bins.iter().sum::<u64>().div_ceil(2);
    let mut seen = 0;
    let value = bins.iter().position(|count| {
        seen += count;
        half > 0 && seen >= half
    });
    value.map_or(0, |value| value as u64)
}

/// Rows of a log: the memory allowed to all, as a power of two.
fn slots(cpus: u32) -> u32 {
    let logs = u64::from(cpus) * u64::from(ENDS) * u64::from(LEVELS);
    let rows = LOGS_BYTES / logs / u64::from(bytes_of::<StageRecord>());
    let rows = u32::try_from(rows).unwrap_or(u32::MAX).clamp(LOG_SLOTS.0, LOG_SLOTS.1);
    1 << rows.ilog2()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_counted_values() {
        assert_eq!(median(&[0, 0, 0]), 0);
        assert_eq!(median(&[0, 3, 0, 2]), 1);
        assert_eq!(median(&[0, 2, 0, 3]), 3);
    }

    #[test]
    fn logs_share_the_memory() {
        assert_eq!(slots(2), 1 << 16);
        assert_eq!(slots(64), 1 << 12);
        assert_eq!(slots(4096), 1 << 10);
    }
}
