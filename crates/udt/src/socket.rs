//! One socket of a library. With unsafe code: calls into the shim, none of which keeps a pointer.

use libc::{c_char, c_int};
use socket2::{Domain, SockAddr};
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::IntoRawFd;
use std::sync::OnceLock;
use std::time::Duration;

use crate::Library;
use crate::ffi::{self, AddressOf, Choice, RawFacts, Shim};
use crate::statistics::Facts;

/// A socket of the stream kind; closed when dropped, without waiting for what is unsent. All
/// methods may be called from any thread at the same time: the library locks.
#[derive(Debug)]
pub struct Socket {
    library: Library,
    id: c_int,
    /// Where it connects to: SRT reports it only for accepted sockets.
    destination: OnceLock<SocketAddr>,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketState {
    /// Not there yet.
    Connecting,
    /// Open.
    Connected,
    /// Refused, closed or lost.
    Broken,
}

impl Socket {
    /// A socket of this family.
    ///
    /// # Errors
    /// The library is missing, or cannot start.
    pub fn open(library: Library, domain: Domain) -> io::Result<Self> {
        if !library.is_present() {
            return Err(io::Error::new(ErrorKind::Unsupported, library.missing()));
        }
        if !library.is_started() {
            return Err(io::Error::other(format!("the {} library does not start", library.title())));
        }
        // SAFETY: an integer goes in, one comes out.
        let id = checked(library, unsafe { (library.shim().open)(domain.into()) })?;
        Ok(Self { library, id, destination: OnceLock::new() })
    }

    /// Whose it is.
    pub fn library(&self) -> Library {
        self.library
    }

    /// Largest packet in bytes, IPv4 and UDP headers included (`UDT_MSS`). Before all buffers, which
    /// the library keeps in packets.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn set_mss(&self, bytes: u32) -> io::Result<()> {
        self.set(Choice::Mss, bytes)
    }

    /// Most packets in flight (`UDT_FC`).
    ///
    /// # Errors
    /// The library refuses it.
    pub fn set_flight(&self, packets: u32) -> io::Result<()> {
        self.set(Choice::FlightPackets, packets)
    }

    /// Send buffer in bytes (`UDT_SNDBUF`).
    ///
    /// # Errors
    /// The library refuses it.
    pub fn set_send_buffer(&self, bytes: u32) -> io::Result<()> {
        self.set(Choice::SendBuffer, bytes)
    }

    /// Receive buffer in bytes (`UDT_RCVBUF`), which the window that is announced comes from.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        self.set(Choice::ReceiveBuffer, bytes)
    }

    /// Sets whether calls wait, and how long at most: one that waited in vain is `WouldBlock`.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn set_waiting(&self, longest: Option<Duration>) -> io::Result<()> {
        if let Some(longest) = longest {
            let milliseconds = u32::try_from(longest.as_millis()).map_err(io::Error::other)?;
            self.set(Choice::SendTimeout, milliseconds)?;
            self.set(Choice::ReceiveTimeout, milliseconds)?;
        }
        self.set(Choice::IsBlocking, u32::from(longest.is_some()))
    }

    /// Largest packet as both hosts agreed, in bytes.
    ///
    /// # Errors
    /// The socket is closed.
    pub fn mss(&self) -> io::Result<u32> {
        self.get(Choice::Mss)
    }

    /// Send buffer as granted, in bytes.
    ///
    /// # Errors
    /// The socket is closed.
    pub fn send_buffer(&self) -> io::Result<u32> {
        self.get(Choice::SendBuffer)
    }

    /// Receive buffer as granted, in bytes.
    ///
    /// # Errors
    /// The socket is closed.
    pub fn receive_buffer(&self) -> io::Result<u32> {
        self.get(Choice::ReceiveBuffer)
    }

    /// Takes over a UDP socket that is bound, and makes the threads that read it.
    ///
    /// # Errors
    /// It is not bound, or there are no threads.
    pub fn bind(&self, socket: UdpSocket) -> io::Result<()> {
        // The library waits in its calls, with a time limit of its own.
        socket.set_nonblocking(false)?;
        // SAFETY: integers go in, one comes out; the descriptor is open, and the library's from here on.
        self.checked(unsafe { (self.shim().bind)(self.id, socket.into_raw_fd()) }).map(drop)
    }

    /// Takes connections.
    ///
    /// # Errors
    /// The library refuses.
    pub fn listen(&self, backlog: u32) -> io::Result<()> {
        let backlog = c_int::try_from(backlog).map_err(io::Error::other)?;
        // SAFETY: integers go in, one comes out.
        self.checked(unsafe { (self.shim().listen)(self.id, backlog) }).map(drop)
    }

    /// The next connection that has come.
    ///
    /// # Errors
    /// None has (`WouldBlock`), or the library refuses.
    pub fn accept(&self) -> io::Result<Socket> {
        // SAFETY: an integer goes in, one comes out.
        self.checked(unsafe { (self.shim().accept)(self.id) }).map(|id| Socket { library: self.library, id, destination: OnceLock::new() })
    }

    /// Connects, or begins to where calls do not wait.
    ///
    /// # Errors
    /// Nobody answers, or the library refuses.
    pub fn connect(&self, address: SocketAddr) -> io::Result<()> {
        let _ = self.destination.set(address);
        let address = SockAddr::from(address);
        // SAFETY: the address lives through the call and has the length it says.
        self.checked(unsafe { (self.shim().connect)(self.id, address.as_ptr().cast(), length_of(&address)) }).map(drop)
    }

    /// The state of the connection.
    pub fn state(&self) -> SocketState {
        // SAFETY: an integer goes in, one comes out.
        match unsafe { (self.shim().state_of)(self.id) } {
            ffi::CONNECTING => SocketState::Connecting,
            ffi::CONNECTED => SocketState::Connected,
            _ => SocketState::Broken,
        }
    }

    /// Address of this host.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.address(self.shim().local)
    }

    /// Address of the other host.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.address(self.shim().remote).or_else(|| self.destination.get().copied())
    }

    /// Puts bytes into the send buffer; returns how many it took.
    ///
    /// # Errors
    /// There was no room (`WouldBlock`), or the connection is gone.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
        // SAFETY: the library reads at most `length` of the bytes, which live through the call.
        self.moved(unsafe { (self.shim().send)(self.id, bytes.as_ptr().cast(), length) })
    }

    /// Takes bytes from the receive buffer; returns how many.
    ///
    /// # Errors
    /// There was nothing (`WouldBlock`), or the connection is gone.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = c_int::try_from(buffer.len()).unwrap_or(c_int::MAX);
        // SAFETY: the library writes at most `length` bytes into the buffer, which lives through the call.
        let moved = self.moved(unsafe { (self.shim().receive)(self.id, buffer.as_mut_ptr().cast(), length) })?;
        // With this SRT reports that the other host has closed.
        if moved == 0 && length > 0 { Err(io::Error::from_raw_os_error(libc::ECONNRESET)) } else { Ok(moved) }
    }

    /// Closes the connection, without waiting for what is unsent; the other host is given.
    pub fn close(&self) {
        // SAFETY: an integer goes in; the library refuses one that is closed already.
        unsafe { (self.shim().close)(self.id) };
    }

    /// The facts that the library knows of the connection.
    ///
    /// # Errors
    /// It is not open any more.
    pub fn facts(&self) -> io::Result<Facts> {
        let mut raw = RawFacts::default();
        // SAFETY: the shim writes the structure, whose layout is the one of its header.
        self.checked(unsafe { (self.shim().facts_of)(self.id, &raw mut raw) })?;
        Ok(Facts::new(&raw, self.mss()?))
    }

    fn address(&self, of: AddressOf) -> Option<SocketAddr> {
        // SAFETY: the library writes no more than a sockaddr_in6 into a storage that is larger, and the
        // family it writes says what it is.
        let (status, address) = unsafe {
            SockAddr::try_init(|storage, length| {
                let mut given = c_int::try_from(*length).unwrap_or(c_int::MAX);
                self.checked(of(self.id, storage.cast(), &raw mut given))?;
                *length = u32::try_from(given).unwrap_or(*length);
                Ok(())
            })
        }
        .ok()?;
        let () = status;
        address.as_socket()
    }

    fn shim(&self) -> &'static Shim {
        self.library.shim()
    }

    fn checked(&self, status: c_int) -> io::Result<c_int> {
        checked(self.library, status)
    }

    fn moved(&self, count: c_int) -> io::Result<usize> {
        self.checked(count).and_then(|count| usize::try_from(count).map_err(io::Error::other))
    }

    fn set(&self, choice: Choice, value: u32) -> io::Result<()> {
        let value = c_int::try_from(value).map_err(io::Error::other)?;
        // SAFETY: integers go in, one comes out; the option is one of the shim's.
        self.checked(unsafe { (self.shim().set)(self.id, choice as c_int, value) }).map(drop)
    }

    fn get(&self, choice: Choice) -> io::Result<u32> {
        let mut value = 0;
        // SAFETY: the shim writes the integer.
        self.checked(unsafe { (self.shim().get)(self.id, choice as c_int, &raw mut value) })?;
        u32::try_from(value).map_err(io::Error::other)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.close();
    }
}

fn length_of(address: &SockAddr) -> c_int {
    c_int::try_from(address.len()).unwrap_or(c_int::MAX)
}

fn checked(library: Library, status: c_int) -> io::Result<c_int> {
    if status < 0 { Err(last_error(library)) } else { Ok(status) }
}

/// A library's last error of this thread; the numbers are those of UDT's reference manual, which SRT kept.
fn last_error(library: Library) -> io::Error {
    let mut text: [c_char; 256] = [0; 256];
    // SAFETY: the shim writes at most so many bytes, with a zero at their end.
    let (code, text) = unsafe {
        let code = (library.shim().error)(text.as_mut_ptr(), 256);
        (code, CStr::from_ptr(text.as_ptr()).to_string_lossy().trim_end_matches(['.', '\n', ' ']).to_owned())
    };
    match code {
        // EASYNCSND, EASYNCRCV, ETIMEOUT
        6001..=6003 => ErrorKind::WouldBlock.into(),
        // ENOSERVER: connection setup timed out
        1001 => io::Error::new(ErrorKind::TimedOut, text),
        // ECONNREJ
        1002 => io::Error::new(ErrorKind::ConnectionRefused, text),
        // ECONNLOST, ENOCONN: the words of TCP's own error
        2001 | 2002 => io::Error::from_raw_os_error(libc::ECONNRESET),
        _ => io::Error::other(format!("{text} ({} error {code})", library.title())),
    }
}
