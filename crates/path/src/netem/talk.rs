//! A netlink socket in one namespace, for disciplines and their counts.

use std::io;

use rtnetlink::packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcHandle, TcHeader, TcMessage};
use rtnetlink::sys::protocols::NETLINK_ROUTE;
use rtnetlink::sys::{Socket, SocketAddr};

use super::answer::{Answer, Message};
use super::counts::Counts;
use super::encode::{TCA_NETEM_PRNG_SEED, messages};
use super::plan::Qdisc;

/// A conversation with the kernel about the namespace it was opened in.
pub struct Talk {
    socket: Socket,
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Talk").finish_non_exhaustive()
    }
}

impl Talk {
    /// Opens it in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Makes `qdisc` the root of device `index`, which has none.
    ///
    /// # Errors
    /// The kernel lacks the discipline (`ENOENT`) or refuses it.
    pub fn add(&self, index: u32, qdisc: &Qdisc) -> io::Result<()> {
        for message in messages(qdisc, signed(index)) {
            self.order(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)?;
        }
        Ok(())
    }

    /// Removes what was added to device `index`. That there is nothing is no error.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn remove(&self, index: u32) -> io::Result<()> {
        let header = TcHeader { index: signed(index), parent: TcHandle::ROOT, ..TcHeader::default() };
        match self.order(RouteNetlinkMessage::DelQueueDiscipline(TcMessage::from_parts(header, Vec::new())), 0) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINVAL)) => Ok(()),
            done => done,
        }
    }

    /// Reads what the disciplines of device `index` have counted.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn counts(&self, index: u32) -> io::Result<Counts> {
        let mut counts = Counts::default();
        self.dump(|answer| {
            if answer.index == signed(index) {
                counts.take_in(answer);
            }
        })?;
        Ok(counts)
    }

    /// True if the netem of device `index` took the seed that it was given.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn is_seeded(&self, index: u32) -> io::Result<bool> {
        let mut is_seeded = false;
        self.dump(|answer| is_seeded |= answer.index == signed(index) && answer.has_netem_option(TCA_NETEM_PRNG_SEED))?;
        Ok(is_seeded)
    }

    fn dump(&self, mut on_answer: impl FnMut(&Answer<'_>)) -> io::Result<()> {
        self.send(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), NLM_F_DUMP)?;
        self.receive(|message| {
            if let Message::Discipline(answer) = message {
                on_answer(answer);
            }
        })
    }

    fn order(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, flags | NLM_F_ACK)?;
        self.receive(|_| {})
    }

    fn send(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut message = NetlinkMessage::from(message);
        message.header.flags = NLM_F_REQUEST | flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }

    /// Hears the kernel out: an acknowledgment or the end of a list.
    fn receive(&self, mut on_message: impl FnMut(&Message<'_>)) -> io::Result<()> {
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            for message in Message::all(&bytes) {
                match message {
                    Message::End => return Ok(()),
                    Message::Refusal(errno) => return Err(io::Error::from_raw_os_error(errno)),
                    Message::Discipline(_) | Message::Other => on_message(&message),
                }
            }
        }
    }
}

/// Netlink's index of a device.
fn signed(index: u32) -> i32 {
    i32::try_from(index).unwrap_or(-1)
}
