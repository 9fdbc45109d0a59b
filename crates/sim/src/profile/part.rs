//! The TOML of a machine, of an adapter with its drivers, and of a host of a user's own.

use super::refusal::Refusal;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A rule, switch or number.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A switch.
    Switch(bool),
    /// A number, in the unit that its key ends with.
    Number(f64),
    /// A rule's name.
    Word(String),
}

/// A value, where it comes from, and between what it is plausible.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The value.
    pub value: Value,
    /// Least plausible number.
    pub low: Option<f64>,
    /// Largest plausible number.
    pub high: Option<f64>,
    /// Paper, section, or how it was found.
    #[serde(default)]
    pub source: String,
}

/// Entries by their keys.
pub type Entries = BTreeMap<String, Entry>;

/// A file: a machine, an adapter, or a change of a host that exists.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "part")]
pub enum Part {
    /// A computer and its operating system.
    Machine {
        /// Its name in an expression.
        name: String,
        /// What it is.
        about: String,
        /// The operating system, which decides what keys there are.
        system: String,
        /// Its rules and numbers.
        values: Entries,
    },
    /// An adapter.
    Adapter {
        /// Its name in an expression.
        name: String,
        /// What it is.
        about: String,
        /// Operating systems that have it.
        systems: Vec<String>,
        /// What is the same with each driver.
        values: Entries,
        /// Its drivers; none where there is nothing to choose.
        #[serde(default)]
        driver: Vec<Driver>,
    },
    /// A host of a user's own: one that exists, with other values.
    Host {
        /// The expression of the one that exists.
        base: String,
        /// What it is.
        about: String,
        /// What is different.
        values: Entries,
        /// What a calibration says of itself; of no weight here.
        #[serde(default)]
        calibration: Option<toml::Table>,
    },
}

/// A version of a driver on a machine: the same one costs another machine something else.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Its version.
    pub version: String,
    /// The machine.
    pub machine: String,
    /// Its numbers.
    pub values: Entries,
}

impl Part {
    /// Reads one; `file` names the text in a refusal.
    ///
    /// # Errors
    /// [`Refusal::Syntax`] with the parser's finding.
    pub fn read(file: &str, text: &str) -> Result<Self, Refusal> {
        toml::from_str(text).map_err(|error| Refusal::Syntax { file: file.to_owned(), reason: error.to_string() })
    }
}
