//! What crosses the testbed: data in both families at once, and frames as the offloads say.
//! Needs root; without it every test says so and passes.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use crate::support::{Watch, inside, spec, transfer, when_privileged};
use path::build;
use schema::testbed::{Testbed, TestbedSpec};

/// Ethernet header, in bytes.
const ETHERNET_BYTES: usize = 14;
const TRANSFER_BYTES: usize = 400_000;

#[test]
fn both_families_carry_full_packets_right_after_build() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = build(&TestbedSpec { mtu_bytes: 9188, tso: false, gso: false, gro: false, ..spec() }).expect("build");
    let Testbed { near, far, .. } = testbed.report();
    for (near_address, far_address, headers) in [(&near.ipv4, &far.ipv4, 28), (&near.ipv6, &far.ipv6, 48)] {
        let watch = Watch::open(&far.netns);
        let sender = inside(&near.netns, || UdpSocket::bind(SocketAddr::new(near_address.parse().expect("address"), 0))).expect("bind");
        let receiver = inside(&far.netns, || UdpSocket::bind(SocketAddr::new(far_address.parse().expect("address"), 0))).expect("bind");
        receiver.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
        sender.send_to(&vec![1; 9188 - headers], receiver.local_addr().expect("address")).expect("send");
        assert_eq!(receiver.recv(&mut [0; 9188]).expect("datagram"), 9188 - headers);
        let lengths: Vec<usize> = watch.frames().iter().map(|frame| frame.length).collect();
        assert!(lengths.contains(&(9188 + ETHERNET_BYTES)), "the datagram was cut: {lengths:?}");
        assert_eq!(transfer(near, far, far_address, TRANSFER_BYTES), TRANSFER_BYTES);
    }
}

#[test]
fn the_first_segment_waits_for_no_address_resolution() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = build(&spec()).expect("build");
    let Testbed { near, far, .. } = testbed.report();
    let watch = Watch::open(&far.netns);
    transfer(near, far, &far.ipv4, 1000);
    transfer(near, far, &far.ipv6, 1000);
    let frames = watch.frames();
    assert!(frames.len() > 6, "{frames:?}");
    assert!(frames.iter().all(|frame| frame.ether_type() != 0x0806 && !frame.is_icmp6()), "{frames:?}");
}

#[test]
fn without_segmentation_offload_frames_are_as_long_as_the_mtu() {
    let Some(_guard) = when_privileged() else { return };
    for gso in [true, false] {
        let testbed = build(&TestbedSpec { tso: false, gso, gro: false, ..spec() }).expect("build");
        let Testbed { near, far, .. } = testbed.report();
        for end in [near, far] {
            assert!(!end.offloads.tso && end.offloads.gso == gso && !end.offloads.gro, "{end:?}");
            assert_eq!(end.gso_max_segments == 1, !gso, "{end:?}");
        }
        for address in [&far.ipv4, &far.ipv6] {
            assert_eq!(longest_frame(testbed.report(), address), 1500 + ETHERNET_BYTES, "gso {gso}");
        }
    }
}

#[test]
fn with_segmentation_offload_super_segments_cross() {
    let Some(_guard) = when_privileged() else { return };
    for gso in [true, false] {
        let testbed = build(&TestbedSpec { gso, ..spec() }).expect("build");
        let longest = longest_frame(testbed.report(), &testbed.report().far.ipv4);
        assert!(longest > 4 * 1500, "the longest frame has {longest} bytes, gso {gso}");
    }
}

#[test]
fn receive_offload_joins_segments_at_the_receiver() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = build(&TestbedSpec { tso: false, gso: true, gro: true, ..spec() }).expect("build");
    let Testbed { near, far, .. } = testbed.report();
    let (sent, received) = (Watch::open(&near.netns), Watch::open(&far.netns));
    transfer(near, far, &far.ipv4, TRANSFER_BYTES);
    assert_eq!(longest(&sent), 1500 + ETHERNET_BYTES);
    assert!(longest(&received) > 2 * 1500, "nothing was joined");
}

#[test]
fn nothing_of_a_connection_is_kept_for_the_next() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = build(&spec()).expect("build");
    for end in [&testbed.report().near, &testbed.report().far] {
        let setting = inside(&end.netns, || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_no_metrics_save")).expect("sysctl");
        assert_eq!(setting.trim(), "1", "{}", end.host);
    }
}

/// Length of the longest frame the receiver's device saw during a transfer.
fn longest_frame(testbed: &Testbed, address: &str) -> usize {
    let watch = Watch::open(&testbed.far.netns);
    assert_eq!(transfer(&testbed.near, &testbed.far, address, TRANSFER_BYTES), TRANSFER_BYTES);
    longest(&watch)
}

fn longest(watch: &Watch) -> usize {
    watch.frames().iter().map(|frame| frame.length).max().expect("frames")
}
