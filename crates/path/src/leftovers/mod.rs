//! Things that a killed run can leave behind, and their removal.
//!
//! Namespaces go with the last process that holds them, and with them devices, settings, firewall rules
//! and queueing disciplines. So what stays is the process itself, an agent that is stopped or hung and
//! never saw its pipe close, and what is in no namespace: control groups that disturbed a trial. Agents
//! that were pushed to this host by an older version are listed too, for information.

mod binaries;
mod control_groups;
mod controller;
mod ending;
mod process;

use std::path::{Path, PathBuf};

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
    /// A control group of this user whose keeper is gone.
    ControlGroup {
        /// Where it is.
        path: PathBuf,
    },
    /// An agent binary of another version, pushed more than a day ago. Never removed.
    PushedAgent(PushedAgent),
}

/// A leftover and its fate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// The leftover.
    pub leftover: Leftover,
    /// Its fate.
    pub outcome: Outcome,
}

/// Finds what this user's runs have left on this host.
pub fn leftovers() -> Vec<Leftover> {
    let agents = process::agents().into_iter().filter(|agent| controller::is_gone(agent.pid)).map(Leftover::Agent);
    let pushed = binaries::cache_folder().map(|folder| binaries::old_ones(&folder)).unwrap_or_default();
    let mut groups: Vec<_> = control_groups::HIERARCHIES.iter().flat_map(|place| control_groups::left_in(Path::new(place))).collect();
    groups.sort();
    groups.dedup();
    let groups = groups.into_iter().map(|path| Leftover::ControlGroup { path });
    agents.chain(groups).chain(pushed.into_iter().map(Leftover::PushedAgent)).collect()
}

/// Ends the agents among `leftovers`, one after the other, each within 3 s, and removes control groups. A
/// process whose controller lives, or that is no longer the process that was found, is not touched.
pub fn clean(leftovers: &[Leftover]) -> Vec<Cleaned> {
    let clean_one = |leftover: &Leftover| Cleaned {
        leftover: leftover.clone(),
        outcome: match leftover {
            Leftover::Agent(agent) => ending::end(agent),
            Leftover::ControlGroup { path } => control_groups::remove(path),
            Leftover::PushedAgent(_) => Outcome::Kept,
        },
    };
    leftovers.iter().map(clean_one).collect()
}
