//! The end systems that are asked for, from their profiles.

use schema::path::PathSpec;
use schema::simulation::{ResolvedHost, ResolvedValue, SimulatedHost, Simulation};
use schema::trial::Role;
use sim::application::Application;
use sim::link::LinkSpec;
use sim::link::media::{self, Named};
use sim::link::path::Path;
use sim::machine::{self, Buffers, Machine};
use sim::profile::profile_file::Value;
use sim::profile::{HostProfile, Library, Refusal};
use sim::time::NS;
use std::sync::OnceLock;

use record::model::mss_bytes;

/// A host's own part of the seed, so that both do not deviate alike.
const SEEDS: [u64; 2] = [0x57, 0x52];
/// Adapters of a host at most.
const MAX_ADAPTERS: u16 = 16;
/// IPv4 and TCP without options (RFC 791, RFC 9293).
const HEADERS_BYTES: u32 = 40;

/// The end systems of the near and the far side, what joins them, and the hosts' rules and numbers.
///
/// # Errors
/// What cannot be, in a sentence.
pub fn end_systems(asked: &Simulation, processes: [Vec<Application>; 2]) -> Result<([Machine; 2], LinkSpec, [HostProfile; 2]), String> {
    schema::options::check_model(&asked.socket).map_err(|error| error.to_string())?;
    let profiles = [profile(asked, 0)?, profile(asked, 1)?];
    let [near, far] = processes;
    let (near, near_link) = end_system(asked, 0, &profiles[0], near)?;
    let (far, far_link) = end_system(asked, 1, &profiles[1], far)?;
    let mut link = match &asked.link {
        Some(name) => {
            let named = chosen(name, [(&profiles[0], &near_link), (&profiles[1], &far_link)])?;
            LinkSpec { headers_bytes: near_link.headers_bytes, ..LinkSpec::usual(named, near_link.propagation) }
        }
        None if near_link == far_link => near_link,
        None => return Err(not_joined([(&profiles[0], &near_link), (&profiles[1], &far_link)])),
    };
    attach(asked, &mut link)?;
    link.propagation = link.propagation.saturating_add(asked.delay_ns.saturating_mul(NS));
    Ok(([near, far], link, profiles))
}

/// Adapters and bus of the hosts, and whether both directions share a line.
fn attach(asked: &Simulation, link: &mut LinkSpec) -> Result<(), String> {
    if !(1..=MAX_ADAPTERS).contains(&asked.adapters_count) {
        return Err(format!("adapters: a host of the model has 1 to {MAX_ADAPTERS}, not {}", asked.adapters_count));
    }
    if asked.bus_bytes_per_second == Some(0) {
        return Err("bus_bytes_per_s: a bus of 0 bytes a second moves nothing; leave it out where it is no limit".to_owned());
    }
    link.is_half_duplex = asked.is_half_duplex;
    link.adapters_count = asked.adapters_count;
    link.bus_bytes_per_s = [asked.bus_bytes_per_second.unwrap_or(0); 2];
    if asked.adapters_count > 1 && asked.path.is_some() {
        let count = asked.adapters_count;
        return Err(format!("adapters: a path joins one adapter of each host, not {count}; set adapters to 1, or leave the path out"));
    }
    let hands_over = link.named.name == media::VETH.name;
    if hands_over && (link.is_half_duplex || link.adapters_count > 1 || asked.bus_bytes_per_second.is_some()) {
        return Err("link: a veth pair has no line, no bus and one adapter; choose a host with the adapter nic".to_owned());
    }
    Ok(())
}

/// The line of that name, if both adapters can be on it.
fn chosen(name: &str, ends: [(&HostProfile, &LinkSpec); 2]) -> Result<Named, String> {
    let named = media::named(name).ok_or_else(|| no_link(name))?;
    for (profile, own) in ends {
        if !fits(&own.named, &named) {
            let (host, kind) = (&profile.host, own.named.name);
            let known: Vec<_> = media::LINKS.iter().filter(|line| fits(&own.named, line)).map(|line| line.name).collect();
            let known = if known.is_empty() { kind.to_owned() } else { known.join(", ") };
            return Err(format!("link: the adapter of {host} is for {kind} and cannot be on {}; it can be on {known}", named.name));
        }
    }
    Ok(named)
}

/// An adapter for cells sends no frames, and one of a veth pair is on no line at all.
fn fits(own: &Named, other: &Named) -> bool {
    own.medium == other.medium && (own.name == media::VETH.name) == (other.name == media::VETH.name)
}

fn not_joined(ends: [(&HostProfile, &LinkSpec); 2]) -> String {
    let [(near, near_link), (far, far_link)] = ends;
    let kinds =
        format!("hosts: the adapter of {} is for {}, that of {} for {}", near.host, near_link.named.name, far.host, far_link.named.name);
    if near_link.named == far_link.named {
        format!("hosts: {} and {} describe the same link differently; name it with --link {}", near.host, far.host, near_link.named.name)
    } else if fits(&near_link.named, &far_link.named) {
        format!("{kinds}; name the line between them with --link")
    } else {
        format!("{kinds}: no line joins them; choose adapters of one kind")
    }
}

fn no_link(name: &str) -> String {
    let known = media::LINKS.map(|link| link.name).join(", ");
    format!("link: there is none of the name '{name}'; known: {known}")
}

fn end_system(asked: &Simulation, who: usize, profile: &HostProfile, processes: Vec<Application>) -> Result<(Machine, LinkSpec), String> {
    machine::build_several(profile, &buffers(asked, who), processes, asked.seed ^ SEEDS[who]).map_err(|refusal| format!("hosts: {refusal}"))
}

/// The host's rules and numbers, with what is asked of its sockets.
fn profile(asked: &Simulation, who: usize) -> Result<HostProfile, String> {
    let refused = |refusal: Refusal| format!("hosts: {refusal}");
    let mut profile = resolved(&asked.hosts[who])?;
    // Before an MTU takes its place.
    if profile.reader().whole("mss_bytes").map_err(refused)? == 0 {
        return Err(refused(Refusal::Zero { host: profile.host, what: "mss_bytes" }));
    }
    if asked.socket.no_delay {
        profile.set("nagle", Value::Word("off".to_owned())).map_err(refused)?;
    }
    if asked.socket.pacing_rate_bytes_per_second.is_some() && profile.system != "linux" {
        return Err(format!("pacing_rate_bps: {} paces nothing; only a host with Linux does, so leave the factor out", profile.host));
    }
    if asked.socket.quick_ack {
        defer_no_acks(&mut profile)?;
    }
    // A system that has no choice of congestion controls has its own; one that is asked of others must be there.
    if let Some(name) = &asked.socket.congestion_control
        && profile.values.contains_key("congestion_control")
    {
        profile.set("congestion_control", Value::Word(name.clone())).map_err(refused)?;
    }
    let largest = asked.socket.mss_bytes.into_iter().chain(asked.mtu_bytes.map(|mtu| mtu.saturating_sub(HEADERS_BYTES))).min();
    if let Some(mss_bytes) = largest {
        profile.set_number("mss_bytes", f64::from(mss_bytes)).map_err(refused)?;
    }
    if let Some(is_on) = asked.has_corking
        && profile.values.contains_key("autocorking")
    {
        profile.set("autocorking", Value::Switch(is_on)).map_err(refused)?;
    }
    set_offloads(asked, &mut profile).map_err(refused)?;
    if asked.path.is_some() && profile.values.get("completion").is_some_and(|entry| entry.value == Value::Word("taken".to_owned())) {
        // The path takes what was sent out of the kernel at once; otherwise it would stay in the sender's memory until the far side has it.
        profile.set("completion", Value::Word("timed".to_owned())).map_err(refused)?;
    }
    for (key, value) in &asked.hosts[who].set {
        let value = match value {
            serde_json::Value::Bool(switch) => Value::Switch(*switch),
            serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(word) => Value::Word(word.clone()),
            other => return Err(format!("hosts: '{key}' cannot be {other}; it is a number, true, false or a word")),
        };
        profile.set(key, value).map_err(refused)?;
    }
    Ok(profile)
}

/// The system's own setting by which it acknowledges every segment.
fn defer_no_acks(profile: &mut HostProfile) -> Result<(), String> {
    let set = match profile.system.as_str() {
        "linux" => profile.set("quick_ack", Value::Switch(true)),
        // As study 2 had it; 1 defers nothing (Solaris 8 Tunable Parameters Reference Manual).
        "solaris-8" => profile.set("deferred_acks_max", Value::Number(1.0)),
        _ => {
            let host = &profile.host;
            return Err(format!(
                "quick_ack: {host} runs SunOS 4.1, which cannot switch delayed ACKs off; set quick_ack=false (--only quick_ack=false if a profile varies it)"
            ));
        }
    };
    set.map_err(|refusal| format!("hosts: {refusal}"))
}

/// Offloads where a host has any: one without them is as if they were off. On a veth the other
/// side can merge only what this host has cut up.
fn set_offloads(asked: &Simulation, profile: &mut HostProfile) -> Result<(), Refusal> {
    for (key, wanted) in [("tso", asked.has_segmentation), ("gro", asked.has_merging)] {
        if let Some(is_on) = wanted
            && profile.values.contains_key(key)
        {
            let is_veth = profile.values.get("link").is_some_and(|entry| entry.value == Value::Word(media::VETH.name.to_owned()));
            let is_whole = is_veth && asked.has_segmentation != Some(false);
            profile.set(key, Value::Switch(is_on && !(key == "gro" && is_whole)))?;
        }
    }
    Ok(())
}

/// The path behind the link, for packets as both hosts make them.
///
/// # Errors
/// What cannot be, in a sentence.
pub fn path(asked: &Simulation, link: &LinkSpec, profiles: &[HostProfile; 2]) -> Result<Option<Path>, String> {
    let Some(spec) = &asked.path else { return Ok(None) };
    if marks(spec)
        && let Some(profile) = profiles.iter().find(|profile| profile.system != "linux")
    {
        return Err(format!("path_ecn: {} knows no ECN; only a host with Linux does, so leave the factor out", profile.host));
    }
    let mss = profiles.iter().filter_map(mss_bytes).min().unwrap_or(1);
    spec.validate(mss.saturating_add(HEADERS_BYTES)).map_err(|error| error.to_string())?;
    // A segment carries less by its options.
    let payload = mss.saturating_sub(link.headers_bytes - HEADERS_BYTES);
    Ok(Some(Path::new(spec, link.headers_bytes, payload)))
}

/// True if the path marks packets; then both hosts ask for ECN, as those of the testbed do.
fn marks(spec: &PathSpec) -> bool {
    spec.forward.queue.ecn || spec.backward.queue.ecn
}

/// A host's rules and numbers for the record.
pub fn resolved_host(profile: &HostProfile) -> ResolvedHost {
    let value = |value: &Value| match value {
        Value::Switch(switch) => (*switch).into(),
        Value::Number(number) => (*number).into(),
        Value::Word(word) => word.as_str().into(),
    };
    let values = profile.values.iter();
    let values = values.map(|(key, entry)| (key.clone(), ResolvedValue { value: value(&entry.value), source: entry.source.clone() }));
    ResolvedHost { host: profile.host.clone(), system: profile.system.clone(), values: values.collect() }
}

fn resolved(host: &SimulatedHost) -> Result<HostProfile, String> {
    static SHIPPED: OnceLock<Result<Library, String>> = OnceLock::new();
    let library = SHIPPED.get_or_init(|| Library::shipped().map_err(|refusal| refusal.to_string())).as_ref().map_err(Clone::clone)?;
    let resolved = match (&host.host, &host.profile, host.ensemble_set) {
        (name, Some(text), None) => library.resolve_user(name.as_deref().unwrap_or("the host's profile"), text),
        (Some(expression), None, None) => library.resolve(expression),
        (Some(expression), None, Some(set)) => library.resolve_set(expression, set as usize),
        (None, None, _) => return Err("hosts: name one, such as sparc2+sba-100@2.2.6".to_owned()),
        (_, Some(_), Some(_)) => return Err("hosts: a profile has no ensemble; leave ensemble_set out".to_owned()),
    };
    resolved.map_err(|refusal| format!("hosts: {refusal}"))
}

/// Buffers of the host's socket, as `load` sets them: the sender's own and the receiver's own, else the window, which
/// is the most that the receiver may announce as well.
fn buffers(asked: &Simulation, who: usize) -> Buffers {
    let window_bytes = asked.socket.window_bytes;
    let has_ecn = asked.path.as_ref().is_some_and(marks);
    if (who == 0) == (asked.near_role == Role::Sender) {
        let socket = &asked.socket;
        Buffers {
            send_bytes: socket.send_buffer_bytes.or(window_bytes),
            pacing_rate: socket.pacing_rate_bytes_per_second,
            has_ecn,
            ..Buffers::default()
        }
    } else {
        Buffers { receive_bytes: asked.socket.receive_buffer_bytes.or(window_bytes), window_bytes, has_ecn, ..Buffers::default() }
    }
}
