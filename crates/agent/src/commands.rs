//! Output of the commands that neither serve a controller nor simulate: schemas, times of single steps, leftovers.
//! The schemas say what the Rust types say, for everybody else. They are checked in under `schemas/`; `make check`
//! compares.

use anyhow::Context;
use schema::host::HostFacts;
use schema::message::{Envelope, Reply, Request};
use schema::options::{OPTIONS, TRANSPORTS};
use schema::simulation::{SimulatedTrial, Simulation};
use schema::table::TABLES;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use std::fs;
use std::path::Path;

use crate::transports;

/// File name and text of every schema.
fn documents() -> anyhow::Result<Vec<(&'static str, String)>> {
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).map(|text| text + "\n");
    let tables = serde_json::json!({
        "record_version": schema::RECORD_VERSION,
        "tables": TABLES,
    });
    let options = serde_json::json!({"transports": TRANSPORTS, "options": OPTIONS});
    Ok(vec![
        ("request.json", pretty(schemars::schema_for!(Envelope<Request>).as_value())?),
        ("reply.json", pretty(sent::<Envelope<Reply>>().as_value())?),
        ("simulation.json", pretty(schemars::schema_for!(Simulation).as_value())?),
        ("simulated.json", pretty(sent::<SimulatedTrial>().as_value())?),
        ("tables.json", pretty(&tables)?),
        ("options.json", pretty(&options)?),
    ])
}

/// The schema of what the agent sends: every field that it always writes is required, also one that may be left out of
/// what it reads.
fn sent<T: JsonSchema>() -> schemars::Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Prints all schemas as one JSON object by file name.
pub fn print_schemas() -> anyhow::Result<()> {
    let mut all = serde_json::Map::new();
    for (name, text) in documents()? {
        all.insert(name.trim_end_matches(".json").to_owned(), serde_json::from_str(&text)?);
    }
    print_json(&all)
}

/// Writes one file a schema into `folder`.
pub fn write_schemas(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, text) in documents()? {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// The times and where they were taken.
#[derive(serde::Serialize)]
pub struct Timed {
    /// The host.
    host: HostFacts,
    /// The steps that were timed.
    #[serde(flatten)]
    steps: steps::rounds::Steps,
}

/// Times all steps in a testbed of an MTU of `mtu_bytes`.
///
/// # Errors
/// The testbed cannot be built here, or the kernel refuses a call.
pub fn steps(rounds_count: u32, mtu_bytes: u32) -> anyhow::Result<Timed> {
    // Described first: from then on the thread may be bound to one CPU only.
    let host = transports::describe_host(false);
    let steps = steps::rounds::run(rounds_count, mtu_bytes, &host.cpus)?;
    Ok(Timed { host, steps })
}

/// Ends agents that nobody controls, then removes the folders of their Unix sockets and unregisters congestion controls
/// that nobody holds.
pub fn clean() -> anyhow::Result<Vec<serde_json::Value>> {
    let processes = path::leftovers::clean(&path::leftovers::leftovers());
    let mut cleaned: Vec<_> = processes.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    for folder in load::open::clean() {
        cleaned.push(serde_json::to_value(folder)?);
    }
    for control in congestion::leftovers::clean() {
        cleaned.push(serde_json::to_value(control)?);
    }
    Ok(cleaned)
}

/// Prints a value as JSON.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(value).context("encoding JSON")?);
    Ok(())
}
