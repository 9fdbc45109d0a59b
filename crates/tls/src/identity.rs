//! Who the hosts are, from the trial's secret alone.

use rcgen::{CertificateParams, KeyPair, SerialNumber};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring::default_provider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme, SupportedCipherSuite,
    SupportedProtocolVersion,
};
use std::io;
use std::sync::Arc;

/// In front of an Ed25519 key's 32 bytes in PKCS #8 (RFC 8410 section 7).
const PKCS8_PREFIX: [u8; 16] = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// A digest of a trial's secret, another one for each use: nobody comes from it to the secret, or to that of another use.
pub fn derived(used_for: &[u8], secret: &[u8]) -> [u8; 32] {
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    digest.update(used_for);
    digest.update(secret);
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.finish().as_ref());
    bytes
}

/// A key and a certificate that everybody who knows the secret comes to.
pub struct Identity {
    key: Vec<u8>,
    certificate: CertificateDer<'static>,
}

impl Identity {
    /// Name that the certificate is for; it is compared as a whole.
    pub const NAME: &str = "whyperf";

    /// Of a trial's secret, which stays secret: the key is a digest of it, another one for each use.
    ///
    /// # Errors
    /// The certificate cannot be made.
    pub fn of(used_for: &[u8], secret: &[u8]) -> io::Result<Self> {
        let mut key = PKCS8_PREFIX.to_vec();
        key.extend_from_slice(&derived(used_for, secret));
        let pair = KeyPair::try_from(&PrivatePkcs8KeyDer::from(key.as_slice())).map_err(io::Error::other)?;
        let mut asked = CertificateParams::new([Self::NAME.to_owned()]).map_err(io::Error::other)?;
        // Nothing in it is random, and Ed25519 signs alike each time (RFC 8032 section 5.1.6).
        asked.serial_number = Some(SerialNumber::from(1u64));
        let certificate = asked.self_signed(&pair).map_err(io::Error::other)?.der().clone();
        Ok(Self { key, certificate })
    }

    /// The listening host's configuration: it keeps no sessions and sends no tickets, so every handshake is a full one.
    ///
    /// # Errors
    /// The versions and cipher suites do not go together.
    pub fn server(&self, versions: &[&'static SupportedProtocolVersion], suites: &[SupportedCipherSuite]) -> io::Result<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(provider(suites))
            .with_protocol_versions(versions)
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], PrivatePkcs8KeyDer::from(self.key.clone()).into())
            .map_err(io::Error::other)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// The connecting host's configuration, which takes this certificate and no other.
    ///
    /// # Errors
    /// The versions and cipher suites do not go together.
    pub fn client(&self, versions: &[&'static SupportedProtocolVersion], suites: &[SupportedCipherSuite]) -> io::Result<ClientConfig> {
        let provider = provider(suites);
        let pinned = Pinned { certificate: self.certificate.clone(), algorithms: provider.signature_verification_algorithms };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

/// With these cipher suites; with all where there are none.
fn provider(suites: &[SupportedCipherSuite]) -> Arc<CryptoProvider> {
    let mut provider = default_provider();
    if !suites.is_empty() {
        provider.cipher_suites = suites.to_vec();
    }
    Arc::new(provider)
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
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
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
        let (near, far) = (Identity::of(b"tls", b"one").expect("made"), Identity::of(b"tls", b"one").expect("made"));
        assert_eq!(near.certificate, far.certificate);
        assert_ne!(near.certificate, Identity::of(b"tls", b"two").expect("made").certificate);
        assert_ne!(near.certificate, Identity::of(b"quic", b"one").expect("made").certificate);
        let versions = [&rustls::version::TLS13];
        assert!(near.server(&versions, &[]).is_ok() && far.client(&versions, &[]).is_ok());
    }
}
