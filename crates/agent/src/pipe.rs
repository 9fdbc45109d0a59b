//! The agent's two ends of the pipe: frames in from standard input, frames out to standard
//! output by a thread of their own, so that a slow controller never blocks a measurement. That thread
//! also says that the agent results, whatever its other threads do.

use load::urgency::Urgent;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::frame::{self, Decoder, FrameError, Kind, MAX_PAYLOAD_BYTES};
use schema::message::{Envelope, Failure, Fault, HEARTBEAT_NS, Reply, Request};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Frames waiting for the controller at most; a table is sent in pieces of a frame each.
const QUEUE_FRAMES: usize = 64;
/// Bytes of a frame of a table that comes from a file.
const FILE_PIECE_BYTES: usize = 256 << 10;

/// Why reading the pipe ended.
#[derive(Debug, thiserror::Error)]
pub enum PipeError {
    /// What came is not the protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message that is none.
    #[error("not a request of this version: {0}")]
    Message(#[from] serde_json::Error),
    /// The controller sent a table.
    #[error("the controller sent a table; only agents do")]
    Table,
    /// Reading failed.
    #[error("reading the pipe: {0}")]
    Io(#[from] io::Error),
}

/// Requests from the controller.
pub struct Requests<R> {
    input: R,
    decoder: Decoder,
    piece: Vec<u8>,
}

impl<R: Read> Requests<R> {
    /// Reads requests from `input`.
    pub fn new(input: R) -> Self {
        Self { input, decoder: Decoder::new(), piece: vec![0; 64 << 10] }
    }

    /// The next request, or `None` when the pipe has closed.
    ///
    /// # Errors
    /// Anything else than requests of this version came.
    pub fn next(&mut self) -> Result<Option<Envelope<Request>>, PipeError> {
        loop {
            if let Some(frame) = self.decoder.poll_frame()? {
                return match frame.kind {
                    Kind::Message => Ok(Some(serde_json::from_slice(&frame.payload)?)),
                    Kind::Table => Err(PipeError::Table),
                };
            }
            match self.input.read(&mut self.piece) {
                Ok(0) => {
                    self.decoder.handle_end()?;
                    return Ok(None);
                }
                Ok(count) => self.decoder.handle_bytes(&self.piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Sends replies to the controller. Cloned freely; replies of one sender stay in order.
#[derive(Clone)]
pub struct Replies {
    queue: SyncSender<Vec<u8>>,
    closed: Arc<AtomicBool>,
}

impl Replies {
    /// Writes replies to `output` from a thread of its own, which ends when the last clone is
    /// dropped or the pipe closes.
    pub fn new(output: impl Write + Send + 'static) -> (Self, thread::JoinHandle<()>) {
        let (queue, frames) = sync_channel(QUEUE_FRAMES);
        let writer = thread::spawn(move || write_frames(output, &frames));
        (Self { queue, closed: Arc::default() }, writer)
    }

    /// Sends nothing more from any clone: the controller is gone.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Sends a reply. A closed pipe is noticed by whoever reads it, not here.
    pub fn send(&self, id: u64, reply: Reply) {
        self.push(message_frame(id, reply));
    }

    /// Sends a reply that may be left out when the controller is slow.
    pub fn send_if_idle(&self, id: u64, reply: Reply) {
        match self.queue.try_send(message_frame(id, reply)) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// Sends a failure.
    pub fn fail(&self, id: u64, fault: Fault, text: String) {
        self.send(id, Reply::Error(Failure { fault, text }));
    }

    /// Sends a table: its announcement, then its bytes in frames.
    pub fn send_table(&self, id: u64, name: &str, bytes: &[u8]) {
        self.send(id, Reply::Table { name: name.to_owned(), bytes: bytes.len() as u64 });
        for piece in bytes.chunks(MAX_PAYLOAD_BYTES) {
            let mut frame = Vec::with_capacity(piece.len() + frame::HEADER_BYTES);
            if frame::encode(Kind::Table, piece, &mut frame).is_ok() {
                self.push(frame);
            }
        }
    }

    /// Sends a table from a file, a frame at a time.
    ///
    /// # Errors
    /// The file cannot be read; what is missing of the table is never sent.
    pub fn send_table_file(&self, id: u64, name: &str, mut file: File) -> io::Result<()> {
        let bytes = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        self.send(id, Reply::Table { name: name.to_owned(), bytes });
        let mut piece = vec![0; FILE_PIECE_BYTES];
        let mut left = bytes;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            file.read_exact(&mut piece[..length])?;
            let mut frame = Vec::with_capacity(length + frame::HEADER_BYTES);
            frame::encode(Kind::Table, &piece[..length], &mut frame).map_err(io::Error::other)?;
            self.push(frame);
            left -= length as u64;
        }
        Ok(())
    }

    fn push(&self, frame: Vec<u8>) {
        if !self.closed.load(Ordering::Relaxed) {
            let _ = self.queue.send(frame);
        }
    }
}

/// Answers one request, again and again.
#[derive(Clone)]
pub struct ReplySink {
    replies: Replies,
    id: u64,
}

impl ReplySink {
    /// Answers the request of this identifier.
    pub fn new(replies: &Replies, id: u64) -> Self {
        Self { replies: replies.clone(), id }
    }

    /// As [`Replies::send`].
    pub fn send(&self, reply: Reply) {
        self.replies.send(self.id, reply);
    }

    /// As [`Replies::send_if_idle`].
    pub fn send_if_idle(&self, reply: Reply) {
        self.replies.send_if_idle(self.id, reply);
    }

    /// As [`Replies::send_table`].
    pub fn table(&self, name: &str, bytes: &[u8]) {
        self.replies.send_table(self.id, name, bytes);
    }

    /// As [`Replies::send_table_file`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn table_file(&self, name: &str, file: File) -> io::Result<()> {
        self.replies.send_table_file(self.id, name, file)
    }
}

fn message_frame(id: u64, reply: Reply) -> Vec<u8> {
    let mut frame = Vec::new();
    let encoded = serde_json::to_vec(&Envelope { id, body: reply }).map_err(io::Error::from);
    let framed = encoded.and_then(|json| frame::encode(Kind::Message, &json, &mut frame).map_err(io::Error::other));
    if let Err(error) = framed {
        tracing::error!("a reply could not be encoded: {error}");
    }
    frame
}

/// Writes frames as they come, and a heartbeat where none comes.
fn write_frames(mut output: impl Write, frames: &Receiver<Vec<u8>>) {
    loop {
        let frame = match next_frame(frames) {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) => message_frame(0, Reply::Alive),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if output.write_all(&frame).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The next frame, or a timeout when it is time for a heartbeat. The thread is urgent only while it waits: a
/// heartbeat comes in time on a host with hundreds of busy threads, and a table takes no CPU from a load.
fn next_frame(frames: &Receiver<Vec<u8>>) -> Result<Vec<u8>, RecvTimeoutError> {
    if let Ok(frame) = frames.try_recv() {
        return Ok(frame);
    }
    let _urgent = Urgent::this_thread();
    frames.recv_timeout(Duration::from_nanos(HEARTBEAT_NS))
}

/// Calls `on_closed` when nobody holds the other end of this pipe any more, whatever still lies in it unread.
pub fn watch_for_close(pipe: impl AsFd + Send + 'static, on_closed: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        // A pipe says POLLHUP without being asked; the socket that sshd(8) may give instead says it as POLLRDHUP.
        let mut polled = [PollFd::new(pipe.as_fd(), PollFlags::from_bits_retain(nix::libc::POLLRDHUP))];
        while matches!(poll(&mut polled, PollTimeout::NONE), Err(Errno::EINTR)) {}
        on_closed();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_out_as_they_went_in() {
        let mut bytes = Vec::new();
        let request = Envelope { id: 3, body: Request::Clock };
        frame::encode(Kind::Message, &serde_json::to_vec(&request).expect("JSON"), &mut bytes).expect("short");
        let mut requests = Requests::new(bytes.as_slice());
        assert_eq!(requests.next().expect("request"), Some(request));
        assert_eq!(requests.next().expect("end"), None);
    }

    #[test]
    fn an_unknown_request_is_named() {
        let mut bytes = Vec::new();
        frame::encode(Kind::Message, br#"{"id":1,"body":{"request":"fly"}}"#, &mut bytes).expect("short");
        let error = Requests::new(bytes.as_slice()).next().expect_err("unknown request");
        assert!(error.to_string().contains("fly"), "{error}");
    }
}
