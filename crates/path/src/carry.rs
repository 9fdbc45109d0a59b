//! The last check of a new path: datagrams as long as the MTU allows, both ways, both families.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::ends::{FAR, NEAR};
use crate::error::PathError;
use crate::netns::Netns;

/// UDP header, in bytes (RFC 768).
const UDP_BYTES: u32 = 8;
/// IPv4 header without options, in bytes (RFC 791).
const IPV4_BYTES: u32 = 20;
/// IPv6 header, in bytes (RFC 8200).
const IPV6_BYTES: u32 = 40;
/// Datagrams sent each way before the path counts as dead.
const ATTEMPTS: u64 = 20;
/// The time that each is waited for, in ms.
const WAIT_MS: u64 = 250;

/// Sends a datagram that fills the MTU each way, over IPv4 and, where the ends have it, IPv6.
///
/// # Errors
/// [`PathError::NotReady`] when a datagram does not arrive whole.
pub(crate) fn check(near: &Netns, far: &Netns, mtu_bytes: u32, ipv6: bool) -> Result<(), PathError> {
    let families = [
        (IpAddr::from(NEAR.ipv4), IpAddr::from(FAR.ipv4), IPV4_BYTES, true),
        (IpAddr::from(NEAR.ipv6), IpAddr::from(FAR.ipv6), IPV6_BYTES, ipv6),
    ];
    for (near_address, far_address, header_bytes, present) in families {
        if !present {
            continue;
        }
        let near_socket = near.run(|| open(near_address))?;
        let far_socket = far.run(|| open(far_address))?;
        let payload = vec![0x5a; (mtu_bytes - header_bytes - UDP_BYTES) as usize];
        pass(&near_socket, &far_socket, &payload)?;
        pass(&far_socket, &near_socket, &payload)?;
    }
    Ok(())
}

fn open(address: IpAddr) -> Result<UdpSocket, PathError> {
    let failed = |error: io::Error| PathError::system(format!("use the address {address}"), error);
    let socket = UdpSocket::bind(SocketAddr::new(address, 0)).map_err(failed)?;
    socket.set_read_timeout(Some(Duration::from_millis(WAIT_MS))).map_err(failed)?;
    Ok(socket)
}

fn pass(from: &UdpSocket, to: &UdpSocket, payload: &[u8]) -> Result<(), PathError> {
    let failed = |error: io::Error| PathError::system("send a datagram across the testbed", error);
    let destination = to.local_addr().map_err(failed)?;
    let mut buffer = vec![0; payload.len() + 1];
    for _ in 0..ATTEMPTS {
        from.send_to(payload, destination).map_err(failed)?;
        match to.recv(&mut buffer) {
            Ok(length) if length == payload.len() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let what = format!("a datagram of {} bytes to {destination} did not arrive", payload.len());
    Err(PathError::NotReady { what, waited_ms: ATTEMPTS * WAIT_MS })
}
