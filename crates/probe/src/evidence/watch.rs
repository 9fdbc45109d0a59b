//! Programs in the kernel that watch one trial's connections after another's.

use libbpf_rs::{MapCore, MapHandle, MapType};
use schema::evidence::{Evidence, Hook};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::layout::{Connection, Control, Cpu, LogHead, SIZES};
use super::log::LogReader;
use super::mapped::Mapped;
use super::object::{Extent, Programs, Refused};

/// Memory of all CPUs' logs together.
const LOG_BYTES: u64 = 256 << 20;
/// Memory of a CPU's log at least and at most.
const CPU_LOG_BYTES: (u64, u64) = (4 << 20, 128 << 20);
/// The same where a map's value may have 4 MiB (`KMALLOC_MAX_SIZE`), the log's head included.
const OLD_CPU_LOG_BYTES: u64 = 2 << 20;
/// Connections that strangers may try beside a trial's own.
const STRANGERS: u32 = 64;

/// Which connections are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Port of the listening end.
    pub port: u16,
    /// Whether this end is the one that listens.
    pub listens: bool,
    /// CPUs whose softirqs are timed; empty: all.
    pub timed_cpus: Vec<u32>,
}

/// Attached programs, and the memory shared with them.
pub struct Watch {
    level: Evidence,
    extent: Extent,
    control: Mapped<Control>,
    connections: Mapped<Connection>,
    cpus: Mapped<Cpu>,
    log: Option<Mutex<LogReader>>,
    programs: Programs,
    missed_before: Mutex<u64>,
}

impl Watch {
    /// Loads and attaches programs of a level for trials of up to `connections`; they idle until
    /// [`Watch::begin`].
    ///
    /// # Errors
    /// The kernel refuses, with the reason in a sentence.
    pub fn open(level: Evidence, connections: u32) -> Result<Self, Refused> {
        let cpus = u32::try_from(libbpf_rs::num_possible_cpus()?).unwrap_or(1);
        let log_slots = if level == Evidence::Segments { log_slots(cpus) } else { 0 };
        let extent = Extent { connections: connections + STRANGERS, cpus, log_slots };
        let mut programs = Programs::load(&extent)?;
        let log = if log_slots > 0 { Some(Mutex::new(LogReader::new(mapped(&programs, "logs", cpus)?, log_slots))) } else { None };
        let opened = Self {
            level,
            extent,
            control: mapped(&programs, ".bss", 1)?,
            connections: mapped(&programs, "connections", extent.connections)?,
            cpus: mapped(&programs, "cpus", cpus)?,
            log,
            missed_before: Mutex::new(0),
            programs: {
                programs.attach()?;
                programs
            },
        };
        Ok(opened)
    }

    /// Whether it does for a trial of this level and size.
    pub fn suits(&self, level: Evidence, connections: u32) -> bool {
        self.level == level && connections.saturating_add(STRANGERS) <= self.extent.connections
    }

    /// Forgets everything and watches the connections named, in this thread's network namespace.
    ///
    /// # Errors
    /// The namespace cannot be told.
    pub fn begin(&self, watched: &Watched) -> io::Result<()> {
        self.end();
        let netns = fs::metadata("/proc/thread-self/ns/net")?.ino();
        let used = (self.connections_count() as usize).min(self.connections.count());
        for index in 0..used {
            self.connections.write(index, Connection::default());
        }
        if let Some(log) = &self.log {
            lock(log).clear();
        }
        for (cpu, number) in (0..self.cpus.count()).zip(0u32..) {
            let is_timed = watched.timed_cpus.is_empty() || watched.timed_cpus.contains(&number);
            // SAFETY: `pointer` is to an element of the mapping; programs only read this field.
            unsafe { (&raw mut (*self.cpus.pointer(cpu)).is_timed).write_volatile(u32::from(is_timed)) };
        }
        *lock(&self.missed_before) = self.programs.missed_runs_count();
        let control = self.control.pointer(0);
        // SAFETY: `control` points to the one element of the mapping. With port 0 programs do not look
        // at the rest, and the port is written last, after a fence that keeps the order.
        unsafe {
            (&raw mut (*control).slot_of_port).write_bytes(0, 1);
            (&raw mut (*control).connections_count).write_volatile(0);
            (&raw mut (*control).connections_refused).write_volatile(0);
            // The kernel's own number of a namespace has 32 bits (struct ns_common).
            (&raw mut (*control).netns).write_volatile(u32::try_from(netns).unwrap_or(0));
            (&raw mut (*control).listens).write_volatile(u16::from(watched.listens));
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            (&raw mut (*control).port).write_volatile(watched.port);
        }
        Ok(())
    }

    /// Watches nothing more; what was seen stays until [`Watch::begin`].
    pub fn end(&self) {
        // SAFETY: as in `begin`.
        unsafe { (&raw mut (*self.control.pointer(0)).port).write_volatile(0) }
    }

    /// What was counted until now, by the connecting end's port.
    pub fn connections(&self) -> BTreeMap<u16, Connection> {
        let used = (self.connections_count() as usize).min(self.connections.count());
        let rows = (0..used).map(|index| self.connections.read(index));
        rows.filter_map(|row| Some((u16::try_from(row.out.port).ok().filter(|port| *port != 0)?, row))).collect()
    }

    /// Softirqs of the CPUs that are timed, since the programs were attached.
    pub fn cpus(&self) -> Vec<Cpu> {
        (0..self.cpus.count()).map(|cpu| self.cpus.read(cpu)).collect()
    }

    /// The log, at level segments.
    pub fn log(&self) -> Option<MutexGuard<'_, LogReader>> {
        self.log.as_ref().map(lock)
    }

    /// The level.
    pub fn level(&self) -> Evidence {
        self.level
    }

    /// Hooks that are not there, with the reason.
    pub fn missing(&self) -> &[Hook] {
        self.programs.missing()
    }

    /// Whether a program is attached.
    pub fn has(&self, program: &str) -> bool {
        self.programs.has(program)
    }

    /// Runs of a program that the kernel left out since [`Watch::begin`].
    pub fn missed_runs_count(&self) -> u64 {
        self.programs.missed_runs_count().saturating_sub(*lock(&self.missed_before))
    }

    /// Connections since [`Watch::begin`] that found no room.
    pub fn refused_count(&self) -> u64 {
        // SAFETY: as in `begin`.
        unsafe { (&raw const (*self.control.pointer(0)).connections_refused).read_volatile() }
    }

    fn connections_count(&self) -> u32 {
        // SAFETY: as in `begin`.
        unsafe { (&raw const (*self.control.pointer(0)).connections_count).read_volatile() }
    }
}

/// A map of the programs, in this process's memory.
fn mapped<T>(programs: &Programs, name: &str, count: u32) -> Result<Mapped<T>, Refused> {
    let map = programs.map(name)?;
    // The kernel rounds the values of an array up to 8 bytes.
    let stride = (map.value_size() as usize).next_multiple_of(8);
    Mapped::new(map.as_fd(), stride, count as usize)
        .map_err(|error| Refused { reason: format!("the memory of map {name} cannot be shared: {error}") })
}

/// Whether a map's value may be larger than what the kernel can allocate in one piece, as 5.10 does
/// not allow; tried with the smallest that is.
fn has_large_values() -> bool {
    let options = libbpf_sys::bpf_map_create_opts { sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64, ..Default::default() };
    MapHandle::create(MapType::Array, None::<&str>, 4, (4 << 20) + 8, 1, &options).is_ok()
}

/// Records of a CPU's log: the memory allowed, as a power of two.
fn log_slots(cpus: u32) -> u32 {
    let bytes = (LOG_BYTES / u64::from(cpus)).clamp(CPU_LOG_BYTES.0, CPU_LOG_BYTES.1);
    let bytes = if has_large_values() { bytes } else { OLD_CPU_LOG_BYTES };
    let slots = u32::try_from(bytes / u64::from(SIZES.record_bytes)).unwrap_or(u32::MAX);
    1 << slots.ilog2()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// What the log's mapping begins with.
const _: () = assert!(size_of::<LogHead>() == 128);
