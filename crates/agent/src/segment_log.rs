//! Writes the logs of segments and calls while the trial runs, in a thread that takes CPU time nobody else wants:
//! what a log needs in addition to the programs in the kernel should not slow the measurement.

use load::flow::Flow;
use load::running::Load;
use nix::libc;
use probe::evidence::{LogReader, Record};
use probe::tcp_info::TcpInfo;
use record::host::{counted, logs};
use record::{Log, RecordError};
use schema::table::{CallRow, SegmentRow};
use schema::trial::TrialSpec;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::evidence::{EvidenceCollector, LeftOut};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Below this fullness the log waits: its memory is there, and writing would take time, and caches,
/// from a load that may be over first.
const WAIT_FULLNESS: f64 = 0.2;
/// From this fullness on the thread asks for CPU time as everybody does.
const HURRY_FULLNESS: f64 = 0.4;
/// The flag of RFC 9293 section 3.1.
const SYN: u8 = 2;
/// Records taken of a CPU before those of the next.
const SLICE_RECORDS: u64 = 65_536;

/// A log being written.
pub struct SegmentLog {
    ended: Arc<AtomicBool>,
    writer: JoinHandle<Written>,
}

/// What is known of a connection before its log is read.
#[derive(Clone, Copy)]
struct KnownConnection {
    number: u32,
    /// Shifts of the windows by direction: announced by this end, and by the other.
    scales: [u8; 2],
}

impl KnownConnection {
    fn of(flow: &Flow) -> Self {
        let info = flow.socket.as_ref().and_then(|socket| TcpInfo::read(socket.as_fd()).ok());
        Self { number: flow.number, scales: info.map(|info| info.window_scales()).unwrap_or_default() }
    }

    /// A segment that was seen without its socket has a window that is not scaled yet; that of a SYN
    /// never is (RFC 7323 section 2.2).
    fn completed(self, record: &Record) -> Record {
        let is_scaled = record.has_state != 0 || record.flags & SYN != 0;
        let scale = if is_scaled { 0 } else { self.scales[usize::from(record.direction & 1)] };
        let mut completed = *record;
        completed.window_bytes <<= scale;
        completed
    }
}

/// A written log.
#[derive(Default)]
pub struct Written {
    /// The segments as a Parquet file; absent when it could not be written.
    pub file: Option<File>,
    /// The same of the calls; absent also where they are not logged.
    pub calls: Option<File>,
    /// Why it breaks off or is not there, in a sentence.
    pub broken_off: Option<String>,
    /// What is in neither file.
    pub left_out: LeftOut,
}

impl SegmentLog {
    /// Writes segments of the load's connections.
    pub fn start(evidence: &EvidenceCollector, spec: &TrialSpec, load: &Load) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let known = counted::by_port(spec, load, KnownConnection::of);
        let (evidence, spec, end) = (evidence.clone(), spec.clone(), Arc::clone(&ended));
        let writer = thread::spawn(move || write(&evidence, &spec, &known, &end));
        Self { ended, writer }
    }

    /// Writes what is still there and ends the file.
    pub fn finish(self) -> Written {
        self.ended.store(true, Ordering::SeqCst);
        self.writer.join().unwrap_or_else(|_| broken("the thread that writes the segment log panicked".to_owned()))
    }
}

fn broken(reason: String) -> Written {
    Written { broken_off: Some(reason), ..Written::default() }
}

fn write(evidence: &EvidenceCollector, spec: &TrialSpec, known: &BTreeMap<u16, KnownConnection>, ended: &AtomicBool) -> Written {
    let mut urgency = Urgency::leave_to_others();
    let written = Files::create(evidence, spec).and_then(|mut files| {
        loop {
            // Looked at before the log: what comes after is still taken.
            let is_last = ended.load(Ordering::SeqCst);
            if is_last {
                urgency.set(true);
                // Nothing is logged any more that nobody would take.
                evidence.stop();
            }
            if is_last || evidence.fullness() > WAIT_FULLNESS {
                files.drain(evidence, known, &mut urgency)?;
            }
            if is_last {
                return files.finish();
            }
            thread::sleep(LOOK);
        }
    });
    written.unwrap_or_else(|error| broken(format!("the segment log could not be written: {}", described(&error))))
}

/// What went wrong; of a full disk, also what to do.
fn described(error: &RecordError) -> String {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(found) = cause {
        if found.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::StorageFull) {
            return format!("no space left in {}; free some space there, or set TMPDIR", record::log::folder().display());
        }
        cause = found.source();
    }
    error.to_string()
}

/// What is being written.
struct Files<'a> {
    spec: &'a TrialSpec,
    segments: Log<SegmentRow<'static>>,
    calls: Option<Log<CallRow<'static>>>,
    times_softirqs: bool,
    left_out: LeftOut,
}

impl<'a> Files<'a> {
    fn create(evidence: &EvidenceCollector, spec: &'a TrialSpec) -> Result<Self, RecordError> {
        let calls = evidence.calls().is_some().then(Log::create).transpose()?;
        let times_softirqs = evidence.times_softirqs();
        Ok(Self { spec, segments: Log::create()?, calls, times_softirqs, left_out: LeftOut::default() })
    }

    /// Takes all there is.
    fn drain(
        &mut self,
        evidence: &EvidenceCollector,
        known: &BTreeMap<u16, KnownConnection>,
        urgency: &mut Urgency,
    ) -> Result<(), RecordError> {
        let (host, role, times_softirqs) = (self.spec.host.as_str(), self.spec.role, self.times_softirqs);
        loop {
            urgency.set(urgency.is_asked || evidence.fullness() > HURRY_FULLNESS);
            let segments = taken(evidence.log(), |cpu, record| {
                let Some(connection) = known.get(&record.port) else {
                    self.left_out.events_count += 1;
                    return Ok(());
                };
                self.segments.push(logs::segment(host, role, connection.number, cpu, &connection.completed(record)))
            })?;
            let calls = taken(evidence.calls(), |cpu, call| {
                let (Some(connection), Some(file)) = (known.get(&call.port), &mut self.calls) else {
                    self.left_out.calls_count += 1;
                    return Ok(());
                };
                file.push(logs::call(host, role, connection.number, cpu, call, times_softirqs))
            })?;
            if evidence.fullness() == 0.0 {
                urgency.set(false);
            }
            if segments + calls == 0 {
                return Ok(());
            }
        }
    }

    fn finish(self) -> Result<Written, RecordError> {
        let calls = self.calls.map(Log::finish).transpose()?;
        Ok(Written { file: Some(self.segments.finish()?), calls, broken_off: None, left_out: self.left_out })
    }
}

/// Takes a slice of each CPU's records; returns how many.
fn taken<R: Copy>(
    log: Option<MutexGuard<'_, LogReader<R>>>,
    mut take: impl FnMut(u32, &R) -> Result<(), RecordError>,
) -> Result<u64, RecordError> {
    let Some(log) = log else { return Ok(0) };
    let mut outcome = Ok(());
    let count = log.drain(SLICE_RECORDS, |cpu, record| {
        if outcome.is_ok() {
            outcome = take(cpu, record);
        }
    });
    outcome.map(|()| count)
}

/// The thread's standing with the scheduler.
struct Urgency {
    is_asked: bool,
}

impl Urgency {
    /// The thread runs when a CPU has nothing else to do, on any CPU.
    fn leave_to_others() -> Self {
        schedule(libc::SCHED_IDLE);
        Self { is_asked: false }
    }

    fn set(&mut self, is_asked: bool) {
        if self.is_asked != is_asked {
            self.is_asked = is_asked;
            schedule(if is_asked { libc::SCHED_OTHER } else { libc::SCHED_IDLE });
        }
    }
}

fn schedule(policy: libc::c_int) {
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the structure is read only, during the call. A refusal leaves the thread as it is.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
}
