//! Why a host cannot be, and what to do.

/// A host profile or an expression that is not accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The text is no profile.
    #[error("{file}: {reason}")]
    Syntax {
        /// Name of the text.
        file: String,
        /// The parser's finding, with line and column.
        reason: String,
    },
    /// The expression has no adapter.
    #[error(
        "'{expression}' names no adapter: write MACHINE+ADAPTER or MACHINE+ADAPTER@DRIVER, e.g. sparc2+sba-100@2.2.6 (whyperf list --hosts)"
    )]
    NoAdapter {
        /// As it was given.
        expression: String,
    },
    /// A part that is not there.
    #[error("there is no {kind} '{name}'; known: {known}")]
    Unknown {
        /// `machine`, `adapter` or `driver`.
        kind: &'static str,
        /// As it was given.
        name: String,
        /// The known ones.
        known: String,
    },
    /// The parts do not fit.
    #[error("{machine} cannot have {adapter}: that adapter is for {systems}, and {machine} runs {system}")]
    Impossible {
        /// The machine.
        machine: String,
        /// The adapter.
        adapter: String,
        /// Systems that have it.
        systems: String,
        /// The system that the machine runs.
        system: String,
    },
    /// The adapter has several drivers for the machine, or none.
    #[error("{adapter} has {count} drivers for {machine}: {known}; name one, as in {machine}+{adapter}@DRIVER")]
    WhichDriver {
        /// The adapter.
        adapter: String,
        /// The machine.
        machine: String,
        /// Number of drivers.
        count: usize,
        /// Their names.
        known: String,
    },
    /// A rule or number that the operating system's model does not have.
    #[error("{host}: '{key}' is no rule or number of {system}; it has {known}")]
    UnknownKey {
        /// The host.
        host: String,
        /// The key.
        key: String,
        /// The operating system.
        system: String,
        /// The keys that it has.
        known: String,
    },
    /// A rule or number that is not given.
    #[error("{host}: '{key}' is missing; give it a value and a source")]
    Missing {
        /// The host.
        host: String,
        /// The key.
        key: String,
    },
    /// A value of the wrong kind, or a word that is no rule.
    #[error("{host}: '{key}' cannot be {value}; it is {expected}")]
    Value {
        /// The host.
        host: String,
        /// The key.
        key: String,
        /// As it was given.
        value: String,
        /// The possible values.
        expected: String,
    },
    /// A number beyond its own bounds of plausibility.
    #[error("{host}: '{key}' is {value}, and plausible is {low} to {high} ({reason}); change the number, or its bounds with their source")]
    Implausible {
        /// The host.
        host: String,
        /// The key.
        key: String,
        /// As it was given.
        value: f64,
        /// Least.
        low: f64,
        /// Most.
        high: f64,
        /// Where the bounds come from.
        reason: String,
    },
    /// A number beyond what the model keeps.
    #[error("{host}: '{key}' is {value}, and the model has {most} at most; give a smaller number")]
    TooMany {
        /// The host.
        host: String,
        /// The key.
        key: String,
        /// As it was given.
        value: u32,
        /// Most.
        most: u32,
    },
    /// A value without a source.
    #[error("{host}: '{key}' has no source; say where it comes from")]
    NoSource {
        /// The host.
        host: String,
        /// The key.
        key: String,
    },
    /// A set of the ensemble that is not there.
    #[error("there is no parameter set {set}; there are {count}, counted from 0")]
    NoSet {
        /// As it was asked for.
        set: usize,
        /// Number of sets that there are.
        count: usize,
    },
    /// More connections than a host of that system has in the model.
    #[error("{host}: a host with {system} has one connection, not {count}, in the model; hosts with Linux have as many as are asked for")]
    Several {
        /// The host.
        host: String,
        /// Its operating system.
        system: String,
        /// Number of connections that were asked for.
        count: usize,
    },
    /// A buffer in which nothing fits.
    #[error("{host}: a {what} of 0 bytes lets nothing through; give it at least 1 byte")]
    Zero {
        /// The host.
        host: String,
        /// `window`, `call`, ….
        what: &'static str,
    },
}
