//! Interrupt coalescing: an adapter that waits for more frames before it interrupts, but not for long.

use crate::time::Ps;

/// The settings of an adapter; what `ethtool -c` calls rx-frames and rx-usecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// It interrupts when so many frames wait.
    pub frames: u32,
    /// It interrupts so long after the first that waits.
    pub delay: Ps,
}

impl Coalescing {
    /// An interrupt for each frame that finds none pending.
    pub const NONE: Self = Self { frames: 1, delay: 0 };
}

/// The frames that wait, and the interrupt that they will raise.
#[derive(Debug, Clone)]
pub struct Moderator {
    set: Coalescing,
    waiting: u32,
    at: Option<Ps>,
    is_masked: bool,
}

impl Moderator {
    /// Nothing waits.
    pub fn new(set: Coalescing) -> Self {
        Self { set, waiting: 0, at: None, is_masked: false }
    }

    /// A frame is in memory.
    pub fn on_frame(&mut self, now: Ps) {
        self.waiting += 1;
        if self.is_masked {
            return;
        }
        if self.waiting >= self.set.frames {
            self.at = Some(now);
        } else if self.at.is_none() {
            self.at = Some(now + self.set.delay);
        }
    }

    /// When it interrupts, if nothing else comes.
    pub fn interrupts_at(&self) -> Option<Ps> {
        self.at
    }

    /// It has interrupted; it does not again before [`Moderator::unmask`].
    pub fn on_interrupt(&mut self) {
        self.at = None;
        self.is_masked = true;
        self.waiting = 0;
    }

    /// The driver has taken what waited.
    pub fn unmask(&mut self) {
        self.is_masked = false;
        self.waiting = 0;
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_or_time_whichever_is_first() {
        let mut moderator = Moderator::new(Coalescing { frames: 3, delay: 100 });
        moderator.on_frame(10);
        assert_eq!(moderator.interrupts_at(), Some(110));
        moderator.on_frame(20);
        assert_eq!(moderator.interrupts_at(), Some(110));
        moderator.on_frame(30);
        assert_eq!(moderator.interrupts_at(), Some(30));
    }

    #[test]
    fn a_driver_at_work_is_not_interrupted() {
        let mut moderator = Moderator::new(Coalescing::NONE);
        moderator.on_frame(10);
        moderator.on_interrupt();
        moderator.on_frame(11);
        assert_eq!(moderator.interrupts_at(), None);
        moderator.unmask();
        moderator.on_frame(12);
        assert_eq!(moderator.interrupts_at(), Some(12));
    }
}
