//! The places in the kernel where the evidence is taken.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use schema::evidence::Hook;

/// A program and the tracepoint it is attached to.
pub struct Place {
    /// Name of the program, and of the tracepoint in its group.
    pub program: &'static str,
    /// Group of the tracepoint.
    pub group: &'static str,
    /// What it gives.
    pub gives: &'static str,
    /// Whether without it nothing of the level is worth having.
    pub is_essential: bool,
}

/// All places.
pub const PLACES: [Place; 7] = [
    Place {
        program: "net_dev_queue",
        group: "net",
        gives: "segments and ACKs leaving, their contexts and reasons, the sender's state",
        is_essential: true,
    },
    Place { program: "netif_receive_skb", group: "net", gives: "segments and ACKs arriving, duplicates and disorder", is_essential: true },
    Place {
        program: "tcp_probe",
        group: "tcp",
        gives: "ACKs for segments that waited in a socket's backlog, apart from those of read calls",
        is_essential: false,
    },
    Place {
        program: "softirq_entry",
        group: "irq",
        gives: "the context of every transmission, softirq time by vector",
        is_essential: false,
    },
    Place { program: "softirq_exit", group: "irq", gives: "softirq time by vector", is_essential: false },
    Place { program: "sock_send_length", group: "sock", gives: "sizes of write calls", is_essential: false },
    Place {
        program: "sock_recv_length",
        group: "sock",
        gives: "sizes of read calls; ACKs that TCP_QUICKACK asks for, apart from those of read calls",
        is_essential: false,
    },
];

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

    /// Whether the running kernel has the tracepoint.
    pub fn is_known_to(&self, kernel: &Btf<'_>) -> bool {
        // The type of the tracepoint's functions; see include/trace/bpf_probe.h.
        kernel.type_by_name::<Typedef<'_>>(&format!("btf_trace_{}", self.program)).is_some()
    }
}
