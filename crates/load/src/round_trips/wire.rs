//! The protocols of the probe's requests: UDP to an echo of our own, or ICMP to the far host's kernel
//! (echo and its reply, RFC 792 and RFC 4443 section 4).
//!
//! A kernel gives sockets of ICMP in two ways: one that may send echoes only and receives only its own
//! replies, to groups in `net.ipv4.ping_group_range` (Linux 3.0), and raw ones, to `CAP_NET_RAW`, which
//! receive all. Either is good.

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use crate::LoadError;

/// Type, code, checksum, identifier, number (RFC 792, RFC 4443 section 4.1).
const ICMP_HEADER_BYTES: usize = 8;
/// Types of an echo request and of its reply.
const ECHO_V4: (u8, u8) = (8, 0);
const ECHO_V6: (u8, u8) = (128, 129);
/// Most octets of an IPv4 header, which a raw socket hands out (RFC 791 section 3.1).
const IPV4_HEADER_BYTES_MAX: usize = 60;

/// A connected socket that carries requests and answers; it does not block.
pub(super) struct Wire {
    socket: Socket,
    icmp: Option<Icmp>,
}

/// The wrapping of a request.
#[derive(Debug, Clone, Copy)]
struct Icmp {
    types: (u8, u8),
    /// True if this host has to sum up the checksum: IPv4's raw sockets leave that to their user.
    is_summed_here: bool,
    /// True if an IPv4 header comes with what arrives.
    has_header: bool,
}

impl Wire {
    /// UDP to an echo.
    pub fn udp(echo: SocketAddr, source: Option<IpAddr>) -> Result<Self, LoadError> {
        let made = || -> io::Result<Socket> {
            let any: IpAddr = if echo.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            let socket = Socket::new(Domain::for_address(echo), Type::DGRAM, Some(Protocol::UDP))?;
            socket.bind(&SocketAddr::new(source.unwrap_or(any), 0).into())?;
            connected(socket, echo)
        };
        let socket = made().map_err(|error| LoadError::host("a socket for the round-trip probe", error, ""))?;
        Ok(Self { socket, icmp: None })
    }

    /// ICMP to a host.
    pub fn icmp(host: IpAddr, source: Option<IpAddr>) -> Result<Self, LoadError> {
        let refused = |error| LoadError::host("an ICMP socket", error, "");
        let (socket, icmp) = icmp_socket(host.is_ipv4())?;
        if let Some(source) = source {
            socket.bind(&SocketAddr::new(source, 0).into()).map_err(refused)?;
        }
        let socket = connected(socket, SocketAddr::new(host, 0)).map_err(refused)?;
        Ok(Self { socket, icmp: Some(icmp) })
    }

    /// Sends a request; `number` distinguishes it from others in a capture.
    pub fn send(&self, number: u16, request: &[u8]) -> io::Result<()> {
        match self.icmp {
            None => self.socket.send(request),
            Some(icmp) => self.socket.send(&icmp.echo(number, request)),
        }
        .map(drop)
    }

    /// Reads what has come next, into the buffer's front; empty where it was no answer.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let Some(icmp) = self.icmp else {
            let bytes = (&self.socket).read(buffer)?;
            return Ok(&buffer[..bytes]);
        };
        let mut message = [0; IPV4_HEADER_BYTES_MAX + ICMP_HEADER_BYTES + 64];
        let bytes = (&self.socket).read(&mut message)?;
        let answer = icmp.answer(&message[..bytes]).filter(|answer| answer.len() <= buffer.len()).unwrap_or_default();
        let kept = &mut buffer[..answer.len()];
        kept.copy_from_slice(answer);
        Ok(kept)
    }

    /// Waits until something has come, but not longer than this.
    pub fn wait(&self, most: Duration) {
        let mut sockets = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        // Woken for nothing is no harm.
        let _ = ppoll(&mut sockets, Some(TimeSpec::from_duration(most)), None);
    }
}

fn connected(socket: Socket, address: SocketAddr) -> io::Result<Socket> {
    socket.connect(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A socket of ICMP, in the way that the kernel allows.
fn icmp_socket(is_v4: bool) -> Result<(Socket, Icmp), LoadError> {
    let (domain, protocol, types) =
        if is_v4 { (Domain::IPV4, Protocol::ICMPV4, ECHO_V4) } else { (Domain::IPV6, Protocol::ICMPV6, ECHO_V6) };
    if let Ok(socket) = Socket::new(domain, Type::DGRAM, Some(protocol)) {
        return Ok((socket, Icmp { types, is_summed_here: false, has_header: false }));
    }
    match Socket::new(domain, Type::RAW, Some(protocol)) {
        Ok(socket) => Ok((socket, Icmp { types, is_summed_here: is_v4, has_header: is_v4 })),
        Err(error) => Err(LoadError::host(
            "an ICMP socket for the round-trip probe",
            error,
            "; it needs CAP_NET_RAW, or a group in net.ipv4.ping_group_range: choose rtt_probe = udp",
        )),
    }
}

/// Says whether this host gives sockets of ICMP, and by which right.
///
/// # Errors
/// It does not, with the reason.
pub fn icmp_ability() -> Result<String, String> {
    match icmp_socket(true) {
        Ok((_, icmp)) if icmp.has_header => Ok("a raw ICMP socket opened".to_owned()),
        Ok(_) => Ok("an ICMP echo socket opened (net.ipv4.ping_group_range)".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Icmp {
    fn echo(self, number: u16, request: &[u8]) -> Vec<u8> {
        let mut message = vec![0; ICMP_HEADER_BYTES];
        message[0] = self.types.0;
        // The identifier is left 0; the kernel's echo sockets set their own. Answers are known by the token.
        message[6..8].copy_from_slice(&number.to_be_bytes());
        message.extend_from_slice(request);
        if self.is_summed_here {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        message
    }

    /// The content that a reply sends back; none where the message is another.
    fn answer(self, message: &[u8]) -> Option<&[u8]> {
        // The header's length in words of 32 bits (RFC 791 section 3.1).
        let header_bytes = if self.has_header { usize::from(message.first()? & 0x0f) * 4 } else { 0 };
        let message = message.get(header_bytes..)?;
        (*message.first()? == self.types.1).then(|| message.get(ICMP_HEADER_BYTES..))?
    }
}

/// The Internet checksum (RFC 1071) of what has zeros in its place.
fn checksum(message: &[u8]) -> u16 {
    let mut sum: u32 = message.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // Section 3's example: 0001 f203 f4f5 f6f7 sum up to ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        // An odd octet counts as if a zero followed it.
        assert_eq!(checksum(&[0x01]), !0x0100);
    }

    #[test]
    fn a_reply_is_known_by_its_type_behind_a_header_of_any_length() {
        let raw = Icmp { types: ECHO_V4, is_summed_here: true, has_header: true };
        let mut packet = vec![0x46; 24];
        packet.extend([0, 0, 0, 0, 0, 0, 0, 7, b'a', b'b']);
        assert_eq!(raw.answer(&packet), Some(b"ab".as_slice()));
        // One's own request, which a raw socket on the loopback device hears too.
        packet[24] = ECHO_V4.0;
        assert_eq!(raw.answer(&packet), None);
        assert_eq!(raw.answer(&packet[..20]), None);
        assert_eq!(raw.answer(&[]), None);
    }
}
