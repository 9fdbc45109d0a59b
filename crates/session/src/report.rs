//! The sending of a trial's result: how it ended, then table after table.

use schema::frame::{self, Kind};
use schema::message::{Finished, Reply};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

use crate::outbox::message_frame;

/// Bytes of a table in one frame.
const PIECE_BYTES: usize = 256 << 10;

/// A table that is sent.
pub struct Table<'a> {
    /// Its name in the record.
    pub name: &'a str,
    /// Its length.
    pub bytes: u64,
    /// Its content.
    pub content: Box<dyn Read>,
}

impl<'a> Table<'a> {
    /// A table in memory.
    pub fn of_bytes(name: &'a str, content: Vec<u8>) -> Self {
        Self { name, bytes: content.len() as u64, content: Box::new(Cursor::new(content)) }
    }

    /// A table in a file.
    ///
    /// # Errors
    /// The file's length cannot be found.
    pub fn of_file(name: &'a str, mut file: File) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { name, bytes, content: Box::new(file) })
    }
}

/// Sends the result of a trial in answer to the request `id`. The request's last reply, `done`, is the session's, when
/// the load's thread has ended.
///
/// # Errors
/// A table cannot be made or read; what is missing of it is never sent.
pub fn send_result<'a, E: From<io::Error>>(
    id: u64,
    finished: Finished,
    tables: impl IntoIterator<Item = Result<Table<'a>, E>>,
    mut send: impl FnMut(Vec<u8>),
) -> Result<(), E> {
    send(message_frame(id, Reply::Finished(finished)));
    for table in tables {
        send_table(id, table?, &mut send)?;
    }
    Ok(())
}

/// Sends a table: its announcement, then its bytes in frames.
///
/// # Errors
/// The table cannot be read; what is missing of it is never sent.
pub fn send_table(id: u64, table: Table<'_>, mut send: impl FnMut(Vec<u8>)) -> io::Result<()> {
    let Table { name, bytes, mut content } = table;
    send(message_frame(id, Reply::Table { name: name.to_owned(), bytes }));
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        content.read_exact(&mut piece[..length])?;
        let mut frame = Vec::with_capacity(frame::HEADER_BYTES + length + 1);
        frame::encode(Kind::Table, &piece[..length], &mut frame).map_err(io::Error::other)?;
        send(frame);
        left -= length as u64;
    }
    Ok(())
}
