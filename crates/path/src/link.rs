//! Devices, addresses, neighbors and routes, by rtnetlink.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use rtnetlink::packet_route::address::{AddressAttribute, AddressFlags};
use rtnetlink::packet_route::link::{InfoData, InfoVeth, LinkAttribute, LinkMessage, State};
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::{Error, Handle, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder};

use crate::ends::{End, IPV4_PREFIX, IPV6_PREFIX, Plug};
use crate::error::PathError;
use crate::netns::Netns;

/// The time that a new device may take to become operational, in ms. The kernel activates a link
/// outside the request, within a second at worst.
const LINK_WAIT_MS: u64 = 3000;

/// The facts from the kernel about a device.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Link {
    /// Index of the device.
    pub index: u32,
    /// MTU in bytes.
    pub mtu_bytes: u32,
    /// Most segments in a super-segment.
    pub gso_max_segments: u32,
    /// Packets dropped when received or sent since the device exists.
    pub dropped_packets: u64,
    /// True if the device passes packets.
    pub is_up: bool,
}

/// Makes the veth pair: `here` in the calling thread's network namespace, `there` in `peer_netns`.
///
/// # Errors
/// The kernel has no veth, or refuses.
pub(crate) fn create_pair(here: Plug, there: Plug, peer_netns: &Netns, mtu_bytes: u32) -> Result<(), PathError> {
    let peer = LinkMessageBuilder::<LinkUnspec>::new()
        .name(there.device)
        .address(there.hardware.to_vec())
        .mtu(mtu_bytes)
        .setns_by_fd(peer_netns.raw())
        .build();
    let pair = LinkMessageBuilder::<LinkVeth>::new(here.device, there.device)
        .address(here.hardware.to_vec())
        .mtu(mtu_bytes)
        .set_info_data(InfoData::Veth(InfoVeth::Peer(peer)))
        .build();
    talk(async |handle| handle.link().add(pair).execute().await).map_err(|error| PathError::system("make a veth pair", error))
}

/// Limits the segments TCP hands to the device at once.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn limit_segments(device: &str, segments: u32) -> Result<(), PathError> {
    let limit = LinkMessageBuilder::<LinkUnspec>::new().name(device).append_extra_attribute(LinkAttribute::GsoMaxSegs(segments)).build();
    talk(async |handle| handle.link().change(limit).execute().await)
        .map_err(|error| PathError::system(format!("limit {device} to {segments} segments at once"), error))
}

/// Brings the loopback and the device up.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn bring_up(device: &str) -> Result<(), PathError> {
    talk(async |handle| {
        for name in ["lo", device] {
            handle.link().change(LinkMessageBuilder::<LinkUnspec>::new().name(name).up().build()).execute().await?;
        }
        Ok(())
    })
    .map_err(|error| PathError::system(format!("bring {device} up"), error))
}

/// Waits until the device passes packets.
///
/// # Errors
/// [`PathError::NotReady`] after [`LINK_WAIT_MS`].
pub(crate) fn await_up(device: &str) -> Result<(), PathError> {
    let start = Instant::now();
    while !read(device)?.is_up {
        if start.elapsed() > Duration::from_millis(LINK_WAIT_MS) {
            return Err(PathError::NotReady { what: format!("{device} did not come up"), waited_ms: LINK_WAIT_MS });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Gives the end its addresses, its peer as a permanent neighbor, so that the first segment waits
/// for no resolution (ARP, RFC 4861), and as default router, so that resolvers that ask for
/// configured families (`AI_ADDRCONFIG`) and routes see an ordinary host.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn address(end: End, peer: End, ipv6: bool) -> Result<(), PathError> {
    let index = read(end.device)?.index;
    talk(async |handle| {
        handle.address().add(index, end.ipv4.into(), IPV4_PREFIX).execute().await?;
        handle.neighbours().add(index, peer.ipv4.into()).link_layer_address(&peer.hardware).execute().await?;
        let route = RouteMessageBuilder::<std::net::Ipv4Addr>::new().gateway(peer.ipv4).output_interface(index).build();
        handle.route().add(route).execute().await?;
        if !ipv6 {
            return Ok(());
        }
        let mut add = handle.address().add(index, end.ipv6.into(), IPV6_PREFIX);
        add.message_mut().attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        add.execute().await?;
        handle.neighbours().add(index, peer.ipv6.into()).link_layer_address(&peer.hardware).execute().await?;
        let route = RouteMessageBuilder::<std::net::Ipv6Addr>::new().gateway(peer.ipv6).output_interface(index).build();
        handle.route().add(route).execute().await
    })
    .map_err(|error| PathError::system(format!("give {} its addresses", end.device), error))
}

/// Routes what is for `end` to `device`, where `hardware` takes it.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn route(end: End, device: &str, hardware: [u8; 6], ipv6: bool) -> Result<(), PathError> {
    let index = read(device)?.index;
    talk(async |handle| {
        handle.neighbours().add(index, end.ipv4.into()).link_layer_address(&hardware).execute().await?;
        let route = RouteMessageBuilder::<std::net::Ipv4Addr>::new()
            .destination_prefix(end.ipv4, 32)
            .output_interface(index)
            .scope(RouteScope::Link);
        handle.route().add(route.build()).execute().await?;
        if !ipv6 {
            return Ok(());
        }
        handle.neighbours().add(index, end.ipv6.into()).link_layer_address(&hardware).execute().await?;
        let route = RouteMessageBuilder::<std::net::Ipv6Addr>::new().destination_prefix(end.ipv6, 128).output_interface(index);
        handle.route().add(route.build()).execute().await
    })
    .map_err(|error| PathError::system(format!("route packets of the {} end to {device}", end.host), error))
}

/// Reads what the kernel says of `device` now.
///
/// # Errors
/// There is no such device in the calling thread's network namespace.
pub(crate) fn read(device: &str) -> Result<Link, PathError> {
    let mut link = Link::default();
    let message: Option<LinkMessage> = talk(async |handle| handle.link().get().match_name(device.to_owned()).execute().try_next().await)
        .map_err(|error| PathError::system(format!("read back {device}"), error))?;
    let Some(message) = message else { return Ok(link) };
    link.index = message.header.index;
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::Mtu(bytes) => link.mtu_bytes = bytes,
            LinkAttribute::GsoMaxSegs(segments) => link.gso_max_segments = segments,
            LinkAttribute::OperState(state) => link.is_up = state == State::Up,
            LinkAttribute::Stats64(stats) => link.dropped_packets = stats.tx_dropped + stats.rx_dropped,
            _ => {}
        }
    }
    Ok(link)
}

/// Usable addresses of `device` as the kernel lists them; tentative ones are not usable.
///
/// # Errors
/// The kernel did not list them.
pub(crate) fn read_addresses(device: &str) -> Result<Vec<IpAddr>, PathError> {
    let index = read(device)?.index;
    let messages: Vec<_> = talk(async |handle| handle.address().get().set_link_index_filter(index).execute().try_collect().await)
        .map_err(|error| PathError::system(format!("read back the addresses of {device}"), error))?;
    let usable = messages.into_iter().filter(|message| {
        !message
            .attributes
            .iter()
            .any(|attribute| matches!(attribute, AddressAttribute::Flags(flags) if flags.contains(AddressFlags::Tentative)))
    });
    let addresses = usable.filter_map(|message| {
        message.attributes.into_iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(address),
            _ => None,
        })
    });
    Ok(addresses.collect())
}

/// Deletes `device`, and with it its peer.
///
/// # Errors
/// There is no such device.
pub(crate) fn delete(device: &str) -> Result<(), PathError> {
    let index = read(device)?.index;
    talk(async |handle| handle.link().del(index).execute().await).map_err(|error| PathError::system(format!("delete {device}"), error))
}

/// Opens a netlink connection in the calling thread's network namespace, runs `work` on it, and
/// closes it.
fn talk<T>(work: impl AsyncFnOnce(Handle) -> Result<T, Error>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (connection, handle, _messages) = rtnetlink::new_connection()?;
        let connection = tokio::spawn(connection);
        let result = work(handle).await.map_err(from_netlink);
        connection.abort();
        result
    })
}

/// The kernel's errno where it sent one.
fn from_netlink(error: Error) -> io::Error {
    match error {
        Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other.to_string()),
    }
}
