//! The connections that are watched one by one, and their samples.

use probe::sockets::{Owner, Socket, SocketKey};
use record::host::connection::Segments;
use record::host::watched::{FixedOptions, MovedPayload, Sample, WatchedConnection};
use schema::watch::{Endpoints, WatchedConnection as Reported};
use std::collections::{BTreeMap, HashMap};

/// Samples that are held at most, about 70 MB.
const MAX_SAMPLES: usize = 200_000;
/// A connection takes the place of one that has moved less than this part of what it moves between two looks.
const DISPLACING: u64 = 2;
const NS_PER_US: u64 = 1_000;
/// The state of a connection that is gone (`TCP_CLOSE`).
const CLOSED: u8 = 7;

/// The facts known of a connection when it is chosen.
pub struct New {
    /// As the kernel describes it, with its counters.
    pub socket: Socket,
    /// When that was, on `CLOCK_MONOTONIC` in ns.
    pub mono_ns: u64,
    /// A time at which it was not there yet, if it opened after the watch had begun.
    pub opened_after_ns: Option<u64>,
    /// Who holds it.
    pub owner: Option<Owner>,
    /// Its control group.
    pub control_group: String,
    /// True if this side accepted it.
    pub listens: Option<bool>,
}

struct WatchedEntry {
    key: SocketKey,
    inode: u32,
    row: WatchedConnection,
    /// As it was last seen.
    state: u8,
    is_reported: bool,
}

impl WatchedEntry {
    fn moved_bytes(&self) -> u64 {
        let moved = self.row.moved();
        moved.acked_bytes.saturating_add(moved.received_bytes)
    }

    fn push(&mut self, sample: &Sample) {
        self.state = sample.info.raw.state;
        self.row.samples.push(*sample);
    }

    fn close(&mut self) {
        self.row.has_closed = true;
        self.state = CLOSED;
    }
}

/// The outcome for a connection that should be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// There is room.
    Free,
    /// There is, when the one of this number gives up its place.
    InPlaceOf(u32),
    /// There is none.
    None,
}

/// All that are watched, or were until they closed.
pub struct Connections {
    entries: BTreeMap<u32, WatchedEntry>,
    numbers: HashMap<u64, u32>,
    next_number: u32,
    most: usize,
    max_samples: usize,
    samples_count: usize,
    round: u32,
    /// Of how many rounds one is kept.
    stride: u32,
}

impl Connections {
    /// None yet; `most` of them at the same time.
    pub fn new(most: u32) -> Self {
        Self {
            entries: BTreeMap::new(),
            numbers: HashMap::new(),
            next_number: 0,
            most: most as usize,
            max_samples: MAX_SAMPLES,
            samples_count: 0,
            round: 0,
            stride: 1,
        }
    }

    /// True if the socket of this number is among them.
    pub fn has(&self, cookie: u64) -> bool {
        self.numbers.contains_key(&cookie)
    }

    /// Number of connections, those that have closed included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Number of connections that are open.
    pub fn open_count(&self) -> u64 {
        self.entries.values().filter(|entry| !entry.row.has_closed).count() as u64
    }

    /// The room for one that has moved so much since the last look.
    pub fn room_for(&self, moved_bytes: u64) -> Room {
        if self.entries.len() < self.most {
            return Room::Free;
        }
        let least = self.entries.iter().min_by_key(|(_, entry)| entry.moved_bytes());
        match least {
            Some((number, entry)) if moved_bytes / DISPLACING > entry.moved_bytes() => Room::InPlaceOf(*number),
            _ => Room::None,
        }
    }

    /// Watches a connection from now on; its number. Without counters it is none of TCP, and not watched.
    pub fn add(&mut self, new: New) -> Option<u32> {
        let New { socket, mono_ns, opened_after_ns, owner, control_group, listens } = new;
        let sample = Sample::of(&socket, self.round, mono_ns)?;
        let (zero_mono_ns, zero) = match opened_after_ns {
            Some(opened_after_ns) => (opened_after_ns, MovedPayload::default()),
            None => (mono_ns, MovedPayload::of(&sample.info)),
        };
        let number = self.next_number;
        let row = WatchedConnection {
            number,
            ends: socket.key.ends(),
            cookie: socket.key.cookie,
            owner,
            user: socket.user,
            control_group,
            is_whole: opened_after_ns.is_some() || socket.has_moved_nothing(),
            zero_mono_ns,
            zero,
            last_mono_ns: mono_ns,
            has_closed: false,
            listens,
            congestion_control: socket.congestion_control,
            fixed: FixedOptions::default(),
            samples: vec![sample],
        };
        let entry = WatchedEntry { key: socket.key, inode: socket.inode, row, state: sample.info.raw.state, is_reported: false };
        self.next_number += 1;
        self.numbers.insert(socket.key.cookie, number);
        self.entries.insert(number, entry);
        self.samples_count += 1;
        Some(number)
    }

    /// Sets what the evidence from inside the kernel adds.
    pub fn set_fixed(&mut self, number: u32, fixed: FixedOptions) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.row.fixed = fixed;
        }
    }

    /// Leaves a connection out of everything.
    pub fn drop_connection(&mut self, number: u32) {
        if let Some(entry) = self.entries.remove(&number) {
            self.numbers.remove(&entry.key.cookie);
            self.samples_count -= entry.row.samples.len();
        }
    }

    /// The connections that are open, with what names their sockets.
    pub fn open(&self) -> Vec<(u32, SocketKey)> {
        self.entries.iter().filter(|(_, entry)| !entry.row.has_closed).map(|(number, entry)| (*number, entry.key)).collect()
    }

    /// Inodes of the sockets that are open; `is_owned` says whether the holder is known.
    pub fn inodes(&self, is_owned: bool) -> impl Iterator<Item = (u32, u32)> {
        let has = move |entry: &&WatchedEntry| entry.inode != 0 && !entry.row.has_closed && entry.row.owner.is_some() == is_owned;
        self.entries.values().filter(has).map(|entry| (entry.row.number, entry.inode))
    }

    /// The holder of a connection was found.
    pub fn set_owner(&mut self, number: u32, owner: Owner) {
        if let Some(entry) = self.entries.get_mut(&number) {
            if entry.row.control_group.is_empty() {
                entry.row.control_group.clone_from(&owner.control_group);
            }
            entry.row.owner = Some(owner);
        }
    }

    /// Processes that hold connections that are open.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        let open = self.entries.values().filter(|entry| !entry.row.has_closed);
        open.filter_map(|entry| entry.row.owner.as_ref().map(|owner| owner.process))
    }

    /// A new round of samples begins; its number among those that are kept.
    pub fn begin_round(&mut self) -> u32 {
        self.round += self.stride;
        self.round / self.stride
    }

    /// Distance in rounds between samples that are kept, as a factor of the time between the first ones.
    pub fn stride(&self) -> u32 {
        self.stride
    }

    /// The kernel's answer about an open connection: none is that it has closed. Whether it has.
    pub fn on_answer(&mut self, number: u32, answer: Option<Socket>, mono_ns: u64) -> bool {
        let Some(entry) = self.entries.get_mut(&number).filter(|entry| !entry.row.has_closed) else { return false };
        let Some(socket) = answer else {
            entry.close();
            return true;
        };
        if let Some(sample) = Sample::of(&socket, self.round, mono_ns) {
            entry.push(&sample);
            self.samples_count += 1;
        }
        entry.row.last_mono_ns = mono_ns;
        // A socket that was accepted late has an inode only then.
        entry.inode = socket.inode;
        if socket.congestion_control.is_some() {
            entry.row.congestion_control = socket.congestion_control;
        }
        false
    }

    /// The kernel says that a socket has closed, with its last counters. Whether it is one of these.
    pub fn on_closing(&mut self, socket: &Socket, mono_ns: u64) -> Option<u32> {
        let number = *self.numbers.get(&socket.key.cookie)?;
        let entry = self.entries.get_mut(&number)?;
        if let (Some(sample), Some(last)) = (Sample::of(socket, self.round, mono_ns), entry.row.samples.last())
            && sample.info.raw.bytes_acked >= last.info.raw.bytes_acked
            && sample.info.raw.bytes_received >= last.info.raw.bytes_received
        {
            // A closed socket has no queues any more, and no memory.
            entry.push(&Sample { memory: None, ..sample });
            self.samples_count += 1;
        }
        entry.close();
        Some(number)
    }

    /// Makes room for more samples by leaving out every second round; whether it did.
    pub fn thin(&mut self) -> bool {
        if self.samples_count <= self.max_samples {
            return false;
        }
        self.stride *= 2;
        for entry in self.entries.values_mut() {
            thin(&mut entry.row.samples, self.stride);
        }
        self.round = self.round.next_multiple_of(self.stride);
        self.samples_count = self.entries.values().map(|entry| entry.row.samples.len()).sum();
        true
    }

    /// Those that are open, or have closed since this was last called, for display.
    pub fn report(&mut self) -> Vec<Reported> {
        let shown = self.entries.values_mut().filter(|entry| !(entry.row.has_closed && entry.is_reported));
        shown
            .filter_map(|entry| {
                entry.is_reported = entry.row.has_closed;
                Some(reported(&entry.row, entry.row.samples.last()?, entry.state))
            })
            .collect()
    }

    /// Segments that TCP counted of each connection since its second sample, which was the first one after it was chosen.
    pub fn segments(&self) -> impl Iterator<Item = (u32, Segments)> {
        self.entries.iter().filter_map(|(number, entry)| {
            let (first, last) = (&entry.row.samples.get(1)?.info.raw, &entry.row.samples.last()?.info.raw);
            let segments = Segments {
                retransmitted: last.total_retrans.wrapping_sub(first.total_retrans),
                data_out: last.data_segs_out.wrapping_sub(first.data_segs_out),
                data_in: last.data_segs_in.wrapping_sub(first.data_segs_in),
                all_in: last.segs_in.wrapping_sub(first.segs_in),
            };
            Some((*number, segments))
        })
    }

    /// Their rows, in the order of their numbers, and of how many rounds one is left.
    pub fn into_rows(self) -> (Vec<WatchedConnection>, u32) {
        (self.entries.into_values().map(|entry| entry.row).collect(), self.stride)
    }
}

/// Leaves out samples of rounds that are no multiple of `stride`, but the first and the last. No two are left for one
/// interval.
fn thin(samples: &mut Vec<Sample>, stride: u32) {
    let (count, mut position) = (samples.len(), 0);
    samples.retain(|sample| {
        position += 1;
        position == 1 || position == count || sample.round.is_multiple_of(stride)
    });
    // Of two with one number the later one counts.
    let mut kept: Vec<Sample> = Vec::with_capacity(samples.len());
    for sample in samples.drain(..) {
        if kept.last().is_some_and(|last| last.round / stride == sample.round / stride) {
            kept.pop();
        }
        kept.push(sample);
    }
    *samples = kept;
}

fn reported(row: &WatchedConnection, last: &Sample, state: u8) -> Reported {
    let raw = &last.info.raw;
    let [local, remote] = row.ends.map(|end| end.to_string());
    Reported {
        connection: row.number,
        endpoints: Endpoints { local, remote },
        program: row.owner.as_ref().map(|owner| owner.program.clone()).unwrap_or_default(),
        process: row.owner.as_ref().map(|owner| owner.process),
        state,
        is_whole: row.is_whole,
        acked_bytes: raw.bytes_acked,
        received_bytes: raw.bytes_received,
        retransmitted_segments: raw.total_retrans,
        data_segments_out: raw.data_segs_out,
        rtt_ns: u64::from(raw.rtt) * NS_PER_US,
        cwnd_segments: raw.snd_cwnd,
        mss_bytes: raw.snd_mss,
        peer_window_bytes: last.info.peer_window_bytes(),
        own_window_bytes: last.info.own_window_bytes(),
        unsent_bytes: raw.notsent_bytes,
        send_queue_bytes: last.send_queue_bytes,
        receive_queue_bytes: last.receive_queue_bytes,
        busy_ns: raw.busy_time * NS_PER_US,
        rwnd_limited_ns: raw.rwnd_limited * NS_PER_US,
        send_buffer_limited_ns: raw.sndbuf_limited * NS_PER_US,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::sockets::SocketState;
    use probe::tcp_info::{RawTcpInfo, TcpInfo};

    fn info(acked_bytes: u64) -> TcpInfo {
        let mut info = TcpInfo::from_bytes(&[0; size_of::<RawTcpInfo>()]);
        (info.raw.state, info.raw.bytes_acked, info.raw.bytes_sent) = (1, acked_bytes, acked_bytes);
        info.raw.data_segs_out = u32::from(acked_bytes > 0);
        info
    }

    fn socket(cookie: u64, acked_bytes: u64) -> Socket {
        let end = |port: u16| ([127, 0, 0, 1], port).into();
        Socket {
            key: SocketKey { local: end(1), remote: end(2), interface: 0, cookie },
            state: SocketState(1),
            receive_queue_bytes: 0,
            send_queue_bytes: 0,
            user: 0,
            inode: 9,
            info: Some(info(acked_bytes)),
            memory: None,
            congestion_control: None,
            control_group: None,
        }
    }

    fn new(cookie: u64, acked_bytes: u64, opened_after_ns: Option<u64>) -> New {
        let control_group = String::new();
        New { socket: socket(cookie, acked_bytes), mono_ns: 100, opened_after_ns, owner: None, control_group, listens: None }
    }

    #[test]
    fn what_was_moved_before_the_first_sight_does_not_count() {
        let mut connections = Connections::new(2);
        assert_eq!(connections.add(new(7, 1_000, None)), Some(0));
        assert_eq!(connections.add(new(8, 1_000, Some(50))), Some(1));
        connections.begin_round();
        for number in [0, 1] {
            let cookie = u64::from(number) + 7;
            assert!(!connections.on_answer(number, Some(socket(cookie, 1_500)), 200));
        }
        let (rows, stride) = connections.into_rows();
        let moved: Vec<_> = rows.iter().map(|row| (row.moved().acked_bytes, row.is_whole, row.zero_mono_ns)).collect();
        assert_eq!((moved, stride), (vec![(500, false, 100), (1_500, true, 50)], 1));
    }

    #[test]
    fn one_that_has_moved_nothing_yet_is_whole() {
        let mut connections = Connections::new(1);
        connections.add(new(7, 0, None));
        assert!(connections.report()[0].is_whole);
    }

    #[test]
    fn one_that_is_gone_is_reported_once_and_its_last_counters_may_come_later() {
        let mut connections = Connections::new(1);
        connections.add(new(7, 1_000, None));
        connections.begin_round();
        assert!(connections.on_answer(0, None, 200));
        assert!(!connections.on_answer(0, Some(socket(7, 1_200)), 300), "it is closed already");
        connections.begin_round();
        assert_eq!(connections.on_closing(&socket(7, 1_300), 400), Some(0));
        assert_eq!(connections.on_closing(&socket(8, 1_300), 400), None);
        let shown = connections.report();
        assert_eq!((shown.len(), shown[0].state, shown[0].acked_bytes), (1, CLOSED, 1_300));
        assert_eq!(connections.report(), []);
        let (rows, _) = connections.into_rows();
        assert_eq!((rows[0].moved().acked_bytes, rows[0].last_mono_ns), (300, 100));
    }

    #[test]
    fn a_busier_one_takes_the_place_of_the_one_that_moved_least() {
        let mut connections = Connections::new(2);
        for cookie in [7, 8] {
            connections.add(new(cookie, 0, None));
        }
        connections.begin_round();
        connections.on_answer(0, Some(socket(7, 500)), 200);
        connections.on_answer(1, Some(socket(8, 100)), 200);
        assert_eq!(connections.room_for(200), Room::None);
        assert_eq!(connections.room_for(202), Room::InPlaceOf(1));
        connections.drop_connection(1);
        assert!(!connections.has(8) && connections.room_for(0) == Room::Free);
        assert_eq!(connections.add(new(9, 0, None)), Some(2), "numbers are not used again");
    }

    #[test]
    fn a_long_watch_leaves_out_rounds_evenly_and_keeps_first_and_last() {
        let mut connections = Connections::new(1);
        connections.max_samples = 16;
        connections.add(new(7, 0, None));
        let mut thinned = 0;
        for round in 1..=100_u64 {
            connections.begin_round();
            connections.on_answer(0, Some(socket(7, round * 10)), 100 + round);
            thinned += u32::from(connections.thin());
        }
        assert!(connections.samples_count <= 16);
        let (rows, stride) = connections.into_rows();
        assert_eq!(stride, 1 << thinned);
        let rounds: Vec<u32> = rows[0].samples.iter().map(|sample| sample.round / stride).collect();
        assert!(rounds.windows(2).all(|pair| pair[0] < pair[1]), "{rounds:?}");
        assert_eq!((rows[0].moved().acked_bytes, rows[0].samples[0].mono_ns), (1_000, 100));
    }
}
