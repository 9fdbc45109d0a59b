//! Counters and offloads of the network devices of this process's namespace. Evidence level 0.
//!
//! Columns: [`schema::table::DEVICES`].

use device::Device;
use schema::testbed::Offloads;
use std::collections::BTreeMap;
use std::{fs, io};

/// Counters of one device since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Received in bytes.
    pub rx_bytes: u64,
    /// Received packets.
    pub rx_packets: u64,
    /// Receive errors.
    pub rx_errors_count: u64,
    /// Dropped after receiving.
    pub rx_dropped_packets: u64,
    /// Sent in bytes.
    pub tx_bytes: u64,
    /// Sent packets.
    pub tx_packets: u64,
    /// Send errors.
    pub tx_errors_count: u64,
    /// Dropped before sending.
    pub tx_dropped_packets: u64,
}

impl DeviceCounters {
    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            rx_bytes: self.rx_bytes.saturating_sub(earlier.rx_bytes),
            rx_packets: self.rx_packets.saturating_sub(earlier.rx_packets),
            rx_errors_count: self.rx_errors_count.saturating_sub(earlier.rx_errors_count),
            rx_dropped_packets: self.rx_dropped_packets.saturating_sub(earlier.rx_dropped_packets),
            tx_bytes: self.tx_bytes.saturating_sub(earlier.tx_bytes),
            tx_packets: self.tx_packets.saturating_sub(earlier.tx_packets),
            tx_errors_count: self.tx_errors_count.saturating_sub(earlier.tx_errors_count),
            tx_dropped_packets: self.tx_dropped_packets.saturating_sub(earlier.tx_dropped_packets),
        }
    }
}

/// Reads all devices. `/proc/self/net` follows the process's namespace, which sysfs does not.
///
/// # Errors
/// The file cannot be read.
pub fn sample() -> io::Result<BTreeMap<String, DeviceCounters>> {
    Ok(parse(&fs::read_to_string("/proc/self/net/dev")?))
}

/// State of a device's offloads; `None` where it reports none.
#[must_use]
pub fn offloads(name: &str) -> Option<Offloads> {
    Device::open(name).and_then(|socket| socket.offloads()).ok()
}

fn parse(text: &str) -> BTreeMap<String, DeviceCounters> {
    text.lines().skip(2).filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<(String, DeviceCounters)> {
    let (name, numbers) = line.rsplit_once(':')?;
    let numbers: Vec<u64> = numbers.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let [
        rx_bytes,
        rx_packets,
        rx_errors_count,
        rx_dropped_packets,
        _,
        _,
        _,
        _,
        tx_bytes,
        tx_packets,
        tx_errors_count,
        tx_dropped_packets,
        ..,
    ] = numbers[..]
    else {
        return None;
    };
    let counters = DeviceCounters {
        rx_bytes,
        rx_packets,
        rx_errors_count,
        rx_dropped_packets,
        tx_bytes,
        tx_packets,
        tx_errors_count,
        tx_dropped_packets,
    };
    Some((name.trim().to_owned(), counters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_under_their_device() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        let devices = parse(text);
        let expected = DeviceCounters {
            rx_bytes: 1,
            rx_packets: 2,
            rx_errors_count: 3,
            rx_dropped_packets: 4,
            tx_bytes: 9,
            tx_packets: 10,
            tx_errors_count: 11,
            tx_dropped_packets: 12,
        };
        assert_eq!(devices["lo"], expected);
        assert!(sample().expect("/proc/self/net/dev").contains_key("lo"));
        assert!(offloads("lo").expect("ETHTOOL_GTSO and the like").tso);
        assert_eq!(offloads("no-such-device"), None);
    }
}
