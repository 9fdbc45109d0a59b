//! Writes the segment log while the trial runs, in a thread that takes CPU time nobody else wants:
//! what the log needs beside the programs in the kernel should not be missing in the measurement.

use nix::libc;
use schema::trial::TrialSpec;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::record::RecordError;
use crate::segment_file::SegmentFile;
use crate::witness::Witness;

/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// From this fullness on the thread asks for CPU time as everybody does.
const HURRY_FULLNESS: f64 = 0.4;
/// Records taken of a CPU before the next CPU's turn.
const TURN_RECORDS: u64 = 65_536;

/// A log being written.
pub struct SegmentLog {
    ended: Arc<AtomicBool>,
    writer: JoinHandle<Written>,
}

/// A written log.
#[derive(Default)]
pub struct Written {
    /// The Parquet file; absent when it could not be written.
    pub file: Option<File>,
    /// Why it breaks off or is not there, in a sentence.
    pub broken_off: Option<String>,
}

impl SegmentLog {
    /// Writes segments of the connections whose ports are given, with their numbers.
    pub fn start(witness: &Witness, spec: &TrialSpec, ports: BTreeMap<u16, u32>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (witness, spec, end) = (witness.clone(), spec.clone(), Arc::clone(&ended));
        let writer = thread::spawn(move || write(&witness, &spec, &ports, &end));
        Self { ended, writer }
    }

    /// Writes what is still there and ends the file.
    pub fn finish(self) -> Written {
        self.ended.store(true, Ordering::SeqCst);
        self.writer.join().unwrap_or_else(|_| broken("the thread that writes the segment log panicked".to_owned()))
    }
}

fn broken(reason: String) -> Written {
    Written { file: None, broken_off: Some(reason) }
}

fn write(witness: &Witness, spec: &TrialSpec, ports: &BTreeMap<u16, u32>, ended: &AtomicBool) -> Written {
    let mut urgency = Urgency::leave_to_others();
    let written = SegmentFile::create(spec).and_then(|mut file| {
        loop {
            // Looked at before the log: what comes after is still taken.
            let is_last = ended.load(Ordering::SeqCst);
            if is_last {
                urgency.set(true);
                // Nothing is logged any more that nobody would take.
                witness.stop();
            }
            drain(witness, ports, &mut file, &mut urgency)?;
            if is_last {
                return file.finish();
            }
            thread::sleep(LOOK);
        }
    });
    match written {
        Ok(file) => Written { file: Some(file), broken_off: None },
        Err(error) => broken(format!("the segment log could not be written: {error}")),
    }
}

/// Takes all there is.
fn drain(witness: &Witness, ports: &BTreeMap<u16, u32>, file: &mut SegmentFile, urgency: &mut Urgency) -> Result<(), RecordError> {
    loop {
        let Some(log) = witness.log() else { return Ok(()) };
        urgency.set(urgency.is_asked || log.fullness() > HURRY_FULLNESS);
        let mut outcome = Ok(());
        let taken = log.drain(TURN_RECORDS, |cpu, record| {
            if let (Ok(()), Some(&connection)) = (&outcome, ports.get(&record.port)) {
                outcome = file.push(connection, cpu, record);
            }
        });
        outcome?;
        if log.fullness() == 0.0 {
            urgency.set(false);
        }
        if taken == 0 {
            return Ok(());
        }
    }
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
