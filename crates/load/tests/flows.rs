//! Connections over UDP that a workload opens while it runs, both hosts in one process, with a relay between them that
//! loses what a test says.

use load::connection_result::Ended;
use load::open::{Listening, connect_all};
use load::running::Load;
use nix::unistd::Uid;
use probe::clock::mono_ns;
use schema::evidence::{Evidence, Programs};
use schema::trial::{Opening, ProbeTransport, ReadWait, Role, SocketSpec, Stop, TrialSpec};
use schema::workload::{Arrivals, Group, IoModel, Operation, Repeat, Size, Step, Transaction, Transport, Workload};
use socket2::{Domain, Socket, Type};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const USERS: u32 = 3;
/// How often the relay looks for datagrams.
const RELAY_TICK: Duration = Duration::from_micros(100);
/// The relays' addresses begin here, in a part of the loopback network that no other test uses.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);
static RELAYS_COUNT: AtomicU32 = AtomicU32::new(0);

/// What a datagram of the relay is: the far host's or the near one's, and its payload.
type Loses = dyn Fn(bool, &[u8]) -> bool + Send + Sync;

fn step(operation: Operation) -> Step {
    Step { operation, count: 1, can_fail: false }
}

fn write(connection: u32, bytes: u64) -> Step {
    step(Operation::Write { connection, size: Size::Fixed { bytes }, call_bytes: None })
}

fn read(connection: u32, bytes: u64) -> Step {
    step(Operation::Read { connection, size: Size::Fixed { bytes }, call_bytes: None, timeout_ns: Some(200_000_000) })
}

/// No more than fits the relay's buffer is in flight.
fn pause() -> Step {
    step(Operation::Think { duration_ns: 1_000_000, is_busy: false, is_mirrored: false })
}

fn times(count: u64, steps: Vec<Step>) -> Transaction {
    Transaction { name: String::new(), repeat: Repeat::Iterations { count }, arrivals: Arrivals::Closed, outstanding_count: 1, steps }
}

fn spec(opening: Opening, io_model: IoModel, transactions: &[Transaction]) -> TrialSpec {
    let named = |(number, transaction): (usize, &Transaction)| Transaction { name: number.to_string(), ..transaction.clone() };
    let transactions = transactions.iter().enumerate().map(named).collect();
    let group = Group { name: "g".to_owned(), strands_count: USERS, is_connected: false, transactions };
    let (host, role) = match opening {
        Opening::Connect => ("near", Role::Sender),
        Opening::Listen => ("far", Role::Receiver),
    };
    TrialSpec {
        trial: "t".to_owned(),
        host: host.to_owned(),
        token: "5a".repeat(32),
        role,
        opening,
        listen_address: Some("127.0.0.1".to_owned()),
        listen_port: 0,
        connections_count: USERS,
        write_size_bytes: 1,
        read_size_bytes: 1,
        read_wait: ReadWait::Poll,
        reply_size_bytes: 0,
        write_rate_bps: 0,
        stop: Stop::Workload,
        interval_ns: 10_000_000,
        deadline_ns: 30_000_000_000,
        socket: SocketSpec::default(),
        pin_cpus: Vec::new(),
        own_cpus: Vec::new(),
        evidence: Evidence::default(),
        profile_hz: None,
        stages: None,
        transport: Transport::Udp,
        io_model,
        threads_count: 2,
        workload: Some(Workload { name: "w".to_owned(), seed: 1, groups: vec![group] }),
        datagrams: None,
        schedule: Vec::new(),
        round_trip_probe_ns: None,
        round_trip_probe_by: ProbeTransport::default(),
        programs: Programs::default(),
        stages_loan: None,
    }
}

/// What a host counted: executions, those that failed, bytes sent and received, of each transaction.
type Counts = Vec<[u64; 4]>;

/// Executes a workload at both hosts.
fn execute(io_model: IoModel, transactions: &[Transaction], loses: Arc<Loses>) -> [Result<Counts, String>; 2] {
    let (near, far) = (spec(Opening::Connect, io_model, transactions), spec(Opening::Listen, io_model, transactions));
    let listening = Listening::open(&far).expect("listens");
    let relay = Relay::start(listening.port(), loses);
    let abort = AtomicBool::new(false);
    let opened = thread::scope(|scope| {
        let accepted = scope.spawn(|| listening.accept_all(&abort));
        let connected = connect_all(&near, relay.address, &abort).expect("connects");
        [connected, accepted.join().expect("no panic").expect("accepts")]
    });
    let rows = transactions.len();
    let mut loads: Vec<Load> =
        [near, far].iter().zip(opened).map(|(spec, opened)| Load::prepare(spec, opened).expect("prepares")).collect();
    let start_ns = mono_ns();
    for load in &mut loads {
        load.start(start_ns, start_ns).expect("starts");
    }
    for load in &mut loads {
        assert!(load.wait_until(start_ns + 30_000_000_000), "it hangs");
    }
    assert_eq!(loads.iter().map(Load::strangers_count).sum::<u64>(), 0);
    let counted = |load: &mut Load| {
        for result in load.join().results {
            if let Ended::Failed(reason) = result.ended {
                return Err(reason);
            }
        }
        let of_row = |row: usize| {
            load.ledgers.iter().map(|ledger| &ledger.rows[row]).fold([0; 4], |sum: [u64; 4], row| {
                let counts = [&row.ended, &row.failed, &row.sent_bytes, &row.received_bytes];
                std::array::from_fn(|index| sum[index] + counts[index].read())
            })
        };
        Ok((0..rows).map(of_row).collect())
    };
    let [near, far] = [0, 1].map(|host| counted(&mut loads[host]));
    [near, far]
}

/// Passes on what two hosts send each other, at the far host's port of another address.
struct Relay {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    fn start(port: u16, loses: Arc<Loses>) -> Self {
        // An address of its own: at a shared one, a socket of another relay may hold the port.
        let own = Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + RELAYS_COUNT.fetch_add(1, Ordering::Relaxed));
        let (address, far) = (SocketAddr::from((own, port)), SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let is_over = Arc::new(AtomicBool::new(false));
        let empty_count = Arc::new(AtomicU64::new(0));
        let listener = TcpListener::bind(address).expect("a port");
        let counted = Arc::clone(&empty_count);
        thread::spawn(move || {
            // The connection over which both hosts agree is the only one.
            let (near, _) = listener.accept().expect("connects");
            let far = TcpStream::connect(far).expect("connects");
            near.set_nodelay(true).and(far.set_nodelay(true)).expect("an option");
            let (from, to) = (near.try_clone().expect("a file"), far.try_clone().expect("a file"));
            thread::spawn(move || copy(from, to, Some(&counted)));
            copy(far, near, None);
        });
        let socket = Arc::new(UdpSocket::bind(address).expect("a port"));
        let is_done = Arc::clone(&is_over);
        thread::spawn(move || relay_datagrams(&socket, far, &loses, &is_done, &empty_count));
        Self { address, is_over }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Passes on what a stream carries, behind the datagrams that were sent before it.
fn copy(mut from: TcpStream, mut to: TcpStream, empty_count: Option<&AtomicU64>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if let Some(empty_count) = empty_count {
            let before = empty_count.load(Ordering::Relaxed);
            while empty_count.load(Ordering::Relaxed) < before + 2 {
                thread::sleep(RELAY_TICK);
            }
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Has a socket towards the far host for each port of the near one, and counts how often nothing is to be passed on.
fn relay_datagrams(socket: &Arc<UdpSocket>, far: SocketAddr, loses: &Arc<Loses>, is_over: &Arc<AtomicBool>, empty_count: &AtomicU64) {
    socket.set_nonblocking(true).expect("a socket");
    let mut peers: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut bytes = [0; 2048];
    while !is_over.load(Ordering::Relaxed) {
        let Ok((count, near)) = socket.recv_from(&mut bytes) else {
            empty_count.fetch_add(1, Ordering::Relaxed);
            thread::sleep(RELAY_TICK);
            continue;
        };
        let peer = peers.entry(near).or_insert_with(|| {
            let peer = Arc::new(UdpSocket::bind((socket.local_addr().expect("bound").ip(), 0)).expect("a port"));
            peer.connect(far).expect("an address");
            peer.set_read_timeout(Some(Duration::from_millis(50))).expect("a time");
            let (peer_here, socket, loses, is_over) = (Arc::clone(&peer), Arc::clone(socket), Arc::clone(loses), Arc::clone(is_over));
            thread::spawn(move || {
                let mut bytes = [0; 2048];
                while !is_over.load(Ordering::Relaxed) {
                    if let Ok(count) = peer_here.recv(&mut bytes)
                        && !loses(true, &bytes[..count])
                    {
                        let _: io::Result<usize> = socket.send_to(&bytes[..count], near);
                    }
                }
            });
            peer
        });
        if !loses(false, &bytes[..count]) {
            let _ = peer.send(&bytes[..count]);
        }
    }
}

fn both_models(test: impl Fn(IoModel)) {
    for io_model in [IoModel::Blocking, IoModel::Epoll] {
        test(io_model);
    }
}

fn open_and_close(connection: u32, inside: Vec<Step>) -> Vec<Step> {
    let mut steps = vec![step(Operation::Connect { connection })];
    steps.extend(inside);
    steps.push(step(Operation::Disconnect { connection }));
    steps
}

#[test]
fn several_connections_of_a_user_carry_their_own_datagrams() {
    both_models(|io_model| {
        let transactions = [
            times(1, [3, 1, 0].map(|connection| step(Operation::Connect { connection })).to_vec()),
            times(50, vec![write(0, 10), write(3, 20), write(1, 30), read(3, 40), read(0, 50)]),
            times(20, open_and_close(2, vec![write(2, 60), read(1, 70), read(2, 80)])),
        ];
        let [near, far] = execute(io_model, &transactions, Arc::new(|_, _| false));
        let near = near.expect("nothing fails");
        assert_eq!(near, [[3, 0, 0, 0], [150, 0, 150 * 60, 150 * 90], [60, 0, 60 * 60, 60 * 150]]);
        let mirrored: Counts = near.iter().map(|[ended, failed, sent, received]| [*ended, *failed, *received, *sent]).collect();
        assert_eq!(far.expect("nothing fails"), mirrored);
    });
}

#[test]
fn what_opens_a_connection_is_sent_again_when_it_or_its_welcome_is_lost() {
    both_models(|io_model| {
        let transactions = [times(2, open_and_close(0, vec![write(0, 100), read(0, 100)]))];
        let seen: Mutex<HashSet<Vec<u8>>> = Mutex::default();
        // The first of each, in both directions.
        let loses = move |_, bytes: &[u8]| bytes.len() == 48 && seen.lock().expect("no panic").insert(bytes.to_vec());
        let [near, far] = execute(io_model, &transactions, Arc::new(loses));
        assert_eq!(near.expect("nothing fails"), [[6, 0, 600, 600]]);
        assert_eq!(far.expect("nothing fails"), [[6, 0, 600, 600]]);
    });
}

#[test]
fn a_lost_datagram_fails_its_execution_and_leaves_the_same_connections_open() {
    both_models(|io_model| {
        let transactions = [
            times(1, vec![step(Operation::Connect { connection: 0 })]),
            // The request that is lost is followed by a connection, on which the next transaction goes on.
            times(1, vec![write(0, 100), read(0, 100), step(Operation::Connect { connection: 1 })]),
            times(30, vec![write(0, 10), write(1, 200), read(1, 200)]),
            times(30, open_and_close(2, vec![write(2, 300), read(2, 301)])),
        ];
        let count = Mutex::new([0u32; 4]);
        let loses = move |is_far: bool, bytes: &[u8]| {
            let every = |index: usize, most: u32| {
                let mut count = count.lock().expect("no panic");
                count[index] += 1;
                count[index] % most == 0
            };
            match (is_far, bytes.len()) {
                (false, 100) => true,
                (false, 200) => every(0, 9),
                (true, 200) => every(1, 10),
                (false, 300) => every(2, 15),
                (true, 301) => every(3, 12),
                _ => false,
            }
        };
        let [near, far] = execute(io_model, &transactions, Arc::new(loses));
        let (near, far) = (near.expect("no user fails"), far.expect("no user fails"));
        assert_eq!(near[1], [3, 3, 300, 0], "all three requests are lost");
        // 90 requests, of which 10 are lost; 80 replies, of which 8 are.
        assert_eq!(near[2], [90, 18, 90 * 210, 72 * 200]);
        assert_eq!((far[2][2], far[2][3]), (80 * 200, 90 * 10 + 80 * 200), "what arrived is counted");
        // 90 requests, of which 6 are lost; 84 replies, of which 7 are.
        assert_eq!(near[3], [90, 13, 90 * 300, 77 * 301]);
        assert_eq!((far[3][2], far[3][3]), (84 * 301, 84 * 300));
    });
}

#[test]
fn one_direction_that_loses_datagrams_is_counted_on_every_connection() {
    both_models(|io_model| {
        let transactions = [
            times(1, [0, 1].map(|connection| step(Operation::Connect { connection })).to_vec()),
            times(200, vec![write(0, 10), write(1, 20), write(1, 20), pause()]),
            // Nothing more comes on connection 0.
            times(1, vec![write(0, 11), Step { count: 30, ..write(1, 21) }]),
        ];
        let count = Mutex::new(0u32);
        let loses = move |is_far: bool, bytes: &[u8]| {
            let mut count = count.lock().expect("no panic");
            *count += u32::from(bytes.len() == 10);
            !is_far && (bytes.len() == 11 || (bytes.len() == 10 && count.is_multiple_of(20)))
        };
        let [near, far] = execute(io_model, &transactions, Arc::new(loses));
        let (near, far) = (near.expect("no user fails"), far.expect("no user fails"));
        assert_eq!(near[1..], [[600, 0, 600 * 50, 0], [3, 0, 3 * (11 + 630), 0]]);
        assert_eq!((far[1][3], far[2][3]), (570 * 10 + 600 * 40, 3 * 630));
    });
}

/// A trial without operations over this.
fn over(transport: Transport, opening: Opening) -> TrialSpec {
    let mut asked = TrialSpec { transport, ..spec(opening, IoModel::Blocking, &[times(1, vec![write(0, 100)])]) };
    if transport == Transport::Udp {
        asked.workload.iter_mut().flat_map(|of| &mut of.groups).for_each(|group| group.is_connected = true);
    } else {
        (asked.workload, asked.stop) = (None, Stop::Bytes { payload_bytes: 1 });
    }
    asked
}

/// Binds a UDP socket that would share the port of any other, as another user of this host.
fn bind_as_another_user(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

#[test]
fn another_user_cannot_take_packets_at_the_port_of_a_trial() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let nobody = |address: SocketAddr| {
        thread::spawn(move || {
            // Of this thread alone; the kernel takes a socket's user from it.
            nix::unistd::setfsuid(Uid::from_raw(65_534));
            bind_as_another_user(address).map(drop)
        })
        .join()
        .expect("no panic")
    };
    for transport in [Transport::Udp, Transport::Quic] {
        let of = |opening| over(transport, opening);
        let listening = Listening::open(&of(Opening::Listen)).expect("listens");
        let address = SocketAddr::from(([127, 0, 0, 1], listening.port()));
        let while_listening = nobody(address);
        let abort = AtomicBool::new(false);
        let opened = thread::scope(|scope| {
            let accepted = scope.spawn(|| listening.accept_all(&abort));
            let connected = connect_all(&of(Opening::Connect), address, &abort).expect("connects");
            [connected, accepted.join().expect("no panic").expect("accepts")]
        });
        for refused in [while_listening, nobody(address)] {
            assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::AddrInUse), "{transport:?}");
        }
        drop(opened);
    }
}

#[test]
fn silent_connections_of_quic_make_room_for_those_of_the_trial() {
    const SILENT: u64 = 40;
    /// As many as are awaited, and `SPARE_OPENS`.
    const ROOM: u64 = USERS as u64 + 16;
    let (near, far) = (over(Transport::Quic, Opening::Connect), over(Transport::Quic, Opening::Listen));
    let listening = Listening::open(&far).expect("listens");
    let (address, arrivals) = (SocketAddr::from(([127, 0, 0, 1], listening.port())), listening.arrivals());
    let identity = quic::Identity::of(far.token.as_bytes()).expect("made");
    let abort = AtomicBool::new(false);
    let opened = thread::scope(|scope| {
        let accepted = scope.spawn(|| listening.accept_all(&abort));
        let connect = || quic::QuicConnection::connect(address, &identity, &quic::Settings::default()).expect("a socket");
        let mut silent: Vec<_> = (0..SILENT).map(|_| connect()).collect();
        while arrivals.strangers_count() < SILENT - ROOM {
            assert!(!accepted.is_finished(), "those that are silent are kept");
            for connection in &mut silent {
                connection.drive(Duration::ZERO).expect("is driven");
            }
            thread::sleep(RELAY_TICK);
        }
        connect_all(&near, address, &abort).expect("connects");
        accepted.join().expect("no panic").expect("accepts")
    });
    assert_eq!(opened.over_quic.len(), USERS as usize);
    assert!(opened.strangers_count >= SILENT, "{}", opened.strangers_count);
}

#[test]
fn who_reads_what_the_conductor_says_is_no_host_of_tls() {
    let mut near = TrialSpec { transport: Transport::Tls, ..spec(Opening::Connect, IoModel::Epoll, &[times(1, vec![write(0, 1)])]) };
    near.workload.iter_mut().flat_map(|of| &mut of.groups).for_each(|group| group.is_connected = true);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, abort) = (listener.local_addr().expect("bound"), AtomicBool::new(false));
    let taken = thread::scope(|scope| {
        let connected = scope.spawn(|| connect_all(&near, address, &abort));
        let (mut secured, mut read) = (None, None);
        while secured.is_none() || read.is_none() {
            let mut stream = listener.accept().expect("comes").0;
            let mut first = [0; 40];
            while stream.peek(&mut first).expect("is there") < first.len() {}
            match &first[..4] {
                b"WPDC" => read = Some(first[8..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()),
                _ => secured = Some(move |host: &mut tls::Session| host.handshake(&mut stream)),
            }
        }
        let hosts = tls::Hosts::new(read.expect("in the clear").as_bytes(), &tls::Settings::default()).expect("made");
        let taken = secured.expect("over TLS")(&mut hosts.listening().expect("made"));
        abort.store(true, Ordering::Relaxed);
        assert!(connected.join().expect("no panic").is_err(), "not all are welcomed");
        taken
    });
    assert!(taken.is_err(), "the near host gives its token to another host");
}

#[test]
fn a_host_that_does_not_answer_is_named() {
    let transactions = [times(1, vec![step(Operation::Connect { connection: 0 })])];
    let [near, _] = execute(IoModel::Epoll, &transactions, Arc::new(|is_far, _| is_far));
    let reason = near.expect_err("nobody is welcomed");
    assert!(reason.contains("no answer within 5 s from 127.1.0."), "{reason}");
    assert!(reason.ends_with("to the datagrams that open a connection; is a firewall in between?"), "{reason}");
}
