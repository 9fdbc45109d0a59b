//! One `io_uring` of a thread: sends and receives under way, and what has become of them.
//!
//! At most one send and one receive of each user are under way. All sends read the one source, all
//! receives write into one sink that nobody reads, so the buffers of a thread are as large as under
//! epoll however many operations there are; the kernel keeps an operation in a few hundred bytes.

use io_uring::{EnterFlags, IoUring, opcode, squeue, types};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;
use workload::user::Direction;

use crate::LoadError;

/// Operations that are handed over at a time.
const MAX_SUBMISSIONS: u32 = 1024;
/// Completions that are kept in the ring; the kernel keeps what is beyond.
const MAX_COMPLETIONS: u32 = 1 << 16;
/// Marks the wait for the epoll instance, and the answer to a cancellation.
const EPOLL: u64 = u64::MAX;
const CANCELLATION: u64 = u64::MAX - 1;
/// Number of times that what is still under way at the end is waited for, 10 ms each time.
const LAST_WAITS: u32 = 100;
const LAST_WAIT_NS: u64 = 10_000_000;

/// An operation under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    /// On which of the thread's connections.
    pub link: u32,
    /// Bytes that the call asked for.
    pub ask: usize,
    /// True if its user wants it no more.
    pub is_cancelled: bool,
    is_up: bool,
}

/// A report of the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Completion {
    /// There are events for epoll.
    Events,
    /// An operation has ended.
    Landed { slot: usize, direction: Direction, result: i32 },
}

/// The ring of one thread.
pub(crate) struct Ring {
    queues: IoUring,
    source: Arc<[u8]>,
    sink: Vec<u8>,
    /// By the thread's own numbers of its users: sends, receives.
    flights: Vec<[Flight; 2]>,
    up_count: usize,
    completions: Vec<Completion>,
    enters_count: u64,
    watches_epoll: bool,
}

impl Ring {
    /// A ring for this many users, which [`Ring::enable`] gives to the calling thread.
    ///
    /// # Errors
    /// The host has none, or too old a one.
    pub fn new(strands_count: usize, source: Arc<[u8]>, sink_bytes: usize) -> Result<Self, LoadError> {
        let most = u32::try_from(2 * strands_count + 2).unwrap_or(u32::MAX);
        let submissions = most.min(MAX_SUBMISSIONS).next_power_of_two();
        let completions = (most.min(MAX_COMPLETIONS / 2) * 2).next_power_of_two();
        let mut best = IoUring::builder();
        best.setup_r_disabled().setup_cqsize(completions).setup_clamp();
        let plain = best.clone();
        // Linux 6.1: completions are worked out when the thread asks for them, not in between.
        best.setup_single_issuer().setup_defer_taskrun();
        let queues = match best.build(submissions) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => plain.build(submissions),
            outcome => outcome,
        };
        let queues = queues.map_err(refusal)?;
        if !queues.params().is_feature_ext_arg() || !queues.params().is_feature_nodrop() || !queues.params().is_feature_fast_poll() {
            return Err(refusal(io::Error::from_raw_os_error(libc::EINVAL)));
        }
        Ok(Self {
            queues,
            source,
            sink: vec![0; sink_bytes],
            flights: vec![[Flight::default(); 2]; strands_count],
            up_count: 0,
            completions: Vec::new(),
            enters_count: 0,
            watches_epoll: false,
        })
    }

    /// Makes the calling thread the one that submits.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enable(&self) -> io::Result<()> {
        self.queues.submitter().register_enable_rings()
    }

    /// Begins a send or a receive of at most `bytes`; there must be none of the same user and
    /// direction.
    ///
    /// # Errors
    /// The kernel takes no more.
    pub fn start(
        &mut self,
        (slot, direction): (usize, Direction),
        (descriptor, link): (RawFd, usize),
        bytes: u64,
        flags: i32,
    ) -> io::Result<()> {
        let buffer_bytes = match direction {
            Direction::Send => self.source.len(),
            Direction::Receive => self.sink.len(),
        };
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(buffer_bytes);
        let length = u32::try_from(ask).map_err(io::Error::other)?;
        let entry = match direction {
            Direction::Send => {
                opcode::Send::new(types::Fd(descriptor), self.source.as_ptr(), length).flags(flags | libc::MSG_NOSIGNAL).build()
            }
            Direction::Receive => opcode::Recv::new(types::Fd(descriptor), self.sink.as_mut_ptr(), length).flags(flags).build(),
        };
        self.push(&entry.user_data(mark(slot, direction)))?;
        let link = u32::try_from(link).map_err(io::Error::other)?;
        self.flights[slot][place(direction)] = Flight { link, ask, is_cancelled: false, is_up: true };
        self.up_count += 1;
        Ok(())
    }

    /// True if an operation of this user and direction is under way.
    pub fn is_up(&self, slot: usize, direction: Direction) -> bool {
        self.flights[slot][place(direction)].is_up
    }

    /// Calls back what is under way of a user; says whether anything is.
    ///
    /// # Errors
    /// As of [`Ring::start`].
    pub fn cancel(&mut self, slot: usize) -> io::Result<bool> {
        let mut is_any = false;
        for direction in [Direction::Send, Direction::Receive] {
            let flight = self.flights[slot][place(direction)];
            is_any |= flight.is_up;
            if flight.is_up && !flight.is_cancelled {
                self.flights[slot][place(direction)].is_cancelled = true;
                self.push(&opcode::AsyncCancel::new(mark(slot, direction)).build().user_data(CANCELLATION))?;
            }
        }
        Ok(is_any)
    }

    /// Takes the place of an operation that has ended.
    pub fn land(&mut self, slot: usize, direction: Direction) -> Flight {
        let flight = std::mem::take(&mut self.flights[slot][place(direction)]);
        self.up_count -= usize::from(flight.is_up);
        flight
    }

    /// Hands over what was begun and waits at most this long until something has ended or the epoll
    /// instance has events; `None`: without end.
    ///
    /// # Errors
    /// The kernel's, but no interruption.
    pub fn wait(&mut self, epoll: RawFd, timeout_ns: Option<u64>) -> io::Result<()> {
        if !self.watches_epoll {
            let events = u32::try_from(libc::POLLIN).map_err(io::Error::other)?;
            self.push(&opcode::PollAdd::new(types::Fd(epoll), events).build().user_data(EPOLL))?;
            self.watches_epoll = true;
        }
        self.enters_count += 1;
        let entered = match timeout_ns {
            _ if !self.completions.is_empty() => self.look(),
            Some(0) => self.look(),
            None => self.queues.submit_and_wait(1),
            Some(timeout_ns) => {
                let timeout = types::Timespec::from(Duration::from_nanos(timeout_ns));
                self.queues.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&timeout))
            }
        };
        passed(entered)?;
        self.reap();
        Ok(())
    }

    /// Hands over without waiting, and collects what has ended.
    fn look(&mut self) -> io::Result<usize> {
        let submissions = u32::try_from(self.queues.submission().len()).unwrap_or(0);
        // SAFETY: as many entries are handed over as there are, and no argument is passed.
        unsafe { self.queues.submitter().enter::<libc::sigset_t>(submissions, 0, EnterFlags::GETEVENTS.bits(), None) }
    }

    /// Takes what the kernel has reported since the last look, in order.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.completions)
    }

    /// Gives the emptied list back, so that the next look allocates nothing.
    pub fn give_back(&mut self, mut completions: Vec<Completion>) {
        if self.completions.is_empty() {
            completions.clear();
            self.completions = completions;
        }
    }

    /// Calls of `io_uring_enter` since the last look.
    pub fn take_enters(&mut self) -> u64 {
        std::mem::take(&mut self.enters_count)
    }

    /// Calls everything back and waits for it; what has ended meanwhile is reported as usual.
    pub fn settle(&mut self, epoll: RawFd) -> Vec<Completion> {
        let mut completions = self.take_completions();
        for slot in 0..self.flights.len() {
            if self.cancel(slot).is_err() {
                return completions;
            }
        }
        let mut left =
            self.up_count.saturating_sub(completions.iter().filter(|completion| matches!(completion, Completion::Landed { .. })).count());
        for _ in 0..LAST_WAITS {
            if left == 0 || self.wait(epoll, Some(LAST_WAIT_NS)).is_err() {
                break;
            }
            let more = self.take_completions();
            left = left.saturating_sub(more.iter().filter(|completion| matches!(completion, Completion::Landed { .. })).count());
            completions.extend(more);
        }
        completions
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the source lives through the sends and the sink through the receives: both are kept
        // until nothing is under way, see `drop`. Nobody else reads or writes the sink.
        while unsafe { self.queues.submission().push(entry) }.is_err() {
            self.enters_count += 1;
            let entered = self.look();
            passed(entered)?;
            self.reap();
        }
        Ok(())
    }

    fn reap(&mut self) {
        for entry in self.queues.completion() {
            let completion = match entry.user_data() {
                EPOLL => {
                    self.watches_epoll = false;
                    Completion::Events
                }
                CANCELLATION => continue,
                mark => Completion::Landed {
                    slot: usize::try_from(mark >> 1).unwrap_or(usize::MAX),
                    direction: if mark & 1 == 0 { Direction::Send } else { Direction::Receive },
                    result: entry.result(),
                },
            };
            self.completions.push(completion);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.up_count > 0 {
            // The kernel ends what is under way after the ring is closed, and may use them until then.
            std::mem::forget(Arc::clone(&self.source));
            std::mem::forget(std::mem::take(&mut self.sink));
        }
    }
}

fn place(direction: Direction) -> usize {
    usize::from(direction == Direction::Receive)
}

fn mark(slot: usize, direction: Direction) -> u64 {
    (slot as u64) << 1 | place(direction) as u64
}

/// A wait that was too long, interrupted, or that must first take what has ended, is none that failed.
fn passed(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => Err(error),
        _ => Ok(()),
    }
}

/// Why there is no ring, and what to do.
fn refusal(error: io::Error) -> LoadError {
    let advice = match error.raw_os_error() {
        Some(libc::ENOSYS) => "; this kernel is built without it: choose the I/O model epoll",
        Some(libc::EPERM | libc::EACCES) => {
            "; kernel.io_uring_disabled or a container's filter forbids it: allow it, or choose the I/O model epoll"
        }
        Some(libc::EINVAL) => "; it needs Linux 5.11 or newer: choose the I/O model epoll",
        Some(libc::ENOMEM) => "; the limit of locked memory (ulimit -l) is too low: raise it, or choose the I/O model epoll",
        _ => "; choose the I/O model epoll",
    };
    LoadError::host("making an io_uring", error, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_it_is_refused_with_a_remedy() {
        for (error, word) in [(libc::ENOSYS, "without it"), (libc::EPERM, "kernel.io_uring_disabled"), (libc::EINVAL, "5.11")] {
            let text = refusal(io::Error::from_raw_os_error(error)).to_string();
            assert!(text.starts_with("making an io_uring") && text.contains(word) && text.ends_with("epoll"), "{text}");
        }
    }
}
