//! The testbed on the real kernel. Needs root; without it every test says so and passes.

use std::os::unix::process::CommandExt;

use crate::support::{host_devices, spec, when_privileged};
use path::{PathError, build};
use schema::testbed::{NapiThreads, TcpQueueing, TestbedEnd, TestbedSpec};

#[test]
fn everything_is_read_back_and_nothing_stays() {
    let Some(_guard) = when_privileged() else { return };
    let before = host_devices();
    let testbed = build(&TestbedSpec { mtu_bytes: 9188, ..spec() }).expect("build");
    let report = testbed.report().clone();
    assert_eq!(host_devices(), before, "the testbed shows outside its namespaces");
    for end in [&report.near, &report.far] {
        assert_eq!(end.mtu_bytes, 9188);
        assert!(end.offloads.tso && end.offloads.gso && end.offloads.gro && end.offloads.tx_checksum, "{end:?}");
        assert!(end.gso_max_segments > 1, "{end:?}");
        assert!(end.netns.starts_with(&format!("/proc/{}/fd/", std::process::id())));
        assert!(std::fs::exists(&end.netns).expect("proc"));
    }
    assert_ne!(report.near.netns, report.far.netns);
    let inodes = [&report.near, &report.far].map(|end| std::fs::read_link(&end.netns).expect("namespace"));
    drop(testbed);
    assert_eq!(host_devices(), before);
    for inode in inodes {
        assert!(!own_descriptors().contains(&inode), "{} is still open", inode.display());
    }
}

#[test]
fn packets_are_steered_where_asked() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = build(&TestbedSpec { near_rps_cpus: vec![0], far_rps_cpus: vec![], ..spec() }).expect("build");
    let report = testbed.report();
    assert_eq!(bits(&report.near.rps_cpus), vec![1]);
    assert_eq!(bits(&report.far.rps_cpus), vec![0]);
}

#[test]
fn threads_poll_where_asked_and_end_with_the_testbed() {
    let Some(_guard) = when_privileged() else { return };
    let before = polling_threads();
    let threads = NapiThreads { near_cpus: vec![0], far_cpus: vec![] };
    let testbed = build(&TestbedSpec { napi_threads: Some(threads.clone()), tso: false, ..spec() }).expect("build");
    assert_eq!(testbed.report().near.napi_thread_cpus, Some(vec![0]));
    assert!(testbed.report().far.napi_thread_cpus.as_ref().is_some_and(|cpus| cpus.contains(&0)), "{:?}", testbed.report().far);
    assert_eq!(polling_threads(), before + 2);
    drop(testbed);
    // The kernel ends a device's threads with the device.
    assert_eq!(polling_threads(), before);
    assert_eq!(build(&spec()).expect("build").report().near.napi_thread_cpus, None);
    for (tso, gro) in [(false, false), (true, true)] {
        let without = TestbedSpec { napi_threads: Some(threads.clone()), tso, gro, ..spec() };
        let error = build(&without).expect_err("no NAPI");
        assert!(matches!(error, PathError::NoNapi), "{error}");
    }
}

#[test]
fn tcp_cuts_and_queues_as_asked_in_both_namespaces_alone() {
    let Some(_guard) = when_privileged() else { return };
    let of_host = || {
        ["limit_output_bytes", "autocorking", "tso_win_divisor"]
            .map(|name| std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}")).expect("a kernel parameter"))
    };
    let before = of_host();
    let asked = TcpQueueing { limit_output_bytes: Some(65_536), autocorking: Some(false), tso_win_divisor: Some(1) };
    let testbed = build(&TestbedSpec { tcp: asked, ..spec() }).expect("build");
    assert_eq!([&testbed.report().near, &testbed.report().far].map(queueing), [asked; 2]);
    assert_eq!(of_host(), before, "the host's own are changed");
    let only_one = TcpQueueing { autocorking: Some(false), ..TcpQueueing::default() };
    let own = build(&spec()).expect("build").report().near.clone();
    let testbed = build(&TestbedSpec { tcp: only_one, ..spec() }).expect("build");
    assert_eq!(queueing(&testbed.report().near), TcpQueueing { autocorking: Some(false), ..queueing(&own) });
}

#[test]
fn an_mtu_below_ipv6_leaves_the_ipv6_address_empty() {
    let Some(_guard) = when_privileged() else { return };
    let testbed = build(&TestbedSpec { mtu_bytes: 1279, ..spec() }).expect("build");
    assert_eq!(testbed.report().near.ipv6, "");
    assert_eq!(testbed.report().far.ipv4, "198.18.0.2");
    let testbed = build(&TestbedSpec { mtu_bytes: 1280, ..spec() }).expect("build");
    assert_eq!(testbed.report().near.ipv6, "2001:2::1");
}

#[test]
fn the_lowest_and_the_highest_mtu_carry_packets() {
    let Some(_guard) = when_privileged() else { return };
    for mtu_bytes in [68, 65_535] {
        let testbed = build(&TestbedSpec { mtu_bytes, ..spec() }).expect("build");
        assert_eq!(testbed.report().far.mtu_bytes, mtu_bytes);
    }
}

#[test]
fn an_impossible_mtu_is_refused_by_name() {
    for mtu_bytes in [0, 67, 65_536] {
        let error = build(&TestbedSpec { mtu_bytes, ..spec() }).expect_err("impossible");
        assert!(matches!(error, PathError::MtuOutOfRange { .. }), "{error}");
        assert!(error.to_string().contains(&mtu_bytes.to_string()), "{error}");
    }
}

#[test]
fn a_cpu_that_is_not_online_is_refused_by_name() {
    let error = build(&TestbedSpec { far_rps_cpus: vec![0, 4095], ..spec() }).expect_err("no such CPU");
    assert!(matches!(error, PathError::CpuNotOnline { host: "far", cpu: 4095, .. }), "{error}");
    assert_eq!(error.fault(), schema::message::Fault::Usage);
}

#[test]
fn without_privilege_the_remedy_is_named() {
    if let Some(_guard) = when_privileged() {
        // The other case, as a user without capabilities, in a process of its own.
        let binary = std::env::current_exe().expect("path");
        let copy = std::env::temp_dir().join(format!("whyperf-build-{}", std::process::id()));
        std::fs::copy(binary, &copy).expect("copy");
        let output = std::process::Command::new(&copy)
            .args(["--exact", "build::without_privilege_the_remedy_is_named", "--nocapture"])
            .uid(65_534)
            .output();
        std::fs::remove_file(&copy).expect("remove");
        let output = output.expect("start");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let error = build(&spec()).expect_err("no privilege");
    assert!(matches!(error, PathError::NotPermitted { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("CAP_SYS_ADMIN") && text.contains("run as root") && text.contains("--testbed loopback"), "{text}");
    println!("{text}");
}

#[test]
fn several_testbeds_stand_side_by_side() {
    let Some(_guard) = when_privileged() else { return };
    let first = build(&spec()).expect("first");
    let second = build(&spec()).expect("second");
    let inode = |path: &str| std::fs::read_link(path).expect("namespace");
    assert_ne!(inode(&first.report().near.netns), inode(&second.report().near.netns));
}

/// What the descriptors of this process are open on.
fn own_descriptors() -> Vec<std::path::PathBuf> {
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("proc");
    descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect()
}

/// How TCP of an end cuts and queues, as it was read back.
fn queueing(end: &TestbedEnd) -> TcpQueueing {
    TcpQueueing {
        limit_output_bytes: end.tcp_limit_output_bytes,
        autocorking: end.tcp_autocorking,
        tso_win_divisor: end.tcp_tso_win_divisor,
    }
}

/// How many threads of the kernel poll a near or far device of a testbed.
fn polling_threads() -> usize {
    let processes = std::fs::read_dir("/proc").expect("proc").flatten();
    let names = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|name| name.starts_with("napi/veth-")).count()
}

fn bits(masks: &[String]) -> Vec<u64> {
    masks.iter().map(|mask| u64::from_str_radix(&mask.replace(',', ""), 16).expect("mask")).collect()
}
