//! Each rule of study 1's hosts is a switch, and without it what the study saw does not come out.

use super::{FASTER, NEW, Pair, of, payloads, share};
use sim::cost::Cost;
use sim::profile::profile_file::Value;
use sim::sunos::spec::{Adapter, HostSpec};

fn word(word: &str) -> Value {
    Value::Word(word.to_owned())
}

#[test]
fn without_window_updates_the_timer_alone_acknowledges() {
    let with = Pair::shipped(NEW).rate(of(4096, 8192), 2);
    let without = Pair::changed(NEW, "update_percent", Value::Number(1000.0)).rate(of(4096, 8192), 2);
    assert!(without < 0.1 * with, "{without} of {with}");
}

#[test]
fn a_later_window_update_is_less_than_two_acknowledgments_for_a_window() {
    // Half of the buffer as in 4.3BSD-Reno: 2048 of 4096 bytes just reach it, 35 % of 5734 of 16384 no longer do.
    let acknowledgments = |percent: f64| {
        let outcome = Pair::changed(NEW, "update_percent", Value::Number(percent)).run(of(4096, 2048));
        outcome.states[1].pure_acks
    };
    let (at_35, at_51) = (acknowledgments(35.0), acknowledgments(51.0));
    assert!(at_35 > at_51 * 3 / 2, "{at_35}, {at_51}");
}

#[test]
fn without_programmed_io_the_processor_is_free_of_the_bytes() {
    let with = Pair::shipped(FASTER);
    let fixed = |cost: Cost| Cost { per_byte: 0, ..cost };
    let mut costs = with.spec.costs;
    costs.driver_send = fixed(costs.driver_send);
    costs.driver_receive = fixed(costs.driver_receive);
    let adapter =
        Adapter::Dma { send: Cost::default(), receive: Cost::default(), receive_cell: 0, framing: with.link.framing, sent_interrupt: 0 };
    let without = Pair { spec: HostSpec { costs, adapter, ..with.spec }, ..with };
    let gain = without.rate(of(52428, 8192), 2) / with.rate(of(52428, 8192), 2);
    assert!(gain > 1.3, "{gain}");
}

#[test]
fn with_aal34_the_receive_processor_is_the_limit_of_large_windows_alone() {
    let (aal5, aal34) = (Pair::shipped(super::DMA), Pair::shipped("sparc10+sba-200-aal34"));
    let share = |outcome: &sim::world::Outcome| outcome.adapter_busy[1][1] as f64 / outcome.duration as f64;
    let (small, large) = (aal34.run(of(4096, 8192)), aal34.run(of(52428, 8192)));
    assert!(share(&small) < 0.5 && share(&large) > 0.93, "{} and {}", share(&small), share(&large));
    assert!(share(&aal5.run(of(52428, 8192))) < 0.5);
    assert!(aal34.rate(of(52428, 8192), 2) < 0.92 * aal5.rate(of(52428, 8192), 2));
    // Without what a cell takes, a longer link is all that is left.
    let mut without = aal34;
    if let Adapter::Dma { receive_cell, .. } = &mut without.spec.adapter {
        *receive_cell = 0;
    }
    let gain = without.rate(of(52428, 8192), 2) / aal34.rate(of(52428, 8192), 2);
    assert!(gain > 1.08, "{gain}");
}

#[test]
fn without_the_exception_of_half_a_window_segments_wait_for_the_largest_size() {
    let (with, without) = (Pair::shipped(NEW), Pair::changed(NEW, "nagle", word("below-segment")));
    // Half of a window of 8192 is below the MSS: only the exception lets the second segment leave.
    assert!(share(&with.run(of(8192, 8192)), &[4096, 4096]) > 0.9);
    assert!(share(&without.run(of(8192, 8192)), &[4096, 4096]) < 0.1);
    assert!(without.rate(of(8192, 8192), 2) < 0.9 * with.rate(of(8192, 8192), 2));
}

#[test]
fn without_the_rule_of_whole_pieces_a_write_is_cut_differently() {
    let triples = |pair: Pair| {
        let sent = payloads(&pair.run(of(8192, 8704)));
        sent.windows(3).filter(|three| *three == [4096, 4096, 512]).count() * 3 * 100 / sent.len()
    };
    assert!(triples(Pair::shipped(NEW)) > 90);
    assert!(triples(Pair::changed(NEW, "write", word("any-room"))) < 50);
}

#[test]
fn without_the_limit_of_a_copy_a_write_of_the_window_is_one_segment() {
    let first = |pair: Pair| payloads(&pair.run(of(8192, 8192)))[..4].to_vec();
    assert_eq!(first(Pair::shipped(NEW)), [4096; 4]);
    assert_eq!(first(Pair::changed(NEW, "copy_limit_bytes", Value::Number(65_536.0))), [8192; 4]);
}

#[test]
fn without_buffers_of_44_and_1012_bytes_a_timer_announces_other_windows() {
    let sizes = |pair: Pair| {
        let mut sizes = payloads(&pair.run(super::Transfer { bytes: super::WHOLE, ..of(4096, 4096) }));
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    assert!(sizes(Pair::shipped(NEW)).contains(&3080));
    let mut whole = Pair::changed(NEW, "first_buffer_bytes", Value::Number(4096.0));
    whole.spec.pieces.others = 4096;
    assert_eq!(sizes(whole), [4096]);
}
