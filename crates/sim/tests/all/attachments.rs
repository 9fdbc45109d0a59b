//! How hosts are attached: adapters, the bus that they share, and lines that both directions share.

use sim::application::Application;
use sim::link::{LinkSpec, media};
use sim::machine::{Buffers, build_several};
use sim::profile::Library;
use sim::time::MS;
use sim::world::{Outcome, WorldSpec, run};

const MEGABYTE: u64 = 1_000_000;
const PCI: u64 = 132 * MEGABYTE;
const MICRO_CHANNEL: u64 = 40 * MEGABYTE;
/// Payload of a frame on the bus: 1448 of 1448, 52 bytes of IP and TCP, and 14 of MAC header.
const PAYLOAD_RATIO: f64 = 1448.0 / 1514.0;

/// How the hosts are attached.
#[derive(Clone, Copy)]
struct Attached {
    host: &'static str,
    line: &'static str,
    adapters_count: u16,
    bus_bytes_per_s: u64,
    is_half_duplex: bool,
}

const PLAIN: Attached =
    Attached { host: "linux-6.18+nic", line: "ethernet-1G", adapters_count: 1, bus_bytes_per_s: 0, is_half_duplex: false };

/// Four streams between two hosts of a kind, two in each direction, for 300 ms.
fn streams(attached: Attached) -> Outcome {
    let profile = Library::shipped().and_then(|library| library.resolve(attached.host)).expect("shipped");
    let writer = Application::Writer { call_bytes: 65_536, left_bytes: u64::MAX };
    let reader = Application::Reader { call_bytes: 65_536, left_bytes: u64::MAX };
    let of = |first: &Application, other: &Application| vec![first.clone(), first.clone(), other.clone(), other.clone()];
    let build = |processes, seed| build_several(&profile, &Buffers::default(), processes, seed).expect("it can be");
    let ((near, usual), (far, _)) = (build(of(&writer, &reader), 1), build(of(&reader, &writer), 2));
    let link = LinkSpec {
        named: media::named(attached.line).expect("it is in the table"),
        is_half_duplex: attached.is_half_duplex,
        adapters_count: attached.adapters_count,
        bus_bytes_per_s: [attached.bus_bytes_per_s; 2],
        ..usual
    };
    run(&WorldSpec { link, until: Some(300 * MS), is_logged: false }, [near, far])
}

/// Both directions together, in Mbit/s.
fn rate(outcome: &Outcome) -> f64 {
    (outcome.goodput_bps(0) + outcome.goodput_bps(1)) / 1e6
}

fn bus_share(outcome: &Outcome) -> Option<f64> {
    outcome.bus_busy[0].map(|busy| busy as f64 / outcome.duration as f64)
}

#[test]
fn a_second_adapter_doubles_the_rate_where_nothing_is_shared() {
    let (single, two) = (streams(PLAIN), streams(Attached { adapters_count: 2, ..PLAIN }));
    let gain = rate(&two) / rate(&single);
    assert!((1.8..=2.05).contains(&gain), "{} and {} Mbit/s", rate(&single), rate(&two));
    assert_eq!(bus_share(&two), None);
}

#[test]
fn two_adapters_share_a_bus_and_have_no_more_than_it_moves() {
    for (bus_bytes_per_s, least) in [(PCI, 0.85), (MICRO_CHANNEL, 0.85)] {
        let single = streams(Attached { bus_bytes_per_s, ..PLAIN });
        let two = streams(Attached { bus_bytes_per_s, adapters_count: 2, ..PLAIN });
        // What crosses the bus is payload of both directions, with headers, and ACKs.
        let most = bus_bytes_per_s as f64 * 8.0 / 1e6 * PAYLOAD_RATIO;
        assert!((least * most..=most).contains(&rate(&two)), "{} of {most} Mbit/s", rate(&two));
        assert!(rate(&two) < 1.05 * rate(&single), "{} and {}", rate(&single), rate(&two));
        assert!(bus_share(&two).is_some_and(|share| share > 0.95), "{:?}", bus_share(&two));
    }
}

#[test]
fn a_wide_bus_is_no_limit() {
    // With Solaris the adapter fetches what leaves; meanwhile the bus is free for what arrives.
    for host in ["linux-6.18+nic", "solaris8+gigabit"] {
        let wide = streams(Attached { host, bus_bytes_per_s: 10_000 * MEGABYTE, adapters_count: 2, ..PLAIN });
        let without = streams(Attached { host, adapters_count: 2, ..PLAIN });
        assert!((rate(&wide) / rate(&without) - 1.0).abs() < 0.03, "{host}: {} and {}", rate(&wide), rate(&without));
        assert!(bus_share(&wide).is_some_and(|share| share < 0.1));
    }
}

#[test]
fn two_adapters_share_a_processor() {
    let fast = Attached { line: "ethernet-100G", ..PLAIN };
    let (single, two) = (streams(fast), streams(Attached { adapters_count: 2, ..fast }));
    assert!(rate(&two) < 1.1 * rate(&single), "{} and {}", rate(&single), rate(&two));
    assert!(two.busy_share(0) > 0.9, "{}", two.busy_share(0));
}

#[test]
fn directions_share_a_line_with_half_duplex() {
    let (full, half) = (streams(PLAIN), streams(Attached { is_half_duplex: true, ..PLAIN }));
    assert!(rate(&full) > 1_800.0, "{}", rate(&full));
    // One line of 1 Gbit/s for both, of which ACKs and headers take a part.
    assert!((800.0..=950.0).contains(&rate(&half)), "{}", rate(&half));
}
