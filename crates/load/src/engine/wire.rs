//! Latency by the kernel's own stamps ([`crate::stamps`]): from the last byte of a request leaving to
//! the last byte of its response arriving, summed over the exchanges of an execution. What is left of
//! the execution's time passed in this host: in its calls, its stack and its threads.
//!
//! A thread has none of this unless the stamps were asked for.

use schema::trial::TrialSpec;
use std::io;
use std::net::UdpSocket;
use std::os::fd::RawFd;
use workload::script::{Act, Script, Transaction};

use super::connections::NO_DESCRIPTOR;
use super::sys;
use crate::LoadError;
use crate::error_queue::{self, OF_STAMPS};
use crate::stamps;

/// The exchange under way on a user, and those of the execution that are over.
#[derive(Debug, Clone, Copy, Default)]
struct Exchange {
    /// On which of the thread's connections it was sent.
    link: u32,
    /// Number that the kernel gives the stamp of what was sent last.
    number: u32,
    /// When that left; 0: not known yet.
    left_ns: u64,
    /// When what was received last had arrived; 0: nothing has, or without a stamp.
    arrived_ns: u64,
    has_sent: bool,
    has_received: bool,
    /// Of the exchanges that are over.
    total_ns: u64,
    is_any_over: bool,
    /// True where one of them lacks a stamp.
    is_incomplete: bool,
}

/// A thread's knowledge by stamps.
#[derive(Debug)]
pub(crate) struct Wire {
    /// By the thread's own numbers of its users.
    exchanges: Box<[Exchange]>,
    /// Amount that each connection has sent since it was asked, as the kernel numbers it; wraps.
    sent: Box<[u32]>,
    is_tcp: bool,
    /// Calls that asked for stamps alone.
    calls_count: u64,
    _awake: UdpSocket,
}

impl Wire {
    /// Of so many users and connections.
    ///
    /// # Errors
    /// There is no socket left.
    pub fn new(strands_count: usize, links_count: usize, is_tcp: bool) -> io::Result<Box<Self>> {
        Ok(Box::new(Self {
            exchanges: vec![Exchange::default(); strands_count].into(),
            sent: vec![0; links_count].into(),
            is_tcp,
            calls_count: 0,
            _awake: stamps::keep_awake()?,
        }))
    }

    /// A connection is open, or opens: stamps are asked for. Where there are none nothing will be known.
    pub fn on_open(&mut self, link: usize, descriptor: RawFd) {
        let _ = stamps::ask(&sys::borrowed(descriptor), self.is_tcp);
        self.sent[link] = 0;
    }

    /// Bytes have left that are no payload.
    pub fn pass_over(&mut self, link: usize, bytes: usize) {
        self.sent[link] = self.sent[link].wrapping_add(u32::try_from(bytes).unwrap_or(0));
    }

    /// A user has sent on a connection: of TCP so many bytes.
    pub fn on_sent(&mut self, index: usize, link: usize, descriptor: RawFd, bytes: usize) {
        if self.exchanges[index].has_received {
            self.end_exchange(index, descriptor);
        }
        let count = if self.is_tcp { u32::try_from(bytes & u32::MAX as usize).unwrap_or(0) } else { 1 };
        self.sent[link] = self.sent[link].wrapping_add(count);
        let exchange = &mut self.exchanges[index];
        exchange.link = u32::try_from(link).unwrap_or(u32::MAX);
        exchange.number = self.sent[link].wrapping_sub(1);
        exchange.left_ns = 0;
        exchange.has_sent = true;
        // The stamp is mostly there already; left in the queue it would wake the thread.
        self.hear(index, link, descriptor);
    }

    /// A user has received on a connection.
    pub fn on_received(&mut self, index: usize, link: usize, descriptor: RawFd, stamp_ns: Option<u64>) {
        let exchange = &mut self.exchanges[index];
        exchange.arrived_ns = stamp_ns.unwrap_or(0);
        exchange.has_received |= exchange.has_sent;
        if exchange.has_sent && exchange.left_ns == 0 && exchange.link as usize == link {
            // What is answered has left.
            self.hear(index, link, descriptor);
        }
    }

    /// Takes the stamps that wait in a connection's error queue; says whether there were any.
    pub fn hear(&mut self, index: usize, link: usize, descriptor: RawFd) -> bool {
        let mut has_heard = false;
        loop {
            self.calls_count += 1;
            let Ok(Some(message)) = error_queue::next(&sys::borrowed(descriptor)) else { return has_heard };
            has_heard = true;
            let exchange = &mut self.exchanges[index];
            let is_awaited = message.origin == OF_STAMPS && exchange.link as usize == link && message.data == exchange.number;
            // What is sent again is stamped again: the first stamp is when it left.
            if is_awaited && exchange.left_ns == 0 {
                exchange.left_ns = message.stamp_ns.unwrap_or(0);
            }
            if is_awaited {
                // Mostly the last; another shows as an event.
                return true;
            }
        }
    }

    fn end_exchange(&mut self, index: usize, descriptor: RawFd) {
        let Exchange { link, left_ns, .. } = self.exchanges[index];
        if left_ns == 0 && descriptor != NO_DESCRIPTOR {
            self.hear(index, link as usize, descriptor);
        }
        let exchange = &mut self.exchanges[index];
        let is_known = exchange.left_ns != 0 && exchange.arrived_ns >= exchange.left_ns;
        if is_known {
            exchange.total_ns += exchange.arrived_ns - exchange.left_ns;
        }
        exchange.is_incomplete |= !is_known;
        exchange.is_any_over = true;
        (exchange.has_sent, exchange.has_received) = (false, false);
        (exchange.left_ns, exchange.arrived_ns) = (0, 0);
    }

    /// An execution has ended: how long its exchanges took together, if all stamps came.
    pub fn take_ns(&mut self, index: usize, descriptor: RawFd) -> Option<u64> {
        if self.exchanges[index].has_received {
            self.end_exchange(index, descriptor);
        }
        let ended = std::mem::take(&mut self.exchanges[index]);
        (ended.is_any_over && !ended.is_incomplete && !ended.has_sent).then_some(ended.total_ns)
    }

    /// On which connection the user sent last.
    pub(super) fn link_of(&self, index: usize) -> usize {
        self.exchanges[index].link as usize
    }

    /// Calls that asked for stamps alone, since the last look.
    pub fn take_calls_count(&mut self) -> u64 {
        std::mem::take(&mut self.calls_count)
    }
}

/// True if the executions of a transaction are exchanges that this host begins.
pub(super) fn is_stamped(transaction: &Transaction) -> bool {
    transaction.leads && is_exchange(transaction)
}

/// True if something goes both ways.
fn is_exchange(transaction: &Transaction) -> bool {
    let mut acts = transaction.steps.iter().map(|step| &step.act);
    acts.clone().any(Act::sends) && acts.any(Act::receives)
}

/// Checks that the kernel's stamps can time a workload's executions.
///
/// # Errors
/// They cannot; the reason and what to do.
pub(super) fn check(spec: &TrialSpec, near: &Script) -> Result<(), LoadError> {
    let refuse = |text: &str| Err(LoadError::Usage(format!("kernel_timestamps {text}")));
    if spec.socket.zero_copy {
        return refuse("and zero_copy share one error queue; leave one of them out");
    }
    if !near.transactions().any(is_exchange) {
        return refuse("times requests and responses, and the workload has none; leave it out");
    }
    if near.transactions().any(|transaction| is_exchange(transaction) && transaction.outstanding_count > 1) {
        return refuse("times one request at a time; set outstanding to 1");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    /// Executions of `exchanges` requests and responses, whose server pauses for `think`.
    fn executions(exchanges: u32, think: Duration) -> Vec<(Option<u64>, u64)> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (mut far, _) = listener.accept().expect("comes");
        // What was sent before does not count.
        near.write_all(b"token").expect("sends");
        far.read_exact(&mut [0; 5]).expect("arrives");
        let descriptor = near.as_raw_fd();
        let mut wire = Wire::new(1, 1, true).expect("a socket");
        wire.on_open(0, descriptor);
        let mut bytes = [0; 200];
        let mut execution = |near: &mut TcpStream| {
            let start = Instant::now();
            for _ in 0..exchanges {
                near.write_all(&bytes[..100]).expect("sends");
                wire.on_sent(0, 0, descriptor, 100);
                far.read_exact(&mut bytes[..100]).expect("arrives");
                std::thread::sleep(think);
                far.write_all(&bytes).expect("sends");
                let mut missing = bytes.len();
                while missing > 0 {
                    let (moved, stamp_ns) = stamps::receive(near, &mut bytes[..missing], 0).expect("arrives");
                    wire.on_received(0, 0, descriptor, stamp_ns);
                    missing -= moved;
                }
            }
            let wire_ns = wire.take_ns(0, descriptor);
            (wire_ns, u64::try_from(start.elapsed().as_nanos()).expect("short"))
        };
        // The kernel begins to stamp arrivals a little later than it is asked to.
        let end = Instant::now() + Duration::from_secs(20);
        while execution(&mut near).0.is_none() && Instant::now() < end {}
        (0..10).map(|_| execution(&mut near)).collect()
    }

    #[test]
    fn what_passes_between_the_hosts_is_the_most_of_an_execution_that_waits() {
        let think = Duration::from_millis(3);
        for exchanges in [1, 3] {
            for (wire_ns, all_ns) in executions(exchanges, think) {
                let wire_ns = wire_ns.expect("both stamps of each exchange");
                let least_ns = u64::from(exchanges) * u64::try_from(think.as_nanos()).expect("short");
                assert!(least_ns <= wire_ns && wire_ns <= all_ns, "{least_ns} {wire_ns} {all_ns}");
            }
        }
    }
}
