//! Every option, with every transport, load and I/O model: it is refused exactly where its rule leaves that out.

use schema::evidence::Evidence;
use schema::options::{Load, OPTIONS, TRANSPORTS, check, check_model};
use schema::simulation::Simulation;
use schema::trial::{Role, SocketSpec, TrialSpec};
use schema::workload::{IoModel, Transport};
use serde_json::{Value, json};

/// A trial with these fields; `socket.` names those of its socket.
fn trial(fields: &[(&str, Value)]) -> TrialSpec {
    let mut spec = json!({
        "trial": "t", "host": "near", "token": "", "role": "sender", "opening": "connect", "listen_address": null,
        "listen_port": 0, "connections_count": 3, "write_size_bytes": 1, "read_size_bytes": 1, "read_wait": "poll",
        "stop": {"by": "duration", "warmup_ns": 0, "measure_ns": 1000, "cooldown_ns": 0}, "interval_ns": 1,
        "deadline_ns": 2000, "socket": SocketSpec::default(), "pin_cpus": [], "own_cpus": [],
    });
    for (field, value) in fields {
        match field.strip_prefix("socket.") {
            Some(field) => spec["socket"][field] = value.clone(),
            None => spec[*field] = value.clone(),
        }
    }
    serde_json::from_value(spec).expect("a trial")
}

fn workload(name: &str) -> Value {
    json!({"name": name, "seed": 1, "groups": []})
}

fn with_load(load: Load) -> (&'static str, Value) {
    match load {
        Load::Stream => ("workload", Value::Null),
        Load::Operations => ("workload", workload("exchange")),
        Load::Datagrams => ("datagrams", json!({"datagram_bytes": 100, "batch_count": 1, "rate_bps": 0, "is_merged": false})),
    }
}

fn flow(fields: &[(&str, Value)]) -> Value {
    let mut flow = json!({"start_ns": 0, "stop_ns": 5, "connections_count": 3, "role": "receiver"});
    for (field, value) in fields {
        flow[*field] = value.clone();
    }
    flow
}

/// A value of the field by which the option is asked for.
fn asking(field: &str) -> Value {
    match field {
        "socket.congestion_control" | "socket.source_address" => json!("reno"),
        "socket.send_call" => json!("splice"),
        "socket.tls_version" => json!("1.3"),
        "socket.tls_cipher" => json!("aes-256-gcm"),
        "socket.ktls" => json!("both"),
        "read_wait" => json!("block"),
        "round_trip_probe_by" => json!("icmp"),
        "schedule" => json!([flow(&[])]),
        "socket.no_delay" | "socket.quick_ack" | "socket.cork" | "socket.zero_copy" | "socket.truncate" | "socket.kernel_timestamps" => {
            json!(true)
        }
        _ => json!(7),
    }
}

#[test]
fn the_checked_in_rules_are_these() {
    let checked_in: Value = serde_json::from_str(include_str!("../../../../schemas/options.json")).expect("JSON");
    assert!(checked_in == json!({"options": OPTIONS, "transports": TRANSPORTS}), "run make schemas if this change is meant");
}

#[test]
fn an_option_is_refused_where_its_rule_leaves_it_out() {
    for carries in TRANSPORTS {
        for &load in carries.loads {
            for &io_model in carries.io_models {
                let carried = [("transport", json!(carries.transport)), ("io_model", json!(io_model)), with_load(load)];
                assert_eq!(check(&trial(&carried)), Ok(()), "{carried:?}");
                for rule in OPTIONS {
                    let mut fields = carried.to_vec();
                    fields.push((rule.field, asking(rule.field)));
                    let applies =
                        rule.transports.contains(&carries.transport) && rule.loads.contains(&load) && rule.io_models.contains(&io_model);
                    let refusal = check(&trial(&fields)).map_err(|refusal| refusal.to_string());
                    let sentence_start = format!("{} is no option of ", rule.factor);
                    assert!(
                        refusal.as_ref().map_or_else(|text| !applies && text.starts_with(&sentence_start), |()| applies),
                        "{fields:?}: {refusal:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_refusal_says_what_to_choose() {
    for (fields, sentence) in [
        (vec![("transport", json!("udp"))], "udp carries no stream; choose tcp, mptcp, unix, udt, quic, srt, tls or sctp"),
        (
            vec![("transport", json!("srt")), with_load(Load::Operations)],
            "srt carries no operations; choose tcp, mptcp, udp, unix, tls or sctp",
        ),
        (vec![("transport", json!("udt")), ("io_model", json!("epoll"))], "udt has no I/O model epoll; choose blocking"),
        (
            vec![("transport", json!("mptcp")), ("socket.quick_ack", json!(true))],
            "quick_ack is no option of the transport mptcp; leave it out, or choose tcp or tls",
        ),
        (
            vec![("socket.truncate", json!(true)), with_load(Load::Operations)],
            "truncate is no option of a load of operations; leave it out, or choose stream",
        ),
        (vec![("threads_count", json!(2))], "threads is no option of the I/O model blocking; leave it out, or choose epoll or io_uring"),
    ] {
        assert_eq!(check(&trial(&fields)).map_err(|refusal| refusal.to_string()), Err(sentence.to_owned()));
    }
}

#[test]
fn a_flow_joins_a_trial_whose_listening_socket_can_take_it() {
    use Transport::{Mptcp, Quic, Tcp, Unix};
    for (of_trial, of_flow, can_join) in [
        (Tcp, Tcp, true),
        (Tcp, Quic, true),
        (Tcp, Mptcp, false),
        (Mptcp, Tcp, true),
        (Mptcp, Mptcp, true),
        (Quic, Quic, true),
        (Quic, Tcp, true),
        (Unix, Unix, true),
        (Unix, Tcp, false),
        (Unix, Quic, false),
        (Tcp, Unix, false),
    ] {
        let schedule = json!([flow(&[]), flow(&[("transport", json!(of_flow))])]);
        let result = check(&trial(&[("transport", json!(of_trial)), ("schedule", schedule)]));
        assert_eq!(result.is_ok(), can_join, "{of_flow:?} in {of_trial:?}: {result:?}");
        assert!(result.map_or_else(|refusal| refusal.to_string().contains("cannot join a trial over"), |()| true));
    }
    // A library's packets take no mark of a flow.
    for (of_trial, of_flow, can_mark) in [(Tcp, None, true), (Tcp, Some(Quic), false), (Quic, None, false), (Quic, Some(Tcp), true)] {
        let schedule = json!([flow(&[("transport", json!(of_flow)), ("dscp", json!(8))])]);
        assert_eq!(
            check(&trial(&[("transport", json!(of_trial)), ("schedule", schedule)])).is_ok(),
            can_mark,
            "{of_flow:?} in {of_trial:?}"
        );
    }
}

#[test]
fn the_model_lacks_what_its_rules_say() {
    for rule in OPTIONS.iter().filter(|rule| rule.field.starts_with("socket.")) {
        let socket = trial(&[(rule.field, asking(rule.field))]).socket;
        assert_eq!(check_model(&socket).is_ok(), rule.targets.len() == 2, "{}", rule.factor);
    }
}

#[test]
fn a_workload_of_a_streams_name_is_a_stream() {
    assert_eq!(trial(&[("workload", workload("stream-receive"))]).load(), Load::Stream);
    assert_eq!(trial(&[("workload", workload("exchange"))]).load(), Load::Operations);
}

#[test]
fn a_connection_has_the_role_of_its_flow() {
    let schedule = json!([flow(&[("connections_count", json!(2))]), flow(&[("connections_count", json!(1)), ("role", json!("sender"))])]);
    let trial = trial(&[("schedule", schedule)]);
    assert_eq!([0, 1, 2, 3].map(|connection| trial.flow_of(connection)), [Some(0), Some(0), Some(1), None]);
    assert_eq!([0, 1, 2, 3].map(|connection| trial.role_of(connection)), [Role::Receiver, Role::Receiver, Role::Sender, Role::Sender]);
    let own = [0, 2, 3].map(|connection| trial.of_connection(connection).role);
    assert_eq!(own, [Role::Receiver, Role::Sender, Role::Sender]);
}

#[test]
fn what_a_simulation_leaves_out_has_a_usual_value() {
    let text = json!({"hosts": [{}, {}], "stop": {"by": "bytes", "payload_bytes": 1}});
    let asked: Simulation = serde_json::from_value(text).expect("a simulation");
    assert_eq!((asked.near_role, asked.connections_count), (Role::Sender, 1));
    assert_eq!((asked.write_size_bytes, asked.read_size_bytes, asked.interval_ns), (8192, 8192, 100_000_000));
}

#[test]
fn names_in_the_record_are_those_of_the_messages() {
    for level in [Evidence::User, Evidence::Counters, Evidence::Segments] {
        assert_eq!(json!(level), json!(level.name()));
    }
    for transport in TRANSPORTS.iter().map(|carries| carries.transport) {
        assert_eq!(json!(transport), json!(transport.name()));
    }
    assert_eq!(json!(IoModel::default()), json!("blocking"));
}
