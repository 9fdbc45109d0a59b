//! Parts of a trial's path in this host that stages do not show, or show only as part of another stage: devices on top of
//! others, devices without NAPI, steering, XDP, busy polling, and clocks of CPUs that differ.
//!
//! Asked when a trial begins, of the devices that its connections use. Not seen: what eBPF programs of `tc` and netfilter
//! do with packets, and devices in other network namespaces.

mod clocks;
mod links;

use schema::evidence::{StageLimit, StageLimitKind};
use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

pub use clocks::{CpuClock, compare};
use links::{Interface, Interfaces};

/// Devices under a device that are looked at.
const MAX_DEPTH: usize = 4;

/// All that is known of a connection's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connected {
    /// Its own address.
    pub local: IpAddr,
    /// The other side's.
    pub peer: IpAddr,
    /// The NAPI instance that its last packet came from (`SO_INCOMING_NAPI_ID`): `Some(0)` where it came from none.
    pub napi_id: Option<u32>,
    /// The time that a receive call polls the device, in µs (`SO_BUSY_POLL`).
    pub busy_poll_us: u32,
}

/// The limits of these connections, in this thread's network namespace; `clocks` are those of the CPUs.
pub fn limits(connections: &BTreeSet<Connected>, clocks: &[CpuClock]) -> Vec<StageLimit> {
    let mut found = BTreeSet::new();
    match Interfaces::read() {
        Ok(links) => connections.iter().for_each(|connection| of_connection(&links, connection, &mut found)),
        Err(error) => drop(found.insert(limit(StageLimitKind::Unknown, "", &format!("the devices cannot be listed: {error}")))),
    }
    if let Some(longest_us) = connections.iter().map(|connection| connection.busy_poll_us).max().filter(|longest_us| *longest_us > 0) {
        found.insert(limit(StageLimitKind::BusyPolling, "", &format!("{longest_us} µs")));
    }
    found.extend(clocks.iter().filter(|clock| clock.differs()).map(|clock| limit(StageLimitKind::CpuClocks, "", &clock.to_string())));
    found.into_iter().collect()
}

fn of_connection(links: &Interfaces, connection: &Connected, found: &mut BTreeSet<StageLimit>) {
    let device = match links.towards(connection.local, connection.peer) {
        Ok(device) => device,
        Err(error) => {
            let reason = format!("the route to {} cannot be read: {error}", connection.peer);
            found.insert(limit(StageLimitKind::Unknown, "", &reason));
            return;
        }
    };
    let name = device.name.as_str();
    let lower = links.under(device, MAX_DEPTH);
    // Tunnels have a NAPI without a number, and the device below them is not known here.
    let bottom = if device.stacked_as().is_none() { Some(device) } else { lower.last().copied() };
    if let Some(bottom) = bottom.filter(|_| connection.napi_id == Some(0)) {
        found.insert(limit(StageLimitKind::NoNapi, &bottom.name, bottom.kind_or("device")));
    }
    if let Some(is_over) = device.stacked_as() {
        let names: Vec<&str> = lower.iter().map(|link| link.name.as_str()).collect();
        let value = if names.is_empty() { is_over.to_owned() } else { format!("{is_over} on {}", names.join(", ")) };
        found.insert(limit(StageLimitKind::StackedDevice, name, &value));
    }
    for link in std::iter::once(device).chain(lower) {
        found.extend(of_device(link));
    }
}

/// The limits that are set at one device.
fn of_device(link: &Interface) -> Vec<StageLimit> {
    let name = link.name.as_str();
    let mut found = Vec::new();
    if let Some(mode) = link.xdp {
        found.push(limit(StageLimitKind::Xdp, name, mode));
    }
    let Some(folder) = sysfs_of(link) else {
        let reason = "/sys shows the devices of another network namespace: steering and threaded NAPI cannot be read";
        found.push(limit(StageLimitKind::Unknown, name, reason));
        return found;
    };
    if read(&folder.join("threaded")).is_some_and(|state| state != "0") {
        found.push(limit(StageLimitKind::ThreadedNapi, name, ""));
    }
    let steered: BTreeSet<u32> =
        queues(&folder).iter().filter_map(|queue| read(&queue.join("rps_cpus"))).flat_map(|mask| cpus_of(&mask)).collect();
    if !steered.is_empty() {
        let cpus: Vec<String> = steered.iter().map(u32::to_string).collect();
        found.push(limit(StageLimitKind::Steering, name, &cpus.join(", ")));
    }
    found
}

fn limit(kind: StageLimitKind, device: &str, value: &str) -> StageLimit {
    StageLimit { kind, device: Some(device).filter(|name| !name.is_empty()).map(str::to_owned), value: value.to_owned() }
}

/// The device's folder, where sysfs shows this device and not one of the same name in another namespace.
fn sysfs_of(link: &Interface) -> Option<PathBuf> {
    let folder = PathBuf::from("/sys/class/net").join(&link.name);
    (read(&folder.join("ifindex"))?.parse() == Ok(link.index)).then_some(folder)
}

fn queues(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("queues")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("rps_cpus").exists()).collect()
}

fn read(file: &std::path::Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

/// The CPUs of a mask as the kernel prints it: words of 32 bits in hexadecimal, the last one for CPU 0 on.
fn cpus_of(mask: &str) -> BTreeSet<u32> {
    let parts = mask.rsplit(',').map(|part| u32::from_str_radix(part, 16).unwrap_or(0));
    (0..)
        .step_by(32)
        .zip(parts)
        .flat_map(|(first, part)| (0..32).filter(move |bit| part >> bit & 1 == 1).map(move |bit| first + bit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_mask_names_its_cpus() {
        assert_eq!(cpus_of("0"), BTreeSet::new());
        assert_eq!(cpus_of("5"), BTreeSet::from([0, 2]));
        assert_eq!(cpus_of("80000000,00000001"), BTreeSet::from([0, 63]));
    }

    #[test]
    fn the_loopback_has_no_napi_and_a_busy_poller_is_named() {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let connections = BTreeSet::from([Connected { local, peer: local, napi_id: Some(0), busy_poll_us: 50 }]);
        let off = CpuClock { cpu: 3, offset_ns: Some(-900), uncertainty_ns: 100 };
        let kinds: Vec<_> = limits(&connections, &[off]).into_iter().map(|found| (found.kind, found.device)).collect();
        for wanted in [StageLimitKind::BusyPolling, StageLimitKind::CpuClocks] {
            assert!(kinds.contains(&(wanted, None)), "{kinds:?}");
        }
        assert!(kinds.contains(&(StageLimitKind::NoNapi, Some("lo".to_owned()))), "{kinds:?}");
        assert!(kinds.iter().all(|(kind, _)| *kind != StageLimitKind::StackedDevice), "{kinds:?}");
    }
}
