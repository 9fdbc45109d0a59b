//! Has the kernel drop the datagrams of everybody but some, before any code of this process sees them.

use socket2::{SockFilter, SockRef};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Instructions of a filter (`linux/bpf_common.h`), and places in a packet (`linux/filter.h`).
const LOAD_HALF: u16 = 0x28;
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const PROTOCOL: u32 = 0xffff_f000;
const IP_HEADER: u32 = 0xfff0_0000;
/// The source port begins the header of UDP (RFC 768).
const SOURCE_PORT: u32 = 0;
/// Protocols, and where their headers have the source (RFC 791, RFC 8200).
const IPV4: u32 = 0x0800;
const SOURCE_OF_IPV4: u32 = IP_HEADER + 12;
const IPV6: u32 = 0x86dd;
const SOURCE_OF_IPV6: u32 = IP_HEADER + 8;

/// Takes datagrams of these sources only from now on. What is queued already stays.
///
/// # Errors
/// The kernel refuses, such as more than some hundred sources.
pub(super) fn admit(socket: &UdpSocket, sources: impl IntoIterator<Item = SocketAddr>) -> io::Result<()> {
    let load_port = || instruction(LOAD_HALF, SOURCE_PORT);
    let mut filter = vec![load_port()];
    for source in sources {
        let mut body = Vec::new();
        let fields = fields_of(source.ip());
        for (place, (at, word)) in fields.iter().enumerate() {
            // To the last instruction of the body.
            let to_end = u8::try_from(2 * (fields.len() - 1 - place) + 1).map_err(io::Error::other)?;
            body.extend([instruction(LOAD_WORD, *at), unless_equal(*word, to_end)]);
        }
        body.extend([instruction(RETURN, u32::MAX), load_port()]);
        filter.push(unless_equal(source.port().into(), u8::try_from(body.len()).map_err(io::Error::other)?));
        filter.extend(body);
    }
    filter.push(instruction(RETURN, 0));
    SockRef::from(socket).attach_filter(&filter)
}

/// Where a packet of this address has which fields.
fn fields_of(ip: IpAddr) -> Vec<(u32, u32)> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => vec![(PROTOCOL, IPV4), (SOURCE_OF_IPV4, ip.to_bits())],
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let fields = octets.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
            [(PROTOCOL, IPV6)].into_iter().chain((SOURCE_OF_IPV6..).step_by(4).zip(fields)).collect()
        }
    }
}

fn instruction(code: u16, value: u32) -> SockFilter {
    SockFilter::new(code, 0, 0, value)
}

/// Goes on where the two are equal, and otherwise so many instructions later.
fn unless_equal(value: u32, skipped: u8) -> SockFilter {
    SockFilter::new(JUMP_IF_EQUAL, 0, skipped, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn bound(ip: IpAddr) -> UdpSocket {
        UdpSocket::bind((ip, 0)).expect("a port")
    }

    #[test]
    fn only_those_that_are_named_are_heard() {
        for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let [taker, intruder, first, second] = [0; 4].map(|_| bound(ip));
            let address = |socket: &UdpSocket| socket.local_addr().expect("bound");
            // The port of the first with an address of somebody else comes before it.
            let elsewhere = SocketAddr::new(
                if ip.is_ipv4() { Ipv4Addr::from([127, 0, 0, 9]).into() } else { Ipv6Addr::from(9).into() },
                address(&first).port(),
            );
            admit(&taker, [elsewhere, address(&first), address(&second)]).expect("the kernel takes it");
            for socket in [&intruder, &first, &intruder, &second] {
                socket.send_to(b"?", address(&taker)).expect("it goes");
            }
            let mut bytes = [0; 8];
            let mut from = || taker.recv_from(&mut bytes).expect("a datagram").1;
            assert_eq!([from(), from()], [address(&first), address(&second)]);
            taker.set_nonblocking(true).expect("option");
            assert!(taker.recv_from(&mut bytes).is_err());
        }
    }

    #[test]
    fn as_many_as_a_library_may_have_connections_are_admitted() {
        let sources = (0..256).map(|port| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 40_000 + port));
        admit(&bound(Ipv6Addr::LOCALHOST.into()), sources).expect("the kernel takes it");
        admit(&bound(Ipv4Addr::LOCALHOST.into()), []).expect("and nobody");
    }
}
