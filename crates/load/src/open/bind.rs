//! The sockets that listen for a trial's connections: at ports in a row, or at a file in a folder.

use schema::trial::TrialSpec;
use schema::workload::Transport;
use socket2::Socket;
use std::net::{IpAddr, UdpSocket};

use super::place::last_port;
use super::{ListenPlace, stream_transport, udp};
use crate::LoadError;
use crate::options;

/// Arrivals that the kernel keeps for a port; `net.core.somaxconn` bounds it too. As many for one
/// connection as for thousands: unauthenticated peers wait in the same queue.
const BACKLOG: i32 = 4096;
/// Number of times that a row of free ports is looked for.
pub(super) const PORT_ATTEMPTS: usize = 64;

/// A socket that listens for the connections of one port.
fn listen(spec: &TrialSpec, place: &ListenPlace, port: u32) -> Result<Socket, LoadError> {
    let mut asked = spec.socket.clone();
    if spec.transport == Transport::Quic {
        // The name of one of its own.
        asked.congestion_control = None;
    }
    let socket = options::prepare(place.domain(), stream_transport(spec), &asked, spec.role)?;
    let advice = match spec.listen_port {
        0 => "",
        _ => "; choose another port, or 0 to let the kernel choose",
    };
    let bound = |error| LoadError::host(format!("listening on {place}"), error, advice);
    if spec.transport != Transport::Unix {
        socket.set_reuse_address(true).map_err(bound)?;
    }
    socket.bind(&place.address_of(port).map_err(bound)?).map_err(bound)?;
    socket.listen(BACKLOG).map_err(bound)?;
    socket.set_nonblocking(true).map_err(bound)?;
    Ok(socket)
}

/// Listens at all ports of the place, and receives datagrams there if they are asked for.
pub(super) fn bind(spec: &TrialSpec, place: &ListenPlace) -> Result<(Vec<Socket>, Vec<UdpSocket>), LoadError> {
    if spec.transport == Transport::Udp {
        return Ok((vec![listen(spec, place, 0)?], udp::bind(spec, place)?));
    }
    let sockets = (0..u32::from(place.ports_count())).map(|port| listen(spec, place, port)).collect::<Result<_, _>>()?;
    Ok((sockets, Vec::new()))
}

/// The same, at as many ports in a row as the kernel has free somewhere.
pub(super) fn bind_in_a_row(spec: &TrialSpec, ip: IpAddr, count: u16) -> Result<(Vec<Socket>, Vec<UdpSocket>, ListenPlace), LoadError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        // Whatever the kernel gives shows where there may be room.
        let first = listen(spec, &ListenPlace::Ports { ip, first: 0, count: 1 }, 0)?;
        let port = first.local_addr().ok().and_then(|address| address.as_socket()).map_or(0, |address| address.port());
        drop(first);
        if last_port(port, count).is_none() {
            continue;
        }
        let place = ListenPlace::Ports { ip, first: port, count };
        match bind(spec, &place) {
            Ok((sockets, receivers)) => return Ok((sockets, receivers, place)),
            Err(error) if attempts >= PORT_ATTEMPTS => return Err(error),
            Err(_) => {}
        }
    }
}
