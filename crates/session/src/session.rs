//! The states of an agent between its requests.

use schema::frame::{Decoder, Kind};
use schema::message::{Envelope, Fault, Reply, Request};
use schema::trial::Opening;
use schema::watch::WatchSpec;
use std::collections::VecDeque;

use crate::action::{Action, PipeError, Prepared, Refusal};
use crate::{ABORT_GRACE_NS, END_GRACE_NS};

#[derive(Debug)]
enum Stage {
    Idle,
    /// The near side, before it connects.
    Ready {
        connections_count: u32,
    },
    /// Either side, while its connections open. They are awaited by the `connect` of the near side, and by a `start`
    /// that came before they were open.
    Opening {
        connect: Option<Awaited>,
        start: Option<(u64, u64)>,
    },
    /// Its connections are open.
    Open,
    /// Its connections failed. It leaves the stage to the next trial.
    Failed(Refusal),
    /// The request that began the load.
    Running(u64),
    /// Connections of other programs are watched: the request that began it, and those that wait for its end.
    Watching {
        id: u64,
        ends: Vec<u64>,
    },
}

/// A `connect` to be answered.
#[derive(Debug)]
struct Awaited {
    id: u64,
    connections_count: u32,
}

/// An ending that waits until the trial has ended, and no longer than until a time.
#[derive(Debug)]
enum Ending {
    /// The `abort` of this identifier.
    Abort(u64, u64),
    /// The end of the agent.
    Close(u64),
}

fn aborted() -> Refusal {
    Refusal { fault: Fault::Peer, text: "aborted while its connections opened".to_owned() }
}

/// An agent's side of the conversation.
#[derive(Debug)]
pub struct Session {
    pid: u32,
    decoder: Decoder,
    actions: VecDeque<Action>,
    stage: Stage,
    /// Number of the last trial prepared, or of the last watch: what an earlier one still reports is not this one's.
    trial: u64,
    /// The `prepare` under way.
    preparing: u64,
    ending: Option<Ending>,
    /// Why the listening end awaits no more connections.
    opening_problem: Option<String>,
    is_hung_up: bool,
    /// The `goodbye` that is answered last.
    goodbye: Option<u64>,
    has_exited: bool,
    error: Option<PipeError>,
}

impl Session {
    /// A session of the process `pid` with whoever writes to its pipe.
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            decoder: Decoder::new(),
            actions: VecDeque::new(),
            stage: Stage::Idle,
            trial: 0,
            preparing: 0,
            ending: None,
            opening_problem: None,
            is_hung_up: false,
            goodbye: None,
            has_exited: false,
            error: None,
        }
    }

    /// Takes in what came through the pipe.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.decoder.handle_bytes(bytes);
    }

    /// The pipe has closed after the last byte taken in. A request that still lies in it is left there.
    pub fn handle_end(&mut self, now_ns: u64) {
        match self.decode() {
            Ok(Some(Envelope { id, body: goodbye @ Request::Goodbye { .. } })) => {
                self.handle_request(Envelope { id, body: goodbye }, now_ns);
            }
            Ok(Some(_)) => self.close_cut(now_ns),
            Ok(None) => match self.decoder.handle_end() {
                Ok(()) => self.close_cut(now_ns),
                Err(error) => self.handle_broken_pipe(error.into(), now_ns),
            },
            Err(error) => self.handle_broken_pipe(error, now_ns),
        }
    }

    /// Nobody holds the other end of the pipe, although not all of it was read: nobody is left to answer.
    pub fn handle_hang_up(&mut self) {
        self.is_hung_up = true;
    }

    /// The pipe cannot be read, or what came is not the protocol.
    pub fn handle_broken_pipe(&mut self, error: PipeError, now_ns: u64) {
        let refusal = Refusal::usage(error.to_string());
        self.error = Some(error);
        self.close(refusal, now_ns);
    }

    /// The connections of a trial are open, or failed to.
    pub fn on_opened(&mut self, trial: u64, result: Result<(), Refusal>) {
        if trial != self.trial {
            return;
        }
        let Stage::Opening { connect, start } = &mut self.stage else { return };
        let (connect, start) = (connect.take(), start.take());
        // An aborted trial has let go of what opened meanwhile.
        let result = if self.ending.is_some() { result.and_then(|()| Err(aborted())) } else { result };
        if let (Err(refusal), None) = (&result, &connect) {
            self.opening_problem = Some(refusal.text.clone());
        }
        if let Some(Awaited { id, connections_count }) = connect {
            let reply = result.clone().map_or_else(Reply::from, |()| Reply::Connected { connections_count });
            self.actions.push_back(Action::Send(id, reply));
        }
        self.stage = match result {
            Ok(()) => Stage::Open,
            Err(refusal) => Stage::Failed(refusal),
        };
        if let Some((id, at_mono_ns)) = start {
            self.start(id, at_mono_ns);
        }
    }

    /// The load of a trial is over, its result is sent and its sockets are closed; or it failed.
    pub fn on_load_ended(&mut self, trial: u64, result: Result<(), Refusal>) {
        if trial != self.trial {
            return;
        }
        if let Stage::Running(id) = self.stage {
            self.actions.push_back(Action::Send(id, result.map_or_else(Reply::from, |()| Reply::Done)));
            self.stage = Stage::Idle;
        }
    }

    /// A watch is over and its result is sent; or it failed.
    pub fn on_watch_ended(&mut self, watch: u64, result: Result<(), Refusal>) {
        if watch != self.trial || !matches!(self.stage, Stage::Watching { .. }) {
            return;
        }
        if let Stage::Watching { id, ends } = std::mem::replace(&mut self.stage, Stage::Idle) {
            self.actions.push_back(Action::Send(id, result.map_or_else(Reply::from, |()| Reply::Done)));
            self.actions.extend(ends.into_iter().map(|id| Action::Send(id, Reply::Done)));
        }
    }

    /// The trial of the last [`Action::Prepare`] is ready, or was refused.
    pub fn on_prepared(&mut self, result: Result<Prepared, Refusal>) {
        let id = self.preparing;
        match result {
            Ok(Prepared { reply, opening, connections_count }) => {
                self.trial += 1;
                self.actions.push_back(Action::Send(id, reply));
                self.stage = match opening {
                    Opening::Connect => Stage::Ready { connections_count },
                    Opening::Listen => {
                        self.opening_problem = None;
                        self.actions.push_back(Action::Accept { trial: self.trial });
                        Stage::Opening { connect: None, start: None }
                    }
                };
            }
            Err(refusal) => self.actions.push_back(Action::Send(id, refusal.into())),
        }
    }

    /// Reports what has come to the listening end.
    pub fn on_arrivals(&mut self, id: u64, connections_count: u64, strangers_count: u64) {
        let problem = self.opening_problem.clone();
        self.actions.push_back(Action::Send(id, Reply::Opening { connections_count, strangers_count, problem }));
    }

    /// The next action; nothing before [`Session::timeout_ns`], or before something is reported.
    pub fn poll_action(&mut self, now_ns: u64) -> Option<Action> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            if self.has_exited {
                return None;
            }
            match self.ending {
                Some(Ending::Abort(id, end_ns)) if self.has_ended() || now_ns >= end_ns => {
                    (self.ending, self.stage) = (None, Stage::Idle);
                    return Some(Action::Send(id, Reply::Done));
                }
                Some(Ending::Close(end_ns)) if self.has_ended() || now_ns >= end_ns => {
                    self.has_exited = true;
                    return Some(Action::Exit);
                }
                Some(_) => return None,
                None => {
                    if !self.poll_request(now_ns) {
                        return None;
                    }
                }
            }
        }
    }

    /// When [`Session::poll_action`] has something to do although nothing was reported.
    pub fn timeout_ns(&self) -> Option<u64> {
        match self.ending {
            Some(Ending::Abort(_, end_ns) | Ending::Close(end_ns)) if !self.has_exited => Some(end_ns),
            _ => None,
        }
    }

    /// The request that [`Reply::Goodbye`] answers when everything is undone; none where nobody has said goodbye.
    pub fn goodbye(&self) -> Option<u64> {
        self.goodbye
    }

    /// Why the session ended, where it was not by the end of the pipe.
    pub fn take_error(&mut self) -> Option<PipeError> {
        self.error.take()
    }

    /// True if no thread of the trial, or of the watch, is left.
    fn has_ended(&self) -> bool {
        !matches!(self.stage, Stage::Opening { .. } | Stage::Running(_) | Stage::Watching { .. })
    }

    /// Handles the next request, if it is there whole; says so.
    fn poll_request(&mut self, now_ns: u64) -> bool {
        if self.ending.is_some() {
            return false;
        }
        match self.decode() {
            Ok(Some(Envelope { body, .. })) if self.is_hung_up && !matches!(body, Request::Goodbye { .. }) => self.close_cut(now_ns),
            Ok(Some(request)) => self.handle_request(request, now_ns),
            Ok(None) => return false,
            Err(error) => self.handle_broken_pipe(error, now_ns),
        }
        true
    }

    fn decode(&mut self) -> Result<Option<Envelope<Request>>, PipeError> {
        let Some(frame) = self.decoder.poll_frame()? else { return Ok(None) };
        match frame.kind {
            Kind::Message => Ok(Some(serde_json::from_slice(&frame.payload)?)),
            Kind::Table => Err(PipeError::Table),
        }
    }

    /// The pipe has ended, and nobody has said goodbye.
    fn close_cut(&mut self, now_ns: u64) {
        let (frames, bytes) = (self.decoder.frames_count(), self.decoder.bytes());
        let text = format!("the pipe from the controller was cut after {frames} frames ({bytes} bytes)");
        self.close(Refusal { fault: Fault::Host, text }, now_ns);
    }

    fn close(&mut self, why: Refusal, now_ns: u64) {
        if !matches!(self.ending, Some(Ending::Close(_))) {
            self.actions.push_back(Action::CloseReplies(why.into()));
            self.abort_trial();
            self.ending = Some(Ending::Close(now_ns + END_GRACE_NS));
        }
    }

    fn handle_request(&mut self, Envelope { id, body }: Envelope<Request>, now_ns: u64) {
        let refused = match body {
            Request::Hello { version } => {
                let reply = self.hello(&version).unwrap_or_else(Reply::from);
                self.actions.push_back(Action::Send(id, reply));
                return;
            }
            Request::Prepare(spec) if matches!(self.stage, Stage::Idle | Stage::Failed(_)) => {
                (self.stage, self.preparing) = (Stage::Idle, id);
                self.actions.push_back(Action::Prepare(spec));
                return;
            }
            Request::Prepare(_) if matches!(self.stage, Stage::Watching { .. }) => {
                Refusal::usage("connections are being watched; end the watch first")
            }
            Request::Prepare(_) => Refusal::usage("a trial is under way; abort it first"),
            Request::Connect { address, port, echo_port } => match self.connect(id, &address, port, echo_port) {
                Ok(()) => return,
                Err(refusal) => refusal,
            },
            Request::DescribeOpening => return self.actions.push_back(Action::CountArrivals(id)),
            Request::Start { at_mono_ns } => return self.start(id, at_mono_ns),
            Request::Abort => {
                self.abort_trial();
                self.ending = Some(Ending::Abort(id, now_ns + ABORT_GRACE_NS));
                return;
            }
            Request::Watch(spec) => match self.watch(id, spec) {
                Ok(()) => return,
                Err(refusal) => refusal,
            },
            Request::EndWatch => match &mut self.stage {
                Stage::Watching { ends, .. } => {
                    ends.push(id);
                    return self.actions.push_back(Action::EndWatch);
                }
                _ => Refusal::usage("nothing is being watched"),
            },
            // It is the last frame that was taken in.
            Request::Goodbye { frames_count } if frames_count + 1 == u64::from(self.decoder.frames_count()) => {
                self.actions.push_back(Action::Leave);
                self.abort_trial();
                (self.goodbye, self.ending) = (Some(id), Some(Ending::Close(now_ns + END_GRACE_NS)));
                return;
            }
            Request::Goodbye { frames_count } => {
                let came = self.decoder.frames_count() - 1;
                Refusal::usage(format!("goodbye counts {frames_count} frames before it, and {came} came"))
            }
            other => return self.actions.push_back(Action::Answer(id, other)),
        };
        self.actions.push_back(Action::Send(id, refused.into()));
    }

    fn hello(&self, version: &str) -> Result<Reply, Refusal> {
        let own = env!("CARGO_PKG_VERSION");
        if version == own {
            return Ok(Reply::Hello { version: own.to_owned(), pid: self.pid });
        }
        Err(Refusal::usage(format!("the agent is version {own}, the controller {version}; install the same whyperf on both hosts")))
    }

    fn connect(&mut self, id: u64, address: &str, port: u16, echo_port: Option<u16>) -> Result<(), Refusal> {
        let Stage::Ready { connections_count } = self.stage else {
            return Err(Refusal::usage("connect comes after prepare, at the connecting end"));
        };
        let address = address.parse().map_err(|_| Refusal::usage(format!("\"{address}\" is not a numeric address")))?;
        self.actions.push_back(Action::Connect { trial: self.trial, address, port, echo_port });
        self.stage = Stage::Opening { connect: Some(Awaited { id, connections_count }), start: None };
        Ok(())
    }

    fn watch(&mut self, id: u64, spec: Box<WatchSpec>) -> Result<(), Refusal> {
        match self.stage {
            Stage::Idle | Stage::Failed(_) => {}
            Stage::Watching { .. } => return Err(Refusal::usage("connections are being watched already; end that watch first")),
            _ => return Err(Refusal::usage("a trial is under way; abort it first")),
        }
        self.trial += 1;
        self.actions.push_back(Action::Watch { watch: self.trial, id, spec });
        self.stage = Stage::Watching { id, ends: Vec::new() };
        Ok(())
    }

    fn start(&mut self, id: u64, at_mono_ns: u64) {
        match &mut self.stage {
            Stage::Opening { start: start @ None, .. } => *start = Some((id, at_mono_ns)),
            Stage::Open => {
                self.actions.push_back(Action::Load { trial: self.trial, id, at_mono_ns });
                self.stage = Stage::Running(id);
            }
            Stage::Failed(refusal) => {
                let reply = refusal.clone().into();
                self.actions.push_back(Action::Send(id, reply));
            }
            _ => {
                let refused = Refusal::usage("start comes after the connections are open");
                self.actions.push_back(Action::Send(id, refused.into()));
            }
        }
    }

    /// Begins to end the trial; `ending` says until when.
    fn abort_trial(&mut self) {
        self.actions.push_back(Action::Abort);
        if self.has_ended() {
            self.stage = Stage::Idle;
        }
    }
}
