//! Tables 1 to 3 of study 2 and its copy steps, on the shipped hosts; and what each rule is for.

use super::tables::{HOST, Row, copy_steps_mbps, rows, rows_of, with};
use sim::profile::profile_file::Value;
use sim::profile::{HostProfile, Library};

/// Tolerances of the rates of requests and of packets.
const OF_REQUESTS: f64 = 0.15;
const OF_PACKETS: f64 = 0.1;

fn shipped() -> HostProfile {
    Library::shipped().and_then(|library| library.resolve(HOST)).expect("the shipped host")
}

fn changed(changes: &[(&str, f64)]) -> HostProfile {
    changes.iter().fold(shipped(), |profile, &(key, number)| with(&profile, key, Value::Number(number)))
}

fn tolerance(row: &Row) -> f64 {
    if row.table.starts_with("rr") { OF_REQUESTS } else { OF_PACKETS }
}

/// The largest error of the rows of one payload of a table.
fn largest_error(profile: &HostProfile, table: &str, payload_bytes: u32) -> f64 {
    let rows = rows_of(profile, |name, payload| name.starts_with(table) && payload == payload_bytes);
    rows.iter().map(|row| row.error().abs()).fold(0.0, f64::max)
}

#[test]
fn every_row_is_within_the_tolerance() {
    let rows = rows(&shipped());
    assert_eq!(rows.len(), 14 + 6 + 12);
    for row in rows {
        assert!(row.error().abs() < tolerance(&row), "{} of {} bytes: {row:?}", row.table, row.payload_bytes);
    }
}

#[test]
fn without_pulling_blocks_up_messages_of_60_bytes_are_too_slow() {
    let found = largest_error(&changed(&[("max_blocks", 100.0)]), "nagle", 60);
    assert!(found > OF_PACKETS, "{found}");
}

#[test]
fn without_fast_mapping_full_segments_are_too_slow() {
    let found = largest_error(&changed(&[("dvma_above_bytes", 2000.0)]), "nodelay", 1460);
    assert!(found > OF_PACKETS, "{found}");
}

#[test]
fn without_small_receive_buffers_or_the_switch_large_requests_are_too_fast() {
    for changes in [[("page_above_bytes", 2000.0)].as_slice(), &[("switch_ns_per_byte", 0.0)]] {
        let found = largest_error(&changed(changes), "rr", 1460);
        assert!(found > OF_REQUESTS, "{changes:?}: {found}");
    }
}

#[test]
fn without_the_hand_over_one_row_is_too_fast() {
    let without = with(&shipped(), "hands_messages_over", Value::Switch(false));
    let found = largest_error(&without, "nodelay-on", 1024);
    assert!(found > OF_PACKETS, "{found}");
}

#[test]
fn more_at_once_helps_one_connection_and_not_ten() {
    let profile = shipped();
    let mbps = |connections, multiplier| copy_steps_mbps(&profile, connections, multiplier);
    let (single, eight) = (mbps(1, 1), mbps(1, 8));
    assert!((1.18..1.3).contains(&(eight / single)), "{single} and {eight}");
    assert!((0.98..1.04).contains(&(mbps(1, 44) / eight)));
    let ten = mbps(10, 1);
    for multiplier in [2, 44] {
        assert!((mbps(10, multiplier) / ten - 1.0).abs() < 0.02, "{ten} and {} with {multiplier}", mbps(10, multiplier));
    }
}

#[test]
fn where_a_step_costs_little_the_number_of_segments_has_no_effect() {
    let profile = changed(&[("copy_in_us", 0.5), ("write_call_us", 4.0)]);
    let ratio = copy_steps_mbps(&profile, 1, 8) / copy_steps_mbps(&profile, 1, 1);
    assert!((0.97..1.08).contains(&ratio), "{ratio}");
}
