//! All congestion controls of this host, and where each comes from.

use schema::offer::{Kind, Offer, Source, State};
use std::fs;

use crate::algorithms::{ALGORITHMS, Algorithm};
use crate::kernel::{self, Modules};
use crate::registered::try_load;
use crate::registration::{maps_of, process_with};

/// Lists the kernel's, then ours. Tries whether ours load, which takes about 0.1 s, and loads none of
/// the kernel's modules.
pub fn list() -> Vec<Offer> {
    let (available, allowed, modules) = (kernel::available(), kernel::allowed(), Modules::read());
    let is_ours = |name: &String| ALGORITHMS.iter().any(|algorithm| algorithm.own_name == name);
    let files = modules.files.iter().filter(|name| !available.contains(name));
    let natives: Vec<&String> = available.iter().filter(|name| !is_ours(name)).chain(files).collect();
    let native = |name: &String| {
        let is_module = modules.loaded.contains(name) || modules.files.contains(name);
        let (state, reason) = if !available.contains(name) {
            (State::Loadable, "a module of this kernel, loaded when a trial asks for it".to_owned())
        } else if allowed.contains(name) || kernel::may_choose(name) {
            (State::Loaded, "the kernel has it".to_owned())
        } else {
            (State::Refused, "this user may not choose it; run as root, or add it to net.ipv4.tcp_allowed_congestion_control".to_owned())
        };
        let source = if is_module { Source::Module } else { Source::BuiltIn };
        Offer { kind: Kind::CongestionControl, name: name.clone(), registered_as: name.clone(), source, state, reason }
    };
    let mut offers: Vec<Offer> = natives.iter().map(|name| native(name)).collect();
    offers.extend(ALGORITHMS.iter().map(|algorithm| {
        let has_native = natives.iter().any(|name| *name == algorithm.name);
        own(algorithm, has_native, available.iter().any(|name| name == algorithm.own_name))
    }));
    offers
}

/// Says whether ours can be had at all, and why.
///
/// # Errors
/// Why not.
pub fn ability() -> Result<String, String> {
    match try_load(&ALGORITHMS[0]) {
        Ok(()) => Ok("the kernel takes congestion controls as BPF programs (struct_ops)".to_owned()),
        Err(refused) => Err(refused.reason),
    }
}

/// Where the kernel has its own, ours has to be named by its own name.
fn own(algorithm: &Algorithm, has_native: bool, is_registered: bool) -> Offer {
    let name = if has_native { algorithm.own_name } else { algorithm.name };
    let (state, reason) = if is_registered {
        (State::Loaded, format!("{}; registered by {}", algorithm.source, holder_of(algorithm)))
    } else {
        match try_load(algorithm) {
            Ok(()) => (State::Loadable, format!("{}; registered when a trial asks for it", algorithm.source)),
            Err(refused) => (State::Refused, refused.reason),
        }
    };
    Offer {
        kind: Kind::CongestionControl,
        name: name.to_owned(),
        registered_as: algorithm.own_name.to_owned(),
        source: Source::Whyperf,
        state,
        reason,
    }
}

/// The process that holds the registration, in words.
fn holder_of(algorithm: &Algorithm) -> String {
    let named = |process: u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        format!("process {process} ({})", name.trim())
    };
    process_with(&maps_of(algorithm)).ok().flatten().map_or_else(|| "a process that cannot be seen from here".to_owned(), named)
}
