//! Each algorithm answers losses, delay and time as its paper says, and not as Reno does.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small figures")]

use crate::arithmetic::*;

#[test]
fn reno_takes_half_the_window_to_recover() {
    for cwnd in [100, 1_000, 10_000] {
        assert_eq!(recovery_rounds(cwnd, reno_kept, reno_gain), cwnd / 2);
    }
}

#[test]
fn a_scalable_window_of_any_size_recovers_in_as_many_rounds() {
    // Kelly 2003, section 3: log(1 - b) / log(1 + a) = 13.4 rounds.
    for cwnd in [200, 1_000, 10_000, 100_000] {
        let rounds = recovery_rounds(cwnd, scalable_kept, scalable_gain);
        assert!((13..=14).contains(&rounds), "{rounds} rounds at {cwnd}");
    }
    assert_eq!(scalable_gain(20), reno_gain(20));
}

#[test]
fn highspeed_is_the_table_of_the_rfc() {
    // The program in RFC 3649 appendix B: a row where a(w) has grown by more than 1 since the last.
    let b = |w: f64| (0.1 - 0.5) * (w.ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln()) + 0.5;
    let a = |w: f64| w * w * 2.0 * b(w) / ((2.0 - b(w)) * w.powf(1.2) * 12.8);
    let (mut row, mut last) = (1, 1.0);
    for cwnd in 39..100_000_u32 {
        let w = f64::from(cwnd);
        let is_next = a(w) > last + 1.0;
        if is_next {
            (row, last) = (row + 1, a(w));
        }
        assert_eq!(highspeed_gain(cwnd), row * SEGMENT, "at {cwnd}");
        if is_next {
            let kept = f64::from(highspeed_kept(cwnd)) / w;
            assert!((kept - (1.0 - b(w))).abs() < 0.01 + 1.0 / w, "{kept} kept at {cwnd}");
        }
    }
    assert_eq!(row, 73);
}

#[test]
fn highspeed_is_reno_below_its_low_window() {
    for cwnd in 4..=38 {
        assert_eq!((highspeed_gain(cwnd), highspeed_kept(cwnd)), (reno_gain(cwnd), reno_kept(cwnd)));
    }
    assert!(recovery_rounds(10_000, highspeed_kept, highspeed_gain) * 10 < recovery_rounds(10_000, reno_kept, reno_gain));
}

#[test]
fn ltcp_has_the_layers_of_its_window() {
    // W_K = W_T (K + 1) K (K - 1) / 6, W_T = 50.
    for (layers, window) in [(2, 50), (3, 200), (4, 500), (5, 1_000), (10, 8_250), (19, 57_000)] {
        assert_eq!((ltcp_layers(window - 1), ltcp_layers(window)), (layers - 1, layers));
        assert_eq!(ltcp_gain(window), layers * SEGMENT);
    }
    assert_eq!((ltcp_gain(49), ltcp_kept(49)), (reno_gain(49), reno_kept(49)));
}

#[test]
fn ltcp_loses_a_layer_at_most_at_a_loss() {
    for cwnd in 50..57_000 {
        assert!(ltcp_layers(ltcp_kept(cwnd)) + 1 >= ltcp_layers(cwnd), "at {cwnd}");
    }
    // An order of magnitude faster than Reno, as the paper's abstract says.
    assert!(recovery_rounds(8_250, ltcp_kept, ltcp_gain) * 10 < recovery_rounds(8_250, reno_kept, reno_gain));
}

#[test]
fn bic_closes_half_the_distance_but_not_more_than_the_maximum() {
    let bic = Bic { maximum: 100 };
    // S_max = 16 segments; below, half the distance; near the maximum, the least.
    for (cwnd, segments) in [(40, 16.0), (68, 16.0), (70, 15.0), (80, 10.0), (90, 5.0), (94, 3.0), (97, 0.2)] {
        let gain = f64::from(bic_gain(&bic, cwnd)) / f64::from(SEGMENT);
        assert!((gain - segments).abs() < 0.01, "{gain} at {cwnd}");
    }
    let beyond: Vec<u32> = [102, 106, 112, 130, 148, 500].iter().map(|&cwnd| bic_gain(&bic, cwnd) / SEGMENT).collect();
    assert_eq!(beyond, [0, 2, 4, 10, 16, 16]);
}

#[test]
fn bic_makes_room_when_it_loses_below_its_maximum() {
    let mut bic = Bic::default();
    bic_on_loss(&mut bic, 1_000);
    assert_eq!((bic.maximum, bic_kept(1_000)), (1_000, 800));
    bic_on_loss(&mut bic, 900);
    // The mean of the window before and the window kept.
    assert_eq!(bic.maximum, u32::midpoint(900, 720));
    assert_eq!((bic_gain(&bic, 13), bic_kept(13)), (reno_gain(13), 6));
}

#[test]
fn htcp_gains_the_more_the_longer_no_loss_was() {
    let formula = |seconds: f64| 1.0 + 10.0 * (seconds - 1.0) + 0.25 * (seconds - 1.0).powi(2);
    assert_eq!((htcp_alpha(0), htcp_alpha(1_000_000)), (SEGMENT, SEGMENT));
    for seconds in [1.1, 2.0, 5.0, 30.0, 600.0] {
        let alpha = f64::from(htcp_alpha((seconds * 1e6) as u64)) / f64::from(SEGMENT);
        assert!((alpha / formula(seconds) - 1.0).abs() < 0.01, "{alpha} after {seconds} s");
    }
    assert!(htcp_alpha(u64::MAX) > htcp_alpha(600_000_000));
}

#[test]
fn htcp_scales_its_gain_by_round_trip_and_backoff() {
    let at = |rtt_us, beta| htcp_gain(11_000_000, rtt_us, beta);
    // 1 + 100 + 25 segments at 100 ms; 2 (1 - beta) of it.
    assert_eq!(at(100_000, 64), 126 * SEGMENT);
    assert_eq!(at(50_000, 64), 63 * SEGMENT);
    assert_eq!(at(400_000, 64), 252 * SEGMENT);
    assert_eq!(at(100_000, 96), 63 * SEGMENT);
}

#[test]
fn htcp_backs_off_by_the_queue_while_its_throughput_is_steady() {
    let kept = |before, rtt_us_max| f64::from(htcp_beta(1_000, before, 80_000, rtt_us_max)) / f64::from(SEGMENT);
    assert!((kept(1_000, 128_000) - 80.0 / 128.0).abs() < 0.01);
    assert!((kept(1_000, 80_000) - 0.8).abs() < 0.01);
    assert!((kept(1_000, 400_000) - 0.5).abs() < 0.01);
    // A change by more than 20 %, or nothing to compare with: half.
    for before in [0, 700, 1_300] {
        assert!((kept(before, 80_000) - 0.5).abs() < 0.01, "{before} before");
    }
}

/// A path of `bdp` segments behind whose bottleneck there is room without end; round after round.
fn fast_on_path(bdp: u32, rtt_us: u32, rounds: u32) -> Vec<u32> {
    let mut fast = Fast { is_starting: 1, ..Fast::default() };
    let (mut cwnd, mut credit, mut windows) = (10, 0, Vec::new());
    for _ in 0..rounds {
        let queued = cwnd.max(bdp) - bdp;
        fast_on_rtt(&mut fast, cwnd, rtt_us + rtt_us * queued / bdp);
        cwnd = fast_on_round(&mut fast, cwnd, 1_448);
        let gain = fast.gain;
        cwnd = after_round(cwnd, &mut credit, |_| gain);
        windows.push(cwnd);
    }
    windows
}

#[test]
fn fast_settles_where_alpha_segments_of_its_own_are_queued() {
    // 83 segments in 10 ms are 96 Mbit/s: alpha = 20.
    let windows = fast_on_path(83, 10_000, 100);
    let settled = &windows[60..];
    assert!(settled.iter().all(|cwnd| cwnd.abs_diff(83 + 20) <= 2), "{settled:?}");
    // Nothing beyond the bandwidth-delay product is ever queued: a queue of that size loses nothing.
    assert!(windows.iter().all(|&cwnd| cwnd <= 2 * 83), "{windows:?}");
    // 833 segments in 10 ms are 965 Mbit/s: alpha = 200.
    let settled = fast_on_path(833, 10_000, 100)[60..].to_vec();
    assert!(settled.iter().all(|cwnd| cwnd.abs_diff(833 + 200) <= 4), "{settled:?}");
}

#[test]
fn fast_starts_slowly_until_most_of_a_round_shows_a_queue() {
    // Of 75 segments 42 are queued where a round trip takes 45 ms instead of 20.
    let after = |queued_count: u32| {
        let mut fast = Fast { is_starting: 1, rtt_us_least: 20_000, alpha: 20, ..Fast::default() };
        for sample in 0..20 {
            fast_on_rtt(&mut fast, 75, if sample < queued_count { 45_000 } else { 20_000 });
        }
        fast_on_round(&mut fast, 75, 1_448);
        (fast.is_starting, fast.queued_count)
    };
    assert_eq!([0, 14, 15, 20].map(after), [(1, 0), (1, 0), (0, 0), (0, 0)]);
}

#[test]
fn fast_keeps_its_alpha_while_the_rate_sways_about_a_threshold() {
    assert_eq!([fast_alpha(8, 1_400_000), fast_alpha(8, 1_600_000), fast_alpha(20, 1_400_000), fast_alpha(20, 1_000_000)], [8, 20, 20, 8]);
    assert_eq!([fast_alpha(20, 16_000_000), fast_alpha(200, 14_000_000), fast_alpha(200, 10_000_000)], [200, 200, 20]);
}

/// Delays in ticks, each ten times.
fn hslp_after(delays: &[u32]) -> Hslp {
    let mut hslp = Hslp::default();
    for &delay in delays {
        for _ in 0..10 {
            // Clocks that differ by a little less than what they can count.
            hslp_on_delay(&mut hslp, delay.wrapping_sub(3), 2);
        }
    }
    hslp
}

#[test]
fn hslp_gives_way_to_a_queue_before_a_loss() {
    let rtt_us = 10_000;
    let mut free = hslp_after(&[0, 0, 1, 0]);
    assert_eq!(hslp_on_ack(&mut free, 1_000_000, rtt_us), Answer::Grow);
    // The queue has been 40 ticks, and is 20.
    let mut queued = hslp_after(&[0, 40, 20]);
    let answers = [1_000_000, 1_005_000, 1_011_000].map(|now_us| hslp_on_ack(&mut queued, now_us, rtt_us));
    assert_eq!(answers, [Answer::Halve, Answer::Wait, Answer::Yield]);
    // It has given way to one segment: such a segment's ACK, 40 ticks late, is no queue.
    for _ in 0..100 {
        hslp_on_delay(&mut queued, 40_u32.wrapping_sub(3), 1);
    }
    // Three rounds of inference after the last indication.
    let answers = [1_040_000, 1_041_001].map(|now_us| hslp_on_ack(&mut queued, now_us, rtt_us));
    assert_eq!(answers, [Answer::Wait, Answer::Grow]);
}
