//! Finds out whether the kernel has the netem queueing discipline.
//!
//! It is never tried where trying could load a module: that would change the host. The lists of
//! modules decide there.

use std::os::fd::AsRawFd;

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket};

use super::privileges::{Verdict, on_own_thread};
use super::system;

/// Judges whether netem can be used.
pub(super) fn verdict() -> Verdict {
    let modular = system::exists("/proc/modules");
    let loaded = system::read("/proc/modules").lines().any(|line| line.starts_with("sch_netem "));
    let folder = format!("/lib/modules/{}", system::kernel());
    let lists = |file: &str| system::read(&format!("{folder}/{file}")).contains("/sch_netem.ko");
    if !modular || loaded || lists("modules.builtin") {
        return on_own_thread(attempt);
    }
    if lists("modules.dep") {
        return Ok("the module sch_netem is installed and is loaded at first use".to_owned());
    }
    Err(format!(
        "the module sch_netem is neither loaded nor installed in {folder}; on Debian and Ubuntu it comes with the full kernel package"
    ))
}

/// Adds netem to the loopback of a new namespace, which ends with the calling thread.
fn attempt() -> Verdict {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("cannot be tried without a network namespace: {}", error.desc()))?;
    // latency, limit, loss, gap, duplicate, jitter (struct tc_netem_qopt)
    match add_to_loopback(b"netem\0", &[0, 1000, 0, 0, 0, 0]) {
        Ok(0) => Ok("netem was added to the loopback of a throw-away namespace".to_owned()),
        Ok(libc::ENOENT) => Err("this kernel has no netem (CONFIG_NET_SCH_NETEM)".to_owned()),
        Ok(errno) => Err(format!("the kernel refuses netem: {}", nix::errno::Errno::from_raw(errno).desc())),
        Err(error) => Err(format!("the kernel could not be asked: {}", error.desc())),
    }
}

/// Sends `tc qdisc add dev lo root KIND OPTIONS` and returns the errno of the acknowledgment, 0 for success.
fn add_to_loopback(kind: &[u8], options: &[u32]) -> nix::Result<i32> {
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(netlink.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    send(netlink.as_raw_fd(), &request(kind, options), MsgFlags::empty())?;
    let mut reply = [0; 1024];
    let length = recv(netlink.as_raw_fd(), &mut reply, MsgFlags::empty())?;
    let errno = reply[..length].get(HEADER_BYTES..HEADER_BYTES + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    Ok(-errno.unwrap_or(-libc::EPROTO))
}

/// Length of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;

/// The message `RTM_NEWQDISC` (rtnetlink(7), `linux/pkt_sched.h`).
fn request(kind: &[u8], options: &[u32]) -> Vec<u8> {
    const RTM_NEWQDISC: u16 = 36;
    const REQUEST_ACK_CREATE_EXCL: u16 = 0x1 | 0x4 | 0x400 | 0x200;
    const LOOPBACK_INDEX: i32 = 1;
    const HANDLE: u32 = 0x1_0000;
    const ROOT: u32 = u32::MAX;
    const TCA_KIND: u16 = 1;
    const TCA_OPTIONS: u16 = 2;
    let mut body = Vec::new();
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&LOOPBACK_INDEX.to_ne_bytes());
    for word in [HANDLE, ROOT, 0] {
        body.extend_from_slice(&word.to_ne_bytes());
    }
    attribute(&mut body, TCA_KIND, kind);
    let options: Vec<u8> = options.iter().flat_map(|word| word.to_ne_bytes()).collect();
    attribute(&mut body, TCA_OPTIONS, &options);
    let mut message = Vec::new();
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&RTM_NEWQDISC.to_ne_bytes());
    message.extend_from_slice(&REQUEST_ACK_CREATE_EXCL.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.append(&mut body);
    message
}

fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same request with a discipline that every kernel has and with one that none has: so
    /// "no netem" is the kernel's answer and not a request it does not understand.
    #[test]
    fn the_kernel_understands_the_request() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: making network namespaces takes root");
            return;
        }
        let verdict = on_own_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("namespace");
            assert_eq!(add_to_loopback(b"no_such\0", &[1000]), Ok(libc::ENOENT));
            assert_eq!(add_to_loopback(b"pfifo\0", &[1000]), Ok(0));
            Ok("both answers came".to_owned())
        });
        assert!(verdict.is_ok());
    }
}
