//! Full packets at even distances through the forward direction of a path, as JSON.
//!
//! `overload PATH_SPEC PACKETS SECONDS ECN` with the spec as JSON; ECN is true or false. The tests against the
//! kernel's own queueing disciplines ask it what the model makes of the load that they gave the kernel.

use emulate::{Cause, Packet, PacketKind, Path, Segments};
use schema::path::PathSpec;
use std::error::Error;

const PACKET_BYTES: u32 = 1514;
/// Long enough for every queue to run empty.
const DRAIN_NS: u64 = 60_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [spec, packets, seconds, ecn] = arguments.as_slice() else {
        return Err("usage: overload PATH_SPEC PACKETS SECONDS ECN".into());
    };
    let spec: PathSpec = serde_json::from_str(spec)?;
    spec.validate(PACKET_BYTES - 14)?;
    let (packets, seconds, is_ecn_capable): (u64, u64, bool) = (packets.parse()?, seconds.parse()?, ecn.parse()?);
    let mut direction = Path::new(&spec, 0).forward;
    let arrival_ns = |key: u64| key * seconds * 1_000_000_000 / packets;
    for key in 0..packets {
        let segments = Segments::single(PACKET_BYTES);
        direction.handle_packet(&Packet { key, arrival_ns: arrival_ns(key), segments, kind: PacketKind::Other, is_ecn_capable });
    }
    direction.handle_time(arrival_ns(packets) + DRAIN_NS);
    let (mut received, mut marked, mut delay_ns) = (0u64, 0u64, 0u64);
    while let Some(release) = direction.poll_release(u64::MAX) {
        received += 1;
        marked += u64::from(release.is_marked);
        delay_ns += release.due_ns - arrival_ns(release.key);
    }
    let losses: Vec<Cause> = std::iter::from_fn(|| direction.poll_loss()).map(|loss| loss.cause).collect();
    let lost = |cause| losses.iter().filter(|other| **other == cause).count();
    let found = serde_json::json!({
        "received_packets": received,
        "marked_packets": marked,
        "dropped_early_packets": lost(Cause::Early),
        "dropped_full_packets": lost(Cause::Full),
        "delay_ms_mean": delay_ns as f64 / received.max(1) as f64 / 1e6,
    });
    println!("{found}");
    Ok(())
}
