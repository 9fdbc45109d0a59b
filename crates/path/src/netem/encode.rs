//! Disciplines as messages of rtnetlink (`include/uapi/linux/pkt_sched.h`, `rtnetlink.h`).

use rtnetlink::packet_core::DefaultNla;
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcHeader, TcMessage};

use super::plan::{Child, Loss, Netem, Qdisc, Tbf};
use super::red::Red;

/// Handle of the root discipline.
pub const ROOT: TcHandle = TcHandle { major: 1, minor: 0 };
/// The class of the root in which its queue lies.
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
/// Handle of the discipline in it.
pub const CHILD: TcHandle = TcHandle { major: 2, minor: 0 };

const TCA_OPTIONS: u16 = 2;

const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
/// Since Linux 6.6. An older kernel ignores it.
pub const TCA_NETEM_PRNG_SEED: u16 = 14;
const NETEM_LOSS_GE: u16 = 2;

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
/// `TC_LINKLAYER_ETHERNET`: what a packet takes is its length over the rate, no table needed.
const LINK_LAYER_ETHERNET: u8 = 1;

const TCA_CODEL_TARGET: u16 = 1;
const TCA_CODEL_LIMIT: u16 = 2;
const TCA_CODEL_INTERVAL: u16 = 3;
const TCA_CODEL_ECN: u16 = 4;

const TCA_RED_PARMS: u16 = 1;
const TCA_RED_STAB: u16 = 2;
const TCA_RED_MAX_P: u16 = 3;
const TC_RED_ECN: u8 = 1;
/// Above the upper threshold it drops, and does not mark.
const TC_RED_HARDDROP: u8 = 2;

/// The messages that make `qdisc` the root of device `index`, one after the other.
pub fn messages(qdisc: &Qdisc, index: i32) -> Vec<TcMessage> {
    let message = |handle, parent, kind: &str, options: Options| {
        // `Options` of the library holds attributes only, and netem's begin with a structure.
        let options = TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options.0));
        TcMessage::from_parts(TcHeader { index, handle, parent, ..TcHeader::default() }, vec![TcAttribute::Kind(kind.to_owned()), options])
    };
    match qdisc {
        Qdisc::Netem(settings) => vec![message(ROOT, TcHandle::ROOT, "netem", netem(settings))],
        Qdisc::Tbf(settings) => {
            let mut messages = vec![message(ROOT, TcHandle::ROOT, "tbf", tbf(settings))];
            match &settings.child {
                // Its own queue is one of bytes already.
                Child::Bytes(_) => {}
                Child::Codel { limit_packets, target_us, interval_us, ecn } => {
                    let codel = Options::default()
                        .put(TCA_CODEL_TARGET, &target_us.to_ne_bytes())
                        .put(TCA_CODEL_LIMIT, &limit_packets.to_ne_bytes())
                        .put(TCA_CODEL_INTERVAL, &interval_us.to_ne_bytes())
                        .put(TCA_CODEL_ECN, &u32::from(*ecn).to_ne_bytes());
                    messages.push(message(CHILD, CLASS, "codel", codel));
                }
                Child::Red(settings) => messages.push(message(CHILD, CLASS, "red", red(settings))),
            }
            messages
        }
    }
}

/// The value of `TCA_OPTIONS`.
#[derive(Debug, Default)]
struct Options(Vec<u8>);

impl Options {
    /// Adds an attribute (`struct nlattr`).
    fn put(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

fn to_bytes<const N: usize>(numbers: [u32; N]) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_ne_bytes).collect()
}

fn netem(settings: &Netem) -> Options {
    let probability = match settings.loss {
        Loss::Random(share) => share.0,
        Loss::Chain(_) => 0,
    };
    // A gap of 1: each packet may be reordered.
    let gap = u32::from(settings.reorder.0 > 0);
    // struct tc_netem_qopt: latency (set below), limit, loss, gap, duplicate, jitter (set below).
    let mut options = Options(to_bytes([0, settings.limit_packets, probability, gap, settings.duplicate.0, 0]))
        .put(TCA_NETEM_LATENCY64, &settings.delay_ns.to_ne_bytes())
        .put(TCA_NETEM_JITTER64, &settings.jitter_ns.to_ne_bytes());
    if settings.reorder.0 > 0 {
        // struct tc_netem_reorder: probability, correlation.
        options = options.put(TCA_NETEM_REORDER, &to_bytes([settings.reorder.0, 0]));
    }
    if let Loss::Chain(chain) = settings.loss {
        // struct tc_netem_gemodel
        let nested = Options::default().put(NETEM_LOSS_GE, &to_bytes(chain.map(|share| share.0)));
        options = options.put(TCA_NETEM_LOSS, &nested.0);
    }
    if settings.rate_bytes_per_s > 0 {
        let (rate, rest) = split_rate(settings.rate_bytes_per_s);
        // struct tc_netem_rate: rate, packet overhead, cell size, cell overhead.
        options = options.put(TCA_NETEM_RATE, &to_bytes([rate, 0, 0, 0]));
        if let Some(rate64) = rest {
            options = options.put(TCA_NETEM_RATE64, &rate64.to_ne_bytes());
        }
    }
    match settings.seed {
        Some(seed) => options.put(TCA_NETEM_PRNG_SEED, &seed.to_ne_bytes()),
        None => options,
    }
}

fn tbf(settings: &Tbf) -> Options {
    let (rate, rest) = split_rate(settings.rate_bytes_per_s);
    // struct tc_ratespec: cell log, link layer, overhead, cell align, least packet unit, rate.
    let mut parameters = vec![0, LINK_LAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    parameters.extend(rate.to_ne_bytes());
    // struct tc_tbf_qopt: rate, peak rate (none), limit, buffer (set below), mtu.
    parameters.extend([0; 12]);
    parameters.extend(to_bytes([settings.child.bucket_limit_bytes(), 0, 0]));
    let mut options = Options::default().put(TCA_TBF_PARMS, &parameters).put(TCA_TBF_BURST, &settings.burst_bytes.to_ne_bytes());
    if let Some(rate64) = rest {
        options = options.put(TCA_TBF_RATE64, &rate64.to_ne_bytes());
    }
    options
}

fn red(settings: &Red) -> Options {
    let (table, log) = settings.idle_table();
    let flags = if settings.ecn { TC_RED_ECN | TC_RED_HARDDROP } else { 0 };
    // struct tc_red_qopt: limit, thresholds; logs of the weight, of the probability (set below) and
    // of the table's steps; flags.
    let mut parameters = to_bytes([settings.limit_bytes, settings.min_bytes, settings.max_bytes]);
    parameters.extend([settings.weight_log, 0, log, flags]);
    Options::default().put(TCA_RED_PARMS, &parameters).put(TCA_RED_STAB, &table).put(TCA_RED_MAX_P, &settings.probability.to_ne_bytes())
}

/// A rate as the field of 32 bits has it, and whole where it does not fit.
fn split_rate(bytes_per_s: u64) -> (u32, Option<u64>) {
    match u32::try_from(bytes_per_s) {
        Ok(rate) => (rate, None),
        Err(_) => (u32::MAX, Some(bytes_per_s)),
    }
}
