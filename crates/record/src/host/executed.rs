//! Rows of what users executed: tables transactions and latencies.

use load::engine::ledger::{Latencies, Ledger};
use probe::clock::mono_ns;
use schema::table::{LatencyRow, TransactionRow};
use schema::trial::{Phase, Stop, TrialSpec};
use schema::workload::{Arrivals, Repeat};
use std::sync::Arc;
use workload::arrivals::Intended;
use workload::script::{Script, Transaction};

use crate::table::{Columns, Rows};

/// Totals of one transaction over all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    ended: u64,
    begun: u64,
    failed: u64,
    sent_bytes: u64,
    received_bytes: u64,
    calls: u64,
    operations: u64,
    intended: u64,
}

/// Counts the arrivals that an open loop intended, as long as it goes on.
struct OpenLoop {
    intended: Intended,
    /// When the transaction began, as far as the sampler can see, and ends.
    begin_mono_ns: u64,
    end_mono_ns: u64,
}

/// Turns what users did since the last look into rows.
pub struct Executed {
    host: String,
    script: Script,
    ledgers: Vec<Arc<Ledger>>,
    before: Vec<Totals>,
    before_mono_ns: u64,
    open_loops: Vec<Option<OpenLoop>>,
    load_ns: u64,
    transactions: Rows<TransactionRow<'static>>,
    latencies: Rows<LatencyRow<'static>>,
}

impl Executed {
    /// Counts from now.
    pub fn open(spec: &TrialSpec, script: Script, ledgers: &[Arc<Ledger>]) -> Self {
        let rows = script.rows_count();
        Self {
            host: spec.host.clone(),
            before: vec![Totals::default(); rows],
            open_loops: (0..rows).map(|_| None).collect(),
            script,
            ledgers: ledgers.to_vec(),
            before_mono_ns: mono_ns(),
            load_ns: match spec.stop {
                Stop::Bytes { .. } | Stop::Workload => u64::MAX,
                Stop::Duration { warmup_ns, measure_ns, cooldown_ns } => warmup_ns.saturating_add(measure_ns).saturating_add(cooldown_ns),
            },
            transactions: Rows::new(),
            latencies: Rows::new(),
        }
    }

    /// The load begins: open loops of the first transactions do.
    pub fn on_begin(&mut self, start_mono_ns: u64) {
        self.before_mono_ns = start_mono_ns;
        for group in &self.script.groups {
            for (position, transaction) in group.transactions.iter().enumerate() {
                if matches!(transaction.arrivals, Arrivals::Closed) || !transaction.leads || position > 0 {
                    continue;
                }
                let seed_of = |user: u32| self.script.user_seed(group.first_user + user) ^ position as u64;
                let length_ns = match transaction.repeat {
                    Repeat::Duration { duration_ns } => duration_ns,
                    Repeat::Trial => self.load_ns,
                    Repeat::Iterations { .. } => u64::MAX,
                };
                self.open_loops[transaction.row as usize] = Some(OpenLoop {
                    intended: Intended::new(&transaction.arrivals, group.strands_count, seed_of),
                    begin_mono_ns: start_mono_ns,
                    end_mono_ns: start_mono_ns.saturating_add(length_ns),
                });
            }
        }
    }

    /// Rows of one interval.
    pub fn sample(&mut self, index: u32, phase: Phase) {
        let now_mono_ns = mono_ns();
        let start_mono_ns = std::mem::replace(&mut self.before_mono_ns, now_mono_ns).min(now_mono_ns);
        for group in &self.script.groups {
            for transaction in &group.transactions {
                let row = transaction.row as usize;
                let mut now = totals(&self.ledgers, row);
                let before = self.before[row];
                now.intended = match &mut self.open_loops[row] {
                    Some(open) => intended(open, transaction, now_mono_ns),
                    None => now.begun,
                };
                self.before[row] = now;
                self.transactions.push(TransactionRow {
                    host: &self.host,
                    group: &group.name,
                    transaction: &transaction.name,
                    interval: index,
                    phase,
                    start_mono_ns,
                    end_mono_ns: now_mono_ns,
                    transactions_count: now.ended - before.ended,
                    intended_count: now.intended.saturating_sub(before.intended),
                    begun_count: now.begun - before.begun,
                    failed_count: now.failed - before.failed,
                    sent_bytes: now.sent_bytes - before.sent_bytes,
                    received_bytes: now.received_bytes - before.received_bytes,
                    calls_count: now.calls - before.calls,
                    operations_count: now.operations - before.operations,
                });
            }
        }
    }

    /// Rows of what came behind the last interval, when all threads have ended: of executions that were
    /// under way when the time was up. No interval of a phase holds them.
    pub fn sample_rest(&mut self, index: u32) {
        let is_rest = |row: usize| {
            let now = totals(&self.ledgers, row);
            Totals { intended: 0, ..now } != Totals { intended: 0, ..self.before[row] }
        };
        if (0..self.before.len()).any(is_rest) {
            self.sample(index, Phase::CoolDown);
        }
    }

    /// Rows of the latencies, when all threads have ended.
    pub fn push_latencies(&mut self, latencies: &Latencies) {
        let names: Vec<(&str, &str)> = self
            .script
            .groups
            .iter()
            .flat_map(|group| group.transactions.iter().map(|transaction| (group.name.as_str(), transaction.name.as_str())))
            .collect();
        for (row, kind, phase, [low, high, count]) in latencies.values() {
            let (group, transaction) = names[row];
            self.latencies.push(LatencyRow {
                host: &self.host,
                group,
                transaction,
                phase,
                kind,
                latency_ns_low: low,
                latency_ns_high: high,
                latency_count: count,
            });
        }
    }

    /// The tables.
    pub fn into_columns(self) -> [Columns; 2] {
        [self.transactions.into_columns(), self.latencies.into_columns()]
    }
}

fn totals(ledgers: &[Arc<Ledger>], row: usize) -> Totals {
    let mut sum = Totals::default();
    for ledger in ledgers {
        let counter = &ledger.rows[row];
        // What ended is read first: nothing ends that has not begun.
        sum.ended += counter.ended.read();
        sum.failed += counter.failed.read();
        sum.begun += counter.begun.read();
        sum.sent_bytes += counter.sent_bytes.read();
        sum.received_bytes += counter.received_bytes.read();
        sum.calls += counter.calls.read();
        sum.operations += counter.operations.read();
    }
    sum
}

fn intended(open: &mut OpenLoop, transaction: &Transaction, now_mono_ns: u64) -> u64 {
    let until_ns = now_mono_ns.min(open.end_mono_ns).saturating_sub(open.begin_mono_ns);
    open.intended.count_until(&transaction.arrivals, until_ns)
}
