//! Everything that carries connections: the congestion controls and transports of this host.

use load::LoadError;
use schema::host::{Ability, HostFacts};
use schema::offer::{Kind, Offer, Source, State};
use schema::trial::TrialSpec;
use schema::workload::Transport;
use socket2::{Domain, Protocol, Socket, Type};
use udt::Library;

/// Describes the host; with the hooks also whether it takes congestion controls, which is tried, too.
pub fn describe_host(with_hooks: bool) -> HostFacts {
    let mut facts = probe::host::describe(env!("CARGO_PKG_VERSION"), with_hooks);
    facts.abilities.extend(library_abilities());
    facts.abilities.push(ability("kernel_tls", tls::kernel::ability(), "no ktls; the agent encrypts, at more CPU time"));
    let verdict = load::round_trips::icmp_ability();
    facts.abilities.push(ability("icmp_probe", verdict, "no round-trip probe by ICMP; by UDP it needs nothing"));
    if with_hooks {
        facts.abilities.push(ability("struct_ops", congestion::ability(), "no congestion controls but the kernel's own"));
    }
    facts
}

fn ability(name: &str, verdict: Result<String, String>, lost_without: &str) -> Ability {
    let can = verdict.is_ok();
    let (Ok(reason) | Err(reason)) = verdict;
    Ability { name: name.to_owned(), can, reason, lost_without: lost_without.to_owned() }
}

/// Everything that can be asked for, and whether it can be had.
pub fn list() -> Vec<Offer> {
    let mut offers = congestion::list();
    offers.extend(quic_controls());
    offers.extend(Transport::ALL.map(transport));
    offers
}

/// A transport of the kernel's is there when it gives a socket of it.
fn transport(transport: Transport) -> Offer {
    let socket = match transport {
        Transport::Tcp => Socket::new(Domain::IPV4, Type::STREAM, None),
        Transport::Mptcp => Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP)),
        Transport::Udp => Socket::new(Domain::IPV4, Type::DGRAM, None),
        Transport::Unix => Socket::new(Domain::UNIX, Type::STREAM, None),
        Transport::Sctp => Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::SCTP)),
        Transport::Udt => return library_offer(Library::Udt),
        Transport::Srt => return library_offer(Library::Srt),
        Transport::Quic => return of_agent(Transport::Quic, "the agent has quinn's engine"),
        Transport::Tls => return of_agent(Transport::Tls, "the agent has rustls, and the kernel TCP"),
    };
    let (state, reason) = match socket {
        Ok(_) => (State::Loaded, "the kernel has it".to_owned()),
        Err(error) if transport == Transport::Sctp => {
            (State::Refused, format!("the kernel gives no socket of it ({error}); load its module with `modprobe sctp`, if it has one"))
        }
        Err(error) => (State::Refused, format!("the kernel gives no socket of it: {error}")),
    };
    let name = transport.name().to_owned();
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::BuiltIn, state, reason }
}

/// Says whether there are UDT and SRT, for `whyperf doctor`.
fn library_abilities() -> Vec<Ability> {
    let ability = |library: Library| Ability {
        name: format!("{}_library", library.name()),
        can: library.is_present(),
        reason: reason(library),
        lost_without: format!("no transport {}", library.name()),
    };
    [Library::Udt, Library::Srt].map(ability).into()
}

/// The same of one, for `whyperf transports`.
fn library_offer(library: Library) -> Offer {
    let name = library.name().to_owned();
    let state = if library.is_present() { State::Loaded } else { State::Refused };
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::Whyperf, state, reason: reason(library) }
}

/// One that every agent has.
fn of_agent(transport: Transport, reason: &str) -> Offer {
    let name = transport.name().to_owned();
    let reason = reason.to_owned();
    Offer { kind: Kind::Transport, registered_as: name.clone(), name, source: Source::Whyperf, state: State::Loaded, reason }
}

/// Congestion controls of QUIC's engine.
fn quic_controls() -> Vec<Offer> {
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

/// Replaces the names that a trial uses by those in the kernel, and registers what it
/// needs. Both agents on one machine get the same names.
pub fn register(controls: &mut congestion::Holder, spec: &mut TrialSpec) -> Result<(), LoadError> {
    // QUIC's are its own, and no business of the kernel.
    let transport = spec.transport;
    let of_kernel = |own: Option<Transport>| own.unwrap_or(transport) != Transport::Quic;
    let flows = spec.schedule.iter_mut().filter(|flow| of_kernel(flow.transport)).map(|flow| &mut flow.congestion_control);
    let own = Some(&mut spec.socket.congestion_control).filter(|_| of_kernel(None));
    for name in flows.chain(own).flatten() {
        *name = controls
            .name_for(name)
            .map_err(|refused| LoadError::Limit(format!("congestion control \"{name}\" cannot be had: {}", refused.reason)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_named_with_what_is_lost() {
        for (library, ability) in [Library::Udt, Library::Srt].into_iter().zip(library_abilities()) {
            assert_eq!(ability.can, library.is_present());
            assert_eq!(library_offer(library).state == State::Loaded, library.is_present());
            assert!(ability.reason.contains(library.package()) && ability.lost_without.contains(library.name()), "{ability:?}");
        }
    }
}
