//! State of a connection that the sampler keeps from one sample to the next. There may be 100 000 of them,
//! so it is what rows need later and no more.

use load::counter::Counts;
use probe::tcp_info::TcpInfo;
use socket2::{SockAddr, Socket};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};

/// Segments that TCP counted on a connection; the counts have 32 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    /// Sent again.
    pub retransmitted: u32,
    /// Sent with data.
    pub data_out: u32,
    /// Received with data.
    pub data_in: u32,
    /// Received.
    pub all_in: u32,
}

/// One side's address.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    V4(SocketAddrV4),
    /// Apart, for it is longer and rarer.
    V6(Box<SocketAddr>),
    /// Unix sockets have none.
    Nameless,
    Closed,
    /// The connection comes later, from the workload.
    Later,
}

/// The state that is kept of a connection.
#[derive(Debug)]
pub struct Known {
    /// Its counts, and when they were read, on CLOCK_MONOTONIC in ns.
    pub counted: (u64, Counts),
    /// The counts of TCP when last asked; none when it never answered.
    pub segments: Option<Segments>,
    /// The peer's; a closed connection no longer reports it.
    remote: Address,
}

impl From<Option<io::Result<SockAddr>>> for Address {
    fn from(answer: Option<io::Result<SockAddr>>) -> Self {
        match answer.map(|name| name.map(|address| address.as_socket())) {
            None => Address::Later,
            Some(Err(_)) => Address::Closed,
            Some(Ok(None)) => Address::Nameless,
            Some(Ok(Some(SocketAddr::V4(address)))) => Address::V4(address),
            Some(Ok(Some(address))) => Address::V6(Box::new(address)),
        }
    }
}

impl Address {
    fn text(&self, later: &str) -> String {
        match self {
            Address::V4(address) => address.to_string(),
            Address::V6(address) => address.to_string(),
            Address::Nameless => String::new(),
            Address::Closed => "closed".to_owned(),
            Address::Later => later.to_owned(),
        }
    }
}

/// Memory of our own that a connection may take, in bytes, with what the load keeps of it.
const MAX_BYTES: usize = 512;

const _: () = assert!(size_of::<Known>() + load::engine::USER_BYTES + load::engine::QUEUED_BYTES <= MAX_BYTES);

impl Known {
    /// Of a connection that has moved nothing.
    pub fn new(socket: Option<&Socket>, now_mono_ns: u64) -> Self {
        Self { counted: (now_mono_ns, Counts::default()), segments: None, remote: socket.map(Socket::peer_addr).into() }
    }

    /// TCP answered.
    pub fn on_info(&mut self, info: &TcpInfo) {
        self.segments = Some(Segments {
            retransmitted: info.raw.total_retrans,
            data_out: info.raw.data_segs_out,
            data_in: info.raw.data_segs_in,
            all_in: info.raw.segs_in,
        });
    }

    /// Segments sent again so far.
    pub fn retransmitted_segments(&self) -> u64 {
        self.segments.map_or(0, |segments| u64::from(segments.retransmitted))
    }

    /// Local and remote address, in words of the record; the socket may be closed by its peer.
    pub fn addresses(&self, socket: Option<&Socket>) -> [String; 2] {
        [Address::from(socket.map(Socket::local_addr)).text("opened by the workload"), self.remote.text("")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn addresses_outlive_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let there = listener.local_addr().expect("bound");
        let socket: Socket = TcpStream::connect(there).expect("connects").into();
        let here = socket.local_addr().expect("bound").as_socket().expect("of IP");
        let known = Known::new(Some(&socket), 0);
        let (peer, _) = listener.accept().expect("comes");
        // Closed with a reset.
        Socket::from(peer).set_linger(Some(Duration::ZERO)).expect("a socket");
        while socket.peer_addr().is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(known.addresses(Some(&socket)), [here.to_string(), there.to_string()]);
    }

    #[test]
    fn a_connection_of_the_workload_has_no_address_yet() {
        assert_eq!(Known::new(None, 0).addresses(None), ["opened by the workload".to_owned(), String::new()]);
    }

    #[test]
    fn a_unix_socket_has_none_at_all() {
        let (socket, _peer) = Socket::pair(socket2::Domain::UNIX, socket2::Type::STREAM, None).expect("a pair");
        assert_eq!(Known::new(Some(&socket), 0).addresses(Some(&socket)), [String::new(), String::new()]);
    }
}
