//! The reports that both hosts send each other about every flow over the conductor's connection: number (be32),
//! datagrams (be64), payload in bytes (be64). The sender reports what it sent when it has ended, and
//! the receiver answers with what arrived.

use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::LoadError;

const RECORD_BYTES: usize = 20;
/// Time after which the reader looks again whether anybody still wants to hear.
const TICK: Duration = Duration::from_millis(50);

/// The other host's counts of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowCounts {
    /// Datagrams.
    pub datagrams_count: u64,
    /// Their payload in bytes.
    pub payload_bytes: u64,
}

/// Sends counts to the other host.
pub(crate) struct CountsSender {
    socket: Arc<Socket>,
    writing: Mutex<()>,
}

impl CountsSender {
    /// Sends what this host counts of a flow.
    pub fn send(&self, flow: u32, counts: FlowCounts) -> io::Result<()> {
        let mut record = [0; RECORD_BYTES];
        record[..4].copy_from_slice(&flow.to_be_bytes());
        record[4..12].copy_from_slice(&counts.datagrams_count.to_be_bytes());
        record[12..].copy_from_slice(&counts.payload_bytes.to_be_bytes());
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (&*self.socket).write_all(&record)
    }
}

/// Listens to the other host for as long as the teller lives; every flow hears what concerns it, and
/// that nothing more will come when the other host is gone.
pub(crate) fn open(conductor: Socket, flows: u32) -> Result<(Arc<CountsSender>, Vec<Receiver<FlowCounts>>), LoadError> {
    let failed = |error| LoadError::host("the conductor's socket", error, "");
    conductor.set_read_timeout(Some(TICK)).map_err(failed)?;
    let socket = Arc::new(conductor);
    let counts_sender = Arc::new(CountsSender { socket: Arc::clone(&socket), writing: Mutex::new(()) });
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..flows).map(|_| channel()).unzip();
    let weak = Arc::downgrade(&counts_sender);
    let reader = thread::Builder::new().name("conductor".to_owned()).spawn(move || listen(&socket, &weak, &senders));
    reader.map_err(|error| LoadError::host("making a thread for the conductor", error, ""))?;
    Ok((counts_sender, inboxes))
}

fn listen(socket: &Socket, counts_sender: &Weak<CountsSender>, flows: &[Sender<FlowCounts>]) {
    let mut record = [0; RECORD_BYTES];
    let mut have = 0;
    while counts_sender.strong_count() > 0 {
        let mut reader = socket;
        match reader.read(&mut record[have..]) {
            Ok(0) => return,
            Ok(count) => have += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
        if have < RECORD_BYTES {
            continue;
        }
        have = 0;
        let long = |at: usize| record[at..at + 8].iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let flow = u32::from_be_bytes([record[0], record[1], record[2], record[3]]);
        if let Some(inbox) = flows.get(flow as usize) {
            // A flow that has ended needs no more.
            let _ = inbox.send(FlowCounts { datagrams_count: long(4), payload_bytes: long(12) });
        }
    }
}
