//! RED's parameters in the units of the kernel (`include/net/red.h`).

use schema::path::{BILLION, Discipline};

/// The kernel's RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Red {
    /// Most in the queue, in bytes.
    pub limit_bytes: u32,
    /// Lower threshold in bytes.
    pub min_bytes: u32,
    /// Upper threshold in bytes.
    pub max_bytes: u32,
    /// Probability at the upper threshold, as a part of 2^32.
    pub probability: u32,
    /// The average's weight is 2 to the power of minus this.
    pub weight_log: u8,
    /// True if it marks below its upper threshold. Above, it drops.
    pub ecn: bool,
    /// Time that a full packet takes on the wire, in ns: how fast the average falls while the queue
    /// is empty.
    pub packet_ns: u64,
}

/// Entries of the table by which the average falls.
const IDLE_ENTRIES: usize = 256;
/// The most by which it can be shifted.
const MAX_SHIFT: f64 = 31.0;

impl Red {
    /// RED as the path asks for it; `None` for another discipline.
    pub fn of(discipline: Discipline, limit_bytes: u32, ecn: bool, packet_ns: u64) -> Option<Self> {
        let Discipline::Red { min_bytes, max_bytes, probability_per_billion, weight_log, .. } = discipline else { return None };
        let whole = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let probability = whole((u64::from(probability_per_billion) << 32) / u64::from(BILLION));
        Some(Red { limit_bytes, min_bytes: whole(min_bytes), max_bytes: whole(max_bytes), probability, weight_log, ecn, packet_ns })
    }

    /// After how long a time without packets the average has fallen by which power of two: entry i
    /// is that after i × 2^log µs, log being the second value.
    ///
    /// The average falls as if packets had found the queue empty all the time (Floyd and Jacobson,
    /// 1993, section IV): by 1 - w a packet, so by -log2(1 - w) powers of two in `packet_ns`.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn idle_table(&self) -> ([u8; IDLE_ENTRIES], u8) {
        let weight = 0.5_f64.powi(i32::from(self.weight_log));
        let per_us = -(1.0 - weight).log2() / (self.packet_ns.max(1) as f64 / 1000.0);
        let entries = IDLE_ENTRIES as f64;
        let log = (0..31_u8).find(|&log| per_us * entries * f64::from(1_u32 << log) >= MAX_SHIFT).unwrap_or(31);
        let mut table = [0; IDLE_ENTRIES];
        for (place, entry) in table.iter_mut().enumerate() {
            *entry = (place as f64 * f64::from(1_u32 << log) * per_us).min(MAX_SHIFT) as u8;
        }
        table[IDLE_ENTRIES - 1] = MAX_SHIFT as u8;
        (table, log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_halves_after_as_many_packets_as_its_weight_says() {
        let red = Red { limit_bytes: 1, min_bytes: 1, max_bytes: 2, probability: 1, weight_log: 9, ecn: false, packet_ns: 1_211_200 };
        let (table, log) = red.idle_table();
        // ln 2 / -ln(1 - 2^-9) = 354.5 packets of 1211 us.
        let halved_us = 354.5 * 1211.2;
        let place = table.iter().position(|&shift| shift == 1).expect("it halves");
        let found_us = f64::from(u32::try_from(place).expect("small") << log);
        assert!((found_us / halved_us - 1.0).abs() < f64::from(1_u32 << log) / halved_us, "{found_us} for {halved_us}");
        assert_eq!((table[0], table[255]), (0, 31));
    }
}
