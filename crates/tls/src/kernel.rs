//! TLS in the kernel (`Documentation/networking/tls.rst`): it encrypts what calls on the socket send, and decrypts what
//! they receive. With unsafe code.

use rustls::{ConnectionTrafficSecrets, ExtractedSecrets};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use crate::settings::{Cipher, Negotiated, Version};

/// Of `include/uapi/linux/tls.h`.
const TLS_TX: libc::c_int = 1;
const TLS_RX: libc::c_int = 2;
/// Bytes of a nonce that are the salt; the others are counted.
const SALT_BYTES: usize = 4;

/// A connection whose records the kernel makes and reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// As the kernel reports it of what it sends.
    pub negotiated: Negotiated,
}

/// Tests whether the kernel has TLS, on a connection over the loopback.
///
/// # Errors
/// It has none; the sentence says why.
pub fn ability() -> Result<String, String> {
    let tried = || -> io::Result<()> {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        attach(&stream)
    };
    match tried() {
        Ok(()) => Ok("the kernel has TLS".to_owned()),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            Err("the kernel has no TLS; load its module with `modprobe tls`, if it has one".to_owned())
        }
        Err(error) => Err(format!("the kernel refuses TLS: {error}")),
    }
}

/// Gives the keys of both directions to the kernel and reads back what it took.
pub(crate) fn place(socket: &impl AsFd, negotiated: Negotiated, secrets: &ExtractedSecrets) -> io::Result<Placed> {
    attach(socket)?;
    for (direction, (sequence, keys)) in [(TLS_TX, &secrets.tx), (TLS_RX, &secrets.rx)] {
        let info = crypto_info(negotiated, *sequence, keys)?;
        set(socket, libc::SOL_TLS, direction, &info).map_err(|error| explained(error, negotiated.cipher))?;
    }
    let taken = read_back(socket)?;
    if taken != negotiated {
        let (asked, got) = (negotiated.cipher.name(), taken.cipher.name());
        return Err(io::Error::other(format!("the kernel was given keys of {asked} and reports {got}")));
    }
    Ok(Placed { negotiated: taken })
}

/// The kernel's cryptography may lack the cipher where its modules are not loaded.
fn explained(error: io::Error, cipher: Cipher) -> io::Error {
    if error.raw_os_error() != Some(libc::ENOENT) {
        return error;
    }
    let modules = match cipher {
        Cipher::Aes128Gcm | Cipher::Aes256Gcm => "gcm",
        Cipher::ChaCha20Poly1305 => "chacha20poly1305",
    };
    io::Error::other(format!("the kernel has no {}; its module is {modules}", cipher.name()))
}

fn attach(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_ULP, b"tls")
}

/// `struct tls12_crypto_info_…`: version, cipher, nonce, key, salt, number of the next record.
fn crypto_info(negotiated: Negotiated, sequence: u64, secrets: &ConnectionTrafficSecrets) -> io::Result<Vec<u8>> {
    let (key, nonce, salt): (&[u8], &[u8], &[u8]) = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } | ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            let (salt, nonce) = iv.as_ref().split_at(SALT_BYTES);
            (key.as_ref(), nonce, salt)
        }
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (key.as_ref(), iv.as_ref(), &[]),
        _ => return Err(io::Error::other("the kernel does not have this cipher")),
    };
    let head = [version_code(negotiated.version).to_ne_bytes(), cipher_code(negotiated.cipher).to_ne_bytes()].concat();
    Ok([&head, nonce, key, salt, &sequence.to_be_bytes()].concat())
}

fn version_code(version: Version) -> u16 {
    match version {
        Version::Tls12 => 0x0303,
        Version::Tls13 => 0x0304,
    }
}

/// `TLS_CIPHER_…` of `include/uapi/linux/tls.h`.
fn cipher_code(cipher: Cipher) -> u16 {
    match cipher {
        Cipher::Aes128Gcm => 51,
        Cipher::Aes256Gcm => 52,
        Cipher::ChaCha20Poly1305 => 54,
    }
}

/// Reads back what the kernel encrypts with: the first fields of what it was given.
fn read_back(socket: &impl AsFd) -> io::Result<Negotiated> {
    let mut head = [0u16; 2];
    let mut length = libc::socklen_t::try_from(size_of_val(&head)).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes of `head`, for which any bits are valid.
    let status = unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), libc::SOL_TLS, TLS_TX, head.as_mut_ptr().cast(), &raw mut length) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let version = [Version::Tls12, Version::Tls13].into_iter().find(|version| version_code(*version) == head[0]);
    let ciphers = [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305];
    let cipher = ciphers.into_iter().find(|cipher| cipher_code(*cipher) == head[1]);
    match (version, cipher) {
        (Some(version), Some(cipher)) => Ok(Negotiated { version, cipher }),
        _ => Err(io::Error::other(format!("the kernel reports version {:#x} and cipher {} of TLS", head[0], head[1]))),
    }
}

fn set(socket: &impl AsFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes of `value`, which lives through the call.
    let status = unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, value.as_ptr().cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::cipher::{AeadKey, Iv};

    #[test]
    fn keys_are_laid_out_as_the_kernel_reads_them() {
        let nonce = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        let secrets = ConnectionTrafficSecrets::Aes256Gcm { key: AeadKey::from([7; 32]), iv: Iv::new(nonce) };
        let negotiated = Negotiated { version: Version::Tls13, cipher: Cipher::Aes256Gcm };
        let info = crypto_info(negotiated, 0x0102, &secrets).expect("known");
        // Nonce of 8 bytes, key of 32, salt of 4, number of 8, behind 4 bytes: include/uapi/linux/tls.h.
        assert_eq!(info.len(), 4 + 8 + 32 + 4 + 8);
        assert_eq!(info[..4], [0x0304u16.to_ne_bytes(), 52u16.to_ne_bytes()].concat()[..]);
        assert_eq!(info[4..12], nonce[4..]);
        assert_eq!(info[44..48], nonce[..4]);
        assert_eq!(info[48..], [0, 0, 0, 0, 0, 0, 1, 2]);
        let secrets = ConnectionTrafficSecrets::Chacha20Poly1305 { key: AeadKey::from([7; 32]), iv: Iv::new(nonce) };
        let negotiated = Negotiated { version: Version::Tls12, cipher: Cipher::ChaCha20Poly1305 };
        assert_eq!(crypto_info(negotiated, 0, &secrets).expect("known").len(), 4 + 12 + 32 + 8);
    }

    #[test]
    fn a_kernel_without_tls_says_what_to_do() {
        match ability() {
            Ok(reason) => assert_eq!(reason, "the kernel has TLS"),
            Err(reason) => assert!(reason.contains("TLS"), "{reason}"),
        }
    }
}
