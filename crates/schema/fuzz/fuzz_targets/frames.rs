//! Frames come out as they went in, whatever pieces the stream arrives in, and an error names what is wrong.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::frame::{Decoder, Frame, FrameError, encode, seal};

/// The frames of a stream that arrives in pieces, and how it ends.
fn decoded(bytes: &[u8], piece_bytes: usize) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut decoder = Decoder::new();
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        decoder.handle_bytes(piece);
        loop {
            match decoder.poll_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
    }
    let end = decoder.handle_end();
    (frames, end)
}

fuzz_target!(|bytes: &[u8]| {
    let (frames, end) = decoded(bytes, bytes.len() % 7 + 1);
    let (at_once, _) = decoded(bytes, bytes.len().max(1));
    assert_eq!(frames, at_once);
    let mut again = Vec::new();
    for (number, frame) in (0..).zip(&frames) {
        let start = again.len();
        encode(frame.kind, &frame.payload, &mut again).expect("it was within the limit");
        seal(&mut again[start..], number);
    }
    assert!(bytes.starts_with(&again));
    match end {
        Ok(()) => assert_eq!(again.len(), bytes.len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
