//! BBR on a path with one bottleneck.

use super::*;

const MSS: u32 = 1448;

/// A path of ten segments a millisecond and 20 ms: what is more than 200 segments waits in its queue.
struct Pipe {
    bbr: Bbr,
    window: u32,
    in_flight: u64,
    delivered: u64,
    /// Bytes that may leave by now.
    paced: u64,
}

impl Pipe {
    fn new() -> Self {
        Self { bbr: Bbr::default(), window: INITIAL_SEGMENTS, in_flight: 10, delivered: 0, paced: 0 }
    }

    /// An acknowledgment each millisecond, and what window and pacing let out behind it.
    fn run(&mut self, from: Ps, until: Ps, mut each: impl FnMut(Ps, &Self)) {
        let mut now = from;
        while now < until {
            let acked = self.in_flight.div_ceil(20).min(10);
            let trip = 20 * MS + self.in_flight.saturating_sub(200) * MS / 10;
            let delivered_before = self.delivered.saturating_sub(self.in_flight);
            self.delivered += acked;
            let in_flight_before = narrow(self.in_flight);
            self.in_flight -= acked;
            let sample = RateSample { rate: Some((acked, MS)), delivered_before, round_trip: Some(trip), is_application_limited: false };
            let seen = Acknowledged {
                sample,
                total: self.delivered,
                acked: narrow(acked),
                losses: 0,
                in_flight_before,
                in_flight: narrow(self.in_flight),
                is_recovering: false,
                is_fast_recovery: false,
                smoothed: trip,
                paced_for: 0,
                mss: MSS,
            };
            self.window = self.bbr.on_acknowledged(now, &seen, self.window);
            self.paced = (self.paced + self.bbr.pacing_rate() / 1000).min(40 * u64::from(MSS));
            let room = u64::from(self.window).saturating_sub(self.in_flight);
            let sent = room.min(self.paced / u64::from(MSS));
            self.paced -= sent * u64::from(MSS);
            self.in_flight += sent;
            each(now, self);
            now += MS;
        }
    }
}

#[test]
fn startup_ends_when_the_rate_stands_and_the_queue_drains() {
    let mut pipe = Pipe::new();
    let (mut modes, mut most) = (Vec::new(), 0);
    pipe.run(MS, S, |_, pipe| {
        if modes.last() != Some(&pipe.bbr.mode) {
            modes.push(pipe.bbr.mode);
        }
        most = most.max(pipe.in_flight);
    });
    assert_eq!(modes, [Mode::Startup, Mode::Drain, Mode::ProbeRate]);
    // Startup has up to 2.89 times under way of what fills the path; steady it is one, and a quarter more while it probes.
    assert!((400..=700).contains(&most), "{most}");
    assert!((180..=280).contains(&pipe.in_flight), "{}", pipe.in_flight);
    // Twice what fills the path, and room for three bursts of 9 segments each.
    assert!((400..=460).contains(&pipe.window), "{}", pipe.window);
    // 10 segments a ms less 1 %, more or less by the phase.
    let steady = 10 * 1000 * u64::from(MSS) * 99 / 100;
    let rates = [steady * 5 / 4, steady * 3 / 4, steady];
    assert!(rates.iter().any(|rate| rate.abs_diff(pipe.bbr.pacing_rate()) < rate / 1000), "{}", pipe.bbr.pacing_rate());
}

#[test]
fn the_round_trip_is_looked_for_every_ten_seconds_with_four_segments() {
    let mut pipe = Pipe::new();
    pipe.run(MS, 2 * S, |_, _| ());
    let before = pipe.window;
    let (mut first, mut least, mut low) = (0, u32::MAX, 0);
    pipe.run(2 * S, 12 * S, |now, pipe| {
        if pipe.window == PROBED_SEGMENTS {
            first = if first == 0 { now } else { first };
            low += 1;
        }
        least = least.min(pipe.window);
    });
    assert_eq!(least, PROBED_SEGMENTS);
    // Ten seconds behind the last time that it was as low, for 200 ms and what it takes to drain.
    assert!((10 * S..11 * S + 500 * MS).contains(&first), "{first}");
    assert!((200..280).contains(&low), "{low} ms");
    assert!(pipe.window.abs_diff(before) < 40 && pipe.bbr.mode == Mode::ProbeRate, "{} for {before}", pipe.window);
}

#[test]
fn the_sockets_rate_bounds_bursts_as_well() {
    let mut pipe = Pipe::new();
    pipe.bbr.paced_most = Some(1_000_000);
    pipe.run(MS, S, |_, pipe| assert!(pipe.bbr.paced_at.is_none_or(|rate| rate <= 1_000_000)));
    // Less than a segment in a millisecond: a burst is two.
    assert_eq!(pipe.bbr.burst(MSS), 2);
}

#[test]
fn what_came_at_once_counts_for_five_to_ten_round_trips() {
    let mut bbr = Bbr { rates: VecDeque::from([(0, rate_of(1, MS))]), ..Bbr::default() };
    let sample = RateSample { rate: Some((10, MS)), ..RateSample::default() };
    let seen = Acknowledged {
        sample,
        total: 0,
        acked: 50,
        losses: 0,
        in_flight_before: 50,
        in_flight: 0,
        is_recovering: false,
        is_fast_recovery: false,
        smoothed: MS,
        paced_for: 0,
        mss: MSS,
    };
    bbr.update_excess(MS, &seen, 100);
    assert_eq!(bbr.excess, [50, 0]);
    bbr.is_round_start = true;
    let kept = |bbr: &Bbr| bbr.excess[0].max(bbr.excess[1]);
    let held = (2..).take_while(|&round| {
        bbr.update_excess(round * S, &Acknowledged { acked: 1, ..seen }, 100);
        kept(&bbr) == 50
    });
    assert_eq!(held.count(), 9);
}

#[test]
fn draining_sets_the_threshold_to_what_fills_the_path() {
    let mut pipe = Pipe::new();
    let mut thresholds = Vec::new();
    pipe.run(MS, S, |_, pipe| thresholds.extend(pipe.bbr.threshold));
    assert!(thresholds.first().is_some_and(|threshold| (190..=320).contains(threshold)), "{:?}", thresholds.first());
}

#[test]
fn a_probe_that_ended_in_a_pause_is_over_when_the_application_begins_again() {
    let mut pipe = Pipe::new();
    pipe.run(MS, 2 * S, |_, _| ());
    let before = pipe.window;
    let mut done_at = None;
    pipe.run(2 * S, 12 * S, |_, pipe| {
        done_at = done_at.or(if pipe.bbr.mode == Mode::ProbeTrip { pipe.bbr.probe_done_at } else { None });
    });
    let done_at = done_at.expect("it was probed");
    let mut bbr = Bbr { mode: Mode::ProbeTrip, probe_done_at: Some(done_at), window_before: before, ..pipe.bbr };
    assert_eq!((bbr.on_begun(done_at, MSS, PROBED_SEGMENTS), bbr.mode), (PROBED_SEGMENTS, Mode::ProbeTrip));
    assert_eq!((bbr.on_begun(done_at + 1, MSS, PROBED_SEGMENTS), bbr.mode), (before, Mode::ProbeRate));
}

#[test]
fn a_loss_takes_no_window_for_long() {
    let mut pipe = Pipe::new();
    pipe.run(MS, S, |_, _| ());
    let before = pipe.window;
    pipe.bbr.on_loss(before);
    let sample = RateSample { rate: Some((10, MS)), delivered_before: pipe.delivered - 200, ..RateSample::default() };
    let lossy = Acknowledged {
        sample,
        total: pipe.delivered,
        acked: 10,
        losses: 50,
        in_flight_before: 200,
        in_flight: 140,
        is_recovering: true,
        is_fast_recovery: true,
        smoothed: 20 * MS,
        paced_for: 0,
        mss: MSS,
    };
    // What arrives may leave, and no more.
    pipe.window = pipe.bbr.on_acknowledged(S, &lossy, pipe.window);
    assert_eq!(pipe.window, 150);
    pipe.run(S + MS, S + 50 * MS, |_, _| ());
    assert!(pipe.window.abs_diff(before) < 40, "{} for {before}", pipe.window);
}
