//! The load that is sent over the path: a connection that fills it, or now and then a single packet.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{SndBufForce, TcpCongestion};
use nix::unistd::Pid;
use schema::testbed::Testbed;

/// Payload of a packet that is sent singly, in bytes.
const SINGLE_BYTES: usize = 1_000;
/// Time between packets that are sent singly.
const SINGLE_PERIOD: Duration = Duration::from_millis(4);

/// The amount that is sent.
#[derive(Debug, Clone, Copy)]
pub enum Load {
    /// As much as there is room for, with at most this under way, in bytes.
    Full(usize),
    /// Single packets.
    Single,
}

/// Carries a load from the near to the far host for `time`, each host on a CPU of its own, and returns the bytes
/// that came and how long it took.
pub fn carry(testbed: &Testbed, cpus: [usize; 2], load: Load, time: Duration) -> (u64, Duration) {
    let bind = || TcpListener::bind((testbed.far.ipv4.as_str(), 0)).expect("listen");
    let listener = inside(&testbed.far.netns, bind);
    let to = listener.local_addr().expect("address");
    let receiver = thread::spawn(move || {
        pin(cpus[1]);
        let mut stream = listener.accept().expect("accept").0;
        let (mut received_bytes, mut buffer) = (0, vec![0; 1 << 18]);
        loop {
            match stream.read(&mut buffer).expect("receive") {
                0 => return received_bytes,
                length => received_bytes += length as u64,
            }
        }
    });
    pin(cpus[0]);
    let mut stream = inside(&testbed.near.netns, || TcpStream::connect(to).expect("connect"));
    setsockopt(&stream, TcpCongestion, &OsString::from("cubic")).expect("CUBIC");
    stream.set_nodelay(true).expect("a socket");
    if let Load::Full(window_bytes) = load {
        // The kernel doubles what it is asked for.
        setsockopt(&stream, SndBufForce, &(window_bytes / 2)).expect("buffer");
    }
    let (start, block) = (Instant::now(), vec![7; 1 << 17]);
    while start.elapsed() < time {
        match load {
            Load::Full(_) => stream.write_all(&block).expect("send"),
            Load::Single => {
                stream.write_all(&block[..SINGLE_BYTES]).expect("send");
                thread::sleep(SINGLE_PERIOD);
            }
        }
    }
    drop(stream);
    let received_bytes = receiver.join().expect("receiver");
    (received_bytes, start.elapsed())
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set)).expect("a CPU");
}

/// Does `work` on a thread in the namespace behind `netns`.
fn inside<T: Send>(netns: &str, work: impl FnOnce() -> T + Send) -> T {
    let enter = || setns(File::open(netns).expect("namespace"), CloneFlags::CLONE_NEWNET).expect("enter");
    thread::scope(|scope| {
        let enter_and_work = || {
            enter();
            work()
        };
        scope.spawn(enter_and_work).join().expect("thread")
    })
}
