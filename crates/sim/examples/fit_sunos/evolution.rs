//! Differential evolution (Storn, Price, "Differential Evolution", Journal of Global Optimization 11, 1997; DE/current-to-best/1/bin):
//! a population within bounds, of which each is replaced by a mixture of others that does better.

use crate::family::{ACCEPT, Family, SEARCH, Verdict};
use sim::rng::Rng;

/// Sets that are kept alive.
const POPULATION: usize = 40;
/// Weight of a difference, and the share of numbers that change.
const WEIGHT: (f64, f64) = (0.4, 0.5);
const CROSSOVER: f64 = 0.7;
/// How far [`spread`] goes at once, as a ratio.
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

struct Dice(Rng);

impl Dice {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0.below(1 << 40) as f64 / (1_u64 << 40) as f64
    }

    fn index(&mut self, below: usize) -> usize {
        usize::try_from(self.0.below(below as u64)).unwrap_or(0)
    }
}

/// So many generations on from the given sets; one whose loss is infinite was never judged.
pub fn evolve(family: &Family, given: Vec<Member>, seed: u64, generations: usize) -> Vec<Member> {
    let mut dice = Dice(Rng::new(seed, 0));
    let mut members = given;
    for member in members.iter_mut().filter(|member| member.verdict.loss.is_infinite()) {
        member.verdict = family.judge(&member.values, SEARCH);
    }
    while members.len() < POPULATION {
        let spread = if members.is_empty() { 0.0 } else { dice.share() };
        let values = family.bounds.iter().zip(&family.start).map(|(&(low, high), start)| {
            let anywhere = low + (high - low) * dice.share();
            (start + spread * (anywhere - start)).clamp(low, high)
        });
        let values = values.collect();
        members.push(judged(family, values, f64::INFINITY));
    }
    for generation in 0..generations {
        let best = (0..members.len()).min_by(|&a, &b| members[a].verdict.loss.total_cmp(&members[b].verdict.loss)).unwrap_or(0);
        for index in 0..members.len() {
            let tried = judged(family, mixture(family, &members, index, best, &mut dice), members[index].verdict.loss);
            if tried.verdict.loss <= members[index].verdict.loss {
                members[index] = tried;
            }
        }
        if generation + 1 == generations {
            eprintln!("{}: best {:?}", family.name, members[best].verdict);
        }
    }
    members
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
    let mut dice = Dice(Rng::new(seed, 0));
    let mut kept = members;
    kept.retain(|member| member.verdict.is_accepted(family.name));
    for _ in 0..tries {
        if kept.is_empty() || kept.len() >= POPULATION {
            break;
        }
        let (first, other) = (&kept[dice.index(kept.len())].values, &kept[dice.index(kept.len())].values);
        let part = dice.share();
        let moved = family.bounds.iter().zip(first.iter().zip(other)).map(|(&(low, high), (first, other))| {
            let factor = 1.0 + DEVIATION * (2.0 * dice.share() - 1.0);
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

fn judged(family: &Family, values: Vec<f64>, limit: f64) -> Member {
    // One digit after the point is more than the study can resolve, and keeps the file readable.
    let values: Vec<f64> = values.into_iter().map(|value| (value * 10.0).round() / 10.0).collect();
    let verdict = family.judge_below(limit, &values, SEARCH);
    Member { values, verdict }
}

fn mixture(family: &Family, members: &[Member], index: usize, best: usize, dice: &mut Dice) -> Vec<f64> {
    let (first, other) = (dice.index(members.len()), dice.index(members.len()));
    let toward = if dice.share() < 0.5 { best } else { dice.index(members.len()) };
    let (pull, weight) = (WEIGHT.0 * dice.share(), WEIGHT.1 + 0.4 * dice.share());
    let surely = dice.index(family.bounds.len());
    let own = &members[index].values;
    (0..own.len())
        .map(|place| {
            let (low, high) = family.bounds[place];
            if place != surely && dice.share() > CROSSOVER {
                return own[place];
            }
            let step = pull * (members[toward].values[place] - own[place])
                + weight * (members[first].values[place] - members[other].values[place]);
            let value = own[place] + step;
            // What goes beyond a bound comes back half way.
            if value < low {
                f64::midpoint(low, own[place])
            } else if value > high {
                f64::midpoint(high, own[place])
            } else {
                value
            }
        })
        .collect()
}
