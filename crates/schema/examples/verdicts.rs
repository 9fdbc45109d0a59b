//! Answers whether bytes are frames or messages, for tests that compare this half of the protocol with the controller's.
//!
//! Standard input has questions: a kind (`f` frames, `q` a request, `r` a reply), the length as a big-endian 32-bit number,
//! the bytes. Each is answered by a line: the number of whole frames, or 1 for a message, and `end` where nothing is
//! wrong, or what is wrong.

use std::fmt::Display;
use std::io::{self, BufRead, Read, Write};

use schema::frame::Decoder;
use schema::message::{Envelope, Reply, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn main() -> io::Result<()> {
    let (mut questions, mut answers) = (io::stdin().lock(), io::stdout().lock());
    let mut head = [0; 5];
    while !questions.fill_buf()?.is_empty() {
        questions.read_exact(&mut head)?;
        let mut bytes = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize];
        questions.read_exact(&mut bytes)?;
        let (count, wrong) = match head[0] {
            b'f' => frames(&bytes),
            b'q' => message::<Request>(&bytes),
            _ => message::<Reply>(&bytes),
        };
        let wrong = wrong.map_or("end".to_owned(), |text| text.replace(char::is_control, " "));
        writeln!(answers, "{count} {wrong}")?;
        answers.flush()?;
    }
    Ok(())
}

fn frames(bytes: &[u8]) -> (usize, Option<String>) {
    let mut decoder = Decoder::new();
    decoder.handle_bytes(bytes);
    let mut count = 0;
    loop {
        match decoder.poll_frame() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return (count, wrong(decoder.handle_end())),
            error => return (count, wrong(error)),
        }
    }
}

/// A message, and whether the same comes back when it is written and read again.
fn message<Body: DeserializeOwned + Serialize + PartialEq>(bytes: &[u8]) -> (usize, Option<String>) {
    let read = serde_json::from_slice::<Envelope<Body>>(bytes);
    let found = match read {
        Ok(found) => found,
        error => return (0, wrong(error)),
    };
    let again = serde_json::to_vec(&found).and_then(|written| serde_json::from_slice::<Envelope<Body>>(&written));
    match again {
        Ok(again) if again == found => (1, None),
        Ok(_) => (1, Some("another message comes back".to_owned())),
        error => (1, wrong(error)),
    }
}

fn wrong<T, E: Display>(result: Result<T, E>) -> Option<String> {
    result.err().map(|error| error.to_string())
}
