//! A host with Linux from its profile: which keys there are, and what rules they may name.

use super::buffer::WindowShare;
use super::congestion::Algorithm;
use super::spec::{Adapter, Completion, Costs, HostSpec, Kernel, Scheduling, Socket, Steering};
use crate::coalescing::Coalescing;
use crate::link::media::{self, Named};
use crate::link::{HEADERS, LinkSpec};
use crate::machine::Buffers;
use crate::profile::host_profile::Reader;
use crate::profile::{HostProfile, Refusal};
use crate::time::Ps;

/// Names of the rule `window_share`.
pub const WINDOW_SHARES: &[(&str, WindowShare)] = &[("half", WindowShare::Half), ("measured", WindowShare::Measured)];
/// Names of the rule `nagle`: without delay or in Minshall's form.
pub const NAGLE_RULES: &[(&str, bool)] = &[("off", true), ("minshall", false)];
/// Names of the rule `congestion_control`.
pub const ALGORITHMS: &[(&str, Algorithm)] = &[("reno", Algorithm::Reno), ("cubic", Algorithm::Cubic), ("bbr", Algorithm::Bbr)];
/// Names of the rule `completion`: when the other host has taken what was sent, or by a time.
pub const COMPLETIONS: &[(&str, bool)] = &[("taken", true), ("timed", false)];
/// Names of the rule `steering`.
pub const STEERINGS: &[(&str, Steering)] = &[("same-processor", Steering::SameProcessor), ("other-processor", Steering::OtherProcessor)];
/// Time stamps in every segment (RFC 7323 3.2), with padding.
const TIME_STAMPS: u32 = 12;

/// The host with what is asked of its sockets, and the line that its adapter has.
///
/// # Errors
/// The first key that is missing, unknown, or cannot be what it is.
pub fn read(profile: &HostProfile, buffers: &Buffers) -> Result<(HostSpec, LinkSpec), Refusal> {
    for (what, bytes) in [("send buffer", buffers.send_bytes), ("receive buffer", buffers.receive_bytes), ("window", buffers.window_bytes)]
    {
        if bytes == Some(0) {
            return Err(Refusal::Zero { host: profile.host.clone(), what });
        }
    }
    let mut reader = profile.reader();
    let stamps = reader.switch("time_stamps")?;
    let options = if stamps { TIME_STAMPS } else { 0 };
    let spec = HostSpec {
        kernel: Kernel { stamps, ..kernel(&mut reader)? },
        socket: socket(&mut reader, buffers)?,
        adapter: adapter(&mut reader)?,
        steering: reader.rule("steering", STEERINGS)?,
        scheduling: scheduling(&mut reader)?,
        costs: costs(&mut reader)?,
        mss: payload(&mut reader, options)?,
        jitter_per_mille: u64::from(reader.whole("jitter_per_mille")?),
    };
    let lines: Vec<(&str, Named)> = media::LINKS.into_iter().chain([media::VETH]).map(|line| (line.name, line)).collect();
    let line = LinkSpec::usual(reader.rule("link", &lines)?, reader.micros("propagation_us")?);
    reader.finish()?;
    Ok((spec, LinkSpec { headers_bytes: HEADERS + options, ..line }))
}

/// `mss_bytes` is what MTU and `TCP_MAXSEG` speak of, without options; a segment carries less by those.
fn payload(reader: &mut Reader<'_>, options: u32) -> Result<u32, Refusal> {
    match reader.whole("mss_bytes")?.saturating_sub(options) {
        0 => Err(Refusal::Zero { host: reader.host().to_owned(), what: "mss_bytes" }),
        bytes => Ok(bytes),
    }
}

fn scheduling(reader: &mut Reader<'_>) -> Result<Scheduling, Refusal> {
    let processors = u16::try_from(reader.whole("processors")?).unwrap_or(u16::MAX);
    if processors == 0 {
        return Err(Refusal::Zero { host: reader.host().to_owned(), what: "processors" });
    }
    Ok(Scheduling { processors, slice: reader.micros("slice_us")? })
}

fn bytes(reader: &mut Reader<'_>, key: &'static str) -> Result<u64, Refusal> {
    reader.whole(key).map(u64::from)
}

fn kernel(reader: &mut Reader<'_>) -> Result<Kernel, Refusal> {
    let usual = Kernel::default();
    Ok(Kernel {
        stamps: usual.stamps,
        window_share: reader.rule("window_share", WINDOW_SHARES)?,
        grows_buffers: reader.switch("grows_buffers")?,
        defers_backlog_acks: reader.switch("defers_backlog_acks")?,
        corks: reader.switch("autocorking")?,
        restarts_after_idle: reader.switch("slow_start_after_idle")?,
        least_burst_segments: reader.whole("min_tso_segs")?.max(1),
        burst_window_divisor: bytes(reader, "tso_win_divisor")?.max(1),
        device_limit_bytes: bytes(reader, "limit_output_bytes")?,
        gso_max_bytes: reader.whole("gso_max_bytes")?,
        send_memory: [usual.send_memory[0], bytes(reader, "wmem_default_bytes")?, bytes(reader, "wmem_most_bytes")?],
        receive_memory: [usual.receive_memory[0], bytes(reader, "rmem_default_bytes")?, bytes(reader, "rmem_most_bytes")?],
    })
}

fn socket(reader: &mut Reader<'_>, buffers: &Buffers) -> Result<Socket, Refusal> {
    Ok(Socket {
        send_buffer_bytes: buffers.send_bytes,
        receive_buffer_bytes: buffers.receive_bytes,
        window_clamp_bytes: buffers.window_bytes,
        no_delay: reader.rule("nagle", NAGLE_RULES)?,
        quick_ack: reader.switch("quick_ack")?,
        algorithm: reader.rule("congestion_control", ALGORITHMS)?,
        pacing_rate: buffers.pacing_rate,
        has_ecn: buffers.has_ecn,
    })
}

fn adapter(reader: &mut Reader<'_>) -> Result<Adapter, Refusal> {
    Ok(Adapter {
        has_segmentation: reader.switch("tso")?,
        has_gro: reader.switch("gro")?,
        coalescing: Coalescing { frames: reader.whole("coalescing_frames")?.max(1), delay: reader.micros("coalescing_us")? },
        completion: match (reader.rule("completion", COMPLETIONS)?, reader.micros("completion_us")?) {
            (true, _) => Completion::WhenTaken,
            (false, time) => Completion::After(time),
        },
    })
}

fn costs(reader: &mut Reader<'_>) -> Result<Costs, Refusal> {
    let read_waits = reader.micros("poll_call_us")?;
    let mut micros = |key: &str| -> Result<Ps, Refusal> { reader.micros(key) };
    Ok(Costs {
        write_call: micros("write_call_us")?,
        new_buffer: micros("new_buffer_us")?,
        output: micros("output_us")?,
        segmentation: micros("segmentation_us")?,
        transmit: micros("transmit_us")?,
        handover: micros("handover_us")?,
        interrupt: micros("interrupt_us")?,
        merge: micros("merge_us")?,
        input: micros("input_us")?,
        backlog: micros("backlog_us")?,
        ack_output: micros("ack_output_us")?,
        ack_input: micros("ack_input_us")?,
        free_buffer: micros("free_buffer_us")?,
        wake_up: micros("wake_up_us")?,
        idle_exit: micros("idle_exit_us")?,
        switch: micros("switch_us")?,
        read_call: micros("read_call_us")?,
        poll_call: read_waits,
        timer: micros("timer_us")?,
        copy_in: reader.cost("copy_in")?,
        copy_out: reader.cost("copy_out")?,
        softirq: reader.cost("softirq")?,
    })
}
