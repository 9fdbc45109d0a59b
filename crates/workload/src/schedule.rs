//! Flows that start and stop at set times: what a sender does at an instant, and which schedules can be.

use schema::schedule::ScheduledFlow;
use schema::trial::{Stop, TrialSpec};

/// The next act of a sender with an active interval of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Waits for this instant.
    At(u64),
    /// Writes.
    Now,
    /// Writes no more.
    Over,
}

/// The time in which a connection carries payload, on the clock of the load's start, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveInterval {
    /// First instant.
    pub start_ns: u64,
    /// First instant after it.
    pub stop_ns: u64,
}

impl ActiveInterval {
    /// The active interval of a connection; none without a schedule: it carries payload through the whole load.
    pub fn of(spec: &TrialSpec, connection: u32) -> Option<Self> {
        let flow = &spec.schedule[spec.flow_of(connection)?];
        Some(Self { start_ns: flow.start_ns, stop_ns: flow.stop_ns })
    }

    /// The act that is due `now_ns` after the start of the load.
    pub fn poll(self, now_ns: u64) -> Due {
        if now_ns >= self.stop_ns {
            Due::Over
        } else if now_ns < self.start_ns {
            Due::At(self.start_ns)
        } else {
            Due::Now
        }
    }
}

/// Why a schedule cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// A flow would have no time.
    #[error("flow {flow} of the schedule stops {stop_ns} ns after the start of the load, not after it starts ({start_ns} ns)")]
    Backward {
        /// Its position, from 1.
        flow: usize,
        /// When it would start.
        start_ns: u64,
        /// When it would stop.
        stop_ns: u64,
    },
    /// A flow has no connection.
    #[error("flow {0} of the schedule has no connection")]
    Empty(usize),
    /// The connections of all flows are others than the trial's.
    #[error("the flows of the schedule have {flows_count} connections, the trial {trial_count}")]
    Connections {
        /// Those of all flows.
        flows_count: u64,
        /// Those of the trial.
        trial_count: u32,
    },
    /// A flow would go on behind the measurement.
    #[error("flow {flow} of the schedule stops {stop_ns} ns after the start of the load, which ends after {end_ns} ns")]
    Long {
        /// Its position, from 1.
        flow: usize,
        /// When it would stop.
        stop_ns: u64,
        /// When the load ends.
        end_ns: u64,
    },
    /// The load has no end in time, or does not consist of plain streams.
    #[error("a schedule belongs to plain streams that run for a time")]
    Kind,
}

/// Checks a trial's schedule; an empty one is always possible.
///
/// # Errors
/// What makes it impossible, naming the flow.
pub fn check(spec: &TrialSpec) -> Result<(), Impossible> {
    if spec.schedule.is_empty() {
        return Ok(());
    }
    let Stop::Duration { warmup_ns, measure_ns, .. } = spec.stop else { return Err(Impossible::Kind) };
    if spec.workload.is_some() || spec.datagrams.is_some() {
        return Err(Impossible::Kind);
    }
    let end_ns = warmup_ns.saturating_add(measure_ns).min(spec.deadline_ns);
    for (flow, ScheduledFlow { start_ns, stop_ns, connections_count, .. }) in (1..).zip(&spec.schedule) {
        let (start_ns, stop_ns) = (*start_ns, *stop_ns);
        if stop_ns <= start_ns {
            return Err(Impossible::Backward { flow, start_ns, stop_ns });
        }
        if *connections_count == 0 {
            return Err(Impossible::Empty(flow));
        }
        if stop_ns > end_ns {
            return Err(Impossible::Long { flow, stop_ns, end_ns });
        }
    }
    let flows_count = spec.schedule.iter().map(|flow| u64::from(flow.connections_count)).sum();
    let trial_count = spec.connections_count;
    if flows_count == u64::from(trial_count) { Ok(()) } else { Err(Impossible::Connections { flows_count, trial_count }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schema::trial::Role;

    fn spec(flows: &[(u64, u64, u32)]) -> TrialSpec {
        let schedule: Vec<serde_json::Value> = flows
            .iter()
            .map(|(start_ns, stop_ns, count)| {
                serde_json::json!({"start_ns": start_ns, "stop_ns": stop_ns, "connections_count": count, "role": "sender"})
            })
            .collect();
        let connections_count: u32 = flows.iter().map(|(_, _, count)| count).sum();
        let socket = schema::trial::SocketSpec::default();
        serde_json::from_value(serde_json::json!({
            "trial": "t", "host": "near", "token": "", "role": "sender", "opening": "connect", "listen_address": null,
            "listen_port": 0, "connections_count": connections_count, "write_size_bytes": 1, "read_size_bytes": 1,
            "read_wait": "poll", "stop": {"by": "duration", "warmup_ns": 0, "measure_ns": 1000, "cooldown_ns": 0},
            "interval_ns": 1, "deadline_ns": 2000, "socket": socket, "pin_cpus": [], "own_cpus": [],
            "schedule": schedule,
        }))
        .expect("a trial")
    }

    proptest! {
        #[test]
        fn a_sender_writes_from_its_start_to_its_stop_and_never_else(start_ns in 0u64..1000, length_ns in 1u64..1000, now_ns in 0u64..2500) {
            let active = ActiveInterval { start_ns, stop_ns: start_ns + length_ns };
            let expected = if (start_ns..active.stop_ns).contains(&now_ns) {
                Due::Now
            } else if now_ns < start_ns {
                Due::At(start_ns)
            } else {
                Due::Over
            };
            prop_assert_eq!(active.poll(now_ns), expected);
        }

        #[test]
        fn every_connection_has_the_interval_of_its_flow(counts in prop::collection::vec(1u32..5, 1..6)) {
            let flows: Vec<_> = (0u64..).zip(&counts).map(|(number, count)| (number, number + 1, *count)).collect();
            let spec = spec(&flows);
            prop_assert_eq!(check(&spec), Ok(()));
            let mut connection = 0;
            for (number, count) in (0u64..).zip(&counts) {
                for _ in 0..*count {
                    prop_assert_eq!(ActiveInterval::of(&spec, connection).map(|active| active.start_ns), Some(number));
                    connection += 1;
                }
            }
            prop_assert_eq!(ActiveInterval::of(&spec, connection), None);
        }
    }

    #[test]
    fn impossible_schedules_are_named() {
        assert_eq!(check(&spec(&[(0, 5, 1), (7, 7, 1)])), Err(Impossible::Backward { flow: 2, start_ns: 7, stop_ns: 7 }));
        assert_eq!(check(&spec(&[(0, 5, 0)])), Err(Impossible::Empty(1)));
        assert_eq!(check(&spec(&[(0, 1001, 1)])), Err(Impossible::Long { flow: 1, stop_ns: 1001, end_ns: 1000 }));
        let mut other = spec(&[(0, 5, 2)]);
        other.connections_count = 3;
        assert_eq!(check(&other), Err(Impossible::Connections { flows_count: 2, trial_count: 3 }));
        other.stop = Stop::Bytes { payload_bytes: 1 };
        assert_eq!(check(&other), Err(Impossible::Kind));
    }

    #[test]
    fn a_connection_sees_the_trial_with_its_flows_own_settings() {
        let mut trial = spec(&[(0, 5, 1), (0, 5, 2)]);
        trial.socket.congestion_control = Some("cubic".to_owned());
        trial.schedule[1].congestion_control = Some("reno".to_owned());
        trial.schedule[1].role = Role::Receiver;
        trial.socket.dscp = Some(8);
        trial.schedule[1].dscp = Some(46);
        assert_eq!((trial.of_connection(0).socket.dscp, trial.of_connection(1).socket.dscp), (Some(8), Some(46)));
        assert_eq!(trial.of_connection(0).socket.congestion_control.as_deref(), Some("cubic"));
        let second = trial.of_connection(2);
        assert_eq!((second.socket.congestion_control.as_deref(), second.role), (Some("reno"), Role::Receiver));
    }
}
