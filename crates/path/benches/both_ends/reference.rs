//! Reckons anew what the path should have done with what was sent: a queue without end, one
//! server, a delay. It shares nothing with the model, and knows nothing of loss.

use crate::tap::Observation;

/// Payload of a full packet.
const MSS_BYTES: u32 = 1448;
const PS_PER_NS: u128 = 1_000;
const PS_PER_S: u128 = 1_000_000_000_000;

/// When a packet was due at the other host, by the offset of its payload in the stream.
#[derive(Debug, Clone, Copy)]
struct Due {
    offset: u64,
    due_ns: u64,
}

/// All packets of a connection.
#[derive(Debug)]
pub struct Reference {
    dues: Vec<Due>,
    /// Segments that were sent again; where there are any, what is reckoned here is wrong.
    pub again_count: usize,
}

impl Reference {
    /// Of the frames of one connection, in the order in which they were sent.
    pub fn new(sent: &[Observation], rate_bps: u64, delay_ns: u64) -> Self {
        let (mut dues, mut again_count) = (Vec::new(), 0);
        let (mut free_ps, mut next_offset) = (0, 0);
        for (frame, offset) in with_offsets(sent) {
            again_count += usize::from(offset < next_offset);
            next_offset = offset + u64::from(frame.payload_bytes);
            for at in (0..frame.payload_bytes).step_by(MSS_BYTES as usize) {
                let packet_bytes = frame.header_bytes + (frame.payload_bytes - at).min(MSS_BYTES);
                free_ps = (u128::from(frame.realtime_ns) * PS_PER_NS).max(free_ps)
                    + u128::from(packet_bytes) * 8 * PS_PER_S / u128::from(rate_bps);
                let left_ns = u64::try_from(free_ps / PS_PER_NS).unwrap_or(u64::MAX);
                dues.push(Due { offset: offset + u64::from(at), due_ns: left_ns + delay_ns });
            }
        }
        Self { dues, again_count }
    }

    /// By how much each packet came too late, in ns; too early is negative.
    pub fn errors_ns(&self, came: &[Observation]) -> Vec<i64> {
        let mut errors = Vec::with_capacity(self.dues.len());
        for (frame, offset) in with_offsets(came) {
            let end = offset + u64::from(frame.payload_bytes);
            let first = self.dues.partition_point(|due| due.offset < offset);
            let packets = self.dues[first..].iter().take_while(|due| due.offset < end);
            errors.extend(packets.map(|due| frame.realtime_ns.cast_signed() - due.due_ns.cast_signed()));
        }
        errors
    }
}

/// Frames with the offsets of their payload in the stream, of which the first is at 0. Sequence numbers wrap
/// (RFC 9293 section 3.4).
fn with_offsets(frames: &[Observation]) -> impl Iterator<Item = (&Observation, u64)> {
    let first = frames.first().map_or(0, |frame| frame.sequence);
    frames.iter().scan((first, 0_u64), |(sequence, offset), frame| {
        let step = frame.sequence.wrapping_sub(*sequence).cast_signed();
        (*sequence, *offset) = (frame.sequence, offset.wrapping_add_signed(i64::from(step)));
        Some((frame, *offset))
    })
}
