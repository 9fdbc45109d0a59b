//! Programs in the kernel that watch one trial's connections after another's.

use libbpf_rs::{MapHandle, MapType};
use schema::evidence::{Evidence, Hook, Loan};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::hooks::Extent;
use super::layout::{Call, Connection, Cpu, ENDS, End, LISTENING, PORTS, Record, Vector};
use super::log::LogReader;
use super::object::{Programs, Refused, bytes_of, missed_runs_count_of};
use super::shared::{Shared, possible_cpus};

/// Memory of all CPUs' logs of an end together.
const LOG_BYTES: u64 = 256 << 20;
/// The same of the logs of calls: of a bulk load there are fewer of them than segments.
const CALLS_BYTES: u64 = 64 << 20;
/// Memory of a CPU's log at least and at most.
const CPU_LOG_BYTES: (u64, u64) = (4 << 20, 128 << 20);
/// The same where a map's value may have 4 MiB (`KMALLOC_MAX_SIZE`), the log's head included.
const OLD_CPU_LOG_BYTES: u64 = 2 << 20;
/// Connections that unauthenticated peers may try in addition to a trial's own.
const UNAUTHENTICATED_MAX: u32 = 64;

/// Which connections are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Port of the listening end.
    pub port: u16,
    /// True if this end is the one that listens.
    pub listens: bool,
    /// CPUs whose softirqs are timed; empty: all.
    pub timed_cpus: Vec<u32>,
}

/// Attached programs, and the memory shared with them.
pub struct Watch {
    level: Evidence,
    origin: Origin,
    pub(super) shared: Shared,
    log: Option<Mutex<LogReader<Record>>>,
    calls: Option<Mutex<LogReader<Call>>>,
    /// The end that is watched: an index of `Control::ends`; `ENDS` before the first trial, when both may
    /// be another's.
    end: AtomicUsize,
    timed_cpus: Mutex<Vec<u32>>,
    has_load_threads: AtomicBool,
    missed_before: Mutex<u64>,
}

/// Whose the programs are.
enum Origin {
    Own(Programs),
    /// Of another process, which alone keeps them in the kernel.
    Borrowed(Loan),
}

impl Watch {
    /// Loads and attaches programs of a level for trials of up to `connections`; they idle until
    /// [`Watch::begin`]. With `lends` they have room for the other end of each trial.
    ///
    /// # Errors
    /// The kernel refuses, with the reason in a sentence.
    pub fn open(level: Evidence, connections: u32, lends: bool) -> Result<Self, Refused> {
        Self::load(level, connections + UNAUTHENTICATED_MAX, if lends { ENDS } else { 1 }, 0)
    }

    /// Loads and attaches programs for so many connections of each of so many ends, or of sockets that are chosen.
    pub(super) fn load(level: Evidence, connections: u32, ends: u32, chosen: u32) -> Result<Self, Refused> {
        let cpus = possible_cpus()?;
        let slots = |bytes, record_bytes| if level == Evidence::Segments { log_slots(cpus, bytes, record_bytes) } else { 0 };
        let (log_slots, call_slots) = (slots(LOG_BYTES, bytes_of::<Record>()), slots(CALLS_BYTES, bytes_of::<Call>()));
        let extent = Extent { connections, cpus, log_slots, call_slots, ends, chosen };
        let mut programs = Programs::load(&extent)?;
        let shared = Shared::of(&programs, extent)?;
        programs.attach()?;
        Ok(Self::new(level, Origin::Own(programs), shared))
    }

    /// Watches with what another process on this machine has loaded, as the other side. The
    /// two keep to their sides from trial to trial: one listens, the other connects.
    ///
    /// # Errors
    /// It cannot be found or used, with the reason in a sentence.
    pub fn borrow(loan: &Loan) -> Result<Self, Refused> {
        Ok(Self::new(loan.level, Origin::Borrowed(loan.clone()), Shared::borrowed(loan)?))
    }

    fn new(level: Evidence, origin: Origin, mut shared: Shared) -> Self {
        let extent = shared.extent;
        let first = if matches!(origin, Origin::Own(_)) { 0 } else { extent.cpus as usize };
        let own = || first..first + extent.cpus as usize;
        Self {
            level,
            log: shared.logs.take().map(|logs| Mutex::new(LogReader::new(logs, own(), extent.log_slots))),
            calls: shared.calls.take().map(|calls| Mutex::new(LogReader::new(calls, own(), extent.call_slots))),
            origin,
            shared,
            end: AtomicUsize::new(ENDS as usize),
            timed_cpus: Mutex::default(),
            has_load_threads: AtomicBool::new(false),
            missed_before: Mutex::new(0),
        }
    }

    /// True if it does for a trial of this level and size.
    pub fn suits(&self, level: Evidence, connections: u32, lends: bool) -> bool {
        let extent = self.shared.extent;
        let has_room = connections.saturating_add(UNAUTHENTICATED_MAX) <= extent.connections && (!lends || extent.ends > 1);
        matches!(self.origin, Origin::Own(_)) && self.level == level && has_room
    }

    /// True if it uses these programs of another process.
    pub fn is_of(&self, loan: &Loan) -> bool {
        matches!(&self.origin, Origin::Borrowed(own) if own == loan)
    }

    /// The loan by which another process finds these programs, when they have room for it.
    pub fn loan(&self) -> Option<Loan> {
        let Origin::Own(programs) = &self.origin else { return None };
        let number = |name| programs.map_number(name).ok();
        (self.shared.extent.ends > 1).then_some(())?;
        Some(Loan {
            level: self.level,
            control_map: number(".bss")?,
            connections_map: number("connections")?,
            cpus_map: number("cpus")?,
            load_threads_map: number("load_threads")?,
            logs_map: if self.log.is_some() { Some(number("logs")?) } else { None },
            calls_map: if self.calls.is_some() { Some(number("calls")?) } else { None },
            programs: programs.numbers(),
            tags: programs.tags(),
            missing: programs.missing().to_vec(),
        })
    }

    /// Forgets everything and watches the connections named, in this thread's network namespace.
    ///
    /// # Errors
    /// The namespace cannot be read.
    pub fn start(&self, watched: &Watched) -> io::Result<()> {
        self.end();
        self.forget_load_threads();
        for index in self.used() {
            self.shared.connections.write(index, Connection::default());
        }
        let netns = fs::metadata("/proc/thread-self/ns/net")?.ino();
        let end = usize::from(!watched.listens);
        self.end.store(end, Ordering::SeqCst);
        if let Some(log) = &self.log {
            lock(log).clear();
        }
        if let Some(calls) = &self.calls {
            lock(calls).clear();
        }
        (*lock(&self.timed_cpus)).clone_from(&watched.timed_cpus);
        for (cpu, number) in (0..self.shared.cpus.count()).zip(0u32..) {
            let is_timed = u16::from(self.is_timed(number));
            // SAFETY: `pointer` is to an element of the mapping; programs only read this field, and the
            // other side has one of its own.
            unsafe { (&raw mut (*self.shared.cpus.pointer(cpu)).is_timed[end]).write_volatile(is_timed) };
        }
        *lock(&self.missed_before) = self.missed_runs_ever();
        let (first, control) = (self.first(), self.control_of(end));
        // SAFETY: both pointers are into the one element of the mapping. With port 0 programs do not look
        // at the rest, and the port is written last, after a fence that keeps the order.
        unsafe {
            let slots = (&raw mut (*self.shared.control.pointer(0)).slot_of_port).cast::<[u16; PORTS as usize]>();
            slots.add(end).write_bytes(0, 1);
            (&raw mut (*control).connections_first).write_volatile(first * self.shared.extent.connections);
            (&raw mut (*control).logs_first).write_volatile(first * self.shared.extent.cpus);
            (&raw mut (*control).process).write_volatile(0);
            (&raw mut (*control).agent).write_volatile(0);
            (&raw mut (*control).connections_count).write_volatile(0);
            (&raw mut (*control).connections_refused).write_volatile(0);
            // The kernel's own number of a namespace has 32 bits (struct ns_common).
            (&raw mut (*control).netns).write_volatile(u32::try_from(netns).unwrap_or(0));
            fence(Ordering::SeqCst);
            (&raw mut (*control).port).write_volatile(watched.port);
        }
        Ok(())
    }

    /// Has programs that choose sockets find those that are in the map, and time all CPUs; to be called once.
    pub(super) fn start_choosing(&self) {
        self.end.store(LISTENING as usize, Ordering::SeqCst);
        for cpu in 0..self.shared.cpus.count() {
            // SAFETY: as in `start`.
            unsafe { (&raw mut (*self.shared.cpus.pointer(cpu)).is_timed[LISTENING as usize]).write_volatile(1) };
        }
        for end in 0..ENDS as usize {
            let control = self.control_of(end);
            // SAFETY: as in `start`. All other fields are 0 since the programs were loaded. Programs take no place of the map
            // `connections` for themselves: all are said to be in use.
            unsafe {
                (&raw mut (*control).connections_count).write_volatile(self.shared.extent.connections);
                fence(Ordering::SeqCst);
                (&raw mut (*control).port).write_volatile(1);
            }
        }
    }

    /// Counts the time of softirqs on top of these threads of this process, by their numbers in its PID namespace, instead
    /// of others; to be called between [`Watch::start`] and the load.
    ///
    /// # Errors
    /// The kernel has no room for them, or the namespace cannot be read; nothing is counted then.
    pub fn count_on_top_of(&self, threads: &[u32]) -> Result<(), Refused> {
        self.forget_load_threads();
        self.name_load(threads)
    }

    /// The load's threads, or where sockets are chosen the processes that have them.
    pub(super) fn name_load(&self, threads: &[u32]) -> Result<(), Refused> {
        let Some(control) = self.control() else { return Ok(()) };
        let number = u32::try_from(self.end.load(Ordering::SeqCst)).unwrap_or(ENDS);
        self.shared.load_threads.replace(number, threads).inspect_err(|_| self.shared.forget_runners())?;
        let namespace =
            fs::metadata("/proc/self/ns/pid").map_err(|error| Refused { reason: format!("reading the PID namespace: {error}") })?;
        // SAFETY: as in `start`; programs look at the namespace only where the agent's number is written, which is last.
        unsafe {
            (&raw mut (*control).namespace_device).write_volatile(namespace.dev());
            (&raw mut (*control).namespace_inode).write_volatile(namespace.ino());
            fence(Ordering::SeqCst);
            (&raw mut (*control).agent).write_volatile(std::process::id());
        }
        self.shared.forget_runners();
        self.has_load_threads.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Time in ns of softirqs of a vector on top of the load's threads, since the programs were attached; `None` where
    /// these threads are not known.
    pub fn on_load_ns(&self, vector: &Vector) -> Option<u64> {
        let end = self.end.load(Ordering::SeqCst);
        self.has_load_threads.load(Ordering::SeqCst).then(|| vector.on_load_ns.get(end).copied())?
    }

    fn forget_load_threads(&self) {
        self.has_load_threads.store(false, Ordering::SeqCst);
        if let Some(control) = self.control() {
            // SAFETY: as in `start`.
            unsafe { (&raw mut (*control).agent).write_volatile(0) }
            self.shared.forget_runners();
        }
    }

    /// Watches nothing more; what was seen stays until [`Watch::begin`].
    pub fn end(&self) {
        if let Some(control) = self.control() {
            // SAFETY: as in `begin`.
            unsafe { (&raw mut (*control).port).write_volatile(0) }
        }
    }

    /// The counts until now, by the connecting end's port.
    pub fn connections(&self) -> BTreeMap<u16, Connection> {
        let rows = self.used().map(|index| self.shared.connections.read(index));
        rows.filter_map(|row| Some((u16::try_from(row.out.port).ok().filter(|port| *port != 0)?, row))).collect()
    }

    /// Softirqs of the CPUs that this end has timed, since the programs were attached.
    pub fn cpus(&self) -> Vec<Cpu> {
        let read = |(cpu, number)| if self.is_timed(number) { self.shared.cpus.read(cpu) } else { Cpu::default() };
        (0..self.shared.cpus.count()).zip(0u32..).map(read).collect()
    }

    /// The log, at level segments.
    pub fn log(&self) -> Option<MutexGuard<'_, LogReader<Record>>> {
        self.log.as_ref().map(lock)
    }

    /// The log of calls, at level segments where the kernel has its hooks.
    pub fn calls(&self) -> Option<MutexGuard<'_, LogReader<Call>>> {
        self.calls.as_ref().map(lock)
    }

    /// The fill level of the fuller log, from 0 to 1.
    pub fn fullness(&self) -> f64 {
        let (segments, calls) = (self.log().map_or(0.0, |log| log.fullness()), self.calls().map_or(0.0, |log| log.fullness()));
        f64::max(segments, calls)
    }

    /// True if the time of softirqs is known.
    pub fn times_softirqs(&self) -> bool {
        self.missing().iter().all(|hook| !hook.name.starts_with("irq:"))
    }

    /// The level.
    pub fn level(&self) -> Evidence {
        self.level
    }

    /// Hooks that are not there, with the reason.
    pub fn missing(&self) -> &[Hook] {
        match &self.origin {
            Origin::Own(programs) => programs.missing(),
            Origin::Borrowed(loan) => &loan.missing,
        }
    }

    /// Runs of a program that the kernel left out since [`Watch::begin`].
    pub fn missed_runs_count(&self) -> u64 {
        self.missed_runs_ever().saturating_sub(*lock(&self.missed_before))
    }

    /// Connections since [`Watch::begin`] that found no room.
    pub fn refused_count(&self) -> u64 {
        // SAFETY: as in `begin`.
        self.control().map_or(0, |control| unsafe { (&raw const (*control).connections_refused).read_volatile() })
    }

    /// Tags of all programs, as in their names in `/proc/kallsyms`.
    pub fn program_tags(&self) -> Vec<String> {
        match &self.origin {
            Origin::Own(programs) => programs.tags(),
            Origin::Borrowed(loan) => loan.tags.clone(),
        }
    }

    fn missed_runs_ever(&self) -> u64 {
        match &self.origin {
            Origin::Own(programs) => programs.missed_runs_count(),
            Origin::Borrowed(loan) => missed_runs_count_of(&loan.programs),
        }
    }

    /// Place of this end's part of what ends share: 1 where the lending end's part comes before it, else 0.
    fn first(&self) -> u32 {
        u32::from(matches!(self.origin, Origin::Borrowed(_)))
    }

    /// Connections of this end that are in use, as indexes into the map.
    fn used(&self) -> std::ops::Range<usize> {
        // SAFETY: as in `begin`.
        let count = self.control().map_or(0, |control| unsafe { (&raw const (*control).connections_count).read_volatile() });
        let most = self.shared.extent.connections;
        let first = (self.first() * most) as usize;
        first..first + count.min(most) as usize
    }

    fn is_timed(&self, cpu: u32) -> bool {
        let timed = lock(&self.timed_cpus);
        timed.is_empty() || timed.contains(&cpu)
    }

    /// Where the end stands that is watched, after the first [`Watch::begin`].
    fn control(&self) -> Option<*mut End> {
        let end = self.end.load(Ordering::SeqCst);
        (end < ENDS as usize).then(|| self.control_of(end))
    }

    fn control_of(&self, end: usize) -> *mut End {
        // SAFETY: within the mapping's one element; an index that is none of `Control::ends` panics.
        unsafe { &raw mut (*self.shared.control.pointer(0)).ends[end] }
    }
}

/// True if a map's value may be larger than what the kernel can allocate in one piece, as 5.10 does
/// not allow; tried with the smallest that is.
fn has_large_values() -> bool {
    let options = libbpf_sys::bpf_map_create_opts { sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64, ..Default::default() };
    MapHandle::create(MapType::Array, None::<&str>, 4, (4 << 20) + 8, 1, &options).is_ok()
}

/// Records of a CPU's log: the memory allowed to all, as a power of two.
fn log_slots(cpus: u32, all_bytes: u64, record_bytes: u32) -> u32 {
    let bytes = (all_bytes / u64::from(cpus)).clamp(CPU_LOG_BYTES.0, CPU_LOG_BYTES.1);
    let bytes = if has_large_values() { bytes } else { OLD_CPU_LOG_BYTES };
    let slots = u32::try_from(bytes / u64::from(record_bytes)).unwrap_or(u32::MAX);
    1 << slots.ilog2()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
