//! The introduction of a data connection before any payload, and its welcome.
//!
//! ```text
//!  0       4              8                         40          length
//!  +-------+--------------+--------------------------+-- - - - - -+
//!  | "WPDC"| number (be32)| token (32 bytes)         | padding    |
//!  +-------+--------------+--------------------------+-- - - - - -+
//! ```
//!
//! Traffic in the clear has another token than traffic inside TLS or QUIC ([`Tokens`]).
//!
//! The welcome is as long, and all of it the same byte. A peer that does not send a preamble in
//! time is an unauthenticated peer: dropped and counted.
//!
//! A connection that a workload opens while it runs sends its payload right behind a preamble of
//! another magic, and is not welcomed: a round trip would be part of what is measured.
//!
//! ```text
//!  0       4              8                         40             44
//!  +-------+--------------+--------------------------+--------------+
//!  | "WPDL"| user (be32)| token (32 bytes)         | ordinal(be32)|
//!  +-------+--------------+--------------------------+--------------+
//! ```
//!
//! The ordinal counts the user's connects, from 0.
//!
//! Over UDP such a connection begins with a datagram of its own, which is sent again until it is welcomed by one that
//! is alike, but for the magic. The number is that of the operation that connects ([`workload::datagram_order`]).
//!
//! ```text
//!  0       4              8                         40             48
//!  +-------+--------------+--------------------------+--------------+
//!  | "WPDU"| user (be32)| token (32 bytes)         | number(be64) |
//!  | "WPDW"|              |                          |              |
//!  +-------+--------------+--------------------------+--------------+
//! ```
//!
//! Why the padding. Linux opens a window without scaling again only when it can grow by a whole
//! segment of the size last received, and then to a multiple of that size
//! (`__tcp_select_window`, `net/ipv4/tcp_output.c`). After a preamble of 40 bytes a window of 4096
//! would stay at 4056 for good, and every write of 4096 bytes would go out as 4056 and 40. A
//! preamble that divides the window leaves it whole.

use schema::trial::SocketSpec;

/// Shortest preamble.
pub(crate) const MIN_BYTES: usize = 40;
/// Longest: one segment on any path of today.
pub(crate) const MAX_BYTES: usize = 1_200;
/// Segment size a receiver assumes before it has seen one (`TCP_MSS_DEFAULT`, RFC 9293 3.7.1);
/// a shorter preamble does not count as a segment of full size.
const ASSUMED_SEGMENT_BYTES: usize = 536;
/// Largest window that is announced without scaling.
const MAX_UNSCALED_BYTES: usize = 65_535;
/// The byte that a welcome is made of.
pub const WELCOME: u8 = b'+';

const MAGIC: [u8; 4] = *b"WPDC";
const LATER_MAGIC: [u8; 4] = *b"WPDL";
/// Length in bytes of the preamble of a connection that is opened while the load runs.
pub const LATER_BYTES: usize = 44;
const FLOW_MAGIC: [u8; 4] = *b"WPDU";
const FLOW_WELCOME_MAGIC: [u8; 4] = *b"WPDW";
/// The same over UDP, and of its welcome.
pub const FLOW_BYTES: usize = 48;

/// Length of preamble and welcome in bytes; both hosts compute it from the trial's window.
pub fn length(spec: &SocketSpec) -> usize {
    match spec.window_bytes.map(|bytes| bytes as usize) {
        Some(window) if window <= MAX_UNSCALED_BYTES => {
            let least = ASSUMED_SEGMENT_BYTES.min(window / 2).max(MIN_BYTES);
            (least..=MAX_BYTES.min(window)).rev().find(|length| window % length == 0).unwrap_or(least)
        }
        _ => MIN_BYTES,
    }
}

/// The text that the token in the clear is a digest of, in front of the secret.
const IN_THE_CLEAR: &[u8] = b"whyperf plain";

/// The token that a connection presents.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// Reads 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut token = [0; 32];
        for (byte, pair) in token.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(token))
    }

    /// Compares without a data-dependent exit, so that the time reveals nothing to an unauthenticated peer.
    fn matches(&self, other: &[u8]) -> bool {
        other.len() == self.0.len() && self.0.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// The tokens of a trial. Whoever reads one in the clear comes neither to the secret nor to the keys that are made of it.
pub struct Tokens {
    /// Of what goes through the network in the clear.
    pub plain: Token,
    /// The trial's secret, of what goes inside TLS or QUIC.
    pub inside: Token,
}

impl Tokens {
    /// Reads 64 hexadecimal digits, the secret.
    pub fn parse(text: &str) -> Option<Self> {
        let inside = Token::parse(text)?;
        Some(Self { plain: Token(tls::derived(IN_THE_CLEAR, text.as_bytes())), inside })
    }

    /// The one of a connection that is encrypted, or not.
    pub fn of(&self, is_encrypted: bool) -> &Token {
        if is_encrypted { &self.inside } else { &self.plain }
    }
}

/// The preamble of connection `number`, `length` bytes long.
pub fn encode(token: &Token, number: u32, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(&token.0);
    bytes.resize(length.max(MIN_BYTES), 0);
    bytes
}

/// The connection's number, or `None` for an unauthenticated peer. `bytes` is a whole preamble.
pub fn decode(token: &Token, bytes: &[u8]) -> Option<u32> {
    let known = bytes.len() >= MIN_BYTES && bytes[..4] == MAGIC && token.matches(&bytes[8..MIN_BYTES]);
    known.then(|| u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]))
}

/// The preamble of the `ordinal`th connection that a user opens while the load runs.
pub fn encode_later(token: &Token, user: u32, ordinal: u32) -> [u8; LATER_BYTES] {
    let mut bytes = [0; LATER_BYTES];
    bytes[..4].copy_from_slice(&LATER_MAGIC);
    bytes[4..8].copy_from_slice(&user.to_be_bytes());
    bytes[8..MIN_BYTES].copy_from_slice(&token.0);
    bytes[MIN_BYTES..].copy_from_slice(&ordinal.to_be_bytes());
    bytes
}

/// Virtual user and ordinal, or `None` for an unauthenticated peer. `bytes` is a whole preamble.
pub fn decode_later(token: &Token, bytes: &[u8; LATER_BYTES]) -> Option<(u32, u32)> {
    let known = bytes[..4] == LATER_MAGIC && token.matches(&bytes[8..MIN_BYTES]);
    let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    known.then(|| (number(4), number(MIN_BYTES)))
}

/// The preamble that opens a flow of datagrams while the load runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPreamble {
    /// True where it answers another.
    pub is_welcome: bool,
    /// Whose flow.
    pub user: u32,
    /// Number of the operation that connects.
    pub number: u64,
}

impl FlowPreamble {
    /// As a datagram.
    pub fn encode(self, token: &Token) -> [u8; FLOW_BYTES] {
        let mut bytes = [0; FLOW_BYTES];
        bytes[..4].copy_from_slice(if self.is_welcome { &FLOW_WELCOME_MAGIC } else { &FLOW_MAGIC });
        bytes[4..8].copy_from_slice(&self.user.to_be_bytes());
        bytes[8..MIN_BYTES].copy_from_slice(&token.0);
        bytes[MIN_BYTES..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// From a datagram; `None` where it is another.
    pub fn decode(token: &Token, bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; FLOW_BYTES] = bytes.try_into().ok()?;
        let is_welcome = bytes[..4] == FLOW_WELCOME_MAGIC;
        let known = (is_welcome || bytes[..4] == FLOW_MAGIC) && token.matches(&bytes[8..MIN_BYTES]);
        let number = bytes[MIN_BYTES..].iter().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        known.then(|| Self { is_welcome, user: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]), number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_known_by_user_and_operation() {
        let token = Token::parse(&"5a".repeat(32)).expect("64 digits");
        for is_welcome in [false, true] {
            let asked = FlowPreamble { is_welcome, user: 70_000, number: 3 << 48 | 5 };
            let mut bytes = asked.encode(&token);
            assert_eq!(FlowPreamble::decode(&token, &bytes), Some(asked));
            assert_eq!(FlowPreamble::decode(&token, &bytes[..47]), None);
            bytes[39] ^= 1;
            assert_eq!(FlowPreamble::decode(&token, &bytes), None);
        }
    }

    #[test]
    fn a_later_connection_is_known_by_user_and_ordinal() {
        let token = Token::parse(&"5a".repeat(32)).expect("64 digits");
        let mut bytes = encode_later(&token, 70_000, 3);
        assert_eq!(decode_later(&token, &bytes), Some((70_000, 3)));
        assert_eq!(decode(&token, &bytes), None);
        bytes[8] ^= 1;
        assert_eq!(decode_later(&token, &bytes), None);
    }

    #[test]
    fn only_the_token_opens() {
        let token = Token::parse(&"5a".repeat(32)).expect("64 digits");
        let mut bytes = encode(&token, 7, 1024);
        assert_eq!(bytes.len(), 1024);
        assert_eq!(decode(&token, &bytes), Some(7));
        bytes[39] ^= 1;
        assert_eq!(decode(&token, &bytes), None);
        assert_eq!(decode(&token, &bytes[..20]), None);
        assert!(Token::parse("5a").is_none());
        assert!(Token::parse(&"zz".repeat(32)).is_none());
    }

    #[test]
    fn what_goes_in_the_clear_opens_nothing_that_is_encrypted() {
        let secret = "5a".repeat(32);
        let tokens = Tokens::parse(&secret).expect("64 digits");
        let [plain, inside] = [false, true].map(|is_encrypted| encode(tokens.of(is_encrypted), 7, MIN_BYTES));
        assert_eq!((decode(&tokens.plain, &plain), decode(&tokens.inside, &plain)), (Some(7), None));
        assert_eq!((decode(&tokens.inside, &inside), decode(&tokens.plain, &inside)), (Some(7), None));
        assert!(!plain.windows(4).any(|piece| piece == [0x5a; 4]), "{plain:?}");
        // As docs/reference/protocol.md says, by another SHA-256.
        let known = "38caa2bc18c362e7b6b9e3b79e529b2ff44c250b04454b69e77d3af70b483fcb";
        assert!(Token::parse(known) == Some(tokens.plain));
    }

    #[test]
    fn the_length_divides_the_studys_windows() {
        for window in [4096, 8192, 16384, 24576, 32768, 40960, 52428] {
            let length = length(&SocketSpec { window_bytes: Some(window), ..SocketSpec::default() });
            assert_eq!(window as usize % length, 0, "{window}");
            assert!((ASSUMED_SEGMENT_BYTES..=MAX_BYTES).contains(&length), "{window}: {length}");
        }
        assert_eq!(length(&SocketSpec::default()), MIN_BYTES);
    }
}
