//! Counters of TCP/IP in the process's network namespace, and of packet processing on the host.

use schema::table::HostCounter;
use std::fs;

use super::Readings;

/// Files of names and numbers, two lines for each protocol.
const TABLES: [&str; 2] = ["snmp", "netstat"];
const PAGE_BYTES: u64 = 4096;

/// Reads the files. `/proc/self/net` follows the process's namespace.
pub(super) fn read(readings: &mut Readings) {
    let text = |file: &str| fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
    for file in TABLES {
        put(readings, file, counters(&text(file)));
    }
    put(readings, "softnet_stat", softnet(&text("softnet_stat")));
    put(readings, "sockstat", tcp_memory_bytes(&text("sockstat")).map(|bytes| (HostCounter::TcpMemoryUsed, bytes)));
}

fn put(readings: &mut Readings, file: &str, found: impl IntoIterator<Item = (HostCounter, u64)>) {
    readings.extend(found.into_iter().map(|(counter, value)| ((counter, String::new(), file.to_owned()), Some(value))));
}

/// The counters that the record has, by their names with the protocol in front, as `nstat` prints them.
fn counters(text: &str) -> Vec<(HostCounter, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let of_protocol = |pair: &[&str]| -> Option<Vec<(HostCounter, u64)>> {
        let ((protocol, names), (_, numbers)) = (pair.first()?.split_once(": ")?, pair.get(1)?.split_once(": ")?);
        let pairs = names.split(' ').zip(numbers.split(' '));
        Some(pairs.filter_map(|(name, number)| Some((counter(protocol, name)?, number.parse().ok()?))).collect())
    };
    lines.chunks(2).filter_map(of_protocol).flatten().collect()
}

fn counter(protocol: &str, name: &str) -> Option<HostCounter> {
    let is_it = |counter: &HostCounter| counter.name().strip_prefix(protocol) == Some(name);
    HostCounter::ALL.into_iter().find(is_it)
}

/// Sums over the CPUs: the first columns are packets taken, dropped, and times out of budget (`softnet_seq_show`).
fn softnet(text: &str) -> Vec<(HostCounter, u64)> {
    let columns = [HostCounter::SoftnetProcessed, HostCounter::SoftnetDropped, HostCounter::SoftnetTimeSqueezed];
    if text.is_empty() {
        return Vec::new();
    }
    let number = |line: &str, column: usize| u64::from_str_radix(line.split_ascii_whitespace().nth(column)?, 16).ok();
    let sum = |column| text.lines().filter_map(|line| number(line, column)).sum();
    columns.into_iter().enumerate().map(|(column, counter)| (counter, sum(column))).collect()
}

fn tcp_memory_bytes(text: &str) -> Option<u64> {
    let fields: Vec<&str> = text.lines().find_map(|line| line.strip_prefix("TCP: "))?.split(' ').collect();
    let pages: u64 = fields.windows(2).find(|pair| pair[0] == "mem")?[1].parse().ok()?;
    Some(pages * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_under_its_protocol() {
        let text = "TcpExt: PruneCalled TCPTimeouts Other\nTcpExt: 3 4 5\nIpExt: InECT0Pkts PruneCalled\nIpExt: 6 7\n";
        let expected = [(HostCounter::TcpExtPruneCalled, 3), (HostCounter::TcpExtTcpTimeouts, 4), (HostCounter::IpExtInEct0Pkts, 6)];
        assert_eq!(counters(text), expected);
        assert_eq!(counters("no table\n"), []);
    }

    #[test]
    fn softnet_counts_are_hexadecimal_and_summed_over_cpus() {
        let text = "0000000a 00000002 00000001 00000000\n00000010 00000000 00000003 00000000\n";
        let expected = [(HostCounter::SoftnetProcessed, 26), (HostCounter::SoftnetDropped, 2), (HostCounter::SoftnetTimeSqueezed, 4)];
        assert_eq!(softnet(text), expected);
    }

    #[test]
    fn memory_of_sockets_is_in_pages() {
        let text = "sockets: used 14\nTCP: inuse 1 orphan 0 tw 0 alloc 5 mem 7\nUDP: inuse 0 mem 2\n";
        assert_eq!(tcp_memory_bytes(text), Some(7 * PAGE_BYTES));
        assert_eq!(tcp_memory_bytes("TCP6: inuse 0\n"), None);
    }
}
