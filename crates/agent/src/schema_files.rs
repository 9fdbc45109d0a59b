//! The schemas as files: what the Rust types say, for everybody else. Checked in under `schemas/`;
//! `make check` compares.

use anyhow::Context;
use schema::message::{Envelope, Reply, Request};
use schema::simulation::{SimulatedTrial, Simulation};
use schema::table::TABLES;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use std::fs;
use std::path::Path;

/// File name and text of every schema.
fn documents() -> anyhow::Result<Vec<(&'static str, String)>> {
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).map(|text| text + "\n");
    let tables = serde_json::json!({
        "record_version": schema::RECORD_VERSION,
        "tables": TABLES,
    });
    Ok(vec![
        ("request.json", pretty(schemars::schema_for!(Envelope<Request>).as_value())?),
        ("reply.json", pretty(sent::<Envelope<Reply>>().as_value())?),
        ("simulation.json", pretty(schemars::schema_for!(Simulation).as_value())?),
        ("simulated.json", pretty(sent::<SimulatedTrial>().as_value())?),
        ("tables.json", pretty(&tables)?),
    ])
}

/// What the agent sends: every field that it always writes is required, also one that may be left out of
/// what it reads.
fn sent<T: JsonSchema>() -> schemars::Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Prints all schemas as one JSON object by file name.
pub fn print() -> anyhow::Result<()> {
    let mut all = serde_json::Map::new();
    for (name, text) in documents()? {
        all.insert(name.trim_end_matches(".json").to_owned(), serde_json::from_str(&text)?);
    }
    crate::print_json(&all)
}

/// Writes one file a schema into `folder`.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (name, text) in documents()? {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}
