//! Whom an event is about, as the number that the kernel keeps with it.

/// Which of an event's keys means what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// The thread has been woken.
    Waker,
    /// Somebody is at a port.
    Listener(usize),
    /// A newcomer has said something.
    Newcomer(u64),
    /// A strand's connection.
    Link(usize),
}

const LISTENER: u64 = 1 << 62;
const NEWCOMER: u64 = 1 << 61;

impl Key {
    pub fn code(self) -> u64 {
        match self {
            Key::Waker => u64::MAX,
            Key::Listener(index) => LISTENER | index as u64,
            Key::Newcomer(number) => NEWCOMER | number & u64::from(u32::MAX),
            Key::Link(index) => index as u64,
        }
    }

    #[inline]
    pub fn decode(code: u64) -> Self {
        let index = usize::try_from(code & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        if code < NEWCOMER {
            Key::Link(index)
        } else if code == u64::MAX {
            Key::Waker
        } else if code & LISTENER != 0 {
            Key::Listener(index)
        } else {
            Key::Newcomer(code & u64::from(u32::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_out_as_they_went_in() {
        for key in [Key::Waker, Key::Listener(0), Key::Listener(7), Key::Newcomer(0), Key::Newcomer(1023), Key::Link(0), Key::Link(200_000)]
        {
            assert_eq!(Key::decode(key.code()), key);
        }
    }
}
