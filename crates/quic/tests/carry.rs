//! Two ends in one process carry what is given to them.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use quic::{Identity, Listener, QuicConnection, Settings};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &[u8] = b"secret";
const TICK: Duration = Duration::from_millis(10);
/// Payload of a test: no multiple of a packet or a call.
const LENGTH: usize = 5_000_003;
/// Datagrams of a test.
const DATAGRAMS: u64 = 2000;

fn settings() -> Settings {
    Settings { takes_datagrams: true, ..Settings::default() }
}

/// One test at a time: what another one sends fills the queue of a CPU, which drops packets of the
/// loopback then (`netdev_max_backlog`), and a datagram is not sent again.
fn exclusive() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connected pair: the one that connected, and the one that was accepted.
fn pair() -> (QuicConnection, QuicConnection) {
    let (mut listener, address) = listener();
    let mut connecting = QuicConnection::connect(address, &Identity::of(SECRET).expect("made"), &settings()).expect("socket");
    let mut connections = Vec::new();
    let end = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < end, "nothing comes of it");
        connecting.drive(Duration::from_millis(1)).expect("is driven");
        listener.take(address, &mut connections);
        for connection in &mut connections {
            connection.drive(Duration::ZERO).expect("is driven");
        }
        if connecting.is_connected() && connections.first().is_some_and(QuicConnection::is_connected) {
            return (connecting, connections.remove(0));
        }
    }
}

/// Somebody on the path, whom the connecting host takes for the listening one.
struct Relay {
    near: UdpSocket,
    far: UdpSocket,
    from: Option<SocketAddr>,
}

impl Relay {
    fn before(address: SocketAddr) -> Self {
        let [near, far] = [0, 1].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("port"));
        near.set_nonblocking(true).and(far.set_nonblocking(true)).and(far.connect(address)).expect("options");
        Self { near, far, from: None }
    }

    /// What the connecting host has sent.
    fn heard(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 65_536];
        let (count, from) = self.near.recv_from(&mut bytes).ok()?;
        self.from = Some(from);
        bytes.truncate(count);
        Some(bytes)
    }

    fn pass(&self, packet: &[u8]) {
        self.far.send(packet).expect("it goes");
    }

    fn pass_back(&self) {
        let mut bytes = vec![0; 65_536];
        while let (Ok(count), Some(from)) = (self.far.recv(&mut bytes), self.from) {
            self.near.send_to(&bytes[..count], from).expect("it goes");
        }
    }
}

/// Opens a connection through somebody on the path, who does this with the first packet and passes on all others. Returns what
/// has come of it at the listening host.
fn open_through(does: impl FnOnce(&Relay, &[u8])) -> (Listener, SocketAddr, Relay, Vec<QuicConnection>) {
    let (mut listener, address) = listener();
    let mut relay = Relay::before(address);
    let there = relay.near.local_addr().expect("address");
    let mut connecting = QuicConnection::connect(there, &Identity::of(SECRET).expect("made"), &settings()).expect("socket");
    let (mut does, mut connections, end) = (Some(does), Vec::new(), Instant::now() + PATIENCE);
    while !(connecting.is_connected() && connections.iter().any(QuicConnection::is_connected)) {
        assert!(Instant::now() < end, "nothing comes of it");
        connecting.drive(Duration::from_millis(1)).expect("is driven");
        while let Some(packet) = relay.heard() {
            match does.take() {
                Some(does) => does(&relay, &packet),
                None => relay.pass(&packet),
            }
        }
        listener.take(address, &mut connections);
        for connection in &mut connections {
            connection.drive(Duration::ZERO).expect("is driven");
        }
        relay.pass_back();
    }
    (listener, address, relay, connections)
}

fn listener() -> (Listener, SocketAddr) {
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("port");
    let address: SocketAddr = free.local_addr().expect("address");
    drop(free);
    (Listener::bind(address, Identity::of(SECRET).expect("made"), settings()).expect("bound"), address)
}

/// The byte at a place of the payload: no period that a packet or a call could share.
fn byte_at(place: usize) -> u8 {
    let mixed = place.wrapping_mul(0x9e37_79b9).rotate_left(13) ^ place;
    mixed.to_le_bytes()[0]
}

#[test]
fn what_arrives_is_what_was_sent() {
    let _guard = exclusive();
    let (mut connecting, mut accepted) = pair();
    let sender = thread::spawn(move || {
        let payload: Vec<u8> = (0..LENGTH).map(byte_at).collect();
        let (mut sent, end) = (0, Instant::now() + PATIENCE);
        while sent < LENGTH {
            assert!(Instant::now() < end, "nothing moves");
            match connecting.write(&payload[sent..LENGTH.min(sent + 65_536)]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => connecting.drive(TICK).expect("is driven"),
                Err(error) => panic!("{error}"),
            }
        }
        connecting.finish();
        while !connecting.is_delivered() {
            assert!(Instant::now() < end, "nobody acknowledges");
            connecting.drive(TICK).expect("is driven");
        }
        connecting.show(true);
        let facts = *connecting.facts().lock().expect("whole");
        connecting.close();
        facts
    });
    let (mut received, mut buffer, end) = (0, vec![0; 40_000], Instant::now() + PATIENCE);
    loop {
        assert!(Instant::now() < end, "nothing comes");
        match accepted.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                for (place, byte) in (received..).zip(&buffer[..count]) {
                    assert_eq!(*byte, byte_at(place), "at {place}");
                }
                received += count;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => accepted.drive(TICK).expect("is driven"),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(received, LENGTH);
    while !sender.is_finished() {
        accepted.drive(TICK).expect("is driven");
    }
    let facts = sender.join().expect("sender");
    accepted.show(true);
    let arrived = *accepted.facts().lock().expect("whole");
    assert!(facts.sent_packets >= (LENGTH as u64).div_ceil(u64::from(facts.packet_bytes)), "{facts:?}");
    // Packets leave many at a time, where the kernel can segment them, and cross the loopback uncut.
    assert!(facts.send_calls_count < facts.sent_packets, "{facts:?}");
    assert!(facts.longest_sent_bytes > 4 * u64::from(facts.packet_bytes), "{facts:?}");
    assert!(arrived.longest_received_bytes > 4 * u64::from(arrived.packet_bytes), "{arrived:?}");
}

#[test]
fn who_does_not_know_the_secret_gets_no_connection() {
    let _guard = exclusive();
    let (mut listener, address) = listener();
    let another = Identity::of(b"another").expect("made");
    let mut unauthenticated: Vec<QuicConnection> =
        (0..8).map(|_| QuicConnection::connect(address, &another, &settings()).expect("socket")).collect();
    let mut connections = Vec::new();
    let end = Instant::now() + PATIENCE;
    while listener.strangers_count() < 8 {
        assert!(Instant::now() < end, "their first packets do not come");
        for unauthenticated in &mut unauthenticated {
            unauthenticated.drive(Duration::from_millis(1)).expect("is driven");
        }
        listener.take(address, &mut connections);
    }
    assert!(connections.is_empty());
}

#[test]
fn a_first_packet_that_others_repeat_begins_one_connection() {
    const REPEATS: u64 = 50;
    let _guard = exclusive();
    let (mut listener, address, _relay, mut connections) = open_through(|relay, packet| {
        relay.pass(packet);
        for _ in 0..REPEATS {
            let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("port");
            other.send_to(packet, relay.far.peer_addr().expect("address")).expect("it goes");
        }
    });
    let end = Instant::now() + PATIENCE;
    while listener.strangers_count() < REPEATS && connections.len() == 1 {
        assert!(Instant::now() < end, "{} were counted", listener.strangers_count());
        listener.take(address, &mut connections);
    }
    assert_eq!((connections.len(), listener.strangers_count()), (1, REPEATS));
}

#[test]
fn a_first_packet_that_is_lost_or_repeated_on_its_way_begins_one_connection() {
    let _guard = exclusive();
    let mut first = Vec::new();
    for times in [0, 1, 3] {
        let (mut listener, address, relay, mut connections) = open_through(|relay, packet| {
            (0..times).for_each(|_| relay.pass(packet));
            first = packet.to_vec();
        });
        assert_eq!((connections.len(), listener.strangers_count()), (1, 0), "{times}");
        // Late, when another thread has the connection, or it is over.
        connections.clear();
        if times > 0 {
            relay.pass(&first);
        }
        relay.pass(b"who else?");
        let end = Instant::now() + PATIENCE;
        while listener.strangers_count() == 0 {
            assert!(Instant::now() < end, "what comes late does not come");
            listener.take(address, &mut connections);
        }
        assert_eq!((connections.len(), listener.strangers_count()), (0, 1), "{times}");
    }
}

#[test]
fn a_connection_that_lacks_a_file_begins_when_there_is_one() {
    let _guard = exclusive();
    let (mut listener, address) = listener();
    let mut connecting = QuicConnection::connect(address, &Identity::of(SECRET).expect("made"), &settings()).expect("socket");
    connecting.drive(Duration::ZERO).expect("is driven");
    let (mut connections, end) = (Vec::new(), Instant::now() + PATIENCE);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, 0, hard).expect("may be lowered");
    while listener.strangers_count() == 0 && Instant::now() < end {
        listener.take(address, &mut connections);
    }
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).expect("may be raised");
    assert_eq!(listener.failure().and_then(std::io::Error::raw_os_error), Some(nix::libc::EMFILE));
    assert!(connections.is_empty());
    while !connecting.is_connected() {
        assert!(Instant::now() < end, "nothing comes of it");
        connecting.drive(Duration::from_millis(1)).expect("is driven");
        listener.take(address, &mut connections);
        for connection in &mut connections {
            connection.drive(Duration::ZERO).expect("is driven");
        }
    }
    assert_eq!(connections.len(), 1);
}

#[test]
fn datagrams_arrive_whole_and_are_segmented_on_their_way() {
    let _guard = exclusive();
    let (mut connecting, mut accepted) = pair();
    let most = connecting.max_datagram_bytes().expect("takes datagrams");
    assert!(connecting.write_datagram(&vec![0; most + 1]).is_err_and(|error| error.kind() == ErrorKind::InvalidInput));
    let (mut arrived, end) = (Vec::new(), Instant::now() + PATIENCE);
    let mut sent = 0u64;
    // The loopback loses none as long as the reader keeps up.
    while (arrived.len() as u64) < DATAGRAMS {
        assert!(Instant::now() < end, "{} of {sent} came", arrived.len());
        while sent < DATAGRAMS && sent < arrived.len() as u64 + 64 {
            let mut datagram = vec![0x5a; most];
            datagram[..8].copy_from_slice(&sent.to_be_bytes());
            match connecting.write_datagram(&datagram) {
                Ok(()) => sent += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        connecting.drive(Duration::ZERO).expect("is driven");
        accepted.drive(Duration::from_millis(1)).expect("is driven");
        while let Ok(datagram) = accepted.read_datagram() {
            arrived.push(datagram);
        }
    }
    let mut numbers: Vec<u64> = arrived.iter().map(|datagram| u64::from_be_bytes(datagram[..8].try_into().expect("long"))).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..DATAGRAMS).collect::<Vec<u64>>());
    assert!(arrived.iter().all(|datagram| datagram.len() == most));
    connecting.drive(Duration::ZERO).expect("is driven");
    assert!(connecting.has_sent_datagrams());
    for connection in [&mut connecting, &mut accepted] {
        connection.show(true);
    }
    let (sent, received) = (*connecting.facts().lock().expect("whole"), *accepted.facts().lock().expect("whole"));
    assert!(sent.longest_sent_bytes > 4 * most as u64, "{sent:?}");
    assert!(received.longest_received_bytes > 4 * most as u64, "{received:?}");
}
