//! Stage times of a trial: which programs sample, and the log that they fill.

use load::running::Load;
use load::sockopt;
use probe::clock::mono_ns;
use probe::evidence::{LogReader, Refused};
use probe::stages::limits::{Connected, limits};
use probe::stages::{StageRecord, StageWatch, Usage, cpu_of_log};
use record::host::{counted, stages};
use record::table::Columns;
use record::{Log, RecordError};
use schema::evidence::{CpuCount, Programs, SamplingChange, StageLimit, StagesLoan, StagesReport, StagesSpec};
use schema::table::StageRow;
use schema::trial::TrialSpec;
use schema::workload::Transport;
use socket2::SockAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::evidence::only_cpus;

/// Time between two looks at the log.
const LOOK: Duration = Duration::from_millis(5);
/// Time between two looks at the programs' cost, over whole periods.
const WEIGH: Duration = Duration::from_secs(1);
/// Below this fullness the log waits.
const WAIT_FULLNESS: f64 = 0.2;
/// Records taken of a log before those of the next.
const SLICE_RECORDS: usize = 4096;
/// Records that are taken and not written at most, of 64 bytes each.
const MAX_TAKEN: usize = 2_000_000;
/// The programs are attached for a window in each period.
const PERIOD_NS: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
/// Of more blocks than this one is never sampled.
const MAX_ONE_IN: u32 = 1 << 16;

/// A record and the number of its log.
type Taken = (u32, StageRecord);

/// Keeps loaded programs from trial to trial.
#[derive(Default)]
pub struct LoadedStages {
    watch: Option<Arc<StageWatch>>,
}

/// The stage times of one trial.
#[derive(Clone, Default)]
pub struct StageTimes {
    spec: Option<StagesSpec>,
    watch: Option<Arc<StageWatch>>,
    reason: Option<String>,
}

impl LoadedStages {
    /// Prepares what samples a trial that asks for it. A trial that does not has none of the programs in the kernel.
    pub fn prepare(&mut self, trial: &TrialSpec) -> StageTimes {
        let Some(spec) = trial.stages else {
            self.watch = None;
            return StageTimes::default();
        };
        let reason = match trial.transport {
            Transport::Tcp | Transport::Tls | Transport::Mptcp => only_cpus(trial).map(str::to_owned),
            _ => Some("stage times are those of TCP".to_owned()),
        };
        if reason.is_some() {
            self.watch = None;
            return StageTimes { spec: Some(spec), watch: None, reason };
        }
        match self.watching(trial.stages_loan.as_ref()) {
            Ok(watch) => StageTimes { spec: Some(spec), watch: Some(watch), reason: None },
            Err(refused) => StageTimes { spec: Some(spec), watch: None, reason: Some(refused.reason) },
        }
    }

    fn watching(&mut self, loan: Option<&StagesLoan>) -> Result<Arc<StageWatch>, Refused> {
        let suits = |watch: &Arc<StageWatch>| loan.map_or_else(|| watch.is_own(), |loan| watch.is_of(loan));
        if let Some(watch) = self.watch.clone().filter(suits) {
            return Ok(watch);
        }
        self.watch = None;
        // A user who may load programs need not be allowed to find another's.
        let borrowed = loan.and_then(|loan| StageWatch::borrow(loan).ok());
        let watch = Arc::new(borrowed.map_or_else(StageWatch::open, Ok)?);
        self.watch = Some(Arc::clone(&watch));
        Ok(watch)
    }
}

impl StageTimes {
    /// Samples the connections to this port from now on.
    pub fn start(&mut self, port: u16, listens: bool) {
        let (Some(spec), Some(watch)) = (&self.spec, &self.watch) else { return };
        let started = watch.open_window().map_err(|refused| refused.reason);
        let started = started.and_then(|()| watch.start(spec, port, listens).map_err(|error| error.to_string()));
        if let Err(error) = started {
            self.reason = Some(format!("cannot sample: {error}"));
            self.watch = None;
        }
    }

    /// The loan of this end to the other.
    pub fn loan(&self) -> Option<StagesLoan> {
        self.watch.as_ref()?.loan()
    }

    /// Tags of the BPF programs, as in their names in `/proc/kallsyms`.
    pub fn program_tags(&self) -> Vec<String> {
        self.watch.as_ref().map(|watch| watch.program_tags()).unwrap_or_default()
    }

    /// Begins to write the rows of the load's connections; `None` where the trial asks for none.
    pub fn log(&self, trial: &TrialSpec, load: &Load) -> Option<StageTimesLog> {
        let spec = self.spec?;
        let Some(watch) = self.watch.clone() else {
            let report = StagesReport { reason: self.reason.clone(), block_bytes: spec.block_bytes, ..StagesReport::default() };
            return Some(StageTimesLog { ended: Arc::default(), writer: None, report });
        };
        let connections = counted::by_port(trial, load, |flow| flow.number);
        let limits = limits(&connected(load), watch.cpu_clocks());
        let (ended, trial) = (Arc::new(AtomicBool::new(false)), trial.clone());
        let end = Arc::clone(&ended);
        let writer = thread::spawn(move || {
            Writing { sampling: Sampling::of(&watch, spec), watch, spec, trial, connections, limits, left_out: 0 }.write(&end)
        });
        Some(StageTimesLog { ended, writer: Some(writer), report: StagesReport::default() })
    }
}

/// Collects what the sockets of the load's connections say of their path.
fn connected(load: &Load) -> BTreeSet<Connected> {
    let found = load.flows.iter().filter_map(|flow| flow.socket.as_ref()).filter_map(|socket| {
        let ip = |address: io::Result<SockAddr>| Some(address.ok()?.as_socket()?.ip().to_canonical());
        Some(Connected {
            local: ip(socket.local_addr())?,
            peer: ip(socket.peer_addr())?,
            napi_id: number(sockopt::INCOMING_NAPI_ID.get(socket)),
            busy_poll_us: number(sockopt::BUSY_POLL.get(socket)).unwrap_or(0),
        })
    });
    found.collect()
}

/// An option's value; absent where the kernel has no such option.
fn number(value: io::Result<i32>) -> Option<u32> {
    u32::try_from(value.ok()?).ok()
}

/// A log being written.
pub struct StageTimesLog {
    ended: Arc<AtomicBool>,
    writer: Option<JoinHandle<WrittenStages>>,
    report: StagesReport,
}

/// A written log.
#[derive(Default)]
pub struct WrittenStages {
    /// The rows as a Parquet file; absent when it could not be written.
    pub file: Option<File>,
    /// The table of what was not followed.
    pub gaps: Option<Columns>,
    /// The worth of the stage times.
    pub report: StagesReport,
}

impl Drop for StageTimesLog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

impl StageTimesLog {
    /// Samples nothing more, writes what is still there and ends the file.
    pub fn finish(mut self) -> WrittenStages {
        self.ended.store(true, Ordering::SeqCst);
        let Some(writer) = self.writer.take() else {
            return WrittenStages { report: self.report.clone(), ..WrittenStages::default() };
        };
        let reason = || Some("the thread that writes stage times panicked".to_owned());
        let broken = |_| WrittenStages { report: StagesReport { reason: reason(), ..StagesReport::default() }, ..WrittenStages::default() };
        writer.join().unwrap_or_else(broken)
    }
}

/// The number of blocks that are sampled, and what that costs.
struct Sampling {
    changes: Vec<SamplingChange>,
    overhead_ppm: u32,
    cpus: u64,
    weighed: Instant,
    usage: Usage,
    /// Of this end, when the log began.
    first_usage: Usage,
}

impl Sampling {
    fn of(watch: &StageWatch, spec: StagesSpec) -> Self {
        let usage = watch.usage();
        let cpus = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let changes = vec![SamplingChange { mono_ns: mono_ns(), one_in_count: watch.one_in_count() }];
        Self { changes, overhead_ppm: spec.overhead_ppm, cpus, weighed: Instant::now(), usage, first_usage: watch.own_usage() }
    }

    /// Samples fewer blocks where the programs took more than they may. Where the other side's agent has loaded them, it
    /// decides.
    fn weigh(&mut self, watch: &StageWatch) {
        let (now, usage) = (Instant::now(), watch.usage());
        let runs_count = usage.runs_count.saturating_sub(self.usage.runs_count);
        let own_ns = usage.own_ns.saturating_sub(self.usage.own_ns);
        let wall_ns = u64::try_from(now.duration_since(self.weighed).as_nanos()).unwrap_or(u64::MAX).saturating_mul(self.cpus);
        let taken_ns = own_ns.saturating_add(runs_count.saturating_mul(watch.empty_pair_ns()));
        let is_over = exceeds(taken_ns, wall_ns, self.overhead_ppm);
        (self.weighed, self.usage) = (now, usage);
        let one_in_count = watch.one_in_count();
        if is_over && watch.is_own() && one_in_count < MAX_ONE_IN {
            watch.set_one_in_count(one_in_count * 2);
        }
        let one_in_count = watch.one_in_count();
        if self.changes.last().is_some_and(|last| last.one_in_count != one_in_count) {
            self.changes.push(SamplingChange { mono_ns: mono_ns(), one_in_count });
        }
    }
}

/// True if `taken_ns` of `wall_ns` is more than so many millionths; 0: any share is allowed.
fn exceeds(taken_ns: u64, wall_ns: u64, limit_ppm: u32) -> bool {
    limit_ppm > 0 && u128::from(taken_ns) * 1_000_000 > u128::from(wall_ns) * u128::from(limit_ppm)
}

/// The state of the writer's thread.
struct Writing {
    watch: Arc<StageWatch>,
    spec: StagesSpec,
    trial: TrialSpec,
    connections: BTreeMap<u16, u32>,
    limits: Vec<StageLimit>,
    sampling: Sampling,
    left_out: u64,
}

impl Writing {
    fn write(mut self, ended: &AtomicBool) -> WrittenStages {
        let file = self.write_rows(ended);
        self.watch.stop();
        let (broken_off, file) = match file {
            Ok(file) => (None, Some(file)),
            Err(error) => (Some(format!("the stage times could not be written: {error}")), None),
        };
        let lost: BTreeMap<u32, u64> =
            self.watch.log().iter().flat_map(|log| (0..).zip(log.lost())).fold(BTreeMap::new(), |mut by_cpu, (number, count)| {
                *by_cpu.entry(cpu_of_log(number)).or_default() += count;
                by_cpu
            });
        let lost_count = lost.values().sum::<u64>();
        let written = self.watch.log().as_ref().map_or(0, LogReader::written);
        let gaps = stages::gaps(&self.trial.host, &self.watch.gaps(), lost_count, |port| self.connections.get(&port).copied());
        let usage = self.watch.own_usage();
        let report = StagesReport {
            reason: None,
            missing: self.watch.missing().to_vec(),
            limits: self.limits,
            block_bytes: self.spec.block_bytes,
            sampling: self.sampling.changes,
            overhead_ppm: self.spec.overhead_ppm,
            empty_pair_ns: self.watch.empty_pair_ns(),
            rows_count: (written + lost_count).saturating_sub(self.left_out),
            lost_rows_count: lost.into_iter().filter(|(_, count)| *count > 0).map(|(cpu, count)| CpuCount { cpu, count }).collect(),
            runs_count: usage.runs_count.saturating_sub(self.sampling.first_usage.runs_count),
            own_ns: usage.own_ns.saturating_sub(self.sampling.first_usage.own_ns),
            broken_off,
        };
        WrittenStages { file, gaps: Some(gaps), report }
    }

    fn write_rows(&mut self, ended: &AtomicBool) -> Result<File, RecordError> {
        let (sender, taken) = mpsc::sync_channel(MAX_TAKEN / SLICE_RECORDS);
        let watch = Arc::clone(&self.watch);
        thread::scope(|scope| {
            // Sides that do not share programs would look at different segments.
            let is_shared = matches!(self.trial.programs, Programs::Lend);
            let window_ns = if is_shared { u64::from(self.spec.window_ms) * NS_PER_MS } else { 0 };
            scope.spawn(move || take(&watch, ended, &sender, window_ns));
            let mut file = Log::create()?;
            loop {
                match taken.recv_timeout(WEIGH) {
                    Ok(records) => records.iter().try_for_each(|(number, record)| self.push(*number, record, &mut file))?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return file.finish(),
                }
                if self.sampling.weighed.elapsed() > WEIGH {
                    self.sampling.weigh(&self.watch);
                }
            }
        })
    }

    fn push(&mut self, number: u32, record: &StageRecord, file: &mut Log<StageRow<'static>>) -> Result<(), RecordError> {
        let row = self.connections.get(&record.port).and_then(|connection| {
            stages::stage(&self.trial.host, self.trial.role_of(*connection), *connection, cpu_of_log(number), record)
        });
        let Some(row) = row else {
            self.left_out += 1;
            return Ok(());
        };
        file.push(row)
    }
}

/// Attaches the programs within a window and detaches them after it: most of what they cost is that hooks run them at all,
/// and that is the same however few segments are sampled.
fn keep_windows(watch: &StageWatch, window_ns: u64) {
    if mono_ns() % PERIOD_NS >= window_ns {
        watch.close_window();
    } else if let Err(refused) = watch.open_window() {
        tracing::warn!("cannot attach the programs for stage times again: {}", refused.reason);
    }
}

/// Takes what the logs hold until the trial has ended. That is quick, and to write rows is not: a log would fill meanwhile.
/// A thread that waited for an idle CPU would come too late; rates of trials with stage times are no results.
fn take(watch: &StageWatch, ended: &AtomicBool, sender: &SyncSender<Vec<Taken>>, window_ns: u64) {
    loop {
        if window_ns > 0 {
            keep_windows(watch, window_ns);
        }
        // Looked at before the log: what comes after is still taken.
        let is_last = ended.load(Ordering::SeqCst);
        if is_last {
            watch.stop();
        }
        if is_last || watch.log().as_ref().is_some_and(|log| log.fullness() > WAIT_FULLNESS) {
            loop {
                let mut records = Vec::new();
                if let Some(log) = &*watch.log() {
                    log.drain(SLICE_RECORDS as u64, |number, record: &StageRecord| records.push((number, *record)));
                }
                if records.is_empty() {
                    break;
                }
                if sender.send(records).is_err() {
                    return;
                }
            }
        }
        if is_last {
            return;
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_compared_in_millionths() {
        assert!(exceeds(21, 1_000, 20_000));
        assert!(!exceeds(20, 1_000, 20_000));
        assert!(!exceeds(1_000, 1_000, 0), "0 allows any share");
        assert!(exceeds(u64::MAX, u64::MAX, 999_999), "nothing overflows");
    }
}
