//! The ensemble: sets of numbers that do about equally well against what was reported, because throughputs alone
//! do not identify so many costs. A claim about a host holds where it holds for all of them.

use super::refusal::Refusal;
use serde::Deserialize;

/// A file of sets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sets {
    /// The data that they were fitted to, and how.
    pub about: String,
    /// Name of each number of a set: `PART/KEY`, where a part is a machine, an adapter, or `ADAPTER@DRIVER/MACHINE`.
    pub names: Vec<String>,
    /// The sets, the best first.
    pub set: Vec<Set>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Mean and largest error over the fitted points, as ratios.
    pub error_ratio_mean: f64,
    /// The largest.
    pub error_ratio_max: f64,
    /// In the order of the names.
    pub values: Vec<f64>,
}

impl Sets {
    /// Reads the file; `file` names the text in a refusal.
    ///
    /// # Errors
    /// [`Refusal::Syntax`] with the parser's finding, or a set that has not a number for each name.
    pub fn read(file: &str, text: &str) -> Result<Self, Refusal> {
        let refuse = |reason: String| Refusal::Syntax { file: file.to_owned(), reason };
        let sets: Self = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        match sets.set.iter().position(|set| set.values.len() != sets.names.len()) {
            None => Ok(sets),
            Some(index) => Err(refuse(format!("set {index} has {} numbers for {} names", sets.set[index].values.len(), sets.names.len()))),
        }
    }
}
