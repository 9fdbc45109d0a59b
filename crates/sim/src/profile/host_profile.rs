//! The flat table of a host, and how an operating system's module reads it: each key once, and every key
//! that nobody asked for is refused.

use super::profile_file::{Entries, Entry, Value};
use super::refusal::Refusal;
use crate::cost::Cost;
use crate::time::Ps;
use std::collections::BTreeSet;

/// Picoseconds of a µs, and of a ns.
const PS_OF_US: f64 = 1e6;
const PS_OF_NS: f64 = 1e3;

/// A host as a table.
#[derive(Debug, Clone, PartialEq)]
pub struct HostProfile {
    /// The expression, or the user's name for it.
    pub host: String,
    /// Its operating system.
    pub system: String,
    /// Its rules and numbers.
    pub values: Entries,
}

impl HostProfile {
    /// Another number under a key that exists: what a fit, a calibration or a what-if changes.
    ///
    /// # Errors
    /// [`Refusal::Missing`] for a key that the host does not have, [`Refusal::Value`] for one that is no number.
    pub fn set_number(&mut self, key: &str, number: f64) -> Result<(), Refusal> {
        let host = self.host.clone();
        match self.values.get_mut(key) {
            None => Err(Refusal::Missing { host, key: key.to_owned() }),
            Some(Entry { value: Value::Number(value), .. }) => {
                *value = number;
                Ok(())
            }
            Some(entry) => Err(refuse_value(&host, key, &entry.value, "no number")),
        }
    }

    /// Another rule or switch under a key that exists: what an ablation changes.
    ///
    /// # Errors
    /// [`Refusal::Missing`] for a key that the host does not have.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), Refusal> {
        let host = self.host.clone();
        let entry = self.values.get_mut(key).ok_or(Refusal::Missing { host, key: key.to_owned() })?;
        entry.value = value;
        Ok(())
    }

    /// Begins to read it.
    pub fn reader(&self) -> Reader<'_> {
        Reader { profile: self, asked: BTreeSet::new() }
    }
}

/// Reads a profile and remembers what was asked for.
#[derive(Debug)]
pub struct Reader<'profile> {
    profile: &'profile HostProfile,
    asked: BTreeSet<String>,
}

impl Reader<'_> {
    /// The host that is read.
    pub fn host(&self) -> &str {
        &self.profile.host
    }

    fn entry(&mut self, key: &str) -> Result<&Entry, Refusal> {
        self.asked.insert(key.to_owned());
        let (host, key) = (self.profile.host.clone(), key.to_owned());
        match self.profile.values.get(&key) {
            None => Err(Refusal::Missing { host, key }),
            Some(entry) if entry.source.trim().is_empty() => Err(Refusal::NoSource { host, key }),
            Some(entry) => Ok(entry),
        }
    }

    /// A number that is not negative and within its own bounds.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn number(&mut self, key: &str) -> Result<f64, Refusal> {
        let host = self.profile.host.clone();
        let entry = self.entry(key)?;
        let &Value::Number(value) = &entry.value else {
            return Err(refuse_value(&host, key, &entry.value, "a number"));
        };
        if !value.is_finite() || value < 0.0 {
            return Err(refuse_value(&host, key, &entry.value, "a number that is not negative"));
        }
        let (low, high) = (entry.low.unwrap_or(0.0), entry.high.unwrap_or(f64::INFINITY));
        if value < low || value > high {
            return Err(Refusal::Implausible { host, key: key.to_owned(), value, low, high, reason: entry.source.clone() });
        }
        Ok(value)
    }

    /// A whole number.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn whole(&mut self, key: &str) -> Result<u32, Refusal> {
        let value = self.number(key)?;
        if value.fract() != 0.0 || value > f64::from(u32::MAX) {
            return Err(refuse_value(&self.profile.host, key, &Value::Number(value), "a whole number below 2^32"));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = value as u32;
        Ok(whole)
    }

    /// A time that is given in µs.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn micros(&mut self, key: &str) -> Result<Ps, Refusal> {
        Ok(to_ps(self.number(key)?, PS_OF_US))
    }

    /// A cost: `KEY_us` each time and `KEY_ns_per_byte`.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn cost(&mut self, key: &str) -> Result<Cost, Refusal> {
        Ok(Cost { fixed: self.micros(&format!("{key}_us"))?, per_byte: self.per_byte(key)? })
    }

    /// The time of a byte: `KEY_ns_per_byte`.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn per_byte(&mut self, key: &str) -> Result<Ps, Refusal> {
        Ok(to_ps(self.number(&format!("{key}_ns_per_byte"))?, PS_OF_NS))
    }

    /// A switch.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn switch(&mut self, key: &str) -> Result<bool, Refusal> {
        let host = self.profile.host.clone();
        match &self.entry(key)?.value {
            Value::Switch(value) => Ok(*value),
            value => Err(refuse_value(&host, key, value, "true or false")),
        }
    }

    /// One of several rules by its name.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn rule<T: Copy>(&mut self, key: &str, rules: &[(&str, T)]) -> Result<T, Refusal> {
        let host = self.profile.host.clone();
        let value = &self.entry(key)?.value;
        let found = match value {
            Value::Word(word) => rules.iter().find(|(name, _)| name == word),
            _ => None,
        };
        let names: Vec<_> = rules.iter().map(|(name, _)| *name).collect();
        found.map(|&(_, rule)| rule).ok_or_else(|| refuse_value(&host, key, value, &format!("one of {}", names.join(", "))))
    }

    /// Everything was asked for that there is.
    ///
    /// # Errors
    /// [`Refusal::UnknownKey`] with the first that was not.
    pub fn finish(self) -> Result<(), Refusal> {
        match self.profile.values.keys().find(|key| !self.asked.contains(*key)) {
            None => Ok(()),
            Some(key) => Err(Refusal::UnknownKey {
                host: self.profile.host.clone(),
                key: key.clone(),
                system: self.profile.system.clone(),
                known: self.asked.into_iter().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

fn refuse_value(host: &str, key: &str, value: &Value, expected: &str) -> Refusal {
    let value = match value {
        Value::Switch(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::Word(value) => format!("'{value}'"),
    };
    Refusal::Value { host: host.to_owned(), key: key.to_owned(), value, expected: expected.to_owned() }
}

fn to_ps(value: f64, of: f64) -> Ps {
    // Not negative, and far below 2^64 ps, which is 200 days.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let ps = (value * of).round() as Ps;
    ps
}
