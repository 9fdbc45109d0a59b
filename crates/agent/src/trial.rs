//! One trial at one end: the stages in order. Opens, loads, samples at every interval's end,
//! joins, and hands the tables over. Decides nothing: the plan says what, the tables say what was.

use load::open::Opened;
use load::running::{Cut, Cutter, Ended, Life, Load};
use load::urgency::Urgent;
use schema::evidence::EvidenceReport;
use schema::message::{Finished, Note, Outcome, Reply};
use schema::trial::{Role, Stop, TrialSpec};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workload::phases::Intervals;

use crate::pipe::Replies;
use crate::sampling::{BEGIN_LEAD_NS, Moment, Sampler};

/// How long a cut load's threads may take to notice.
const CUT_GRACE_NS: u64 = 1_000_000_000;

/// A trial's handle for aborting it from the request loop, from its first connection on. It keeps
/// the sockets open: the other end may still have to read what the kernel knows of its own.
#[derive(Default, Clone)]
pub struct Abort {
    state: Arc<AbortState>,
}

#[derive(Default)]
struct AbortState {
    aborted: AtomicBool,
    cutter: Mutex<Option<Cutter>>,
}

impl Abort {
    /// Ends the load now, or as soon as it starts.
    pub fn abort(&self) {
        self.state.aborted.store(true, Ordering::SeqCst);
        if let Some(cutter) = &*self.cutter() {
            cutter.cut(Cut::Aborted);
        }
    }

    /// Whether the trial was aborted, for those who open its connections.
    pub fn flag(&self) -> &AtomicBool {
        &self.state.aborted
    }

    fn on_running(&self, cutter: Cutter) {
        let mut kept = self.cutter();
        if self.state.aborted.load(Ordering::SeqCst) {
            cutter.cut(Cut::Aborted);
        }
        *kept = Some(cutter);
    }

    fn cutter(&self) -> MutexGuard<'_, Option<Cutter>> {
        self.state.cutter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the load of a trial from `start_mono_ns` on and sends all there is to tell.
///
/// # Errors
/// The load could not start, or its record could not be written.
pub fn run(spec: &TrialSpec, opened: Opened, start_mono_ns: u64, abort: &Abort, replies: &Replies, id: u64) -> anyhow::Result<()> {
    let strangers_count = opened.strangers_count;
    // The sampler, too, stays on the CPUs whose time counts as this end's.
    load::running::pin_this_thread(&spec.pin_cpus)?;
    let mut load = Load::prepare(spec, opened.connections)?;
    abort.on_running(load.cutter());
    let mut sampler = Sampler::open(spec, &load)?;
    let urgent = Urgent::this_thread();
    let start_mono_ns = start_mono_ns.max(probe::clock::mono_ns());
    load.begin(start_mono_ns);
    load.wait_until(start_mono_ns.saturating_sub(BEGIN_LEAD_NS));
    sampler.on_begin(start_mono_ns)?;

    drive(spec, &mut load, &mut sampler, start_mono_ns, |progress| replies.send_if_idle(id, Reply::Progress(progress)))?;
    drop(urgent);
    let lives = load.join();
    sampler.finish(&load, &lives)?;

    let notes = notes(spec, strangers_count, &sampler);
    let payload_bytes = lives.iter().map(|life| life.payload_bytes).sum();
    replies.send(id, Reply::Finished(Finished { outcome: outcome(&lives), payload_bytes, notes, evidence: EvidenceReport::default() }));
    for table in sampler.into_tables() {
        let name = table.name();
        replies.send_table(id, name, &table.finish()?);
    }
    replies.send(id, Reply::Done);
    Ok(())
}

/// Samples until the load is over, and ends it when its time is up.
fn drive(
    spec: &TrialSpec,
    load: &mut Load,
    sampler: &mut Sampler,
    start_mono_ns: u64,
    mut tell: impl FnMut(schema::message::Progress),
) -> anyhow::Result<()> {
    let deadline_mono_ns = start_mono_ns.saturating_add(spec.deadline_ns);
    let mut intervals = Intervals::new(&spec.stop, spec.interval_ns).peekable();
    while let Some(interval) = intervals.next() {
        let phase = interval.phase;
        let due_mono_ns = start_mono_ns.saturating_add(interval.end_ns).min(deadline_mono_ns);
        let all_done = load.wait_until(due_mono_ns);
        let phase_ends = all_done || intervals.peek().is_none_or(|next| next.phase != phase);
        let moment = Moment { index: interval.index, phase, phase_ends, due_mono_ns: (!all_done).then_some(due_mono_ns) };
        tell(sampler.sample(load, &moment)?);
        if all_done {
            return Ok(());
        }
        if due_mono_ns == deadline_mono_ns {
            load.cutter().cut(Cut::Deadline);
            load.wait_until(probe::clock::mono_ns() + CUT_GRACE_NS);
            return Ok(());
        }
    }
    // Only a timed load comes here: its last phase is over.
    if spec.role == Role::Sender {
        load.stop();
    }
    if !load.wait_until(deadline_mono_ns) {
        load.cutter().cut(Cut::Deadline);
        load.wait_until(probe::clock::mono_ns() + CUT_GRACE_NS);
    }
    Ok(())
}

/// The worst that happened to any connection. A timed load that only failed to drain in time is
/// still complete: its measurement was over.
fn outcome(lives: &[Life]) -> Outcome {
    let failed = lives.iter().find_map(|life| match &life.ended {
        Ended::Failed(reason) => Some(Outcome::Failed { reason: reason.clone() }),
        _ => None,
    });
    let cut = lives.iter().find_map(|life| match &life.ended {
        Ended::Cut(Cut::Aborted) => Some(Outcome::Aborted),
        Ended::Cut(Cut::Deadline) => Some(Outcome::Deadline),
        _ => None,
    });
    // A cut makes the other end of a connection fail too; the cut is the cause.
    cut.or(failed).unwrap_or(Outcome::Complete)
}

fn notes(spec: &TrialSpec, strangers_count: u64, sampler: &Sampler) -> Vec<Note> {
    let mut notes = load::options::Requested::new(&spec.socket, spec.role).notes();
    if strangers_count > 0 {
        notes.push(Note::StrangersDropped { count: strangers_count });
    }
    if sampler.worst_late_ns() > spec.interval_ns / 2 && matches!(spec.stop, Stop::Duration { .. }) {
        notes.push(Note::SamplerLate { worst_ns: sampler.worst_late_ns() });
    }
    if let Some(reason) = sampler.pmu_missing() {
        notes.push(Note::NoPmu { reason: reason.to_owned() });
    }
    notes
}
