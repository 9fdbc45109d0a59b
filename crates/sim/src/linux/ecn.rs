//! Explicit congestion notification (RFC 3168) of a connection: who marks are echoed to, and until when (`tcp_ecn_*`,
//! `tcp_input.c` and `tcp_output.c`).
//!
//! A scalable control's own form of it (RFC 8257, RFC 9331) is not modeled: the first mark of a round trip counts, and
//! the others do not.

use crate::segment::Flags;

/// Both halves of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ecn {
    /// Both hosts agreed on it.
    is_on: bool,
    /// A mark came, and every segment echoes it until the other host has reduced its window (`TCP_ECN_DEMAND_CWR`).
    echoes: bool,
    /// The window was reduced, and the next new segment says so (`TCP_ECN_QUEUE_CWR`).
    confirms: bool,
}

/// Requests that the flags of a segment with payload make of its receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Request {
    /// The first mark since the window was last reduced: the next acknowledgments leave at once.
    pub is_first_mark: bool,
    /// The window was reduced: this is acknowledged at once.
    pub is_confirmation: bool,
}

impl Ecn {
    /// Of a connection on which both hosts agreed, or did not.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// A segment with payload arrived (`tcp_ecn_accept_cwr`, then `tcp_data_ecn_check`).
    pub fn on_data(&mut self, flags: Flags) -> Request {
        if !self.is_on {
            return Request::default();
        }
        self.echoes &= !flags.is_window_reduced;
        let is_first_mark = flags.is_congestion_experienced && !self.echoes;
        self.echoes |= is_first_mark;
        Request { is_first_mark, is_confirmation: flags.is_window_reduced }
    }

    /// True if an acknowledgment echoes a mark (`tcp_ecn_rcv_ecn_echo`).
    pub fn is_echoed(&self, flags: Flags) -> bool {
        self.is_on && flags.is_congestion_echoed
    }

    /// The window is reduced, for a mark or a loss (`tcp_ecn_queue_cwr`).
    pub fn on_reduced(&mut self) {
        self.confirms = self.is_on;
    }

    /// The flags of a segment that leaves (`tcp_ecn_send`): what leaves again and pure acknowledgments cannot be marked
    /// (RFC 3168 6.1.4 and 6.1.5).
    pub fn flags(&mut self, flags: Flags, has_payload: bool) -> Flags {
        let is_ecn_capable = self.is_on && has_payload && !flags.is_retransmission;
        let is_window_reduced = is_ecn_capable && std::mem::take(&mut self.confirms);
        Flags { is_ecn_capable, is_window_reduced, is_congestion_echoed: self.echoes, ..flags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKED: Flags = Flags {
        is_push: false,
        is_retransmission: false,
        is_ecn_capable: true,
        is_congestion_echoed: false,
        is_window_reduced: false,
        is_congestion_experienced: true,
    };

    #[test]
    fn a_mark_is_echoed_until_the_window_is_reduced() {
        let (mut sender, mut receiver) = (Ecn::new(true), Ecn::new(true));
        assert!(receiver.on_data(MARKED).is_first_mark);
        assert!(!receiver.on_data(MARKED).is_first_mark);
        let ack = receiver.flags(Flags::default(), false);
        assert!(sender.is_echoed(ack) && !ack.is_ecn_capable);
        sender.on_reduced();
        // What leaves again says nothing of it.
        assert!(!sender.flags(Flags { is_retransmission: true, ..Flags::default() }, true).is_window_reduced);
        let first = sender.flags(Flags::default(), true);
        assert!(first.is_window_reduced && first.is_ecn_capable);
        assert!(!sender.flags(Flags::default(), true).is_window_reduced);
        assert_eq!(receiver.on_data(first), Request { is_first_mark: false, is_confirmation: true });
        assert!(!sender.is_echoed(receiver.flags(Flags::default(), false)));
    }

    #[test]
    fn a_mark_on_the_confirmation_begins_anew() {
        let mut receiver = Ecn::new(true);
        receiver.on_data(MARKED);
        let again = receiver.on_data(Flags { is_window_reduced: true, ..MARKED });
        assert_eq!(again, Request { is_first_mark: true, is_confirmation: true });
        assert!(receiver.flags(Flags::default(), false).is_congestion_echoed);
    }

    #[test]
    fn nothing_is_said_without_agreement() {
        let mut off = Ecn::new(false);
        off.on_reduced();
        assert_eq!(off.on_data(MARKED), Request::default());
        assert_eq!(off.flags(Flags::default(), true), Flags::default());
        assert!(!off.is_echoed(Flags { is_congestion_echoed: true, ..Flags::default() }));
    }
}
