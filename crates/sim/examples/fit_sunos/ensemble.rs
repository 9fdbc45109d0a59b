//! The sets of a search that are accepted, and more sets between them.

use crate::family::{ACCEPT, Family, Verdict};
use sim::rng::Rng;

/// Accepted sets at most.
const MAX_SETS: usize = 40;
/// Distance that [`spread`] goes at once, as a ratio.
const DEVIATION: f64 = 0.02;

/// A loss that no accepted set has: no more runs are spent on one that is above.
const HOPELESS: f64 = 6.0;

/// A set and how well it does.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its numbers, in the order of the family's names.
    pub values: Vec<f64>,
    /// As judged.
    pub verdict: Verdict,
}

/// From 0 to 1.
fn share(rng: &mut Rng) -> f64 {
    rng.below(1 << 40) as f64 / (1_u64 << 40) as f64
}

fn index(rng: &mut Rng, below: usize) -> usize {
    usize::try_from(rng.below(below as u64)).unwrap_or(0)
}

/// Judged for acceptance, the best first.
pub fn accept(family: &Family, mut members: Vec<Member>) -> Vec<Member> {
    for member in &mut members {
        member.verdict = family.judge_below(HOPELESS, &member.values, ACCEPT);
    }
    members.sort_by(|first, second| first.verdict.loss.total_cmp(&second.verdict.loss));
    members
}

/// Tries so many sets between two that are accepted, give or take up to [`DEVIATION`], and keeps those that are accepted, too:
/// the ensemble shows how far the numbers may move. Most of what is asked is a sum of costs, so that what lies
/// between two that do is likely to do as well.
pub fn spread(family: &Family, members: Vec<Member>, seed: u64, tries: usize) -> Vec<Member> {
    let mut rng = Rng::new(seed, 0);
    let mut kept = members;
    kept.retain(|member| member.verdict.is_accepted(family.name));
    for _ in 0..tries {
        if kept.is_empty() || kept.len() >= MAX_SETS {
            break;
        }
        let (first, other) = (&kept[index(&mut rng, kept.len())].values, &kept[index(&mut rng, kept.len())].values);
        let part = share(&mut rng);
        let moved = family.bounds.iter().zip(first.iter().zip(other)).map(|(&(low, high), (first, other))| {
            let factor = 1.0 + DEVIATION * (2.0 * share(&mut rng) - 1.0);
            (((first + part * (other - first)) * factor).clamp(low, high) * 10.0).round() / 10.0
        });
        let values: Vec<f64> = moved.collect();
        let verdict = family.judge_below(HOPELESS, &values, ACCEPT);
        if verdict.is_accepted(family.name) {
            kept.push(Member { values, verdict });
        }
    }
    kept.sort_by(|first, second| first.verdict.loss.total_cmp(&second.verdict.loss));
    kept
}
