//! Means by which a host can carry connections: congestion controls and transports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Factor that an [`Offer`] is a level of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `congestion_control` of what the kernel carries.
    CongestionControl,
    /// `congestion_control` over QUIC, whose engine has its own.
    QuicCongestionControl,
    /// `transport`.
    Transport,
}

/// Where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Built into the kernel.
    BuiltIn,
    /// A module of the kernel's.
    Module,
    /// Of whyperf: a BPF program, or a part of the agent.
    Whyperf,
}

/// The state of an offer: whether it can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there.
    Loaded,
    /// It will be there when a trial asks for it.
    Loadable,
    /// It cannot be had; the reason says why.
    Refused,
}

/// A congestion control or a transport of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Factor that it is a level of.
    pub kind: Kind,
    /// The level.
    pub name: String,
    /// Name under which it is registered in the kernel, which the record shows: ours differ from the level.
    pub registered_as: String,
    /// Where it comes from.
    pub source: Source,
    /// Its state: whether it can be used.
    pub state: State,
    /// Why, in a sentence.
    pub reason: String,
}
