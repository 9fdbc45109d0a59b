//! Takes the first packets of connections, and gives each a socket of its own.

use bytes::BytesMut;
use quinn_proto::{DatagramEvent, Endpoint, EndpointConfig, ServerConfig};
use quinn_udp::RecvMeta;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use crate::connection::{QuicConnection, connected, packet_bytes};
use crate::identity::{DRAWN_BYTES, Identity};
use crate::settings::Settings;

/// Datagrams taken before the connections get their turn.
const DATAGRAMS_AT_A_TIME: usize = 256;

/// A UDP port that takes connections.
pub struct Listener {
    socket: UdpSocket,
    identity: Identity,
    settings: Settings,
    /// The bytes drawn for the connections that have begun, and where they come from.
    begun: HashMap<[u8; DRAWN_BYTES], SocketAddr>,
    /// Datagrams that began no connection.
    strangers_count: u64,
    /// Why the last connection that could not begin did not.
    failure: Option<io::Error>,
}

impl Listener {
    /// Listens.
    ///
    /// # Errors
    /// The port is taken.
    pub fn bind(address: SocketAddr, identity: Identity, settings: Settings) -> io::Result<Self> {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::DGRAM, None)?;
        // The connections' own sockets share the port. With SO_REUSEADDR any other user's could, too: socket(7).
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: socket.into(), identity, settings, begun: HashMap::new(), strangers_count: 0, failure: None })
    }

    /// Datagrams so far that were no part of a connection.
    pub fn strangers_count(&self) -> u64 {
        self.strangers_count
    }

    /// A thing this host lacked for the last connection that could not begin, such as a file; the other host tries again.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Takes what has come: adds connections that began to `connections`, and gives them what is theirs.
    /// `local` is the address that they come to.
    pub fn take(&mut self, local: SocketAddr, connections: &mut Vec<QuicConnection>) {
        let mut bytes = vec![0; 65_536];
        for _ in 0..DATAGRAMS_AT_A_TIME {
            let (count, peer) = match self.socket.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            let meta = RecvMeta { addr: peer, ..RecvMeta::default() };
            if let Some(connection) = connections.iter_mut().find(|connection| connection.addresses()[1] == Some(peer)) {
                connection.feed(&meta, &bytes[..count]);
                continue;
            }
            let Some(drawn) = self.identity.drawn_for(&bytes[..count]) else {
                self.strangers_count += 1;
                continue;
            };
            // Whoever has seen a first packet can send it again: from the same place it may be the network that repeats it, and
            // it is no other connection's from any.
            if let Some(first) = self.begun.get(&drawn) {
                self.strangers_count += u64::from(*first != peer);
                continue;
            }
            match self.start(local, peer, &bytes[..count]) {
                Ok(Some(connection)) => {
                    self.begun.insert(drawn, peer);
                    connections.push(connection);
                }
                Ok(None) => self.strangers_count += 1,
                Err(error) => {
                    self.strangers_count += 1;
                    self.failure = Some(error);
                }
            }
        }
    }

    /// A connection, if that is how the first packet of one looks.
    fn start(&self, local: SocketAddr, peer: SocketAddr, bytes: &[u8]) -> io::Result<Option<QuicConnection>> {
        let mut server = ServerConfig::with_crypto(Arc::new(self.identity.server()?));
        server.migration(false);
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(server.clone())), true, None);
        let mut answer = Vec::new();
        let event = endpoint.handle(Instant::now(), peer, None, None, BytesMut::from(bytes), &mut answer);
        let Some(DatagramEvent::NewConnection(incoming)) = event else { return Ok(None) };
        let socket = connected(local, peer)?;
        server.transport_config(Arc::new(self.settings.transport(packet_bytes(&socket, peer))?));
        match endpoint.accept(incoming, Instant::now(), &mut answer, Some(Arc::new(server))) {
            Ok((handle, connection)) => QuicConnection::new(socket, endpoint, handle, connection, &self.settings).map(Some),
            Err(_) => Ok(None),
        }
    }
}
