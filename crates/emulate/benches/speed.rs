//! Packets a second that one core models, by discipline: `cargo bench -p whyperf-emulate`, a part of
//! `make bench`. A figure for the documents, not a bound.

#[path = "../tests/all/drive.rs"]
mod drive;

use drive::{START_NS, path};
use emulate::{Packet, PacketKind, Path, Segments};
use schema::path::{DirectionSpec, Discipline, LossSpec, QueueLimit, QueueSpec};
use std::time::Instant;

/// Rate of the path; packets come 2 % faster.
const RATE_BPS: u64 = 10_000_000_000;
const SEGMENTS: u64 = 4_000_000;

/// Segments a second through a direction, in super-segments of `count`.
fn per_second(discipline: Discipline, loss: LossSpec, count: u32) -> f64 {
    let queue = QueueSpec { limit: QueueLimit::Packets { packets: 5000 }, discipline, ecn: false };
    let forward = DirectionSpec { rate_bps: Some(RATE_BPS), delay_ns: 5_000_000, queue, loss, ..DirectionSpec::default() };
    let mut direction = Path::new(&path(1, forward), START_NS).forward;
    let segments = Segments::split(66 + count * 1448, 66, 1448);
    let distance_ns = u64::from(count) * 1514 * 8_000_000_000 / (RATE_BPS * 102 / 100);
    let began = Instant::now();
    let mut seen = 0;
    for key in 0..SEGMENTS / u64::from(count) {
        let arrival_ns = START_NS + key * distance_ns;
        direction.handle_packet(&Packet { key, arrival_ns, segments, kind: PacketKind::Data, is_ecn_capable: false });
        direction.handle_time(arrival_ns);
        while direction.poll_release(arrival_ns).is_some() || direction.poll_loss().is_some() {
            seen += 1;
        }
        while direction.poll_tally().is_some() {}
    }
    assert!(seen > 0);
    SEGMENTS as f64 / began.elapsed().as_secs_f64()
}

fn main() {
    let codel = Discipline::Codel { target_ns: 5_000_000, interval_ns: 100_000_000 };
    let red = Discipline::Red {
        min_bytes: 1_000_000,
        max_bytes: 3_000_000,
        probability_per_billion: 100_000_000,
        weight_log: 9,
        is_gentle: false,
    };
    let random = LossSpec::Random { probability_per_billion: 1_000_000 };
    for (name, discipline, loss) in
        [("drop-tail", Discipline::DropTail, LossSpec::None), ("CoDel", codel, LossSpec::None), ("RED, random loss", red, random)]
    {
        for count in [1, 44] {
            let rate = per_second(discipline, loss.clone(), count);
            println!("{name}, super-segments of {count}: {:.1} million packets a second", rate / 1e6);
        }
    }
}
