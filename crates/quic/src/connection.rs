//! One connection and the loop that drives it.

use bytes::{Bytes, BytesMut};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ReadError, SendDatagramError,
    StreamEvent, StreamId, Transmit, VarInt, WriteError,
};
use quinn_udp::{RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::identity::{Identity, NAME};
use crate::settings::Settings;

/// Octets of headers in front of a UDP payload (RFC 791, RFC 8200, RFC 768).
const HEADERS_V4_BYTES: u32 = 28;
const HEADERS_V6_BYTES: u32 = 48;
/// Least and most payload of a packet: RFC 9000 section 14, and Ethernet's MTU.
const PACKET_BYTES: (u32, u32) = (1200, 1472);
/// Receive buffers of a call, and their length: super-datagrams are no longer.
const RECEIVE_CALL_COUNT: usize = 4;
const RECEIVE_BYTES: usize = 65_536;
/// Bytes handed to the kernel in one call at most.
const SEND_BYTES: usize = 60_000;
/// Where the send window follows the congestion window: what it is at least.
const MIN_SEND_WINDOW_BYTES: u64 = 512 << 10;
/// The interval at which what others may see is made new.
const SHOW_EVERY: Duration = Duration::from_millis(1);
/// Buffers of the UDP socket that are asked for.
const UDP_BUFFER_BYTES: usize = 4 << 20;

/// The engine's facts about a connection (`quinn_proto::ConnectionStats`); counts since it opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Most UDP payload of a packet in bytes.
    pub packet_bytes: u32,
    /// Packets sent.
    pub sent_packets: u64,
    /// UDP datagrams received.
    pub received_packets: u64,
    /// Packets taken for lost, and their bytes.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Congestion events.
    pub congestion_events_count: u64,
    /// ACK frames sent.
    pub acks_sent_count: u64,
    /// ACK frames received.
    pub acks_received_count: u64,
    /// System calls that sent.
    pub send_calls_count: u64,
    /// System calls that received.
    pub receive_calls_count: u64,
    /// Most bytes that one call handed to the kernel, which cut them into packets.
    pub longest_sent_bytes: u64,
    /// Most bytes that came in one piece, which the kernel had merged or never cut.
    pub longest_received_bytes: u64,
}

/// A connection with one stream in both directions. All methods are its thread's.
pub struct QuicConnection {
    socket: Socket,
    offload: UdpSocketState,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    /// The transmission that the socket had no room for.
    unsent: Option<Transmit>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    is_connected: bool,
    is_finished: bool,
    lost: Option<String>,
    follows_window: bool,
    receive_calls_count: u64,
    send_calls_count: u64,
    longest_sent_bytes: u64,
    longest_received_bytes: u64,
    /// Bytes that the buffer of unsent datagrams has room for when it is empty.
    datagrams_room_bytes: usize,
    facts: Arc<Mutex<Facts>>,
    shown: Instant,
    addresses: [Option<SocketAddr>; 2],
}

impl QuicConnection {
    /// Begins to connect.
    ///
    /// # Errors
    /// There is no socket, or no such congestion control.
    pub fn connect(address: SocketAddr, identity: &Identity, settings: &Settings) -> io::Result<Self> {
        let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = connected(SocketAddr::new(any, 0), address)?;
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
        let mut config = ClientConfig::new(Arc::new(identity.client()?));
        // Its own port makes it another's than those that are open at the same time; the clock, than those before.
        let port = socket.local_addr()?.as_socket().map_or(0, |own| own.port());
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let mut drawn = [0; 8];
        drawn[..2].copy_from_slice(&port.to_be_bytes());
        drawn[2..].copy_from_slice(&now_ns.to_be_bytes()[10..]);
        let destination = identity.destination(drawn);
        config.initial_dst_cid_provider(Arc::new(move || destination));
        config.transport_config(Arc::new(settings.transport(packet_bytes(&socket, address))?));
        let (handle, connection) = endpoint.connect(Instant::now(), config, address, NAME).map_err(io::Error::other)?;
        Self::new(socket, endpoint, handle, connection, settings)
    }

    pub(crate) fn new(
        socket: Socket,
        endpoint: Endpoint,
        handle: ConnectionHandle,
        mut connection: Connection,
        settings: &Settings,
    ) -> io::Result<Self> {
        let offload = UdpSocketState::new((&socket).into())?;
        let addresses = [socket.local_addr().ok().and_then(|address| address.as_socket()), Some(connection.remote_address())];
        Ok(Self {
            offload,
            endpoint,
            handle,
            datagrams_room_bytes: connection.datagrams().send_buffer_space(),
            connection,
            stream: None,
            unsent: None,
            outgoing: Vec::with_capacity(RECEIVE_BYTES),
            incoming: vec![0; RECEIVE_CALL_COUNT * RECEIVE_BYTES],
            is_connected: false,
            is_finished: false,
            lost: None,
            follows_window: settings.send_window_bytes.is_none(),
            receive_calls_count: 0,
            send_calls_count: 0,
            longest_sent_bytes: 0,
            longest_received_bytes: 0,
            facts: Arc::default(),
            shown: Instant::now(),
            addresses,
            socket,
        })
    }

    /// True if the handshake is over.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Addresses of this host and of the other.
    pub fn addresses(&self) -> [Option<SocketAddr>; 2] {
        self.addresses
    }

    /// Where what the engine knows is shown, for others.
    pub fn facts(&self) -> Arc<Mutex<Facts>> {
        Arc::clone(&self.facts)
    }

    /// Puts bytes into the stream's send buffer; returns how many it took.
    ///
    /// # Errors
    /// There is no room (`WouldBlock`), or the connection is gone.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(stream) = self.stream.filter(|_| self.is_connected) else { return Err(self.gone_or(ErrorKind::WouldBlock)) };
        if self.lost.is_some() {
            return Err(self.gone_or(ErrorKind::WouldBlock));
        }
        match self.connection.send_stream(stream).write(bytes) {
            Ok(count) => Ok(count),
            Err(WriteError::Blocked) => Err(ErrorKind::WouldBlock.into()),
            Err(_) => Err(ErrorKind::ConnectionReset.into()),
        }
    }

    /// Takes what has arrived of the stream; 0 at its end.
    ///
    /// # Errors
    /// There is nothing (`WouldBlock`), or the connection is gone.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(stream) = self.stream else { return Err(self.gone_or(ErrorKind::WouldBlock)) };
        let mut receiving = self.connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return Ok(0) };
        let mut count = 0;
        let ended = loop {
            if count == buffer.len() {
                break None;
            }
            match chunks.next(buffer.len() - count) {
                Ok(Some(chunk)) => {
                    buffer[count..count + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
                    count += chunk.bytes.len();
                }
                Ok(None) => break Some(Ok(0)),
                Err(ReadError::Blocked) => break Some(Err(ErrorKind::WouldBlock)),
                Err(ReadError::Reset(_)) => break Some(Err(ErrorKind::ConnectionReset)),
            }
        };
        // What it says is sent with the next turn.
        let _ = chunks.finalize();
        match ended {
            _ if count > 0 => Ok(count),
            Some(Err(ErrorKind::WouldBlock)) => Err(self.gone_or(ErrorKind::WouldBlock)),
            Some(Err(kind)) => Err(kind.into()),
            Some(Ok(_)) | None => Ok(0),
        }
    }

    /// Longest datagram that the connection takes now, in bytes; none where the other host takes none.
    pub fn max_datagram_bytes(&mut self) -> Option<usize> {
        self.connection.datagrams().max_size()
    }

    /// Puts a datagram (RFC 9221) where it waits for the congestion window.
    ///
    /// # Errors
    /// There is no room (`WouldBlock`), it is too long (`InvalidInput`), or the connection is gone.
    pub fn write_datagram(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.lost.is_some() {
            return Err(self.gone_or(ErrorKind::WouldBlock));
        }
        match self.connection.datagrams().send(Bytes::copy_from_slice(bytes), false) {
            Ok(()) => Ok(()),
            Err(SendDatagramError::Blocked(_)) => Err(ErrorKind::WouldBlock.into()),
            Err(error) => Err(io::Error::new(ErrorKind::InvalidInput, error.to_string())),
        }
    }

    /// The next datagram that has come.
    ///
    /// # Errors
    /// There is none (`WouldBlock`), or the connection is gone.
    pub fn read_datagram(&mut self) -> io::Result<Bytes> {
        self.connection.datagrams().recv().ok_or_else(|| self.gone_or(ErrorKind::WouldBlock))
    }

    /// True if no datagram waits to be sent, or none ever will be.
    pub fn has_sent_datagrams(&mut self) -> bool {
        let is_empty = self.connection.datagrams().send_buffer_space() == self.datagrams_room_bytes;
        (is_empty && self.unsent.is_none()) || self.lost.is_some()
    }

    /// Ends this host's direction of the stream.
    pub fn finish(&mut self) {
        if let Some(stream) = self.stream {
            let _ = self.connection.send_stream(stream).finish();
        }
    }

    /// True if the other host has acknowledged all of it, or is gone.
    pub fn is_delivered(&self) -> bool {
        self.is_finished || self.lost.is_some()
    }

    /// Closes the connection, and informs the other host.
    pub fn close(&mut self) {
        self.connection.close(Instant::now(), VarInt::from_u32(0), Bytes::new());
        let _ = self.drive(Duration::ZERO);
    }

    /// Sends what may be sent, takes what has come, and waits for more at most this long, or
    /// until a timer of the engine is due.
    ///
    /// # Errors
    /// The socket fails.
    pub fn drive(&mut self, longest: Duration) -> io::Result<()> {
        self.send()?;
        let has_come = self.receive()?;
        self.listen();
        self.send()?;
        self.show(false);
        if has_come || longest.is_zero() {
            return Ok(());
        }
        let due = self.connection.poll_timeout().map_or(longest, |due| due.saturating_duration_since(Instant::now()).min(longest));
        self.wait(due)?;
        self.receive()?;
        self.listen();
        self.send()
    }

    /// Sends what may be sent without waiting, as after each write.
    ///
    /// # Errors
    /// The socket fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.send()
    }

    /// Takes a datagram that came another way.
    pub(crate) fn feed(&mut self, meta: &RecvMeta, bytes: &[u8]) {
        let (endpoint, connection, handle) = (&mut self.endpoint, &mut self.connection, self.handle);
        feed(endpoint, connection, handle, meta, bytes, self.addresses[1].unwrap_or(meta.addr));
        self.listen();
    }

    fn send(&mut self) -> io::Result<()> {
        loop {
            let kept = self.unsent.take();
            let Some(transmit) = kept.or_else(|| self.made()) else { return Ok(()) };
            let datagrams = quinn_udp::Transmit {
                destination: transmit.destination,
                ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
                contents: &self.outgoing[..transmit.size],
                segment_size: transmit.segment_size,
                src_ip: None,
            };
            match self.offload.try_send((&self.socket).into(), &datagrams) {
                Ok(()) => {
                    self.send_calls_count += 1;
                    self.longest_sent_bytes = self.longest_sent_bytes.max(transmit.size as u64);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some(transmit);
                    return Ok(());
                }
                Err(error) => self.on_error(&error),
            }
        }
    }

    /// The next packets, in the buffer.
    fn made(&mut self) -> Option<Transmit> {
        self.outgoing.clear();
        let packet = usize::from(self.connection.current_mtu()).max(1);
        let most = self.offload.max_gso_segments().min(SEND_BYTES / packet).max(1);
        self.connection.poll_transmit(Instant::now(), most, &mut self.outgoing)
    }

    fn receive(&mut self) -> io::Result<bool> {
        let mut has_come = false;
        loop {
            let mut metas = [RecvMeta::default(); RECEIVE_CALL_COUNT];
            let mut buffers = self.incoming.chunks_exact_mut(RECEIVE_BYTES).map(IoSliceMut::new).collect::<Vec<_>>();
            let count = match self.offload.recv((&self.socket).into(), &mut buffers, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(has_come),
                Err(error) => {
                    self.on_error(&error);
                    return Ok(has_come);
                }
            };
            self.receive_calls_count += 1;
            has_come = true;
            for (meta, buffer) in metas[..count].iter().zip(self.incoming.chunks_exact(RECEIVE_BYTES)) {
                let from = self.addresses[1].unwrap_or(meta.addr);
                self.longest_received_bytes = self.longest_received_bytes.max(meta.len as u64);
                for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    feed(&mut self.endpoint, &mut self.connection, self.handle, meta, datagram, from);
                }
            }
        }
    }

    /// The other host's port is closed, as the kernel hears of a connected socket: nobody is there.
    fn on_error(&mut self, error: &io::Error) {
        if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset) && self.is_connected {
            self.lost.get_or_insert_with(|| error.to_string());
        }
    }

    /// Hears what the engine has to say.
    fn listen(&mut self) {
        let now = Instant::now();
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
        }
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(answer);
            }
        }
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => {
                    self.is_connected = true;
                    // Not before: the other host says then how many streams there may be.
                    if self.connection.side().is_client() {
                        self.stream = self.connection.streams().open(Dir::Bi);
                    }
                }
                Event::ConnectionLost { reason } => {
                    self.lost.get_or_insert_with(|| reason.to_string());
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) if self.stream.is_none() => {
                    self.stream = self.connection.streams().accept(Dir::Bi);
                }
                Event::Stream(StreamEvent::Finished { .. }) => self.is_finished = true,
                _ => {}
            }
        }
        if self.follows_window {
            // As Linux holds TCP's send buffer (tcp_sndbuf_expand, net/ipv4/tcp_input.c).
            let window = self.connection.stats().path.cwnd.saturating_mul(2).max(MIN_SEND_WINDOW_BYTES);
            self.connection.set_send_window(window);
        }
    }

    fn wait(&self, longest: Duration) -> io::Result<()> {
        let mut flags = PollFlags::POLLIN;
        flags.set(PollFlags::POLLOUT, self.unsent.is_some());
        // Timers are due in less than the milliseconds of poll(2): sleep shortly then.
        let milliseconds = u16::try_from(longest.as_millis()).unwrap_or(u16::MAX);
        if milliseconds == 0 {
            let timeout = nix::sys::time::TimeSpec::from_duration(longest);
            return match nix::poll::ppoll(&mut [PollFd::new(self.socket.as_fd(), flags)], Some(timeout), None) {
                Ok(_) | Err(Errno::EINTR) => Ok(()),
                Err(error) => Err(error.into()),
            };
        }
        match poll(&mut [PollFd::new(self.socket.as_fd(), flags)], PollTimeout::from(milliseconds)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Shows what the engine knows, now and then or at once.
    pub fn show(&mut self, at_once: bool) {
        let now = Instant::now();
        if !at_once && now.saturating_duration_since(self.shown) < SHOW_EVERY {
            return;
        }
        self.shown = now;
        let stats = self.connection.stats();
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Facts {
            rtt: stats.path.rtt,
            cwnd_bytes: stats.path.cwnd,
            packet_bytes: u32::from(stats.path.current_mtu),
            sent_packets: stats.path.sent_packets,
            received_packets: stats.udp_rx.datagrams,
            lost_packets: stats.path.lost_packets,
            lost_bytes: stats.path.lost_bytes,
            congestion_events_count: stats.path.congestion_events,
            acks_sent_count: stats.frame_tx.acks,
            acks_received_count: stats.frame_rx.acks,
            send_calls_count: self.send_calls_count,
            receive_calls_count: self.receive_calls_count,
            longest_sent_bytes: self.longest_sent_bytes,
            longest_received_bytes: self.longest_received_bytes,
        };
    }

    /// Why nothing moves: the connection is gone, or else this.
    fn gone_or(&self, kind: ErrorKind) -> io::Error {
        match &self.lost {
            Some(reason) => io::Error::new(ErrorKind::ConnectionReset, format!("the connection is gone: {reason}")),
            None => kind.into(),
        }
    }
}

/// Gives a datagram to the engine.
fn feed(endpoint: &mut Endpoint, connection: &mut Connection, handle: ConnectionHandle, meta: &RecvMeta, bytes: &[u8], from: SocketAddr) {
    let ecn = meta.ecn.and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
    let mut answer = Vec::new();
    let event = endpoint.handle(Instant::now(), from, None, ecn, BytesMut::from(bytes), &mut answer);
    // Whatever is not this connection's is nobody's.
    if let Some(DatagramEvent::ConnectionEvent(of, event)) = event
        && of == handle
    {
        connection.handle_event(event);
    }
}

/// A UDP socket from one address to another, which may share its port.
pub(crate) fn connected(local: SocketAddr, remote: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(remote), Type::DGRAM, Some(Protocol::UDP))?;
    if local.port() != 0 {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&local.into())?;
    socket.connect(&remote.into())?;
    // As much as the host allows.
    let _ = socket.set_recv_buffer_size(UDP_BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(UDP_BUFFER_BYTES);
    Ok(socket)
}

/// Most payload of a packet on the path of a connected socket, as the kernel reports it.
pub(crate) fn packet_bytes(socket: &Socket, remote: SocketAddr) -> u16 {
    let mtu = if remote.is_ipv4() { nix::sys::socket::getsockopt(socket, nix::sys::socket::sockopt::IpMtu) } else { Ok(1500) };
    let headers = if remote.is_ipv4() { HEADERS_V4_BYTES } else { HEADERS_V6_BYTES };
    let known = mtu.ok().and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(1500);
    let payload = known.saturating_sub(headers).clamp(PACKET_BYTES.0, PACKET_BYTES.1.min(1500 - headers));
    u16::try_from(payload).unwrap_or(1200)
}
