//! How a data connection introduces itself: 40 bytes before any payload, answered by one.
//!
//! ```text
//!  0       4              8                         40
//!  +-------+--------------+--------------------------+
//!  | "WPDC"| number (be32)| token (32 bytes)         |
//!  +-------+--------------+--------------------------+
//! ```
//!
//! A peer that does not send this in time is a stranger: dropped and counted.

/// Length in bytes.
pub const PREAMBLE_BYTES: usize = 40;
/// The listener's answer to a good preamble.
pub const WELCOME: u8 = b'+';

const MAGIC: [u8; 4] = *b"WPDC";

/// The trial's secret.
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

    /// Compares without a data-dependent exit, so that the time tells a stranger nothing.
    fn matches(&self, other: &[u8]) -> bool {
        other.len() == self.0.len() && self.0.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// The preamble of connection `number`.
pub fn encode(token: &Token, number: u32) -> [u8; PREAMBLE_BYTES] {
    let mut bytes = [0; PREAMBLE_BYTES];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4..8].copy_from_slice(&number.to_be_bytes());
    bytes[8..].copy_from_slice(&token.0);
    bytes
}

/// The connection's number, or `None` for a stranger.
pub fn decode(token: &Token, bytes: &[u8; PREAMBLE_BYTES]) -> Option<u32> {
    let known = bytes[..4] == MAGIC && token.matches(&bytes[8..]);
    known.then(|| u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens() {
        let token = Token::parse(&"5a".repeat(32)).expect("64 digits");
        let mut bytes = encode(&token, 7);
        assert_eq!(decode(&token, &bytes), Some(7));
        bytes[39] ^= 1;
        assert_eq!(decode(&token, &bytes), None);
        assert!(Token::parse("5a").is_none());
        assert!(Token::parse(&"zz".repeat(32)).is_none());
    }
}
