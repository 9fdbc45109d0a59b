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
pub enum ProfileFile {
    /// A computer and its operating system.
    Machine {
        /// Its name in an expression.
        name: String,
        /// Its description.
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
        /// Its description.
        about: String,
        /// Another adapter, of which it has all values and drivers but those that it gives itself.
        #[serde(default)]
        base: Option<String>,
        /// Operating systems that have it.
        systems: Vec<String>,
        /// The values that are the same with each driver.
        values: Entries,
        /// Its drivers; none where there is nothing to choose.
        #[serde(default)]
        driver: Vec<Driver>,
    },
    /// A host of a user's own: one that exists, with other values.
    Host {
        /// The expression of the one that exists.
        base: String,
        /// Its description.
        about: String,
        /// The values that are different.
        values: Entries,
        /// The calibration's account of itself; of no weight here.
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

impl ProfileFile {
    /// Reads one; `file` names the text in a refusal.
    ///
    /// # Errors
    /// [`Refusal::Syntax`] with the parser's finding.
    pub fn read(file: &str, text: &str) -> Result<Self, Refusal> {
        let refused = |reason| Refusal::Syntax { file: file.to_owned(), reason };
        let whole: toml::Table = toml::from_str(text).map_err(|error| refused(with_line_number(text, &error)))?;
        misshapen(&whole).map_or(Ok(()), |reason| Err(refused(reason)))?;
        toml::from_str(text).map_err(|error| refused(with_line_number(text, &error)))
    }
}

/// The parser's finding in a sentence, with its line.
fn with_line_number(text: &str, error: &toml::de::Error) -> String {
    let finding = error.message().lines().collect::<Vec<_>>().join(", ");
    match error.span() {
        Some(span) => format!("line {}: {finding}", text.get(..span.start).map_or(1, |before| before.matches('\n').count() + 1)),
        None => finding,
    }
}

/// Finds what is not where it belongs, with what to do; the parser knows it as one of several shapes only.
fn misshapen(whole: &toml::Table) -> Option<String> {
    match whole.get("part").and_then(toml::Value::as_str) {
        Some("host") => {
            let base = whole.get("base").and_then(toml::Value::as_str);
            let about = whole.get("about").and_then(toml::Value::as_str);
            if base.is_none() {
                return Some("base is missing: name the host that this one changes, as in base = \"sparc2+sba-100@2.2.6\"".to_owned());
            }
            if about.is_none() {
                return Some("about is missing: describe the host, as in about = \"a Sparc2 with faster copies\"".to_owned());
            }
        }
        Some("machine" | "adapter") => {}
        _ => return Some("this is not a host: give part = \"host\", a base, about, and [values]".to_owned()),
    }
    let values = match whole.get("values") {
        None => return Some("[values] is missing: list each value that differs as KEY = { value = …, source = \"…\" }".to_owned()),
        Some(toml::Value::Table(values)) => values,
        Some(_) => {
            return Some(
                "values is not a table: write [values], and below it each value as KEY = { value = …, source = \"…\" }".to_owned(),
            );
        }
    };
    values.iter().find_map(|(key, entry)| {
        let Some(entry) = entry.as_table() else {
            return Some(format!("{key} has no source: write {key} = {{ value = {}, source = \"where it comes from\" }}", shown(entry)));
        };
        let Some(value) = entry.get("value") else {
            return Some(format!("{key} has no value: write {key} = {{ value = …, source = \"where it comes from\" }}"));
        };
        if !(value.is_bool() || value.is_integer() || value.is_float() || value.is_str()) {
            return Some(format!("{key} cannot be a {}: its value is a number, true, false or a word", value.type_str()));
        }
        let unknown = entry.keys().find(|name| !["value", "low", "high", "source"].contains(&name.as_str()))?;
        Some(format!("{key} has the unknown key '{unknown}': use value, source, low and high"))
    })
}

fn shown(value: &toml::Value) -> String {
    match value {
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(switch) => switch.to_string(),
        toml::Value::String(word) => format!("\"{word}\""),
        _ => "…".to_owned(),
    }
}
