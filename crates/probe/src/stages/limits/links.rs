//! Network devices and routes of this thread's network namespace, by rtnetlink.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, LinkXdp, XdpAttached};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily as RouteFamily, RouteNetlinkMessage};
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// The kernel answers at once; nothing waits longer than this for it.
const MAX_WAIT_MS: i64 = 1_000;
/// Bytes that are received at once: the kernel gives no more than 32 KiB.
const RECEIVE_BYTES: usize = 64 << 10;

/// A device.
#[derive(Debug, Default)]
pub struct Interface {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The way that a program that is attached for XDP runs.
    pub xdp: Option<&'static str>,
    kind: Option<String>,
    is_stacked: bool,
    /// The device that it is on top of, if that is in this namespace.
    lower: Option<u32>,
    /// The bridge, bond or team that it is a port of.
    controller: Option<u32>,
}

impl Interface {
    /// The kind of a virtual device; of one that has none, `other`.
    pub fn kind_or<'kind>(&'kind self, other: &'kind str) -> &'kind str {
        self.kind.as_deref().unwrap_or(other)
    }

    /// The kind of a device that is on top of others.
    pub fn stacked_as(&self) -> Option<&str> {
        self.kind.as_deref().filter(|_| self.is_stacked)
    }

    fn of(message: &LinkMessage) -> Self {
        let mut link = Self { index: message.header.index, ..Self::default() };
        let mut is_elsewhere = false;
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Link(lower) => link.lower = Some(*lower).filter(|lower| *lower != 0 && *lower != link.index),
                LinkAttribute::LinkNetNsId(_) => is_elsewhere = true,
                LinkAttribute::Controller(index) => link.controller = Some(*index).filter(|index| *index != 0),
                LinkAttribute::LinkInfo(infos) => {
                    for info in infos {
                        if let LinkInfo::Kind(kind) = info {
                            link.kind = Some(kind.to_string());
                            link.is_stacked = is_stacked(kind);
                        }
                    }
                }
                LinkAttribute::Xdp(facts) => link.xdp = facts.iter().find_map(xdp_mode),
                _ => {}
            }
        }
        if message.header.flags.contains(LinkFlags::Loopback) {
            link.kind = Some("loopback".to_owned());
        }
        if is_elsewhere || !link.is_stacked {
            link.lower = None;
        }
        link
    }
}

/// True if packets of a device of this kind go through another device of this host.
fn is_stacked(kind: &InfoKind) -> bool {
    use InfoKind as Is;
    let is_end = matches!(
        kind,
        Is::Dummy
            | Is::Ifb
            | Is::Tun
            | Is::Nlmon
            | Is::Veth
            | Is::Netkit
            | Is::Ipoib
            | Is::Netdevsim
            | Is::VirtWifi
            | Is::Wwan
            | Is::Can
            | Is::Vcan
            | Is::Vxcan
    );
    !is_end
}

fn xdp_mode(fact: &LinkXdp) -> Option<&'static str> {
    match fact {
        LinkXdp::Attached(XdpAttached::Driver) => Some("native"),
        LinkXdp::Attached(XdpAttached::SocketBuffer) => Some("generic"),
        LinkXdp::Attached(XdpAttached::Hardware) => Some("offloaded"),
        LinkXdp::Attached(XdpAttached::Multiple) => Some("several modes"),
        _ => None,
    }
}

/// All devices.
#[derive(Debug)]
pub struct Interfaces {
    netlink: OwnedFd,
    links: Vec<Interface>,
}

impl Interfaces {
    /// Lists them.
    ///
    /// # Errors
    /// The kernel has no netlink, or does not answer.
    pub fn read() -> io::Result<Self> {
        let netlink = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        bind(netlink.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&netlink, ReceiveTimeout, &TimeVal::milliseconds(MAX_WAIT_MS))?;
        let mut links = Vec::new();
        ask(&netlink, RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewLink(message) = answer {
                links.push(Interface::of(&message));
            }
        })?;
        Ok(Self { netlink, links })
    }

    /// The device that packets from one address to another leave by.
    ///
    /// # Errors
    /// There is no route, or it names no device.
    pub fn towards(&self, from: IpAddr, to: IpAddr) -> io::Result<&Interface> {
        let mut question = RouteMessage::default();
        let (family, bits) = if to.is_ipv4() { (RouteFamily::Inet, 32) } else { (RouteFamily::Inet6, 128) };
        question.header.address_family = family;
        (question.header.destination_prefix_length, question.header.source_prefix_length) = (bits, bits);
        question.attributes = vec![RouteAttribute::Destination(RouteAddress::from(to)), RouteAttribute::Source(RouteAddress::from(from))];
        let mut index = None;
        ask(&self.netlink, RouteNetlinkMessage::GetRoute(question), 0, |answer| {
            if let RouteNetlinkMessage::NewRoute(route) = answer {
                index = route
                    .attributes
                    .iter()
                    .find_map(|attribute| if let RouteAttribute::Oif(index) = attribute { Some(*index) } else { None });
            }
        })?;
        index.and_then(|index| self.of(index)).ok_or_else(|| io::Error::other("it names no device"))
    }

    /// The devices that one is on top of, the next ones first.
    pub fn under(&self, link: &Interface, depth: usize) -> Vec<&Interface> {
        let ports = self.links.iter().filter(|port| port.controller == Some(link.index));
        let next: Vec<&Interface> = link.lower.and_then(|index| self.of(index)).into_iter().chain(ports).collect();
        let below = next.iter().filter(|_| depth > 1).flat_map(|lower| self.under(lower, depth - 1)).collect::<Vec<_>>();
        next.into_iter().chain(below).collect()
    }

    fn of(&self, index: u32) -> Option<&Interface> {
        self.links.iter().find(|link| link.index == index)
    }
}

/// Asks, and hands over all answers. One that cannot be read is left out.
fn ask(netlink: &OwnedFd, question: RouteNetlinkMessage, flags: u16, mut on_answer: impl FnMut(RouteNetlinkMessage)) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    (header.flags, header.sequence_number) = (NLM_F_REQUEST | flags, 1);
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    send(netlink.as_raw_fd(), &bytes, MsgFlags::empty())?;
    let mut buffer = vec![0; RECEIVE_BYTES];
    loop {
        let length = recv(netlink.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = &buffer[..length];
        // The length of a message is its first word; messages begin at multiples of 4 bytes.
        while let Some(length) = rest.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes) as usize).filter(|length| *length >= 16) {
            let end = length.next_multiple_of(4).min(rest.len());
            match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&rest[..end]).map(|message| message.payload) {
                Ok(NetlinkPayload::InnerMessage(answer)) => {
                    on_answer(answer);
                    if flags & NLM_F_DUMP == 0 {
                        return Ok(());
                    }
                }
                Ok(NetlinkPayload::Error(error)) => return Err(error.to_io()),
                Ok(NetlinkPayload::Done(_)) => return Ok(()),
                _ => {}
            }
            rest = &rest[end..];
        }
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_way_to_this_host_is_the_loopback() {
        let interfaces = Interfaces::read().expect("rtnetlink");
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let found = interfaces.towards(home, home).expect("a route");
        assert_eq!((found.name.as_str(), found.kind_or(""), found.stacked_as()), ("lo", "loopback", None));
        assert!(interfaces.under(found, 4).is_empty());
        // TEST-NET-1, RFC 5737: no host has this address.
        let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        assert!(interfaces.towards(elsewhere, elsewhere).is_err(), "packets of another host have no route here");
    }

    #[test]
    fn attributes_of_a_device_are_those_of_its_message() {
        let mut message = LinkMessage::default();
        message.header.index = 7;
        message.attributes = vec![
            LinkAttribute::IfName("eth0.5".to_owned()),
            LinkAttribute::Link(3),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Vlan)]),
            LinkAttribute::Xdp(vec![LinkXdp::Attached(XdpAttached::SocketBuffer), LinkXdp::ProgId(9)]),
        ];
        let link = Interface::of(&message);
        assert_eq!((link.index, link.lower, link.xdp, link.stacked_as()), (7, Some(3), Some("generic"), Some("vlan")));
        // A device that is moved into a namespace leaves the one below it outside.
        message.attributes.push(LinkAttribute::LinkNetNsId(0));
        assert_eq!(Interface::of(&message).lower, None);
        message.attributes = vec![LinkAttribute::Link(3), LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)])];
        assert_eq!((Interface::of(&message).lower, Interface::of(&message).stacked_as()), (None, None), "the other end of a pair");
    }

    #[test]
    fn a_bridge_is_on_top_of_its_ports_and_a_vlan_of_its_device() {
        let link = |index, lower, controller, is_stacked| Interface { index, is_stacked, lower, controller, ..Interface::default() };
        let netlink = Interfaces::read().expect("rtnetlink").netlink;
        let links =
            Interfaces { netlink, links: vec![link(1, None, Some(2), false), link(2, None, None, true), link(3, Some(2), None, true)] };
        let under = |index| links.under(links.of(index).expect("a link"), 4).iter().map(|link| link.index).collect::<Vec<_>>();
        assert_eq!((under(1), under(2), under(3)), (vec![], vec![1], vec![2, 1]));
    }
}
