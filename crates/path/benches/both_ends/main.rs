//! Accuracy of the router in keeping a path, and its cost: the kernel's stamps of the same packets at both hosts'
//! devices, compared with the path computed again. `cargo bench -p whyperf-path`, as root, on a quiet host with
//! two CPUs or more; `-- 2500` measures at 2500 Mbit/s only. Figures for the documents, not bounds.

mod load;
mod reference;
mod tap;

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use load::Load;
use nix::time::{ClockId, clock_gettime};
use path::{Carried, Testbed, build};
use reference::Reference;
use schema::path::{DirectionSpec, PathImplementation, PathSpec};
use schema::testbed::{TcpQueueing, TestbedSpec};
use tap::{Observation, Tap};

const MS: u64 = 1_000_000;
/// Each way.
const DELAY_NS: u64 = 5 * MS;
/// The bench's length, for each row.
const TIME: Duration = Duration::from_secs(5);
/// The CPUs of sender and receiver; the router is on the receiver's, both hosts process what arrives on the
/// sender's, as with `whyperf run` on a host with two.
const CPUS: [usize; 2] = [0, 1];
/// Amount under way, in products of rate and round trip: more fills the queue, twice as much drops.
const WINDOW_PERCENT: u64 = 140;
/// Late beyond all budgets.
const BUDGET_NS: u64 = 1_000 * MS;

fn main() {
    let asked: Vec<u64> = env::args().filter_map(|argument| argument.parse().ok()).collect();
    println!("Mbit/s  load    payload rate  sent again  error p1, p50, p99 (us)  |error| p50, p99 (us)  late p50, p99 (us)  router's CPU");
    for (mbit, load) in [(1_000, "single"), (100, "full"), (1_000, "full"), (2_500, "full"), (10_000, "full")] {
        if asked.is_empty() || asked.contains(&mbit) {
            measure(mbit, load == "full");
        }
    }
}

fn measure(mbit: u64, is_full: bool) {
    let rate_bps = mbit * 1_000_000;
    let window_bytes = rate_bps * 2 * DELAY_NS / 8_000_000_000 * WINDOW_PERCENT / 100;
    let load = if is_full { Load::Full(usize::try_from(window_bytes).expect("a window")) } else { Load::Single };
    let testbed = testbed(rate_bps);
    let report = testbed.report();
    let taps = [&report.near, &report.far].map(|end| Tap::open(&end.netns));
    let is_over = AtomicBool::new(false);
    let ((received_bytes, took), [sent, came]) = thread::scope(|scope| {
        let seen = taps.each_ref().map(|tap| scope.spawn(|| watch(tap, &is_over)));
        let carried = load::carry(report, CPUS, load, TIME);
        is_over.store(true, Ordering::Relaxed);
        (carried, seen.map(|seen| seen.join().expect("tap")))
    });
    let Carried::Routed(carried) = testbed.end_path().expect("end") else { panic!("the router was asked for") };
    let reference = Reference::new(&sent, rate_bps, DELAY_NS);
    let errors = reference.errors_ns(&came);
    let sizes: Vec<i64> = errors.iter().map(|error| error.abs()).collect();
    let share = received_bytes as f64 * 8.0 / took.as_secs_f64() / (rate_bps as f64 * 1448.0 / 1514.0);
    let late = |quantile: f64| {
        let lateness = carried.departed[0].lateness.as_ref();
        lateness.map_or(0.0, |lateness| lateness.value_at_quantile(quantile) as f64 / 1e3)
    };
    let [first, middle, last] = [1, 50, 99].map(|percent| at(&errors, percent));
    println!(
        "{mbit:<7} {:<7} {:>10.1} %  {:>10}  {first:>7.1} {middle:>7.1} {last:>7.1}  {:>10.1} {:>10.1}  {:>8.1} {:>8.1}  {:>8.1} %",
        if is_full { "full" } else { "single" },
        share * 100.0,
        reference.again_count,
        at(&sizes, 50),
        at(&sizes, 99),
        late(0.5),
        late(0.99),
        carried.audit.cpu_ns as f64 * 100.0 / carried.audit.wall_ns as f64,
    );
}

/// A testbed whose path counts from now on.
fn testbed(rate_bps: u64) -> Testbed {
    let forward = DirectionSpec { rate_bps: Some(rate_bps), delay_ns: DELAY_NS, ..DirectionSpec::default() };
    let backward = DirectionSpec { delay_ns: DELAY_NS, ..DirectionSpec::default() };
    let path = PathSpec { implementation: PathImplementation::Router, seed: 1, forward, backward, interval_ns: 10 * MS };
    let [sender_cpu, router_cpu] = CPUS.map(|cpu| u32::try_from(cpu).expect("a CPU"));
    let spec = TestbedSpec {
        mtu_bytes: 1500,
        tso: true,
        gso: true,
        gro: true,
        near_rps_cpus: vec![sender_cpu],
        far_rps_cpus: vec![sender_cpu],
        path: Some(path.clone()),
        path_cpu: Some(router_cpu),
        napi_threads: None,
        tcp: TcpQueueing::default(),
    };
    let testbed = build(&spec).expect("build; run as root");
    testbed.carry_path(&path, BUDGET_NS).expect("carry");
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock");
    let now_ns = u64::try_from(now.tv_sec() * 1_000_000_000 + now.tv_nsec()).expect("since the boot");
    testbed.begin_path(now_ns).expect("begin");
    testbed
}

fn watch(tap: &Tap, is_over: &AtomicBool) -> Vec<Observation> {
    let mut seen = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        tap.drain(&mut seen);
        thread::sleep(Duration::from_millis(1));
    }
    tap.drain(&mut seen);
    seen
}

/// A percentile in µs.
fn at(values_ns: &[i64], percent: usize) -> f64 {
    let mut sorted = values_ns.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).map_or(f64::NAN, |&value| value as f64 / 1e3)
}
