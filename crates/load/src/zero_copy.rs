//! Sends without copying, and what became of them (`Documentation/networking/msg_zerocopy.rst`).

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;

use crate::error_queue::{self, OF_ZERO_COPY};

/// Sends between looks at what the kernel is done with.
const COMPLETIONS_EVERY: u64 = 32;
/// The kernel copied after all.
const COPIED: u8 = 1;

/// Sends without copying, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZeroCopy {
    /// Calls.
    pub sent_count: u64,
    /// Calls that the kernel is done with.
    pub completed_count: u64,
    /// Of them, those that it copied after all.
    pub copied_count: u64,
    /// Calls about which nothing will be reported: their connections are closed.
    given_up_count: u64,
}

impl ZeroCopy {
    /// A call was taken: looks now and then what the kernel is done with.
    ///
    /// # Errors
    /// The socket is gone.
    #[inline]
    pub fn on_sent(&mut self, socket: &impl AsFd) -> io::Result<()> {
        self.sent_count += 1;
        if self.sent_count.is_multiple_of(COMPLETIONS_EVERY) {
            self.take(socket)?;
        }
        Ok(())
    }

    /// True if a report is still missing.
    pub fn is_awaited(&self) -> bool {
        self.completed_count + self.given_up_count < self.sent_count
    }

    /// The connection closes: nothing more is reported about its calls.
    pub fn give_up(&mut self) {
        self.given_up_count = self.sent_count.saturating_sub(self.completed_count);
    }

    /// Waits at most this long for the kernel to be done with something.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn await_some(&mut self, socket: &impl AsFd, milliseconds: u8) -> io::Result<()> {
        // Errors are waited for without being asked for.
        match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::empty())], PollTimeout::from(milliseconds)) {
            Ok(_) | Err(Errno::EINTR) => self.take(socket).map(drop),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what the kernel reports; returns whether there was anything.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn take(&mut self, socket: &impl AsFd) -> io::Result<bool> {
        let before = self.completed_count;
        while let Some(message) = error_queue::next(socket)? {
            if message.errno != 0 || message.origin != OF_ZERO_COPY {
                continue;
            }
            // A range of calls, which counts them modulo 2^32.
            let count = u64::from(message.data.wrapping_sub(message.info)) + 1;
            self.completed_count += count;
            if message.code == COPIED {
                self.copied_count += count;
            }
        }
        Ok(self.completed_count > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockopt;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn every_call_is_reported_once_however_the_kernel_joins_reports() {
        const CALLS: u64 = 50;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (mut receiver, _) = listener.accept().expect("it connects");
        sockopt::ZERO_COPY.set(&sender, 1).expect("TCP has it since Linux 4.14");
        let mut state = ZeroCopy::default();
        let (payload, mut read) = ([7_u8; 1000], [0_u8; 1000]);
        for _ in 0..CALLS {
            // SAFETY: the payload outlives the call, and is not changed until the kernel is done with it.
            let sent = unsafe { libc::send(sender.as_raw_fd(), payload.as_ptr().cast(), payload.len(), libc::MSG_ZEROCOPY) };
            assert_eq!(sent, 1000);
            receiver.read_exact(&mut read).expect("it was sent");
            state.sent_count += 1;
        }
        for _ in 0..100 {
            if !state.is_awaited() {
                break;
            }
            state.await_some(&sender, 100).expect("the socket is there");
        }
        assert_eq!((state.completed_count, state.is_awaited()), (CALLS, false));
    }
}
