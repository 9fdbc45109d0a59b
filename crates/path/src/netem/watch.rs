//! The thread that reads what the disciplines counted, interval after interval.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use schema::path::PathAudit;

use super::counts::Counts;
use super::plan::{DirectionPlan, Loss, Plan, Qdisc, Share};
use super::talk::Talk;
use super::{Counted, QdiscPlaces};
use crate::router::{mono_ns, thread_cpu_ns};

/// A device on which a discipline may lie.
#[derive(Debug)]
pub struct QdiscPlace {
    /// A conversation in its namespace.
    pub talk: Talk,
    /// Its name.
    pub device: &'static str,
    /// Its index.
    pub index: u32,
}

/// The counts of one direction in an interval, as far as the kernel reports them; the table `path` says what
/// each is. The queue is seen at both hosts of the interval only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Interval {
    pub start_ns: u64,
    pub end_ns: u64,
    pub arrived_packets: Option<u64>,
    pub passed_packets: Option<u64>,
    pub passed_bytes: Option<u64>,
    pub lost_random_packets: u64,
    pub dropped_full_packets: u64,
    pub dropped_early_packets: u64,
    pub marked_packets: u64,
    pub duplicated_packets: Option<u64>,
    pub reordered_packets: u64,
    pub queue_bytes: [u64; 2],
    pub queue_packets_max: u64,
    pub released_packets: Option<u64>,
    /// Packets that the delay line had no room for: no doing of the path.
    pub overrun_packets: u64,
}

/// A watch that goes on until it is ended or dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<io::Result<Counted>>>,
}

impl Watch {
    /// Sets what happens whatever the load shortly before `at_mono_ns`, when the load begins, and counts from there on.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(places: Arc<[QdiscPlaces; 2]>, plan: Plan, at_mono_ns: u64, interval_ns: u64, budget_ns: u64) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let watched = Watched { places, plan, stopped };
        let thread =
            thread::Builder::new().name("netem".to_owned()).spawn(move || watched.run(at_mono_ns, interval_ns.max(1), budget_ns))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Ends the watch, and gives what was counted.
    ///
    /// # Errors
    /// The kernel did not report it, or did not take what was to be set.
    pub fn end(mut self) -> io::Result<Counted> {
        self.stop = None;
        let thread = self.thread.take().ok_or_else(|| io::Error::other("the watch has ended before"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported on standard error.
            let _ = thread.join();
        }
    }
}

/// The time by which counting begins before the load: a thread that wakes up late is in time all the same.
/// Nothing is sent then, because the ends wait for the start, too.
const AHEAD_NS: u64 = 8_000_000;

/// The thread's belongings.
struct Watched {
    places: Arc<[QdiscPlaces; 2]>,
    plan: Plan,
    stopped: Receiver<()>,
}

/// Counts of the places of both directions.
type Observation = [[Counts; 3]; 2];

impl Watched {
    fn run(&self, at_mono_ns: u64, interval_ns: u64, budget_ns: u64) -> io::Result<Counted> {
        let is_over = self.is_stopped_by(at_mono_ns.saturating_sub(AHEAD_NS));
        for (way, [edge, ..]) in self.plan.0.iter().zip(self.places.iter()) {
            if let Some(qdisc) = &way.edge {
                edge.talk.add(edge.index, qdisc)?;
            }
        }
        let mut unaudited = self.unaudited()?;
        let (mut from_ns, mut before, cpu_from_ns) = (mono_ns(), self.see()?, thread_cpu_ns());
        let begin_ns = from_ns;
        if begin_ns > at_mono_ns {
            let late_us = (begin_ns - at_mono_ns) / 1000;
            unaudited.push(format!("what the path did in the first {late_us} us: this host let its counting begin late"));
        }
        let mut intervals = [Vec::new(), Vec::new()];
        let mut is_over = is_over;
        while !is_over {
            let number = u64::try_from(intervals[0].len() + 1).unwrap_or(u64::MAX);
            is_over = self.is_stopped_by(begin_ns.saturating_add(number.saturating_mul(interval_ns)));
            let (to_ns, seen) = (mono_ns(), self.see()?);
            for (way, rows) in intervals.iter_mut().enumerate() {
                rows.push(interval(&self.plan.0[way], &before[way], &seen[way], (from_ns, to_ns)));
            }
            (from_ns, before) = (to_ns, seen);
        }
        let all = || intervals.iter().flatten();
        let audit = PathAudit {
            released_packets: all().filter_map(|row| row.released_packets).sum(),
            late_packets: None,
            lateness_ns_max: None,
            budget_ns,
            device_dropped_packets: all().map(|row| row.overrun_packets).sum(),
            cpu_ns: thread_cpu_ns().saturating_sub(cpu_from_ns),
            wall_ns: from_ns - begin_ns,
            unaudited,
            ..PathAudit::default()
        };
        Ok(Counted { intervals, audit })
    }

    /// Waits; whether the watch was ended meanwhile.
    fn is_stopped_by(&self, mono: u64) -> bool {
        let wait = Duration::from_nanos(mono.saturating_sub(mono_ns()));
        !matches!(self.stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
    }

    fn see(&self) -> io::Result<Observation> {
        let mut seen = Observation::default();
        for ((way, places), seen) in self.plan.0.iter().zip(self.places.iter()).zip(&mut seen) {
            for (number, place) in places.iter().enumerate() {
                if way.at(number).is_some() {
                    seen[number] = place.talk.counts(place.index)?;
                }
            }
        }
        Ok(seen)
    }

    /// Lists what the kernel does not report.
    fn unaudited(&self) -> io::Result<Vec<String>> {
        let mut sentences = vec!["how late packets left: netem does not report it".to_owned()];
        if self.plan.0.iter().any(DirectionPlan::sends_twice) {
            sentences.push("how many packets came and how many were sent twice: netem counts them together".to_owned());
        }
        for (way, places) in self.plan.0.iter().zip(self.places.iter()) {
            for (number, place) in places.iter().enumerate() {
                if way.at(number).is_some_and(Qdisc::has_seed) && !place.talk.is_seeded(place.index)? {
                    sentences.push(format!(
                        "whether random decisions on {} could be repeated: this kernel's netem takes no seed (Linux 6.6 and newer do)",
                        place.device
                    ));
                }
            }
        }
        Ok(sentences)
    }
}

impl Qdisc {
    fn has_seed(&self) -> bool {
        matches!(self, Qdisc::Netem(netem) if netem.seed.is_some())
    }
}

impl DirectionPlan {
    fn sends_twice(&self) -> bool {
        matches!(&self.edge, Some(Qdisc::Netem(netem)) if netem.duplicate != Share(0))
    }

    fn loses(&self) -> bool {
        matches!(&self.edge, Some(Qdisc::Netem(netem)) if netem.loss != Loss::default())
    }
}

/// Reads one interval from the counts of a direction's places.
fn interval(way: &DirectionPlan, before: &[Counts; 3], now: &[Counts; 3], (start_ns, end_ns): (u64, u64)) -> Interval {
    let at = |place: usize| way.at(place).map(|_| (now[place].since(&before[place]), before[place]));
    let (edge, bottleneck, line) = (at(0), at(1), at(2));
    let wide = u64::from;
    let left = |(counts, _): (Counts, Counts)| wide(counts.packets);
    // What came to a place left it, was dropped there, or lies there.
    let came_less_dropped =
        |(counts, before): (Counts, Counts)| (wide(counts.packets) + wide(counts.queue_packets)).saturating_sub(wide(before.queue_packets));
    let came = |(counts, before): (Counts, Counts)| came_less_dropped((counts, before)) + wide(counts.dropped_packets);
    let came_bytes =
        |(counts, before): (Counts, Counts)| (counts.bytes + wide(counts.queue_bytes)).saturating_sub(wide(before.queue_bytes));
    let arrived = if way.sends_twice() { None } else { edge.or(bottleneck).or(line).map(came) };
    let queue = bottleneck.map_or(Counts::default(), |(counts, _)| counts);
    let queue_before = bottleneck.map_or(Counts::default(), |(_, before)| before);
    Interval {
        start_ns,
        end_ns,
        arrived_packets: arrived,
        passed_packets: bottleneck.map(left).or_else(|| line.map(came_less_dropped)).or_else(|| edge.map(left)),
        passed_bytes: bottleneck.map(|(counts, _)| counts.bytes).or_else(|| line.map(came_bytes)).or(edge.map(|(counts, _)| counts.bytes)),
        lost_random_packets: if way.loses() { edge.map_or(0, |(counts, _)| wide(counts.dropped_packets)) } else { 0 },
        dropped_full_packets: wide(queue.dropped_packets.saturating_sub(queue.dropped_early_packets)),
        dropped_early_packets: wide(queue.dropped_early_packets),
        marked_packets: wide(queue.marked_packets),
        duplicated_packets: (!way.sends_twice()).then_some(0),
        reordered_packets: line.map_or(0, |(counts, _)| wide(counts.reordered_packets)),
        queue_bytes: [wide(queue_before.queue_bytes), wide(queue.queue_bytes)],
        queue_packets_max: wide(queue_before.queue_packets.max(queue.queue_packets)),
        released_packets: line.or(bottleneck).or(edge).map(left),
        overrun_packets: line.map_or(0, |(counts, _)| wide(counts.dropped_packets)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Netem;
    use super::*;

    const SOME: Option<Qdisc> = Some(Qdisc::Netem(Netem {
        limit_packets: 1000,
        delay_ns: 0,
        jitter_ns: 0,
        rate_bytes_per_s: 0,
        loss: Loss::Random(Share(0)),
        duplicate: Share(0),
        reorder: Share(0),
        seed: None,
    }));

    #[test]
    fn what_came_left_or_was_dropped_or_waits() {
        let way = DirectionPlan { edge: None, bottleneck: SOME, line: SOME };
        let before = Counts { packets: u32::MAX, queue_packets: 10, queue_bytes: 15_140, ..Counts::default() };
        // The count has wrapped around.
        let now = Counts { packets: 89, dropped_packets: 5, queue_packets: 25, queue_bytes: 37_850, ..Counts::default() };
        let line = Counts { packets: 70, ..Counts::default() };
        let found = interval(&way, &[Counts::default(), before, Counts::default()], &[Counts::default(), now, line], (0, 10));
        assert_eq!(found.passed_packets, Some(90));
        assert_eq!(found.arrived_packets, Some(90 + 5 + 15));
        assert_eq!((found.dropped_full_packets, found.released_packets), (5, Some(70)));
        assert_eq!((found.queue_bytes, found.queue_packets_max), ([15_140, 37_850], 25));
    }

    #[test]
    fn what_nobody_counts_is_absent() {
        let twice = Some(Qdisc::Netem(Netem { duplicate: Share(1), ..Netem::default() }));
        let way = DirectionPlan { edge: twice, bottleneck: None, line: None };
        let found = interval(&way, &[Counts::default(); 3], &[Counts { packets: 7, ..Counts::default() }; 3], (0, 10));
        assert_eq!((found.arrived_packets, found.duplicated_packets, found.passed_packets), (None, None, Some(7)));
        let nothing = interval(&DirectionPlan::default(), &[Counts::default(); 3], &[Counts::default(); 3], (0, 10));
        assert_eq!((nothing.arrived_packets, nothing.passed_packets, nothing.released_packets), (None, None, None));
    }
}
