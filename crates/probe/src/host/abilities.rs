//! The abilities that the host allows this process, each tried where trying changes nothing.

use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::unistd::Pid;
use schema::host::Ability;

use super::privileges::{Verdict, has_capability, on_own_thread, remedy};
use super::{cpus, netem, realtime, system};
use crate::cpu::CpuProbe;

/// All abilities, in the order they are shown.
pub(super) fn list() -> Vec<Ability> {
    vec![
        ability("network_namespaces", network_namespaces(), "no embedded testbed: without a second host only the loopback can be measured"),
        ability("cpu_cycles_pmu", cpu_cycles_pmu(), "cycles per KByte are time stamp counter reference cycles instead of core cycles"),
        ability("bpf", bpf(), "no segment log, no kernel-side counters: evidence is TCP_INFO and /proc only"),
        ability("netem", netem::verdict(), "emulated paths are carried by whyperf's router only, and path_implementation netem is refused"),
        ability("cpu_pinning", cpu_pinning(), "sender and receiver may share a CPU, and results vary more from trial to trial"),
        ability("realtime_scheduling", realtime::verdict(), "the emulated path and the sampler may be late under load"),
    ]
}

fn ability(name: &str, verdict: Verdict, lost_without: &str) -> Ability {
    let can = verdict.is_ok();
    let (Ok(reason) | Err(reason)) = verdict;
    Ability { name: name.to_owned(), can, reason, lost_without: lost_without.to_owned() }
}

fn network_namespaces() -> Verdict {
    on_own_thread(|| match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => Ok("a namespace was made and given up".to_owned()),
        Err(nix::errno::Errno::EPERM) => Err(format!("making one needs CAP_SYS_ADMIN; {}", remedy(&["CAP_SYS_ADMIN"]))),
        Err(error) => Err(format!("the kernel refuses to make one: {}", error.desc())),
    })
}

fn cpu_cycles_pmu() -> Verdict {
    let probe = CpuProbe::open().map_err(|error| format!("/proc/stat cannot be read: {error}"))?;
    match probe.pmu_missing() {
        None => Ok("perf_event_open counts core cycles on every CPU".to_owned()),
        Some(reason) => Err(reason.to_owned()),
    }
}

fn bpf() -> Verdict {
    const CAP_SYS_ADMIN: u32 = 21;
    const CAP_PERFMON: u32 = 38;
    const CAP_BPF: u32 = 39;
    let capable = has_capability(CAP_SYS_ADMIN) || has_capability(CAP_BPF) && has_capability(CAP_PERFMON);
    if !capable {
        let remedy = remedy(&["CAP_BPF", "CAP_PERFMON"]);
        return Err(format!("loading tracing programs needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN; {remedy}"));
    }
    if system::exists("/sys/kernel/btf/vmlinux") {
        Ok("the capabilities are there and the kernel describes its types (BTF)".to_owned())
    } else {
        Err("this kernel was built without BTF (CONFIG_DEBUG_INFO_BTF)".to_owned())
    }
}

fn cpu_pinning() -> Verdict {
    let allowed = cpus::allowed();
    let Some(&first) = allowed.first() else { return Err("the CPUs this process may use cannot be read".to_owned()) };
    on_own_thread(move || {
        let mut first_only = CpuSet::new();
        let pinned =
            usize::try_from(first).ok().and_then(|cpu| first_only.set(cpu).ok()).map(|()| sched_setaffinity(Pid::from_raw(0), &first_only));
        match pinned {
            Some(Ok(())) if allowed.len() > 1 => Ok(format!("a thread was pinned; {} CPUs are allowed", allowed.len())),
            Some(Ok(())) => Err(format!("only CPU {first} is allowed, there is nothing to choose")),
            Some(Err(error)) => Err(format!("the kernel refuses to pin a thread: {}", error.desc())),
            None => Err(format!("CPU {first} is beyond what this build can pin to")),
        }
    })
}
