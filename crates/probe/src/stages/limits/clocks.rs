//! Finds out whether the clocks of the CPUs agree: times of one packet are taken on several.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::fmt;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::mono_ns;

/// Exchanges with one CPU, and how long they, and those with all CPUs, may take.
const ROUNDS: u32 = 200;
const MAX_TIME: Duration = Duration::from_millis(50);
const MAX_TOTAL_TIME: Duration = Duration::from_millis(500);
/// A smaller difference is none: it is about what two reads of the clock take.
const MIN_OFFSET_NS: u64 = 100;

/// The time by which the clock of a CPU is ahead of the first one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuClock {
    /// The CPU.
    pub cpu: u32,
    /// In ns; absent where it could not be compared.
    pub offset_ns: Option<i64>,
    /// The uncertainty of that: half of the shortest exchange.
    pub uncertainty_ns: u64,
}

impl CpuClock {
    /// True if it could not be compared, or differs by more than the comparison is uncertain.
    pub fn differs(&self) -> bool {
        self.offset_ns.is_none_or(|offset_ns| offset_ns.unsigned_abs() > self.uncertainty_ns.max(MIN_OFFSET_NS))
    }
}

impl fmt::Display for CpuClock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, within_ns) = (self.cpu, self.uncertainty_ns);
        match self.offset_ns {
            None => write!(out, "CPU {cpu}: not compared"),
            Some(offset_ns) => write!(out, "CPU {cpu}: {offset_ns} ns (± {within_ns} ns)"),
        }
    }
}

/// Compares the clock of each CPU with the first one's, by the shortest of many exchanges between threads on both.
pub fn compare(cpus: &[u32]) -> Vec<CpuClock> {
    let Some((first, others)) = cpus.split_first() else { return Vec::new() };
    let start = Instant::now();
    let not_compared = |cpu| CpuClock { cpu, offset_ns: None, uncertainty_ns: 0 };
    let of = |cpu: u32| if start.elapsed() < MAX_TOTAL_TIME { exchange(*first, cpu) } else { None };
    others.iter().map(|&cpu| of(cpu).unwrap_or_else(|| not_compared(cpu))).collect()
}

/// The state that two threads share: the number of the exchange that is asked for, and the answer to it.
#[derive(Default)]
struct Exchange {
    asked: AtomicU64,
    answered: AtomicU64,
    answer_ns: AtomicU64,
    is_over: AtomicBool,
}

fn exchange(first: u32, cpu: u32) -> Option<CpuClock> {
    let shared = Exchange::default();
    thread::scope(|scope| {
        scope.spawn(|| answer(cpu, &shared));
        // A thread of its own, so that the caller keeps its CPUs.
        scope.spawn(|| ask(first, cpu, &shared)).join().ok().flatten()
    })
}

fn ask(first: u32, cpu: u32, shared: &Exchange) -> Option<CpuClock> {
    let best = pin(first).then(|| shortest(shared)).flatten();
    shared.is_over.store(true, Ordering::Release);
    let (round_trip_ns, offset_ns) = best?;
    Some(CpuClock { cpu, offset_ns: Some(offset_ns), uncertainty_ns: round_trip_ns.div_ceil(2) })
}

/// The shortest exchange, and how far the other clock was ahead halfway.
fn shortest(shared: &Exchange) -> Option<(u64, i64)> {
    let start = Instant::now();
    let mut best: Option<(u64, i64)> = None;
    for round in 1..=u64::from(ROUNDS) {
        let before_ns = mono_ns();
        shared.asked.store(round, Ordering::Release);
        while shared.answered.load(Ordering::Acquire) != round {
            if start.elapsed() > MAX_TIME {
                return best;
            }
            spin_loop();
        }
        let after_ns = mono_ns();
        let round_trip_ns = after_ns.saturating_sub(before_ns);
        let halfway_ns = before_ns + round_trip_ns / 2;
        let offset_ns = shared.answer_ns.load(Ordering::Relaxed).cast_signed().wrapping_sub(halfway_ns.cast_signed());
        if best.is_none_or(|(shortest_ns, _)| round_trip_ns < shortest_ns) {
            best = Some((round_trip_ns, offset_ns));
        }
    }
    best
}

fn answer(cpu: u32, shared: &Exchange) {
    if !pin(cpu) {
        return;
    }
    let mut last = 0;
    while !shared.is_over.load(Ordering::Acquire) {
        let asked = shared.asked.load(Ordering::Acquire);
        if asked == last {
            spin_loop();
            continue;
        }
        last = asked;
        shared.answer_ns.store(mono_ns(), Ordering::Relaxed);
        shared.answered.store(asked, Ordering::Release);
    }
}

fn pin(cpu: u32) -> bool {
    let mut only = CpuSet::new();
    usize::try_from(cpu).is_ok_and(|cpu| only.set(cpu).is_ok()) && sched_setaffinity(Pid::from_raw(0), &only).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cpus;

    #[test]
    fn clocks_of_one_machine_agree_or_are_named() {
        let cpus = cpus::allowed();
        let clocks = compare(&cpus);
        assert_eq!(clocks.iter().map(|clock| clock.cpu).collect::<Vec<_>>(), cpus[1..]);
        for clock in clocks {
            assert!(clock.offset_ns.is_none_or(|offset_ns| offset_ns.unsigned_abs() < 1_000_000), "{clock:?}");
        }
    }

    #[test]
    fn a_difference_within_the_uncertainty_is_none() {
        let of = |offset_ns, uncertainty_ns| CpuClock { cpu: 1, offset_ns, uncertainty_ns }.differs();
        assert!(!of(Some(-200), 250) && !of(Some(90), 10));
        assert!(of(Some(-300), 250) && of(None, 0));
    }
}
