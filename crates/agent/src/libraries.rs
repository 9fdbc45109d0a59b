//! The libraries that this agent was built with: as abilities of its host, and as what it offers.

use schema::host::Ability;
use schema::offer::{Kind, Offer, Source, State};
use schema::workload::Transport;
use udt::Library;

/// Whether there are UDT and SRT, for `whyperf doctor`.
pub fn abilities() -> Vec<Ability> {
    let ability = |library: Library| Ability {
        name: format!("{}_library", library.name()),
        can: library.is_present(),
        reason: reason(library),
        lost_without: format!("no transport {}", library.name()),
    };
    [Library::Udt, Library::Srt].map(ability).into()
}

/// The same of one, for `whyperf transports`.
pub fn offer(library: Library) -> Offer {
    let name = library.name().to_owned();
    let state = if library.is_present() { State::Loaded } else { State::Refused };
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::Whyperf, state, reason: reason(library) }
}

/// QUIC, which every agent has.
pub fn quic_offer() -> Offer {
    let name = Transport::Quic.name().to_owned();
    let reason = "the agent has quinn's engine".to_owned();
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::Whyperf, state: State::Loaded, reason }
}

/// Congestion controls of QUIC's engine.
pub fn quic_controls() -> Vec<Offer> {
    let offer = |name: &str| Offer {
        kind: Kind::QuicCongestionControl,
        name: name.to_owned(),
        registered_as: name.to_owned(),
        source: Source::Whyperf,
        state: State::Loaded,
        reason: "quinn's engine has it".to_owned(),
    };
    quic::CONTROLLERS.map(offer).into()
}

fn reason(library: Library) -> String {
    if library.is_present() {
        format!("the agent was built with the {} library ({})", library.title(), library.package())
    } else {
        library.missing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_named_with_what_is_lost() {
        for (library, ability) in [Library::Udt, Library::Srt].into_iter().zip(abilities()) {
            assert_eq!(ability.can, library.is_present());
            assert_eq!(offer(library).state == State::Loaded, library.is_present());
            assert!(ability.reason.contains(library.package()) && ability.lost_without.contains(library.name()), "{ability:?}");
        }
    }
}
