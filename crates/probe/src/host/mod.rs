//! Facts about the host and what it allows, found before anything is changed. Evidence level 0.
//!
//! Cost: about 30 ms, most of it spent asleep to measure the time stamp counter. What a host does
//! not report is empty, absent, or the reason of an [`Ability`](schema::host::Ability); nothing here
//! fails as a whole.

mod abilities;
pub(crate) mod cpus;
mod devices;
mod netem;
pub mod privileges;
mod realtime;
mod sysctls;
mod system;
mod tsc;

use schema::host::HostFacts;

use crate::{evidence, stages};

/// Describes the host the calling process runs on, and the devices of its network namespace;
/// `with_hooks` tries the hooks of the evidence, which takes about 0.3 s more.
pub fn describe(agent_version: &str, with_hooks: bool) -> HostFacts {
    let cpu_information = system::read("/proc/cpuinfo");
    HostFacts {
        hostname: system::hostname(),
        boot_id: system::boot_id(),
        agent_version: agent_version.to_owned(),
        kernel: system::kernel(),
        machine: system::machine(),
        distribution: system::distribution(),
        cpu_model: system::cpu_model(&cpu_information),
        cpus: cpus::allowed(),
        memory_bytes: system::memory_bytes(),
        clock_source: system::clock_source(),
        tsc_hz: tsc::rate_hz(&cpu_information),
        congestion_controls: sysctls::congestion_controls(),
        sysctls: sysctls::read_all(),
        devices: devices::list(),
        abilities: abilities::list(),
        hooks: if with_hooks { evidence::hooks() } else { Vec::new() },
        stage_hooks: if with_hooks { stages::hooks() } else { Vec::new() },
        privileges: with_hooks.then(privileges::describe),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_describes_itself() {
        let facts = describe("1.2.3", false);
        assert_eq!(facts.agent_version, "1.2.3");
        let uname = std::process::Command::new("uname").args(["-n", "-r", "-m"]).output().expect("uname");
        let uname = String::from_utf8(uname.stdout).expect("text");
        assert_eq!(format!("{} {} {}", facts.hostname, facts.kernel, facts.machine), uname.trim());
        let nproc = std::process::Command::new("nproc").env_remove("OMP_NUM_THREADS").output().expect("nproc");
        assert_eq!(facts.cpus.len().to_string(), String::from_utf8(nproc.stdout).expect("text").trim());
        assert_eq!(facts.boot_id.len(), 36, "a UUID: {}", facts.boot_id);
        assert!(facts.memory_bytes > 64 << 20, "{facts:?}");
        assert!(facts.congestion_controls.contains(&"reno".to_owned()), "{facts:?}");
        assert!(facts.sysctls.contains_key("net.ipv4.tcp_rmem"), "{facts:?}");
        assert!(facts.devices.iter().any(|device| device.name == "lo"), "{facts:?}");
    }

    #[test]
    fn every_ability_has_a_reason_and_a_price() {
        let facts = describe("1.2.3", false);
        let names: Vec<&str> = facts.abilities.iter().map(|ability| ability.name.as_str()).collect();
        assert_eq!(names, ["network_namespaces", "cpu_cycles_pmu", "bpf", "netem", "cpu_pinning", "realtime_scheduling"]);
        for ability in facts.abilities {
            assert!(!ability.reason.is_empty() && !ability.lost_without.is_empty(), "{ability:?}");
        }
    }

    #[test]
    fn looking_changes_nothing() {
        let here = || std::fs::read_link("/proc/thread-self/ns/net").expect("namespace");
        let policy = || {
            std::fs::read_to_string("/proc/thread-self/status")
                .expect("status")
                .lines()
                .find(|line| line.starts_with("Cpus_allowed_list"))
                .map(str::to_owned)
        };
        let before = (here(), policy());
        describe("1.2.3", false);
        assert_eq!((here(), policy()), before);
    }
}
