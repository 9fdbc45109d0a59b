//! The kernel's answers over netlink about disciplines, taken apart.
//!
//! The library's own parser takes the options of a discipline for attributes; netem's begin with a
//! structure.

use rtnetlink::packet_route::tc::{TcHandle, TcHeader, TcStatsBasic, TcStatsQueue};

/// Bytes of `struct nlmsghdr`.
const MESSAGE_HEADER_BYTES: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
/// Bytes of `struct tcmsg`.
const TC_HEADER_BYTES: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
/// Bytes of `struct tc_netem_qopt`.
const NETEM_OPTIONS_BYTES: usize = 24;

/// A message of the kernel.
#[derive(Debug)]
pub enum Message<'a> {
    /// An acknowledgment, or the end of a list.
    End,
    /// An error, as its positive number.
    Refusal(i32),
    /// A discipline.
    Discipline(Answer<'a>),
    /// Anything else.
    Other,
}

impl<'a> Message<'a> {
    /// The messages of a datagram.
    pub fn all(mut bytes: &'a [u8]) -> impl Iterator<Item = Message<'a>> {
        std::iter::from_fn(move || {
            let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
            let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
            let body = bytes.get(MESSAGE_HEADER_BYTES..length)?;
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some(match kind {
                NLMSG_DONE => Message::End,
                NLMSG_ERROR => match body.get(..4).and_then(|number| number.try_into().ok()).map(i32::from_ne_bytes) {
                    Some(0) => Message::End,
                    errno => Message::Refusal(-errno.unwrap_or(-libc::EPROTO)),
                },
                RTM_NEWQDISC => Answer::of(body).map_or(Message::Other, Message::Discipline),
                _ => Message::Other,
            })
        })
    }
}

/// A discipline of a device.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Index of the device.
    pub index: i32,
    /// Handle of the discipline.
    pub handle: TcHandle,
    /// Its name.
    pub kind: &'a str,
    options: &'a [u8],
    /// Packets and bytes that left.
    pub basic: TcStatsBasic,
    /// The queue and what became of what did not leave.
    pub queue: TcStatsQueue,
    /// Statistics that only this discipline has.
    pub own: &'a [u8],
}

impl<'a> Answer<'a> {
    fn of(body: &'a [u8]) -> Option<Self> {
        let header = TcHeader::parse(body).ok()?;
        let mut answer = Answer {
            index: header.index,
            handle: header.handle,
            kind: "",
            options: &[],
            basic: TcStatsBasic::default(),
            queue: TcStatsQueue::default(),
            own: &[],
        };
        for (kind, value) in attributes(body.get(TC_HEADER_BYTES..)?) {
            match kind {
                TCA_KIND => answer.kind = std::str::from_utf8(value).ok()?.trim_end_matches('\0'),
                TCA_OPTIONS => answer.options = value,
                TCA_STATS2 => answer.take_statistics(value),
                _ => {}
            }
        }
        Some(answer)
    }

    fn take_statistics(&mut self, value: &'a [u8]) {
        for (kind, value) in attributes(value) {
            match kind {
                TCA_STATS_BASIC => self.basic = TcStatsBasic::parse(value).unwrap_or_default(),
                TCA_STATS_QUEUE => self.queue = TcStatsQueue::parse(value).unwrap_or_default(),
                TCA_STATS_APP => self.own = value,
                _ => {}
            }
        }
    }

    /// A number of 32 bits in its own statistics, by its place.
    pub fn own_word(&self, place: usize) -> u32 {
        let bytes = self.own.get(4 * place..4 * place + 4);
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    /// True if it is a netem with an option of this kind.
    pub fn has_netem_option(&self, wanted: u16) -> bool {
        self.kind == "netem" && self.options.get(NETEM_OPTIONS_BYTES..).is_some_and(|rest| attributes(rest).any(|(kind, _)| kind == wanted))
    }
}

/// The attributes (`struct nlattr`) in `bytes`, as far as they are whole.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// The kind without the flags "nested" and "network byte order".
    const KIND: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let half = |place: usize| bytes.get(place..place + 2)?.try_into().ok().map(u16::from_ne_bytes);
        let (length, kind) = (usize::from(half(0)?), half(2)? & KIND);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}
