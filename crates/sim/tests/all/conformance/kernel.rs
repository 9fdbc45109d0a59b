//! The scenario in the kernel: two sockets over the loopback device of a network namespace that ends with its thread.

use super::{Observation, Scenario};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, socket};
use socket2::{SockFilter, SockRef};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// `PACKET_OUTGOING` of `linux/if_packet.h`: on the loopback device each packet is seen twice, and once as that.
const OUTGOING: u8 = 4;
const FIN: u8 = 1;
const SYN: u8 = 2;
/// `BPF_RET | BPF_K`: as many bytes as the constant says, and of 0 the packet is dropped.
const RETURN: u16 = 6;

/// Whether network namespaces can be made; says so where they cannot.
pub fn is_allowed() -> bool {
    let allowed = thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET)).join().expect("the thread ends");
    if let Err(error) = allowed {
        eprintln!("the kernel is left out: no network namespace can be made here ({error}); run as root");
    }
    allowed.is_ok()
}

/// Half of the kernel's shortest delay of an acknowledgment: a dialog or burst that took longer was held up by the host.
const STALLED: Duration = Duration::from_millis(20);
const ATTEMPTS: usize = 50;

/// Every segment as it left, in a try that the host did not hold up.
pub fn segments(scenario: &Scenario) -> Vec<Observation> {
    let play = || {
        let scenario = *scenario;
        thread::spawn(move || in_namespace(&scenario)).join().expect("the scenario ends")
    };
    (0..ATTEMPTS).map(|_| play()).find(|(longest, _)| *longest < STALLED).expect("a try that the host does not hold up").1
}

fn in_namespace(scenario: &Scenario) -> (Duration, Vec<Observation>) {
    unshare(CloneFlags::CLONE_NEWNET).expect("a namespace");
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip of iproute2").success());
    let tap = socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_NONBLOCK, SockProtocol::EthAll).expect("a packet socket");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let copy = *scenario;
    let (deaf, is_deaf) = mpsc::channel();
    let (written, is_written) = mpsc::channel();
    let far = thread::spawn(move || serve(&copy, listener.accept().expect("the near side connects").0, &deaf, &is_written));
    let near = TcpStream::connect(address).expect("the far side listens");
    let longest = ask(scenario, near, &is_deaf, &written);
    far.join().expect("the far side ends");
    (longest, read_tap(&tap, address.port()))
}

/// Returns how long the dialog took or the writes of the burst, whichever was longer.
fn ask(scenario: &Scenario, mut stream: TcpStream, is_deaf: &Receiver<()>, written: &Sender<()>) -> Duration {
    stream.set_nodelay(scenario.no_delay).expect("an option");
    let message = vec![0; scenario.message_bytes as usize];
    let mut reply = message.clone();
    let begun = Instant::now();
    for _ in 0..scenario.exchanges {
        stream.write_all(&message).expect("a write");
        stream.read_exact(&mut reply).expect("a reply");
    }
    let dialog = begun.elapsed();
    is_deaf.recv().expect("the far side goes on");
    let begun = Instant::now();
    for _ in 0..scenario.burst {
        stream.write_all(&message).expect("a write");
    }
    let longest = begun.elapsed().max(dialog);
    if scenario.is_first_lost {
        written.send(()).expect("the far side waits");
    }
    stream.read_exact(&mut reply).expect("a reply");
    longest
}

fn serve(scenario: &Scenario, mut stream: TcpStream, deaf: &Sender<()>, is_written: &Receiver<()>) {
    stream.set_nodelay(scenario.no_delay).expect("an option");
    let mut message = vec![0; scenario.message_bytes as usize];
    for _ in 0..scenario.exchanges {
        stream.read_exact(&mut message).expect("a message");
        stream.write_all(&message).expect("a write");
    }
    if scenario.is_first_lost {
        // A filter that takes nothing, before TCP: over the loopback device a segment arrives within its write.
        SockRef::from(&stream).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)]).expect("a filter");
    }
    deaf.send(()).expect("the near side waits");
    if scenario.is_first_lost {
        is_written.recv().expect("the near side goes on");
        SockRef::from(&stream).detach_filter().expect("no filter");
    }
    for _ in 0..scenario.burst {
        stream.read_exact(&mut message).expect("a message");
    }
    stream.write_all(&message).expect("a write");
}

/// What was seen of TCP to and from the far host's port, without handshake and end.
fn read_tap(tap: &OwnedFd, far_port: u16) -> Vec<Observation> {
    let mut packet = [0; 2048];
    let mut seen = Vec::new();
    // First numbers of the near and the far host's bytes, from their SYN.
    let mut first = [0_u32; 2];
    while let Ok((length, Some(from))) = recvfrom::<LinkAddr>(tap.as_raw_fd(), &mut packet) {
        // Version 4 without options, and TCP (RFC 791, RFC 9293).
        if from.pkttype() != OUTGOING || length < 40 || packet[0] != 0x45 || packet[9] != 6 {
            continue;
        }
        let word = |at: usize| u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
        let half = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let is_near = half(22) == far_port;
        let (number, acknowledged, flags) = (word(24), word(28), packet[33]);
        if flags & SYN != 0 {
            first[usize::from(!is_near)] = number.wrapping_add(1);
            continue;
        }
        if flags & FIN != 0 {
            continue;
        }
        seen.push(Observation {
            is_near,
            sequence: u64::from(number.wrapping_sub(first[usize::from(!is_near)])),
            bytes: u32::from(half(2)) - 20 - 4 * u32::from(packet[32] >> 4),
            acknowledgment: u64::from(acknowledged.wrapping_sub(first[usize::from(is_near)])),
        });
    }
    seen
}
