//! The two hosts and the path namespace: names, devices, addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A device as it is going to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plug {
    /// Name of the veth device.
    pub device: &'static str,
    /// A locally administered hardware address.
    pub hardware: [u8; 6],
}

/// The path namespace's device towards the near host, on a testbed with a path.
pub(crate) const TOWARDS_NEAR: Plug = Plug { device: "path-near", hardware: [0x02, 0x77, 0x70, 0, 0, 3] };
/// The path namespace's device towards the far host.
pub(crate) const TOWARDS_FAR: Plug = Plug { device: "path-far", hardware: [0x02, 0x77, 0x70, 0, 0, 4] };

/// Between the halves of a path by netem, on the near host's side.
pub(crate) const INNER_LEFT: Plug = Plug { device: "path-right", hardware: [0x02, 0x77, 0x70, 0, 0, 5] };
/// On the far host's side.
pub(crate) const INNER_RIGHT: Plug = Plug { device: "path-left", hardware: [0x02, 0x77, 0x70, 0, 0, 6] };

/// One end of the testbed as it is going to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// `near` or `far`.
    pub host: &'static str,
    /// Name of the veth device.
    pub device: &'static str,
    /// A locally administered hardware address, known beforehand so that no ARP is needed.
    pub hardware: [u8; 6],
    /// From the block for benchmarking, RFC 2544 appendix C.2.2.
    pub ipv4: Ipv4Addr,
    /// From the block for benchmarking, RFC 5180 section 8.
    pub ipv6: Ipv6Addr,
}

impl End {
    /// Its device.
    pub fn plug(self) -> Plug {
        Plug { device: self.device, hardware: self.hardware }
    }
}

/// Length of both hosts' IPv4 prefix.
pub(crate) const IPV4_PREFIX: u8 = 24;
/// Length of both hosts' IPv6 prefix.
pub(crate) const IPV6_PREFIX: u8 = 64;
/// The least MTU with IPv6, in bytes (RFC 8200 section 5).
pub(crate) const IPV6_MTU_BYTES: u32 = 1280;

/// The end that opens connections.
pub(crate) const NEAR: End = End {
    host: "near",
    device: "veth-near",
    hardware: [0x02, 0x77, 0x70, 0, 0, 1],
    ipv4: Ipv4Addr::new(198, 18, 0, 1),
    ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
};

/// The end that listens.
pub(crate) const FAR: End = End {
    host: "far",
    device: "veth-far",
    hardware: [0x02, 0x77, 0x70, 0, 0, 2],
    ipv4: Ipv4Addr::new(198, 18, 0, 2),
    ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
};
