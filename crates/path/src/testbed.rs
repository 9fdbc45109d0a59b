//! Building the testbed, in the order things must happen.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use schema::path::PathSpec;
use schema::testbed::{TestbedEnd, TestbedSpec};

use crate::carriage::{Carriage, Carried};
use crate::ends::{End, FAR, IPV6_MTU_BYTES, NEAR};
use crate::error::PathError;
use crate::netns::Netns;
use crate::steering::Steering;
use crate::{carry, cpus, link, offload, path_namespace, settings, steering};

/// Least MTU of a veth, in bytes (RFC 791 section 3.2).
const LOWEST_MTU_BYTES: u32 = 68;
/// Highest MTU of a veth, in bytes.
const HIGHEST_MTU_BYTES: u32 = 65_535;
/// The CPUs online, as a list of ranges.
const CPUS_ONLINE: &str = "/sys/devices/system/cpu/online";

/// One of its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The end that opens connections.
    Near,
    /// The end that listens.
    Far,
}

/// A testbed that stands. Dropping it removes it; so does the end of the process.
#[derive(Debug)]
pub struct Testbed {
    report: schema::testbed::Testbed,
    middle: Option<Carriage>,
    pair: Pair,
    /// Packets that the devices had dropped when the path began.
    dropped_before_packets: AtomicU64,
}

impl Testbed {
    /// The testbed as read back from the kernel.
    pub fn report(&self) -> &schema::testbed::Testbed {
        &self.report
    }

    /// Runs `work` on a thread of its own inside an end's namespace. Sockets that it returns go on belonging
    /// there, whoever uses them.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` failed.
    pub fn inside<T: Send>(&self, side: Side, work: impl FnOnce() -> io::Result<T> + Send) -> Result<T, PathError> {
        let netns = match side {
            Side::Near => &self.pair.near,
            Side::Far => &self.pair.far,
        };
        netns.run(|| work().map_err(|error| PathError::system("use the testbed", error)))
    }

    /// Makes the path what `spec` says, without its losses until [`Testbed::begin_path`]. What
    /// leaves later than `budget_ns` after it was due is counted.
    ///
    /// # Errors
    /// The testbed has no path, or the path cannot be carried.
    pub fn carry_path(&self, spec: &PathSpec, budget_ns: u64) -> Result<(), PathError> {
        path_namespace::check(spec, self.report.near.mtu_bytes)?;
        let asks_for_ecn = spec.forward.queue.ecn || spec.backward.queue.ecn;
        let host_buffers = settings::buffers()?;
        let wanted_bytes = path_namespace::buffer_bytes(spec);
        self.pair.ends().into_iter().try_for_each(|(_, netns)| {
            netns.run(|| settings::apply_ecn(asks_for_ecn).and_then(|()| settings::apply_buffers(host_buffers, wanted_bytes)))
        })?;
        self.carriage()?.carry(spec, self.report.near.mtu_bytes, budget_ns)
    }

    /// From `at_mono_ns` on the path is all that was asked for, and its counts begin.
    ///
    /// # Errors
    /// The testbed has no path.
    pub fn begin_path(&self, at_mono_ns: u64) -> Result<(), PathError> {
        self.dropped_before_packets.store(self.dropped_packets()?, Ordering::Relaxed);
        self.carriage()?.start_path(at_mono_ns)
    }

    /// Lets everything pass at once again, and reports what the path did.
    ///
    /// # Errors
    /// The testbed has no path.
    pub fn end_path(&self) -> Result<Carried, PathError> {
        let mut carried = self.carriage()?.end()?;
        let before_packets = self.dropped_before_packets.load(Ordering::Relaxed);
        carried.audit_mut().device_dropped_packets += self.dropped_packets()?.saturating_sub(before_packets);
        Ok(carried)
    }

    /// Packets that the devices of the testbed dropped since it stands: none of them is the path's
    /// doing.
    fn dropped_packets(&self) -> Result<u64, PathError> {
        let of_path_namespace = self.middle.as_ref().map_or(Ok(0), Carriage::dropped_packets)?;
        self.pair.ends().into_iter().try_fold(of_path_namespace, |sum, (end, netns)| {
            let dropped = netns.run(|| link::read(end.device).map(|link| link.dropped_packets))?;
            Ok(sum + dropped)
        })
    }

    fn carriage(&self) -> Result<&Carriage, PathError> {
        let missing = || PathError::Path { sentence: "this testbed was built without a path; build it with one".to_owned() };
        self.middle.as_ref().ok_or_else(missing)
    }
}

/// The two namespaces with what is in them.
#[derive(Debug)]
struct Pair {
    near: Netns,
    far: Netns,
}

impl Drop for Pair {
    /// Deletes the devices at once; the namespaces follow when the last process has left them.
    fn drop(&mut self) {
        // The device is missing when building failed early; then there is nothing to delete.
        for (end, netns) in self.ends() {
            let _ = netns.run(|| link::delete(end.device));
        }
    }
}

/// Builds the testbed that `spec` describes and reads it back.
///
/// # Errors
/// The spec is impossible on this host, the privilege is missing, or the kernel refuses or keeps a
/// setting. Nothing is left then.
pub fn build(spec: &TestbedSpec) -> Result<Testbed, PathError> {
    let steered = check(spec)?;
    let pair = Pair { near: Netns::new()?, far: Netns::new()? };
    let ipv6 = settings::has_ipv6() && spec.mtu_bytes >= IPV6_MTU_BYTES;
    for (_, netns) in pair.ends() {
        netns.run(|| settings::apply().and_then(|()| settings::apply_tcp(spec.tcp)))?;
    }
    let middle = if let Some(path) = &spec.path {
        Some(Carriage::build(&pair.near, &pair.far, spec, path.implementation)?)
    } else {
        pair.near.run(|| link::create_pair(NEAR.plug(), FAR.plug(), &pair.far, spec.mtu_bytes))?;
        None
    };
    for (end, netns) in pair.ends() {
        netns.run(|| {
            offload::set(end.device, spec)?;
            if !spec.tso && !spec.gso {
                link::limit_segments(end.device, 1)?;
            }
            link::bring_up(end.device)
        })?;
    }
    if let Some(middle) = &middle {
        middle.await_up(ipv6)?;
    }
    for ((end, netns), peer) in pair.ends().into_iter().zip([FAR, NEAR]) {
        netns.run(|| {
            link::await_up(end.device)?;
            link::address(end, peer, ipv6)
        })?;
    }
    carry::check(&pair.near, &pair.far, spec.mtu_bytes, ipv6)?;
    let near = read_back(NEAR, &pair.near, &steered.near, spec, ipv6)?;
    let far = read_back(FAR, &pair.far, &steered.far, spec, ipv6)?;
    let report = schema::testbed::Testbed { near, far, middle: middle.as_ref().map(Carriage::report) };
    Ok(Testbed { report, middle, pair, dropped_before_packets: AtomicU64::new(0) })
}

impl Pair {
    fn ends(&self) -> [(End, &Netns); 2] {
        [(NEAR, &self.near), (FAR, &self.far)]
    }
}

/// The steering of each host's packets.
struct Steered {
    near: Steering,
    far: Steering,
}

/// Refuses what cannot be before anything is made.
fn check(spec: &TestbedSpec) -> Result<Steered, PathError> {
    let mtu_bytes = spec.mtu_bytes;
    if !(LOWEST_MTU_BYTES..=HIGHEST_MTU_BYTES).contains(&mtu_bytes) {
        return Err(PathError::MtuOutOfRange { mtu_bytes, lowest: LOWEST_MTU_BYTES, highest: HIGHEST_MTU_BYTES });
    }
    if let Some(path) = &spec.path {
        path_namespace::check(path, mtu_bytes)?;
        path_namespace::check_segments(path, spec)?;
    }
    let list = fs::read_to_string(CPUS_ONLINE).map_err(|error| PathError::system("list the CPUs online", error))?;
    let online = cpus::from_list(&list);
    let checked = |host, wanted: &[u32]| match wanted.iter().find(|cpu| !online.contains(cpu)) {
        Some(&cpu) => Err(PathError::CpuNotOnline { host, cpu, online: list.trim().to_owned() }),
        None => Ok(wanted.iter().copied().collect::<BTreeSet<u32>>()),
    };
    checked("router", spec.path_cpu.as_slice())?;
    // With TSO packets pass a veth's NAPI by: veth_skb_is_eligible_for_gro in drivers/net/veth.c.
    if spec.napi_threads.is_some() && (spec.tso || !spec.gro) {
        return Err(PathError::NoNapi);
    }
    let steered = |host, rps_cpus: &[u32], thread_cpus: Option<&Vec<u32>>| {
        let thread_cpus = thread_cpus.map(|wanted| checked(host, wanted)).transpose()?;
        Ok(Steering { rps_cpus: checked(host, rps_cpus)?, thread_cpus })
    };
    let threads = spec.napi_threads.as_ref();
    Ok(Steered {
        near: steered(NEAR.host, &spec.near_rps_cpus, threads.map(|threads| &threads.near_cpus))?,
        far: steered(FAR.host, &spec.far_rps_cpus, threads.map(|threads| &threads.far_cpus))?,
    })
}

/// Steers the end's packets, then reads everything back and compares it with what was asked.
fn read_back(end: End, netns: &Netns, steered: &Steering, spec: &TestbedSpec, ipv6: bool) -> Result<TestbedEnd, PathError> {
    let (rps_cpus, napi_thread_cpus) = netns.run(|| steering::set(end.device, steered))?;
    netns.run(|| {
        let link = link::read(end.device)?;
        if link.mtu_bytes != spec.mtu_bytes {
            let (asked, got) = (spec.mtu_bytes.to_string(), link.mtu_bytes.to_string());
            return Err(PathError::NotTaken { what: "the MTU", device: end.device, asked, got });
        }
        let tcp = settings::tcp();
        let addresses = link::read_addresses(end.device)?;
        let unusable = |address| {
            PathError::system(format!("give {} the address {address}", end.device), io::Error::other("it is not usable afterwards"))
        };
        let usable = |wanted: IpAddr| addresses.contains(&wanted).then(|| wanted.to_string()).ok_or_else(|| unusable(wanted));
        Ok(TestbedEnd {
            host: end.host.to_owned(),
            netns: netns.path(),
            device: end.device.to_owned(),
            ipv4: usable(end.ipv4.into())?,
            ipv6: if ipv6 { usable(end.ipv6.into())? } else { String::new() },
            mtu_bytes: link.mtu_bytes,
            offloads: offload::read(end.device)?,
            gso_max_segments: link.gso_max_segments,
            rps_cpus,
            napi_thread_cpus,
            tcp_limit_output_bytes: tcp.limit_output_bytes,
            tcp_autocorking: tcp.autocorking,
            tcp_tso_win_divisor: tcp.tso_win_divisor,
        })
    })
}
