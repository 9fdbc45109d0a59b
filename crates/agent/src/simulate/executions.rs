//! The executions of a workload's transactions as rows of `transactions` and `latencies`.

use schema::table::{LATENCIES, TRANSACTIONS};
use sim::application::Executed;
use sim::time::NS;
use std::collections::BTreeMap;
use workload::phases::Phase;

use super::recorded::{LABELS, Rows, row};
use super::rows::{Seen, Span};

/// Rows of both tables, of both ends. Each latency is a value of its own: the model's time is exact.
pub fn rows(seen: &Seen<'_>, spans: &[Span<'_>]) -> Vec<Rows> {
    let mut tables = Vec::new();
    for (who, executed) in seen.outcome.executed.iter().enumerate() {
        tables.push(Rows { table: &TRANSACTIONS, who, of_end: transactions(seen, spans, who, executed) });
        // Only the end that begins an execution knows its whole latency.
        if who == 0 {
            tables.push(Rows { table: &LATENCIES, who, of_end: latencies(seen, spans, executed) });
        }
    }
    tables
}

fn transactions(seen: &Seen<'_>, spans: &[Span<'_>], who: usize, executed: &[Executed]) -> Vec<Vec<schema::table::Value>> {
    let mut rows = Vec::new();
    for span in spans {
        let (from, to) = (span.from / NS, span.to / NS);
        // The last interval has its end, so that nothing is counted nowhere.
        let is_last = spans.last().is_some_and(|last| last.to == span.to);
        let is_inside = |at_ns: u64| at_ns >= from && (at_ns < to || (is_last && at_ns == to));
        for (number, (group, transaction)) in (0u32..).zip(seen.names) {
            let of_this = || executed.iter().filter(|one| one.row == number).map(|one| one.execution);
            let ended = of_this().filter(|one| is_inside(one.end_ns)).count() as u64;
            let begun = of_this().filter(|one| is_inside(one.begin_ns)).count() as u64;
            let intended = of_this().filter(|one| is_inside(one.intended_ns.unwrap_or(one.begin_ns))).count() as u64;
            // What one transaction of several moved the model does not tell apart.
            let moved = (seen.names.len() == 1).then(|| span.moved(who));
            rows.push(row(
                &TRANSACTIONS,
                [
                    ("host", LABELS[who].into()),
                    ("group", group.as_str().into()),
                    ("transaction", transaction.as_str().into()),
                    ("interval", span.interval.index.into()),
                    ("phase", span.interval.phase.name().into()),
                    ("start_mono_ns", from.into()),
                    ("end_mono_ns", to.into()),
                    ("transactions_count", ended.into()),
                    ("intended_count", intended.into()),
                    ("begun_count", begun.into()),
                    ("failed_count", 0u64.into()),
                    ("sent_bytes", moved.map(|moved| moved.sent_bytes).into()),
                    ("received_bytes", moved.map(|moved| moved.received_bytes).into()),
                    ("calls_count", moved.map(|moved| moved.calls_count).into()),
                ],
            ));
        }
    }
    rows
}

fn latencies(seen: &Seen<'_>, spans: &[Span<'_>], executed: &[Executed]) -> Vec<Vec<schema::table::Value>> {
    let mut counted: BTreeMap<(u32, Phase, &str, u64), u64> = BTreeMap::new();
    for one in executed {
        let execution = one.execution;
        let phase = spans.iter().find(|span| execution.end_ns <= span.to / NS).map_or(Phase::CoolDown, |span| span.interval.phase);
        *counted.entry((one.row, phase, "service", execution.end_ns - execution.begin_ns)).or_default() += 1;
        if let Some(intended_ns) = execution.intended_ns {
            *counted.entry((one.row, phase, "intended", execution.end_ns.saturating_sub(intended_ns))).or_default() += 1;
        }
    }
    let named = |number: u32| seen.names.get(number as usize);
    let rows = counted.into_iter().filter_map(|((number, phase, kind, latency_ns), count)| {
        let (group, transaction) = named(number)?;
        Some(row(
            &LATENCIES,
            [
                ("host", LABELS[0].into()),
                ("group", group.as_str().into()),
                ("transaction", transaction.as_str().into()),
                ("phase", phase.name().into()),
                ("kind", kind.into()),
                ("latency_ns_low", latency_ns.into()),
                ("latency_ns_high", latency_ns.into()),
                ("latency_count", count.into()),
            ],
        ))
    });
    rows.collect()
}
