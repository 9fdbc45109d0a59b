//! The places in the kernel where the evidence is taken.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use schema::evidence::{Evidence, Hook};
use std::collections::BTreeMap;

/// The sizes to give to what the programs write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Connections that are counted separately, of each side.
    pub connections: u32,
    /// CPUs the machine may have.
    pub cpus: u32,
    /// Records of a CPU's log: a power of two, or 0 for no log.
    pub log_slots: u32,
    /// The same of its log of calls.
    pub call_slots: u32,
    /// Ends that are watched: one, or both of a trial.
    pub ends: u32,
    /// Sockets that can be chosen at a time; 0: those of one port are watched.
    pub chosen: u32,
}

/// A program and the tracepoint it is attached to.
pub struct Place {
    /// Name of the program, and of the tracepoint in its group.
    pub program: &'static str,
    /// Group of the tracepoint.
    pub group: &'static str,
    /// The facts that it gives.
    pub gives: &'static str,
    /// True if without it nothing of the level is worth having.
    pub is_essential: bool,
    /// The lowest level that uses it.
    pub level: Evidence,
    /// True if it serves chosen sockets alone.
    pub is_for_chosen: bool,
}

/// Programs without which there is no log of calls.
pub const CALLS_NEED: [&str; 4] = ["sock_send_length", "sock_recv_length", "sys_enter", "sched_switch"];

/// All places.
pub const PLACES: [Place; 10] = [
    Place {
        program: "net_dev_queue",
        group: "net",
        gives: "segments and ACKs leaving, their contexts and reasons, the sender's state",
        is_essential: true,
        level: Evidence::Counters,
        is_for_chosen: false,
    },
    Place {
        program: "netif_receive_skb",
        group: "net",
        gives: "segments and ACKs arriving, duplicates and disorder",
        is_essential: true,
        level: Evidence::Counters,
        is_for_chosen: false,
    },
    Place {
        program: "softirq_entry",
        group: "irq",
        gives: "the context of every transmission, softirq time by vector",
        is_essential: false,
        level: Evidence::Counters,
        is_for_chosen: false,
    },
    Place {
        program: "softirq_exit",
        group: "irq",
        gives: "softirq time by vector",
        is_essential: false,
        level: Evidence::Counters,
        is_for_chosen: false,
    },
    Place {
        program: "sock_send_length",
        group: "sock",
        gives: "sizes of write calls, their ends",
        is_essential: false,
        level: Evidence::Counters,
        is_for_chosen: false,
    },
    Place {
        program: "sock_recv_length",
        group: "sock",
        gives: "sizes of read calls, their ends; ACKs that TCP_QUICKACK asks for, apart from those of read calls",
        is_essential: false,
        level: Evidence::Counters,
        is_for_chosen: false,
    },
    Place {
        program: "sched_process_fork",
        group: "sched",
        gives: "connections of what a watched program starts, from their first segment on",
        is_essential: false,
        level: Evidence::Counters,
        is_for_chosen: true,
    },
    Place {
        program: "sys_enter",
        group: "raw_syscalls",
        gives: "when a call began: the log of calls",
        is_essential: false,
        level: Evidence::Segments,
        is_for_chosen: false,
    },
    Place {
        program: "sched_switch",
        group: "sched",
        gives: "whether a thread slept or waited for a CPU, in a call and between calls: the log of calls",
        is_essential: false,
        level: Evidence::Segments,
        is_for_chosen: false,
    },
    Place {
        program: "sched_waking",
        group: "sched",
        gives: "waiting for a CPU after waking, apart from sleep",
        is_essential: false,
        level: Evidence::Segments,
        is_for_chosen: false,
    },
];

/// Refuses the places that serve the log of calls alone when it cannot be, for lack of another. Whether it can be.
pub fn refuse_calls(refused: &mut BTreeMap<&'static str, String>) -> bool {
    let lacking = PLACES.iter().find(|place| CALLS_NEED.contains(&place.program) && refused.contains_key(place.program));
    let Some(lacking) = lacking else { return true };
    for place in PLACES.iter().filter(|place| place.level == Evidence::Segments) {
        let reason = || format!("of no use without {}:{}", lacking.group, lacking.program);
        refused.entry(place.program).or_insert_with(reason);
    }
    false
}

impl Place {
    /// As it is shown and recorded.
    pub fn hook(&self, verdict: Result<&str, &str>) -> Hook {
        let (Ok(reason) | Err(reason)) = verdict;
        Hook {
            name: format!("{}:{}", self.group, self.program),
            can: verdict.is_ok(),
            reason: reason.to_owned(),
            gives: self.gives.to_owned(),
        }
    }

    /// True if programs of this extent have it.
    pub fn is_wanted(&self, extent: &Extent) -> bool {
        let has_level = self.level == Evidence::Counters || extent.call_slots > 0;
        has_level && (!self.is_for_chosen || extent.chosen > 0)
    }

    /// True if the running kernel has the tracepoint.
    pub fn is_known_to(&self, kernel: &Btf<'_>) -> bool {
        // The type of the tracepoint's functions; see include/trace/bpf_probe.h.
        kernel.type_by_name::<Typedef<'_>>(&format!("btf_trace_{}", self.program)).is_some()
    }
}
