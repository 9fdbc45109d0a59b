//! The requests of a user, and the reports to it.

/// A request of a user. Except for those of [`Action::Wait`], [`Action::Barrier`] and
/// [`Action::Over`] the answer comes by one of the `on_*` methods, or not at all where none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send at most this much; answer [`VirtualUser::on_moved`] or [`VirtualUser::on_blocked`].
    Send {
        /// On which connection.
        connection: u32,
        /// Bytes.
        bytes: u64,
        /// True where the operation ends with them.
        is_last: bool,
    },
    /// Receive at most this much; answer as above.
    Receive {
        /// On which connection.
        connection: u32,
        /// Bytes.
        bytes: u64,
    },
    /// Send from a file; answer as above.
    SendFile {
        /// On which connection.
        connection: u32,
        /// Number of the file in the step.
        file: u32,
        /// Number of the step.
        step: u32,
        /// Where in the file.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Open a connection; answer [`VirtualUser::on_done`].
    Connect {
        /// Its number.
        connection: u32,
        /// Which of the user's connections ever; the same at both hosts.
        ordinal: u64,
    },
    /// Take the connection that the other host opened; answer [`VirtualUser::on_done`].
    Accept {
        /// Its number.
        connection: u32,
        /// Which of the user's connections ever; the same at both hosts.
        ordinal: u64,
    },
    /// Close; answer [`VirtualUser::on_done`].
    Disconnect {
        /// Which connection.
        connection: u32,
    },
    /// Close when the other host has; answer [`VirtualUser::on_done`].
    Hear {
        /// Which connection.
        connection: u32,
    },
    /// Nothing until something happens, or until this instant.
    Wait {
        /// `u64::MAX`: no instant.
        until_ns: u64,
    },
    /// As [`Action::Wait`], but busy.
    Spin {
        /// Until when.
        until_ns: u64,
    },
    /// An execution has ended; no answer.
    Ended(Execution),
    /// The other host needs the number of executions; no answer.
    Limit {
        /// Number of executions.
        executions_count: u64,
    },
    /// The transaction is over; the next begins with [`VirtualUser::start`].
    Barrier,
    /// Failed; there is nothing more.
    Over,
}

/// An execution of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// When it was to begin; absent in a closed loop and at the end that follows.
    pub intended_ns: Option<u64>,
    /// When it began. Where the other host begins: when its first bytes were here.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// True where any of it failed.
    pub is_failed: bool,
}

/// The end of a transaction that is repeated through the trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ending {
    /// When the phases are over.
    pub until_ns: Option<u64>,
    /// Payload of each user, both directions together.
    pub payload_bytes: Option<u64>,
    /// True where messages may get lost.
    pub is_lossy: bool,
}

/// A direction of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Out of this host.
    Send,
    /// Into it.
    Receive,
}

impl Direction {
    /// A bit for a set of them.
    pub fn bit(self) -> u8 {
        match self {
            Direction::Send => 1,
            Direction::Receive => 2,
        }
    }
}
