//! What a killed run can leave behind, and its removal.
//!
//! Namespaces, devices and settings go with the process that holds them, so what stays is the
//! process itself: an agent that is stopped or hung and never saw its pipe close. Agents that were
//! pushed to this host by an older version are listed too, for information.

mod binaries;
mod controller;
mod ending;
mod process;

use serde::Serialize;

pub use binaries::PushedAgent;
pub use ending::Outcome;
pub use process::AgentProcess;

/// Something left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "leftover", rename_all = "snake_case")]
pub enum Leftover {
    /// An agent of this user whose controller is gone.
    Agent(AgentProcess),
    /// An agent binary of another version, pushed more than a day ago. Never removed.
    PushedAgent(PushedAgent),
}

/// What became of a leftover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// The leftover.
    pub leftover: Leftover,
    /// What became of it.
    pub outcome: Outcome,
}

/// Finds what this user's runs have left on this host.
pub fn leftovers() -> Vec<Leftover> {
    let agents = process::agents().into_iter().filter(|agent| controller::of(agent.pid).is_gone()).map(Leftover::Agent);
    let pushed = binaries::cache_folder().map(|folder| binaries::old_ones(&folder)).unwrap_or_default();
    agents.chain(pushed.into_iter().map(Leftover::PushedAgent)).collect()
}

/// Ends the agents among `leftovers`, one after the other, each within 3 s. A process whose
/// controller lives, or that is no longer the process that was found, is not touched.
pub fn clean(leftovers: &[Leftover]) -> Vec<Cleaned> {
    let clean_one = |leftover: &Leftover| Cleaned {
        leftover: leftover.clone(),
        outcome: match leftover {
            Leftover::Agent(agent) => ending::end(agent),
            Leftover::PushedAgent(_) => Outcome::Kept,
        },
    };
    leftovers.iter().map(clean_one).collect()
}
