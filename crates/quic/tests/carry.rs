//! Two ends in one process carry what is given to them.

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
        listener.take(address, &mut connections).expect("take");
        for connection in &mut connections {
            connection.drive(Duration::ZERO).expect("is driven");
        }
        if connecting.is_connected() && connections.first().is_some_and(QuicConnection::is_connected) {
            return (connecting, connections.remove(0));
        }
    }
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
        listener.take(address, &mut connections).expect("take");
    }
    assert!(connections.is_empty());
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
