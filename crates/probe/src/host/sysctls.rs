//! Settings that bear on transfer rates.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::parent_id;
use std::thread;

use nix::sched::{CloneFlags, setns};

use super::privileges::has_capability;

/// Names of the settings; a kernel has those it has.
const NAMES: &[&str] = &[
    "kernel.perf_event_paranoid",
    "kernel.timer_migration",
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.gro_normal_batch",
    "net.core.high_order_alloc_disable",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.skb_defer_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_app_win",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_backlog_ack_defer",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.ipv4.tcp_comp_sack_nr",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_snd_mss",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_rtt_log",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_workaround_signed_windows",
];

/// Reads those settings that the host has. Settings of the whole host are hidden inside other
/// namespaces than the host's. They are read in the first process's or the parent's namespace,
/// where that is allowed.
pub(super) fn read_all() -> BTreeMap<String, String> {
    let (mut found, hidden): (BTreeMap<_, _>, Vec<_>) = read(NAMES.iter().copied());
    if hidden.iter().any(|name| name.starts_with("net.")) {
        found.extend(read_outside(&hidden));
    }
    found
}

/// Congestion controls that this process may choose: all the kernel has for an administrator of
/// the network, the allowed ones for others (tcp(7)).
pub(super) fn congestion_controls() -> Vec<String> {
    const CAP_NET_ADMIN: u32 = 12;
    let name = if has_capability(CAP_NET_ADMIN) { "tcp_available_congestion_control" } else { "tcp_allowed_congestion_control" };
    let list = value(&format!("net.ipv4.{name}")).unwrap_or_default();
    list.split_ascii_whitespace().map(str::to_owned).collect()
}

fn read<'name>(names: impl Iterator<Item = &'name str>) -> (BTreeMap<String, String>, Vec<&'name str>) {
    let mut found = BTreeMap::new();
    let mut missing = Vec::new();
    for name in names {
        match value(name) {
            Some(value) => drop(found.insert(name.to_owned(), value)),
            None => missing.push(name),
        }
    }
    (found, missing)
}

/// The setting's value with single spaces; `None` where there is no such setting.
fn value(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// Reads on threads that enter the network namespaces of process 1 and of the parent and end there.
fn read_outside(names: &[&str]) -> BTreeMap<String, String> {
    let work = |process: u32| {
        let outside = fs::File::open(format!("/proc/{process}/ns/net")).ok()?;
        setns(outside, CloneFlags::CLONE_NEWNET).ok()?;
        Some(read(names.iter().copied()).0)
    };
    let found = [parent_id(), 1].map(|process| thread::scope(|scope| scope.spawn(|| work(process)).join().ok().flatten()));
    found.into_iter().flatten().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_single() {
        assert!(NAMES.is_sorted_by(|name, next| name < next));
    }

    #[test]
    fn a_value_of_several_words_has_single_spaces() {
        let rmem = value("net.ipv4.tcp_rmem").expect("tcp_rmem");
        assert_eq!(rmem.split(' ').filter(|word| word.parse::<u64>().is_ok()).count(), 3, "{rmem}");
        assert_eq!(value("net.ipv4.no_such_setting"), None);
    }

    #[test]
    fn settings_of_the_host_are_found_from_inside_a_namespace() {
        let backlog = "net.core.netdev_max_backlog";
        let here = value(backlog);
        if here.is_none() || !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: takes root in the first network namespace");
            return;
        }
        let inside = thread::scope(|scope| {
            scope
                .spawn(|| {
                    nix::sched::unshare(CloneFlags::CLONE_NEWNET).expect("namespace");
                    assert_eq!(value(backlog), None, "this kernel shows it everywhere; the test says nothing");
                    read_all().remove(backlog)
                })
                .join()
                .expect("thread")
        });
        assert_eq!(inside, here);
    }
}
