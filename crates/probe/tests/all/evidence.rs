//! The evidence of real connections over the loopback, held against what the sockets themselves say.

use crate::{foreign_map, guard};
use libbpf_rs::{MapCore, MapType};
use probe::evidence::{Call, NONE, Record, Watch, Watched};
use schema::evidence::{Evidence, Loan};
use schema::table::AckReason;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const HANDSHAKE: u8 = AckReason::Handshake as u8;
/// Of a segment's flags.
const FIN: u8 = 1;
/// How long a busy host may take for the last segments of a connection.
const PATIENCE: Duration = Duration::from_secs(20);
/// A run of a program that another connection of this host interrupts is missed: a transfer is tried this often.
const ATTEMPTS: u32 = 4;

/// Opens a watch, or says why this host allows none: the tests need root.
fn watch(level: Evidence) -> Option<Watch> {
    match Watch::open(level, 4, false) {
        Ok(watch) => Some(watch),
        Err(refused) if nix::unistd::geteuid().is_root() => panic!("{}", refused.reason),
        Err(refused) => {
            eprintln!("skipped: {}", refused.reason);
            None
        }
    }
}

/// Moves `bytes` from a connecting host to a listening one, and closes both.
fn transfer(listener: &TcpListener, bytes: usize) {
    let address = listener.local_addr().expect("address");
    let sender = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("connect");
        stream.write_all(&vec![7; bytes]).expect("write");
    });
    let (mut stream, _) = listener.accept().expect("accept");
    let mut read = Vec::new();
    stream.read_to_end(&mut read).expect("read");
    assert_eq!(read.len(), bytes);
    sender.join().expect("sender");
}

/// Bytes of the sequence space that the segments of a direction cover: a busy host retransmits.
fn bytes_once(records: &[Record], direction: u8) -> u64 {
    let data = records.iter().filter(|record| record.direction == direction && record.payload_bytes > 0);
    let first = data.clone().map(|record| record.sequence).next().unwrap_or(0);
    let mut spans: Vec<(u32, u32)> = data.map(|record| (record.sequence.wrapping_sub(first), record.payload_bytes)).collect();
    spans.sort_unstable();
    let mut covered = 0u64;
    let mut end = 0u64;
    for (start, length) in spans {
        let (start, stop) = (u64::from(start), u64::from(start) + u64::from(length));
        covered += stop.saturating_sub(start.max(end));
        end = end.max(stop);
    }
    covered
}

/// A transfer with its watch and its log.
fn watched(address: &str, listens: bool, bytes: usize) -> Option<(Watch, Vec<Record>)> {
    for attempt in 1.. {
        let watch = watch(Evidence::Segments)?;
        let listener = TcpListener::bind(address).expect("bind");
        let port = listener.local_addr().expect("address").port();
        watch.start(&Watched { port, listens, timed_cpus: Vec::new() }).expect("namespace");
        transfer(&listener, bytes);
        let records = records(&watch);
        if attempt == ATTEMPTS || bytes_once(&records, u8::from(listens)) == bytes as u64 {
            return Some((watch, records));
        }
    }
    None
}

#[test]
fn the_log_holds_every_byte_on_both_sides() {
    const BYTES: usize = 3_000_000;
    let _guard = guard();
    for (address, listens) in [("127.0.0.1:0", false), ("127.0.0.1:0", true), ("[::1]:0", false), ("[::1]:0", true)] {
        let Some((watch, records)) = watched(address, listens, BYTES) else { return };
        assert_eq!(watch.log().expect("log").lost().iter().sum::<u64>(), 0);
        let direction = u8::from(listens);
        assert_eq!(bytes_once(&records, direction), BYTES as u64, "{address} listens {listens}");
        // Handshake and both FINs are there, in both directions.
        for direction in [0, 1] {
            for flag in [2, 1] {
                let found = records.iter().filter(|record| record.direction == direction && record.flags & flag != 0).count();
                assert!(found >= 1, "flag {flag} direction {direction} of {records:#?}");
            }
        }
        let pure = |record: &&Record| record.direction == 0 && record.payload_bytes == 0 && record.flags.trailing_zeros() > 2;
        assert!(records.iter().filter(pure).all(|record| record.reason != NONE));
        let connections = watch.connections();
        assert_eq!(connections.len(), 1);
        let counted = connections.values().next().expect("one");
        let bytes = if listens { counted.arrived.data_bytes } else { counted.out.data_bytes };
        let logged = records.iter().filter(|record| record.direction == direction).map(|record| u64::from(record.payload_bytes));
        assert_eq!(bytes, logged.sum::<u64>());
        assert_eq!(counted.out.by_context.iter().sum::<u64>(), counted.out.data_packets);
        assert_eq!(moved_by(&calls(&watch), direction), BYTES as u64);
    }
}

/// What is in a watch's log of calls; none where the kernel lacks its hooks.
fn calls(watch: &Watch) -> Vec<Call> {
    let mut calls = Vec::new();
    let Some(log) = watch.calls() else { return calls };
    log.drain(u64::MAX, |_, call| calls.push(*call));
    calls.sort_by_key(|call| call.end_ns);
    calls
}

/// Payload that calls of a kind moved, each of which spent its time within itself, one after the other in its thread.
fn moved_by(calls: &[Call], kind: u8) -> u64 {
    for (number, call) in calls.iter().enumerate().filter(|(_, call)| call.start_ns != 0) {
        assert!(call.start_ns + call.asleep_ns + call.runnable_ns + call.softirq_ns <= call.end_ns, "{call:?}");
        if let Some(before) = calls[..number].iter().rev().find(|before| before.thread == call.thread) {
            let idle = call.asleep_before_ns + call.runnable_before_ns + call.softirq_before_ns;
            assert!(before.end_ns + idle <= call.start_ns, "{before:?} {call:?}");
        }
    }
    calls.iter().filter(|call| call.kind == kind).map(|call| u64::from(call.moved_bytes)).sum()
}

/// What is in a watch's log of a connection that both hosts have closed, or are about to: waits for both FINs and the
/// acknowledgment of each.
fn records(watch: &Watch) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let end = Instant::now() + PATIENCE;
    let is_closed = |records: &[Record]| {
        let fins =
            [0, 1].map(|way| records.iter().filter(|found| found.direction == way && found.flags & FIN != 0).map(|fin| fin.mono_ns).max());
        let answered = |way: u8, fin: u64| records.iter().any(|found| found.direction != way && found.mono_ns >= fin);
        fins[0].zip(fins[1]).is_some_and(|(first, second)| answered(0, first) && answered(1, second))
    };
    while !is_closed(&records) && Instant::now() < end {
        thread::sleep(Duration::from_millis(20));
        watch.log().expect("log").drain(u64::MAX, |_, record| records.push(*record));
    }
    records.sort_by_key(|record| record.mono_ns);
    records
}

#[test]
fn both_sides_see_their_own_by_one_set_of_programs() {
    let _guard = guard();
    if watch(Evidence::User).is_none() {
        return;
    }
    for lender_listens in [true, false] {
        let lender = Watch::open(Evidence::Segments, 4, true).expect("programs");
        let loan = lender.loan().expect("a loan");
        let borrower = Watch::borrow(&loan).expect("maps");
        assert!(borrower.is_of(&loan) && borrower.loan().is_none());
        assert!(lender.suits(Evidence::Segments, 4, true) && !borrower.suits(Evidence::Segments, 4, false));
        for _ in 0..2 {
            let is_whole = (1..=ATTEMPTS).any(|attempt| watch_a_transfer(&lender, &borrower, lender_listens, attempt == ATTEMPTS));
            assert!(is_whole);
        }
    }
}

#[test]
fn no_map_but_that_of_the_programs_is_borrowed() {
    let _guard = guard();
    if watch(Evidence::User).is_none() {
        return;
    }
    let lender = Watch::open(Evidence::Segments, 4, true).expect("programs");
    let loan = lender.loan().expect("a loan");
    assert!(Watch::borrow(&loan).is_ok());
    let (threads, logs) = (loan.load_threads_map, loan.logs_map);
    assert!(Watch::borrow(&Loan { control_map: loan.connections_map, ..loan.clone() }).is_err());
    // The logs of calls are of the same type, and as many.
    assert!(logs.is_some() && Watch::borrow(&Loan { calls_map: logs, ..loan.clone() }).is_err());
    assert!(Watch::borrow(&Loan { logs_map: Some(threads), ..loan.clone() }).is_err());
    // Of another program: it differs in name, value, room or type from the map of the load's threads.
    let foreign = [
        foreign_map(MapType::Hash, "victims", [8, 1, 32_768]),
        foreign_map(MapType::Hash, "load_threads", [8, 4, 32_768]),
        foreign_map(MapType::Hash, "load_threads", [8, 1, 64]),
        foreign_map(MapType::Hash, "load_threads", [4, 1, 32_768]),
        foreign_map(MapType::LruHash, "load_threads", [8, 1, 32_768]),
    ];
    for (at, map) in foreign.iter().enumerate() {
        let number = map.info().expect("it is there").info.id;
        assert!(Watch::borrow(&Loan { load_threads_map: number, ..loan.clone() }).is_err(), "{at}");
    }
}

/// One trial of ends that share programs; false if something was missed that may be missed.
fn watch_a_transfer(lender: &Watch, borrower: &Watch, lender_listens: bool, is_last: bool) -> bool {
    const BYTES: usize = 3_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    for (watch, listens) in [(lender, lender_listens), (borrower, !lender_listens)] {
        watch.start(&Watched { port, listens, timed_cpus: Vec::new() }).expect("namespace");
    }
    transfer(&listener, BYTES);
    for (watch, listens) in [(lender, lender_listens), (borrower, !lender_listens)] {
        let direction = u8::from(listens);
        let records = records(watch);
        if !is_last && bytes_once(&records, direction) != BYTES as u64 {
            return false;
        }
        assert_eq!(bytes_once(&records, direction), BYTES as u64, "lender listens {lender_listens}, this one {listens}");
        assert!(records.iter().all(|record| record.payload_bytes == 0 || record.direction == direction));
        let connections = watch.connections();
        let counted = connections.values().next().expect("one");
        assert_eq!((connections.len(), watch.refused_count(), watch.missed_runs_count()), (1, 0, 0));
        let (own, other) = (counted.out.data_bytes, counted.arrived.data_bytes);
        assert_eq!(if listens { own } else { other }, 0);
        // The handshake is acknowledged by whoever connected.
        assert_eq!(records.iter().filter(|record| record.reason == HANDSHAKE).count(), usize::from(!listens));
    }
    true
}

#[test]
fn every_hook_is_listed() {
    let _guard = guard();
    let start = Instant::now();
    let hooks = probe::evidence::hooks();
    eprintln!("{:?} {hooks:#?}", start.elapsed());
    assert_eq!(hooks.len(), 10);
    assert!(hooks.iter().all(|hook| !hook.reason.is_empty() && hook.name.contains(':')));
}

/// Time of softirqs on all CPUs, and of that on top of the threads that are the load.
fn softirq_ns(watch: &Watch) -> (u64, Option<u64>) {
    let vectors: Vec<_> = watch.cpus().into_iter().flat_map(|cpu| cpu.vectors).collect();
    let on_load: Option<Vec<u64>> = vectors.iter().map(|vector| watch.on_load_ns(vector)).collect();
    (vectors.iter().map(|vector| vector.ns).sum(), on_load.map(|times| times.iter().sum()))
}

/// Sends datagrams to itself over the loopback, where the sender's thread runs the receive softirq; gives its CPU time.
fn send_to_itself(time: Duration) -> Duration {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
    let own = || Duration::from(nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).expect("clock"));
    let (address, start) = (socket.local_addr().expect("address"), own());
    loop {
        for _ in 0..100 {
            socket.send_to(&[7; 1000], address).expect("send");
            socket.recv_from(&mut [0; 1000]).expect("receive");
        }
        let used = own().saturating_sub(start);
        if used >= time {
            return used;
        }
    }
}

#[test]
fn softirqs_on_top_of_the_load_s_threads_are_counted_apart() {
    let _guard = guard();
    let Some(watch) = watch(Evidence::Counters) else { return };
    watch.start(&Watched { port: 9, listens: false, timed_cpus: Vec::new() }).expect("namespace");
    assert_eq!(softirq_ns(&watch).1, None);
    let (this, time) = (nix::unistd::gettid().as_raw(), Duration::from_millis(100));
    let this = u32::try_from(this).expect("an id");
    let measured = |threads: &[u32]| {
        watch.count_on_top_of(threads).unwrap_or_else(|refused| panic!("{}", refused.reason));
        let before = softirq_ns(&watch);
        let used = u64::try_from(send_to_itself(time).as_nanos()).expect("not long");
        let after = softirq_ns(&watch);
        (after.0 - before.0, after.1.expect("known") - before.1.expect("known"), used)
    };
    let (all, on_load, used) = measured(&[this]);
    assert!(0 < on_load && on_load <= all && on_load <= used, "{on_load} of {all} ns in {used} ns");
    // A thread of this process that is none of the load's, and another thread's number; and the load's once more, although
    // it has run without a break.
    assert_eq!(measured(&[]).1, 0);
    assert_eq!(measured(&[u32::MAX]).1, 0);
    assert_ne!(measured(&[this]).1, 0);
}
