//! The congestion controls that the kernel itself offers.

use socket2::{Domain, Socket, Type};
use std::fs;
use std::io;

const SYSCTLS: &str = "/proc/sys/net/ipv4";
/// Where congestion controls lie among the modules.
const FOLDER: &str = "/net/ipv4/tcp_";
/// A module of that folder that is none.
const NO_CONTROL: &str = "diag";

/// Names that are registered in the kernel now.
pub(crate) fn available() -> Vec<String> {
    names("tcp_available_congestion_control")
}

/// Names that everybody may choose.
pub(crate) fn allowed() -> Vec<String> {
    names("tcp_allowed_congestion_control")
}

fn names(sysctl: &str) -> Vec<String> {
    let list = fs::read_to_string(format!("{SYSCTLS}/{sysctl}")).unwrap_or_default();
    list.split_ascii_whitespace().map(str::to_owned).collect()
}

/// True if a socket can have the control of this name; the kernel loads the module of one that it has
/// not loaded yet.
pub(crate) fn offers(name: &str) -> bool {
    match choose(name) {
        Ok(()) => true,
        // It is registered, but this user may not set it; the error of setting it says how to.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied && available().iter().any(|other| other == name),
    }
}

/// True if this process may choose the control of this name, which the kernel has.
pub(crate) fn may_choose(name: &str) -> bool {
    choose(name).is_ok()
}

fn choose(name: &str) -> io::Result<()> {
    Socket::new(Domain::IPV4, Type::STREAM, None)?.set_tcp_congestion(name.as_bytes())
}

/// Names of controls that are modules of this kernel: loaded, or files that could be.
pub(crate) struct Modules {
    pub loaded: Vec<String>,
    pub files: Vec<String>,
}

impl Modules {
    pub fn read() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let index = fs::read_to_string(format!("/lib/modules/{}/modules.dep", release.trim())).unwrap_or_default();
        let loaded = fs::read_to_string("/proc/modules").unwrap_or_default();
        Self { loaded: loaded_controls(&loaded), files: controls_in(&index) }
    }
}

/// Of /proc/modules, whose lines begin with a name.
fn loaded_controls(list: &str) -> Vec<String> {
    let names = list.lines().filter_map(|line| line.split(' ').next()?.strip_prefix("tcp_"));
    names.filter(|name| *name != NO_CONTROL).map(str::to_owned).collect()
}

/// Of a modules.dep (modules.dep(5)), whose lines begin with a file.
fn controls_in(index: &str) -> Vec<String> {
    let names = index.lines().filter_map(|line| {
        let (_, file) = line.split(':').next()?.split_once(FOLDER)?;
        file.split_once(".ko").map(|(name, _)| name)
    });
    names.filter(|name| *name != NO_CONTROL).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_found_among_modules() {
        let index =
            "kernel/net/ipv4/tcp_diag.ko.xz: kernel/net/ipv4/inet_diag.ko.xz\nkernel/net/ipv4/tcp_htcp.ko.xz:\nkernel/net/veth.ko:\n";
        assert_eq!(controls_in(index), ["htcp"]);
        assert_eq!(loaded_controls("tcp_bic 16384 0 - Live 0x0\ntcp_diag 1 0 - Live 0x0\nveth 2 0 - Live 0x0\n"), ["bic"]);
    }

    #[test]
    fn every_kernel_offers_reno_and_none_an_invention() {
        assert!(offers("reno"));
        assert!(!offers("wp_invented"));
    }
}
