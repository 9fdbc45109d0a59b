//! The way that a packet becomes frames or cells: the same numbers as `python/whyperf/overhead/links.py`, and
//! `tests/frames.csv` holds both to it.
//!
//! Not modeled: token ring and LAN emulation; `whyperf overhead` computes them.

use super::media::Medium;

/// The adaptation layer of ATM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aal {
    /// A header and a trailer in each cell, which leave 44 bytes (ITU-T I.363.3).
    Aal34,
    /// One trailer at the end of the last cell (ITU-T I.363.5).
    Aal5,
}

/// The framing that stands around a packet on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Frames or cells.
    pub medium: Medium,
    /// The way that cells are filled.
    pub aal: Aal,
    /// LLC and SNAP: 8 bytes on ATM with both, 0 with a type field or a channel for each protocol (RFC 2684).
    pub llc_bytes: u32,
    /// Tags of 802.1Q.
    pub vlan_tags: u32,
}

/// Addresses and type (IEEE 802.3 clause 3).
const MAC: u32 = 14;
/// 64 bytes with the check sequence.
const MIN: u32 = 60;
const CHECK_SEQUENCE: u32 = 4;
/// Preamble and start delimiter, and the gap to the next frame (IEEE 802.3 clause 4).
const PREAMBLE_AND_GAP: u32 = 20;
const VLAN_TAG: u32 = 4;
const AAL5_TRAILER: u32 = 8;
const AAL5_IN_CELL: u32 = 48;
/// Header and trailer around the whole, which is padded to words.
const AAL34_AROUND: u32 = 8;
const AAL34_WORD: u32 = 4;
const AAL34_IN_CELL: u32 = 44;

impl Framing {
    /// The usual one of a medium: a type field on Ethernet, LLC, SNAP and AAL5 on ATM.
    pub fn usual(medium: Medium) -> Self {
        let llc_bytes = if medium == Medium::Atm { 8 } else { 0 };
        Self { medium, aal: Aal::Aal5, llc_bytes, vlan_tags: 0 }
    }

    /// The units of the line that a packet takes: bytes with preamble and gap, or cells.
    pub fn units(&self, packet_bytes: u32) -> u64 {
        let unit = packet_bytes + self.llc_bytes;
        u64::from(match (self.medium, self.aal) {
            (Medium::Ethernet, _) => (unit + MAC + self.vlan_tags * VLAN_TAG).max(MIN) + CHECK_SEQUENCE + PREAMBLE_AND_GAP,
            (Medium::Atm, Aal::Aal5) => (unit + AAL5_TRAILER).div_ceil(AAL5_IN_CELL),
            (Medium::Atm, Aal::Aal34) => (unit.next_multiple_of(AAL34_WORD) + AAL34_AROUND).div_ceil(AAL34_IN_CELL),
        })
    }

    /// The share of a packet's time before its first part can be looked at: a cell; a frame is looked at as a whole.
    pub fn units_before_first(&self, units: u64) -> u64 {
        if self.medium == Medium::Atm { 1 } else { units }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_frames() {
        let ethernet = Framing::usual(Medium::Ethernet);
        assert_eq!(ethernet.units(1500), 1538);
        assert_eq!(ethernet.units(40), 84);
        assert_eq!(Framing { vlan_tags: 1, ..ethernet }.units(1500), 1542);
        assert_eq!(ethernet.units(9000), 9038);
    }

    #[test]
    fn hand_computed_cells() {
        let atm = Framing::usual(Medium::Atm);
        assert_eq!(atm.units(9180), 192);
        // An acknowledgment of 40 bytes needs two cells behind LLC and SNAP, and one without.
        assert_eq!(atm.units(40), 2);
        assert_eq!(Framing { llc_bytes: 0, ..atm }.units(40), 1);
        assert_eq!(Framing { aal: Aal::Aal34, ..atm }.units(4136), 95);
    }
}
