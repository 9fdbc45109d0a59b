//! The agent's two ends of the pipe: bytes in from standard input, and frames out to standard output by a thread of
//! their own, so that a slow controller never blocks a measurement. That thread also sends the heartbeats,
//! whatever the agent's other threads do.

use load::urgency::Urgent;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::message::Reply;
use session::{Outbox, Sent, message_frame};
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Sends replies to the controller. Cloned freely; replies of one sender stay in order.
#[derive(Clone, Default)]
pub struct Replies {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    outbox: Mutex<Outbox>,
    /// A frame was added, or the queue was closed.
    added: Condvar,
    /// A frame was taken, or the queue was closed.
    taken: Condvar,
}

impl Replies {
    /// Writes replies to `output` from a thread of its own, which ends when it is closed or the pipe is.
    pub fn new(output: impl Write + Send + 'static) -> (Self, thread::JoinHandle<()>) {
        let replies = Self::default();
        let queue = Arc::clone(&replies.queue);
        let writer = thread::spawn(move || {
            queue.write_frames(output);
            queue.change(|outbox| outbox.close(None));
        });
        (replies, writer)
    }

    /// Sends nothing more from any clone but this, which answers no request: the controller is gone.
    pub fn close(&self, last_words: Reply) {
        self.queue.change(|outbox| outbox.close(Some(message_frame(0, last_words))));
    }

    /// Sends nothing more from any clone but the goodbye.
    pub fn leave(&self) {
        self.queue.change(Outbox::leave);
    }

    /// Says goodbye in answer to the request `id`.
    pub fn say_goodbye(&self, id: u64) {
        self.queue.change(|outbox| outbox.say_goodbye(id));
    }

    /// Sends a reply. A closed pipe is noticed by whoever reads it, not here.
    pub fn send(&self, id: u64, reply: Reply) {
        self.push(message_frame(id, reply));
    }

    /// Sends a frame.
    pub fn push(&self, frame: Vec<u8>) {
        let outbox = self.queue.outbox();
        let mut outbox = self.queue.taken.wait_while(outbox, |outbox| !outbox.has_room()).unwrap_or_else(PoisonError::into_inner);
        outbox.push(frame);
        self.queue.added.notify_one();
    }

    /// Sends a reply that may be left out when the controller is slow.
    pub fn send_if_idle(&self, id: u64, reply: Reply) {
        let mut outbox = self.queue.outbox();
        if outbox.has_room() {
            outbox.push(message_frame(id, reply));
            self.queue.added.notify_one();
        }
    }
}

impl Queue {
    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Outbox)) {
        change(&mut self.outbox());
        self.added.notify_all();
        self.taken.notify_all();
    }

    /// Writes frames as they come, and a heartbeat where none comes, until the queue or the pipe is closed.
    fn write_frames(&self, mut output: impl Write) {
        while let Some(frame) = self.next_frame() {
            if output.write_all(&frame).and_then(|()| output.flush()).is_err() {
                return;
            }
        }
    }

    /// Waits for the next frame. The thread is urgent only while it waits: a heartbeat comes in time on a host with
    /// hundreds of busy threads, and a table takes no CPU from a load.
    fn next_frame(&self) -> Option<Vec<u8>> {
        let mut outbox = self.outbox();
        let mut urgent = None;
        loop {
            let now_ns = probe::clock::mono_ns();
            match outbox.poll_frame(now_ns) {
                Sent::Frame(frame) => {
                    self.taken.notify_one();
                    return Some(frame);
                }
                Sent::NothingUntil(due_ns) => {
                    urgent.get_or_insert_with(Urgent::this_thread);
                    let waited = self.added.wait_timeout(outbox, Duration::from_nanos(due_ns - now_ns));
                    outbox = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Sent::End => return None,
            }
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

    /// The request's identifier.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// As [`Replies::push`].
    pub fn push(&self, frame: Vec<u8>) {
        self.replies.push(frame);
    }

    /// As [`Replies::send_if_idle`].
    pub fn send_if_idle(&self, reply: Reply) {
        self.replies.send_if_idle(self.id, reply);
    }
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
