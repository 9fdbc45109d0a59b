//! The embedded testbed: two network namespaces joined by a veth pair.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::PathSpec;

/// The testbed as it should look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestbedSpec {
    /// MTU of both devices in bytes.
    pub mtu_bytes: u32,
    /// TCP segmentation offload.
    pub tso: bool,
    /// Generic segmentation offload.
    pub gso: bool,
    /// Generic receive offload.
    pub gro: bool,
    /// CPUs that process packets arriving at the near side (receive packet steering). Without it a
    /// veth reorders its own flow. Empty: off.
    pub near_rps_cpus: Vec<u32>,
    /// The same for the far side.
    pub far_rps_cpus: Vec<u32>,
    /// With it a path lies between the hosts, which can carry what is asked here. Each trial sends
    /// its own ([`crate::message::Request::CarryPath`]); until then everything passes at once.
    #[serde(default)]
    pub path: Option<PathSpec>,
    /// CPU of the path's router; absent: any.
    #[serde(default)]
    pub path_cpu: Option<u32>,
    /// Kernel threads that poll the devices instead of soft interrupts (threaded NAPI); absent: none. Needs `gro`:
    /// without it a veth has no NAPI.
    #[serde(default)]
    pub napi_threads: Option<NapiThreads>,
    /// The way that TCP of both sides cuts and queues.
    #[serde(default)]
    pub tcp: TcpQueueing,
}

/// On which CPUs the threads run that poll the devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NapiThreads {
    /// CPUs of the near side's.
    pub near_cpus: Vec<u32>,
    /// CPUs of the far side's.
    pub far_cpus: Vec<u32>,
}

/// Kernel parameters that decide how much TCP hands down at once. Each network namespace has its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpQueueing {
    /// `net.ipv4.tcp_limit_output_bytes`: most of a connection below TCP, in bytes. Absent: the kernel's own value.
    pub limit_output_bytes: Option<u32>,
    /// `net.ipv4.tcp_autocorking`: small writes wait while a packet of the connection is below TCP. Absent: as above.
    pub autocorking: Option<bool>,
    /// `net.ipv4.tcp_tso_win_divisor`: a smaller super-segment than the congestion window divided by this waits for
    /// more (TSO deferral). Absent: as above.
    pub tso_win_divisor: Option<u8>,
}

/// Offloads of a device as the kernel reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offloads {
    /// TCP segmentation offload.
    pub tso: bool,
    /// Generic segmentation offload.
    pub gso: bool,
    /// Generic receive offload.
    pub gro: bool,
    /// Transmit checksum offload.
    pub tx_checksum: bool,
    /// Receive checksum offload.
    pub rx_checksum: bool,
}

/// One end of the testbed, everything read back from the kernel after it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestbedEnd {
    /// `near` or `far`.
    pub host: String,
    /// Path of the network namespace, good as long as the testbed's agent lives.
    pub netns: String,
    /// Name of the veth device.
    pub device: String,
    /// IPv4 address, without prefix length.
    pub ipv4: String,
    /// IPv6 address, without prefix length.
    pub ipv6: String,
    /// MTU in bytes.
    pub mtu_bytes: u32,
    /// Offloads of the device.
    pub offloads: Offloads,
    /// Most segments TCP hands to the device at once: 1 when neither TSO nor GSO was asked for,
    /// because Linux builds super-segments even where both features are off (since 4.17).
    pub gso_max_segments: u32,
    /// Receive packet steering mask of every receive queue, as in sysfs.
    pub rps_cpus: Vec<String>,
    /// CPUs of the kernel threads that poll the device; absent: soft interrupts do.
    #[serde(default)]
    pub napi_thread_cpus: Option<Vec<u32>>,
    /// `net.ipv4.tcp_limit_output_bytes`; absent where the kernel has none.
    #[serde(default)]
    pub tcp_limit_output_bytes: Option<u32>,
    /// `net.ipv4.tcp_autocorking`; absent where the kernel has none.
    #[serde(default)]
    pub tcp_autocorking: Option<bool>,
    /// `net.ipv4.tcp_tso_win_divisor`; absent where the kernel has none.
    #[serde(default)]
    pub tcp_tso_win_divisor: Option<u8>,
}

/// The part that lies between the ends, read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestbedMiddle {
    /// `router` or `netem`.
    pub implementation: String,
    /// Path of the network namespace, good as long as the testbed's agent lives.
    pub netns: String,
    /// Devices towards the near and the far side.
    pub devices: Vec<String>,
    /// CPU of the router; absent: any.
    pub cpu: Option<u32>,
}

/// The testbed as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Testbed {
    /// The end that opens connections.
    pub near: TestbedEnd,
    /// The end that listens.
    pub far: TestbedEnd,
    /// The part that lies between them, where a path was asked for.
    #[serde(default)]
    pub middle: Option<TestbedMiddle>,
}
