//! Who the ends are, from the trial's secret alone.

use quinn_proto::ConnectionId;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::version::TLS13;
use std::io;
use subtle::ConstantTimeEq;

/// Name that the certificate is for.
pub(crate) const NAME: &str = tls::Identity::NAME;
/// Octets of a first packet's destination: drawn ones, and a code of them that only the secret yields. As
/// many as QUIC allows (RFC 9000 section 17.2).
pub(crate) const DRAWN_BYTES: usize = 8;
const PROOF_BYTES: usize = 12;
/// Where that is in the packet, behind flags, version and its length.
const DESTINATION_AT: usize = 6;
/// Bit of a packet with a long header, as all have that begin a connection.
const LONG_HEADER: u8 = 0x80;

/// A key and a certificate that everybody who knows the secret comes to.
pub struct Identity {
    tls: tls::Identity,
    proof: ring::hmac::Key,
}

impl Identity {
    /// Of a trial's secret, which stays secret: the key is a digest of it.
    ///
    /// # Errors
    /// The certificate cannot be made.
    pub fn of(secret: &[u8]) -> io::Result<Self> {
        let tls = tls::Identity::of(b"whyperf quic", secret)?;
        let proof = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &[b"whyperf quic first packet", secret].concat());
        Ok(Self { tls, proof })
    }

    /// The destination of a connection's first packet, by which a listening host distinguishes it from an unauthenticated peer's before
    /// anything is computed or kept for it. `drawn` must differ from connection to connection.
    pub(crate) fn destination(&self, drawn: [u8; DRAWN_BYTES]) -> ConnectionId {
        ConnectionId::new(&[&drawn[..], &self.code(&drawn)].concat())
    }

    /// Finds what was drawn for a connection of one who knows the secret, if this packet begins one. The time that it
    /// takes reveals nothing of the code.
    pub(crate) fn drawn_for(&self, packet: &[u8]) -> Option<[u8; DRAWN_BYTES]> {
        let length = DRAWN_BYTES + PROOF_BYTES;
        let destination = packet.get(DESTINATION_AT..DESTINATION_AT + length)?;
        let (drawn, code) = destination.split_first_chunk()?;
        let is_first = packet[0] & LONG_HEADER != 0 && usize::from(packet[DESTINATION_AT - 1]) == length;
        (is_first && bool::from(self.code(drawn).ct_eq(code))).then_some(*drawn)
    }

    fn code(&self, drawn: &[u8]) -> [u8; PROOF_BYTES] {
        let mut code = [0; PROOF_BYTES];
        code.copy_from_slice(&ring::hmac::sign(&self.proof, drawn).as_ref()[..PROOF_BYTES]);
        code
    }

    /// QUIC has TLS 1.3 (RFC 9001 section 4.2).
    pub(crate) fn server(&self) -> io::Result<QuicServerConfig> {
        QuicServerConfig::try_from(self.tls.server(&[&TLS13], &[])?).map_err(io::Error::other)
    }

    pub(crate) fn client(&self) -> io::Result<QuicClientConfig> {
        QuicClientConfig::try_from(self.tls.client(&[&TLS13], &[])?).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_packet_is_known_by_its_destination() {
        let (near, other) = (Identity::of(b"one").expect("made"), Identity::of(b"two").expect("made"));
        let packet = |destination: ConnectionId| [&[0xc0, 0, 0, 0, 1, 20], &destination[..], &[0; 1200]].concat();
        let mut of_near = packet(near.destination([7; DRAWN_BYTES]));
        assert_eq!(near.drawn_for(&of_near), Some([7; DRAWN_BYTES]));
        assert_eq!(near.drawn_for(&packet(other.destination([7; DRAWN_BYTES]))), None);
        assert_eq!(near.drawn_for(&of_near[..20]), None);
        of_near[10] ^= 1;
        assert_eq!(near.drawn_for(&of_near), None);
    }
}
