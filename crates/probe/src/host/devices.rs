//! The network devices of the process's namespace, with their offloads.

use std::fs;

use device::Device as Socket;
use schema::host::Device;

/// All devices that answer, in the kernel's order.
pub(super) fn list() -> Vec<Device> {
    Socket::names().unwrap_or_default().iter().filter_map(|name| describe(name)).collect()
}

fn describe(name: &str) -> Option<Device> {
    let socket = Socket::open(name).ok()?;
    let driver = socket.driver();
    let (driver_version, firmware_version) =
        driver.as_ref().map(|driver| (driver.version.clone(), driver.firmware_version.clone())).unwrap_or_default();
    let (rx_queues_count, tx_queues_count) = socket.queues_count().or_else(|| queues_in_sysfs(name)).unwrap_or((1, 1));
    Some(Device {
        name: name.to_owned(),
        driver: driver.map(|driver| driver.name),
        driver_version,
        firmware_version,
        mtu_bytes: socket.mtu_bytes().ok()?,
        speed_mbps: socket.speed_mbps(),
        offloads: socket.offloads().unwrap_or_default(),
        rx_queues_count,
        tx_queues_count,
    })
}

/// Queues as sysfs shows them, where it shows this device and not one of the same name in the
/// namespace of whoever mounted it.
fn queues_in_sysfs(name: &str) -> Option<(u32, u32)> {
    let folder = format!("/sys/class/net/{name}");
    let shown: u32 = fs::read_to_string(format!("{folder}/ifindex")).ok()?.trim().parse().ok()?;
    if nix::net::if_::if_nametoindex(name) != Ok(shown) {
        return None;
    }
    let queues: Vec<_> = fs::read_dir(format!("{folder}/queues")).ok()?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    let count = |prefix: &[u8]| queues.iter().filter(|queue| queue.as_encoded_bytes().starts_with(prefix)).count();
    Some((u32::try_from(count(b"rx-")).ok()?, u32::try_from(count(b"tx-")).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_queues_and_no_speed() {
        let loopback = describe("lo").expect("lo");
        assert!(loopback.rx_queues_count >= 1 && loopback.tx_queues_count >= 1, "{loopback:?}");
        assert_eq!(loopback.speed_mbps, None);
        assert_eq!(describe("absent0"), None);
    }
}
