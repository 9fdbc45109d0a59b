//! The end systems that are asked for, from their profiles.

use schema::simulation::{SimulatedHost, Simulation};
use schema::trial::Role;
use sim::application::Application;
use sim::link::{LinkSpec, media};
use sim::machine::{self, Buffers, Machine};
use sim::profile::part::Value;
use sim::profile::{Library, Sheet};
use std::sync::OnceLock;

/// A host's own part of the seed, so that both do not deviate alike.
const SEEDS: [u64; 2] = [0x57, 0x52];
/// IPv4 and TCP without options (RFC 791, RFC 9293).
const HEADERS_BYTES: u32 = 40;

/// The near and the far end system, what joins them, and the hosts' rules and numbers.
///
/// # Errors
/// What cannot be, in a sentence.
pub fn end_systems(asked: &Simulation, processes: [Application; 2]) -> Result<([Machine; 2], LinkSpec, [Sheet; 2]), String> {
    if asked.connections_count != 1 {
        return Err(format!("connections_count is {}: a host of the model has one connection", asked.connections_count));
    }
    let sheets = [sheet(asked, 0)?, sheet(asked, 1)?];
    let [near, far] = processes;
    let (near, near_link) = end_system(asked, 0, &sheets[0], near)?;
    let (far, far_link) = end_system(asked, 1, &sheets[1], far)?;
    let link = match &asked.link {
        Some(name) => LinkSpec::usual(media::named(name).ok_or_else(|| no_link(name))?, near_link.propagation),
        None if near_link == far_link => near_link,
        None => {
            let names = [near_link, far_link].map(|link| link.named.name);
            return Err(format!("hosts: one has an adapter for {}, the other for {}; name the link (link)", names[0], names[1]));
        }
    };
    Ok(([near, far], link, sheets))
}

fn no_link(name: &str) -> String {
    let known = media::LINKS.map(|link| link.name).join(", ");
    format!("link: there is none of the name '{name}'; known: {known}")
}

fn end_system(asked: &Simulation, who: usize, sheet: &Sheet, process: Application) -> Result<(Machine, LinkSpec), String> {
    machine::build_with(sheet, &buffers(asked, who), process, asked.seed ^ SEEDS[who]).map_err(|refusal| format!("hosts: {refusal}"))
}

/// The host's rules and numbers, with what is asked of its sockets.
fn sheet(asked: &Simulation, who: usize) -> Result<Sheet, String> {
    let refused = |refusal: sim::profile::Refusal| format!("hosts: {refusal}");
    let mut sheet = resolved(&asked.hosts[who])?;
    if asked.socket.no_delay {
        sheet.set("nagle", Value::Word("off".to_owned())).map_err(refused)?;
    }
    // A system that has no choice of congestion controls has its own; one that is asked of others must be there.
    if asked.socket.quick_ack {
        sheet.set("quick_ack", Value::Switch(true)).map_err(refused)?;
    }
    if let Some(name) = &asked.socket.congestion_control
        && sheet.values.contains_key("congestion_control")
    {
        sheet.set("congestion_control", Value::Word(name.clone())).map_err(refused)?;
    }
    let largest = asked.socket.mss_bytes.into_iter().chain(asked.mtu_bytes.map(|mtu| mtu.saturating_sub(HEADERS_BYTES))).min();
    if let Some(mss_bytes) = largest {
        sheet.set_number("mss_bytes", f64::from(mss_bytes)).map_err(refused)?;
    }
    for (key, value) in &asked.hosts[who].set {
        let value = match value {
            serde_json::Value::Bool(switch) => Value::Switch(*switch),
            serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(word) => Value::Word(word.clone()),
            other => return Err(format!("hosts: '{key}' cannot be {other}; it is a number, true, false or a word")),
        };
        sheet.set(key, value).map_err(refused)?;
    }
    Ok(sheet)
}

fn resolved(host: &SimulatedHost) -> Result<Sheet, String> {
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
    if (who == 0) == (asked.near_role == Role::Sender) {
        Buffers { send_bytes: asked.socket.send_buffer_bytes.or(window_bytes), ..Buffers::default() }
    } else {
        Buffers { send_bytes: None, receive_bytes: asked.socket.receive_buffer_bytes.or(window_bytes), window_bytes }
    }
}
