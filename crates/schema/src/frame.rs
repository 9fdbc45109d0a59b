//! Frames on the pipe: a 20-byte header, a payload, and the end of a line. Sans-IO; bytes in, frames out.
//!
//! ```text
//!  0        2         3      4        8        12             16            20
//!  +--------+---------+------+--------+--------+--------------+-------------+----------...--+------+
//!  | "WP"   | version | kind | length | number | payload's    | header's    | payload       | "\n" |
//!  |        |         |      |        |        | CRC-32       | CRC-32      |               |      |
//!  +--------+---------+------+--------+--------+--------------+-------------+----------...--+------+
//! ```
//!
//! The magic and the version stand in every frame, so noise on the pipe (a login shell's
//! greeting, a binary of another version) is named at the first byte that is wrong and never
//! taken for a length. Frames are numbered from 0 in each direction, and have checksums: what a pipe loses, repeats or
//! changes is noticed, and no damaged length is awaited. Numbers have 4 bytes, the highest first. The end of a line lets a
//! pipe that passes on whole lines pass on whole frames.

use crate::PROTOCOL_VERSION;

/// First two bytes of every frame.
pub const MAGIC: [u8; 2] = *b"WP";
/// Bytes before the payload.
pub const HEADER_BYTES: usize = 20;
/// Bytes before the header's checksum, which covers them.
const CHECKED_BYTES: usize = 16;
/// After the payload.
pub const TERMINATOR: u8 = b'\n';
/// Longest payload either side accepts. Tables are cut into chunks below it.
pub const MAX_PAYLOAD_BYTES: usize = 4 << 20;

/// The content of a frame.
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
    /// The kind of the payload.
    pub kind: Kind,
    /// The payload, at most [`MAX_PAYLOAD_BYTES`].
    pub payload: Vec<u8>,
}

/// Why bytes are not a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The stream does not start with the magic.
    #[error("the pipe carries something that is not whyperf's protocol: {0:?}")]
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
    /// The checksum is wrong.
    #[error("the pipe damaged frame {number} after {bytes} bytes")]
    Damaged {
        /// The frame that should have come.
        number: u32,
        /// Bytes of the frames before.
        bytes: u64,
    },
    /// A frame is whole, and is not the next one.
    #[error("the pipe lost or repeated frames: frame {number} came where {expected} was due")]
    OutOfOrder {
        /// The number in the frame.
        number: u32,
        /// The number of the next one.
        expected: u32,
    },
    /// The pipe closed inside a frame.
    #[error("the pipe was cut inside frame {number}, after {have} of {want} bytes")]
    Truncated {
        /// The frame's number.
        number: u32,
        /// Bytes received of the frame, header included.
        have: usize,
        /// Bytes the frame should have.
        want: usize,
    },
}

/// Appends one frame to `out`, still without its number: [`seal`] gives it one when it is sent.
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
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&crc32fast::hash(payload).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
    out.push(TERMINATOR);
    Ok(())
}

/// Gives a frame of [`encode`] its number.
pub fn seal(frame: &mut [u8], number: u32) {
    let Some(header) = frame.first_chunk_mut::<HEADER_BYTES>() else { return };
    header[8..12].copy_from_slice(&number.to_be_bytes());
    let checksum = crc32fast::hash(&header[..CHECKED_BYTES]);
    header[CHECKED_BYTES..].copy_from_slice(&checksum.to_be_bytes());
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Cuts a byte stream into frames, whatever pieces it arrives in.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the front of `buffer` that were already given out.
    taken: usize,
    /// Frames given out.
    frames_count: u32,
    /// Bytes of them.
    bytes: u64,
}

impl Decoder {
    /// An empty decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Frames given out so far.
    pub fn frames_count(&self) -> u32 {
        self.frames_count
    }

    /// Bytes of the frames given out so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
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
    /// Anything but the next frame of this version, whole and within the limit; the stream cannot be used further.
    pub fn poll_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.taken..];
        check_header_prefix(rest)?;
        if rest.len() < HEADER_BYTES {
            return Ok(None);
        }
        let (number, expected) = (be32(rest, 8), self.frames_count);
        let damaged = FrameError::Damaged { number: expected, bytes: self.bytes };
        if crc32fast::hash(&rest[..CHECKED_BYTES]) != be32(rest, CHECKED_BYTES) {
            return Err(damaged);
        }
        let kind = Kind::from_code(rest[3]).ok_or(FrameError::UnknownKind(rest[3]))?;
        let length = payload_length(rest)?;
        if number != expected {
            return Err(FrameError::OutOfOrder { number, expected });
        }
        let end = HEADER_BYTES + length;
        if rest.len() <= end {
            return Ok(None);
        }
        let payload = rest[HEADER_BYTES..end].to_vec();
        if crc32fast::hash(&payload) != be32(rest, 12) || rest[end] != TERMINATOR {
            return Err(damaged);
        }
        self.taken += end + 1;
        self.frames_count = expected.wrapping_add(1);
        self.bytes += end as u64 + 1;
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
        let want = if rest.len() < HEADER_BYTES { HEADER_BYTES } else { HEADER_BYTES + payload_length(rest)? + 1 };
        Err(FrameError::Truncated { number: self.frames_count, have: rest.len(), want })
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
    let length = be32(header, 4) as usize;
    if length > MAX_PAYLOAD_BYTES { Err(FrameError::TooLong { length }) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame_bytes(payload: &[u8]) -> Vec<u8> {
        numbered(payload, 0)
    }

    fn numbered(payload: &[u8], number: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(Kind::Message, payload, &mut bytes).expect("short payload");
        seal(&mut bytes, number);
        bytes
    }

    /// Decodes what comes out of a stream, by payload, and what is wrong with it.
    fn decoded(stream: &[u8]) -> (Vec<Vec<u8>>, Option<FrameError>) {
        let mut decoder = Decoder::new();
        decoder.handle_bytes(stream);
        let mut payloads = Vec::new();
        loop {
            match decoder.poll_frame() {
                Ok(Some(frame)) => payloads.push(frame.payload),
                Ok(None) => return (payloads, decoder.handle_end().err()),
                Err(error) => return (payloads, Some(error)),
            }
        }
    }

    #[test]
    fn the_checksums_are_crc_32() {
        // By zlib.crc32(b"{}") and zlib.crc32 of the 16 bytes before the second checksum, in Python.
        assert_eq!(numbered(b"{}", 5), b"WP\x03\x01\0\0\0\x02\0\0\0\x05\xa3\xa6\xbf\x43\x1e\xc0\xf1\xba{}\n");
    }

    #[test]
    fn frames_that_are_lost_or_come_twice_are_noticed() {
        let frames: Vec<_> = (0..4).map(|number| numbered(&[b'a'; 3], number)).collect();
        let stream = |numbers: &[usize]| numbers.iter().flat_map(|&at| frames[at].clone()).collect::<Vec<_>>();
        for (numbers, number, expected) in [(&[0, 2][..], 2, 1), (&[0, 0], 0, 1), (&[1], 1, 0), (&[0, 1, 3, 2], 3, 2)] {
            let (payloads, error) = decoded(&stream(numbers));
            assert_eq!((payloads.len(), error), (expected as usize, Some(FrameError::OutOfOrder { number, expected })));
        }
        assert_eq!(decoded(&stream(&[0, 1, 2, 3])), (vec![vec![b'a'; 3]; 4], None));
    }

    #[test]
    fn every_bit_counts() {
        let first = numbered(b"first", 0);
        let bytes = [first.clone(), numbered(b"second", 1)].concat();
        for bit in first.len() * 8..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (payloads, error) = decoded(&changed);
            assert_eq!(payloads, [b"first"], "bit {bit}");
            assert!(error.is_some(), "bit {bit}");
        }
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
        seal(&mut bytes, 0);
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes[..HEADER_BYTES]);
        assert!(matches!(decoder.poll_frame(), Err(FrameError::TooLong { .. })));
    }

    #[test]
    fn half_a_frame_at_the_end_is_an_error() {
        let bytes = frame_bytes(b"abcdef");
        // Without the whole header its length is not known; `27`: the header, six bytes and the end of the line.
        for (have, want) in [(1, 20), (19, 20), (20, 27), (24, 27), (26, 27)] {
            let mut decoder = Decoder::new();
            decoder.handle_bytes(&bytes[..have]);
            assert_eq!(decoder.poll_frame(), Ok(None));
            assert_eq!(decoder.handle_end(), Err(FrameError::Truncated { number: 0, have, want }));
        }
    }

    #[test]
    fn the_longest_payload_is_taken_and_a_longer_one_is_not() {
        let longest = vec![7; MAX_PAYLOAD_BYTES];
        let bytes = frame_bytes(&longest);
        let mut decoder = Decoder::new();
        decoder.handle_bytes(&bytes);
        assert_eq!(decoder.poll_frame(), Ok(Some(Frame { kind: Kind::Message, payload: longest })));
        assert_eq!(MAX_PAYLOAD_BYTES, 4_194_304);
        let refusal = encode(Kind::Message, &vec![7; MAX_PAYLOAD_BYTES + 1], &mut Vec::new());
        assert_eq!(refusal, Err(FrameError::TooLong { length: 4_194_305 }));
    }

    #[test]
    fn a_header_is_checked_byte_by_byte() {
        let mut header = Vec::new();
        encode(Kind::Table, &[], &mut header).expect("short payload");
        seal(&mut header, 0);
        for (place, error) in [
            (0, FrameError::NotAFrame("!".to_owned())),
            (1, FrameError::NotAFrame("W!".to_owned())),
            (2, FrameError::WrongVersion { theirs: b'!' }),
            (3, FrameError::UnknownKind(b'!')),
        ] {
            let mut bytes = header.clone();
            bytes[place] = b'!';
            if place == 3 {
                seal(&mut bytes, 0);
            }
            let mut decoder = Decoder::new();
            decoder.handle_bytes(&bytes[..if place == 3 { 20 } else { place + 1 }]);
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
            for (number, payload) in (0..).zip(&payloads) {
                let start = stream.len();
                encode(Kind::Table, payload, &mut stream).expect("short payload");
                seal(&mut stream[start..], number);
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
