//! Rows of what limited the load from outside its sockets: table `host_counters`.

use probe::clock::mono_ns;
use probe::limits::{self, Groups, Readings};
use schema::table::HostCounterRow;

use crate::table::{Columns, Rows};

/// The counters before the load.
#[derive(Debug)]
pub struct Limits {
    start_mono_ns: u64,
    before: Readings,
    groups: Groups,
}

impl Limits {
    /// Counts from now, with the control groups of this process.
    #[must_use]
    pub fn open() -> Self {
        let mut limits = Self::open_without_groups();
        limits.follow(std::process::id());
        limits
    }

    /// Counts from now, without any control group.
    #[must_use]
    pub fn open_without_groups() -> Self {
        let groups = Groups::open();
        Self { start_mono_ns: mono_ns(), before: limits::sample(&groups), groups }
    }

    /// Counts in the control groups of this process from now on, if it has not ended.
    pub fn follow(&mut self, process: u32) {
        for (key, value) in self.groups.add(process) {
            // Without any group, a counter of groups stands for none.
            self.before.remove(&(key.0, String::new(), String::new()));
            self.before.entry(key).or_insert(value);
        }
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
