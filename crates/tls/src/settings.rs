//! Settings that can be asked of a connection, and those that were negotiated.

use rustls::crypto::ring::cipher_suite;
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion};

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl Version {
    /// The number of the version.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }
}

/// The cipher that encrypts and authenticates records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES in Galois/counter mode, key of 128 bits.
    Aes128Gcm,
    /// The same, key of 256 bits.
    Aes256Gcm,
    /// `ChaCha20` and Poly1305 (RFC 8439).
    ChaCha20Poly1305,
}

impl Cipher {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "aes-128-gcm",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }

    /// Its suites in both versions, for a key exchange and a certificate on elliptic curves.
    fn suites(self) -> [SupportedCipherSuite; 2] {
        match self {
            Self::Aes128Gcm => [cipher_suite::TLS13_AES_128_GCM_SHA256, cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256],
            Self::Aes256Gcm => [cipher_suite::TLS13_AES_256_GCM_SHA384, cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384],
            Self::ChaCha20Poly1305 => {
                [cipher_suite::TLS13_CHACHA20_POLY1305_SHA256, cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256]
            }
        }
    }

    fn of(suite: CipherSuite) -> Option<Self> {
        let all = [Self::Aes128Gcm, Self::Aes256Gcm, Self::ChaCha20Poly1305];
        all.into_iter().find(|cipher| cipher.suites().iter().any(|known| known.suite() == suite))
    }
}

/// The settings that a trial asks for; absent is the library's choice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// Only this version.
    pub version: Option<Version>,
    /// Only this cipher.
    pub cipher: Option<Cipher>,
    /// Most payload of a record in bytes.
    pub record_bytes: Option<u32>,
    /// True if the keys may be taken out, for the kernel.
    pub is_for_kernel: bool,
}

impl Settings {
    pub(crate) fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        match self.version {
            None => vec![&TLS13, &TLS12],
            Some(Version::Tls12) => vec![&TLS12],
            Some(Version::Tls13) => vec![&TLS13],
        }
    }

    pub(crate) fn suites(&self) -> Vec<SupportedCipherSuite> {
        let ciphers = match self.cipher {
            // The first that both have is taken: it is the fastest where the processor has AES.
            None => vec![Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305],
            Some(cipher) => vec![cipher],
        };
        ciphers.into_iter().flat_map(Cipher::suites).collect()
    }
}

/// The settings that both hosts agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    /// The version.
    pub version: Version,
    /// The cipher.
    pub cipher: Cipher,
}

impl Negotiated {
    pub(crate) fn of(version: Option<ProtocolVersion>, suite: Option<SupportedCipherSuite>) -> Option<Self> {
        let version = match version? {
            ProtocolVersion::TLSv1_2 => Version::Tls12,
            ProtocolVersion::TLSv1_3 => Version::Tls13,
            _ => return None,
        };
        Some(Self { version, cipher: Cipher::of(suite?.suite())? })
    }
}
