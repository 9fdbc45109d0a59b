//! Two sockets of one process carry what is given to them.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use socket2::Domain;
use udt::{Library, Socket, SocketState};

/// How long a call waits before it says that there is nothing.
const TICK: Duration = Duration::from_millis(50);
/// Payload of a test: no multiple of a packet or a call.
const LENGTH: usize = 5_000_003;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connected pair: the one that connected, the one that was accepted.
fn pair(library: Library) -> (Socket, Socket) {
    let listener = Socket::open(library, Domain::IPV4).expect("socket");
    listener.set_waiting(None).expect("option");
    listener.bind(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("port")).expect("threads");
    listener.listen(8).expect("listen");
    let address = listener.local_address().expect("address");
    let connected = Socket::open(library, Domain::IPV4).expect("socket");
    connected.set_waiting(None).expect("option");
    connected.connect(address).expect("begin");
    let end = Instant::now() + PATIENCE;
    let accepted = loop {
        assert!(Instant::now() < end, "nobody came");
        match listener.accept() {
            Ok(accepted) => break accepted,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        thread::sleep(Duration::from_millis(1));
    };
    while connected.state() != SocketState::Connected {
        assert!(Instant::now() < end, "{:?}", connected.state());
        thread::sleep(Duration::from_millis(1));
    }
    for socket in [&connected, &accepted] {
        socket.set_waiting(Some(TICK)).expect("option");
    }
    (connected, accepted)
}

/// Tests with each library that is there.
fn with_each(test: fn(Library)) {
    for library in [Library::Udt, Library::Srt] {
        if library.is_present() {
            test(library);
        } else {
            eprintln!("skipped: {}", library.missing());
        }
    }
}

/// The byte at a place of the payload: no period that a packet or a call could share.
fn byte_at(place: usize) -> u8 {
    let mixed = place.wrapping_mul(0x9e37_79b9).rotate_left(13) ^ place;
    mixed.to_le_bytes()[0]
}

fn again<T>(mut call: impl FnMut() -> std::io::Result<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => assert!(Instant::now() < end, "nothing moves"),
            outcome => return outcome.expect("open"),
        }
    }
}

#[test]
fn what_arrives_is_what_was_sent() {
    with_each(what_arrives_is_what_was_sent_over);
}

fn what_arrives_is_what_was_sent_over(library: Library) {
    let (connected, accepted) = pair(library);
    let sender = thread::spawn(move || {
        let payload: Vec<u8> = (0..LENGTH).map(byte_at).collect();
        let mut sent = 0;
        while sent < LENGTH {
            sent += again(|| connected.send(&payload[sent..LENGTH.min(sent + 65_536)]));
        }
        let mut answer = [0; 3];
        assert_eq!(again(|| connected.receive(&mut answer)), 3);
        assert_eq!(&answer, b"end");
        connected.facts().expect("open")
    });
    let mut received = 0;
    let mut buffer = vec![0; 40_000];
    while received < LENGTH {
        let count = again(|| accepted.receive(&mut buffer));
        for (place, byte) in (received..).zip(&buffer[..count]) {
            assert_eq!(*byte, byte_at(place), "at {place}");
        }
        received += count;
    }
    assert_eq!(received, LENGTH);
    assert_eq!(again(|| accepted.send(b"end")), 3);
    let facts = sender.join().expect("sender");
    assert_eq!(facts.payload_bytes, 1456, "of a packet of 1500");
    assert!(facts.sent_packets - facts.retransmitted_packets >= (LENGTH as u64).div_ceil(1456), "{facts:?}");
    assert!(facts.rtt_ns > 0 && facts.acks_received_count > 0, "{facts:?}");
    assert!(accepted.facts().map_or(LENGTH as u64, |facts| facts.received_packets) > LENGTH as u64 / 1456);
}

#[test]
fn who_closes_is_gone_for_the_other() {
    with_each(who_closes_is_gone_for_the_other_over);
}

fn who_closes_is_gone_for_the_other_over(library: Library) {
    let (connected, accepted) = pair(library);
    drop(connected);
    let end = Instant::now() + PATIENCE;
    let error = loop {
        match accepted.receive(&mut [0; 8]) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => break error,
            other => assert!(Instant::now() < end, "{other:?}"),
        }
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}
