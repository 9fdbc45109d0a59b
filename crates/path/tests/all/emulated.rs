//! The emulated path on the real kernel: what crosses it, and what does not. Needs root; without it
//! every test says so and passes.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{counter, icmp6_sent, inside, received_twice, spec, transfer, transfer_counted, when_privileged};
use emulate::PathDirection;
use emulate::ledger::Tally;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, UdpGsoSegment};
use path::router::Carried;
use path::{Carried as ByAny, PathError, Testbed, build};
use schema::path::{DirectionSpec, Discipline, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};
use schema::testbed::{TestbedEnd, TestbedSpec};

const MS: u64 = 1_000_000;
const MSS_BYTES: usize = 1448;
/// Late is what no stall of a busy machine explains; lateness is not what these tests are about.
const BUDGET_NS: u64 = 1_000 * MS;

fn path_spec(forward: DirectionSpec, backward: DirectionSpec) -> PathSpec {
    PathSpec { implementation: PathImplementation::Router, seed: 1, forward, backward, interval_ns: 100 * MS }
}

fn delayed(delay_ns: u64) -> DirectionSpec {
    DirectionSpec { delay_ns, ..DirectionSpec::default() }
}

/// A testbed that is this path with all of its losses from now on.
fn with_path(path: &PathSpec) -> Testbed {
    let testbed = build(&TestbedSpec { path: Some(path.clone()), path_cpu: Some(0), ..spec() }).expect("build");
    testbed.carry_path(path, BUDGET_NS).expect("carry");
    testbed.begin_path(0).expect("begin");
    testbed
}

fn ends(testbed: &Testbed) -> (&TestbedEnd, &TestbedEnd) {
    (&testbed.report().near, &testbed.report().far)
}

/// Ends the path, which the router carried.
fn ended(testbed: &Testbed) -> Carried {
    match testbed.end_path().expect("end") {
        ByAny::Routed(carried) => *carried,
        ByAny::Counted(_) => panic!("the router was asked for"),
    }
}

/// All counts of a direction together, once everything in it has left.
fn counts(carried: &mut Carried, way: PathDirection) -> Tally {
    let direction = carried.path.direction(way);
    let mut sum = Tally::default();
    let closed: Vec<Tally> = std::iter::from_fn(|| direction.poll_tally()).collect();
    for tally in closed.into_iter().chain([direction.current_tally()]) {
        sum.arrived_packets += tally.arrived_packets;
        sum.arrived_bytes += tally.arrived_bytes;
        sum.passed_packets += tally.passed_packets;
        sum.lost_random_packets += tally.lost_random_packets;
        sum.lost_scripted_packets += tally.lost_scripted_packets;
        sum.dropped_full_packets += tally.dropped_full_packets;
        sum.dropped_early_packets += tally.dropped_early_packets;
        sum.marked_packets += tally.marked_packets;
        sum.duplicated_packets += tally.duplicated_packets;
    }
    sum
}

fn nothing_else_was_lost(carried: &Carried) {
    let audit = &carried.audit;
    assert_eq!((audit.socket_dropped_frames, audit.device_dropped_packets, audit.refused_frames), (0, 0, 0), "{audit:?}");
    assert_eq!((audit.unstamped_frames, audit.late_packets), (0, Some(0)), "{audit:?}");
}

#[test]
fn nothing_crosses_faster_than_the_delay() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = with_path(&path_spec(delayed(10 * MS), delayed(5 * MS)));
    let (near, far) = ends(&testbed);
    for address in [&far.ipv4, &far.ipv6] {
        let listener = inside(&far.netns, || TcpListener::bind((address.as_str(), 0))).expect("listen");
        let to = listener.local_addr().expect("address");
        let start = Instant::now();
        inside(&near.netns, || TcpStream::connect_timeout(&to, Duration::from_secs(20))).expect("connect");
        assert!(start.elapsed() >= Duration::from_millis(15), "{:?}", start.elapsed());
    }
    nothing_else_was_lost(&ended(&testbed));
    assert_eq!(transfer(near, far, &far.ipv4, 100), 100, "without a trial everything passes");
}

#[test]
fn the_named_segments_are_lost_and_no_others() {
    let Some(_guard) = when_privileged() else { return };
    let loss = LossSpec::Scripted { segments: vec![20, 21, 40, 300] };
    let testbed = with_path(&path_spec(DirectionSpec { loss, ..delayed(2 * MS) }, delayed(2 * MS)));
    let (near, far) = ends(&testbed);
    let (received, again) = transfer_counted(near, far, &far.ipv4, 1000 * MSS_BYTES);
    let twice = received_twice(far);
    assert_eq!(received, 1000 * MSS_BYTES);
    let mut carried = ended(&testbed);
    nothing_else_was_lost(&carried);
    let forward = counts(&mut carried, PathDirection::Forward);
    assert_eq!(forward.lost_scripted_packets, 4);
    assert_eq!(forward.arrived_packets, forward.passed_packets + 4);
    // What a stalled host has sent again for nothing arrives twice.
    let most = 7 + twice;
    assert!((4..=most).contains(&u64::from(again)), "each is sent again once, and perhaps a probe: {again}, {twice} came twice");
}

#[test]
fn the_sender_sends_again_what_the_queue_dropped() {
    let Some(_guard) = when_privileged() else { return };
    let queue = QueueSpec { limit: QueueLimit::Packets { packets: 20 }, ..QueueSpec::default() };
    let forward = DirectionSpec { rate_bps: Some(40_000_000), queue, ..delayed(5 * MS) };
    let path = path_spec(forward, delayed(5 * MS));
    let testbed = with_path(&path);
    let (near, far) = ends(&testbed);
    for address in [&far.ipv4, &far.ipv6] {
        let bytes = 2000 * MSS_BYTES;
        assert!(testbed.carry_path(&path, BUDGET_NS).is_ok() && testbed.begin_path(0).is_ok());
        let (twice_before, asked_before) = (received_twice(far), icmp6_sent(near));
        let (received, again) = transfer_counted(near, far, address, bytes);
        assert_eq!(received, bytes);
        let (twice, asked) = (received_twice(far) - twice_before, icmp6_sent(near) - asked_before);
        let mut carried = ended(&testbed);
        nothing_else_was_lost(&carried);
        let forward = counts(&mut carried, PathDirection::Forward);
        assert!(forward.dropped_full_packets > 0, "{forward:?}");
        // On a host that stalls the sender probes a loss that was none (RFC 8985 section 7), or its timer expires for none;
        // what it sends for nothing arrives twice. A question for the neighbor's address is dropped as well.
        let (again, dropped) = (u64::from(again), forward.dropped_full_packets);
        assert!(again + asked >= dropped, "{again} sent again, {asked} of ICMPv6, {forward:?}");
        assert!(again <= dropped + 3 + twice, "{again} sent again, {twice} came twice, {forward:?}");
        assert_eq!(forward.arrived_packets, forward.passed_packets + forward.dropped_full_packets);
    }
}

#[test]
fn the_receiver_sees_the_marks_of_the_queue() {
    let Some(_guard) = when_privileged() else { return };
    let discipline = Discipline::Codel { target_ns: 5 * MS, interval_ns: 20 * MS };
    let queue = QueueSpec { limit: QueueLimit::Packets { packets: 1000 }, discipline, ecn: true };
    let forward = DirectionSpec { rate_bps: Some(40_000_000), queue, ..delayed(5 * MS) };
    let testbed = with_path(&path_spec(forward, delayed(5 * MS)));
    let (near, far) = ends(&testbed);
    for address in [&far.ipv4, &far.ipv6] {
        let bytes = 1500 * MSS_BYTES;
        let before = marks_seen(far);
        // On a host that is busy otherwise, a transfer may be too slow to fill the queue.
        for _ in 0..5 {
            assert_eq!(transfer_counted(near, far, address, bytes).0, bytes);
            if marks_seen(far) > before {
                break;
            }
        }
        assert!(marks_seen(far) > before, "no mark seen at {address}");
    }
    let mut carried = ended(&testbed);
    nothing_else_was_lost(&carried);
    assert_eq!(marks_seen(far), counts(&mut carried, PathDirection::Forward).marked_packets);
}

/// Packets with a mark of congestion that `end` received, of both versions of IP.
fn marks_seen(end: &TestbedEnd) -> u64 {
    let v4 = inside(&end.netns, || std::fs::read_to_string("/proc/thread-self/net/netstat")).expect("counters");
    let v6 = inside(&end.netns, || std::fs::read_to_string("/proc/thread-self/net/snmp6")).expect("counters");
    let of_v6: u64 = v6.lines().find_map(|line| line.strip_prefix("Ip6InCEPkts")).expect("counter").trim().parse().expect("number");
    counter(&v4, "IpExt:", "InCEPkts") + of_v6
}

#[test]
fn what_is_cut_out_of_super_segments_is_whole_and_its_checksums_are_right() {
    let Some(_guard) = when_privileged() else { return };
    // Super-segments fall apart where a packet of theirs is lost or comes twice.
    let loss = LossSpec::Scripted { segments: (1..40).map(|index| index * 53).collect() };
    let forward = DirectionSpec { loss, duplicate_per_billion: 50_000_000, ..delayed(2 * MS) };
    let testbed = with_path(&path_spec(forward, delayed(2 * MS)));
    let (near, far) = ends(&testbed);
    let middle = testbed.report().middle.as_ref().expect("middle");
    // The kernel makes the checksums when the router sends, and the receiver checks them.
    let off = || Command::new("ethtool").args(["-K", "path-far", "tx", "off"]).output();
    assert!(inside(&middle.netns, off).expect("ethtool").status.success());
    for address in [&far.ipv4, &far.ipv6] {
        let bytes = 2000 * MSS_BYTES;
        let (received, _) = transfer_counted(near, far, address, bytes);
        assert_eq!(received, bytes);
    }
    let wrong = inside(&far.netns, || std::fs::read_to_string("/proc/thread-self/net/snmp")).expect("counters");
    assert_eq!(counter(&wrong, "Tcp:", "InCsumErrors"), 0);
    let mut carried = ended(&testbed);
    nothing_else_was_lost(&carried);
    assert!(counts(&mut carried, PathDirection::Forward).duplicated_packets > 0);
}

#[test]
fn datagrams_of_one_call_are_packets_of_their_own() {
    let Some(_guard) = when_privileged() else { return };
    let loss = LossSpec::Random { probability_per_billion: 200_000_000 };
    let testbed = with_path(&path_spec(DirectionSpec { loss, ..delayed(MS) }, delayed(MS)));
    let (near, far) = ends(&testbed);
    let mut sent = 0;
    let mut received = 0;
    for address in [&far.ipv4, &far.ipv6] {
        let to_socket = inside(&far.netns, || UdpSocket::bind((address.as_str(), 0))).expect("bind");
        // Room for all calls: a router that a busy host held up passes several of them at once.
        setsockopt(&to_socket, RcvBufForce, &(4 << 20)).expect("receive buffer");
        let any = if address.contains(':') { "::" } else { "0.0.0.0" };
        let from_socket = inside(&near.netns, || UdpSocket::bind((any, 0))).expect("bind");
        setsockopt(&from_socket, UdpGsoSegment, &1000).expect("segmentation");
        from_socket.connect(to_socket.local_addr().expect("address")).expect("connect");
        for call in 0..12_u8 {
            // Twenty datagrams of 1000 bytes and one of 500, each full of its own number.
            let payload: Vec<u8> = (0..=20).flat_map(|part| [21 * call + part; 1000]).take(20_500).collect();
            assert_eq!(from_socket.send(&payload).expect("send"), payload.len());
            sent += 21;
            // Behind the last call comes what a busy host held up.
            let patience = Duration::from_millis(if call == 11 { 1_000 } else { 50 });
            to_socket.set_read_timeout(Some(patience)).expect("timeout");
            let mut datagram = [0; 2000];
            while let Ok(length) = to_socket.recv(&mut datagram) {
                assert!(length == 1000 || length == 500, "{length}");
                assert!(datagram[..length].iter().all(|&byte| byte == datagram[0]), "a datagram of parts of others");
                received += 1;
            }
        }
    }
    let mut carried = ended(&testbed);
    nothing_else_was_lost(&carried);
    let forward = counts(&mut carried, PathDirection::Forward);
    // A host may have something to say of its own accord, as a multicast report.
    let own = forward.arrived_packets - sent;
    assert!(own < 5, "{forward:?}");
    assert_eq!(forward.arrived_packets, forward.passed_packets + forward.lost_random_packets);
    assert!((received..=received + own).contains(&forward.passed_packets), "{received} received, {forward:?}");
    assert!(forward.lost_random_packets > own);
}

#[test]
fn a_connection_may_fill_the_path_and_its_queue() {
    let Some(_guard) = when_privileged() else { return };
    let most_bytes = |end: &TestbedEnd, name: &str| -> u64 {
        let text = inside(&end.netns, || std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"))).expect("read");
        text.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("three numbers")
    };
    // 22.5 MB are under way, and as much waits in the queue.
    let forward = DirectionSpec { rate_bps: Some(1_000_000_000), ..delayed(90 * MS) };
    let long = path_spec(forward, delayed(90 * MS));
    let testbed = with_path(&long);
    let (near, far) = ends(&testbed);
    for (end, name) in [(near, "tcp_wmem"), (far, "tcp_rmem")] {
        assert_eq!(most_bytes(end, name), 4 * 45_000_000, "{name}");
    }
    // A trial without such a path has the host's bounds again.
    testbed.carry_path(&path_spec(delayed(MS), delayed(MS)), BUDGET_NS).expect("carry");
    let host = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_wmem").expect("read");
    assert_eq!(most_bytes(near, "tcp_wmem").to_string(), host.split_whitespace().nth(2).expect("three numbers"));
}

#[test]
fn what_the_host_cannot_carry_is_named_before() {
    let without_room = DirectionSpec { rate_bps: Some(1_000_000_000_000), ..delayed(10_000 * MS) };
    let scripted = DirectionSpec { loss: LossSpec::Scripted { segments: vec![7] }, ..delayed(MS) };
    let netem = |forward| PathSpec { implementation: PathImplementation::Netem, ..path_spec(forward, delayed(MS)) };
    let cases = [
        (path_spec(without_room, delayed(MS)), "memory"),
        (netem(scripted), "scripted loss"),
        (netem(delayed(MS)), "super-segment"),
        (path_spec(DirectionSpec { jitter_ns: 2 * MS, ..delayed(MS) }, delayed(MS)), "jitter"),
    ];
    for (path, word) in cases {
        let error = build(&TestbedSpec { path: Some(path), ..spec() }).expect_err(word);
        assert!(matches!(error, PathError::Path { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}
