//! The libraries that this agent was built with: as abilities of its host, and as what it offers.

use schema::host::Ability;
use schema::offer::{Kind, Offer, Source, State};
use schema::workload::Transport;

/// Whether there is UDT, for `whyperf doctor`.
pub fn udt_ability() -> Ability {
    Ability { name: "udt_library".to_owned(), can: udt::is_present(), reason: udt_reason(), lost_without: "no transport udt".to_owned() }
}

/// The same, for `whyperf transports`.
pub fn udt_offer() -> Offer {
    let name = Transport::Udt.name().to_owned();
    let state = if udt::is_present() { State::Loaded } else { State::Refused };
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::Whyperf, state, reason: udt_reason() }
}

/// QUIC, which every agent has.
pub fn quic_offer() -> Offer {
    let name = Transport::Quic.name().to_owned();
    let reason = "the agent has quinn's engine".to_owned();
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::Whyperf, state: State::Loaded, reason }
}

fn udt_reason() -> String {
    if udt::is_present() { format!("the agent was built with the UDT library ({})", udt::PACKAGE) } else { udt::missing() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_named_with_what_is_lost() {
        let (ability, offer) = (udt_ability(), udt_offer());
        assert_eq!(ability.can, udt::is_present());
        assert_eq!(offer.state == State::Loaded, udt::is_present());
        assert!(ability.reason.contains("libudt-dev") && ability.lost_without.contains("udt"), "{ability:?}");
    }
}
