//! Sockets of real programs, as `sock_diag` names them: this process's own, and those of others.

use crate::guard;
use probe::sockets::owners::{Wanted, obstacle};
use probe::sockets::{Closings, Detail, Diag, Owner, Owners, Socket, SocketKey};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A connection over the loopback, both sockets here; the connecting one first.
fn pair(listen: &str) -> [TcpStream; 2] {
    let listener = TcpListener::bind(listen).expect("loopback");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
    [near, listener.accept().expect("comes").0]
}

fn ends(stream: &TcpStream) -> [SocketAddr; 2] {
    let plain = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    [plain(stream.local_addr().expect("bound")), plain(stream.peer_addr().expect("connected"))]
}

/// All connections, by their ends.
fn dumped(detail: Detail) -> HashMap<[SocketAddr; 2], Socket> {
    let mut found = HashMap::new();
    let mut diag = Diag::open().expect("netlink");
    diag.dump(detail, |socket| _ = found.insert(socket.key.ends(), socket)).expect("tcp_diag");
    found
}

fn asked(keys: &[SocketKey]) -> Vec<Option<Socket>> {
    Diag::open().expect("netlink").query(keys).expect("an answer")
}

fn inode_of(stream: &TcpStream) -> u32 {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).expect("it is open");
    let text = link.to_string_lossy();
    text.trim_start_matches("socket:[").trim_end_matches(']').parse().expect("a socket")
}

#[test]
fn a_dump_and_a_question_say_the_same_of_a_connection_of_any_family() {
    let _guard = guard();
    for listen in ["127.0.0.1:0", "[::1]:0", "mapped"] {
        let [mut near, mut far] = if listen == "mapped" {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).expect("both families");
            let port = listener.local_addr().expect("bound").port();
            let near = TcpStream::connect(("127.0.0.1", port)).expect("connects");
            [near, listener.accept().expect("comes").0]
        } else {
            pair(listen)
        };
        near.write_all(&[7; 5_000]).expect("room");
        far.read_exact(&mut [0; 3_000]).expect("it comes");
        let all = dumped(Detail::All);
        let (sender, receiver) = (&all[&ends(&near)], &all[&ends(&far)]);
        let is_mapped = |socket: &Socket| socket.key.local.ip().to_canonical() != socket.key.local.ip();
        assert_eq!([sender, receiver].map(is_mapped), [false, listen == "mapped"]);
        assert_eq!((sender.state.0, sender.inode, receiver.inode), (1, inode_of(&near), inode_of(&far)));
        assert_eq!(sender.user, nix::unistd::getuid().as_raw());
        // Until the delayed ACK the sender does not know of its last segment.
        let end = Instant::now() + Duration::from_secs(5);
        while asked(&[sender.key])[0].as_ref().is_some_and(|socket| socket.send_queue_bytes > 0) {
            assert!(Instant::now() < end, "no ACK");
            thread::sleep(Duration::from_millis(5));
        }
        let answers = asked(&[receiver.key, sender.key]);
        let [Some(receiver), Some(sender)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!((receiver.receive_queue_bytes, receiver.moved_bytes()), (2_000, 5_000));
        let info = sender.info.expect("asked for");
        assert_eq!((info.raw.bytes_received, info.bytes_sent()), (0, Some(5_000)));
        assert!((5_000..=5_001).contains(&info.raw.bytes_acked), "with its SYN: {}", info.raw.bytes_acked);
        let memory = receiver.memory.expect("asked for");
        assert!(memory.receive_bytes >= 2_000 && memory.receive_buffer_bytes > memory.receive_bytes);
        assert!(sender.congestion_control.as_ref().is_some_and(|name| !name.is_empty()));
        assert!(!sender.has_moved_nothing());
    }
}

#[test]
fn without_detail_nothing_is_asked_and_listening_sockets_are_named() {
    let _guard = guard();
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
    let mut listens = false;
    let mut found = None;
    let mut diag = Diag::open().expect("netlink");
    diag.dump(Detail::Names, |socket| {
        listens |= socket.state.is_listening() && socket.key.local == listener.local_addr().expect("bound");
        if socket.key.ends() == ends(&near) {
            found = Some(socket);
        }
    })
    .expect("tcp_diag");
    let found = found.expect("it is there");
    assert!(listens && found.info.is_none() && found.memory.is_none() && found.congestion_control.is_none());
}

#[test]
fn a_connection_that_is_gone_has_no_answer_and_another_one_at_its_place_neither() {
    let _guard = guard();
    let [near, far] = pair("127.0.0.1:0");
    let key = dumped(Detail::Names)[&ends(&near)].key;
    let other = SocketKey { cookie: key.cookie + 1, ..key };
    let answers = asked(&[other, key]);
    assert!(answers[0].is_none() && answers[1].is_some());
    // The end that closes first waits for some time to pass.
    drop(near);
    drop(far);
    let end = Instant::now() + Duration::from_secs(5);
    while asked(&[key])[0].is_some() {
        assert!(Instant::now() < end, "it is still there");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_questions_are_answered_in_their_order() {
    let _guard = guard();
    let pairs: Vec<_> = (0..40).map(|_| pair("127.0.0.1:0")).collect();
    let all = dumped(Detail::Names);
    let keys: Vec<_> = pairs.iter().flatten().map(|stream| all[&ends(stream)].key).collect();
    let answers = asked(&keys);
    assert_eq!(answers.len(), 80);
    assert!(answers.iter().zip(&keys).all(|(answer, key)| answer.as_ref().is_some_and(|socket| socket.key == *key)));
}

/// Of those whose opening and closing nobody saw, the kernel still says what they moved.
#[test]
fn a_short_connection_leaves_its_last_counters() {
    let _guard = guard();
    let Ok(mut closings) = Closings::open() else { return };
    let [mut near, mut far] = pair("127.0.0.1:0");
    near.write_all(&[7; 1_234]).expect("room");
    far.read_exact(&mut [0; 1_234]).expect("it comes");
    let there = ends(&far);
    // The receiver closes first, so that its socket waits for nothing but the time.
    drop(far);
    drop(near);
    let (mut received, end) = (None, Instant::now() + Duration::from_secs(10));
    while received.is_none() && Instant::now() < end {
        closings.take(|socket| {
            if socket.key.ends() == there {
                received = socket.info.map(|info| info.raw.bytes_received);
            }
        });
        thread::sleep(Duration::from_millis(2));
    }
    // The kernel counts the FIN, too.
    assert_eq!(received, Some(1_235));
}

#[test]
fn hundreds_of_connections_take_a_call_for_dozens_of_them() {
    let _guard = guard();
    let count = 400;
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = listener.local_addr().expect("bound");
    let pairs: Vec<_> = (0..count)
        .map(|_| {
            let near = TcpStream::connect(address).expect("connects");
            (near, listener.accept().expect("comes").0)
        })
        .collect();
    let mut diag = Diag::open().expect("netlink");
    for (detail, most_bytes) in [(Detail::Names, 200), (Detail::All, 700)] {
        let taken = diag.dump(detail, |_| ()).expect("tcp_diag");
        assert!(taken.sockets_count >= 2 * count, "{taken:?}");
        assert!(taken.received_bytes / taken.sockets_count <= most_bytes, "{taken:?}");
        assert!(taken.calls_count <= taken.sockets_count / 20, "{taken:?}");
    }
    drop(pairs);
}

#[test]
fn a_program_is_found_whose_name_is_no_utf_8() {
    let _guard = guard();
    let folder = std::env::temp_dir().join(format!("whyperf-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let binary = folder.join(OsStr::from_bytes(b"tool\xe9"));
    std::fs::copy("/bin/sleep", &binary).expect("copy");
    let mut child = Command::new(&binary).arg("60").spawn().expect("starts");
    let owner = Owner::of(child.id());
    let mut owners = Owners::new(Wanted { programs: vec!["tool\u{fffd}".to_owned()], ..Wanted::default() });
    let (count, _) = owners.sockets_of_followed();
    child.kill().expect("runs");
    child.wait().expect("ends");
    std::fs::remove_dir_all(&folder).expect("remove");
    assert_eq!(owner.map(|owner| owner.program), Some("tool\u{fffd}".to_owned()));
    assert_eq!(count, 1);
}

#[test]
fn the_process_that_holds_a_socket_is_found_among_all_or_among_those_that_are_asked_for() {
    let _guard = guard();
    let [near, _far] = pair("127.0.0.1:0");
    let (inode, process) = (inode_of(&near), std::process::id());
    let mut any = Owners::new(Wanted::default());
    any.find(&HashSet::from([inode]));
    assert_eq!(any.process_of(inode), Some(process));
    any.keep(&HashSet::new());
    assert_eq!(any.process_of(inode), None);

    let own = Owner::of(process).expect("it runs");
    let executable = std::env::current_exe().expect("a file");
    assert_eq!(own.executable, executable.display().to_string());
    for wanted in [
        Wanted { processes: vec![process], ..Wanted::default() },
        Wanted { programs: vec![own.program.clone()], ..Wanted::default() },
        Wanted { programs: vec![executable.file_name().expect("a file").to_string_lossy().into_owned()], ..Wanted::default() },
        // What this process has started is its parent's, too.
        Wanted { processes: vec![nix::unistd::getppid().as_raw().cast_unsigned()], ..Wanted::default() },
    ] {
        let mut owners = Owners::new(wanted.clone());
        owners.follow(&HashSet::from([inode]));
        assert_eq!(owners.process_of(inode), Some(process), "{wanted:?}");
        // Another socket may get the number of one that has closed, and a program may open any number of them.
        owners.follow(&HashSet::new());
        assert_eq!(owners.process_of(inode), None, "{wanted:?}");
        assert!(owners.sockets_of_followed().1.contains(&inode), "{wanted:?}");
    }
    let mut other = Owners::new(Wanted { programs: vec!["no-such-program".to_owned()], ..Wanted::default() });
    other.follow(&HashSet::from([inode]));
    assert_eq!(other.process_of(inode), None);
}

/// A process opens a listening socket and 110,000 files, with the help of those that it starts: one may have few. The last
/// of them opens a connection, and prints the inodes of the two sockets and its number.
const MANY_FILES: &str = "
import os, resource, socket, sys
most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 120_000)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
listener = socket.create_server(('127.0.0.1', 0))
count = most - 100
for _ in range(count):
    os.dup(0)
missing = 110_000 - count
while missing > 0 and os.fork() == 0:
    missing -= count
if missing <= 0:
    connection = socket.create_connection(listener.getsockname())
    print(os.fstat(listener.fileno()).st_ino, os.fstat(connection.fileno()).st_ino, os.getpid(), flush=True)
sys.stdin.read()
";

/// Any user can have as many files open: a round that looked at all of them would last for minutes.
#[test]
fn a_round_looks_at_some_of_very_many_files_and_the_next_one_goes_on_behind_them() {
    let _guard = guard();
    let mut parent = Command::new("python3").args(["-c", MANY_FILES]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
    let mut line = String::new();
    BufReader::new(parent.stdout.take().expect("piped")).read_line(&mut line).expect("a pipe");
    let numbers: Vec<u32> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [first, last, process] = numbers[..] else { panic!("three numbers: {line:?}") };

    let mut followed = Owners::new(Wanted { processes: vec![parent.id()], ..Wanted::default() });
    let mut any = Owners::new(Wanted::default());
    let mut rounds = [0, 0];
    while rounds[0] < 100 && followed.process_of(last).is_none() {
        followed.follow(&HashSet::from([first, last]));
        rounds[0] += 1;
    }
    while rounds[1] < 100 && any.process_of(last).is_none() {
        any.find(&HashSet::from([first, last]));
        rounds[1] += 1;
    }
    // Those that it has started go on reading until its end of this is closed.
    drop(parent.stdin.take());
    parent.wait().expect("it ends");
    let found = [followed.process_of(first), followed.process_of(last), any.process_of(last)];
    assert_eq!(found[1..], [Some(process); 2], "after {rounds:?} rounds");
    assert_eq!(found[0], Some(parent.id()));
    assert!(rounds.iter().all(|count| *count > 1), "{rounds:?} rounds");
}

#[test]
fn a_process_that_was_started_by_one_that_is_followed_stays_when_that_one_ends() {
    let _guard = guard();
    let script = "import socket, sys, time; listener = socket.create_server(('127.0.0.1', 0)); \
                  print(listener.getsockname()[1], flush=True); sys.stdin.read()";
    let shell = format!("python3 -c \"{script}\" <&3 & exec sleep 60");
    let mut parent = Command::new("sh")
        .args(["-c", &format!("exec 3<&0; {shell}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut owners = Owners::new(Wanted { processes: vec![parent.id()], ..Wanted::default() });
    let mut output = parent.stdout.take().expect("piped");
    let (mut port, end) = (Vec::new(), Instant::now() + Duration::from_secs(20));
    while !port.ends_with(b"\n") && Instant::now() < end {
        owners.follow(&HashSet::new());
        let mut byte = [0];
        if output.read(&mut byte).expect("a pipe") == 0 {
            break;
        }
        port.extend(byte);
    }
    let port: u16 = String::from_utf8_lossy(&port).trim().parse().expect("the child listens");
    owners.follow(&HashSet::new());
    // The child reads on until this is closed, which waiting for its parent would do.
    let input = parent.stdin.take();
    parent.kill().expect("it sleeps");
    parent.wait().expect("it was killed");
    let near = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    let mut inodes = HashSet::new();
    Diag::open()
        .expect("netlink")
        .dump(Detail::Names, |socket| {
            if socket.key.local.port() == port {
                inodes.insert(socket.inode);
            }
        })
        .expect("tcp_diag");
    owners.follow(&inodes);
    assert!(inodes.iter().any(|inode| owners.process_of(*inode).is_some()), "{inodes:?}");
    assert!(owners.is_any_left(), "the child");
    drop((near, input));
    let end = Instant::now() + Duration::from_secs(10);
    while owners.is_any_left() && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(!owners.is_any_left(), "the child ends with its input");
}

#[test]
fn what_cannot_be_watched_is_said_in_a_sentence() {
    let _guard = guard();
    assert_eq!(obstacle(std::process::id()), None);
    // Numbers are below 2^22.
    assert_eq!(obstacle(1 << 23).as_deref(), Some("there is no process 8388608 on this host"));
}
