//! Conformance: one test body, two worlds. What is said of segments here holds on the model and in the kernel that the
//! tests run on, for the same calls of the same application.

mod idle;
mod kernel;
mod model;

/// What the near process does, and the far one its mirror: exchanges of a message each, so that both hosts see a dialog
/// and wait with their acknowledgments; then several messages without a reply between them, and a reply to all.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Exchanges.
    pub exchanges: u32,
    /// Bytes of each message and of each reply.
    pub message_bytes: u32,
    /// Messages of the burst.
    pub burst: u32,
    /// `TCP_NODELAY` at both hosts.
    pub no_delay: bool,
    /// What first leaves of the burst does not arrive.
    pub is_first_lost: bool,
}

impl Scenario {
    /// Number of the burst's first byte.
    fn burst_from(&self) -> u64 {
        u64::from(self.exchanges * self.message_bytes)
    }
}

/// A segment as it left, behind the handshake; numbers begin at 0 in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// The near host sent it.
    pub is_near: bool,
    /// Number of its first byte.
    pub sequence: u64,
    /// Its payload.
    pub bytes: u32,
    /// The next byte that its sender expects.
    pub acknowledgment: u64,
}

/// A world in which a scenario can be played: its name and its segments.
type World = (&'static str, fn(&Scenario) -> Vec<Observation>);

fn worlds() -> Vec<World> {
    let mut worlds: Vec<World> = vec![("model", model::segments)];
    if kernel::is_allowed() {
        worlds.push(("kernel", kernel::segments));
    }
    worlds
}

fn scenario(no_delay: bool) -> Scenario {
    Scenario { exchanges: 5, message_bytes: 100, burst: 3, no_delay, is_first_lost: false }
}

/// Payloads of the burst; a busy host may answer so late that a probe sends the last one again, which is left out.
fn burst(scenario: &Scenario, seen: &[Observation]) -> Vec<u32> {
    let mut next = scenario.burst_from();
    let mut payloads = Vec::new();
    for segment in seen.iter().filter(|segment| segment.is_near && segment.bytes > 0) {
        if segment.sequence >= next {
            payloads.push(segment.bytes);
            next = segment.sequence + u64::from(segment.bytes);
        }
    }
    payloads
}

/// The most small segments of the burst that were under way together.
fn together(scenario: &Scenario, seen: &[Observation]) -> usize {
    let (mut under_way, mut most) = (Vec::new(), 0);
    for segment in seen {
        if segment.is_near && segment.bytes > 0 && segment.sequence >= scenario.burst_from() {
            under_way.push(segment.sequence + u64::from(segment.bytes));
        } else if !segment.is_near {
            under_way.retain(|&end| end > segment.acknowledgment);
        }
        most = most.max(under_way.len());
    }
    most
}

/// Whether the far host acknowledged the burst's first message alone, without data.
fn is_first_acknowledged_alone(scenario: &Scenario, seen: &[Observation]) -> bool {
    let first = scenario.burst_from() + u64::from(scenario.message_bytes);
    seen.iter().any(|segment| !segment.is_near && segment.bytes == 0 && segment.acknowledgment == first)
}

#[test]
fn nagle_lets_one_small_segment_be_under_way() {
    for (world, segments) in worlds() {
        let scenario = scenario(false);
        let seen = segments(&scenario);
        assert_eq!(burst(&scenario, &seen), [100, 200], "{world}: {seen:?}");
        assert_eq!(together(&scenario, &seen), 1, "{world}: {seen:?}");
    }
}

#[test]
fn without_delay_every_message_leaves_at_once() {
    for (world, segments) in worlds() {
        let scenario = scenario(true);
        let seen = segments(&scenario);
        assert_eq!(burst(&scenario, &seen), [100, 100, 100], "{world}: {seen:?}");
        // The reader acknowledges what it read when more than a segment waits: the third may come behind that.
        assert!(together(&scenario, &seen) >= 2, "{world}: {seen:?}");
    }
}

#[test]
fn an_acknowledgment_waits_for_data_or_for_its_timer() {
    for (world, segments) in worlds() {
        // In the dialog replies carry all acknowledgments but the first, when nobody knows yet that it is one.
        let held = scenario(false);
        let seen = segments(&held);
        let pure = seen.iter().filter(|segment| !segment.is_near && segment.bytes == 0 && segment.acknowledgment <= held.burst_from());
        assert!(pure.filter(|segment| segment.acknowledgment > u64::from(held.message_bytes)).count() == 0, "{world}: {seen:?}");
        // The first message of the burst has no reply, and the others wait for its acknowledgment: the timer's.
        assert!(is_first_acknowledged_alone(&held, &seen), "{world}: {seen:?}");
        // Where the others come at once, the first alone is not worth an acknowledgment.
        let free = scenario(true);
        let seen = segments(&free);
        assert!(!is_first_acknowledged_alone(&free, &seen), "{world}: {seen:?}");
    }
}

#[test]
fn a_read_acknowledges_more_than_a_segment() {
    for (world, segments) in worlds() {
        // 200 bytes come as one, twice what a segment ever had: who reads them answers before the reply.
        let held = scenario(false);
        let seen = segments(&held);
        let all = held.burst_from() + u64::from(held.burst * held.message_bytes);
        let answers: Vec<u32> =
            seen.iter().filter(|segment| !segment.is_near && segment.acknowledgment == all).map(|segment| segment.bytes).collect();
        assert_eq!(answers, [0, held.message_bytes], "{world}: {seen:?}");
    }
}

#[test]
fn what_was_lost_leaves_again_as_it_was() {
    for (world, segments) in worlds() {
        let lost = Scenario { burst: 1, is_first_lost: true, ..scenario(false) };
        let seen = segments(&lost);
        let sent = seen.iter().filter(|segment| segment.is_near && segment.bytes > 0 && segment.sequence >= lost.burst_from());
        let sent: Vec<(u64, u32)> = sent.map(|segment| (segment.sequence, segment.bytes)).collect();
        assert!(sent.len() >= 2, "{world}: {seen:?}");
        assert!(sent.iter().all(|segment| *segment == (lost.burst_from(), lost.message_bytes)), "{world}: {seen:?}");
        // Nothing of it is acknowledged before it has left again.
        let mut left = (0..seen.len()).filter(|&at| seen[at].is_near && seen[at].bytes > 0 && seen[at].sequence >= lost.burst_from());
        let again = left.nth(1).expect("it left twice");
        let first_answer = seen.iter().position(|segment| !segment.is_near && segment.acknowledgment > lost.burst_from());
        assert!(first_answer.expect("it is answered") > again, "{world}: {seen:?}");
    }
}
