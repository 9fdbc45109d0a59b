//! A host with Solaris 8 from its profile: which keys there are, and what rules they may name.

use super::spec::{Costs, HostSpec, Rules};
use crate::coalescing::Coalescing;
use crate::link::{LinkSpec, media};
use crate::profile::host_profile::Reader;
use crate::profile::{HostProfile, Refusal};

/// Names of the rule `nagle`: `TCP_NODELAY`, or all that could be sent against `nagle_limit_bytes`.
pub const NAGLE_RULES: &[(&str, bool)] = &[("off", true), ("below-limit", false)];

/// Processors of a host at most: each takes memory.
const MAX_PROCESSORS: u32 = 256;

/// The host with a window, and the line that its adapter has.
///
/// # Errors
/// The first key that is missing, unknown, or cannot be what it is.
pub fn read(profile: &HostProfile, window_bytes: u32) -> Result<(HostSpec, LinkSpec), Refusal> {
    if window_bytes == 0 {
        return Err(Refusal::Zero { host: profile.host.clone(), what: "window" });
    }
    let mut reader = profile.reader();
    let spec = HostSpec {
        no_delay: reader.rule("nagle", NAGLE_RULES)?,
        rules: rules(&mut reader)?,
        costs: costs(&mut reader)?,
        coalescing: Coalescing { frames: at_least_one(&mut reader, "coalescing_frames")?, delay: reader.micros("coalescing_us")? },
        dma_per_byte: reader.per_byte("dma")?,
        switch_per_byte: reader.per_byte("switch")?,
        processors: processors(&mut reader)?,
        has_interrupt_processor: reader.switch("interrupt_processor")?,
        mss: at_least_one(&mut reader, "mss_bytes")?,
        window_bytes,
        jitter_per_mille: u64::from(reader.whole("jitter_per_mille")?),
    };
    let named = reader.rule("link", &media::LINKS.map(|link| (link.name, link)))?;
    let link = LinkSpec::usual(named, reader.micros("propagation_us")?);
    reader.finish()?;
    Ok((spec, link))
}

fn at_least_one(reader: &mut Reader<'_>, key: &'static str) -> Result<u32, Refusal> {
    match reader.whole(key)? {
        0 => Err(Refusal::Zero { host: reader.host().to_owned(), what: key }),
        number => Ok(number),
    }
}

fn processors(reader: &mut Reader<'_>) -> Result<u32, Refusal> {
    let key = "processors";
    match at_least_one(reader, key)? {
        value if value > MAX_PROCESSORS => {
            Err(Refusal::TooMany { host: reader.host().to_owned(), key: key.to_owned(), value, most: MAX_PROCESSORS })
        }
        value => Ok(value),
    }
}

fn rules(reader: &mut Reader<'_>) -> Result<Rules, Refusal> {
    Ok(Rules {
        keeps_boundaries: reader.switch("keeps_boundaries")?,
        maxpsz_multiplier: at_least_one(reader, "maxpsz_multiplier")?,
        nagle_limit_bytes: at_least_one(reader, "nagle_limit_bytes")?,
        deferred_acks_max: reader.whole("deferred_acks_max")?,
        answers_small_segments: reader.switch("answers_small_segments")?,
        deferred_ack_interval: reader.micros("deferred_ack_interval_us")?,
        has_persist_timer: reader.switch("persist_timer")?,
        hands_messages_over: reader.switch("hands_messages_over")?,
        dvma_above_bytes: reader.whole("dvma_above_bytes")?,
        max_blocks: at_least_one(reader, "max_blocks")?,
        page_above_bytes: reader.whole("page_above_bytes")?,
    })
}

fn costs(reader: &mut Reader<'_>) -> Result<Costs, Refusal> {
    Ok(Costs {
        write_call: reader.micros("write_call_us")?,
        copy_in: reader.cost("copy_in")?,
        hand_over: reader.micros("hand_over_us")?,
        send: reader.cost("send")?,
        send_mapped: reader.micros("send_mapped_us")?,
        send_block: reader.micros("send_block_us")?,
        pull_up: reader.cost("pull_up")?,
        send_ack: reader.micros("send_ack_us")?,
        interrupt: reader.micros("interrupt_us")?,
        receive: reader.cost("receive")?,
        receive_page: reader.micros("receive_page_us")?,
        receive_ack: reader.micros("receive_ack_us")?,
        wake_up: reader.micros("wake_up_us")?,
        read_call: reader.micros("read_call_us")?,
        copy_out: reader.cost("copy_out")?,
        timer: reader.micros("timer_us")?,
    })
}
