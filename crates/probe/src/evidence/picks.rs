//! Sockets that programs choose themselves, at their SYN: the places that they are offered for it, and those that they
//! have taken.

use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::{self, CONNECTING, Control, LISTENING, Pick, Tuple};

/// Places that are offered at a time.
pub const PICKS: u32 = layout::PICKS as u32;

/// The fate of a place that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The number that was offered with it.
    pub number: u16,
    /// The socket that has it; none where another program was faster.
    pub socket: Option<Tuple>,
}

/// The reader's side.
pub struct Picks {
    control: *mut Control,
    offered: u32,
    read: u32,
}

// SAFETY: the pointer is to the one element of a mapping that the owner keeps; whoever uses this holds the owner's lock.
unsafe impl Send for Picks {}

impl Picks {
    /// None is offered yet. The memory of `control` has to outlive this.
    pub fn new(control: *mut Control) -> Self {
        Self { control, offered: 0, read: 0 }
    }

    /// True if another place can be offered.
    pub fn has_room(&self) -> bool {
        self.offered.wrapping_sub(self.read) < PICKS
    }

    /// Offers a place of the map `connections`, that is empty, and a number for it.
    pub fn offer(&mut self, number: u16, place: u32) {
        let slot = u16::try_from(place + 1).unwrap_or(0);
        let pick = Pick { number: u32::from(number), ..Pick::default() };
        // SAFETY: the pointer is valid by the type's contract, and indices that arrays do not have panic. Programs look at the
        // place only when it is counted among those that are offered, which is last.
        unsafe {
            for end in [LISTENING, CONNECTING] {
                let which = (end << 16 | u32::from(number)) as usize;
                (&raw mut (*self.control).slot_of_port[which]).write_volatile(slot);
            }
            (&raw mut (*self.control).picks[(self.offered % PICKS) as usize]).write_volatile(pick);
        }
        self.offered = self.offered.wrapping_add(1);
        self.word(false).store(self.offered, Ordering::Release);
    }

    /// The next place that was taken, if there is one.
    pub fn next_taken(&mut self) -> Option<Taken> {
        let taken = self.word(true).load(Ordering::Acquire);
        if self.read == self.offered || taken.wrapping_sub(self.read) == 0 {
            return None;
        }
        // SAFETY: as in `offer`.
        let pick = unsafe { &raw mut (*self.control).picks[(self.read % PICKS) as usize] };
        // SAFETY: the word is aligned and within the mapping, and programs change it atomically.
        let mark = unsafe { AtomicU32::from_ptr(&raw mut (*pick).taken) };
        if mark.load(Ordering::Acquire) != self.read.wrapping_add(1) {
            // A program is about to fill it in.
            return None;
        }
        // SAFETY: as above; whoever has set the mark writes no more.
        let pick = unsafe { pick.read_volatile() };
        self.read = self.read.wrapping_add(1);
        let number = u16::try_from(pick.number).unwrap_or(0);
        Some(Taken { number, socket: (pick.which != 0).then_some(pick.socket) })
    }

    /// The count of places that are offered, or taken.
    fn word(&self, is_taken: bool) -> &AtomicU32 {
        // SAFETY: the words are aligned and within the mapping; programs and this side change them atomically.
        unsafe {
            let word = if is_taken { &raw mut (*self.control).picks_taken } else { &raw mut (*self.control).picks_offered };
            AtomicU32::from_ptr(word)
        }
    }
}
