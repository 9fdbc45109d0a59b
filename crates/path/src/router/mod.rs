//! The emulated path on the wire: a router in user space between two devices in the path namespace.
//!
//! Crossing traffic is seen through two packet sockets, frame by frame as the ends hand them to their
//! devices: super-segments of up to 64 KiB come in whole, with the instant at which the kernel saw
//! them. The model ([`emulate`]) decides over each packet of the wire that they stand for; what it
//! lets pass leaves when it is due, as large as it can. Everything that crosses is a packet of the
//! path, whatever its protocol; addresses are not looked at.
//!
//! - `vnet`, `socket`: the kernel's interface.
//! - `anatomy`, `slice`, `checksum`: what is in a frame, and cutting packets out of it.
//! - `frames`, `release`: what is under way, and what leaves together.
//! - `pace`, `audit`: waking in time, and counting where that failed.
//! - `forwarder`: the thread.

mod anatomy;
mod audit;
mod checksum;
mod forwarder;
mod frames;
mod pace;
mod release;
mod slice;
mod socket;
mod vnet;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use nix::sys::eventfd::EventFd;
use schema::path::PathSpec;

pub use audit::{Departed, Released};
pub use forwarder::Carried;
use forwarder::{Forwarder, Order};
pub(crate) use pace::{mono_ns, thread_cpu_ns};
pub(crate) use socket::PacketSocket;

/// A router that runs. It ends when it is dropped.
#[derive(Debug)]
pub struct Router {
    orders: Option<Sender<Order>>,
    alarm: Arc<EventFd>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    /// Starts a router between two sockets, that of the near host's side first, on `cpu` or any. It
    /// lets everything pass at once until another order comes.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(sockets: [PacketSocket; 2], cpu: Option<u32>) -> io::Result<Self> {
        let (orders, received) = channel();
        let alarm = Arc::new(EventFd::new()?);
        let stop = Arc::new(AtomicBool::new(false));
        let (thread_alarm, thread_stop) = (Arc::clone(&alarm), Arc::clone(&stop));
        let thread = thread::Builder::new()
            .name("router".to_owned())
            .spawn(move || Forwarder::new(sockets, cpu).run(&received, &thread_alarm, &thread_stop))?;
        Ok(Self { orders: Some(orders), alarm, stop, thread: Some(thread) })
    }

    /// Becomes the path of `spec`, without its losses until it begins. What leaves later than
    /// `budget_ns` after it was due is counted.
    ///
    /// # Errors
    /// The router's thread is gone.
    pub fn carry(&self, spec: &PathSpec, budget_ns: u64) -> io::Result<()> {
        self.order(|done| Order::Carry(Box::new(spec.clone()), budget_ns, done))
    }

    /// From `at_mono_ns` on (`CLOCK_MONOTONIC`) it is all of the path and counts what it does.
    ///
    /// # Errors
    /// The router's thread is gone.
    pub fn start_path(&self, at_mono_ns: u64) -> io::Result<()> {
        self.order(|done| Order::Begin(at_mono_ns, done))
    }

    /// Lets everything pass again, and reports what was since the start.
    ///
    /// # Errors
    /// The router's thread is gone.
    pub fn end(&self) -> io::Result<Carried> {
        self.order(Order::End)
    }

    fn order<T>(&self, order: impl FnOnce(SyncSender<T>) -> Order) -> io::Result<T> {
        let gone = || io::Error::other("the router's thread has ended");
        let (done, answer): (SyncSender<T>, Receiver<T>) = sync_channel(1);
        self.orders.as_ref().ok_or_else(gone)?.send(order(done)).map_err(|_| gone())?;
        self.alarm.write(1)?;
        answer.recv().map_err(|_| gone())
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.orders = None;
        let _ = self.alarm.write(1);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported on standard error.
            let _ = thread.join();
        }
    }
}
