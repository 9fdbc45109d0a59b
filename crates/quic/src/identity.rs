//! Who the ends are, from the trial's secret alone.

use quinn_proto::ConnectionId;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair, SerialNumber};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring::default_provider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::io;
use std::sync::Arc;

/// Name that the certificate is for; it is compared as a whole.
pub(crate) const NAME: &str = "whyperf";
/// In front of an Ed25519 key's 32 bytes in PKCS #8 (RFC 8410 section 7).
const PKCS8_PREFIX: [u8; 16] = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// Octets of a first packet's destination: drawn ones, and a code of them that only the secret yields. As
/// many as QUIC allows (RFC 9000 section 17.2).
const DRAWN_BYTES: usize = 8;
const PROOF_BYTES: usize = 12;
/// Where that is in the packet, behind flags, version and its length.
const DESTINATION_AT: usize = 6;
/// Bit of a packet with a long header, as all have that begin a connection.
const LONG_HEADER: u8 = 0x80;

/// A key and a certificate that everybody who knows the secret comes to.
pub struct Identity {
    key: Vec<u8>,
    certificate: CertificateDer<'static>,
    proof: ring::hmac::Key,
}

impl Identity {
    /// Of a trial's secret, which stays secret: the key is a digest of it.
    ///
    /// # Errors
    /// The certificate cannot be made.
    pub fn of(secret: &[u8]) -> io::Result<Self> {
        let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
        digest.update(b"whyperf quic");
        digest.update(secret);
        let mut key = PKCS8_PREFIX.to_vec();
        key.extend_from_slice(digest.finish().as_ref());
        let pair = KeyPair::try_from(&PrivatePkcs8KeyDer::from(key.as_slice())).map_err(io::Error::other)?;
        let mut asked = CertificateParams::new([NAME.to_owned()]).map_err(io::Error::other)?;
        // Nothing in it is random, and Ed25519 signs alike each time (RFC 8032 section 5.1.6).
        asked.serial_number = Some(SerialNumber::from(1u64));
        let certificate = asked.self_signed(&pair).map_err(io::Error::other)?.der().clone();
        let proof = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &[b"whyperf quic first packet", secret].concat());
        Ok(Self { key, certificate, proof })
    }

    /// The destination of a connection's first packet, by which a listening host distinguishes it from an unauthenticated peer's before
    /// anything is computed or kept for it. `drawn` must differ from connection to connection.
    pub(crate) fn destination(&self, drawn: [u8; DRAWN_BYTES]) -> ConnectionId {
        ConnectionId::new(&[&drawn[..], &self.code(&drawn)].concat())
    }

    /// Whether a packet begins a connection of somebody who knows the secret.
    pub(crate) fn is_known(&self, packet: &[u8]) -> bool {
        let length = DRAWN_BYTES + PROOF_BYTES;
        let Some(destination) = packet.get(DESTINATION_AT..DESTINATION_AT + length) else { return false };
        let (drawn, code) = destination.split_at(DRAWN_BYTES);
        packet[0] & LONG_HEADER != 0 && usize::from(packet[DESTINATION_AT - 1]) == length && self.code(drawn) == code
    }

    fn code(&self, drawn: &[u8]) -> [u8; PROOF_BYTES] {
        let mut code = [0; PROOF_BYTES];
        code.copy_from_slice(&ring::hmac::sign(&self.proof, drawn).as_ref()[..PROOF_BYTES]);
        code
    }

    pub(crate) fn server(&self) -> io::Result<QuicServerConfig> {
        let config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], PrivatePkcs8KeyDer::from(self.key.clone()).into())
            .map_err(io::Error::other)?;
        QuicServerConfig::try_from(config).map_err(io::Error::other)
    }

    pub(crate) fn client(&self) -> io::Result<QuicClientConfig> {
        let pinned = Pinned { certificate: self.certificate.clone(), algorithms: provider().signature_verification_algorithms };
        let config = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_no_client_auth();
        QuicClientConfig::try_from(config).map_err(io::Error::other)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

/// Takes this one certificate, whose key's holder signed the handshake, and no other.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *certificate == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3 (RFC 9001)".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_hosts_come_to_the_same_certificate_and_others_to_another() {
        let (near, far) = (Identity::of(b"one").expect("made"), Identity::of(b"one").expect("made"));
        assert_eq!(near.certificate, far.certificate);
        assert_ne!(near.certificate, Identity::of(b"two").expect("made").certificate);
        assert!(near.server().is_ok() && far.client().is_ok());
    }

    #[test]
    fn a_first_packet_is_known_by_its_destination() {
        let (near, other) = (Identity::of(b"one").expect("made"), Identity::of(b"two").expect("made"));
        let packet = |destination: ConnectionId| [&[0xc0, 0, 0, 0, 1, 20], &destination[..], &[0; 1200]].concat();
        let mut of_near = packet(near.destination([7; DRAWN_BYTES]));
        assert!(near.is_known(&of_near));
        assert!(!near.is_known(&packet(other.destination([7; DRAWN_BYTES]))));
        assert!(!near.is_known(&of_near[..20]));
        of_near[10] ^= 1;
        assert!(!near.is_known(&of_near));
    }
}
