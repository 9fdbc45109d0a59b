//! Checks whether a path can be carried out, and if not, says what to change.

use super::{BILLION, CrossTraffic, DirectionSpec, Discipline, ETHERNET_HEADER_BYTES, LossSpec, PathSpec, QueueLimit};

/// The fault of a path, and what to do, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("path {place}: {sentence}")]
pub struct PathSpecError {
    /// Where: `forward`, `backward` or `as a whole`.
    pub place: &'static str,
    /// The fault, and what to do about it.
    pub sentence: String,
}

/// Longest delay or interval: a minute. Longer ones are slips of a unit.
const LONGEST_NS: u64 = 60_000_000_000;
/// Lowest rate: below it a packet of 1514 bytes takes more than 12 s.
const LOWEST_RATE_BPS: u64 = 1_000;
/// Highest rate, a terabit a second.
const HIGHEST_RATE_BPS: u64 = 1_000_000_000_000;
/// An IP packet of version 4 with a UDP header and nothing in it, on Ethernet.
const SMALLEST_CROSS_PACKET_BYTES: u32 = 42;

impl PathSpec {
    /// Checks everything that can be known without a host.
    ///
    /// # Errors
    /// With what is wrong, and what to do.
    pub fn validate(&self, mtu_bytes: u32) -> Result<(), PathSpecError> {
        if !(100_000..=LONGEST_NS).contains(&self.interval_ns) {
            return Err(PathSpecError {
                place: "as a whole",
                sentence: format!("an interval of {} ns; choose 0.1 ms to 60 s", self.interval_ns),
            });
        }
        for (place, direction) in [("forward", &self.forward), ("backward", &self.backward)] {
            self.check(direction, mtu_bytes).map_err(|sentence| PathSpecError { place, sentence })?;
        }
        Ok(())
    }

    fn check(&self, direction: &DirectionSpec, mtu_bytes: u32) -> Result<(), String> {
        check_delay(direction)?;
        check_probability("reorder_per_billion", direction.reorder_per_billion)?;
        check_probability("duplicate_per_billion", direction.duplicate_per_billion)?;
        check_loss(&direction.loss)?;
        let Some(rate_bps) = direction.rate_bps else {
            return check_unlimited(direction);
        };
        if !(LOWEST_RATE_BPS..=HIGHEST_RATE_BPS).contains(&rate_bps) {
            return Err(format!("a rate of {rate_bps} bit/s; choose 1 kbit/s to 1 Tbit/s, or none for an unlimited one"));
        }
        let limit_bytes = self.check_limit(direction, mtu_bytes)?;
        check_discipline(direction, limit_bytes)?;
        direction.cross_traffic.iter().try_for_each(check_cross_traffic)
    }

    /// The limit in bytes, or as many as its packets have at most.
    fn check_limit(&self, direction: &DirectionSpec, mtu_bytes: u32) -> Result<u64, String> {
        let packet_bytes = u64::from(mtu_bytes + ETHERNET_HEADER_BYTES);
        match self.queue_limit(direction) {
            Some(QueueLimit::Packets { packets: 0 }) => Err("a queue of 0 packets passes none; choose at least 1".to_owned()),
            Some(QueueLimit::Packets { packets }) => Ok(packets.saturating_mul(packet_bytes)),
            Some(QueueLimit::Bytes { bytes }) if bytes < packet_bytes => Err(match direction.queue.limit {
                QueueLimit::BandwidthDelayProduct => format!(
                    "the bandwidth-delay product is {bytes} bytes, less than a packet of {packet_bytes}; give the queue in packets or bytes, or a longer delay"
                ),
                _ => format!("a queue of {bytes} bytes holds no packet of {packet_bytes} bytes; choose at least that"),
            }),
            Some(QueueLimit::Bytes { bytes }) => Ok(bytes),
            Some(QueueLimit::BandwidthDelayProduct) | None => Ok(u64::MAX),
        }
    }
}

fn check_delay(direction: &DirectionSpec) -> Result<(), String> {
    if direction.delay_ns > LONGEST_NS {
        return Err(format!("a delay of {} ns; choose a minute at most", direction.delay_ns));
    }
    if direction.jitter_ns > direction.delay_ns {
        return Err(format!(
            "a jitter of {} ns around a delay of {} ns would send packets before they came; choose less jitter or more delay",
            direction.jitter_ns, direction.delay_ns
        ));
    }
    if direction.reorder_per_billion > 0 && direction.delay_ns == 0 {
        return Err("reordering lets packets skip the delay, and there is none; give a delay".to_owned());
    }
    Ok(())
}

fn check_probability(name: &str, per_billion: u32) -> Result<(), String> {
    if per_billion > BILLION {
        return Err(format!("{name} is {per_billion}, more than {BILLION}, which is a probability of 1"));
    }
    Ok(())
}

fn check_loss(loss: &LossSpec) -> Result<(), String> {
    match loss {
        LossSpec::None => Ok(()),
        LossSpec::Random { probability_per_billion } => check_probability("probability_per_billion", *probability_per_billion),
        LossSpec::GilbertElliott { good_to_bad_per_billion, bad_to_good_per_billion, bad_loss_per_billion, good_loss_per_billion } => {
            check_probability("good_to_bad_per_billion", *good_to_bad_per_billion)?;
            check_probability("bad_to_good_per_billion", *bad_to_good_per_billion)?;
            check_probability("bad_loss_per_billion", *bad_loss_per_billion)?;
            check_probability("good_loss_per_billion", *good_loss_per_billion)?;
            if *bad_to_good_per_billion == 0 && *good_to_bad_per_billion > 0 {
                return Err("the bad state of the loss is never left; give a probability from bad to good".to_owned());
            }
            Ok(())
        }
        LossSpec::Scripted { segments } => {
            if segments.first() == Some(&0) {
                return Err("segments are counted from 1; there is no segment 0 to lose".to_owned());
            }
            match segments.windows(2).find(|pair| pair[0] >= pair[1]) {
                Some(pair) => Err(format!("segment {} is named after segment {}; name each once, in ascending order", pair[1], pair[0])),
                None => Ok(()),
            }
        }
    }
}

fn check_unlimited(direction: &DirectionSpec) -> Result<(), String> {
    if !direction.cross_traffic.is_empty() {
        return Err("cross traffic shares a bottleneck, and there is none; give a rate".to_owned());
    }
    if direction.queue.discipline != Discipline::DropTail {
        return Err("without a rate no queue builds up that a discipline could manage; give a rate, or choose drop_tail".to_owned());
    }
    Ok(())
}

fn check_discipline(direction: &DirectionSpec, limit_bytes: u64) -> Result<(), String> {
    match direction.queue.discipline {
        Discipline::DropTail if direction.queue.ecn => {
            Err("a drop-tail queue marks nothing; choose codel or red, or leave ECN off".to_owned())
        }
        Discipline::Codel { target_ns, interval_ns } if target_ns == 0 || target_ns >= interval_ns || interval_ns > LONGEST_NS => {
            Err(format!(
                "CoDel's target of {target_ns} ns and interval of {interval_ns} ns; the target lies between 0 and the interval (5 and 100 ms in RFC 8289)"
            ))
        }
        Discipline::DropTail | Discipline::Codel { .. } => Ok(()),
        Discipline::Red { min_bytes, max_bytes, probability_per_billion, weight_log, .. } => {
            check_probability("probability_per_billion", probability_per_billion)?;
            if min_bytes == 0 || min_bytes >= max_bytes {
                return Err(format!("RED's thresholds of {min_bytes} and {max_bytes} bytes; choose 0 < min < max"));
            }
            if max_bytes > limit_bytes {
                return Err(format!(
                    "RED's upper threshold of {max_bytes} bytes is never reached in a queue of {limit_bytes}; choose a longer queue or lower thresholds"
                ));
            }
            if probability_per_billion == 0 {
                return Err("RED with a probability of 0 is drop-tail; choose drop_tail, or a probability".to_owned());
            }
            if !(1..=24).contains(&weight_log) {
                return Err(format!("RED's weight of 2^-{weight_log}; choose an exponent of 1 to 24 (9 is the paper's)"));
            }
            Ok(())
        }
    }
}

fn check_cross_traffic(cross: &CrossTraffic) -> Result<(), String> {
    if cross.rate_bps == 0 || cross.rate_bps > HIGHEST_RATE_BPS {
        return Err(format!("cross traffic of {} bit/s; choose 1 bit/s to 1 Tbit/s, or leave it out", cross.rate_bps));
    }
    if cross.amplitude_bps > cross.rate_bps {
        return Err(format!(
            "cross traffic of {} bit/s swings by {}, below 0; choose an amplitude up to the rate",
            cross.rate_bps, cross.amplitude_bps
        ));
    }
    if (cross.amplitude_bps > 0) != (cross.period_ns > 0) {
        return Err("cross traffic needs both an amplitude and a period to swing, or neither to be constant".to_owned());
    }
    if !(SMALLEST_CROSS_PACKET_BYTES..=65_549).contains(&cross.packet_bytes) {
        return Err(format!("cross traffic in packets of {} bytes; choose {SMALLEST_CROSS_PACKET_BYTES} to 65549", cross.packet_bytes));
    }
    Ok(())
}
