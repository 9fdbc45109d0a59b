//! The executions of a workload's transactions as rows of `transactions` and `latencies`.

use schema::table::{LatencyKind, LatencyRow, TransactionRow};
use schema::trial::Phase;
use sim::application::Executed;
use sim::time::NS;
use std::collections::BTreeMap;
use std::ops::Range;

use super::run::{HOSTS, RunOutput, Span};
use super::tables::Tables;

/// Appends the rows of both tables. Each latency is a value of its own: the model's time is exact.
pub fn push(run: &RunOutput, spans: &[Span<'_>], hosts: &mut [Tables; 2]) {
    for (who, (executed, tables)) in run.outcome.executed.iter().zip(&mut *hosts).enumerate() {
        push_transactions(run, spans, who, executed, tables);
    }
    // Only the end that begins an execution knows its whole latency.
    push_latencies(run, spans, &run.outcome.executed[0], &mut hosts[0]);
}

fn push_transactions(run: &RunOutput, spans: &[Span<'_>], who: usize, executed: &[Executed], tables: &mut Tables) {
    let connections = connections_by_transaction(run);
    for span in spans {
        let (from, to) = (span.from / NS, span.to / NS);
        // The last interval has its end, so that nothing is counted nowhere.
        let is_last = spans.last().is_some_and(|last| last.to == span.to);
        let is_inside = |at_ns: u64| at_ns >= from && (at_ns < to || (is_last && at_ns == to));
        for (number, (group, transaction)) in (0u32..).zip(&run.names) {
            let of_this = || executed.iter().filter(|executed| executed.row == number).map(|executed| executed.execution);
            let ended = of_this().filter(|execution| is_inside(execution.end_ns)).count() as u64;
            let begun = of_this().filter(|execution| is_inside(execution.begin_ns)).count() as u64;
            let intended = of_this().filter(|execution| is_inside(execution.intended_ns.unwrap_or(execution.begin_ns))).count() as u64;
            let moved = connections.get(number as usize).map(|of_this| span.moved(who, of_this.clone()));
            tables.transactions.push_of(
                &run.asked.trial,
                TransactionRow {
                    host: Some(HOSTS[who]),
                    group: Some(group.as_str()),
                    transaction: Some(transaction.as_str()),
                    interval: Some(span.interval.index),
                    phase: Some(span.interval.phase),
                    start_mono_ns: Some(from),
                    end_mono_ns: Some(to),
                    transactions_count: Some(ended),
                    intended_count: Some(intended),
                    begun_count: Some(begun),
                    failed_count: Some(0),
                    sent_bytes: moved.map(|moved| moved.sent_bytes),
                    received_bytes: moved.map(|moved| moved.received_bytes),
                    calls_count: moved.map(|moved| moved.calls_count),
                    ..TransactionRow::default()
                },
            );
        }
    }
}

/// The connections of each transaction: those of its group's users, in the order of the groups.
///
/// Empty where a connection executes several transactions: the model does not count what each of them moved.
fn connections_by_transaction(run: &RunOutput) -> Vec<Range<u32>> {
    let Some(workload) = &run.asked.workload else { return Vec::new() };
    if workload.groups.iter().any(|group| group.transactions.len() != 1) {
        return Vec::new();
    }
    let mut from = 0;
    let mut ranges = Vec::new();
    for group in &workload.groups {
        ranges.push(from..from + group.strands_count);
        from += group.strands_count;
    }
    ranges
}

fn push_latencies(run: &RunOutput, spans: &[Span<'_>], executed: &[Executed], tables: &mut Tables) {
    let mut counted: BTreeMap<(u32, Phase, LatencyKind, u64), u64> = BTreeMap::new();
    for ended in executed {
        let execution = ended.execution;
        let phase = spans.iter().find(|span| execution.end_ns <= span.to / NS).map_or(Phase::CoolDown, |span| span.interval.phase);
        *counted.entry((ended.row, phase, LatencyKind::Service, execution.end_ns - execution.begin_ns)).or_default() += 1;
        if let Some(intended_ns) = execution.intended_ns {
            *counted.entry((ended.row, phase, LatencyKind::Intended, execution.end_ns.saturating_sub(intended_ns))).or_default() += 1;
        }
    }
    for ((number, phase, kind, latency_ns), count) in counted {
        let Some((group, transaction)) = run.names.get(number as usize) else { continue };
        let row = LatencyRow {
            host: Some(HOSTS[0]),
            group: Some(group),
            transaction: Some(transaction),
            phase: Some(phase),
            kind: Some(kind),
            latency_ns_low: Some(latency_ns),
            latency_ns_high: Some(latency_ns),
            latency_count: Some(count),
        };
        tables.latencies.push_of(&run.asked.trial, row);
    }
}
