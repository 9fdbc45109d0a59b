//! Statistics of the queueing disciplines of this process's namespace, by rtnetlink (`linux/pkt_sched.h`,
//! `linux/gen_stats.h`). Those that never sent a packet and `noqueue`, which holds none, are left out.

use nix::net::if_::if_indextoname;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};
use schema::table::HostCounter;
use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::os::fd::AsRawFd;

use super::Readings;

/// Length of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// Length of `struct tcmsg`.
const MESSAGE_BYTES: usize = 20;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const REQUEST_DUMP: u16 = 0x1 | 0x300;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
/// Attributes carry two flags in their type.
const TYPE_MASK: u16 = 0x3fff;
/// A rate that does not fit in 32 bits stands in an attribute of its own.
const RATE_IS_64: u32 = u32::MAX;
/// The kernel answers at once; nothing waits longer than this for it.
const MAX_WAIT_MS: i64 = 200;

/// Reads all queueing disciplines; those of one kind at one device are one.
pub(super) fn read(readings: &mut Readings) {
    let mut sums: BTreeMap<(String, String), Queue> = BTreeMap::new();
    for queue in dump().unwrap_or_default() {
        let Ok(device) = if_indextoname(queue.device) else { continue };
        sums.entry((device.to_string_lossy().into_owned(), queue.kind.clone())).or_default().add(&queue);
    }
    for ((device, kind), queue) in sums {
        if kind == "noqueue" || queue.packets == 0 {
            continue;
        }
        readings.extend(queue.values().map(|(counter, value)| ((counter, device.clone(), kind.clone()), value)));
    }
}

/// One queueing discipline, or several of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Queue {
    device: c_uint,
    kind: String,
    packets: u64,
    dropped: u64,
    overlimits: u64,
    requeues: u64,
    backlog_bytes: u64,
    rate_bps: Option<u64>,
    limit_bytes: Option<u64>,
    limit_packets: Option<u64>,
}

impl Queue {
    /// Adds another one's counts; of limits the smallest holds.
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.dropped += other.dropped;
        self.overlimits += other.overlimits;
        self.requeues += other.requeues;
        self.backlog_bytes += other.backlog_bytes;
        let least = |left: Option<u64>, right: Option<u64>| left.into_iter().chain(right).min();
        self.rate_bps = least(self.rate_bps, other.rate_bps);
        self.limit_bytes = least(self.limit_bytes, other.limit_bytes);
        self.limit_packets = least(self.limit_packets, other.limit_packets);
    }

    /// The values that the record has of it; a limit that the kind does not have is left out.
    fn values(&self) -> impl Iterator<Item = (HostCounter, Option<u64>)> {
        use HostCounter as C;
        let counts = [
            (C::QdiscSent, self.packets),
            (C::QdiscDropped, self.dropped),
            (C::QdiscOverlimits, self.overlimits),
            (C::QdiscRequeues, self.requeues),
            (C::QdiscBacklog, self.backlog_bytes),
        ];
        let limits = [(C::QdiscRate, self.rate_bps), (C::QdiscLimit, self.limit_bytes), (C::QdiscPacketLimit, self.limit_packets)];
        let known = limits.into_iter().filter_map(|(counter, limit)| Some((counter, limit?)));
        counts.into_iter().chain(known).map(|(counter, value)| (counter, Some(value)))
    }
}

/// All queueing disciplines of the namespace.
fn dump() -> nix::Result<Vec<Queue>> {
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(netlink.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    setsockopt(&netlink, ReceiveTimeout, &TimeVal::milliseconds(MAX_WAIT_MS))?;
    send(netlink.as_raw_fd(), &request(), MsgFlags::empty())?;
    let mut found = Vec::new();
    let mut reply = vec![0; 1 << 16];
    loop {
        let length = recv(netlink.as_raw_fd(), &mut reply, MsgFlags::empty())?;
        let mut rest = &reply[..length];
        while let Some((message_type, body, after)) = message(rest) {
            match message_type {
                RTM_NEWQDISC => found.extend(queue(body)),
                NLMSG_DONE => return Ok(found),
                _ => return Err(nix::errno::Errno::EPROTO),
            }
            rest = after;
        }
        if length == 0 {
            return Ok(found);
        }
    }
}

fn request() -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = u32::try_from(HEADER_BYTES + MESSAGE_BYTES).unwrap_or_default();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(RTM_GETQDISC.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.resize(HEADER_BYTES + MESSAGE_BYTES, 0);
    bytes
}

/// The first message's type, its body, and what comes behind it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let body = bytes.get(HEADER_BYTES..length)?;
    Some((u16_at(bytes, 4)?, body, bytes.get(aligned(length)..).unwrap_or_default()))
}

fn queue(body: &[u8]) -> Option<Queue> {
    let mut found = Queue { device: u32_at(body, 4)?, ..Queue::default() };
    let mut options = None;
    for (attribute, value) in Attributes(body.get(MESSAGE_BYTES..)?) {
        match attribute {
            TCA_KIND => value.split(|byte| *byte == 0).next()?.escape_ascii().to_string().clone_into(&mut found.kind),
            TCA_OPTIONS => options = Some(value),
            TCA_STATS2 => found.on_statistics(value),
            _ => {}
        }
    }
    if let Some(options) = options {
        found.on_options(options);
    }
    Some(found)
}

impl Queue {
    fn on_statistics(&mut self, nested: &[u8]) {
        for (attribute, value) in Attributes(nested) {
            match attribute {
                // struct gnet_stats_basic: bytes, packets
                TCA_STATS_BASIC => self.packets = number(value, 8),
                // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
                TCA_STATS_QUEUE => {
                    self.backlog_bytes = number(value, 4);
                    self.dropped = number(value, 8);
                    self.requeues = number(value, 12);
                    self.overlimits = number(value, 16);
                }
                _ => {}
            }
        }
    }

    fn on_options(&mut self, options: &[u8]) {
        match self.kind.as_str() {
            "tbf" => self.on_token_bucket(options),
            // struct tc_fifo_qopt
            "pfifo" => self.limit_packets = u32_at(options, 0).map(u64::from),
            "bfifo" => self.limit_bytes = u32_at(options, 0).map(u64::from),
            _ => {}
        }
    }

    fn on_token_bucket(&mut self, options: &[u8]) {
        let mut large = None;
        let mut bytes_per_s = None;
        for (attribute, value) in Attributes(options) {
            match attribute {
                TCA_TBF_RATE64 => large = value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)),
                // struct tc_tbf_qopt: two tc_ratespec of 12 bytes, whose last 4 are the rate; then the limit
                TCA_TBF_PARMS => {
                    bytes_per_s = u32_at(value, 8);
                    self.limit_bytes = u32_at(value, 24).map(u64::from);
                }
                _ => {}
            }
        }
        let rate = bytes_per_s.filter(|rate| *rate != RATE_IS_64).map(u64::from).or(large);
        self.rate_bps = rate.map(|rate| rate.saturating_mul(8));
    }
}

/// Attributes with their types, one after the other (`struct nlattr`).
struct Attributes<'bytes>(&'bytes [u8]);

impl<'bytes> Iterator for Attributes<'bytes> {
    type Item = (u16, &'bytes [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.0, 0)?);
        let attribute = u16_at(self.0, 2)? & TYPE_MASK;
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(aligned(length)..).unwrap_or_default();
        Some((attribute, value))
    }
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], position: usize) -> Option<u16> {
    bytes.get(position..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

fn u32_at(bytes: &[u8], position: usize) -> Option<u32> {
    bytes.get(position..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// A number of 32 bits, 0 where the kernel wrote less.
fn number(bytes: &[u8], position: usize) -> u64 {
    u64::from(u32_at(bytes, position).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(attribute: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        let mut bytes = [length.to_ne_bytes(), attribute.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn as_bytes(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn a_token_bucket_has_its_counts_its_rate_and_its_limit() {
        let parameters = as_bytes(&[0, 0, 12_500_000, 0, 0, 0, 65_536, 0, 0]);
        let queue_counts = as_bytes(&[3, 4_542, 17, 2, 900]);
        let statistics = [attribute(TCA_STATS_BASIC, &as_bytes(&[1_000, 0, 77, 0])), attribute(TCA_STATS_QUEUE, &queue_counts)].concat();
        let mut body = as_bytes(&[0, 5, 0, 0, 0]);
        // Options come before the kind where a kernel sends them so.
        body.extend(attribute(TCA_OPTIONS, &attribute(TCA_TBF_PARMS, &parameters)));
        body.extend(attribute(TCA_KIND, b"tbf\0"));
        body.extend(attribute(TCA_STATS2, &statistics));
        let expected = Queue {
            device: 5,
            kind: "tbf".to_owned(),
            packets: 77,
            dropped: 17,
            overlimits: 900,
            requeues: 2,
            backlog_bytes: 4_542,
            rate_bps: Some(100_000_000),
            limit_bytes: Some(65_536),
            limit_packets: None,
        };
        assert_eq!(queue(&body), Some(expected));
    }

    #[test]
    fn a_rate_above_32_bits_is_read_from_its_own_attribute() {
        let parameters = as_bytes(&[0, 0, RATE_IS_64, 0, 0, 0, 1, 0, 0]);
        let options = [attribute(TCA_TBF_PARMS, &parameters), attribute(TCA_TBF_RATE64, &5_000_000_000_u64.to_ne_bytes())].concat();
        let mut queue = Queue { kind: "tbf".to_owned(), ..Queue::default() };
        queue.on_options(&options);
        assert_eq!(queue.rate_bps, Some(40_000_000_000));
    }

    #[test]
    fn messages_that_are_cut_give_nothing() {
        for length in 0..MESSAGE_BYTES {
            assert_eq!(queue(&vec![0; length]), None);
        }
        assert_eq!(message(&[0; 8]), None);
        assert_eq!(Attributes(&[200, 0, 1, 0, 0]).count(), 0);
    }

    #[test]
    fn the_kernel_answers() {
        assert!(!dump().expect("rtnetlink").is_empty(), "every namespace has lo with its queue");
    }
}
