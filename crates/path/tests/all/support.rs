//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket};
use schema::testbed::{TcpQueueing, TestbedEnd, TestbedSpec};

/// How long a busy host may take for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// Held by the one test of a process that may have a testbed.
pub type Exclusive = MutexGuard<'static, ()>;

/// The turn of a test, where the process may make network namespaces; says so where it may not.
///
/// One test at a time: what crosses a veth pair waits in a queue of its CPU that all namespaces share
/// (`netdev_max_backlog`), so that the packets of one test could be dropped for those of another. A
/// namespace that is gone gives its number to the next one, too.
pub fn when_privileged() -> Option<Exclusive> {
    let allowed = thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET)).join().expect("thread");
    if let Err(error) = allowed {
        eprintln!("skipped: network namespaces cannot be made here ({error}); run as root");
        return None;
    }
    Some(one_at_a_time())
}

/// Waits for the tests that hold this.
pub fn one_at_a_time() -> Exclusive {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A spec as `whyperf run` would ask for.
pub fn spec() -> TestbedSpec {
    TestbedSpec {
        mtu_bytes: 1500,
        tso: true,
        gso: true,
        gro: true,
        near_rps_cpus: vec![],
        far_rps_cpus: vec![],
        path: None,
        path_cpu: None,
        napi_threads: None,
        tcp: TcpQueueing::default(),
    }
}

/// The devices of the namespace the test runs in.
pub fn host_devices() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/net/dev").expect("device table");
    table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

/// Runs `work` on a thread in the namespace behind `netns`.
pub fn inside<T: Send>(netns: &str, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let enter_and_work = || {
            setns(File::open(netns).expect("namespace"), CloneFlags::CLONE_NEWNET).expect("enter");
            work()
        };
        scope.spawn(enter_and_work).join().expect("thread")
    })
}

/// Waits until `done`, at most 30 s; says whether it came.
pub fn comes_true(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > Duration::from_secs(30) {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Sends `bytes` over one TCP connection from the near to the far host and returns how many came.
pub fn transfer(near: &TestbedEnd, far: &TestbedEnd, address: &str, bytes: usize) -> usize {
    let address: IpAddr = address.parse().expect("address");
    let listener = inside(&far.netns, || TcpListener::bind(SocketAddr::new(address, 0))).expect("listen");
    let to = listener.local_addr().expect("address");
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let mut stream = listener.accept().expect("accept").0;
            stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
            stream.read_to_end(&mut Vec::new()).expect("receive")
        });
        let mut stream = inside(&near.netns, || TcpStream::connect_timeout(&to, PATIENCE)).expect("connect");
        stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
        stream.write_all(&vec![7; bytes]).expect("send");
        drop(stream);
        receiver.join().expect("receiver")
    })
}

/// Sees the frames of a namespace's devices, both directions, as they pass the device.
pub struct Watch {
    socket: OwnedFd,
}

/// One frame.
#[derive(Debug)]
pub struct Frame {
    /// Length with the Ethernet header, in bytes.
    pub length: usize,
    /// The first bytes.
    pub head: Vec<u8>,
}

impl Watch {
    /// Starts to watch.
    pub fn open(netns: &str) -> Self {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let open = || socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).expect("packet socket");
        Self { socket: inside(netns, open) }
    }

    /// The frames seen so far; later ones are missing when many passed.
    pub fn frames(&self) -> Vec<Frame> {
        let mut head = [0; 64];
        let next = || {
            let length = recv(self.socket.as_raw_fd(), &mut head, MsgFlags::MSG_TRUNC).ok()?;
            Some(Frame { length, head: head[..length.min(64)].to_vec() })
        };
        std::iter::from_fn(next).collect()
    }
}

impl Frame {
    /// The type field of the Ethernet header.
    pub fn ether_type(&self) -> u16 {
        u16::from_be_bytes([self.head[12], self.head[13]])
    }

    /// Whether the frame is IPv6 with `ICMPv6` inside, as neighbor discovery is.
    pub fn is_icmp6(&self) -> bool {
        self.ether_type() == 0x86dd && self.head[20] == 58
    }
}

/// Segments that a connection has sent again (`TCP_INFO`).
pub fn sent_again(stream: &TcpStream) -> u32 {
    // SAFETY: all zeros is a valid `tcp_info`.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).expect("length");
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: both pointers are to values of the lengths that are given.
    let done = unsafe { libc::getsockopt(stream.as_raw_fd(), level, name, (&raw mut info).cast(), &raw mut length) };
    assert_eq!(done, 0, "TCP_INFO");
    info.tcpi_total_retrans
}

/// Segments that an end has received twice, by its own count (RFC 2883): the sender sent them again for nothing.
pub fn received_twice(end: &TestbedEnd) -> u64 {
    let table = inside(&end.netns, || std::fs::read_to_string("/proc/thread-self/net/netstat")).expect("counters");
    ["TCPDSACKOldSent", "TCPDSACKOfoSent"].map(|name| counter(&table, "TcpExt:", name)).iter().sum()
}

/// How many packets of `ICMPv6` the end has sent, such as questions for the address of its neighbor (RFC 4861).
pub fn icmp6_sent(end: &TestbedEnd) -> u64 {
    let table = inside(&end.netns, || std::fs::read_to_string("/proc/thread-self/net/snmp6")).expect("counters");
    let line = table.lines().find_map(|line| line.strip_prefix("Icmp6OutMsgs")).expect("counter");
    line.trim().parse().expect("number")
}

/// A counter of the table of `/proc/net/snmp` or `netstat` whose lines begin with `group`.
pub fn counter(table: &str, group: &str, name: &str) -> u64 {
    let mut lines = table.lines().filter(|line| line.starts_with(group)).map(str::split_whitespace);
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    names.zip(values).find(|(found, _)| *found == name).expect("counter").1.parse().expect("number")
}

/// Sends `bytes` with Reno from the near to the far host; how many came, and how many segments the
/// sender sent again.
pub fn transfer_counted(near: &TestbedEnd, far: &TestbedEnd, address: &str, bytes: usize) -> (usize, u32) {
    let listener = inside(&far.netns, || TcpListener::bind((address, 0))).expect("listen");
    let to = listener.local_addr().expect("address");
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let mut stream = listener.accept().expect("accept").0;
            stream.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
            let (mut received, mut buffer) = (0, vec![0; 1 << 16]);
            loop {
                match stream.read(&mut buffer).expect("receive") {
                    0 => return received,
                    length => {
                        let right = (received..).zip(&buffer[..length]).all(|(at, &byte)| byte == pattern(at));
                        assert!(right, "other bytes at {received}");
                        received += length;
                    }
                }
            }
        });
        let mut stream = inside(&near.netns, || TcpStream::connect_timeout(&to, Duration::from_secs(20))).expect("connect");
        setsockopt(&stream, TcpCongestion, &OsString::from("reno")).expect("Reno");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("timeout");
        let payload: Vec<u8> = (0..bytes).map(pattern).collect();
        stream.write_all(&payload).expect("send");
        stream.shutdown(Shutdown::Write).expect("shutdown");
        let count = receiver.join().expect("receiver");
        (count, sent_again(&stream))
    })
}

/// Byte `at` of what is sent: a period that fits no segment size.
fn pattern(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap_or_default()
}
