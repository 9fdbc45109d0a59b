//! One trial on one host: the stages in order. Opens, loads, samples at every interval's end,
//! joins, and hands the tables over. Decides nothing: the plan says what, the tables say what was.

use load::connection_result::{ConnectionResult, Cut, Ended};
use load::open::Opened;
use load::round_trips::Probe;
use load::running::{AbortHandle, Ends, Load};
use load::urgency::Urgent;
use probe::processes::Busy;
use schema::evidence::EvidenceReport;
use schema::message::{Finished, Note, Outcome, Reply};
use schema::table::{CALLS, ROUND_TRIPS, SEGMENTS, STAGES};
use schema::trial::{Role, Stop, TrialSpec};
use session::report::{Table, send_result};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use workload::phases::Intervals;

use crate::evidence::EvidenceCollector;
use crate::pipe::ReplySink;
use crate::profile::StackSampling;
use crate::sampler::{BEGIN_LEAD_NS, Moment, Sampler};
use crate::segment_log::{SegmentLog, Written};
use crate::stages::{StageTimes, StageTimesLog, WrittenStages};

/// Time that a cut load's threads may take to notice.
const CUT_GRACE_NS: u64 = 1_000_000_000;
/// Time by which the other host may reach the deadline before this one: their clocks are compared over the network.
const DEADLINE_SLACK_NS: u64 = 20_000_000;
/// Time that a receiver whose connections are logged leaves them open: the sender still reads what
/// the kernel counted of its own, and its delayed ACK of the count of the payload may take 40 ms.
const CLOSE_AFTER: Duration = Duration::from_millis(60);
/// Lateness of the sampler that is worth a note; whether it matters the analysis knows.
const LATE_NS: u64 = 1_000_000;
/// Another process that used less than this part of a CPU is not worth a note.
const WORTH_NOTING: u64 = 10;
/// Time that a log waits for the connections to close.
const FIN_GRACE: Duration = Duration::from_millis(200);
/// Time that the ACK of the last FIN may take.
const LAST_ACK_GRACE: Duration = Duration::from_millis(5);

/// A trial's handle for aborting it from the request loop, from its first connection on. It keeps
/// the sockets open: the other host may still have to read what its kernel counted.
#[derive(Default, Clone)]
pub struct Abort {
    state: Arc<AbortState>,
}

#[derive(Default)]
struct AbortState {
    aborted: AtomicBool,
    abort_handle: Mutex<Option<AbortHandle>>,
}

impl Abort {
    /// Ends the load now, or as soon as it starts.
    pub fn abort(&self) {
        self.state.aborted.store(true, Ordering::SeqCst);
        if let Some(abort_handle) = &*self.abort_handle() {
            abort_handle.cut(Cut::Aborted);
        }
    }

    /// The flag that is set when the trial was aborted, for those who open its connections.
    pub fn flag(&self) -> &AtomicBool {
        &self.state.aborted
    }

    fn on_running(&self, abort_handle: AbortHandle) {
        let mut kept = self.abort_handle();
        if self.state.aborted.load(Ordering::SeqCst) {
            abort_handle.cut(Cut::Aborted);
        }
        *kept = Some(abort_handle);
    }

    /// Lets go of the sockets: the load is over.
    fn let_go(&self) {
        *self.abort_handle() = None;
    }

    fn abort_handle(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.state.abort_handle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The observers of the kernel while a trial runs.
#[derive(Clone, Copy)]
pub struct Watching<'a> {
    /// Counters, and the log of segments and calls.
    pub evidence: &'a EvidenceCollector,
    /// Stage times.
    pub stages: &'a StageTimes,
}

/// Runs the load of a trial from `start_mono_ns` on and sends its result and its tables, but not the last `done`.
///
/// # Errors
/// The load could not start, or its record could not be written.
pub fn run(
    spec: &TrialSpec,
    opened: Opened,
    start_mono_ns: u64,
    echo: Option<SocketAddr>,
    abort: &Abort,
    watching: Watching<'_>,
    replies: &ReplySink,
) -> anyhow::Result<()> {
    let Watching { evidence, stages } = watching;
    // Both hosts are asked at about the same time: where the planned start was over by then, the other began then.
    let common_start_mono_ns = start_mono_ns.max(probe::clock::mono_ns());
    let strangers_count = opened.strangers_count;
    let mut load = Load::prepare(spec, opened)?;
    let mut profile = StackSampling::prepare(spec, &load.threads);
    let log = evidence.watch().filter(|watch| watch.log().is_some()).map(|watch| SegmentLog::of_trial(watch, spec, &load));
    let stage_log = stages.log(spec, &load);
    // The sampler, too, stays on the CPUs whose time counts as this end's; the log's writer does not.
    load::thread::pin_this_thread(&spec.pin_cpus)?;
    abort.on_running(load.abort_handle());
    let mut sampler = Sampler::open(spec, &load, evidence.watch())?;
    let urgent = Urgent::this_thread();
    let planned_mono_ns = start_mono_ns;
    let start_mono_ns = planned_mono_ns.max(probe::clock::mono_ns());
    sampler.on_late(start_mono_ns - planned_mono_ns);
    if let Some(sampling) = &mut profile {
        sampling.on_begin(spec, start_mono_ns);
    }
    load.start(common_start_mono_ns, start_mono_ns)?;
    let round_trips = Probe::for_trial(spec, echo, start_mono_ns)?;
    load.wait_until(start_mono_ns.saturating_sub(BEGIN_LEAD_NS));
    sampler.on_begin(start_mono_ns)?;

    drive(spec, &mut load, &mut sampler, start_mono_ns, |progress| replies.send_if_idle(Reply::Progress(progress)))?;
    let over = probe::clock::mono_ns() >= common_start_mono_ns.saturating_add(spec.deadline_ns).saturating_sub(DEADLINE_SLACK_NS);
    drop(urgent);
    let ends = load.join();
    let profile = profile.map(|sampling| sampling.finish([evidence.program_tags(), stages.program_tags()].concat()));
    let round_trips = round_trips.map(Probe::finish);
    sampler.finish(&load, &ends)?;
    let Ends { results, .. } = ends;
    let strangers_count = strangers_count + load.strangers_count() + record::host::datagrams::strangers_count(&load);
    if log.is_some() {
        close(spec, load, abort, evidence);
    }
    let staged = stage_log.map(StageTimesLog::finish);
    let Written { file, calls, broken_off, left_out } = log.map(SegmentLog::finish).unwrap_or_default();

    let notes = notes(spec, strangers_count, &results, &sampler, evidence);
    let payload_bytes = results.iter().map(|result| result.payload_bytes).sum();
    let (profile, stacks) = profile.unzip();
    let (staged, stage_times) = staged.map_or((None, None), |WrittenStages { file, gaps, report }| (Some((file, gaps)), Some(report)));
    let report = EvidenceReport {
        profile: profile.map(Box::new),
        stages: stage_times.map(Box::new),
        ..evidence.end(broken_off, sampler.unseen_segments_count(), left_out)
    };
    let finished = Finished { outcome: outcome(&results, over), payload_bytes, notes, evidence: report };
    let counted = sampler.into_tables().into_iter().map(|table| Ok(Table::of_bytes(table.name(), table.finish()?)));
    let round_trips =
        round_trips.map(|found| Ok(Table::of_bytes(ROUND_TRIPS.name, record::host::round_trips(&spec.host, &found).finish()?)));
    let stacks = stacks.flatten().map(|found| record::host::stacks::tables(&spec.host, &found));
    let stacks = stacks.into_iter().flatten().map(|table| Ok(Table::of_bytes(table.name(), table.finish()?)));
    let (stage_rows, gaps) = staged.unwrap_or_default();
    let gaps = gaps.into_iter().map(|table| Ok(Table::of_bytes(table.name(), table.finish()?)));
    let logged = [(&SEGMENTS, file), (&CALLS, calls), (&STAGES, stage_rows)];
    let logged = logged.into_iter().filter_map(|(table, file)| file.map(|file| Ok(Table::of_file(table.name, file)?)));
    send_result(replies.id(), finished, counted.chain(round_trips).chain(stacks).chain(gaps).chain(logged), |frame| replies.push(frame))
}

/// Closes the connections while they are watched, the receiver first, so that the log holds how.
fn close(spec: &TrialSpec, load: Load, abort: &Abort, evidence: &EvidenceCollector) {
    let connections = load.flows.len();
    match spec.role {
        // Its own FIN left at the end of the payload.
        Role::Sender => wait_for_fins(evidence, connections),
        Role::Receiver => thread::sleep(CLOSE_AFTER),
    }
    abort.let_go();
    drop(load);
    wait_for_fins(evidence, connections);
    thread::sleep(LAST_ACK_GRACE);
}

/// Waits until every connection has closed in both directions, but not long: the other host may be gone.
fn wait_for_fins(evidence: &EvidenceCollector, connections: usize) {
    let end = Instant::now() + FIN_GRACE;
    let is_closed = || {
        let Some(watch) = evidence.watch() else { return true };
        watch.connections().values().filter(|connection| connection.out.fin != 0 && connection.arrived.fin != 0).count() >= connections
    };
    while Instant::now() < end && !is_closed() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Samples until the load is over, and ends it when its time is up.
fn drive(
    spec: &TrialSpec,
    load: &mut Load,
    sampler: &mut Sampler,
    start_mono_ns: u64,
    mut report: impl FnMut(schema::message::Progress),
) -> anyhow::Result<()> {
    let deadline_mono_ns = start_mono_ns.saturating_add(spec.deadline_ns);
    let mut intervals = Intervals::new(&spec.stop, spec.interval_ns).peekable();
    while let Some(interval) = intervals.next() {
        let phase = interval.phase;
        let due_mono_ns = start_mono_ns.saturating_add(interval.end_ns).min(deadline_mono_ns);
        let all_done = load.wait_until(due_mono_ns);
        let phase_ends = all_done || intervals.peek().is_none_or(|next| next.phase != phase);
        let moment = Moment { index: interval.index, phase, phase_ends, due_mono_ns: (!all_done).then_some(due_mono_ns) };
        report(sampler.sample(load, &moment)?);
        if all_done {
            return Ok(());
        }
        if due_mono_ns == deadline_mono_ns {
            load.abort_handle().cut(Cut::Deadline);
            load.wait_until(probe::clock::mono_ns() + CUT_GRACE_NS);
            return Ok(());
        }
    }
    // Only a timed load comes here: its last phase is over. Virtual users know it by themselves.
    if spec.role == Role::Sender && spec.workload.is_none() {
        load.stop();
    }
    if !load.wait_until(deadline_mono_ns) {
        load.abort_handle().cut(Cut::Deadline);
        load.wait_until(probe::clock::mono_ns() + CUT_GRACE_NS);
    }
    Ok(())
}

/// The worst that happened to any connection. A timed load that only failed to drain in time is
/// still complete: its measurement was over. `over` is whether the load lasted until the deadline: a connection that
/// fails then was cut by the other host, whose deadline came first.
fn outcome(results: &[ConnectionResult], over: bool) -> Outcome {
    let failed = results.iter().find_map(|result| match &result.ended {
        Ended::Failed(_) if over => Some(Outcome::Deadline),
        Ended::Failed(reason) => Some(Outcome::Failed { reason: reason.clone() }),
        _ => None,
    });
    let cut = results.iter().find_map(|result| match &result.ended {
        Ended::Cut(Cut::Aborted) => Some(Outcome::Aborted),
        Ended::Cut(Cut::Deadline) => Some(Outcome::Deadline),
        _ => None,
    });
    // A cut makes the other end of a connection fail too; the cut is the cause.
    cut.or(failed).unwrap_or(Outcome::Complete)
}

fn notes(
    spec: &TrialSpec,
    strangers_count: u64,
    results: &[ConnectionResult],
    sampler: &Sampler,
    evidence: &EvidenceCollector,
) -> Vec<Note> {
    let mut notes = load::options::Requested::new(&spec.socket, spec.role).notes();
    if strangers_count > 0 {
        notes.push(Note::StrangersDropped { count: strangers_count });
    }
    let zero_copy = || results.iter().filter_map(|result| result.zero_copy);
    let count = zero_copy().map(|sends| sends.copied_count).sum();
    if count > 0 {
        notes.push(Note::ZeroCopyCopied { count, sent_count: zero_copy().map(|sends| sends.sent_count).sum() });
    }
    let unstamped_count = results.iter().map(|result| result.unstamped_count).sum();
    if unstamped_count > 0 {
        notes.push(Note::NoKernelStamps { count: unstamped_count });
    }
    if sampler.worst_late_ns() > LATE_NS && matches!(spec.stop, Stop::Duration { .. }) {
        notes.push(Note::SamplerLate { worst_ns: sampler.worst_late_ns() });
    }
    if let Some(reason) = sampler.pmu_missing() {
        notes.push(Note::NoPmu { reason: reason.to_owned() });
    }
    if let Some(Busy { name, pid, cpu_ns, wall_ns }) = evidence.busiest_other()
        && cpu_ns >= wall_ns / WORTH_NOTING
    {
        notes.push(Note::BusyProcess { name, pid, cpu_ns, wall_ns });
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(ended: Ended) -> ConnectionResult {
        ConnectionResult { ended, ..ConnectionResult::new(0) }
    }

    #[test]
    fn a_failure_at_the_deadline_is_the_other_hosts_cut() {
        let results = [ended(Ended::Complete), ended(Ended::Failed("Broken pipe".to_owned()))];
        assert_eq!(outcome(&results, true), Outcome::Deadline);
        assert_eq!(outcome(&results, false), Outcome::Failed { reason: "Broken pipe".to_owned() });
    }

    #[test]
    fn an_abort_comes_before_a_failure() {
        let results = [ended(Ended::Failed("Broken pipe".to_owned())), ended(Ended::Cut(Cut::Aborted))];
        assert_eq!(outcome(&results, true), Outcome::Aborted);
    }
}
