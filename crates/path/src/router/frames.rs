//! The frames that are under way, kept until the last of their packets has left or is lost.

use super::anatomy::Anatomy;
use super::socket::FRAME_BYTES;
use super::vnet::VnetHeader;

/// Buffers of these sizes are kept; a frame lies in the smallest that holds it, the largest being
/// what frames are received into.
const SIZES_BYTES: [usize; 3] = [2_048, 16_384, FRAME_BYTES];
/// The largest class.
const WHOLE: usize = SIZES_BYTES.len() - 1;

/// A frame under way.
#[derive(Debug)]
pub(super) struct Frame {
    buffer: Box<[u8]>,
    class: usize,
    length: usize,
    /// The kernel's notes.
    pub notes: VnetHeader,
    /// Its contents.
    pub anatomy: Anatomy,
}

impl Frame {
    /// The frame's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// All frames under way, by number. Room that was made once is used again.
#[derive(Debug, Default)]
pub(super) struct Frames {
    kept: Vec<Option<Frame>>,
    free: Vec<u32>,
    spare: [Vec<Box<[u8]>>; SIZES_BYTES.len()],
}

impl Frames {
    /// Keeps the frame in the first `length` bytes of `buffer`, a receive buffer, and returns its
    /// number. A long frame takes the buffer itself and leaves another in its place.
    pub fn keep(&mut self, buffer: &mut Box<[u8]>, length: usize, notes: VnetHeader) -> u32 {
        let class = SIZES_BYTES.iter().position(|&size| length <= size).unwrap_or(WHOLE);
        let mut room = self.spare[class].pop().unwrap_or_else(|| vec![0; SIZES_BYTES[class]].into_boxed_slice());
        if class == WHOLE {
            std::mem::swap(&mut room, buffer);
        } else {
            room[..length].copy_from_slice(&buffer[..length]);
        }
        let anatomy = Anatomy::of(&room[..length], &notes);
        let frame = Frame { buffer: room, class, length, notes, anatomy };
        if let Some(number) = self.free.pop() {
            self.kept[number as usize] = Some(frame);
            return number;
        }
        self.kept.push(Some(frame));
        u32::try_from(self.kept.len() - 1).unwrap_or(u32::MAX)
    }

    /// A frame under way.
    pub fn get(&self, number: u32) -> Option<&Frame> {
        self.kept.get(number as usize)?.as_ref()
    }

    /// Nothing of the frame is under way any more.
    pub fn forget(&mut self, number: u32) {
        if let Some(frame) = self.kept.get_mut(number as usize).and_then(Option::take) {
            self.spare[frame.class].push(frame.buffer);
            self.free.push(number);
        }
    }

    /// Frames under way.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.kept.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(length: usize) -> Box<[u8]> {
        let mut buffer = vec![0; FRAME_BYTES].into_boxed_slice();
        buffer[..length].fill(7);
        buffer
    }

    #[test]
    fn a_frame_is_kept_until_it_is_forgotten() {
        let mut frames = Frames::default();
        for length in [60, 2_048, 2_049, 40_000] {
            let number = frames.keep(&mut received(length), length, VnetHeader::default());
            assert_eq!(frames.get(number).map(|frame| frame.bytes().to_vec()), Some(vec![7; length]));
            assert_eq!(frames.count(), 1);
            frames.forget(number);
            assert!(frames.get(number).is_none());
            frames.forget(number);
            assert_eq!(frames.count(), 0);
        }
        assert_eq!(frames.kept.len(), 1, "the place is used again");
    }

    #[test]
    fn a_long_frame_takes_the_buffer_and_leaves_one_as_long() {
        let mut frames = Frames::default();
        let mut buffer = received(50_000);
        let before = buffer.as_ptr();
        let number = frames.keep(&mut buffer, 50_000, VnetHeader::default());
        assert_eq!(frames.get(number).map(|frame| frame.bytes().as_ptr()), Some(before));
        assert_eq!(buffer.len(), FRAME_BYTES);
    }
}
