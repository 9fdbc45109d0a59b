//! Connections over UDP that a workload opens and closes while it runs.
//!
//! Each has a socket of its own at both hosts. The end that connects sends a preamble and waits for its welcome, which
//! takes a round trip; what is lost of both is sent again. The other host welcomes whoever comes with the token, as a
//! kernel accepts a stream, and keeps the connection until its user asks for it. Nothing is sent to close one.

use probe::clock::mono_ns;
use schema::workload::Transport;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use workload::user::Direction;

use super::arriving::ACCEPTS_AT_ONCE;
use super::connections::{Link, NO_DESCRIPTOR};
use super::datagrams::{Flow, is_of_another};
use super::ledger::Kind;
use super::orders::{Arrival, Order};
use super::sys;
use super::worker::Worker;
use crate::LoadError;
use crate::options;
use crate::preamble::{FLOW_BYTES, FlowPreamble};

/// Time that a preamble waits for its welcome before it is sent again.
const AGAIN_AFTER_NS: u64 = 50_000_000;
/// Time that a connection may take to open.
const CONNECT_TIMEOUT_NS: u64 = 5_000_000_000;
/// Bytes of the number in front of each datagram.
const NUMBER_BYTES: usize = workload::datagram_order::MAX_NUMBER_BYTES;

impl Worker {
    /// Opens a connection, in place of the one that an execution which failed has left open.
    pub(super) fn connect_flow(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        let link = (self.slots[index].first_link + connection) as usize;
        let number = self.slots[index].user.datagram_number(&self.plan.script);
        if !(self.links[link].must_greet && self.flows.flows[link].number == number) {
            self.close(link);
            self.begin_link(index, link)?;
            self.flows.flows[link] = Flow::opened_by(number);
        }
        if self.is_welcome(index, link)? {
            self.links[link].must_greet = false;
            self.now_ns = mono_ns();
            if let Some(row) = row {
                self.tally.latencies.lock().record_since(row, Kind::Connect, self.slots[index].opening_ns, self.now_ns);
            }
            self.slots[index].user.on_done(self.now_ns);
            return Ok(());
        }
        let now_ns = mono_ns();
        if now_ns.saturating_sub(self.slots[index].opening_ns) >= CONNECT_TIMEOUT_NS {
            self.close(link);
            let place = &self.shared.openings.place;
            let text = format!("no answer within 5 s from {place} to the datagrams that open a connection; is a firewall in between?");
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
        if now_ns >= self.flows.flows[link].asked_ns.saturating_add(AGAIN_AFTER_NS) {
            self.greet_flow(index, link, false);
            self.flows.flows[link].asked_ns = now_ns;
        }
        self.look_again_at(index, self.flows.flows[link].asked_ns + AGAIN_AFTER_NS);
        self.refused(ErrorKind::WouldBlock.into(), index, link, Direction::Receive)
    }

    /// Looks whether the welcome of a connection has come. Nothing else can be awaited on it yet.
    fn is_welcome(&mut self, index: usize, link: usize) -> io::Result<bool> {
        if self.flows.flows[link].asked_ns == 0 {
            return Ok(false);
        }
        let awaited = FlowPreamble { is_welcome: true, user: self.slots[index].user.number(), number: self.flows.flows[link].number };
        loop {
            self.slots[index].other_calls_count += 1;
            match sys::receive(self.links[link].descriptor, &mut self.buffers.sink, libc::MSG_DONTWAIT) {
                Ok(moved) if FlowPreamble::decode(&self.shared.openings.token, &self.buffers.sink[..moved]) == Some(awaited) => {
                    return Ok(true);
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted || is_of_another(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends the preamble of a connection, or its welcome.
    fn greet_flow(&mut self, index: usize, link: usize, is_welcome: bool) {
        let preamble = FlowPreamble { is_welcome, user: self.slots[index].user.number(), number: self.flows.flows[link].number };
        let bytes = preamble.encode(&self.shared.openings.token);
        let descriptor = self.links[link].descriptor;
        self.slots[index].other_calls_count += 1;
        // The first call may report what became of another datagram. What is not sent is lost, and sent again.
        if sys::send(descriptor, &bytes, libc::MSG_DONTWAIT).is_err_and(|error| is_of_another(&error)) {
            let _ = sys::send(descriptor, &bytes, libc::MSG_DONTWAIT);
        }
        if let Some(wire) = &mut self.wire {
            wire.pass_over(link, 1);
        }
    }

    /// Answers a preamble in the sink that came again: its welcome was lost.
    pub(super) fn welcome_again(&mut self, link: usize, moved: usize) {
        let index = self.links[link].slot as usize;
        let again = FlowPreamble { is_welcome: false, user: self.slots[index].user.number(), number: self.flows.flows[link].number };
        if FlowPreamble::decode(&self.shared.openings.token, &self.buffers.sink[..moved]) == Some(again) {
            self.greet_flow(index, link, true);
        }
    }

    /// Takes the connection that the other host has opened for this user, if it is there.
    pub(super) fn accept_flow(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        let slot = &mut self.slots[index];
        let number = slot.user.datagram_number(&self.plan.script);
        // Those of executions that were given up.
        slot.arrivals.retain(|arrival| arrival.ordinal >= number);
        let Some(position) = slot.arrivals.iter().position(|arrival| arrival.ordinal == number) else {
            if slot.user.is_skipping(&self.plan.script) {
                slot.user.on_absent();
                return Ok(());
            }
            return self.await_datagram(index, row, None);
        };
        let arrival = slot.arrivals.swap_remove(position);
        let link = (slot.first_link + connection) as usize;
        self.close(link);
        self.links[link] = Link::arrived(arrival.descriptor.into_raw_fd(), self.links[link].slot, 0);
        self.flows.flows[link] = Flow::opened_by(number);
        self.flows.users[index].patience_until_ns = 0;
        self.ask_for_stamps(link);
        self.slots[index].user.on_done(self.now_ns);
        Ok(())
    }

    /// Closes a connection, or finds that it was never opened: its execution has failed before.
    pub(super) fn close_flow(&mut self, index: usize, connection: u32) {
        let link = (self.slots[index].first_link + connection) as usize;
        self.slots[index].other_calls_count += u64::from(self.links[link].descriptor != NO_DESCRIPTOR);
        self.close(link);
        self.flows.flows[link] = Flow::default();
        self.slots[index].user.on_done(self.now_ns);
    }

    /// Takes first datagrams at a port.
    pub(super) fn on_receiver(&mut self, port: usize) {
        let openings = Arc::clone(&self.shared.openings);
        let Some(receiver) = openings.receivers.get(port) else { return };
        self.take_preambles(receiver, receiver);
    }

    /// Takes what is at a socket. A flow's own socket is there for all until it is connected, so it may have got
    /// what was meant for the port's.
    fn take_preambles(&mut self, socket: &UdpSocket, receiver: &UdpSocket) {
        let mut bytes = [0; FLOW_BYTES + 1];
        for _ in 0..ACCEPTS_AT_ONCE {
            match socket.recv_from(&mut bytes) {
                Ok((count, peer)) => match FlowPreamble::decode(&self.shared.openings.token, &bytes[..count]) {
                    Some(preamble) if !preamble.is_welcome => {
                        // Whoever is not answered asks again.
                        let _ = self.open_flow(preamble, peer, receiver);
                    }
                    Some(_) => {}
                    None if self.is_payload(&bytes[..count]) => {}
                    None => self.on_unauthenticated(),
                },
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// True if a datagram looks like one of this load, on a flow that is closed already.
    fn is_payload(&self, bytes: &[u8]) -> bool {
        let length = bytes.len().min(self.buffers.source.len());
        bytes.get(NUMBER_BYTES..length).is_none_or(|behind| *behind == self.buffers.source[NUMBER_BYTES..length])
    }

    /// Makes the socket of a flow and hands it to its user's thread.
    fn open_flow(&mut self, preamble: FlowPreamble, peer: SocketAddr, receiver: &UdpSocket) -> Result<(), LoadError> {
        let failed = |error: io::Error| LoadError::host("opening a flow of datagrams", error, "");
        let local = SocketAddr::new(self.shared.openings.local_ip, receiver.local_addr().map_err(failed)?.port());
        let domain = socket2::Domain::for_address(local);
        let socket = options::prepare(domain, Transport::Udp, &self.plan.socket_spec, self.plan.role)?;
        socket.set_reuse_port(true).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        socket.bind(&local.into()).map_err(failed)?;
        socket.connect(&peer.into()).map_err(failed)?;
        let socket = UdpSocket::from(socket);
        self.take_preambles(&socket, receiver);
        let FlowPreamble { user, number, .. } = preamble;
        self.hand_over(Arrival { user, ordinal: number, descriptor: OwnedFd::from(socket), credit_bytes: 0, tls: None });
        Ok(())
    }

    /// Gives a connection to the thread of its user.
    pub(super) fn hand_over(&mut self, arrival: Arrival) {
        match self.shared.inboxes.get(arrival.user as usize % self.shared.inboxes.len().max(1)) {
            Some(inbox) if !Arc::ptr_eq(inbox, &self.shared.inbox) => inbox.push(Order::Adopt(arrival)),
            _ => self.adopt(arrival),
        }
    }

    /// True if a flow that has come is here already, or too late: its preamble came again.
    pub(super) fn is_known_flow(&self, index: usize, number: u64) -> bool {
        let slot = &self.slots[index];
        slot.arrivals.iter().any(|arrival| arrival.ordinal == number) || number < slot.user.datagram_number(&self.plan.script)
    }

    /// Welcomes a flow that its user can take from now on.
    pub(super) fn welcome_flow(&mut self, index: usize, arrival: &Arrival) {
        let welcome = FlowPreamble { is_welcome: true, user: arrival.user, number: arrival.ordinal };
        self.slots[index].other_calls_count += 1;
        // One that is lost is asked for again.
        let _ = sys::send(arrival.descriptor.as_raw_fd(), &welcome.encode(&self.shared.openings.token), libc::MSG_DONTWAIT);
    }
}
