//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses its part")]

use schema::testbed::TestbedSpec;

/// Whether the process may make network namespaces; says so when it may not.
pub fn when_privileged() -> bool {
    let allowed = nix::unistd::geteuid().is_root();
    if !allowed {
        eprintln!("skipped: making network namespaces takes root");
    }
    allowed
}

/// A spec as `whyperf run` would ask for.
pub fn spec() -> TestbedSpec {
    TestbedSpec { mtu_bytes: 1500, tso: true, gso: true, gro: true, near_rps_cpus: vec![], far_rps_cpus: vec![] }
}

/// The devices of the namespace the test runs in.
pub fn host_devices() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/self/net/dev").expect("device table");
    table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}
