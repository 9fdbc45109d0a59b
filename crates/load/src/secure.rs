//! TLS on connections of TCP: who encrypts, and what a session reads and writes.

use nix::sys::socket::{MsgFlags, recv};
use schema::trial::{KernelTls, Role, SendCall, TlsCipher, TlsVersion, TrialSpec};
use schema::workload::{Operation, Transport};
use socket2::{SockRef, Socket};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, OnceLock};
use tls::{Cipher, Hosts, Negotiated, Session, Settings, Version};

use crate::LoadError;
use crate::open::{Connection, is_over};

/// First byte of a connection that begins with TLS: the type of a record of the handshake (RFC 8446 section 5.1).
const HANDSHAKE_RECORD: u8 = 22;
/// Bytes that a session of a stream reads at a time at least.
const MIN_AHEAD_BYTES: usize = 64 << 10;
/// And at most.
const MAX_AHEAD_BYTES: usize = 256 << 10;
/// Least and most payload of a record (RFC 8446 section 5.1).
const RECORD_BYTES: (u32, u32) = (64, 16_384);

/// The facts that were negotiated on a connection, and who encrypts there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsFacts {
    /// Version and cipher; of a kernel's connection as the kernel reports them.
    pub negotiated: Negotiated,
    /// True if the kernel encrypts and decrypts.
    pub is_in_kernel: bool,
}

/// The facts of a connection, once they are known.
pub type TlsView = Arc<OnceLock<TlsFacts>>;

/// A socket as a session's stream.
pub(crate) struct Calls<'a, S> {
    socket: &'a S,
    flags: i32,
}

impl<'a, S: AsFd> Calls<'a, S> {
    /// Its calls have these flags.
    pub fn new(socket: &'a S, flags: i32) -> Self {
        Self { socket, flags }
    }
}

impl<S: AsFd> Read for Calls<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let flags = MsgFlags::from_bits_truncate(self.flags);
        Ok(recv(self.socket.as_fd().as_raw_fd(), buffer, flags)?)
    }
}

impl<S: AsFd> Write for Calls<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SockRef::from(self.socket).send_with_flags(bytes, self.flags | libc::MSG_NOSIGNAL)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        SockRef::from(self.socket).send_vectored_with_flags(pieces, self.flags | libc::MSG_NOSIGNAL)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Checks what a trial asks of TLS beyond where its options apply.
///
/// # Errors
/// The first setting that cannot be, with what to do.
pub(crate) fn check(spec: &TrialSpec) -> Result<(), LoadError> {
    let socket = &spec.socket;
    let refuse = |text: &str| Err(LoadError::Usage(text.to_owned()));
    if let Some(bytes) = socket.tls_record_bytes {
        let (low, high) = RECORD_BYTES;
        if !(low..=high).contains(&bytes) {
            return Err(LoadError::Usage(format!("tls_record_bytes is {bytes}; it must be from {low} to {high}")));
        }
        if socket.ktls != KernelTls::Off {
            return refuse("the kernel makes its own records of up to 16384 bytes; leave tls_record_bytes out, or set ktls to off");
        }
    }
    if !is_over(spec, Transport::Tls) {
        return Ok(());
    }
    if socket.ktls == KernelTls::Off && socket.send_call != SendCall::Send {
        return refuse(
            "sendfile and splice move no byte through the agent, which has to encrypt it; leave send_call out, or set ktls to tx or both",
        );
    }
    let Some(workload) = &spec.workload else { return Ok(()) };
    if socket.ktls == KernelTls::Tx {
        return refuse("both sides of a workload send, and a connection is in a kernel for both directions; set ktls to off or both");
    }
    let mut steps = workload.groups.iter().flat_map(|group| &group.transactions).flat_map(|transaction| &transaction.steps);
    if socket.ktls == KernelTls::Off && steps.any(|step| matches!(step.operation, Operation::SendFile { .. })) {
        return refuse("a file goes from the page cache to the socket unencrypted; replace sendfile by write, or set ktls to both");
    }
    Ok(())
}

/// Both sides of the trial's TLS connections, where it has any.
///
/// # Errors
/// The certificate cannot be made.
pub(crate) fn hosts_of(spec: &TrialSpec) -> Result<Option<Arc<Hosts>>, LoadError> {
    if !is_over(spec, Transport::Tls) {
        return Ok(None);
    }
    let socket = &spec.socket;
    let settings = Settings {
        version: socket.tls_version.map(|version| match version {
            TlsVersion::Tls12 => Version::Tls12,
            TlsVersion::Tls13 => Version::Tls13,
        }),
        cipher: socket.tls_cipher.map(|cipher| match cipher {
            TlsCipher::Aes128Gcm => Cipher::Aes128Gcm,
            TlsCipher::Aes256Gcm => Cipher::Aes256Gcm,
            TlsCipher::ChaCha20Poly1305 => Cipher::ChaCha20Poly1305,
        }),
        record_bytes: socket.tls_record_bytes,
        is_for_kernel: socket.ktls != KernelTls::Off,
    };
    let hosts = Hosts::new(spec.token.as_bytes(), &settings);
    Ok(Some(Arc::new(hosts.map_err(|error| LoadError::host("making a certificate", error, ""))?)))
}

/// True if this host's kernel is to encrypt and decrypt.
pub(crate) fn is_for_kernel(ktls: KernelTls, role: Role) -> bool {
    ktls == KernelTls::Both || (ktls == KernelTls::Tx && role == Role::Sender)
}

/// True if a peer begins with TLS; its first byte stays to be read.
///
/// # Errors
/// Nothing has come yet, or the peer is gone.
pub(crate) fn begins_with_tls(socket: &Socket) -> io::Result<bool> {
    let mut first = [0];
    match recv(socket.as_raw_fd(), &mut first, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(first[0] == HANDSHAKE_RECORD),
    }
}

/// Ends the opening of a connection: the kernel takes its keys where it is asked to. Returns what was negotiated, and
/// the session that remains.
///
/// # Errors
/// The kernel has no TLS, or not this version or cipher.
pub(crate) fn settle(
    session: Box<Session>,
    socket: &impl AsFd,
    ktls: KernelTls,
    role: Role,
) -> Result<(TlsFacts, Option<Box<Session>>), LoadError> {
    let Some(negotiated) = session.negotiated() else {
        return Err(LoadError::Peer("the other host did not end the handshake of TLS".to_owned()));
    };
    if !is_for_kernel(ktls, role) {
        return Ok((TlsFacts { negotiated, is_in_kernel: false }, Some(session)));
    }
    let (version, cipher) = (negotiated.version.name(), negotiated.cipher.name());
    let placed = session.into_kernel(socket).map_err(|error| {
        let advice = "; load the module with `modprobe tls`, choose another tls_version or tls_cipher, or set ktls to off";
        LoadError::host(format!("TLS {version} with {cipher} in the kernel"), error, advice)
    })?;
    Ok((TlsFacts { negotiated: placed.negotiated, is_in_kernel: true }, None))
}

/// The same for all connections of a trial that are open.
pub(crate) fn settle_all(connections: &mut [Connection], spec: &TrialSpec) -> Result<(), LoadError> {
    let ahead_bytes = (spec.read_size_bytes as usize).clamp(MIN_AHEAD_BYTES, MAX_AHEAD_BYTES);
    for connection in connections {
        let Some(session) = connection.tls.take() else { continue };
        let (facts, session) = settle(session, &connection.socket, spec.socket.ktls, spec.role_of(connection.number))?;
        connection.tls_facts = Some(facts);
        connection.tls = session;
        if let (Some(session), None) = (&mut connection.tls, &spec.workload) {
            session.read_ahead(ahead_bytes);
        }
    }
    Ok(())
}

/// The view that a flow shows of its connection.
pub(crate) fn view_of(facts: Option<TlsFacts>) -> TlsView {
    let view = OnceLock::new();
    if let Some(facts) = facts {
        let _ = view.set(facts);
    }
    Arc::new(view)
}
