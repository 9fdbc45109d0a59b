//! Programs in the kernel that watch sockets of other programs, chosen one by one. They may exist already and are not
//! touched: their addresses and ports identify them.
//!
//! Programs may also choose sockets themselves, at their SYN ([`ChosenWatch::arm`]): those that a process opens or that have
//! a port. They are forgotten again unless somebody chooses them soon.
//!
//! Of a socket in mid-life the first segment is neither out of order nor a duplicate, and the reason of a first pure ACK
//! that needs the one before it is [`AckReason::Other`](schema::table::AckReason::Other). Its state is in the log once it
//! has sent something. Not seen: arrivals whose addresses or ports this host still has to translate (NAT of a connection
//! that it opened itself).

use schema::evidence::Evidence;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use super::layout::{CONNECTING, Connection, Control, ENDS, LISTENING, PORTS, PROCESS_WORDS, SEVERAL_NAMESPACES, Tuple};
use super::object::Refused;
use super::picks::{PICKS, Picks, Taken};
use super::shared::ChosenSockets;
use super::watch::Watch;
use crate::clock::mono_ns;

/// Inode of the initial PID namespace (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;
/// After a socket was forgotten a program may be working on what is kept of it for as long: far longer than one runs.
const REST_NS: u64 = 100_000_000;
/// Places that programs are offered, and those of sockets that they have chosen and nobody else yet.
const PICKED_MOST: u32 = 2 * PICKS;
/// Places for sockets that come while those of others rest, and for those that programs choose.
const SPARE_PLACES: u32 = 64 + PICKED_MOST + PICKS;
/// A socket that programs have chosen is forgotten unless it is chosen within so long.
const UNCLAIMED_NS: u64 = 2_000_000_000;

/// A socket that is to be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenSocket {
    /// Inode number of its network namespace, as of [`network_namespace`].
    pub namespace: u32,
    /// Its own address and port.
    pub local: SocketAddr,
    /// Its peer's.
    pub remote: SocketAddr,
    /// True if it connects, and nothing but a SYN has left yet.
    pub is_opening: bool,
}

impl ChosenSocket {
    fn tuple(&self) -> Tuple {
        Tuple {
            local: address_words(self.local.ip()),
            remote: address_words(self.remote.ip()),
            netns: self.namespace,
            local_port: self.local.port(),
            remote_port: self.remote.port(),
        }
    }
}

/// True if this process is in the initial PID namespace, whose numbers programs use.
fn is_in_initial_namespace() -> bool {
    fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == INITIAL_PID_NAMESPACE)
}

/// An address of IPv6, or one of IPv4 mapped to it, as words in network byte order.
fn address_words(address: IpAddr) -> [u32; 4] {
    let octets = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let mut found = [0; 4];
    for (word, octets) in found.iter_mut().zip(Ipv6Addr::octets(&octets).chunks_exact(4)) {
        *word = u32::from_ne_bytes([octets[0], octets[1], octets[2], octets[3]]);
    }
    found
}

/// Inode number of this thread's network namespace.
///
/// # Errors
/// It cannot be read.
pub fn network_namespace() -> io::Result<u32> {
    // The kernel's own number of a namespace has 32 bits (struct ns_common).
    Ok(u32::try_from(fs::metadata("/proc/thread-self/ns/net")?.ino()).unwrap_or(0))
}

/// Attached programs that watch chosen sockets.
pub struct ChosenWatch {
    watch: Watch,
    chosen: Mutex<Chosen>,
}

/// The sockets that are chosen now.
struct Chosen {
    places: Places,
    /// By number: the socket, and its place in the map `connections`.
    sockets: BTreeMap<u16, (Tuple, u32)>,
    picks: Picks,
    /// Places that are offered to programs, by their numbers.
    offered: BTreeMap<u16, u32>,
    /// Of `sockets`, those that programs have chosen and nobody else yet, and since when.
    unclaimed: BTreeMap<u16, u64>,
    /// Sockets by their bit among `chosen_bits`.
    bits: BTreeMap<u16, u32>,
    /// Sockets by network namespace, and one more where programs choose.
    namespaces: BTreeMap<u32, u32>,
    /// Network namespaces in which programs choose.
    armed: BTreeSet<u32>,
}

impl ChosenWatch {
    /// Loads and attaches programs of a level for up to `sockets_most` sockets at a time; none is chosen yet.
    ///
    /// # Errors
    /// The kernel refuses, with the reason in a sentence.
    pub fn open(level: Evidence, sockets_most: u32) -> Result<Self, Refused> {
        let places = sockets_most.min(u32::from(u16::MAX) - SPARE_PLACES - 1) + SPARE_PLACES;
        let watch = Watch::load(level, places, 1, places)?;
        watch.start_choosing();
        let chosen = Chosen {
            places: Places::new(places),
            sockets: BTreeMap::new(),
            picks: Picks::new(watch.shared.control.pointer(0)),
            offered: BTreeMap::new(),
            unclaimed: BTreeMap::new(),
            bits: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            armed: BTreeSet::new(),
        };
        Ok(Self { watch, chosen: Mutex::new(chosen) })
    }

    /// The programs, with their logs and what they count of CPUs.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Has programs choose themselves, at their SYN, the sockets of a network namespace that these processes and what they
    /// start open, and those that connect to these ports or are connected to at them; in addition to those that it was asked
    /// for before. Processes are known by their numbers in the initial PID namespace only. Before Linux 5.12 programs cannot.
    ///
    /// # Errors
    /// The kernel has no room for them.
    pub fn arm(&self, namespace: u32, processes: &[u32], ports: &[u16]) -> Result<(), Refused> {
        let mut chosen = self.chosen();
        if chosen.armed.insert(namespace) {
            *chosen.namespaces.entry(namespace).or_default() += 1;
            chosen.show_namespace(self.control());
        }
        self.offer(&mut chosen);
        let is_known = is_in_initial_namespace();
        let processes: Vec<_> = processes.iter().copied().filter(|_| is_known).collect();
        self.watch.shared.load_threads.add(CONNECTING, &processes)?;
        for port in ports.iter().map(|port| usize::from(*port)) {
            self.armed_word(port / 64).fetch_or(1 << (port % 64), Ordering::SeqCst);
        }
        for process in processes {
            self.opener_word((process / 64) as usize % usize::from(PROCESS_WORDS)).fetch_or(1 << (process % 64), Ordering::SeqCst);
        }
        Ok(())
    }

    /// Takes in what programs have chosen, and forgets what nobody has chosen since.
    pub fn take_picked(&self) {
        let now_ns = mono_ns();
        let old = {
            let mut chosen = self.chosen();
            self.take(&mut chosen, now_ns);
            let is_old = |since_ns: u64| now_ns.saturating_sub(since_ns) >= UNCLAIMED_NS;
            chosen.unclaimed.iter().filter(|(_, since_ns)| is_old(**since_ns)).map(|(number, _)| *number).collect::<Vec<_>>()
        };
        for number in old {
            let _ = self.forget(number);
        }
    }

    fn take(&self, chosen: &mut Chosen, now_ns: u64) {
        while let Some(Taken { number, socket }) = chosen.picks.next_taken() {
            let Some(place) = chosen.offered.remove(&number) else { continue };
            match socket {
                Some(tuple) => {
                    chosen.list(&tuple, self.control());
                    chosen.sockets.insert(number, (tuple, place));
                    chosen.unclaimed.insert(number, now_ns);
                }
                None => chosen.places.give_back(place, now_ns),
            }
        }
        if !chosen.armed.is_empty() {
            self.offer(chosen);
        }
    }

    /// Offers programs as many places as they may have.
    fn offer(&self, chosen: &mut Chosen) {
        while chosen.picks.has_room() && chosen.offered.len() + chosen.unclaimed.len() < PICKED_MOST as usize {
            let Chosen { places, sockets, offered, .. } = chosen;
            let Some((number, place)) = places.take(mono_ns(), |number| sockets.contains_key(&number) || offered.contains_key(&number))
            else {
                return;
            };
            self.watch.shared.connections.write(place as usize, Connection::default());
            chosen.picks.offer(number, place);
            chosen.offered.insert(number, place);
        }
    }

    /// Watches a socket from now on; its number. That is not the number of another socket now or shortly before: rows of the
    /// logs have it as their `port`. `prepare` is given it before there can be one, unless programs have chosen the socket
    /// already.
    ///
    /// # Errors
    /// It is watched already, or there is no room for it.
    pub fn choose(&self, socket: &ChosenSocket, prepare: impl FnOnce(u16)) -> Result<u16, Refused> {
        let (map, mut chosen, tuple) = (self.map()?, self.chosen(), socket.tuple());
        self.take(&mut chosen, mono_ns());
        let claimed = chosen.unclaimed.keys().copied().find(|number| chosen.sockets.get(number).is_some_and(|(known, _)| *known == tuple));
        if let Some(number) = claimed {
            chosen.unclaimed.remove(&number);
            prepare(number);
            return Ok(number);
        }
        let Chosen { places, sockets, offered, .. } = &mut *chosen;
        let place = places.take(mono_ns(), |number| sockets.contains_key(&number) || offered.contains_key(&number));
        let (number, place) = place.ok_or_else(|| Refused { reason: "there is no room for another watched connection".to_owned() })?;
        let mut connection = Connection::default();
        connection.out.has_acknowledged = u32::from(!socket.is_opening);
        self.watch.shared.connections.write(place as usize, connection);
        // Which end it is matters to the handshake only.
        let end = if socket.is_opening { CONNECTING } else { LISTENING };
        let which = end << 16 | u32::from(number);
        // SAFETY: the pointer is to the one element of the mapping, and an index that the array does not have panics.
        // Programs look there only when they have found the socket in the map, where it is written last.
        unsafe { (&raw mut (*self.control()).slot_of_port[which as usize]).write_volatile(u16::try_from(place + 1).unwrap_or(0)) };
        prepare(number);
        chosen.list(&tuple, self.control());
        if let Err(refused) = map.add(&tuple, which) {
            chosen.strike(&tuple, self.control());
            chosen.places.give_back(place, mono_ns());
            return Err(refused);
        }
        chosen.sockets.insert(number, (tuple, place));
        Ok(number)
    }

    /// Watches a socket no more; what was counted of it until now, where it was watched.
    pub fn forget(&self, number: u16) -> Option<Connection> {
        let mut chosen = self.chosen();
        let (tuple, place) = chosen.sockets.remove(&number)?;
        chosen.unclaimed.remove(&number);
        // It was added above, and nobody else takes it away.
        let _ = self.map().and_then(|map| map.remove(&tuple));
        chosen.strike(&tuple, self.control());
        chosen.places.give_back(place, mono_ns());
        Some(self.watch.shared.connections.read(place as usize))
    }

    /// The counts until now of each socket that is watched, by its number.
    pub fn connections(&self) -> BTreeMap<u16, Connection> {
        let chosen = self.chosen();
        let read = |(number, (_, place)): (&u16, &(Tuple, u32))| (*number, self.watch.shared.connections.read(*place as usize));
        chosen.sockets.iter().map(read).collect()
    }

    /// Counts the time of softirqs on top of all threads of these processes, instead of others, and has the log of calls know
    /// their threads from their next system call on; by their numbers in this process's PID namespace.
    ///
    /// # Errors
    /// The kernel has no room for them, or the namespace cannot be read; nothing is counted then.
    pub fn set_processes(&self, processes: &[u32]) -> Result<(), Refused> {
        self.watch.name_load(processes)?;
        let is_known = is_in_initial_namespace();
        let mut bits = [0_u64; PROCESS_WORDS as usize];
        // Programs have the number in the initial namespace only, where they look for a process other than the present one.
        for process in processes.iter().filter(|_| is_known) {
            bits[(process / 64) as usize % bits.len()] |= 1 << (process % 64);
        }
        for (index, word) in bits.into_iter().enumerate() {
            // SAFETY: as in `choose`; programs look in the map `load_threads` when a bit is set.
            unsafe { (&raw mut (*self.control()).process_bits[index]).write_volatile(word) };
        }
        Ok(())
    }

    /// Watches nothing more; the logs and what was counted stay.
    pub fn stop(&self) {
        for word in 0..PORTS as usize / 64 {
            self.armed_word(word).store(0, Ordering::SeqCst);
        }
        for word in 0..PROCESS_WORDS as usize {
            self.opener_word(word).store(0, Ordering::SeqCst);
        }
        self.chosen().armed.clear();
        self.take_picked();
        let numbers: Vec<_> = self.chosen().sockets.keys().copied().collect();
        for number in numbers {
            let _ = self.forget(number);
        }
    }

    fn map(&self) -> Result<&ChosenSockets, Refused> {
        let map = self.watch.shared.chosen_sockets.as_ref();
        map.ok_or_else(|| Refused { reason: "the programs do not choose sockets".to_owned() })
    }

    fn armed_word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the pointer is to the one element of the mapping, whose words are aligned, and an index that the array does
        // not have panics; programs only read them.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.control()).armed_bits[index]) }
    }

    fn opener_word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: as above; programs change these atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.control()).opener_bits[index]) }
    }

    fn control(&self) -> *mut Control {
        self.watch.shared.control.pointer(0)
    }

    fn chosen(&self) -> MutexGuard<'_, Chosen> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chosen {
    /// Has programs look for sockets like this one, which they do not without.
    fn list(&mut self, socket: &Tuple, control: *mut Control) {
        *self.bits.entry(bit_of(socket)).or_default() += 1;
        *self.namespaces.entry(socket.netns).or_default() += 1;
        self.show(socket, control);
    }

    fn strike(&mut self, socket: &Tuple, control: *mut Control) {
        let less = |count: &mut u32| *count = count.saturating_sub(1);
        self.bits.entry(bit_of(socket)).and_modify(less);
        self.namespaces.entry(socket.netns).and_modify(less);
        self.bits.retain(|_, count| *count > 0);
        self.namespaces.retain(|_, count| *count > 0);
        self.show(socket, control);
    }

    /// Writes for programs whether to look for sockets like this one.
    fn show(&self, socket: &Tuple, control: *mut Control) {
        let bit = bit_of(socket);
        // SAFETY: the caller's pointer is to the one element of the mapping, whose words are aligned; programs change these
        // atomically.
        let word = unsafe { AtomicU64::from_ptr(&raw mut (*control).chosen_bits[usize::from(bit / 64)]) };
        if self.bits.contains_key(&bit) {
            word.fetch_or(1 << (bit % 64), Ordering::SeqCst);
        } else {
            word.fetch_and(!(1 << (bit % 64)), Ordering::SeqCst);
        }
        self.show_namespace(control);
    }

    /// Writes for programs in which namespace to look.
    fn show_namespace(&self, control: *mut Control) {
        let namespace = match self.namespaces.len() {
            0 => 0,
            1 => self.namespaces.keys().next().copied().unwrap_or(0),
            _ => SEVERAL_NAMESPACES,
        };
        for end in 0..ENDS as usize {
            // SAFETY: as above; programs only read this.
            unsafe { (&raw mut (*control).ends[end].netns).write_volatile(namespace) };
        }
    }
}

/// A socket's bit among `chosen_bits`.
fn bit_of(socket: &Tuple) -> u16 {
    socket.local_port ^ socket.remote_port
}

/// Which numbers and places are free.
struct Places {
    /// Places, and since when: in the order in which they became free.
    free: VecDeque<(u64, u32)>,
    last_number: u16,
}

impl Places {
    fn new(count: u32) -> Self {
        Self { free: (0..count).map(|place| (0, place)).collect(), last_number: 0 }
    }

    /// The next number that is not in use, so that none comes again soon, and the place that is free the longest.
    fn take(&mut self, now_ns: u64, is_used: impl Fn(u16) -> bool) -> Option<(u16, u32)> {
        let (since_ns, place) = *self.free.front()?;
        if since_ns > 0 && now_ns < since_ns.saturating_add(REST_NS) {
            return None;
        }
        let next = |number: u16| number.checked_add(1).unwrap_or(1);
        let mut number = next(self.last_number);
        while is_used(number) {
            number = next(number);
        }
        self.free.pop_front();
        self.last_number = number;
        Some((number, place))
    }

    fn give_back(&mut self, place: u32, now_ns: u64) {
        self.free.push_back((now_ns, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_rests_before_it_is_used_again_and_a_number_longer() {
        let mut places = Places::new(2);
        let (first, second) = (places.take(5, |_| false), places.take(5, |_| false));
        assert_eq!((first, second), (Some((1, 0)), Some((2, 1))));
        assert_eq!(places.take(5, |_| false), None);
        places.give_back(1, 10);
        assert_eq!(places.take(10 + REST_NS - 1, |_| false), None);
        assert_eq!(places.take(10 + REST_NS, |_| false), Some((3, 1)));
    }

    #[test]
    fn numbers_come_again_behind_the_last_but_those_in_use_and_0_do_not() {
        let mut places = Places { last_number: u16::MAX, ..Places::new(3) };
        assert_eq!(places.take(1, |number| number < 3), Some((3, 0)));
    }

    #[test]
    fn ipv4_and_ipv4_mapped_are_the_same_socket() {
        let socket = |local: &str, remote: &str| ChosenSocket {
            namespace: 7,
            local: local.parse().expect("an address"),
            remote: remote.parse().expect("an address"),
            is_opening: false,
        };
        let plain = socket("10.1.2.3:40000", "10.9.8.7:443").tuple();
        assert_eq!(plain, socket("[::ffff:10.1.2.3]:40000", "[::ffff:10.9.8.7]:443").tuple());
        assert_eq!(plain.remote, [0, 0, 0xffff_u32.to_be(), u32::from_be_bytes([10, 9, 8, 7]).to_be()]);
    }
}
