//! Conversations of a session with a controller, request by request.

use schema::frame::{Kind, encode, seal};
use schema::message::{Envelope, Fault, Reply, Request};
use schema::trial::{Opening, TrialSpec};
use schema::watch::WatchSpec;
use serde_json::json;
use session::{ABORT_GRACE_NS, Action, END_GRACE_NS, Prepared, Refusal, Session};

fn spec(opening: &str) -> TrialSpec {
    serde_json::from_value(json!({
        "trial": "001-c0001", "host": "far", "token": "5a", "role": "receiver", "opening": opening,
        "listen_address": null, "listen_port": 0, "connections_count": 1, "write_size_bytes": 1, "read_size_bytes": 1,
        "read_wait": "poll", "stop": {"by": "bytes", "payload_bytes": 1}, "interval_ns": 1, "deadline_ns": 1,
        "socket": {}, "pin_cpus": [], "own_cpus": []
    }))
    .expect("a trial")
}

fn send(session: &mut Session, id: u64, body: Request) {
    // Each test numbers its requests from 1, and frames are numbered from 0.
    send_as(session, u32::try_from(id - 1).expect("few"), id, body);
}

/// Sends a request as the frame of that number.
fn send_as(session: &mut Session, number: u32, id: u64, body: Request) {
    let mut frame = Vec::new();
    encode(Kind::Message, &serde_json::to_vec(&Envelope { id, body }).expect("JSON"), &mut frame).expect("short");
    seal(&mut frame, number);
    session.handle_bytes(&frame);
}

/// All that there is to do, in short.
fn done(session: &mut Session, now_ns: u64) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(action) = session.poll_action(now_ns) {
        texts.push(match action {
            Action::Send(id, Reply::Error(failure)) => format!("{id}: error {}", failure.text),
            Action::Send(id, reply) => {
                format!("{id}: {}", serde_json::to_value(reply).expect("JSON")["reply"].as_str().unwrap_or_default())
            }
            Action::Prepare(spec) => {
                let reply = Reply::Prepared { port: None, loan: None, stages_loan: None, echo_port: None };
                session.on_prepared(Ok(Prepared { reply, opening: spec.opening, connections_count: 1 }));
                continue;
            }
            Action::Accept { trial } => format!("accept {trial}"),
            Action::Connect { trial, .. } => format!("connect {trial}"),
            Action::Load { trial, id, .. } => format!("load {trial} for {id}"),
            Action::Answer(id, _) => format!("answer {id}"),
            Action::CountArrivals(id) => format!("count for {id}"),
            Action::Watch { watch, id, .. } => format!("watch {watch} for {id}"),
            Action::EndWatch => "end watch".to_owned(),
            Action::Abort => "abort".to_owned(),
            Action::CloseReplies(Reply::Error(failure)) => format!("close: {}", failure.text),
            Action::CloseReplies(reply) => format!("close: {reply:?}"),
            Action::Leave => "leave".to_owned(),
            Action::Exit => "exit".to_owned(),
        });
    }
    texts
}

fn opening(kind: Opening) -> Session {
    let mut session = Session::new(7);
    let word = if kind == Opening::Listen { "listen" } else { "connect" };
    send(&mut session, 1, Request::Prepare(Box::new(spec(word))));
    if kind == Opening::Connect {
        send(&mut session, 2, Request::Connect { address: "192.0.2.1".to_owned(), port: 5, echo_port: None });
    }
    done(&mut session, 0);
    session
}

fn refusal() -> Refusal {
    Refusal { fault: Fault::Peer, text: "no way".to_owned() }
}

#[test]
fn a_trial_is_prepared_connected_started_and_done() {
    let mut session = opening(Opening::Connect);
    session.on_opened(1, Ok(()));
    assert_eq!(done(&mut session, 0), ["2: connected"]);
    send(&mut session, 3, Request::Start { at_mono_ns: 9 });
    assert_eq!(done(&mut session, 0), ["load 1 for 3"]);
    session.on_load_ended(1, Ok(()));
    send(&mut session, 4, Request::Prepare(Box::new(spec("listen"))));
    assert_eq!(done(&mut session, 0), ["3: done", "4: prepared", "accept 2"]);
}

#[test]
fn a_start_waits_for_connections_that_are_still_opening() {
    let mut session = opening(Opening::Listen);
    send(&mut session, 2, Request::Start { at_mono_ns: 9 });
    assert_eq!(done(&mut session, 0), [""; 0]);
    session.on_opened(1, Ok(()));
    assert_eq!(done(&mut session, 0), ["load 1 for 2"]);
}

#[test]
fn connections_that_fail_are_reported_to_connect_and_to_start_and_free_the_stage() {
    let mut session = opening(Opening::Connect);
    send(&mut session, 3, Request::Start { at_mono_ns: 9 });
    done(&mut session, 0);
    session.on_opened(1, Err(refusal()));
    send(&mut session, 4, Request::Prepare(Box::new(spec("listen"))));
    assert_eq!(done(&mut session, 0), ["2: error no way", "3: error no way", "4: prepared", "accept 2"]);
}

#[test]
fn requests_out_of_order_are_refused() {
    let mut session = Session::new(7);
    send(&mut session, 1, Request::Start { at_mono_ns: 9 });
    send(&mut session, 2, Request::Connect { address: "192.0.2.1".to_owned(), port: 5, echo_port: None });
    send(&mut session, 3, Request::Prepare(Box::new(spec("listen"))));
    send(&mut session, 4, Request::Prepare(Box::new(spec("listen"))));
    assert_eq!(
        done(&mut session, 0),
        [
            "1: error start comes after the connections are open",
            "2: error connect comes after prepare, at the connecting end",
            "3: prepared",
            "accept 1",
            "4: error a trial is under way; abort it first",
        ]
    );
}

#[test]
fn an_abort_waits_for_the_trial_and_no_longer_than_its_grace() {
    let mut session = opening(Opening::Listen);
    send(&mut session, 2, Request::Abort);
    send(&mut session, 3, Request::Clock);
    assert_eq!(done(&mut session, 5), ["abort"]);
    assert_eq!(session.timeout_ns(), Some(5 + ABORT_GRACE_NS));
    session.on_opened(1, Err(refusal()));
    assert_eq!(done(&mut session, 6), ["2: done", "answer 3"]);

    let mut session = opening(Opening::Listen);
    send(&mut session, 2, Request::Abort);
    done(&mut session, 5);
    assert_eq!(done(&mut session, 5 + ABORT_GRACE_NS), ["2: done"]);
    // What was given up is another trial's by now.
    send(&mut session, 3, Request::Prepare(Box::new(spec("listen"))));
    done(&mut session, 6 + ABORT_GRACE_NS);
    session.on_opened(1, Ok(()));
    send(&mut session, 4, Request::Start { at_mono_ns: 9 });
    assert_eq!(done(&mut session, 7 + ABORT_GRACE_NS), [""; 0]);
}

#[test]
fn connections_that_open_while_their_trial_is_aborted_count_as_aborted() {
    let mut session = opening(Opening::Connect);
    send(&mut session, 3, Request::Start { at_mono_ns: 9 });
    send(&mut session, 4, Request::Abort);
    assert_eq!(done(&mut session, 0), ["abort"]);
    session.on_opened(1, Ok(()));
    let aborted = "error aborted while its connections opened";
    assert_eq!(done(&mut session, 1), [format!("2: {aborted}"), format!("3: {aborted}"), "4: done".to_owned()]);
}

#[test]
fn the_end_of_the_pipe_aborts_and_exits_when_the_load_has_ended() {
    let mut session = opening(Opening::Listen);
    session.on_opened(1, Ok(()));
    send(&mut session, 2, Request::Start { at_mono_ns: 9 });
    done(&mut session, 0);
    session.handle_end(3);
    let texts = done(&mut session, 3);
    assert!(texts[0].starts_with("close: the pipe from the controller was cut after 2 frames"), "{texts:?}");
    assert_eq!(texts[1..], ["abort"]);
    assert_eq!(session.timeout_ns(), Some(3 + END_GRACE_NS));
    session.on_load_ended(1, Ok(()));
    assert_eq!(done(&mut session, 4), ["2: done", "exit"]);
    assert!(session.take_error().is_none());
    assert!(session.goodbye().is_none());
}

#[test]
fn a_goodbye_ends_everything_and_is_answered_at_last() {
    let mut session = opening(Opening::Listen);
    session.on_opened(1, Ok(()));
    send(&mut session, 2, Request::Start { at_mono_ns: 9 });
    send(&mut session, 3, Request::Goodbye { frames_count: 2 });
    assert_eq!(done(&mut session, 5), ["load 1 for 2", "leave", "abort"]);
    assert_eq!(session.timeout_ns(), Some(5 + END_GRACE_NS));
    // The pipe may close before the answer.
    session.handle_end(6);
    assert_eq!(done(&mut session, 6), [""; 0]);
    session.on_load_ended(1, Ok(()));
    assert_eq!(done(&mut session, 7), ["2: done", "exit"]);
    assert_eq!(session.goodbye(), Some(3));
    assert!(session.take_error().is_none());
}

#[test]
fn a_goodbye_waits_no_longer_than_its_grace() {
    let mut session = opening(Opening::Listen);
    send(&mut session, 2, Request::Goodbye { frames_count: 1 });
    assert_eq!(done(&mut session, 5), ["leave", "abort"]);
    assert_eq!(done(&mut session, 5 + END_GRACE_NS), ["exit"]);
    assert_eq!(session.goodbye(), Some(2));
}

#[test]
fn a_goodbye_that_counts_other_frames_is_refused() {
    let mut session = Session::new(7);
    send(&mut session, 1, Request::Goodbye { frames_count: 1 });
    assert_eq!(done(&mut session, 0), ["1: error goodbye counts 1 frames before it, and 0 came"]);
    assert!(session.goodbye().is_none());
}

#[test]
fn a_goodbye_is_heard_in_a_pipe_that_has_closed() {
    for hangs_up in [false, true] {
        let mut session = Session::new(7);
        send(&mut session, 1, Request::Goodbye { frames_count: 0 });
        if hangs_up {
            session.handle_hang_up();
        } else {
            session.handle_end(3);
        }
        assert_eq!(done(&mut session, 3), ["leave", "abort", "exit"]);
        assert_eq!(session.goodbye(), Some(1));
    }
}

#[test]
fn what_a_pipe_repeats_or_loses_ends_the_session() {
    for (number, says) in [(0, "frame 0 came where 1 was due"), (2, "frame 2 came where 1 was due")] {
        let mut session = Session::new(7);
        send(&mut session, 1, Request::Clock);
        send_as(&mut session, number, 2, Request::Clock);
        let texts = done(&mut session, 0);
        assert_eq!(texts[0], "answer 1");
        assert!(texts[1].starts_with("close: the pipe lost or repeated frames") && texts[1].ends_with(says), "{texts:?}");
        assert_eq!(texts[2..], ["abort", "exit"]);
        assert!(session.take_error().is_some());
    }
}

fn watch() -> Request {
    let spec: WatchSpec = serde_json::from_value(json!({
        "host": "near", "selection": {"ports": [443]}, "evidence": "user", "sample_ns": 1, "report_ns": 1, "connections_most": 1
    }))
    .expect("a watch");
    Request::Watch(Box::new(spec))
}

#[test]
fn a_watch_is_done_before_those_who_end_it() {
    let mut session = Session::new(7);
    send(&mut session, 1, watch());
    send(&mut session, 2, Request::Clock);
    send(&mut session, 3, Request::EndWatch);
    send(&mut session, 4, Request::EndWatch);
    assert_eq!(done(&mut session, 0), ["watch 1 for 1", "answer 2", "end watch", "end watch"]);
    session.on_watch_ended(1, Ok(()));
    send(&mut session, 5, watch());
    assert_eq!(done(&mut session, 0), ["1: done", "3: done", "4: done", "watch 2 for 5"]);
    session.on_watch_ended(1, Ok(()));
    assert_eq!(done(&mut session, 0), [""; 0], "an earlier one has ended already");
    session.on_watch_ended(2, Err(refusal()));
    assert_eq!(done(&mut session, 0), ["5: error no way"]);
}

#[test]
fn a_trial_and_a_watch_refuse_each_other() {
    let mut session = Session::new(7);
    send(&mut session, 1, Request::EndWatch);
    send(&mut session, 2, watch());
    send(&mut session, 3, watch());
    send(&mut session, 4, Request::Prepare(Box::new(spec("listen"))));
    let already = "connections are being watched already; end that watch first";
    let refused = "connections are being watched; end the watch first";
    assert_eq!(
        done(&mut session, 0),
        [
            "1: error nothing is being watched".to_owned(),
            "watch 1 for 2".to_owned(),
            format!("3: error {already}"),
            format!("4: error {refused}"),
        ]
    );
    let mut session = opening(Opening::Listen);
    send(&mut session, 2, watch());
    assert_eq!(done(&mut session, 0), ["2: error a trial is under way; abort it first"]);
}

#[test]
fn an_abort_and_the_end_of_the_pipe_end_a_watch() {
    let mut session = Session::new(7);
    send(&mut session, 1, watch());
    send(&mut session, 2, Request::Abort);
    assert_eq!(done(&mut session, 0), ["watch 1 for 1", "abort"]);
    session.on_watch_ended(1, Ok(()));
    assert_eq!(done(&mut session, 1), ["1: done", "2: done"]);
    send(&mut session, 3, watch());
    done(&mut session, 2);
    session.handle_end(3);
    let texts = done(&mut session, 3);
    assert!(texts[0].starts_with("close: the pipe from the controller was cut after 3 frames"), "{texts:?}");
    assert_eq!(texts[1..], ["abort"]);
    assert_eq!(session.timeout_ns(), Some(3 + END_GRACE_NS));
    session.on_watch_ended(2, Ok(()));
    assert_eq!(done(&mut session, 4), ["3: done", "exit"]);
}

#[test]
fn what_lies_in_a_pipe_that_was_hung_up_is_left_there() {
    let mut session = Session::new(7);
    send(&mut session, 1, Request::Clock);
    session.handle_hang_up();
    // The 20 bytes of a header, 35 of a message, and the end of the line.
    let cut = "close: the pipe from the controller was cut after 1 frames (56 bytes)";
    assert_eq!(done(&mut session, 0), [cut, "abort", "exit"]);
}

#[test]
fn a_pipe_that_carries_something_else_is_reported_and_ends_the_session() {
    let mut session = Session::new(7);
    session.handle_bytes(b"garbage");
    let texts = done(&mut session, 0);
    assert!(texts[0].starts_with("close: the pipe carries something"), "{texts:?}");
    assert_eq!(texts[1..], ["abort", "exit"]);
    assert!(session.take_error().is_some());
}
