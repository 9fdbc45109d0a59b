//! Agrees with the other host: when a transaction is over, when the next begins, and what was moved.
//!
//! Both conductors talk over a connection of their own in frames of 24 bytes:
//!
//! ```text
//!  0      4         8                16               24
//!  +------+---------+----------------+----------------+
//!  | kind | user  | a              | b              |     big-endian
//!  +------+---------+----------------+----------------+
//!  limit    user    executions
//!  failed   user
//!  total    user    sent bytes       received bytes
//!  reached            transaction
//!  begin              transaction
//! ```

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::trial::Opening;
use socket2::Socket;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::orders::{Inbox, Order, Report, Total};
use super::sys::Waker;
use crate::control::Control;

const FRAME_BYTES: usize = 24;
/// Bytes read at a time.
const PIECE_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Limit { user: u32, executions_count: u64 },
    Failed { user: u32 },
    Total(Total),
    Reached { round: u64 },
    Begin { round: u64 },
}

impl Frame {
    fn encode(self) -> [u8; FRAME_BYTES] {
        let (kind, user, a, b) = match self {
            Frame::Limit { user, executions_count } => (1u32, user, executions_count, 0),
            Frame::Failed { user } => (2, user, 0, 0),
            Frame::Total(Total { user, sent_bytes, received_bytes }) => (3, user, sent_bytes, received_bytes),
            Frame::Reached { round } => (4, 0, round, 0),
            Frame::Begin { round } => (5, 0, round, 0),
        };
        let mut bytes = [0; FRAME_BYTES];
        bytes[..4].copy_from_slice(&kind.to_be_bytes());
        bytes[4..8].copy_from_slice(&user.to_be_bytes());
        bytes[8..16].copy_from_slice(&a.to_be_bytes());
        bytes[16..].copy_from_slice(&b.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8; FRAME_BYTES]) -> Option<Self> {
        let long = |at: usize| bytes[at..at + 8].iter().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        let (head, a, b) = (long(0), long(8), long(16));
        let user = u32::try_from(head & u64::from(u32::MAX)).ok()?;
        Some(match head >> 32 {
            1 => Frame::Limit { user, executions_count: a },
            2 => Frame::Failed { user },
            3 => Frame::Total(Total { user, sent_bytes: a, received_bytes: b }),
            4 => Frame::Reached { round: a },
            5 => Frame::Begin { round: a },
            _ => return None,
        })
    }
}

/// One host's conductor.
pub struct Conductor {
    pub socket: Socket,
    pub reports: Receiver<Report>,
    /// Wakes the conductor when there are reports, or the load is cut.
    pub waker: Arc<Waker>,
    pub inboxes: Arc<[Arc<Inbox>]>,
    pub control: Arc<Control>,
    pub opening: Opening,
    pub rounds_count: u32,
    pub strands_count: u32,
    /// True if payload may get lost.
    pub is_lossy: bool,
}

/// Where the transactions stand.
#[derive(Default)]
struct Standing {
    round: u32,
    threads_reached: usize,
    here_reached: bool,
    there_reached: bool,
    sums: BTreeMap<u32, (Option<Total>, Option<Total>)>,
    unsent: Vec<u8>,
    is_over: bool,
}

impl Conductor {
    /// Conducts until all is over, or the load is cut.
    pub fn conduct(mut self) {
        let outcome = self.agree();
        if let Err(error) = outcome
            && self.control.cut().is_none()
        {
            let reason = format!("the other host is gone: {error}");
            for user in 0..self.strands_count {
                self.order(user, Order::GiveUp { user, reason: reason.clone() });
            }
        }
        for inbox in &*self.inboxes {
            inbox.push(Order::Finish);
        }
    }

    fn agree(&mut self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        let mut standing = Standing::default();
        let mut received = Vec::new();
        if self.rounds_count == 0 {
            return Ok(());
        }
        while self.control.cut().is_none() {
            while let Ok(report) = self.reports.try_recv() {
                self.on_report(&mut standing, report);
            }
            self.go_on(&mut standing);
            self.send(&mut standing)?;
            if standing.is_over && standing.unsent.is_empty() {
                return Ok(());
            }
            let is_open = self.wait(!standing.unsent.is_empty())?;
            self.waker.clear();
            if is_open {
                self.receive(&mut received)?;
                let whole = received.len() / FRAME_BYTES * FRAME_BYTES;
                for bytes in received.drain(..whole).as_slice().chunks_exact(FRAME_BYTES) {
                    let frame = bytes.try_into().ok().and_then(Frame::decode);
                    let frame = frame.ok_or_else(|| io::Error::other("it does not keep to the protocol"))?;
                    self.on_frame(&mut standing, frame);
                }
            }
        }
        Ok(())
    }

    /// Sleeps until there is something to do; says whether the other host has sent something.
    fn wait(&self, wants_to_send: bool) -> io::Result<bool> {
        let events = if wants_to_send { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let waker = self.waker.as_fd();
        let mut polled = [PollFd::new(self.socket.as_fd(), events), PollFd::new(waker, PollFlags::POLLIN)];
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR;
        Ok(polled[0].revents().is_some_and(|events| events.intersects(ready)))
    }

    fn receive(&mut self, received: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let before = received.len();
            received.resize(before + PIECE_BYTES, 0);
            let read = self.socket.read(&mut received[before..]);
            received.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(io::Error::other("it closed before the end")),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if received.len() - before < PIECE_BYTES {
                return Ok(());
            }
        }
    }

    fn send(&mut self, standing: &mut Standing) -> io::Result<()> {
        while !standing.unsent.is_empty() {
            match self.socket.write(&standing.unsent) {
                Ok(count) => drop(standing.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn on_report(&self, standing: &mut Standing, report: Report) {
        match report {
            Report::Limit { user, executions_count } => {
                standing.unsent.extend(Frame::Limit { user, executions_count }.encode());
            }
            Report::Failed { user } => standing.unsent.extend(Frame::Failed { user }.encode()),
            Report::Reached { round, totals } => {
                if round + 1 == self.rounds_count {
                    for total in totals {
                        standing.unsent.extend(Frame::Total(total).encode());
                        standing.sums.entry(total.user).or_default().0 = Some(total);
                    }
                }
                standing.threads_reached += 1;
                if standing.threads_reached == self.inboxes.len() {
                    standing.here_reached = true;
                    standing.unsent.extend(Frame::Reached { round: u64::from(round) }.encode());
                }
            }
        }
    }

    fn on_frame(&self, standing: &mut Standing, frame: Frame) {
        match frame {
            Frame::Limit { user, executions_count } => self.order(user, Order::Limit { user, executions_count }),
            Frame::Failed { user } => {
                let reason = "the other host's virtual user failed".to_owned();
                self.order(user, Order::GiveUp { user, reason });
            }
            Frame::Total(total) => standing.sums.entry(total.user).or_default().1 = Some(total),
            Frame::Reached { round } => standing.there_reached |= round == u64::from(standing.round),
            Frame::Begin { round } => self.start(standing, u32::try_from(round).unwrap_or(u32::MAX)),
        }
    }

    /// Begins the next transaction when both hosts have ended the one before; the connecting host says so.
    fn go_on(&self, standing: &mut Standing) {
        if !(standing.here_reached && standing.there_reached) {
            return;
        }
        if standing.round + 1 >= self.rounds_count {
            if !self.is_lossy {
                self.compare(&standing.sums);
            }
            standing.is_over = true;
        } else if self.opening == Opening::Connect {
            let round = standing.round + 1;
            standing.unsent.extend(Frame::Begin { round: u64::from(round) }.encode());
            self.start(standing, round);
        }
    }

    fn start(&self, standing: &mut Standing, round: u32) {
        standing.round = round;
        standing.threads_reached = 0;
        (standing.here_reached, standing.there_reached) = (false, false);
        for inbox in &*self.inboxes {
            inbox.push(Order::Begin { round, at_mono_ns: probe::clock::mono_ns() });
        }
    }

    /// Compares what one host sent with what the other has received, user by user.
    fn compare(&self, sums: &BTreeMap<u32, (Option<Total>, Option<Total>)>) {
        for (user, sums) in sums {
            let (Some(here), Some(there)) = sums else { continue };
            let reason = if here.sent_bytes != there.received_bytes {
                format!("sent {} bytes, the other host counts {}", here.sent_bytes, there.received_bytes)
            } else if here.received_bytes != there.sent_bytes {
                format!("received {} bytes, the other host sent {}", here.received_bytes, there.sent_bytes)
            } else {
                continue;
            };
            self.order(*user, Order::GiveUp { user: *user, reason });
        }
    }

    fn order(&self, user: u32, order: Order) {
        if let Some(inbox) = self.inboxes.get(user as usize % self.inboxes.len().max(1)) {
            inbox.push(order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let total = Total { user: 7, sent_bytes: 1 << 40, received_bytes: u64::MAX };
        let frames = [
            Frame::Limit { user: u32::MAX, executions_count: 3 },
            Frame::Failed { user: 1 },
            Frame::Total(total),
            Frame::Reached { round: 2 },
            Frame::Begin { round: 3 },
        ];
        for frame in frames {
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }
        assert_eq!(Frame::decode(&[0xff; FRAME_BYTES]), None);
    }
}
