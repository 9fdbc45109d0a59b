//! Sockets of another program, chosen in mid-life, held against what that program's sockets say and what tcpdump sees.

use crate::guard;
use probe::evidence::{Call, ChosenSocket, ChosenWatch, Connection, Record};
use schema::evidence::Evidence;
use schema::table::AckReason;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/connection.py");
const MEGABYTE: u64 = 1_000_000;
/// What the kernel does on top of a process that it hides from tracing is not seen: a transfer is tried this often.
const ATTEMPTS: u32 = 4;

/// Opens a watch, or says why this host allows none: the tests need root.
fn watch(level: Evidence) -> Option<ChosenWatch> {
    match ChosenWatch::open(level, 16) {
        Ok(watch) => Some(watch),
        Err(refused) if nix::unistd::geteuid().is_root() => panic!("{}", refused.reason),
        Err(refused) => {
            eprintln!("skipped: {}", refused.reason);
            None
        }
    }
}

/// Another program, in a network namespace of its own, with both sockets of a connection over its loopback.
struct Foreign {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    client: ChosenSocket,
}

/// What a socket says of itself (struct `tcp_info`, include/uapi/linux/tcp.h).
#[derive(Debug, Clone, Copy)]
struct Said {
    bytes_received: u64,
    segments_out: u64,
    segments_in: u64,
    data_in: u64,
    data_out: u64,
    bytes_sent: u64,
    bytes_retransmitted: u64,
}

impl Said {
    fn of(hexadecimal: &str) -> Self {
        let byte = |place: usize| u64::from_str_radix(&hexadecimal[2 * place..2 * place + 2], 16).expect("hexadecimal");
        let number = |place: usize, bytes: usize| (0..bytes).map(|index| byte(place + index) << (8 * index)).sum::<u64>();
        Self {
            bytes_received: number(128, 8),
            segments_out: number(136, 4),
            segments_in: number(140, 4),
            data_in: number(152, 4),
            data_out: number(156, 4),
            bytes_sent: number(200, 8),
            bytes_retransmitted: number(208, 8),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            bytes_received: self.bytes_received - before.bytes_received,
            segments_out: self.segments_out - before.segments_out,
            segments_in: self.segments_in - before.segments_in,
            data_in: self.data_in - before.data_in,
            data_out: self.data_out - before.data_out,
            bytes_sent: self.bytes_sent - before.bytes_sent,
            bytes_retransmitted: self.bytes_retransmitted - before.bytes_retransmitted,
        }
    }
}

impl Foreign {
    fn start(address: &str, ports: (u16, u16)) -> Self {
        Self::start_by(&["unshare", "--net"], address, ports)
    }

    fn start_by(wrapped: &[&str], address: &str, ports: (u16, u16)) -> Self {
        // Of a super-segment above 64 KB the loopback makes several, behind the place where the log sees it leave.
        let script = "ip link set lo up mtu 1500 && exec python3 \"$0\" \"$@\"";
        Self::start_script(script, wrapped, address, ports, |_| ())
    }

    /// With a script that `prepare` has time for before the program starts.
    fn start_script(script: &str, wrapped: &[&str], address: &str, (server, client): (u16, u16), prepare: impl FnOnce(&mut Child)) -> Self {
        let family = if address.contains(':') { "6" } else { "4" };
        let mut child = Command::new(wrapped[0])
            .args(&wrapped[1..])
            .args(["sh", "-c", script, PROGRAM, address, family, &server.to_string(), &client.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        prepare(&mut child);
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut output = BufReader::new(output).lines();
        let ends = output.next().expect("it connects").expect("text");
        let ends: Vec<_> = ends.split(' ').collect();
        let address = |host: &str, port: &str| SocketAddr::new(host.parse().expect("an address"), port.parse().expect("a port"));
        let client = ChosenSocket {
            namespace: namespace_of(child.id()),
            local: address(ends[0], ends[1]),
            remote: address(ends[2], ends[3]),
            is_opening: false,
        };
        Self { child, input, output, client }
    }

    fn server(&self) -> ChosenSocket {
        ChosenSocket { local: self.client.remote, remote: self.client.local, ..self.client.clone() }
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").expect("it reads");
        self.output.next().expect("it answers").expect("text")
    }

    /// What both sockets say once nothing moves any more: the client, then the server.
    fn infos(&mut self) -> [Said; 2] {
        let answer = self.ask("info");
        let mut ends = answer.split(' ').map(Said::of);
        [ends.next().expect("two"), ends.next().expect("two")]
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn namespace_of(process: u32) -> u32 {
    let found = std::fs::metadata(format!("/proc/{process}/ns/net")).expect("it runs");
    u32::try_from(found.ino()).expect("32 bits")
}

fn choose(watch: &ChosenWatch, socket: &ChosenSocket) -> u16 {
    watch.choose(socket, |_| ()).unwrap_or_else(|refused| panic!("{}", refused.reason))
}

/// Whether the programs counted what the socket did.
fn difference(seen: &Connection, said: &Said) -> Option<String> {
    let acks_out = seen.out.by_reason.iter().sum::<u64>();
    let pairs = [
        ("data segments out", seen.out.data_segments, said.data_out),
        ("bytes out", seen.out.data_bytes, said.bytes_sent),
        ("ACKs out", acks_out, said.segments_out - said.data_out),
        ("data segments in", seen.arrived.data_segments, said.data_in),
        ("ACKs in", seen.arrived.acks, said.segments_in - said.data_in),
    ];
    pairs.iter().find(|(_, seen, said)| seen != said).map(|(what, seen, said)| format!("{what}: {seen} seen, {said} in TCP_INFO"))
}

#[test]
fn counts_of_both_sockets_are_those_of_their_sockets_since_they_were_chosen() {
    let _guard = guard();
    for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
        for attempt in 1.. {
            let Some(watch) = watch(Evidence::Segments) else { return };
            let mut foreign = Foreign::start(address, (0, 0));
            foreign.ask(&format!("send {MEGABYTE}"));
            let before = foreign.infos();
            let numbers = [choose(&watch, &foreign.client), choose(&watch, &foreign.server())];
            foreign.ask(&format!("send {}", 3 * MEGABYTE));
            foreign.ask("answer 100000");
            let after = foreign.infos();
            let seen = watch.connections();
            let wrong: Vec<_> = (0..2).filter_map(|end| difference(&seen[&numbers[end]], &after[end].since(before[end]))).collect();
            let retransmitted = after[0].since(before[0]).bytes_retransmitted + after[1].since(before[1]).bytes_retransmitted;
            // The loopback has a queue for each CPU: a writer that moves to another one overtakes itself.
            let is_overtaken = retransmitted == 0 && numbers.iter().any(|number| seen[number].arrived.out_of_order_packets > 0);
            if (!wrong.is_empty() || is_overtaken) && attempt < ATTEMPTS {
                eprintln!("{address}: {wrong:?}; again");
                continue;
            }
            assert!(wrong.is_empty(), "{address}: {wrong:?}");
            for (number, received) in numbers.iter().zip([after[0].since(before[0]), after[1].since(before[1])]) {
                let connection = &seen[number];
                assert_eq!(connection.out.port, u32::from(*number));
                assert_eq!((connection.out.by_reason[AckReason::Handshake as usize], connection.arrived.fin), (0, 0));
                if retransmitted == 0 {
                    assert_eq!(connection.arrived.data_bytes, received.bytes_received);
                    assert_eq!((connection.arrived.out_of_order_packets, connection.arrived.duplicate_acks), (0, 0));
                    assert_eq!(connection.out.by_reason[AckReason::OutOfOrder as usize], 0);
                }
                let (writes, reads) = (&connection.writes, &connection.reads);
                let moved = [writes, reads].map(|sizes| sizes.iter().map(|sized| sized.bytes).sum::<u64>());
                let expected = if *number == numbers[0] { [3 * MEGABYTE, 100_000] } else { [100_000, 3 * MEGABYTE] };
                assert_eq!(moved, expected);
            }
            break;
        }
    }
}

#[test]
fn nothing_else_is_counted() {
    let _guard = guard();
    let Some(watch) = watch(Evidence::Counters) else { return };
    // The same addresses and ports in two namespaces.
    let mut both = [(); 2].map(|()| Foreign::start("127.0.0.1", (5001, 40_001)));
    let mut another = Foreign::start("127.0.0.2", (5001, 40_001));
    let number = choose(&watch, &both[0].client);
    assert!(watch.choose(&both[0].client, |_| ()).is_err(), "it is chosen already");
    for foreign in both.iter_mut().chain([&mut another]) {
        foreign.ask("send 10000");
        foreign.ask("datagrams 10");
        foreign.infos();
    }
    let seen = watch.connections()[&number];
    assert_eq!(seen.out.data_bytes, 10_000);
    assert_eq!(seen.writes.iter().map(|sized| sized.bytes).sum::<u64>(), 10_000);
    // Of two namespaces at once.
    let second = choose(&watch, &both[1].client);
    for foreign in &mut both {
        foreign.ask("send 5000");
        foreign.infos();
    }
    assert_eq!(watch.connections()[&second].out.data_bytes, 5000);
    assert_eq!(watch.forget(number).expect("it was chosen").out.data_bytes, 15_000);
    for foreign in &mut both {
        foreign.ask("send 1000");
        foreign.infos();
    }
    assert_eq!(watch.connections().into_iter().map(|(number, seen)| (number, seen.out.data_bytes)).collect::<Vec<_>>(), [(second, 6000)]);
    assert_eq!(watch.forget(number), None);
    watch.stop();
    both[1].ask("send 1000");
    assert_eq!(watch.watch().refused_count(), 0);
}

#[test]
fn sockets_come_and_go_under_load() {
    const ROUNDS: u32 = 60;
    let _guard = guard();
    let Some(watch) = watch(Evidence::Segments) else { return };
    let mut busy: Vec<_> = (0..3).map(|_| Foreign::start("127.0.0.1", (0, 0))).collect();
    for foreign in &mut busy {
        foreign.ask("stream 5000");
    }
    let sockets: Vec<_> = busy.iter().flat_map(|foreign| [foreign.client.clone(), foreign.server()]).collect();
    let mut known: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    let mut logged: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    let take = |logged: &mut BTreeMap<u16, (u64, u64)>| {
        watch.watch().log().expect("a log").drain(u64::MAX, |_, record| {
            let bytes = logged.entry(record.port).or_default();
            *(if record.direction == 0 { &mut bytes.0 } else { &mut bytes.1 }) += u64::from(record.payload_bytes);
        });
        watch.watch().calls().map(|calls| calls.drain(u64::MAX, |_, _| {}));
    };
    for round in 0..ROUNDS {
        let chosen: Vec<_> = sockets.iter().map(|socket| choose(&watch, socket)).collect();
        assert!(chosen.iter().all(|number| !known.contains_key(number)), "round {round}: {chosen:?}");
        thread::sleep(Duration::from_millis(2));
        take(&mut logged);
        for number in chosen {
            let seen = watch.forget(number).expect("it was chosen");
            known.insert(number, (seen.out.data_bytes, seen.arrived.data_bytes));
        }
        if round % 10 == 0 {
            thread::sleep(Duration::from_millis(120));
        }
    }
    thread::sleep(Duration::from_millis(100));
    take(&mut logged);
    // Each socket's log is what was counted of it, except for what was under way when it was forgotten.
    let (mut counted_bytes, mut apart) = (0, 0);
    for (number, (out, arrived)) in &known {
        let (logged_out, logged_in) = logged.get(number).copied().unwrap_or_default();
        counted_bytes += out + arrived;
        apart += logged_out.abs_diff(*out) + logged_in.abs_diff(*arrived);
    }
    assert!(counted_bytes > MEGABYTE, "{counted_bytes} bytes");
    assert!(apart <= counted_bytes / 20, "{apart} of {counted_bytes} bytes are in one of log and counters only");
    assert_eq!(watch.watch().log().expect("a log").lost().iter().sum::<u64>(), 0);
    assert_eq!(watch.watch().refused_count(), 0);
}

#[test]
fn threads_of_other_programs_have_their_calls_and_softirqs() {
    let _guard = guard();
    let Some(watch) = watch(Evidence::Segments) else { return };
    // With a PID namespace of its own, as in a container.
    for wrapped in [&["unshare", "--net"][..], &["unshare", "--net", "--pid", "--fork", "--kill-child"]] {
        let mut foreign = Foreign::start_by(wrapped, "127.0.0.1", (0, 0));
        let process = innermost_child(foreign.child.id());
        let client = ChosenSocket { namespace: namespace_of(process), ..foreign.client.clone() };
        let server = ChosenSocket { namespace: client.namespace, ..foreign.server() };
        let on_load = || -> u64 {
            let vectors = watch.watch().cpus().into_iter().flat_map(|cpu| cpu.vectors);
            vectors.map(|vector| watch.watch().on_load_ns(&vector).expect("known")).sum()
        };
        let mut spin = |processes: &[u32]| {
            watch.set_processes(processes).unwrap_or_else(|refused| panic!("{}", refused.reason));
            let before = on_load();
            let used: u64 = foreign.ask("spin 0.1").parse().expect("a number");
            (on_load() - before, used)
        };
        assert_eq!(spin(&[]).0, 0);
        assert_eq!(spin(&[u32::MAX]).0, 0);
        let (on_load_ns, used_ns) = spin(&[process]);
        assert!(0 < on_load_ns && on_load_ns <= used_ns, "{on_load_ns} ns in {used_ns} ns");

        let numbers = [choose(&watch, &client), choose(&watch, &server)];
        foreign.ask("send 200000");
        foreign.infos();
        let mut calls: Vec<Call> = Vec::new();
        let Some(log) = watch.watch().calls() else { return };
        log.drain(u64::MAX, |_, call| calls.push(*call));
        drop(log);
        let moved = |number: u16, kind: u8| {
            calls.iter().filter(|call| (call.port, call.kind) == (number, kind)).map(|call| u64::from(call.moved_bytes)).sum::<u64>()
        };
        assert_eq!((moved(numbers[0], 0), moved(numbers[1], 1)), (200_000, 200_000));
        // Its threads are known before their first call, the one that reads too, which is new.
        assert!(calls.iter().all(|call| call.start_ns != 0), "{calls:#?}");
        for number in numbers {
            watch.forget(number);
        }
    }
}

/// The last of the children's children.
pub fn innermost_child(process: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().next().map_or(process, |child| innermost_child(child.parse().expect("a number")))
}

/// What tcpdump saw of a segment, and the log: sequence number, acknowledgment, payload, flags, window.
type Row = (u32, u32, u32, u8, u16);

#[test]
fn the_log_is_what_tcpdump_sees_while_a_socket_is_chosen() {
    let _guard = guard();
    if Command::new("tcpdump").arg("--version").output().is_err() {
        return eprintln!("skipped: no tcpdump");
    }
    for address in ["127.0.0.1", "::1"] {
        for attempt in 1.. {
            let Some(watch) = watch(Evidence::Segments) else { return };
            let mut foreign = Foreign::start(address, (0, 0));
            foreign.ask(&format!("send {MEGABYTE}"));
            foreign.infos();
            let numbers = [choose(&watch, &foreign.client), choose(&watch, &foreign.server())];
            let capture = Capture::start(foreign.child.id());
            foreign.ask(&format!("send {MEGABYTE}"));
            foreign.ask("answer 300000");
            foreign.infos();
            assert_eq!(foreign.ask("close"), "closed 0");
            thread::sleep(Duration::from_millis(200));
            let captured = capture.finish();
            let mut records: Vec<Record> = Vec::new();
            watch.watch().log().expect("a log").drain(u64::MAX, |_, record| records.push(*record));
            records.sort_by_key(|record| record.mono_ns);
            let of = |number: u16, direction: u8| -> Vec<Row> {
                let chosen = records.iter().filter(|record| (record.port, record.direction) == (number, direction));
                chosen.map(|found| (found.sequence, found.acknowledgment, found.payload_bytes, found.flags, found.window_field)).collect()
            };
            let ports = [foreign.client.local.port(), foreign.client.remote.port()];
            let seen = |from: u16| captured.iter().filter(|(source, _)| *source == from).map(|(_, row)| *row).collect::<Vec<Row>>();
            let pairs = [0, 1].map(|end| (seen(ports[end]), of(numbers[end], 0), of(numbers[1 - end], 1)));
            let is_same = pairs.iter().all(|(seen, left, arrived)| seen == left && seen == arrived);
            if !is_same && attempt < ATTEMPTS {
                let counts: Vec<_> = pairs.iter().map(|(seen, left, arrived)| (seen.len(), left.len(), arrived.len())).collect();
                eprintln!("{address}: {counts:?} segments captured, logged at both sockets; again");
                continue;
            }
            for (seen, left, arrived) in pairs {
                assert!(seen.len() > 10);
                assert_eq!(left, seen);
                assert_eq!(arrived, seen);
            }
            // Once something has left, the socket is known.
            let first_out = records.iter().filter(|record| record.direction == 0).map(|record| record.mono_ns).min();
            assert!(records.iter().filter(|record| record.direction == 0).all(|record| record.has_state == 1), "{first_out:?}");
            break;
        }
    }
}

/// tcpdump on the loopback of a program's network namespace.
struct Capture {
    child: Child,
    path: std::path::PathBuf,
}

impl Capture {
    fn start(process: u32) -> Self {
        let path = std::env::temp_dir().join(format!("whyperf-chosen-{process}.pcap"));
        let mut child = Command::new("nsenter")
            .arg(format!("--net=/proc/{process}/ns/net"))
            .args(["tcpdump", "-i", "lo", "-n", "-s", "160", "-B", "65536", "-Z", "root", "--immediate-mode", "-U", "-w"])
            .arg(&path)
            .arg("tcp or ip6 proto 6")
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.as_mut().expect("a pipe")).lines();
        assert!(lines.any(|line| line.expect("text").contains("listening on")), "tcpdump did not start");
        Self { child, path }
    }

    /// Source port and content of each segment.
    fn finish(mut self) -> Vec<(u16, Row)> {
        let process = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).expect("a number"));
        nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT).expect("it runs");
        self.child.wait().expect("it ends");
        let bytes = std::fs::read(&self.path).expect("a file");
        std::fs::remove_file(&self.path).expect("it is ours");
        let mut segments = Vec::new();
        // A pcap file: a header of 24 bytes, then 16 before each packet (draft-ietf-opsawg-pcap).
        let mut rest = &bytes[24..];
        while rest.len() >= 16 {
            let length = u32::from_ne_bytes(rest[8..12].try_into().expect("four")) as usize;
            segments.push(segment(&rest[16 + 14..16 + length]));
            rest = &rest[16 + length..];
        }
        segments
    }
}

/// A segment from its IP header on.
fn segment(packet: &[u8]) -> (u16, Row) {
    let two = |bytes: &[u8], place: usize| u16::from_be_bytes(bytes[place..place + 2].try_into().expect("two"));
    let four = |bytes: &[u8], place: usize| u32::from_be_bytes(bytes[place..place + 4].try_into().expect("four"));
    let is_ipv4 = packet[0] >> 4 == 4;
    let (header, tcp_bytes) = if is_ipv4 { (20, u32::from(two(packet, 2)) - 20) } else { (40, u32::from(two(packet, 4))) };
    let tcp = &packet[header..];
    let (flags, payload) = (tcp[13], tcp_bytes - u32::from(tcp[12] >> 4) * 4);
    let acknowledgment = if flags & 16 == 0 { 0 } else { four(tcp, 8) };
    (two(tcp, 0), (four(tcp, 4), acknowledgment, payload, flags, two(tcp, 14)))
}

#[test]
fn programs_choose_sockets_at_their_syn() {
    const SYN: u8 = 2;
    let _guard = guard();
    // By the process, by one that a process starts, and by the port.
    for (script, is_by_port) in [("exec python3", false), ("python3", false), ("exec python3", true)] {
        let Some(watch) = watch(Evidence::Segments) else { return };
        let script = format!("ip link set lo up mtu 1500 && read go && {script} \"$0\" \"$@\"");
        let prepare = |child: &mut Child| {
            let own = namespace_of(std::process::id());
            while namespace_of(child.id()) == own {
                thread::sleep(Duration::from_millis(1));
            }
            let (processes, ports) = if is_by_port { (vec![], vec![5001]) } else { (vec![child.id()], vec![]) };
            watch.arm(namespace_of(child.id()), &processes, &ports).unwrap_or_else(|refused| panic!("{}", refused.reason));
            child.stdin.as_mut().expect("a pipe").write_all(b"go\n").expect("it reads");
        };
        let mut foreign = Foreign::start_script(&script, &["unshare", "--net"], "127.0.0.1", (5001, 0), prepare);
        foreign.ask("send 100000");
        let [said, _] = foreign.infos();
        let mut is_prepared = false;
        let number = watch.choose(&foreign.client, |_| is_prepared = true).unwrap_or_else(|refused| panic!("{}", refused.reason));
        assert!(is_prepared);
        let seen = watch.connections();
        assert_eq!(seen.len(), if is_by_port { 2 } else { 1 }, "{script}");
        let client = &seen[&number];
        assert_eq!((client.out.data_segments, client.out.data_bytes), (said.data_out, said.bytes_sent));
        assert_eq!(client.out.by_reason.iter().sum::<u64>(), said.segments_out - said.data_out - 1, "all but the SYN");
        assert_eq!(client.out.by_reason[AckReason::Handshake as usize], 1);
        let mut records: Vec<Record> = Vec::new();
        watch.watch().log().expect("a log").drain(u64::MAX, |_, record| records.push(*record));
        records.sort_by_key(|record| record.mono_ns);
        for number in seen.keys() {
            let first = records.iter().find(|record| record.port == *number).expect("it is logged");
            assert_eq!(first.flags, SYN, "{first:?}");
        }
        // The other socket is nobody's choice.
        assert!(is_left_alone(&watch, number), "{:?}", watch.connections());
        if is_by_port {
            // Far more than there are places, one after the other.
            foreign.ask("connect 2000");
            assert!(is_left_alone(&watch, number), "{:?}", watch.connections());
        }
        foreign.ask("send 1000");
        foreign.infos();
        assert_eq!(watch.forget(number).expect("it is chosen").out.data_bytes, said.bytes_sent + 1000);
        assert_eq!(watch.watch().refused_count(), 0);
    }
}

/// Whether all but this connection are given up sooner or later.
fn is_left_alone(watch: &ChosenWatch, number: u16) -> bool {
    (0..1000).any(|_| {
        thread::sleep(Duration::from_millis(20));
        watch.take_picked();
        watch.connections().into_keys().eq([number])
    })
}

#[test]
fn nothing_stays_in_the_kernel() {
    let _guard = guard();
    let Some(watch) = watch(Evidence::Segments) else { return };
    let foreign = Foreign::start("127.0.0.1", (0, 0));
    choose(&watch, &foreign.client);
    let held = held_programs();
    assert!(held.len() >= 7, "{held:?}");
    drop(watch);
    assert!(held_programs().is_empty());
    // The kernel removes a program some time after its last user.
    for _ in 0..200 {
        if held.iter().all(|number| libbpf_rs::query::ProgInfoIter::default().all(|program| program.id != *number)) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("programs {held:?} are still there");
}

/// Numbers of the BPF programs that this process holds (`proc_pid_fdinfo(5)`).
fn held_programs() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc/self/fdinfo").expect("this process");
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
    let number = |text: String| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok());
    texts.filter(|text| !text.contains("link_type:")).filter_map(number).collect()
}
