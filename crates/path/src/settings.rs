//! Sysctls of a namespace: what must not differ between trials or hosts.

use std::fs;
use std::io;

use schema::testbed::TcpQueueing;

use crate::error::PathError;

/// Settings of IPv4 and TCP, by path below `/proc/sys/net`.
const IPV4: [(&str, &str); 2] = [
    // A trial must not inherit the congestion state of the trial before.
    ("ipv4/tcp_no_metrics_save", "1"),
    // A workload that connects anew each time would have used up its ports for a minute after 28 232.
    ("ipv4/tcp_tw_reuse", "1"),
];

/// Settings of IPv6, by path below `/proc/sys/net`; made before the device exists, which takes
/// over `default`.
const IPV6: [(&str, &str); 5] = [
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    // No duplicate address detection: an address is usable at once.
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    // No link-local address, hence no solicitations during the load (addr_gen_mode "none").
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// Settings of a namespace that routes between two devices without addresses.
const FORWARDING_IPV4: [(&str, &str); 3] =
    [("ipv4/ip_forward", "1"), ("ipv4/conf/all/rp_filter", "0"), ("ipv4/conf/default/rp_filter", "0")];
/// The same for IPv6.
const FORWARDING_IPV6: [(&str, &str); 2] = [("ipv6/conf/all/forwarding", "1"), ("ipv6/conf/default/forwarding", "1")];

/// True if the kernel has IPv6.
pub(crate) fn has_ipv6() -> bool {
    fs::exists("/proc/sys/net/ipv6/conf").unwrap_or(false)
}

/// Makes the settings in the calling thread's network namespace and reads them back.
///
/// # Errors
/// A setting is missing, refused, or reads back differently.
pub(crate) fn apply() -> Result<(), PathError> {
    let ipv6: &[_] = if has_ipv6() { &IPV6 } else { &[] };
    IPV4.iter().chain(ipv6).try_for_each(|&(name, value)| set(name, value))
}

/// Lets the calling thread's network namespace route.
///
/// # Errors
/// A setting is missing, refused, or reads back differently.
pub(crate) fn apply_forwarding() -> Result<(), PathError> {
    let ipv6: &[_] = if has_ipv6() { &FORWARDING_IPV6 } else { &[] };
    FORWARDING_IPV4.iter().chain(ipv6).try_for_each(|&(name, value)| set(name, value))
}

/// Lets TCP in the calling thread's network namespace ask for ECN, so that a path can mark its packets, or
/// only agree to it, which is the kernel's default.
///
/// # Errors
/// The setting is refused, or reads back differently.
pub(crate) fn apply_ecn(asks: bool) -> Result<(), PathError> {
    set("ipv4/tcp_ecn", if asks { "1" } else { "2" })
}

/// Most of a connection that TCP hands down, in bytes.
const LIMIT_OUTPUT_BYTES: &str = "ipv4/tcp_limit_output_bytes";
/// The setting by which small writes wait for a packet that is still below TCP.
const AUTOCORKING: &str = "ipv4/tcp_autocorking";
/// Of which part of the congestion window a super-segment may wait for more.
const TSO_WIN_DIVISOR: &str = "ipv4/tcp_tso_win_divisor";

/// Sets what is given in the calling thread's network namespace, which keeps the kernel's own values otherwise.
///
/// # Errors
/// A setting is missing, refused, or reads back differently.
pub(crate) fn apply_tcp(asked: TcpQueueing) -> Result<(), PathError> {
    let given = [
        (LIMIT_OUTPUT_BYTES, asked.limit_output_bytes),
        (AUTOCORKING, asked.autocorking.map(u32::from)),
        (TSO_WIN_DIVISOR, asked.tso_win_divisor.map(u32::from)),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).try_for_each(|(name, value)| set(name, &value.to_string()))
}

/// Reads how TCP cuts and queues in the calling thread's network namespace; what this kernel lacks is absent.
pub(crate) fn tcp() -> TcpQueueing {
    let number = |name| fs::read_to_string(format!("/proc/sys/net/{name}")).ok()?.trim().parse::<u32>().ok();
    TcpQueueing {
        limit_output_bytes: number(LIMIT_OUTPUT_BYTES),
        autocorking: number(AUTOCORKING).map(|is_on| is_on != 0),
        tso_win_divisor: number(TSO_WIN_DIVISOR).and_then(|divisor| divisor.try_into().ok()),
    }
}

/// TCP's buffers, whose third number bounds what the kernel's own tuning gives a connection.
const BUFFERS: [&str; 2] = ["ipv4/tcp_rmem", "ipv4/tcp_wmem"];

/// The host's bounds of TCP's buffers: the calling thread's must be the host's namespace.
///
/// # Errors
/// The kernel does not report them.
pub(crate) fn buffers() -> Result<[[u64; 3]; 2], PathError> {
    let mut found = [[0; 3]; 2];
    for (bounds, name) in found.iter_mut().zip(BUFFERS) {
        let file = format!("/proc/sys/net/{name}");
        let failed = |error: io::Error| PathError::system(format!("read {file}"), error);
        let text = fs::read_to_string(&file).map_err(failed)?;
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        *bounds = numbers.try_into().map_err(|_| failed(io::Error::other(format!("{} is not three numbers", text.trim()))))?;
    }
    Ok(found)
}

/// Lets TCP in the calling thread's network namespace tune its buffers up to `wanted_bytes`, or as far as on the
/// host where that is more.
///
/// # Errors
/// A setting is refused, or reads back differently.
pub(crate) fn apply_buffers(host: [[u64; 3]; 2], wanted_bytes: u64) -> Result<(), PathError> {
    host.into_iter()
        .zip(BUFFERS)
        .try_for_each(|([least, usual, most], name)| set(name, &format!("{least}\t{usual}\t{}", most.max(wanted_bytes))))
}

fn set(name: &str, value: &str) -> Result<(), PathError> {
    let file = format!("/proc/sys/net/{name}");
    let failed = |error: io::Error| PathError::system(format!("set {file} to {value}"), error);
    fs::write(&file, value).map_err(failed)?;
    let got = fs::read_to_string(&file).map_err(failed)?;
    if got.trim() == value { Ok(()) } else { Err(failed(io::Error::other(format!("it reads back as {}", got.trim())))) }
}
