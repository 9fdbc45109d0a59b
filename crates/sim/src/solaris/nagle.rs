//! Nagle's algorithm as Solaris has it: it asks for all that could be sent, not for the next segment.
//!
//! So the rest behind a full segment leaves with it. With messages of 60 bytes the 25th makes 1500 bytes: 24 of them go
//! as 1440 bytes, and the 25th goes alone right behind them (study 2, table 2).

/// The facts that Nagle's algorithm looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Bytes that are unsent and in the window.
    pub usable_bytes: u64,
    /// True if anything sent is without acknowledgment.
    pub is_unacknowledged: bool,
    /// Payload of the segment before.
    pub last_sent_bytes: u32,
}

/// True if all waits: the usable bytes are below the limit, the last segment was too, and something is not acknowledged
/// (illumos `tcp_output.c`; the limit is the smaller of the MSS and `tcp_naglim_def`, and 1 with `TCP_NODELAY`).
pub fn holds(question: Question, limit_bytes: u32) -> bool {
    question.is_unacknowledged && question.usable_bytes < u64::from(limit_bytes) && question.last_sent_bytes < limit_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u32 = 1460;

    #[test]
    fn less_than_the_limit_waits_for_an_acknowledgment() {
        let small = Question { usable_bytes: 1440, is_unacknowledged: true, last_sent_bytes: 60 };
        assert!(holds(small, LIMIT));
        assert!(!holds(Question { is_unacknowledged: false, ..small }, LIMIT));
        assert!(!holds(Question { usable_bytes: 1500, ..small }, LIMIT));
    }

    #[test]
    fn the_rest_behind_a_full_segment_leaves_at_once() {
        assert!(!holds(Question { usable_bytes: 40, is_unacknowledged: true, last_sent_bytes: 1460 }, LIMIT));
    }

    #[test]
    fn no_delay_holds_nothing() {
        assert!(!holds(Question { usable_bytes: 1, is_unacknowledged: true, last_sent_bytes: 1 }, 1));
    }
}
