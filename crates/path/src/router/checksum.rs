//! The Internet checksum (RFC 1071).

/// A sum of 16-bit words that is not folded yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum(u32);

impl Sum {
    /// Adds the words of `bytes`; an odd byte at the end counts as the upper half of a word.
    pub fn add(mut self, bytes: &[u8]) -> Self {
        for pair in bytes.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            self.0 += u32::from(u16::from_be_bytes([pair[0], low]));
        }
        self
    }

    /// Adds a word.
    pub fn add_word(mut self, word: u16) -> Self {
        self.0 += u32::from(word);
        self
    }

    /// The sum as 16 bits, carries added at the lower end.
    pub fn folded(self) -> u16 {
        let once = (self.0 & 0xffff) + (self.0 >> 16);
        // The second fold cannot carry again.
        u16::try_from((once & 0xffff) + (once >> 16)).unwrap_or(u16::MAX)
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // Section 3: the sum of these words is ddf2.
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.folded(), 0xddf2);
        assert_eq!(sum.checksum(), 0x220d);
        assert_eq!(Sum::default().add(&[0xab]).folded(), 0xab00);
        assert_eq!(Sum::default().add(&[0xff; 6]).add_word(1).folded(), 1);
    }
}
