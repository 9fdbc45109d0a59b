//! Properties and functions of a network device: offloads, driver, speed, queues, MTU.
//!
//! Everything goes through `SIOCETHTOOL` and `SIOCGIFMTU` on a socket, and therefore speaks of the
//! network namespace the socket was made in. Sysfs, by contrast, shows the namespace of whoever
//! mounted it. The crate is shared by `probe`, which only reads, and `path`, which sets.

mod ethtool;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use schema::testbed::Offloads;

/// An offload that can be turned on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// TCP segmentation offload.
    Tso,
    /// Generic segmentation offload.
    Gso,
    /// Generic receive offload.
    Gro,
}

impl Offload {
    /// The word used in the record and in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Offload::Tso => "tso",
            Offload::Gso => "gso",
            Offload::Gro => "gro",
        }
    }

    /// The offload's state in a set of offloads.
    pub fn state_in(self, offloads: Offloads) -> bool {
        match self {
            Offload::Tso => offloads.tso,
            Offload::Gso => offloads.gso,
            Offload::Gro => offloads.gro,
        }
    }
}

/// A device of the network namespace the calling thread was in at [`Device::open`].
#[derive(Debug)]
pub struct Device {
    socket: OwnedFd,
    name: String,
}

/// The driver of a device, as `ethtool -i` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// Name.
    pub name: String,
    /// Version; that of the kernel where the driver has none of its own (`ethtool_get_drvinfo`, net/ethtool/ioctl.c).
    pub version: Option<String>,
    /// Version of the device's firmware.
    pub firmware_version: Option<String>,
}

impl Device {
    /// Opens a socket to ask about the device `name`. That the device exists is seen at the first
    /// question.
    ///
    /// # Errors
    /// No socket could be made.
    pub fn open(name: &str) -> io::Result<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        Ok(Self { socket, name: name.to_owned() })
    }

    /// Names of the devices in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel did not list them.
    pub fn names() -> io::Result<Vec<String>> {
        let interfaces = nix::net::if_::if_nameindex()?;
        Ok(interfaces.into_iter().map(|interface| interface.name().to_string_lossy().into_owned()).collect())
    }

    /// All offloads as they stand. One that the device does not know is off.
    ///
    /// # Errors
    /// There is no such device (any more).
    pub fn offloads(&self) -> io::Result<Offloads> {
        Ok(Offloads {
            tso: self.flag(ethtool::GET_TSO)?,
            gso: self.flag(ethtool::GET_GSO)?,
            gro: self.flag(ethtool::GET_GRO)?,
            tx_checksum: self.flag(ethtool::GET_TX_CHECKSUM)?,
            rx_checksum: self.flag(ethtool::GET_RX_CHECKSUM)?,
        })
    }

    /// Asks for an offload to be on or off. The kernel may leave it as it is without an error:
    /// read it back.
    ///
    /// # Errors
    /// No such device, no permission (`CAP_NET_ADMIN`), or the device refuses.
    pub fn set_offload(&self, offload: Offload, on: bool) -> io::Result<()> {
        let command = match offload {
            Offload::Tso => ethtool::SET_TSO,
            Offload::Gso => ethtool::SET_GSO,
            Offload::Gro => ethtool::SET_GRO,
        };
        ethtool::set_value(self.socket.as_raw_fd(), &self.name, command, u32::from(on))
    }

    /// The driver, where the device states one.
    pub fn driver(&self) -> Option<Driver> {
        let [name, version, firmware] = ethtool::driver(self.socket.as_raw_fd(), &self.name).ok()?;
        let known = |text: String| Some(text).filter(|text| !text.is_empty() && text != "N/A");
        Some(Driver { name: known(name)?, version: known(version), firmware_version: known(firmware) })
    }

    /// Link speed in Mbit/s, where the device states one.
    pub fn speed_mbps(&self) -> Option<u32> {
        ethtool::speed_mbps(self.socket.as_raw_fd(), &self.name).ok().flatten()
    }

    /// Receive and transmit queues in use; `None` where the driver has no notion of channels.
    pub fn queues_count(&self) -> Option<(u32, u32)> {
        ethtool::channels(self.socket.as_raw_fd(), &self.name).ok()
    }

    /// MTU in bytes.
    ///
    /// # Errors
    /// There is no such device (any more).
    pub fn mtu_bytes(&self) -> io::Result<u32> {
        ethtool::mtu_bytes(self.socket.as_raw_fd(), &self.name)
    }

    fn flag(&self, command: u32) -> io::Result<bool> {
        match ethtool::value(self.socket.as_raw_fd(), &self.name, command) {
            Ok(value) => Ok(value != 0),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_listed_and_answers() {
        assert!(Device::names().expect("list").contains(&"lo".to_owned()));
        let loopback = Device::open("lo").expect("socket");
        let in_sysfs = std::fs::read_to_string("/sys/class/net/lo/mtu").expect("sysfs");
        assert_eq!(loopback.mtu_bytes().expect("mtu").to_string(), in_sysfs.trim());
        assert_eq!(loopback.speed_mbps(), None);
        let offloads = loopback.offloads().expect("offloads");
        assert!(offloads.tso, "the loopback segments nothing: {offloads:?}");
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let absent = Device::open("absent0").expect("socket");
        assert_eq!(absent.mtu_bytes().expect_err("no device").raw_os_error(), Some(libc::ENODEV));
        assert!(absent.offloads().is_err());
        assert_eq!(absent.driver(), None);
    }

    #[test]
    fn a_name_over_the_kernels_limit_is_an_error_and_not_cut() {
        let long = Device::open("lo-and-a-name-that-is-too-long").expect("socket");
        assert_eq!(long.mtu_bytes().expect_err("too long").kind(), io::ErrorKind::InvalidInput);
    }
}
