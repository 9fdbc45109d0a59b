//! The path namespace of a testbed with a path: a network namespace of its own with a device towards each host, and
//! what carries the path between them.
//!
//! The path namespace has no addresses and forwards nothing by itself; what the ends send to each other's
//! hardware address reaches it only through the router's packet sockets.

use std::fs;

use schema::path::{DirectionSpec, PathImplementation, PathSpec, QueueLimit};
use schema::testbed::{TestbedMiddle, TestbedSpec};

use crate::ends::{FAR, NEAR, Plug, TOWARDS_FAR, TOWARDS_NEAR};
use crate::error::PathError;
use crate::link;
use crate::netns::Netns;
use crate::router::{PacketSocket, Router};
use crate::steering::Steering;
use crate::{settings, steering};

/// Memory that keeping a byte under way takes at most: packets of 1514 bytes lie in rooms of 2048,
/// and the kernel keeps as much again while the router has not come by.
const MEMORY_FACTOR: u64 = 2;

/// The path namespace as it stands.
#[derive(Debug)]
pub(crate) struct PathNamespace {
    /// Dropped first: its sockets keep the namespace alive.
    router: Router,
    netns: Netns,
    cpu: Option<u32>,
}

impl PathNamespace {
    /// Makes the namespace and both pairs of devices, and starts the router. The ends' devices are
    /// not up yet.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn build(near: &Netns, far: &Netns, mtu_bytes: u32, cpu: Option<u32>) -> Result<Self, PathError> {
        let netns = Netns::new()?;
        netns.run(settings::apply)?;
        for (end, own, towards) in [(near, NEAR, TOWARDS_NEAR), (far, FAR, TOWARDS_FAR)] {
            end.run(|| link::create_pair(own.plug(), towards, &netns, mtu_bytes))?;
        }
        let [near_socket, far_socket] = [TOWARDS_NEAR, TOWARDS_FAR].map(|plug| netns.run(|| open(plug, cpu)));
        let sockets = [near_socket?, far_socket?];
        let router = Router::start(sockets, cpu).map_err(|error| PathError::system("start the path's router", error))?;
        Ok(Self { router, netns, cpu })
    }

    /// The router that carries the path.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Waits until both devices pass packets, which they do when the ends' are up too.
    ///
    /// # Errors
    /// They do not.
    pub fn await_up(&self) -> Result<(), PathError> {
        self.netns.run(|| [TOWARDS_NEAR, TOWARDS_FAR].iter().try_for_each(|plug| link::await_up(plug.device)))
    }

    /// Packets that the path namespace's devices dropped since they exist.
    ///
    /// # Errors
    /// The devices are gone.
    pub fn dropped_packets(&self) -> Result<u64, PathError> {
        self.netns.run(|| [TOWARDS_NEAR, TOWARDS_FAR].iter().map(|plug| link::read(plug.device).map(|link| link.dropped_packets)).sum())
    }

    /// As it is reported to the controller.
    pub fn report(&self) -> TestbedMiddle {
        TestbedMiddle {
            implementation: "router".to_owned(),
            netns: self.netns.path(),
            devices: [TOWARDS_NEAR, TOWARDS_FAR].map(|plug| plug.device.to_owned()).to_vec(),
            cpu: self.cpu,
        }
    }
}

/// Brings a device of the path namespace up and opens a packet socket on it. What arrives there is
/// processed on the router's CPU, so that it never waits for an end's processing.
fn open(plug: Plug, cpu: Option<u32>) -> Result<PacketSocket, PathError> {
    link::bring_up(plug.device)?;
    let index = link::read(plug.device)?.index;
    let socket = PacketSocket::open(index)
        .map_err(|error| PathError::system(format!("open a packet socket on {} (CAP_NET_RAW)", plug.device), error))?;
    if let Some(cpu) = cpu {
        steering::set(plug.device, &Steering::to(cpu))?;
    }
    Ok(socket)
}

/// Refuses a path that this host cannot carry, before anything is made.
///
/// # Errors
/// [`PathError::Path`] with what is wrong and what to do.
pub(crate) fn check(spec: &PathSpec, mtu_bytes: u32) -> Result<(), PathError> {
    spec.validate(mtu_bytes).map_err(|error| PathError::Path { sentence: error.to_string() })?;
    if let (PathImplementation::Netem, Some(beyond)) = (spec.implementation, spec.beyond_netem()) {
        let sentence = format!("path_implementation netem has no {beyond}; choose path_implementation = \"router\"");
        return Err(PathError::Path { sentence });
    }
    let needed_bytes = under_way_bytes(spec, &spec.forward).saturating_add(under_way_bytes(spec, &spec.backward));
    let available_bytes = available_memory_bytes();
    if needed_bytes.saturating_mul(MEMORY_FACTOR) > available_bytes / 2 {
        let (needed, have) = (needed_bytes >> 20, available_bytes >> 20);
        let sentence = format!(
            "a path with up to {needed} MiB under way does not fit into this host's memory, of which {have} MiB are available; \
             choose a lower rate, a shorter delay or a shorter queue"
        );
        return Err(PathError::Path { sentence });
    }
    Ok(())
}

/// Refuses super-segments where the kernel's disciplines would count each as one packet.
///
/// # Errors
/// [`PathError::Path`] with what to do.
pub(crate) fn check_segments(path: &PathSpec, testbed: &TestbedSpec) -> Result<(), PathError> {
    if path.implementation != PathImplementation::Netem || !(testbed.tso || testbed.gso) {
        return Ok(());
    }
    let sentence = "netem counts and drops a super-segment of 64 KiB as one packet; set tso = false and gso = false, or choose \
                    path_implementation = \"router\""
        .to_owned();
    Err(PathError::Path { sentence })
}

/// Least share of payload in a buffer: the kernel counts what its own structures take, and keeps half of a
/// receive buffer for them (`tcp_adv_win_scale`).
const BUFFER_FACTOR: u64 = 4;
/// More is no help: a window ends at 1 GiB (RFC 7323 section 2.3).
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// Size that a buffer of TCP must have so that a connection can fill the path and its queue, in bytes.
pub(crate) fn buffer_bytes(spec: &PathSpec) -> u64 {
    let round_trip = |direction: &DirectionSpec| {
        let product_bytes = direction.rate_bps.map_or(0, |rate_bps| spec.bandwidth_delay_product_bytes(rate_bps));
        product_bytes.saturating_add(queue_bytes(spec, direction))
    };
    let held_bytes = round_trip(&spec.forward).max(round_trip(&spec.backward));
    held_bytes.saturating_mul(BUFFER_FACTOR).min(MAX_BUFFER_BYTES)
}

/// The capacity of a direction's queue, in bytes.
fn queue_bytes(spec: &PathSpec, direction: &DirectionSpec) -> u64 {
    match spec.queue_limit(direction) {
        Some(QueueLimit::Bytes { bytes }) => bytes,
        Some(QueueLimit::Packets { packets }) => packets.saturating_mul(1514),
        Some(QueueLimit::BandwidthDelayProduct) | None => 0,
    }
}

/// Most bytes that a direction holds: its queue, and what is in the delay line. Without a rate that
/// is as much as the sender sends; the kernel's largest socket buffer is no bound, so none is taken.
fn under_way_bytes(spec: &PathSpec, direction: &DirectionSpec) -> u64 {
    let Some(rate_bps) = direction.rate_bps else { return 0 };
    let line = u128::from(rate_bps) * u128::from(direction.delay_ns) / 8_000_000_000;
    u64::try_from(line).unwrap_or(u64::MAX).saturating_add(queue_bytes(spec, direction))
}

/// Memory that is to be had without swapping, in bytes; as much as there can be where the kernel
/// does not say.
fn available_memory_bytes() -> u64 {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(u64::MAX, |kib| kib * 1024)
}
