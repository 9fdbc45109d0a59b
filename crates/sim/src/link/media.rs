//! The lines by name: what a byte or a cell takes on each. One flat table, with the names of `whyperf overhead`.

use crate::time::{Ps, S};

/// Families of lines that frame alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Frames of bytes.
    Ethernet,
    /// Cells of 53 bytes.
    Atm,
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// The way that it frames.
    pub medium: Medium,
    /// Rate of everything on it, in bits a second.
    pub rate_bps: u64,
    /// Bytes that mark the start of a cell.
    pub cell_gap_bytes: u64,
    /// One of 27 cell times is overhead.
    pub is_sonet: bool,
    /// Largest IP packet that it usually carries, in bytes.
    pub mtu_bytes: u32,
}

const fn ethernet(name: &'static str, rate_bps: u64) -> Named {
    Named { name, medium: Medium::Ethernet, rate_bps, cell_gap_bytes: 0, is_sonet: false, mtu_bytes: 1500 }
}

/// 9180 bytes of IP behind LLC and SNAP (RFC 2225 section 7).
const fn atm(name: &'static str, rate_bps: u64, cell_gap_bytes: u64, is_sonet: bool) -> Named {
    Named { name, medium: Medium::Atm, rate_bps, cell_gap_bytes, is_sonet, mtu_bytes: 9180 }
}

/// The line of study 1.
pub const TAXI_140: Named = atm("atm-taxi-140", 140_000_000, 1, false);

/// TAXI sends a symbol pair before each cell (ATM Forum UNI 3.1 section 2.2). SONET and SDH: 260 of 270 columns carry
/// cells (STS-3c; ITU-T I.432).
pub const LINKS: [Named; 13] = [
    ethernet("ethernet-10M", 10_000_000),
    ethernet("ethernet-100M", 100_000_000),
    ethernet("ethernet-1G", 1_000_000_000),
    ethernet("ethernet-2.5G", 2_500_000_000),
    ethernet("ethernet-10G", 10_000_000_000),
    ethernet("ethernet-25G", 25_000_000_000),
    ethernet("ethernet-40G", 40_000_000_000),
    ethernet("ethernet-100G", 100_000_000_000),
    atm("atm-25", 25_600_000, 1, false),
    atm("atm-taxi-100", 100_000_000, 1, false),
    TAXI_140,
    atm("atm-oc3", 155_520_000, 0, true),
    atm("atm-oc12", 622_080_000, 0, true),
];

/// Between two namespaces of one machine, which is no line: a byte takes a picosecond, and what it costs is the hosts'.
pub const VETH: Named = ethernet("veth", 8_000_000_000_000);

/// The line of that name.
pub fn named(name: &str) -> Option<Named> {
    LINKS.into_iter().chain([VETH]).find(|link| link.name.eq_ignore_ascii_case(name))
}

/// ITU-T I.361: header and payload.
pub const CELL_BYTES: u64 = 53;

/// The time of a byte or cell: whole picoseconds, and a fraction that a [`Clock`] carries on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitTime {
    whole: Ps,
    rest: u64,
    of: u64,
}

impl Named {
    /// The time that its unit takes: a byte of Ethernet, a cell of ATM.
    pub fn unit_time(&self) -> UnitTime {
        let (bits, [share, of_share]) = match self.medium {
            Medium::Ethernet => (8, [1, 1]),
            Medium::Atm => (8 * (CELL_BYTES + self.cell_gap_bytes), if self.is_sonet { [26, 27] } else { [1, 1] }),
        };
        let of = share * self.rate_bps;
        let ps = bits * of_share * S;
        UnitTime { whole: ps / of, rest: ps % of, of }
    }
}

/// Adds times of units without losing their fractions.
#[derive(Debug, Clone)]
pub struct Clock {
    unit: UnitTime,
    carried: u64,
}

impl Clock {
    /// Nothing is carried yet.
    pub fn new(unit: UnitTime) -> Self {
        Self { unit, carried: 0 }
    }

    /// The time that so many units take, fractions of a picosecond left out.
    pub fn whole(&self, units: u64) -> Ps {
        units * self.unit.whole
    }

    /// The time that so many units take.
    pub fn of(&mut self, units: u64) -> Ps {
        let whole = units * self.unit.whole;
        if self.unit.rest == 0 {
            return whole;
        }
        self.carried += units * self.unit.rest;
        let more = self.carried / self.unit.of;
        self.carried %= self.unit.of;
        whole + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_picosecond_add_up() {
        let line = named("atm-oc3").expect("it is in the table");
        let mut clock = Clock::new(line.unit_time());
        // 149.76 Mbit/s carry cells of 424 bits: 353207.5 cells a second.
        let in_ten_seconds: Ps = (0..3_532_075).map(|_| clock.of(1)).sum();
        assert!(in_ten_seconds.abs_diff(9_999_998_584_401) < 2_000_000, "{in_ten_seconds}");
        let mut ten_gigabit = Clock::new(named("ethernet-10G").expect("it is in the table").unit_time());
        assert_eq!(ten_gigabit.of(1538), 1_230_400);
    }
}
