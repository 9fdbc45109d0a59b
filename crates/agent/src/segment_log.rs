//! Writes the logs of segments and calls while a trial or a watch runs, in a thread that takes CPU time nobody else wants:
//! what a log needs in addition to the programs in the kernel should not slow the measurement.

use load::flow::Flow;
use load::running::Load;
use nix::libc;
use probe::evidence::{LogReader, Record, Watch};
use probe::tcp_info::TcpInfo;
use record::host::{counted, logs};
use record::{Log, RecordError};
use schema::table::{CallRow, SegmentRow};
use schema::trial::{Role, TrialSpec};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::evidence::LeftOut;

/// Time between two looks at the log.
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

/// Where records come from, and whose they are.
pub trait LogSource: Send + 'static {
    /// The programs that log.
    fn watch(&self) -> &Watch;
    /// Has them log no more.
    fn stop(&self);
    /// The connection that records of this port, or number, are of; those of none are left out.
    fn connection(&self, port: u16) -> Option<KnownConnection>;
}

/// Describes what is written.
pub struct LogRequest {
    /// Side that the rows name.
    pub host: String,
    /// Its role on all connections.
    pub role: Role,
    /// A log that grows longer is broken off.
    pub bytes_most: u64,
    /// Records wait no longer than this, even where there is room for more.
    pub wait_most: Duration,
}

/// The connections of a trial, by their ports.
struct OfTrial {
    watch: Arc<Watch>,
    known: BTreeMap<u16, KnownConnection>,
}

impl LogSource for OfTrial {
    fn watch(&self) -> &Watch {
        &self.watch
    }

    fn stop(&self) {
        self.watch.end();
    }

    fn connection(&self, port: u16) -> Option<KnownConnection> {
        self.known.get(&port).copied()
    }
}

/// A log being written.
pub struct SegmentLog {
    ended: Arc<AtomicBool>,
    writer: Option<JoinHandle<Written>>,
}

impl Drop for SegmentLog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// The facts known of a connection before its log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownConnection {
    /// Its number in the tables.
    pub number: u32,
    /// Shifts of the windows by direction: announced by this end, and by the other.
    pub scales: [u8; 2],
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
    /// The records that are in neither file.
    pub left_out: LeftOut,
}

impl SegmentLog {
    /// Writes segments of the load's connections.
    pub fn of_trial(watch: &Arc<Watch>, spec: &TrialSpec, load: &Load) -> Self {
        let known = counted::by_port(spec, load, KnownConnection::of);
        let request = LogRequest { host: spec.host.clone(), role: spec.role, bytes_most: u64::MAX, wait_most: Duration::MAX };
        Self::start(OfTrial { watch: Arc::clone(watch), known }, request)
    }

    /// Writes the records of a source.
    pub fn start(source: impl LogSource, request: LogRequest) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        let writer = thread::spawn(move || write(&source, &request, &end));
        Self { ended, writer: Some(writer) }
    }

    /// Writes what is still there and ends the file.
    pub fn finish(mut self) -> Written {
        self.ended.store(true, Ordering::SeqCst);
        let written = self.writer.take().and_then(|writer| writer.join().ok());
        written.unwrap_or_else(|| broken("the thread that writes the segment log panicked".to_owned()))
    }
}

fn broken(reason: String) -> Written {
    Written { broken_off: Some(reason), ..Written::default() }
}

fn write(source: &impl LogSource, request: &LogRequest, ended: &AtomicBool) -> Written {
    let mut urgency = Urgency::leave_to_others();
    let mut drained = Instant::now();
    let written = Files::create(source.watch(), request).and_then(|mut files| {
        loop {
            // Looked at before the log: what comes after is still taken.
            let is_last = ended.load(Ordering::SeqCst);
            if is_last {
                urgency.set(true);
                // Nothing is logged any more that nobody would take.
                source.stop();
            }
            if is_last || source.watch().fullness() > WAIT_FULLNESS || drained.elapsed() > request.wait_most {
                files.drain(source, &mut urgency)?;
                drained = Instant::now();
            }
            if is_last {
                return files.finish();
            }
            thread::sleep(LOOK);
        }
    });
    written.unwrap_or_else(|error| broken(format!("the segment log could not be written: {}", described(&error))))
}

/// Describes what went wrong; of a full disk, also what to do.
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

/// The files that are being written.
struct Files<'a> {
    request: &'a LogRequest,
    segments: Log<SegmentRow<'static>>,
    calls: Option<Log<CallRow<'static>>>,
    times_softirqs: bool,
    broken_off: Option<String>,
    left_out: LeftOut,
}

impl<'a> Files<'a> {
    fn create(watch: &Watch, request: &'a LogRequest) -> Result<Self, RecordError> {
        let calls = watch.calls().is_some().then(Log::create).transpose()?;
        let times_softirqs = watch.times_softirqs();
        Ok(Self { request, segments: Log::create()?, calls, times_softirqs, broken_off: None, left_out: LeftOut::default() })
    }

    /// Takes all there is; of a log that is broken off nothing more is written.
    fn drain(&mut self, source: &impl LogSource, urgency: &mut Urgency) -> Result<(), RecordError> {
        let (host, role, times_softirqs, watch) = (self.request.host.as_str(), self.request.role, self.times_softirqs, source.watch());
        loop {
            urgency.set(urgency.is_asked || watch.fullness() > HURRY_FULLNESS);
            let is_written = self.broken_off.is_none();
            let segments = taken(watch.log(), |cpu, record| {
                let Some(connection) = source.connection(record.port).filter(|_| is_written) else {
                    self.left_out.events_count += 1;
                    return Ok(());
                };
                self.segments.push(logs::segment(host, role, connection.number, cpu, &connection.completed(record)))
            })?;
            let calls = taken(watch.calls(), |cpu, call| {
                let connection = source.connection(call.port).filter(|_| is_written);
                let (Some(connection), Some(file)) = (connection, &mut self.calls) else {
                    self.left_out.calls_count += 1;
                    return Ok(());
                };
                file.push(logs::call(host, role, connection.number, cpu, call, times_softirqs))
            })?;
            self.break_off_if_long();
            if watch.fullness() == 0.0 {
                urgency.set(false);
            }
            if segments + calls == 0 {
                return Ok(());
            }
        }
    }

    fn break_off_if_long(&mut self) {
        let bytes = self.segments.bytes_count() + self.calls.as_ref().map_or(0, Log::bytes_count);
        if self.broken_off.is_none() && bytes > self.request.bytes_most {
            let most = self.request.bytes_most >> 20;
            self.broken_off = Some(format!("the segment log reached {most} MiB; watch for a shorter time, or fewer connections"));
        }
    }

    fn finish(self) -> Result<Written, RecordError> {
        let calls = self.calls.map(Log::finish).transpose()?;
        Ok(Written { file: Some(self.segments.finish()?), calls, broken_off: self.broken_off, left_out: self.left_out })
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
