//! Two connected sockets in the testbed, one in each namespace.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};
use path::{Side, Testbed};
use probe::tcp_info::TcpInfo;
use socket2::{Domain, Protocol, Socket, Type};

use crate::{StepError, refused};

/// The time that bytes may take to the other host before something is wrong.
const PATIENCE: Duration = Duration::from_secs(5);
/// Moved before anything is timed, so that neither a congestion window nor a buffer still grows.
const WARM_UP_BYTES: u64 = 4 << 20;
const PIECE_BYTES: usize = 65_536;

/// A connection, both hosts of it.
pub struct Joined {
    /// The near host, which writes.
    pub writer: TcpStream,
    /// The far host, which reads.
    pub reader: TcpStream,
    written: u64,
    read: u64,
}

/// Buffers of a connection, as `SO_SNDBUF` and `SO_RCVBUF`, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Buffers {
    /// Of the end that writes.
    pub send_bytes: usize,
    /// Of the end that reads.
    pub receive_bytes: usize,
}

impl Joined {
    /// Connects the near host to the far one.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(testbed: &Testbed, buffers: Buffers) -> Result<Self, StepError> {
        let failed = |action: &'static str| move |error: std::io::Error| StepError::System(action, error);
        let address = testbed.report().far.ipv4.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let listener: TcpListener = testbed.inside(Side::Far, || {
            let socket = new_socket()?;
            setsockopt(&socket, sockopt::RcvBufForce, &buffers.receive_bytes)?;
            socket.bind(&SocketAddr::new(address, 0).into())?;
            socket.listen(1)?;
            Ok(socket.into())
        })?;
        let to = listener.local_addr().map_err(failed("asking for a port"))?;
        let writer: TcpStream = testbed.inside(Side::Near, || {
            let socket = new_socket()?;
            setsockopt(&socket, sockopt::SndBufForce, &buffers.send_bytes)?;
            socket.connect_timeout(&to.into(), PATIENCE)?;
            Ok(socket.into())
        })?;
        let (reader, _) = listener.accept().map_err(failed("accepting a connection"))?;
        for socket in [&writer, &reader] {
            socket.set_nodelay(true).map_err(failed("setting TCP_NODELAY"))?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(failed("setting SO_RCVTIMEO"))?;
            socket.set_write_timeout(Some(PATIENCE)).map_err(failed("setting SO_SNDTIMEO"))?;
        }
        Ok(Self { writer, reader, written: 0, read: 0 })
    }

    /// Moves so many bytes that windows are open.
    ///
    /// # Errors
    /// The connection broke.
    pub fn warm_up(&mut self) -> Result<(), StepError> {
        let piece = vec![1_u8; PIECE_BYTES];
        while self.written < WARM_UP_BYTES {
            self.write(&piece)?;
            self.drain()?;
        }
        Ok(())
    }

    /// One write call, all of whose bytes the socket has to take.
    ///
    /// # Errors
    /// The connection broke.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StepError> {
        self.writer.write_all(bytes).map_err(refused("writing"))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// One read call that returns all of `buffer`.
    ///
    /// # Errors
    /// The connection broke.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<(), StepError> {
        self.reader.read_exact(buffer).map_err(refused("reading"))?;
        self.read += buffer.len() as u64;
        Ok(())
    }

    /// Waits until everything that was written lies in the reader's buffer.
    ///
    /// # Errors
    /// It does not come.
    pub fn await_arrival(&self) -> Result<(), StepError> {
        let since = Instant::now();
        while info(&self.reader)?.raw.bytes_received < self.written {
            if since.elapsed() > PATIENCE {
                let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Err(StepError::System("waiting for bytes to arrive", late));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Reads everything that was written.
    ///
    /// # Errors
    /// It does not come.
    pub fn drain(&mut self) -> Result<(), StepError> {
        let mut buffer = vec![0; PIECE_BYTES];
        while self.read < self.written {
            let count = self.reader.read(&mut buffer).map_err(refused("reading"))?;
            self.read += count as u64;
        }
        Ok(())
    }

    /// Lets a pending acknowledgment go (`true`), or holds acknowledgments back again (`false`): `TCP_QUICKACK`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_quick_ack(&self, now: bool) -> Result<(), StepError> {
        socket2::SockRef::from(&self.reader).set_tcp_quickack(now).map_err(refused("setting TCP_QUICKACK"))
    }

    /// Segments with payload that the writer has sent, and segments without that the reader has.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn segments(&self) -> Result<[u64; 2], StepError> {
        let (writer, reader) = (info(&self.writer)?.raw, info(&self.reader)?.raw);
        let acks = reader.segs_out.wrapping_sub(reader.data_segs_out);
        Ok([u64::from(writer.data_segs_out), u64::from(acks)])
    }
}

fn info(socket: &TcpStream) -> Result<TcpInfo, StepError> {
    TcpInfo::read(socket.as_fd()).map_err(refused("reading TCP_INFO"))
}

/// A socket whose congestion control is the same on every host.
fn new_socket() -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(b"reno")?;
    Ok(socket)
}
