//! The counts of an end system, and what it holds.

use crate::time::Ps;

/// Levels of a processor of which the time is counted: process, protocol, interrupt.
pub const LEVELS: usize = 3;

/// The counts of an end system and what it holds, summed over its connections and processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndState {
    /// Bytes that its processes wrote.
    pub written_bytes: u64,
    /// Bytes that its processes read.
    pub read_bytes: u64,
    /// Write calls that returned.
    pub write_calls: u64,
    /// Read calls that returned.
    pub read_calls: u64,
    /// Calls that its process has begun, writes and reads.
    pub calls_begun: u64,
    /// Times a process was woken.
    pub wake_ups: u64,
    /// Segments with payload that left, as on the line.
    pub data_segments: u64,
    /// Segments without payload that left.
    pub pure_acks: u64,
    /// Segments that arrived and reached TCP.
    pub segments_in: u64,
    /// Segments that left again.
    pub retransmitted_segments: u64,
    /// Segments that its adapter lost on receiving.
    pub lost_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time of its processors in each of the [`LEVELS`], in ps.
    pub busy: [Ps; LEVELS],
    /// Bytes in its send buffers.
    pub queued_bytes: u64,
    /// Bytes in its receive buffers.
    pub unread_bytes: u64,
    /// Bytes sent and not acknowledged.
    pub outstanding_bytes: u64,
    /// Bytes that the other host has acknowledged.
    pub acked_bytes: u64,
    /// Bytes that the other host's window allows.
    pub send_window_bytes: u64,
    /// Congestion window; `u64::MAX` where there is none.
    pub cwnd_bytes: u64,
    /// Slow-start threshold; `u64::MAX` where there is none.
    pub ssthresh_bytes: u64,
    /// Smoothed round trip, 0 where none was taken.
    pub srtt: Ps,
    /// Retransmission timeout.
    pub rto: Ps,
    /// Rate by which bursts are sized, and spread where the socket paces, in bytes a second; 0 where there is none.
    pub pacing_rate: u64,
    /// When its processes first and last read something; `None`: never.
    pub read_at: Option<(Ps, Ps)>,
}

impl EndState {
    /// A process read so many bytes at `now`.
    pub fn on_read(&mut self, now: Ps, bytes: u32) {
        self.read_bytes += u64::from(bytes);
        self.read_at = Some((self.read_at.map_or(now, |(first, _)| first), now));
    }

    /// Both together: counts, bytes and windows are added, of times of TCP the longest is taken.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        let mut busy = self.busy;
        busy.iter_mut().zip(other.busy).for_each(|(time, more)| *time += more);
        let read_at = match (self.read_at, other.read_at) {
            (Some((first, last)), Some((too, also))) => Some((first.min(too), last.max(also))),
            (first, another) => first.or(another),
        };
        Self {
            written_bytes: self.written_bytes + other.written_bytes,
            read_bytes: self.read_bytes + other.read_bytes,
            write_calls: self.write_calls + other.write_calls,
            read_calls: self.read_calls + other.read_calls,
            calls_begun: self.calls_begun + other.calls_begun,
            wake_ups: self.wake_ups + other.wake_ups,
            data_segments: self.data_segments + other.data_segments,
            pure_acks: self.pure_acks + other.pure_acks,
            segments_in: self.segments_in + other.segments_in,
            retransmitted_segments: self.retransmitted_segments + other.retransmitted_segments,
            lost_segments: self.lost_segments + other.lost_segments,
            timeouts: self.timeouts + other.timeouts,
            busy,
            queued_bytes: self.queued_bytes + other.queued_bytes,
            unread_bytes: self.unread_bytes + other.unread_bytes,
            outstanding_bytes: self.outstanding_bytes + other.outstanding_bytes,
            acked_bytes: self.acked_bytes + other.acked_bytes,
            send_window_bytes: self.send_window_bytes.saturating_add(other.send_window_bytes),
            cwnd_bytes: self.cwnd_bytes.saturating_add(other.cwnd_bytes),
            ssthresh_bytes: self.ssthresh_bytes.saturating_add(other.ssthresh_bytes),
            srtt: self.srtt.max(other.srtt),
            rto: self.rto.max(other.rto),
            pacing_rate: self.pacing_rate.saturating_add(other.pacing_rate),
            read_at,
        }
    }
}
