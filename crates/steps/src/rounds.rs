//! All steps, round after round.

use std::io;

use path::Testbed;
use schema::testbed::{TcpQueueing, TestbedSpec};

use crate::memory::Memory;
use crate::sample::Sample;
use crate::segments::Names;
use crate::{StepError, buffers, calls, segments, wakes};

/// The steps that were timed, and where.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Steps {
    /// The CPU that the timed thread was bound to.
    pub cpu: u32,
    /// The other one; absent on a host with one, where nothing goes across.
    pub other_cpu: Option<u32>,
    /// MTU of the testbed in bytes.
    pub mtu_bytes: u32,
    /// All batches, in the order in which they were timed.
    pub samples: Vec<Sample>,
}

/// Times every step `rounds_count` times on the CPUs `cpus`, of which two are used.
///
/// # Errors
/// There is no CPU, no testbed, or the kernel refuses a call.
pub fn run(rounds_count: u32, mtu_bytes: u32, cpus: &[u32]) -> Result<Steps, StepError> {
    let missing = || StepError::System("choosing a CPU", io::Error::from(io::ErrorKind::NotFound));
    let cpu = *cpus.first().ok_or_else(missing)?;
    let other_cpu = cpus.get(1).copied();
    load::thread::pin_this_thread(&[cpu])?;
    let here = path::build(&spec(mtu_bytes, &[]))?;
    let steered = other_cpu.map(|other| path::build(&spec(mtu_bytes, &[other]))).transpose()?;
    let mut memory = Memory::default();
    let mut samples = Vec::new();
    for round in 0..rounds_count {
        let mut done = one_round(&here, steered.as_ref(), &mut memory, cpu, other_cpu)?;
        for sample in &mut done {
            sample.round = round;
        }
        samples.append(&mut done);
    }
    Ok(Steps { cpu, other_cpu, mtu_bytes, samples })
}

fn one_round(
    here: &Testbed,
    steered: Option<&Testbed>,
    memory: &mut Memory,
    cpu: u32,
    other_cpu: Option<u32>,
) -> Result<Vec<Sample>, StepError> {
    let mut samples = vec![calls::sample()];
    samples.extend(memory.samples());
    samples.extend(buffers::writes(here)?);
    samples.extend(buffers::reads(here, "read_held", None)?);
    if other_cpu.is_some() {
        samples.extend(buffers::reads(here, "read_across", other_cpu)?);
    }
    samples.extend(segments::samples(here, Names { send: "send_here", ack: "ack_here" })?);
    if let Some(steered) = steered {
        samples.extend(segments::samples(steered, Names { send: "send_steered", ack: "ack_steered" })?);
        samples.extend(segments::to_idle(steered, "send_to_idle")?);
    }
    samples.push(wakes::sample("hop_here", cpu, cpu)?);
    if let Some(other) = other_cpu {
        samples.push(wakes::sample("hop_across", cpu, other)?);
    }
    Ok(samples)
}

/// A testbed whose arriving packets `steered` process; nobody but the sending thread where it is empty.
fn spec(mtu_bytes: u32, steered: &[u32]) -> TestbedSpec {
    TestbedSpec {
        mtu_bytes,
        tso: true,
        gso: true,
        gro: true,
        near_rps_cpus: steered.to_vec(),
        far_rps_cpus: steered.to_vec(),
        path: None,
        path_cpu: None,
        napi_threads: None,
        tcp: TcpQueueing::default(),
    }
}
