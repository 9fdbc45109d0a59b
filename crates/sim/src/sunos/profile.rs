//! A host with `SunOS` 4.1 from its profile: which keys there are, and what rules they may name.

use super::socket::{Pieces, SendBuffers};
use super::spec::{Adapter, Costs, HostSpec, Rules, WriteRule};
use super::tcp::{Nagle, SlowStart, TcpRules};
use crate::link::framing::{Aal, Framing};
use crate::link::{LinkSpec, media};
use crate::profile::host_profile::Reader;
use crate::profile::{HostProfile, Refusal};

/// Names of the rule `write`.
pub const WRITE_RULES: &[(&str, WriteRule)] = &[("whole-pieces", WriteRule::WholePieces), ("any-room", WriteRule::AnyRoom)];
/// Names of the rule `nagle`.
pub const NAGLE_RULES: &[(&str, Nagle)] =
    &[("off", Nagle::Off), ("below-segment", Nagle::BelowSegment), ("below-half-window", Nagle::BelowHalfWindow)];

/// Names of the rule `slow_start`.
pub const SLOW_START: &[(&str, SlowStart)] =
    &[("never", SlowStart::Never), ("after-loss", SlowStart::AfterLoss), ("always", SlowStart::Always)];
/// Names of the adaptation layers.
const AALS: &[(&str, Aal)] = &[("aal3/4", Aal::Aal34), ("aal5", Aal::Aal5)];

#[derive(Clone, Copy)]
enum Io {
    Programmed,
    Dma,
}

/// Kinds of the adapter.
const IO: &[(&str, Io)] = &[("programmed", Io::Programmed), ("dma", Io::Dma)];

/// The host with a window, and the line that its adapter has.
///
/// # Errors
/// The first key that is missing, unknown, or cannot be what it is.
pub fn read(profile: &HostProfile, window_bytes: u32) -> Result<(HostSpec, LinkSpec), Refusal> {
    if window_bytes == 0 {
        return Err(Refusal::Zero { host: profile.host.clone(), what: "window" });
    }
    let mut reader = profile.reader();
    let framing = LinkSpec::study_1(reader.rule("aal", AALS)?).framing;
    let spec = HostSpec {
        rules: rules(&mut reader)?,
        costs: costs(&mut reader)?,
        pieces: Pieces { first: at_least_one(&mut reader, "first_buffer_bytes")?, others: at_least_one(&mut reader, "buffer_bytes")? },
        adapter: adapter(&mut reader, framing)?,
        mss: at_least_one(&mut reader, "mss_bytes")?,
        window_bytes,
        jitter_per_mille: u64::from(reader.whole("jitter_per_mille")?),
    };
    let link = LinkSpec {
        named: reader.rule("link", &media::LINKS.map(|link| (link.name, link)))?,
        propagation: reader.micros("propagation_us")?,
        ..LinkSpec::study_1(framing.aal)
    };
    reader.finish()?;
    Ok((spec, link))
}

/// A number of bytes that must not be 0.
fn at_least_one(reader: &mut Reader<'_>, key: &'static str) -> Result<u32, Refusal> {
    match reader.whole(key)? {
        0 => Err(Refusal::Zero { host: reader.host().to_owned(), what: key }),
        bytes => Ok(bytes),
    }
}

fn rules(reader: &mut Reader<'_>) -> Result<Rules, Refusal> {
    Ok(Rules {
        copy_limit_bytes: at_least_one(reader, "copy_limit_bytes")?,
        send_buffers: SendBuffers { cluster: at_least_one(reader, "cluster_bytes")?, small: at_least_one(reader, "small_buffer_bytes")? },
        write: reader.rule("write", WRITE_RULES)?,
        tcp: TcpRules {
            nagle: reader.rule("nagle", NAGLE_RULES)?,
            update_percent: reader.whole("update_percent")?,
            update_segments: reader.whole("update_segments")?,
            slow_start: reader.rule("slow_start", SLOW_START)?,
            duplicate_acks: reader.whole("duplicate_acks")?,
            keeps_out_of_order: reader.switch("keeps_out_of_order")?,
            least_retransmission_ticks: reader.whole("least_retransmission_ticks")?.max(1),
            persist_ticks: reader.whole("persist_ticks")?.max(1),
        },
        fast_timer: reader.micros("fast_timer_us")?.max(1),
        slow_timer: reader.micros("slow_timer_us")?.max(1),
    })
}

fn costs(reader: &mut Reader<'_>) -> Result<Costs, Refusal> {
    Ok(Costs {
        write_call: reader.micros("write_call_us")?,
        copy_in: reader.cost("copy_in")?,
        output: reader.cost("output")?,
        driver_send: reader.cost("driver_send")?,
        driver_receive: reader.cost("driver_receive")?,
        input: reader.cost("input")?,
        wake_up: reader.micros("wake_up_us")?,
        read_call: reader.micros("read_call_us")?,
        copy_out: reader.cost("copy_out")?,
        timer: reader.micros("timer_us")?,
    })
}

fn adapter(reader: &mut Reader<'_>, framing: Framing) -> Result<Adapter, Refusal> {
    Ok(match reader.rule("io", IO)? {
        Io::Programmed => Adapter::ProgrammedIo { fifo_bytes: at_least_one(reader, "fifo_bytes")? },
        Io::Dma => Adapter::Dma {
            send: reader.cost("board_send")?,
            receive: reader.cost("board_receive")?,
            receive_cell: reader.micros("board_receive_cell_us")?,
            framing,
            sent_interrupt: reader.micros("sent_interrupt_us")?,
        },
    })
}
