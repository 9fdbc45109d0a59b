//! A connection whose records this process encrypts and decrypts.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::identity::Identity;
use crate::kernel::{self, Placed};
use crate::settings::{Negotiated, Settings};

/// Payload that is encrypted before it goes to the kernel: what rustls holds by itself.
const PIECE_BYTES: usize = 64 << 10;
/// Length of a record's header (RFC 8446 section 5.1).
const HEADER_BYTES: usize = 5;
/// Longest record (RFC 5246 section 6.2.3).
pub(crate) const MAX_RECORD_BYTES: usize = HEADER_BYTES + (1 << 14) + 2048;

/// Both sides of a trial's connections.
pub struct Hosts {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Hosts {
    /// As a trial asks; its secret makes the listening host's key.
    ///
    /// # Errors
    /// The certificate cannot be made, or the settings do not go together.
    pub fn new(secret: &[u8], settings: &Settings) -> io::Result<Self> {
        let identity = Identity::of(b"whyperf tls", secret)?;
        let (versions, suites) = (settings.versions(), settings.suites());
        let (mut client, mut server) = (identity.client(&versions, &suites)?, identity.server(&versions, &suites)?);
        // The library counts the header, too.
        let record = settings.record_bytes.map(|bytes| bytes as usize + HEADER_BYTES);
        (client.max_fragment_size, server.max_fragment_size) = (record, record);
        (client.enable_secret_extraction, server.enable_secret_extraction) = (settings.is_for_kernel, settings.is_for_kernel);
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }

    /// The connecting side of a connection.
    ///
    /// # Errors
    /// The settings are out of range.
    pub fn connecting(&self) -> io::Result<Session> {
        let name = ServerName::try_from(Identity::NAME).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(&self.client), name).map_err(io::Error::other)?;
        Ok(Session::new(connection.into()))
    }

    /// The listening side.
    ///
    /// # Errors
    /// The settings are out of range.
    pub fn listening(&self) -> io::Result<Session> {
        let connection = ServerConnection::new(Arc::clone(&self.server)).map_err(io::Error::other)?;
        Ok(Session::new(connection.into()))
    }
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Hosts").finish_non_exhaustive()
    }
}

/// A connection's state of TLS. Its stream is passed to each call; what the stream refuses as
/// [`ErrorKind::WouldBlock`], the call refuses, too, and goes on where it was when it is called again.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    /// Records that were read from the stream and not decrypted yet.
    ahead: Box<[u8]>,
    start: usize,
    end: usize,
    /// Keeps reads within one record, while nothing of the next may be taken.
    boundary: Option<Boundary>,
    /// True if the last read filled its buffer, so that the stream may have more.
    is_more: bool,
    /// Payload that is encrypted, but not all in the stream: it is no sent payload yet.
    unreported_bytes: usize,
    is_over: bool,
}

impl Session {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            ahead: vec![0; MAX_RECORD_BYTES].into(),
            start: 0,
            end: 0,
            boundary: Some(Boundary::default()),
            is_more: false,
            unreported_bytes: 0,
            is_over: false,
        }
    }

    /// Reads as much at a time as the stream has from now on, up to so many bytes, instead of one record.
    pub fn read_ahead(&mut self, bytes: usize) {
        self.boundary = None;
        if self.start == self.end {
            self.ahead = vec![0; bytes.max(MAX_RECORD_BYTES)].into();
            (self.start, self.end) = (0, 0);
        }
    }

    /// Goes on with the handshake until it is over.
    ///
    /// # Errors
    /// The stream's, or the other side violates the protocol.
    pub fn handshake(&mut self, stream: &mut (impl Read + Write)) -> io::Result<()> {
        loop {
            self.flush(stream)?;
            if !self.connection.is_handshaking() {
                return Ok(());
            }
            self.take_in(stream)?;
            if self.is_over {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Encrypts payload and sends it. Returns how much has gone to the stream whole; where that would be nothing,
    /// the call is to be repeated with the same payload.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, stream: &mut impl Write, payload: &[u8]) -> io::Result<usize> {
        self.flush(stream)?;
        let mut taken = std::mem::take(&mut self.unreported_bytes);
        while taken < payload.len() {
            let piece = self.connection.writer().write(&payload[taken..payload.len().min(taken + PIECE_BYTES)])?;
            match self.flush(stream) {
                Ok(()) => taken += piece,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    self.unreported_bytes = piece;
                    return if taken > 0 { Ok(taken) } else { Err(error) };
                }
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Receives and decrypts; 0 is the end of the stream.
    ///
    /// # Errors
    /// The stream's, or a record is not the other side's.
    pub fn read(&mut self, stream: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The end is agreed on otherwise: a connection whose keys the kernel has says none.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if self.is_over {
                return Ok(0);
            }
            self.take_in(stream)?;
            // An answer of the protocol itself, such as new keys.
            match self.flush(stream) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
    }

    /// Sends what is encrypted.
    ///
    /// # Errors
    /// The stream's.
    pub fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(stream)?;
        }
        Ok(())
    }

    /// Announces the end of what this side sends (`close_notify`, RFC 8446 section 6.1).
    ///
    /// # Errors
    /// The stream's.
    pub fn close(&mut self, stream: &mut impl Write) -> io::Result<()> {
        self.connection.send_close_notify();
        self.flush(stream)
    }

    /// True if something that is encrypted waits for room in the stream.
    pub fn has_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    /// True if a read may yield something before the stream has more.
    pub fn may_have_more(&self) -> bool {
        self.start < self.end || self.is_more
    }

    /// True if payload cannot be carried yet.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The settings that were negotiated; none before the handshake is over.
    pub fn negotiated(&self) -> Option<Negotiated> {
        Negotiated::of(self.connection.protocol_version(), self.connection.negotiated_cipher_suite())
    }

    /// Hands the keys to the kernel: from now on calls on the socket carry payload. Nothing may have been read from it
    /// behind what was received here.
    ///
    /// # Errors
    /// The kernel has no TLS, or not this version or cipher.
    pub fn into_kernel(self, socket: &impl AsFd) -> io::Result<Placed> {
        let negotiated = self.negotiated().ok_or_else(|| io::Error::other("the handshake is not over"))?;
        if self.start < self.end || self.has_unsent() || self.is_more {
            return Err(io::Error::other("records wait that the kernel would not see"));
        }
        let secrets = self.connection.dangerous_extract_secrets().map_err(io::Error::other)?;
        kernel::place(socket, negotiated, &secrets)
    }

    fn take_in(&mut self, stream: &mut (impl Read + Write)) -> io::Result<()> {
        if self.start == self.end {
            let room = self.boundary.as_ref().map_or(self.ahead.len(), Boundary::room);
            let count = stream.read(&mut self.ahead[..room])?;
            self.is_more = self.boundary.is_none() && count == room;
            self.is_over = count == 0;
            if let Some(boundary) = &mut self.boundary {
                boundary.on_read(&self.ahead[..count]);
            }
            (self.start, self.end) = (0, count);
        }
        let mut piece = &self.ahead[self.start..self.end];
        self.connection.read_tls(&mut piece)?;
        self.start = self.end - piece.len();
        self.connection.process_new_packets().map(drop).map_err(|error| {
            // Says why, if the other side still listens.
            let _ = self.connection.write_tls(stream);
            io::Error::new(ErrorKind::InvalidData, format!("TLS: {error}"))
        })
    }
}

/// The place that reads have come to in a record.
#[derive(Debug, Default)]
struct Boundary {
    header: [u8; HEADER_BYTES],
    have: usize,
    left: usize,
}

impl Boundary {
    /// Bytes up to the end of the header, or of the record.
    fn room(&self) -> usize {
        if self.have < HEADER_BYTES { HEADER_BYTES - self.have } else { self.left.min(MAX_RECORD_BYTES) }
    }

    fn on_read(&mut self, bytes: &[u8]) {
        if self.have < HEADER_BYTES {
            self.header[self.have..self.have + bytes.len()].copy_from_slice(bytes);
            self.have += bytes.len();
            self.left = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
        } else {
            self.left -= bytes.len();
        }
        if self.have == HEADER_BYTES && self.left == 0 {
            self.have = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Cipher, Version};
    use std::collections::VecDeque;

    /// One side of a pipe with little room.
    struct Pipe<'a> {
        into: &'a mut VecDeque<u8>,
        from: &'a mut VecDeque<u8>,
        room: usize,
    }

    impl Read for Pipe<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.from.read(buffer)? {
                0 if !buffer.is_empty() => Err(ErrorKind::WouldBlock.into()),
                count => Ok(count),
            }
        }
    }

    impl Write for Pipe<'_> {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.room - self.into.len());
            if count == 0 { Err(ErrorKind::WouldBlock.into()) } else { self.into.write(&buffer[..count]) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Wire {
        there: VecDeque<u8>,
        back: VecDeque<u8>,
        room: usize,
    }

    impl Wire {
        fn new(room: usize) -> Self {
            Self { there: VecDeque::new(), back: VecDeque::new(), room }
        }

        fn near(&mut self) -> Pipe<'_> {
            Pipe { into: &mut self.there, from: &mut self.back, room: self.room }
        }

        fn far(&mut self) -> Pipe<'_> {
            Pipe { into: &mut self.back, from: &mut self.there, room: self.room }
        }
    }

    fn is_waiting(outcome: &io::Result<()>) -> bool {
        matches!(outcome, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    fn open(wire: &mut Wire, settings: &Settings) -> (Session, Session) {
        let hosts = Hosts::new(b"secret", settings).expect("configured");
        let (mut near, mut far) = (hosts.connecting().expect("made"), hosts.listening().expect("made"));
        for _ in 0..1000 {
            let (a, b) = (near.handshake(&mut wire.near()), far.handshake(&mut wire.far()));
            if a.is_ok() && b.is_ok() {
                return (near, far);
            }
            assert!(a.is_ok() || is_waiting(&a), "{a:?}");
            assert!(b.is_ok() || is_waiting(&b), "{b:?}");
        }
        panic!("no handshake");
    }

    #[test]
    fn what_is_asked_for_is_negotiated() {
        for version in [Version::Tls12, Version::Tls13] {
            for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
                let settings = Settings { version: Some(version), cipher: Some(cipher), ..Settings::default() };
                let (near, far) = open(&mut Wire::new(100), &settings);
                assert_eq!(
                    (near.negotiated(), far.negotiated()),
                    (Some(Negotiated { version, cipher }), Some(Negotiated { version, cipher }))
                );
            }
        }
        let (near, _) = open(&mut Wire::new(1 << 20), &Settings::default());
        assert_eq!(near.negotiated(), Some(Negotiated { version: Version::Tls13, cipher: Cipher::Aes128Gcm }));
    }

    #[test]
    fn payload_arrives_whole_and_is_counted_when_it_is_sent() {
        for (room, read_bytes) in [(777, 100), (1 << 14, 1 << 20)] {
            let mut wire = Wire::new(room);
            let (mut near, mut far) = open(&mut wire, &Settings::default());
            far.read_ahead(1 << 16);
            let payload: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
            let (mut sent, mut got, mut buffer) = (0, Vec::new(), vec![0; read_bytes]);
            while got.len() < payload.len() {
                if sent < payload.len() {
                    match near.write(&mut wire.near(), &payload[sent..]) {
                        Ok(count) => sent += count,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                    }
                }
                while let Ok(count) = far.read(&mut wire.far(), &mut buffer) {
                    got.extend_from_slice(&buffer[..count]);
                }
            }
            // What has not left the stream's room is no sent payload.
            assert!(sent <= payload.len());
            assert!(got == payload);
            near.close(&mut wire.near()).expect("room");
            assert_eq!(far.read(&mut wire.far(), &mut buffer).expect("the end"), 0);
        }
    }

    #[test]
    fn records_are_as_long_as_asked() {
        let mut wire = Wire::new(1 << 20);
        let (mut near, _far) = open(&mut wire, &Settings { record_bytes: Some(1000), ..Settings::default() });
        wire.there.clear();
        assert_eq!(near.write(&mut wire.near(), &[0; 2500]).expect("room"), 2500);
        let bytes: Vec<u8> = wire.there.iter().copied().collect();
        let (mut at, mut lengths) = (0, Vec::new());
        while at < bytes.len() {
            let length = usize::from(u16::from_be_bytes([bytes[at + 3], bytes[at + 4]]));
            // A byte for the type, and the code of 16 bytes (RFC 8446 section 5.2).
            lengths.push(length - 17);
            at += HEADER_BYTES + length;
        }
        assert_eq!(lengths, [1000, 1000, 500]);
    }

    #[test]
    fn nothing_behind_a_record_is_read_while_connections_open() {
        let mut wire = Wire::new(1 << 20);
        let (mut near, mut far) = open(&mut wire, &Settings::default());
        near.write(&mut wire.near(), b"first").expect("room");
        let first_record = wire.there.len();
        near.write(&mut wire.near(), b"second").expect("room");
        let behind = wire.there.len() - first_record;
        let mut buffer = [0; 100];
        assert_eq!(far.read(&mut wire.far(), &mut buffer).expect("is there"), 5);
        assert_eq!(wire.there.len(), behind);
    }

    #[test]
    fn another_trials_host_is_not_believed() {
        let mut wire = Wire::new(1 << 20);
        let settings = Settings::default();
        let mut near = Hosts::new(b"secret", &settings).and_then(|hosts| hosts.connecting()).expect("made");
        let mut far = Hosts::new(b"other", &settings).and_then(|hosts| hosts.listening()).expect("made");
        assert!(is_waiting(&near.handshake(&mut wire.near())));
        assert!(is_waiting(&far.handshake(&mut wire.far())));
        let refused = near.handshake(&mut wire.near()).expect_err("another certificate");
        assert_eq!(refused.kind(), ErrorKind::InvalidData);
    }
}
