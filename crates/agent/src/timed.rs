//! `whyperf-agent steps`: what single steps take here, with the facts that say for which host that holds.

use schema::host::HostFacts;

/// The times and where they were taken.
#[derive(serde::Serialize)]
pub struct Timed {
    /// The host.
    host: HostFacts,
    /// What was timed.
    #[serde(flatten)]
    steps: steps::rounds::Steps,
}

/// Times all steps in a testbed of an MTU of `mtu_bytes`.
///
/// # Errors
/// The testbed cannot be built here, or the kernel refuses a call.
pub fn steps(rounds_count: u32, mtu_bytes: u32) -> anyhow::Result<Timed> {
    // Described first: from then on the thread may be bound to one CPU only.
    let host = crate::carriers::describe_host(false);
    let steps = steps::rounds::run(rounds_count, mtu_bytes, &host.cpus)?;
    Ok(Timed { host, steps })
}
