//! An agent's state machines for the simulation in `tests/simulation`, behind a C interface: the same session, queue
//! and order of results as in the agent, with the thread that serves, the one that writes and that of the load in turns
//! of a caller instead of threads. With unsafe code, which takes pointers from that caller.

use schema::message::{Fault, Finished, Reply};
use schema::trial::Opening;
use serde::Deserialize;
use serde_json::{Value, json};
use session::report::{Table, send_result};
use session::{Action, CLOSED_GRACE_NS, Outbox, Prepared, Refusal, Sent, Session, message_frame};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::slice;

/// An agent, and what its threads wait with.
struct Agent {
    session: Session,
    outbox: Outbox,
    /// Frames of the thread that serves, which waits for room.
    served: VecDeque<Vec<u8>>,
    /// Frames of the load's thread, or of that which watches; it waits for room. When all are sent, the trial or the watch
    /// with this number is over.
    result: VecDeque<Vec<u8>>,
    ended: Option<Ended>,
    output: Vec<u8>,
}

/// Which thread has sent its result.
enum Ended {
    Load(u64),
    Watch(u64),
}

#[derive(Deserialize)]
struct Refused {
    fault: Fault,
    text: String,
}

impl From<Refused> for Refusal {
    fn from(Refused { fault, text }: Refused) -> Self {
        Self { fault, text }
    }
}

/// An event in the simulated host.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    End,
    HangUp,
    Opened { trial: u64, refused: Option<Refused> },
    Prepared { reply: Option<Reply>, refused: Option<Refused>, opening: Opening, connections_count: u32 },
    Arrivals { id: u64, connections_count: u64, strangers_count: u64 },
    Answer { id: u64, replies: Vec<Reply>, tables: Vec<NamedTable> },
    Progress { id: u64, reply: Reply },
    LoadEnded { trial: u64, id: u64, finished: Finished, tables: Vec<NamedTable> },
    WatchEnded { watch: u64, id: u64, finished: Finished, tables: Vec<NamedTable> },
    WatchRefused { watch: u64, refused: Refused },
}

#[derive(Deserialize)]
struct NamedTable {
    name: String,
    hex: String,
}

impl Agent {
    fn handle(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::End => self.session.handle_end(now_ns),
            Event::HangUp => self.session.handle_hang_up(),
            Event::Opened { trial, refused } => self.session.on_opened(trial, refused.map_or(Ok(()), |refused| Err(refused.into()))),
            Event::Prepared { reply, refused, opening, connections_count } => {
                self.session.on_prepared(match (reply, refused) {
                    (Some(reply), _) => Ok(Prepared { reply, opening, connections_count }),
                    (None, refused) => Err(refused.map_or_else(|| Refusal::usage("refused"), Refusal::from)),
                });
            }
            Event::Arrivals { id, connections_count, strangers_count } => {
                self.session.on_arrivals(id, connections_count, strangers_count);
            }
            Event::Answer { id, replies, tables } => {
                let (last, first) = replies.split_last().expect("an answer has a reply");
                self.served.extend(first.iter().map(|reply| message_frame(id, reply.clone())));
                for table in &tables {
                    session::report::send_table(id, table.read(), |frame| self.served.push_back(frame)).expect("in memory");
                }
                self.served.push_back(message_frame(id, last.clone()));
            }
            Event::Progress { id, reply } => {
                if self.outbox.has_room() {
                    self.outbox.push(message_frame(id, reply));
                }
            }
            Event::LoadEnded { trial, id, finished, tables } => {
                let tables = tables.iter().map(|table| Ok::<_, std::io::Error>(table.read()));
                send_result(id, finished, tables, |frame| self.result.push_back(frame)).expect("in memory");
                self.ended = Some(Ended::Load(trial));
            }
            Event::WatchEnded { watch, id, finished, tables } => {
                let tables = tables.iter().map(|table| Ok::<_, std::io::Error>(table.read()));
                send_result(id, finished, tables, |frame| self.result.push_back(frame)).expect("in memory");
                self.ended = Some(Ended::Watch(watch));
            }
            Event::WatchRefused { watch, refused } => self.session.on_watch_ended(watch, Err(refused.into())),
        }
    }

    /// Lets every thread go on as far as it can; the next thing that the simulated host has to do.
    fn poll(&mut self, now_ns: u64) -> Option<Value> {
        loop {
            while self.outbox.has_room()
                && let Some(frame) = self.result.pop_front()
            {
                self.outbox.push(frame);
            }
            if self.result.is_empty()
                && let Some(ended) = self.ended.take()
            {
                match ended {
                    Ended::Load(trial) => self.session.on_load_ended(trial, Ok(())),
                    Ended::Watch(watch) => self.session.on_watch_ended(watch, Ok(())),
                }
            }
            while self.outbox.has_room()
                && let Some(frame) = self.served.pop_front()
            {
                self.outbox.push(frame);
            }
            if !self.served.is_empty() {
                return None;
            }
            return Some(match self.session.poll_action(now_ns)? {
                Action::Send(id, reply) => {
                    self.served.push_back(message_frame(id, reply));
                    continue;
                }
                Action::CloseReplies(last_words) => {
                    self.outbox.close(Some(message_frame(0, last_words)));
                    continue;
                }
                Action::Leave => {
                    self.outbox.leave();
                    continue;
                }
                Action::Answer(id, request) => json!({"action": "answer", "id": id, "request": request}),
                Action::CountArrivals(id) => json!({"action": "count_arrivals", "id": id}),
                Action::Prepare(spec) => json!({"action": "prepare", "spec": spec}),
                Action::Accept { trial } => json!({"action": "accept", "trial": trial}),
                Action::Connect { trial, address, port, .. } => {
                    json!({"action": "connect", "trial": trial, "address": address, "port": port})
                }
                Action::Load { trial, id, at_mono_ns } => {
                    json!({"action": "load", "trial": trial, "id": id, "at_mono_ns": at_mono_ns})
                }
                Action::Watch { watch, id, spec } => json!({"action": "watch", "watch": watch, "id": id, "spec": spec}),
                Action::EndWatch => json!({"action": "end_watch"}),
                Action::Abort => json!({"action": "abort"}),
                Action::Exit => {
                    if let Some(id) = self.session.goodbye() {
                        self.outbox.say_goodbye(id);
                    }
                    let error = self.session.take_error().map(|error| error.to_string());
                    json!({"action": "exit", "error": error, "says_goodbye": self.session.goodbye().is_some()})
                }
            });
        }
    }
}

impl NamedTable {
    fn read(&self) -> Table<'_> {
        let digit = |place: usize| u8::from_str_radix(&self.hex[place..place + 2], 16).expect("hexadecimal");
        Table::of_bytes(&self.name, (0..self.hex.len()).step_by(2).map(digit).collect())
    }
}

/// A pointer from the caller as the agent that it is.
///
/// # Safety
/// `agent` comes from [`agent_new`], was not freed, and nobody else uses it meanwhile.
unsafe fn agent_at<'a>(agent: *mut c_void) -> &'a mut Agent {
    // SAFETY: by this function's contract.
    unsafe { &mut *agent.cast::<Agent>() }
}

/// A new agent of the process `pid`.
#[unsafe(no_mangle)]
pub extern "C" fn agent_new(pid: u32) -> *mut c_void {
    let agent = Agent {
        session: Session::new(pid),
        outbox: Outbox::default(),
        served: VecDeque::new(),
        result: VecDeque::new(),
        ended: None,
        output: Vec::new(),
    };
    Box::into_raw(Box::new(agent)).cast()
}

/// Frees an agent.
///
/// # Safety
/// As [`agent_at`]; it is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_free(agent: *mut c_void) {
    // SAFETY: by this function's contract.
    drop(unsafe { Box::from_raw(agent.cast::<Agent>()) });
}

/// Takes in bytes of the pipe.
///
/// # Safety
/// As [`agent_at`]; `bytes` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_bytes(agent: *mut c_void, bytes: *const u8, length: usize) {
    // SAFETY: by this function's contract.
    let (agent, bytes) = unsafe { (agent_at(agent), slice::from_raw_parts(bytes, length)) };
    agent.session.handle_bytes(bytes);
}

/// Takes in an event as JSON; says whether it is one.
///
/// # Safety
/// As [`agent_bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_event(agent: *mut c_void, now_ns: u64, bytes: *const u8, length: usize) -> bool {
    // SAFETY: by this function's contract.
    let (agent, bytes) = unsafe { (agent_at(agent), slice::from_raw_parts(bytes, length)) };
    match serde_json::from_slice(bytes) {
        Ok(event) => {
            agent.handle(now_ns, event);
            true
        }
        Err(error) => {
            eprintln!("no event: {error}: {}", String::from_utf8_lossy(bytes));
            false
        }
    }
}

/// The length of the next action, which is JSON at [`agent_output`]; 0 where there is none before [`agent_timeout`].
///
/// # Safety
/// As [`agent_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_poll(agent: *mut c_void, now_ns: u64) -> usize {
    // SAFETY: by this function's contract.
    let agent = unsafe { agent_at(agent) };
    agent.output = agent.poll(now_ns).map_or_else(Vec::new, |action| action.to_string().into_bytes());
    agent.output.len()
}

/// When [`agent_poll`] has something to do although nothing happened; the largest number for never.
///
/// # Safety
/// As [`agent_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_timeout(agent: *mut c_void) -> u64 {
    // SAFETY: by this function's contract.
    unsafe { agent_at(agent) }.session.timeout_ns().unwrap_or(u64::MAX)
}

/// The length of the next frame for the pipe, which is at [`agent_output`]; 0 where there is none before the time in
/// `due_ns`, or none any more where that is the largest number.
///
/// # Safety
/// As [`agent_at`]; `due_ns` points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_frame(agent: *mut c_void, now_ns: u64, due_ns: *mut u64) -> usize {
    // SAFETY: by this function's contract.
    let (agent, due_ns) = unsafe { (agent_at(agent), &mut *due_ns) };
    agent.output.clear();
    match agent.outbox.poll_frame(now_ns) {
        Sent::Frame(frame) => agent.output = frame,
        Sent::NothingUntil(time_ns) => *due_ns = time_ns,
        Sent::End => *due_ns = u64::MAX,
    }
    agent.output.len()
}

/// Where the last action or frame lies until the next call.
///
/// # Safety
/// As [`agent_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_output(agent: *mut c_void) -> *const u8 {
    // SAFETY: by this function's contract.
    unsafe { agent_at(agent) }.output.as_ptr()
}

/// The time after its pipe closed at which an agent ends whatever it does, in ns.
#[unsafe(no_mangle)]
pub extern "C" fn agent_closed_grace() -> u64 {
    CLOSED_GRACE_NS
}
