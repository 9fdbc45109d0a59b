//! Which ports a thread connects from.

use socket2::SockAddr;
use std::fs;
use std::net::SocketAddr;

/// Source addresses on the loopback: 127.0.0.1 to 127.0.0.16.
const MAX_SOURCES: u8 = 16;

/// Where one thread connects from, by turns.
///
/// Left to itself, connect(2) looks for a free port from a random one on, and passes over all that
/// closed connections still keep (`TIME_WAIT`): with most of 28 000 ports kept that is a third of a
/// connection's cost. By turns, the port that comes next is the one that was closed first. Ports at an
/// even distance from the first are taken, as connect(2) itself prefers, and the others left to
/// bind(2), unless the even ones are used up. On the loopback every round of ports has another source
/// address, for the kernel takes a kept port again after a second at the earliest; elsewhere 28 000
/// connections a second to one port are the most there can be.
#[derive(Debug)]
pub(crate) struct Ports {
    first: u32,
    last: u32,
    /// Distance of two ports that this thread takes.
    step: u32,
    /// The thread's first distance from the first port.
    offset: u32,
    next: u32,
    /// The same of the ports at odd distances, while those at even ones are taken, and the other way.
    next_other: u32,
    /// True if the kernel lets a socket choose.
    pub(super) is_known: bool,
    /// Last octet of the address on the loopback.
    source: u8,
}

impl Ports {
    /// Those of this thread among so many.
    pub fn of_host(thread: u32, threads: u32) -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let mut bounds = range.split_ascii_whitespace().filter_map(|bound| bound.parse::<u16>().ok());
        Self::new(u32::from(bounds.next().unwrap_or(0)), u32::from(bounds.next().unwrap_or(0)), thread, threads)
    }

    fn new(first: u32, last: u32, thread: u32, threads: u32) -> Self {
        let (step, offset) = (2 * threads.max(1), 2 * thread);
        let is_known = first > 0 && last.saturating_sub(first) > step;
        Self { first, last, step, offset, next: first + offset, next_other: first + offset + 1, is_known, source: 1 }
    }

    /// The next port; none where the kernel does not let a socket choose.
    pub fn next_port(&mut self) -> Option<u16> {
        if !self.is_known {
            return None;
        }
        let port = self.next;
        self.next += self.step;
        if self.next > self.last {
            self.next = self.first + self.offset;
            self.source = self.source % MAX_SOURCES + 1;
        }
        u16::try_from(port).ok()
    }

    /// None of the ports that come next is free: takes the odd ones, or the even ones again.
    pub fn take_others(&mut self) {
        if self.is_known {
            std::mem::swap(&mut self.next, &mut self.next_other);
            self.offset ^= 1;
        }
    }

    /// The address to connect from where the destination is on the loopback; none: as the kernel says.
    pub fn source(&self, address: &SockAddr) -> Option<SockAddr> {
        let SocketAddr::V4(destination) = address.as_socket()? else { return None };
        let is_other = destination.ip().is_loopback() && self.source > 1;
        is_other.then(|| SocketAddr::from(([127, 0, 0, self.source], 0)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_ports_and_begin_anew_from_another_address() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 80)).into();
        let mut threads = [Ports::new(100, 107, 0, 2), Ports::new(100, 107, 1, 2)];
        let mut next_ports = |thread: usize| -> Vec<u16> { (0..3).map(|_| threads[thread].next_port().expect("known")).collect() };
        assert_eq!(next_ports(0), [100, 104, 100]);
        assert_eq!(next_ports(1), [102, 106, 102]);
        let source = threads[0].source(&loopback).and_then(|source| source.as_socket()).expect("an address");
        assert_eq!(source.to_string(), "127.0.0.2:0");
        assert!(threads[0].source(&SocketAddr::from(([192, 0, 2, 1], 80)).into()).is_none());
        threads[0].take_others();
        assert_eq!([threads[0].next_port(), threads[0].next_port()], [Some(101), Some(105)]);
        threads[0].take_others();
        assert_eq!(threads[0].next_port(), Some(104), "where the even ones were left");
    }
}
