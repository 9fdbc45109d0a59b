//! When the flows of a trial carry payload: connections that start and stop at set times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use crate::trial::{Role, TrialSpec};
use crate::workload::Transport;

/// Connections that begin to carry payload together and end together. All of them are open before the trial's start, so
/// that setting them up is no part of what is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduledFlow {
    /// When the sender's first write is due, in ns after the start of the load.
    pub start_ns: u64,
    /// From when on the sender writes no more and closes its direction, in ns after the start of the load. What it has
    /// written before still drains.
    pub stop_ns: u64,
    /// Connections of the flow; they are numbered through in the order of the schedule.
    pub connections_count: u32,
    /// The transport that carries them; absent: what carries the trial.
    #[serde(default)]
    pub transport: Option<Transport>,
    /// `TCP_CONGESTION` of them; absent: that of the trial.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// DSCP (RFC 2474) of their packets from this side, 0 to 63; absent: that of the trial.
    #[serde(default)]
    pub dscp: Option<u8>,
    /// Which way their payload goes, seen from this side.
    pub role: Role,
}

impl TrialSpec {
    /// Position in the schedule of a connection's flow; none without a schedule.
    pub fn flow_of(&self, connection: u32) -> Option<usize> {
        let mut behind = 0u32;
        self.schedule.iter().position(|flow| {
            behind = behind.saturating_add(flow.connections_count);
            connection < behind
        })
    }

    /// Which way a connection's payload goes, seen from this side.
    pub fn role_of(&self, connection: u32) -> Role {
        self.flow_of(connection).map_or(self.role, |flow| self.schedule[flow].role)
    }

    /// The trial as one of its connections sees it: with the role, transport, congestion control and DSCP of its flow.
    pub fn of_connection(&self, connection: u32) -> Cow<'_, TrialSpec> {
        let Some(flow) = self.flow_of(connection).map(|position| &self.schedule[position]) else { return Cow::Borrowed(self) };
        let mut own = self.clone();
        own.role = flow.role;
        own.transport = flow.transport.unwrap_or(self.transport);
        if flow.congestion_control.is_some() {
            own.socket.congestion_control.clone_from(&flow.congestion_control);
        }
        own.socket.dscp = flow.dscp.or(self.socket.dscp);
        Cow::Owned(own)
    }
}
