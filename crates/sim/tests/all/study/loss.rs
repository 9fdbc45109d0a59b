//! What `SunOS` 4.1 does about loss: go-back-N by the timer, slow start behind it, fast retransmit where enough arrives.

use super::{NEW, Pair, Transfer, of};
use sim::end_system::Cause;
use sim::link::loss::Losses;
use sim::profile::profile_file::Value;
use sim::world::Outcome;

/// The writer's frames of these numbers are lost.
fn with_loss(mut pair: Pair, numbers: &[u64]) -> Pair {
    pair.link.losses[0].scripted[..numbers.len()].copy_from_slice(numbers);
    pair
}

/// Sequence numbers of what left for a cause, in order.
fn left_for(outcome: &Outcome, cause: Cause) -> Vec<u64> {
    let entries = outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.cause == cause);
    entries.map(|entry| entry.segment.sequence).collect()
}

fn small(window_bytes: u32) -> Transfer {
    Transfer { bytes: 200_000, ..of(window_bytes, 4096) }
}

#[test]
fn a_lost_segment_of_a_small_window_is_sent_again_by_the_timer() {
    let outcome = with_loss(Pair::shipped(NEW), &[5]).run(small(8192));
    assert_eq!(outcome.states[0].timeouts, 1);
    assert_eq!(left_for(&outcome, Cause::Retransmission).len(), 1);
    // What came behind it was kept: it goes once.
    assert!(outcome.states[0].retransmitted_segments <= 2);
}

#[test]
fn a_receiver_that_keeps_nothing_out_of_order_has_it_all_again() {
    let again = |pair: Pair| with_loss(pair, &[12]).run(small(52428)).states[0].retransmitted_segments;
    let dropping = Pair::changed(NEW, "keeps_out_of_order", Value::Switch(false));
    assert!(again(dropping) > again(Pair::shipped(NEW)));
}

#[test]
fn enough_duplicate_acknowledgments_save_the_timeout() {
    // Segments of 1024 without Nagle: many are under way behind the lost one.
    let mut pair = Pair::changed(NEW, "nagle", Value::Word("off".to_owned()));
    pair.spec.mss = 1024;
    let (with, without) = (with_loss(pair, &[60]), {
        pair.spec.rules.tcp.duplicate_acks = 0;
        with_loss(pair, &[60])
    });
    assert_eq!(with.run(small(52428)).states[0].timeouts, 0);
    assert_eq!(without.run(small(52428)).states[0].timeouts, 1);
}

#[test]
fn behind_a_timeout_the_window_begins_with_a_segment() {
    let outcome = with_loss(Pair::shipped(NEW), &[6]).run(small(52428));
    let again = outcome.log.entries.iter().find(|entry| entry.cause == Cause::Retransmission).expect("it was sent again");
    assert_eq!(again.cwnd_bytes, u64::from(again.segment.bytes));
    let never = with_loss(Pair::changed(NEW, "slow_start", Value::Word("never".to_owned())), &[6]).run(small(52428));
    assert!(never.log.entries.iter().all(|entry| entry.cwnd_bytes == u64::MAX));
}

#[test]
fn a_lost_acknowledgment_costs_nothing_where_another_follows() {
    let mut pair = Pair::shipped(NEW);
    pair.link.losses[1] = Losses { scripted: [2, 0, 0, 0, 0, 0, 0, 0], ..Losses::NONE };
    let outcome = pair.run(small(52428));
    assert_eq!(outcome.states[0].retransmitted_segments, 0);
}
