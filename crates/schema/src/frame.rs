//! Frames on the pipe: an 8-byte header and a payload. Sans-IO; bytes in, frames out.
//!
//! ```text
//!  0        2         3      4                8
//!  +--------+---------+------+----------------+----------...
//!  | "WP"   | version | kind | length (be32)  | payload
//!  +--------+---------+------+----------------+----------...
//! ```
//!
//! The magic and the version stand in every frame, so noise on the pipe (a login shell's
//! greeting, a binary of another version) is named at the first byte that is wrong and never
//! taken for a length.

use crate::PROTOCOL_VERSION;

/// First two bytes of every frame.
pub const MAGIC: [u8; 2] = *b"WP";
/// Bytes before the payload.
pub const HEADER_BYTES: usize = 8;
/// Longest payload either side accepts. Tables are cut into chunks below it.
pub const MAX_PAYLOAD_BYTES: usize = 4 << 20;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One JSON document: a request or a reply.
    Message,
    /// Raw bytes of the table announced by the message before.
    Table,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Kind::Message => 1,
            Kind::Table => 2,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Kind::Message),
            2 => Some(Kind::Table),
            _ => None,
        }
    }
}

/// One whole frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What the payload is.
    pub kind: Kind,
    /// The payload, at most [`MAX_PAYLOAD_BYTES`].
    pub payload: Vec<u8>,
}

/// Why bytes are not a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The stream does not start with the magic.
    #[error("the pipe carries something that is not whyperf's protocol: {0:?} (does the remote shell print a greeting?)")]
    NotAFrame(String),
    /// The peer speaks another protocol version.
    #[error("the peer speaks protocol version {theirs}, this side speaks {PROTOCOL_VERSION}; install the same whyperf on both hosts")]
    WrongVersion {
        /// The version in the frame.
        theirs: u8,
    },
    /// A frame of unknown kind.
    #[error("frame of unknown kind {0}")]
    UnknownKind(u8),
    /// A frame longer than the limit.
    #[error("frame of {length} bytes is over the limit of {MAX_PAYLOAD_BYTES} bytes")]
    TooLong {
        /// The length the header claims.
        length: usize,
    },
    /// The pipe closed inside a frame.
    #[error("the pipe closed inside a frame, after {have} of {want} bytes")]
    Truncated {
        /// Bytes received of the frame, header included.
        have: usize,
        /// Bytes the frame should have.
        want: usize,
    },
}

/// Appends one frame to `out`.
///
/// # Errors
/// [`FrameError::TooLong`] when the payload is over [`MAX_PAYLOAD_BYTES`]; nothing is appended.
pub fn encode(kind: Kind, payload: &[u8], out: &mut Vec<u8>) -> Result<(), FrameError> {
    let length = u32::try_from(payload.len())
        .ok()
        .filter(|_| payload.len() <= MAX_PAYLOAD_BYTES)
        .ok_or(FrameError::TooLong { length: payload.len() })?;
    out.extend_from_slice(&MAGIC);
    out.push(PROTOCOL_VERSION);
    out.push(kind.code());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

/// Cuts a byte stream into frames, whatever pieces it arrives in.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the front of `buffer` that were already given out.
    taken: usize,
}

impl Decoder {
    /// An empty decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in bytes as they came from the pipe.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Gives the next whole frame, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// Anything but a frame of this version within the limit; the stream cannot be used further.
    pub fn poll_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.taken..];
        check_header_prefix(rest)?;
        if rest.len() < HEADER_BYTES {
            return Ok(None);
        }
        let kind = Kind::from_code(rest[3]).ok_or(FrameError::UnknownKind(rest[3]))?;
        let length = payload_length(rest)?;
        let end = HEADER_BYTES + length;
        if rest.len() < end {
            return Ok(None);
        }
        let payload = rest[HEADER_BYTES..end].to_vec();
        self.taken += end;
        Ok(Some(Frame { kind, payload }))
    }

    /// Says whether the end of the pipe may come here.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] when the pipe closed inside a frame.
    pub fn handle_end(&self) -> Result<(), FrameError> {
        let rest = &self.buffer[self.taken..];
        if rest.is_empty() {
            return Ok(());
        }
        let want = if rest.len() < HEADER_BYTES { HEADER_BYTES } else { HEADER_BYTES + payload_length(rest)? };
        Err(FrameError::Truncated { have: rest.len(), want })
    }
}

/// Checks as much of the header as is there, so that noise is refused at its first byte.
fn check_header_prefix(rest: &[u8]) -> Result<(), FrameError> {
    let magic = rest.len().min(MAGIC.len());
    if rest[..magic] != MAGIC[..magic] {
        let shown = &rest[..rest.len().min(60)];
        return Err(FrameError::NotAFrame(String::from_utf8_lossy(shown).into_owned()));
    }
    match rest.get(2) {
        Some(&theirs) if theirs != PROTOCOL_VERSION => Err(FrameError::WrongVersion { theirs }),
        _ => Ok(()),
    }
}

fn payload_length(header: &[u8]) -> Result<usize, FrameError> {
    let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize;
    if length > MAX_PAYLOAD_BYTES { Err(FrameError::TooLong { length }) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame_bytes(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(Kind::Message, payload, &mut bytes).expect("short payload");
        bytes
    }

    #[test]
    fn a_greeting_is_named_and_not_taken_for_a_length() {
        let mut decoder = Decoder::new();
        decoder.handle_bytes(b"Welcome to host7\n");
        let error = decoder.poll_frame().expect_err("not a frame");
        assert!(error.to_string().contains("Welcome to host7"), "{error}");
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = frame_bytes(b"{}");
        bytes[2] = PROTOCOL_VERSION + 1;
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes);
        assert_eq!(decoder.poll_frame(), Err(FrameError::WrongVersion { theirs: PROTOCOL_VERSION + 1 }));
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_it_is_awaited() {
        let mut bytes = frame_bytes(b"{}");
        bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes[..HEADER_BYTES]);
        assert!(matches!(decoder.poll_frame(), Err(FrameError::TooLong { .. })));
    }

    #[test]
    fn half_a_frame_at_the_end_is_an_error() {
        let bytes = frame_bytes(b"abcdef");
        // Without the whole header its length is not known; `14`: the header and six bytes.
        for (have, want) in [(1, 8), (7, 8), (8, 14), (12, 14), (13, 14)] {
            let mut decoder = Decoder::new();
            decoder.handle_bytes(&bytes[..have]);
            assert_eq!(decoder.poll_frame(), Ok(None));
            assert_eq!(decoder.handle_end(), Err(FrameError::Truncated { have, want }));
        }
    }

    #[test]
    fn the_longest_payload_is_taken_and_a_longer_one_is_not() {
        let longest = vec![7; MAX_PAYLOAD_BYTES];
        let mut bytes = frame_bytes(&longest);
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes);
        assert_eq!(decoder.poll_frame(), Ok(Some(Frame { kind: Kind::Message, payload: longest })));
        assert_eq!(MAX_PAYLOAD_BYTES, 4_194_304);
        let refusal = encode(Kind::Message, &vec![7; MAX_PAYLOAD_BYTES + 1], &mut bytes);
        assert_eq!(refusal, Err(FrameError::TooLong { length: 4_194_305 }));
    }

    #[test]
    fn a_header_is_checked_byte_by_byte() {
        let header = [b'W', b'P', PROTOCOL_VERSION, 2, 0, 0, 0, 0];
        for (place, error) in [
            (0, FrameError::NotAFrame("!".to_owned())),
            (1, FrameError::NotAFrame("W!".to_owned())),
            (2, FrameError::WrongVersion { theirs: b'!' }),
            (3, FrameError::UnknownKind(b'!')),
        ] {
            let mut bytes = header;
            bytes[place] = b'!';
            let mut decoder = Decoder::new();
            decoder.handle_bytes(&bytes[..if place == 3 { 8 } else { place + 1 }]);
            assert_eq!(decoder.poll_frame(), Err(error));
        }
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&header);
        assert_eq!(decoder.poll_frame(), Ok(Some(Frame { kind: Kind::Table, payload: Vec::new() })));
    }

    proptest! {
        #[test]
        fn frames_survive_any_cutting(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..8), cut in 1usize..50) {
            let mut stream = Vec::new();
            for payload in &payloads {
                encode(Kind::Table, payload, &mut stream).expect("short payload");
            }
            let mut decoder = Decoder::new();
            let mut got = Vec::new();
            for piece in stream.chunks(cut) {
                decoder.handle_bytes(piece);
                while let Some(frame) = decoder.poll_frame().expect("valid stream") {
                    got.push(frame.payload);
                }
            }
            prop_assert_eq!(got, payloads);
            prop_assert_eq!(decoder.handle_end(), Ok(()));
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut decoder = Decoder::new();
            decoder.handle_bytes(&bytes);
            while let Ok(Some(_)) = decoder.poll_frame() {}
            let _ = decoder.handle_end();
        }
    }
}
