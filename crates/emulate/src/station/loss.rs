//! Loss that has nothing to do with the queue: random, in bursts, scripted.

use crate::packet::{Cause, PacketKind};
use crate::rng::{Decision, Stream};
use schema::path::LossSpec;

/// Decides over every packet in turn.
#[derive(Debug, Clone)]
pub enum LossModel {
    /// None.
    None,
    /// Every packet alike.
    Random { per_billion: u32, rng: Stream },
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// By number.
    Scripted(Script),
}

impl LossModel {
    /// The loss of a direction.
    pub fn new(spec: &LossSpec, seed: u64, direction: u64) -> Self {
        let rng = Stream::new(seed, direction, Decision::Loss);
        match spec {
            LossSpec::None => LossModel::None,
            LossSpec::Random { probability_per_billion } => LossModel::Random { per_billion: *probability_per_billion, rng },
            LossSpec::GilbertElliott { good_to_bad_per_billion, bad_to_good_per_billion, bad_loss_per_billion, good_loss_per_billion } => {
                LossModel::GilbertElliott(GilbertElliott {
                    good: ChannelState { leave_per_billion: *good_to_bad_per_billion, loss_per_billion: *good_loss_per_billion },
                    bad: ChannelState { leave_per_billion: *bad_to_good_per_billion, loss_per_billion: *bad_loss_per_billion },
                    is_bad: false,
                    change: rng,
                    loss: Stream::new(seed, direction, Decision::StateLoss),
                })
            }
            LossSpec::Scripted { segments } => LossModel::Scripted(Script { segments: segments.clone(), passed: 0, seen: 0 }),
        }
    }

    /// Why the next packet is lost, if it is. `is_counted`: whether a script counts it.
    pub fn on_packet(&mut self, kind: PacketKind, is_counted: bool) -> Option<Cause> {
        match self {
            LossModel::Random { per_billion, rng } => rng.happens(*per_billion).then_some(Cause::Random),
            LossModel::GilbertElliott(chain) => chain.on_packet().then_some(Cause::Random),
            LossModel::Scripted(script) if kind == PacketKind::Data && is_counted => script.on_segment().then_some(Cause::Scripted),
            LossModel::None | LossModel::Scripted(_) => None,
        }
    }
}

/// Two states, each with its loss and its probability to be left (Gilbert, "Capacity of a burst-noise
/// channel", Bell System Technical Journal 39, 1960; Elliott, ibid. 42, 1963).
#[derive(Debug, Clone)]
pub struct GilbertElliott {
    good: ChannelState,
    bad: ChannelState,
    is_bad: bool,
    change: Stream,
    loss: Stream,
}

#[derive(Debug, Clone)]
struct ChannelState {
    leave_per_billion: u32,
    loss_per_billion: u32,
}

impl GilbertElliott {
    fn on_packet(&mut self) -> bool {
        let state = if self.is_bad { &self.bad } else { &self.good };
        let is_lost = self.loss.happens(state.loss_per_billion);
        if self.change.happens(state.leave_per_billion) {
            self.is_bad = !self.is_bad;
        }
        is_lost
    }
}

/// Numbers of segments that are lost.
#[derive(Debug, Clone)]
pub struct Script {
    segments: Vec<u64>,
    /// Number of them that have come.
    passed: usize,
    /// Segments seen.
    seen: u64,
}

impl Script {
    fn on_segment(&mut self) -> bool {
        self.seen += 1;
        let is_lost = self.segments.get(self.passed) == Some(&self.seen);
        if is_lost {
            self.passed += 1;
        }
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn lost(spec: &LossSpec) -> Vec<bool> {
        let mut model = LossModel::new(spec, 11, 0);
        (0..PACKETS).map(|_| model.on_packet(PacketKind::Other, true).is_some()).collect()
    }

    #[test]
    fn a_script_counts_data_and_hits_what_it_names() {
        let mut model = LossModel::new(&LossSpec::Scripted { segments: vec![2, 3, 5] }, 0, 0);
        let mut kinds = [PacketKind::Data, PacketKind::PureAck, PacketKind::Data, PacketKind::Other].into_iter().cycle();
        // Data come as packets 1, 3, 5, 7, 9, 11.
        let hit: Vec<usize> = (1..=12).filter(|_| model.on_packet(kinds.next().expect("endless"), true).is_some()).collect();
        assert_eq!(hit, [3, 5, 9]);
    }

    #[test]
    fn what_came_before_the_count_is_not_counted() {
        let mut model = LossModel::new(&LossSpec::Scripted { segments: vec![1] }, 0, 0);
        assert_eq!(model.on_packet(PacketKind::Data, false), None);
        assert_eq!(model.on_packet(PacketKind::Data, true), Some(Cause::Scripted));
    }

    /// Share (p (1-h) + r (1-k)) / (p + r), and with h = 0, k = 1 a mean burst of 1 / r packets.
    #[test]
    fn bursts_have_the_share_and_the_length_of_the_formula() {
        let (p, r, bad, good) = (0.01, 0.25, 0.5, 0.001);
        let spec = |bad_loss_per_billion, good_loss_per_billion| LossSpec::GilbertElliott {
            good_to_bad_per_billion: 10_000_000,
            bad_to_good_per_billion: 250_000_000,
            bad_loss_per_billion,
            good_loss_per_billion,
        };
        let share = lost(&spec(500_000_000, 1_000_000)).iter().filter(|lost| **lost).count() as f64 / PACKETS as f64;
        let expected = (p * bad + r * good) / (p + r);
        assert!((share / expected - 1.0).abs() < 0.03, "{share} for {expected}");

        let simple = lost(&spec(1_000_000_000, 0));
        let losses = simple.iter().filter(|lost| **lost).count() as f64;
        let bursts = simple.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((losses / bursts * r - 1.0).abs() < 0.03, "mean burst {}", losses / bursts);
        let share = losses / PACKETS as f64;
        assert!((share / (p / (p + r)) - 1.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn random_loss_has_its_share_and_no_bursts() {
        let lost = lost(&LossSpec::Random { probability_per_billion: 10_000_000 });
        let losses = lost.iter().filter(|lost| **lost).count() as f64;
        assert!((losses / 10_000.0 - 1.0).abs() < 0.04, "{losses}");
        // Two in a row: 1 in 10000, so 100 of a million, standard deviation 10.
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count();
        assert!((50..=150).contains(&pairs), "{pairs}");
    }
}
