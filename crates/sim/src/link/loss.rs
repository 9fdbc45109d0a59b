//! Frames that the line loses: by their number, or at random from a seed.

use crate::rng::Rng;

/// Number of frames that a script can name.
pub const SCRIPTED: usize = 8;

/// The losses in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// Numbers of lost frames, counted from 1 over all that the line was given; 0 names none.
    pub scripted: [u64; SCRIPTED],
    /// Lost of a million frames, each on its own.
    pub per_million: u32,
    /// Seed of the random losses.
    pub seed: u64,
}

impl Losses {
    /// Nothing is lost.
    pub const NONE: Self = Self { scripted: [0; SCRIPTED], per_million: 0, seed: 0 };
}

/// A direction's losses as they come.
#[derive(Debug, Clone)]
pub struct Loss {
    losses: Losses,
    rng: Rng,
    frames: u64,
    /// Frames lost so far.
    pub lost_count: u64,
}

const MILLION: u64 = 1_000_000;

impl Loss {
    /// No frame has come yet.
    pub fn new(losses: Losses) -> Self {
        Self { losses, rng: Rng::new(losses.seed, 0), frames: 0, lost_count: 0 }
    }

    /// True if any frame can be lost at all.
    pub fn is_possible(&self) -> bool {
        self.losses.per_million > 0 || self.losses.scripted.iter().any(|&number| number > self.frames)
    }

    /// True if the next frame is lost.
    pub fn takes_next(&mut self) -> bool {
        self.frames += 1;
        let is_random = self.losses.per_million > 0 && self.rng.below(MILLION) < u64::from(self.losses.per_million);
        let is_lost = is_random || self.losses.scripted.contains(&self.frames);
        self.lost_count += u64::from(is_lost);
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(losses: Losses, frames: u64) -> Vec<u64> {
        let mut loss = Loss::new(losses);
        (1..=frames).filter(|_| loss.takes_next()).collect()
    }

    #[test]
    fn a_script_names_frames() {
        let script = Losses { scripted: [3, 7, 0, 0, 0, 0, 0, 0], ..Losses::default() };
        assert_eq!(lost(script, 10), [3, 7]);
        let mut loss = Loss::new(script);
        let mut possible = Vec::new();
        for _ in 0..8 {
            possible.push(loss.is_possible());
            loss.takes_next();
        }
        assert_eq!(possible, [true, true, true, true, true, true, true, false]);
    }

    #[test]
    fn the_generator_is_seeded_and_has_its_rate() {
        let losses = Losses { per_million: 10_000, seed: 7, ..Losses::default() };
        let all = lost(losses, 100_000);
        assert_eq!(all, lost(losses, 100_000));
        assert_ne!(all, lost(Losses { seed: 8, ..losses }, 100_000));
        assert!(all.len().abs_diff(1000) < 150, "{}", all.len());
    }
}
