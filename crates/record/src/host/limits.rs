//! Rows of what limited the load from outside its sockets: table `host_counters`.

use probe::clock::mono_ns;
use probe::limits::{self, Readings};
use schema::table::HostCounterRow;

use crate::table::{Columns, Rows};

/// The counters before the load.
#[derive(Debug)]
pub struct Limits {
    start_mono_ns: u64,
    before: Readings,
}

impl Limits {
    /// Counts from now.
    #[must_use]
    pub fn open() -> Self {
        Self { start_mono_ns: mono_ns(), before: limits::sample() }
    }

    /// A row a counter, from the start until now.
    pub fn table(&self, host: &str) -> Columns {
        let mut rows = Rows::<HostCounterRow<'_>>::new();
        let end_mono_ns = mono_ns();
        let after = limits::sample();
        let mut keys: Vec<_> = self.before.keys().chain(after.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (counter, subject, kind) = key;
            rows.push(HostCounterRow {
                host,
                start_mono_ns: self.start_mono_ns,
                end_mono_ns,
                counter: *counter,
                subject,
                kind,
                unit: counter.unit(),
                value_at_start: self.before.get(key).copied().flatten(),
                value_at_end: after.get(key).copied().flatten(),
            });
        }
        rows.into_columns()
    }
}
