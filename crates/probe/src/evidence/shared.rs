//! The memory that programs and a reader share: that of programs loaded here, or of another
//! process's on this machine, found by the kernel's numbers for its maps.

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use schema::evidence::Loan;
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::hooks::Extent;
use super::layout::{Call, Connection, Control, Cpu, ENDS, LoadThread, LogHead, Record, Tuple};
use super::mapped::Mapped;
use super::object::{Programs, Refused, bytes_of};

/// The map of the load's threads, as in `bpf/maps.h`.
const LOAD_THREADS: LentHash = LentHash { name: "load_threads", key_bytes: bytes_of::<LoadThread>(), value_bytes: 1, max_entries: 32_768 };
/// Bytes of an index of an array: the key of every BPF array (`array_map_alloc_check`, kernel/bpf/arraymap.c).
const INDEX_BYTES: u32 = 4;

/// The maps, in this process's memory.
pub struct Shared {
    pub control: Mapped<Control>,
    pub connections: Mapped<Connection>,
    pub cpus: Mapped<Cpu>,
    pub load_threads: LoadThreads,
    pub chosen_sockets: Option<ChosenSockets>,
    pub logs: Option<Mapped<LogHead>>,
    pub calls: Option<Mapped<LogHead>>,
    pub extent: Extent,
}

impl Shared {
    /// Of programs that this process has loaded.
    ///
    /// # Errors
    /// A map cannot be shared.
    pub fn of(programs: &Programs, extent: Extent) -> Result<Self, Refused> {
        let calls = if programs.has_calls() { Some(mapped(&programs.map("calls")?)?) } else { None };
        let logs = if extent.log_slots > 0 { Some(mapped(&programs.map("logs")?)?) } else { None };
        let (control, connections) = (mapped(&programs.map(".bss")?)?, mapped(&programs.map("connections")?)?);
        let load_threads = LoadThreads::Own(programs.map("load_threads")?);
        let chosen_sockets = if extent.chosen > 0 { Some(ChosenSockets(programs.map("chosen_sockets")?)) } else { None };
        Ok(Self { control, connections, cpus: mapped(&programs.map("cpus")?)?, load_threads, chosen_sockets, logs, calls, extent })
    }

    /// Of programs that another process has lent.
    ///
    /// # Errors
    /// This user may not find them, they are gone, or they are not what they should be.
    pub fn borrowed(loan: &Loan) -> Result<Self, Refused> {
        let possible = possible_cpus()?;
        let control = lent_array(loan.control_map, ".bss", bytes_of::<Control>(), Some(1))?;
        let connections = lent_array(loan.connections_map, "connections", bytes_of::<Connection>(), None)?;
        let cpus = lent_array(loan.cpus_map, "cpus", bytes_of::<Cpu>(), Some(possible))?;
        let log = |number: Option<u32>, name, record_bytes| -> Result<_, Refused> {
            let Some(number) = number else { return Ok((None, 0)) };
            let (map, slots) = lent_logs(number, name, record_bytes, possible * ENDS)?;
            Ok((Some(mapped(&map)?), slots))
        };
        let (logs, log_slots) = log(loan.logs_map, "logs", bytes_of::<Record>())?;
        let (calls, call_slots) = log(loan.calls_map, "calls", bytes_of::<Call>())?;
        let extent = Extent { connections: connections.max_entries() / ENDS, cpus: possible, log_slots, call_slots, ends: ENDS, chosen: 0 };
        lent_hash(loan.load_threads_map, &LOAD_THREADS)?;
        let load_threads = LoadThreads::Lent(loan.load_threads_map);
        let (control, connections, cpus) = (mapped(&control)?, mapped(&connections)?, mapped(&cpus)?);
        Ok(Self { control, connections, cpus, load_threads, chosen_sockets: None, logs, calls, extent })
    }

    /// Has programs look up again what the thread is that runs; to be called after what is of a load has changed.
    pub fn forget_runners(&self) {
        for cpu in 0..self.cpus.count() {
            // SAFETY: `pointer` is to an element of the mapping, where the word is aligned; programs only read it, and the
            // reader of the other side changes it atomically, too.
            let changes = unsafe { AtomicU32::from_ptr(&raw mut (*self.cpus.pointer(cpu)).changes) };
            changes.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The map of the sockets that are watched, where they are chosen.
pub struct ChosenSockets(MapHandle);

impl ChosenSockets {
    /// Has programs watch a socket, as `which` (`watched_t` of the programs).
    ///
    /// # Errors
    /// The kernel has no room for it, or it is watched already.
    pub fn add(&self, socket: &Tuple, which: u32) -> Result<(), Refused> {
        Ok(self.0.update(tuple_bytes(socket).as_slice(), &which.to_ne_bytes(), MapFlags::NO_EXIST)?)
    }

    /// Has them watch it no more.
    ///
    /// # Errors
    /// It is not watched.
    pub fn remove(&self, socket: &Tuple) -> Result<(), Refused> {
        Ok(self.0.delete(tuple_bytes(socket).as_slice())?)
    }
}

/// A `Tuple` as the kernel reads it.
fn tuple_bytes(socket: &Tuple) -> Vec<u8> {
    let Tuple { local, remote, netns, local_port, remote_port } = socket;
    let numbers = local.iter().chain(remote).chain([netns]).flat_map(|word| word.to_ne_bytes());
    numbers.chain([local_port, remote_port].into_iter().flat_map(|port| port.to_ne_bytes())).collect()
}

/// The map of the threads of the load of both sides; each one writes its own.
pub enum LoadThreads {
    Own(MapHandle),
    /// Another process's: it is opened to be written only, and does not outlive that process.
    Lent(u32),
}

impl LoadThreads {
    /// Adds these to what an end has, of programs of this process.
    ///
    /// # Errors
    /// The kernel has no room for them.
    pub fn add(&self, end: u32, threads: &[u32]) -> Result<(), Refused> {
        let Self::Own(map) = self else { return Ok(()) };
        Ok(threads.iter().try_for_each(|thread| map.update(&key(end, *thread), &[1], MapFlags::ANY))?)
    }

    /// Makes these the threads of an end, in the place of others.
    ///
    /// # Errors
    /// The kernel has no room for them.
    pub fn replace(&self, end: u32, threads: &[u32]) -> Result<(), Refused> {
        let opened;
        let map = match self {
            Self::Own(map) => map,
            Self::Lent(number) => {
                opened = lent_hash(*number, &LOAD_THREADS)?;
                &opened
            }
        };
        let wanted: BTreeSet<_> = threads.iter().map(|thread| key(end, *thread).to_vec()).collect();
        let former: BTreeSet<_> = map.keys().filter(|key| key.starts_with(&end.to_ne_bytes())).collect();
        for key in former.difference(&wanted) {
            map.delete(key)?;
        }
        for key in wanted.difference(&former) {
            map.update(key, &[1], MapFlags::ANY)?;
        }
        Ok(())
    }
}

/// A `LoadThread` as the kernel reads it.
fn key(end: u32, thread: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&end.to_ne_bytes());
    bytes[4..].copy_from_slice(&thread.to_ne_bytes());
    bytes
}

/// The properties that a hash map lent by another process must have.
pub struct LentHash {
    pub name: &'static str,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub max_entries: u32,
}

/// Another process's hash map by the kernel's number for it. The number may be any map's: whoever names it may be wrong, or
/// the map gone and the number another one's.
pub fn lent_hash(number: u32, wanted: &LentHash) -> Result<MapHandle, Refused> {
    let map = lent(number, MapType::Hash, wanted.name, wanted.key_bytes)?;
    let is_right = (map.value_size(), map.max_entries()) == (wanted.value_bytes, wanted.max_entries);
    if is_right { Ok(map) } else { Err(strange(number)) }
}

/// The same of an array of such values, of so many where the lender has no choice.
pub fn lent_array(number: u32, name: &str, value_bytes: u32, entries: Option<u32>) -> Result<MapHandle, Refused> {
    let map = lent(number, MapType::Array, name, INDEX_BYTES)?;
    let is_right = map.value_size() == value_bytes && entries.is_none_or(|entries| map.max_entries() == entries);
    if is_right { Ok(map) } else { Err(strange(number)) }
}

/// The same of so many logs, whose length is the lender's; and that length in records.
pub fn lent_logs(number: u32, name: &str, record_bytes: u32, logs: u32) -> Result<(MapHandle, u32), Refused> {
    let map = lent(number, MapType::Array, name, INDEX_BYTES)?;
    let records = map.value_size().checked_sub(bytes_of::<LogHead>()).ok_or_else(|| strange(number))?;
    let slots = records / record_bytes;
    let is_right = records.is_multiple_of(record_bytes) && slots.is_power_of_two() && map.max_entries() == logs;
    if is_right { Ok((map, slots)) } else { Err(strange(number)) }
}

fn lent(number: u32, map_type: MapType, name: &str, key_bytes: u32) -> Result<MapHandle, Refused> {
    let map = MapHandle::from_map_id(number)?;
    // The name of a section's map begins with that of its object.
    let is_named = map.name() == name || (name.starts_with('.') && map.name().to_string_lossy().ends_with(name));
    if is_named && map.map_type() == map_type && map.key_size() == key_bytes { Ok(map) } else { Err(strange(number)) }
}

/// CPUs that this machine may have, for each of which maps have an element.
pub fn possible_cpus() -> Result<u32, Refused> {
    Ok(u32::try_from(libbpf_rs::num_possible_cpus()?).unwrap_or(1))
}

fn strange(number: u32) -> Refused {
    Refused { reason: format!("map {number} is not what was lent") }
}

/// A map's values in this process's memory.
pub fn mapped<T>(map: &MapHandle) -> Result<Mapped<T>, Refused> {
    // The kernel rounds the values of an array up to 8 bytes.
    let stride = (map.value_size() as usize).next_multiple_of(8);
    Mapped::new(map.as_fd(), stride, map.max_entries() as usize).map_err(|error| {
        let name = map.name().to_string_lossy();
        Refused { reason: format!("the memory of map {name} cannot be shared: {error}") }
    })
}
