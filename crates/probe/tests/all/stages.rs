//! Stage times of real connections over the loopback.

use crate::{foreign_map, guard};
use libbpf_rs::{MapCore, MapFlags, MapType};
use probe::stages::{StageRecord, StageWatch, cpu_of_log};
use schema::evidence::{StagesLoan, StagesSpec};
use schema::table::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const BLOCK_BYTES: u32 = 1 << 18;
const ALL: StagesSpec = StagesSpec { block_bytes: BLOCK_BYTES, one_in_count: 1, overhead_ppm: 0, window_ms: 0 };
const OUT: u8 = 0;

/// Opens a watch, or says why this host allows none: the tests need root.
fn watch() -> Option<StageWatch> {
    match StageWatch::open() {
        Ok(watch) => Some(watch),
        Err(refused) if nix::unistd::geteuid().is_root() => panic!("{}", refused.reason),
        Err(refused) => {
            eprintln!("skipped: {}", refused.reason);
            None
        }
    }
}

/// Moves `bytes` in writes of so many from a connecting host to a listening one.
fn transfer(listener: &TcpListener, bytes: usize, write_bytes: usize) {
    let address = listener.local_addr().expect("address");
    let sender = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("connect");
        stream.set_nodelay(true).expect("option");
        let message = vec![7; write_bytes];
        for _ in 0..bytes / write_bytes {
            stream.write_all(&message).expect("write");
        }
    });
    let (mut stream, _) = listener.accept().expect("accept");
    let (mut buffer, mut read) = (vec![0; 1 << 17], 0);
    while read < bytes {
        let count = stream.read(&mut buffer).expect("read");
        assert!(count > 0, "{read} of {bytes}");
        read += count;
    }
    sender.join().expect("sender");
}

/// All rows, with the CPU of each.
fn rows(watch: &StageWatch) -> Vec<(u32, StageRecord)> {
    let mut rows = Vec::new();
    let guard = watch.log();
    let log = guard.as_ref().expect("it was started");
    log.drain(u64::MAX, |number, record: &StageRecord| rows.push((cpu_of_log(number), *record)));
    assert_eq!(log.lost().iter().sum::<u64>(), 0);
    rows
}

fn of(rows: &[(u32, StageRecord)], stage: Stage) -> impl Iterator<Item = &StageRecord> {
    rows.iter().map(|(_, record)| record).filter(move |record| record.stage == stage as u8)
}

/// Starts both hosts of the loopback by two watches on one set of programs.
fn both(port: u16, spec: &StagesSpec) -> Option<[StageWatch; 2]> {
    let lender = watch()?;
    let borrower = StageWatch::borrow(&lender.loan().expect("a loan")).expect("maps");
    lender.start(spec, port, true).expect("started");
    borrower.start(spec, port, false).expect("started");
    Some([borrower, lender])
}

#[test]
fn no_map_but_that_of_the_programs_is_borrowed() {
    let _guard = guard();
    let Some(lender) = watch() else { return };
    let loan = lender.loan().expect("a loan");
    assert!(StageWatch::borrow(&loan).is_ok());
    assert!(StageWatch::borrow(&StagesLoan { control_map: loan.cpus_map, ..loan.clone() }).is_err());
    assert!(StageWatch::borrow(&StagesLoan { logs_map: loan.gaps_map, ..loan.clone() }).is_err());
    // Of another program: it differs in name, value or room from the map of gaps.
    let foreign = [("victims", [8, 8, 16_384]), ("stage_gaps", [8, 4, 16_384]), ("stage_gaps", [8, 8, 64])];
    for (name, sizes) in foreign {
        let map = foreign_map(MapType::Hash, name, sizes);
        map.update(&[0; 8], &vec![1; sizes[1] as usize], MapFlags::ANY).expect("room");
        let gaps_map = map.info().expect("it is there").info.id;
        let borrowed = StageWatch::borrow(&StagesLoan { gaps_map, ..loan.clone() });
        // A watch of the listening end deletes all gaps of end 0.
        let started = borrowed.is_ok_and(|watch| watch.start(&ALL, 9, true).is_ok());
        assert_eq!((started, map.keys().count()), (false, 1), "{name} {sizes:?}");
    }
}

#[test]
fn every_stage_of_a_stream_has_rows_at_both_hosts() {
    const BYTES: usize = 8 << 20;
    let _guard = guard();
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let Some([sender, receiver]) = both(listener.local_addr().expect("address").port(), &ALL) else { return };
    assert_eq!(sender.missing(), receiver.missing());
    transfer(&listener, BYTES, 1 << 17);
    let (sent, arrived) = (rows(&sender), rows(&receiver));
    for stage in [Stage::CallEntry, Stage::CopyIn, Stage::TcpOut, Stage::QdiscOut, Stage::DriverOut, Stage::CallExit, Stage::Application] {
        assert!(of(&sent, stage).count() > 0, "{stage:?} of {:?}", counts(&sent));
    }
    for stage in [Stage::DriverIn, Stage::IpIn, Stage::TcpIn, Stage::Wakeup, Stage::CopyOut, Stage::AckOut, Stage::SoftirqWait] {
        assert!(of(&arrived, stage).count() > 0, "{stage:?} of {:?}", counts(&arrived));
    }
    // The driver has had every byte once; what the last rows of a CPU lacked may miss a few segments.
    let covered = of(&sent, Stage::DriverOut).filter(|row| row.retransmission == 255).map(|row| u64::from(row.payload_bytes)).sum::<u64>();
    assert!((BYTES as u64 * 9 / 10..=BYTES as u64).contains(&covered), "{covered}");
    let copied = of(&arrived, Stage::CopyOut).map(|row| u64::from(row.copied_bytes)).sum::<u64>();
    assert!((BYTES as u64 * 9 / 10..=BYTES as u64).contains(&copied), "{copied}");
    assert!(of(&sent, Stage::DriverOut).all(|row| row.direction == OUT));
    for (_, row) in sent.iter().chain(&arrived) {
        assert!(row.cpu_ns <= row.wall_ns, "{row:?}");
        assert_eq!(row.sample_mask, 0);
    }
    assert!(sender.empty_pair_ns() > 0);
    assert!(sender.usage().runs_count > u64::midpoint(sent.len() as u64, arrived.len() as u64));
}

fn counts(rows: &[(u32, StageRecord)]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, row) in rows {
        *counts.entry(Stage::of_code(row.stage).map_or("none", Stage::name)).or_default() += 1;
    }
    counts
}

/// Processing of one CPU never overlaps, whatever interrupts whatever.
#[test]
fn processing_takes_no_time_twice() {
    let _guard = guard();
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let Some(ends) = both(listener.local_addr().expect("address").port(), &ALL) else { return };
    let began = Instant::now();
    transfer(&listener, 16 << 20, 1 << 14);
    let wall_ns = u64::try_from(began.elapsed().as_nanos()).expect("short");
    let mut busy: BTreeMap<u32, u64> = BTreeMap::new();
    for (cpu, row) in ends.iter().flat_map(rows) {
        *busy.entry(cpu).or_default() += row.cpu_ns;
    }
    assert!(busy.values().all(|ns| *ns <= wall_ns), "{busy:?} of {wall_ns}");
    assert!(busy.values().sum::<u64>() > 0);
}

#[test]
fn both_hosts_sample_the_same_blocks() {
    let _guard = guard();
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let spec = StagesSpec { one_in_count: 4, ..ALL };
    let Some([sender, receiver]) = both(listener.local_addr().expect("address").port(), &spec) else { return };
    transfer(&listener, 64 << 20, 1 << 16);
    let blocks = |rows: &[(u32, StageRecord)], stage| -> BTreeSet<u32> {
        of(rows, stage).filter(|row| row.payload_bytes > 0).map(|row| row.sequence / BLOCK_BYTES).collect()
    };
    let (sent, arrived) = (blocks(&rows(&sender), Stage::DriverOut), blocks(&rows(&receiver), Stage::IpIn));
    assert_eq!(sent, arrived);
    let all = (64 << 20) / BLOCK_BYTES as usize;
    assert!((all / 8..all / 2).contains(&sent.len()), "{} of {all} blocks", sent.len());
}

/// A reader that sleeps is woken, and waits for its CPU; one that comes late finds the data.
/// How late the reader is.
const LATE: Duration = Duration::from_millis(3);

#[test]
fn waiting_is_kept_apart_from_processing() {
    let _guard = guard();
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let spec = StagesSpec { block_bytes: 1 << 12, ..ALL };
    let Some([sender, receiver]) = both(listener.local_addr().expect("address").port(), &spec) else { return };
    let address = listener.local_addr().expect("address");
    let writer = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("connect");
        for _ in 0..20 {
            stream.write_all(&[7; 64]).expect("write");
            thread::sleep(2 * LATE);
        }
    });
    let (mut stream, _) = listener.accept().expect("accept");
    for round in 0..20 {
        if round >= 10 {
            thread::sleep(3 * LATE);
        }
        stream.read_exact(&mut [0; 64]).expect("read");
    }
    writer.join().expect("writer");
    let arrived = rows(&receiver);
    let woken: Vec<_> = of(&arrived, Stage::WakeupWait).collect();
    assert!(woken.len() >= 5, "{:?}", counts(&arrived));
    assert!(woken.iter().all(|row| row.cpu_ns == 0 && row.wall_ns > 0));
    let late = of(&arrived, Stage::SocketWait).filter(|row| row.wall_ns > 500_000).count();
    assert!(late >= 3, "{:?} {late}", counts(&arrived));
    assert!(rows(&sender).iter().all(|(_, row)| row.stage != Stage::CopyOut as u8));
}

#[test]
fn hooks_that_a_kernel_lacks_are_named() {
    let _guard = guard();
    for hook in probe::stages::hooks() {
        assert!(hook.name.contains(':') && !hook.gives.is_empty());
        assert!(hook.can || !hook.reason.is_empty(), "{hook:?}");
    }
}
