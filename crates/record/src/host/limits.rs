//! Rows of what limited the load from outside its sockets: table `host_counters`.

use probe::clock::mono_ns;
use probe::limits::{self, Readings};
use schema::table::HostCounterRow;
use std::collections::BTreeSet;

use crate::table::{Columns, Rows};

/// The counters before the load.
#[derive(Debug)]
pub struct Limits {
    start_mono_ns: u64,
    before: Readings,
    /// Control groups, by what their processes say of them.
    groups: BTreeSet<String>,
}

impl Limits {
    /// Counts from now, with the control groups of this process.
    #[must_use]
    pub fn open() -> Self {
        Self::of(limits::groups_of(std::process::id()).into_iter().collect())
    }

    /// Counts from now, without any control group.
    #[must_use]
    pub fn open_without_groups() -> Self {
        Self::of(BTreeSet::new())
    }

    /// Counts in the control groups of this process from now on, if it has not ended.
    pub fn follow(&mut self, process: u32) {
        if let Some(groups) = limits::groups_of(process)
            && !self.groups.contains(&groups)
        {
            for (key, value) in limits::sample_groups(&groups) {
                // Without any group, a counter of groups stands for none.
                self.before.remove(&(key.0, String::new(), String::new()));
                self.before.entry(key).or_insert(value);
            }
            self.groups.insert(groups);
        }
    }

    fn of(groups: BTreeSet<String>) -> Self {
        Self { start_mono_ns: mono_ns(), before: limits::sample(&groups), groups }
    }

    /// A row a counter, from the start until now.
    pub fn table(&self, host: &str) -> Columns {
        let mut rows = Rows::<HostCounterRow<'_>>::new();
        let end_mono_ns = mono_ns();
        let after = limits::sample(&self.groups);
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
