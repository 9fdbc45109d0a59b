//! The possible failures of a testbed, each with what to do.

use std::io;

use schema::message::Fault;

/// The way that a process gets a capability: root in a container is root already.
fn as_root(capability: &str) -> String {
    if nix::unistd::geteuid().is_root() { format!("give this container {capability}") } else { "run as root".to_owned() }
}

/// Why the testbed could not be built or entered.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The process lacks a capability.
    #[error(
        "the embedded testbed needs {capability} to {action}, which this process lacks; \
         {}, or use the loopback: whyperf run --testbed loopback", as_root(.capability)
    )]
    NotPermitted {
        /// The refused action, as an infinitive.
        action: String,
        /// The capabilities it takes.
        capability: &'static str,
    },
    /// The MTU is outside what a veth takes.
    #[error("an MTU of {mtu_bytes} bytes is not possible on a veth; choose one from {lowest} to {highest}")]
    MtuOutOfRange {
        /// Asked for, in bytes.
        mtu_bytes: u32,
        /// Lowest possible, in bytes.
        lowest: u32,
        /// Highest possible, in bytes.
        highest: u32,
    },
    /// The path cannot be, or not on this host.
    #[error("{sentence}")]
    Path {
        /// The fault and what to do.
        sentence: String,
    },
    /// A CPU that is not online was to process packets.
    #[error("CPU {cpu} of the {host} end's packet steering is not online; the CPUs online are {online}")]
    CpuNotOnline {
        /// `near` or `far`.
        host: &'static str,
        /// The CPU.
        cpu: u32,
        /// The CPUs online, as a list of ranges.
        online: String,
    },
    /// Kernel threads were to poll a device that is not polled.
    #[error("a veth uses NAPI only with gro on and tso off, and threaded NAPI needs it; set gro and tso so, or turn threaded_napi off")]
    NoNapi,
    /// The kernel kept a setting of a device against the request, such as an offload that it ties
    /// to another one.
    #[error(
        "{what} of {device} reads back as {got} after it was set to {asked}; this kernel cannot combine the settings so, ask for {got}"
    )]
    NotTaken {
        /// The setting.
        what: &'static str,
        /// The device.
        device: &'static str,
        /// The value asked for.
        asked: String,
        /// The value read back.
        got: String,
    },
    /// The path does not come to life.
    #[error("{what} within {waited_ms} ms; see the kernel log (dmesg) or use the loopback: whyperf run --testbed loopback")]
    NotReady {
        /// The thing that did not happen.
        what: String,
        /// The time that it was waited for, in ms.
        waited_ms: u64,
    },
    /// The namespace to enter does not exist.
    #[error("the network namespace {path} is gone or never was: the agent that holds the testbed must still run")]
    NoNamespace {
        /// Path of the namespace.
        path: String,
    },
    /// A process with several threads cannot move as a whole.
    #[error("a process must enter a namespace before it starts threads, this one has {count}")]
    SeveralThreads {
        /// Number of threads.
        count: usize,
    },
    /// A system call failed for another reason.
    #[error("cannot {action}: {source}")]
    System {
        /// The action that was tried, as an infinitive.
        action: String,
        /// The error that the kernel reported.
        source: io::Error,
    },
}

impl PathError {
    /// Whose fault it is: the request's or the host's.
    pub fn fault(&self) -> Fault {
        match self {
            PathError::MtuOutOfRange { .. }
            | PathError::Path { .. }
            | PathError::CpuNotOnline { .. }
            | PathError::NoNapi
            | PathError::NotTaken { .. } => Fault::Usage,
            PathError::SeveralThreads { .. } => Fault::Internal,
            PathError::NotPermitted { .. } | PathError::NotReady { .. } | PathError::NoNamespace { .. } | PathError::System { .. } => {
                Fault::Host
            }
        }
    }

    /// An error of the operating system while doing `action`, reported as a missing capability where
    /// it is one.
    pub(crate) fn system(action: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (action, source) = (action.into(), source.into());
        if source.kind() == io::ErrorKind::PermissionDenied {
            PathError::NotPermitted { action, capability: "CAP_SYS_ADMIN and CAP_NET_ADMIN" }
        } else {
            PathError::System { action, source }
        }
    }
}
