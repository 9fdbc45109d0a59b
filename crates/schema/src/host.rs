//! Facts about a host and what it allows, as found before anything was changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::evidence::Hook;
use crate::testbed::Offloads;

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Interface name.
    pub name: String,
    /// Driver, where the device has one.
    pub driver: Option<String>,
    /// Version of the driver; that of the kernel where the driver has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Version of the device's firmware, where it states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_version: Option<String>,
    /// MTU in bytes.
    pub mtu_bytes: u32,
    /// Link speed in Mbit/s, where the device states one.
    pub speed_mbps: Option<u32>,
    /// Offloads.
    pub offloads: Offloads,
    /// Receive queues.
    pub rx_queues_count: u32,
    /// Transmit queues.
    pub tx_queues_count: u32,
}

/// Something a host allows or does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ability {
    /// The name: `network_namespaces`, `cpu_cycles_pmu`, …
    pub name: String,
    /// True if it can be used.
    pub can: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// The loss without it, in a sentence.
    pub lost_without: String,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// Identifier of this boot of the kernel; two ends with the same are on one machine. Empty
    /// where it cannot be read.
    pub boot_id: String,
    /// Version of the agent.
    pub agent_version: String,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Machine, as `uname -m`.
    pub machine: String,
    /// Distribution's pretty name.
    pub distribution: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    #[schemars(length(min = 1))]
    pub cpus: Vec<u32>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Clock source of the kernel.
    pub clock_source: String,
    /// Rate of the time stamp counter in Hz, measured against CLOCK_MONOTONIC_RAW; absent where
    /// there is no such counter.
    pub tsc_hz: Option<u64>,
    /// Congestion controls that a connection may choose.
    pub congestion_controls: Vec<String>,
    /// Settings that bear on transfer rates, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
    /// Devices of the namespace the agent runs in.
    pub devices: Vec<Device>,
    /// The abilities that the host allows.
    pub abilities: Vec<Ability>,
    /// The places in the kernel where evidence is taken, and whether it can be taken there.
    pub hooks: Vec<Hook>,
    /// The places in the kernel where stage times are taken, and whether they can be taken there; empty where `hooks` is.
    #[serde(default)]
    pub stage_hooks: Vec<Hook>,
    /// The privileges of the agent; absent where `hooks` is empty, because nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileges: Option<Privileges>,
}

/// Privileges that the agent has on its host or could get. Capabilities are named as in capabilities(7), of those that
/// whyperf uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Privileges {
    /// Capabilities in effect.
    pub effective: Vec<String>,
    /// Capabilities that a file may give: the bounding set.
    pub bounding: Vec<String>,
    /// True if the kernel gives this process no capabilities of files ("no new privileges" of prctl(2)).
    pub no_new_privileges: bool,
    /// True if the file system of the binary is mounted so that files on it give none (nosuid).
    pub is_nosuid: bool,
    /// The agent's binary.
    pub binary: String,
    /// True if only root can change or replace the binary.
    pub is_binary_safe: bool,
}
