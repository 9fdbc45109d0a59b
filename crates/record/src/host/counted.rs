//! Rows of what BPF programs counted: tables counters, sizes and softirqs.

use load::flow::Flow;
use load::running::Load;
use probe::clock::mono_ns;
use probe::evidence::{Connection, Cpu, Sized, Watch};
use schema::table::{AckReason, Context, CounterRow, SizeRow, Sized as SizedKind, SoftirqRow, Vector};
use schema::trial::{Opening, Role, TrialSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::connection::Segments;
use super::intervals::Interval;
use crate::table::{Columns, Rows};

/// Known facts of each connection, by the port that identifies it on both sides: that of the connecting side.
pub fn by_port<T>(spec: &TrialSpec, load: &Load, known: impl Fn(&Flow) -> T) -> BTreeMap<u16, T> {
    let port = |flow: &Flow| {
        let socket = flow.socket.as_ref()?;
        let address = match spec.opening {
            Opening::Connect => socket.local_addr(),
            Opening::Listen => socket.peer_addr(),
        };
        address.ok()?.as_socket().map(|address| address.port())
    };
    load.flows.iter().filter_map(|flow| Some((port(flow)?, known(flow)))).collect()
}

/// Turns what programs counted since the last look into rows.
pub struct Counted {
    watch: Arc<Watch>,
    spec: TrialSpec,
    ports: BTreeMap<u16, u32>,
    before: BTreeMap<u16, Connection>,
    cpus_before: Vec<Cpu>,
    counters: Rows<CounterRow<'static>>,
    sizes: Rows<SizeRow<'static>>,
    softirqs: Rows<SoftirqRow<'static>>,
}

impl Counted {
    /// Counts from now.
    pub fn open(watch: &Arc<Watch>, spec: &TrialSpec, load: &Load) -> Self {
        Self {
            spec: spec.clone(),
            ports: by_port(spec, load, |flow| flow.number),
            before: watch.connections(),
            cpus_before: watch.cpus(),
            counters: Rows::new(),
            sizes: Rows::new(),
            softirqs: Rows::new(),
            watch: Arc::clone(watch),
        }
    }

    /// Begins anew, unless it is late: what came before was not the load's, but of the load nothing
    /// must be missing.
    pub fn on_begin(&mut self, start_mono_ns: u64) {
        let before = (self.watch.connections(), self.watch.cpus());
        if mono_ns() < start_mono_ns {
            (self.before, self.cpus_before) = before;
        }
    }

    /// Rows of the connections in one interval.
    pub fn sample_connections(&mut self, interval: Interval) {
        let now = self.watch.connections();
        for (port, connection) in &now {
            // An unauthenticated peer's connection has no number.
            let Some(&number) = self.ports.get(port) else { continue };
            let before = self.before.get(port).copied().unwrap_or_default();
            let of = Whose { host: &self.spec.host, connection: number, role: self.spec.role_of(number) };
            self.counters.push(counter_row(of, interval, &before, connection));
            for row in size_rows(of, interval, &before, connection) {
                self.sizes.push(row);
            }
        }
        self.before = now;
    }

    /// Rows of the CPUs in one interval.
    pub fn sample_cpus(&mut self, interval: Interval) {
        let now = self.watch.cpus();
        for row in softirq_rows(&self.spec.host, &self.watch, interval, &self.cpus_before, &now) {
            let own = self.spec.own_cpus.is_empty() || self.spec.own_cpus.contains(&row.cpu);
            self.softirqs.push(SoftirqRow { own, ..row });
        }
        self.cpus_before = now;
    }

    /// Segments that TCP has counted and the programs have not, at least: of data, and of ACKs but two
    /// a connection, which may be its SYN and FIN. To be asked right after TCP was.
    pub fn unseen_segments_count(&self, segments: impl Iterator<Item = (u32, Segments)>) -> u64 {
        let seen = self.watch.connections();
        let by_number: BTreeMap<u32, &Connection> =
            self.ports.iter().filter_map(|(port, number)| Some((*number, seen.get(port)?))).collect();
        segments.filter_map(|(number, counted)| Some(unseen_of(counted, by_number.get(&number)?))).sum()
    }

    /// The tables.
    pub fn into_columns(self) -> [Columns; 3] {
        [self.counters.into_columns(), self.sizes.into_columns(), self.softirqs.into_columns()]
    }
}

/// The things that rows of a connection name.
#[derive(Clone, Copy)]
pub struct Whose<'a> {
    /// The side.
    pub host: &'a str,
    /// Number of the connection.
    pub connection: u32,
    /// The role of the side on it.
    pub role: Role,
}

/// The row of what was counted of a connection in an interval.
pub fn counter_row<'a>(of: Whose<'a>, interval: Interval, before: &Connection, after: &Connection) -> CounterRow<'a> {
    let (out, was_out, arrived, was_in) = (&after.out, &before.out, &after.arrived, &before.arrived);
    let since = |after: u64, before: u64| after.saturating_sub(before);
    let by_context = |context: Context| since(out.by_context[context as usize], was_out.by_context[context as usize]);
    let by_reason = |reason: AckReason| since(out.by_reason[reason as usize], was_out.by_reason[reason as usize]);
    CounterRow {
        host: of.host,
        connection: of.connection,
        role: of.role,
        interval: interval.index,
        phase: interval.phase,
        start_mono_ns: interval.start_mono_ns,
        end_mono_ns: interval.end_mono_ns,
        data_out_packets: since(out.data_packets, was_out.data_packets),
        data_out_segments: since(out.data_segments, was_out.data_segments),
        data_out_bytes: since(out.data_bytes, was_out.data_bytes),
        retransmitted_out_packets: since(out.retransmitted_packets, was_out.retransmitted_packets),
        acks_out_count: since(out.by_reason.iter().sum(), was_out.by_reason.iter().sum()),
        data_in_packets: since(arrived.data_packets, was_in.data_packets),
        data_in_segments: since(arrived.data_segments, was_in.data_segments),
        data_in_bytes: since(arrived.data_bytes, was_in.data_bytes),
        acks_in_count: since(arrived.acks, was_in.acks),
        duplicate_acks_in_count: since(arrived.duplicate_acks, was_in.duplicate_acks),
        out_of_order_in_packets: since(arrived.out_of_order_packets, was_in.out_of_order_packets),
        process_out_packets: by_context(Context::Process),
        net_rx_out_packets: by_context(Context::NetRx),
        timer_out_packets: by_context(Context::Timer),
        hrtimer_out_packets: by_context(Context::Hrtimer),
        worker_out_packets: by_context(Context::Worker),
        other_out_packets: by_context(Context::Other),
        ksoftirqd_out_packets: since(out.ksoftirqd_packets, was_out.ksoftirqd_packets),
        delayed_timer_acks_count: by_reason(AckReason::DelayedTimer),
        read_call_acks_count: by_reason(AckReason::ReadCall),
        second_segment_acks_count: by_reason(AckReason::SecondSegment),
        quick_acks_count: by_reason(AckReason::Quick),
        out_of_order_acks_count: by_reason(AckReason::OutOfOrder),
        window_probe_acks_count: by_reason(AckReason::WindowProbe),
        fin_acks_count: by_reason(AckReason::Fin),
        handshake_acks_count: by_reason(AckReason::Handshake),
        other_acks_count: by_reason(AckReason::Other),
    }
}

/// Rows of the sizes that were counted of a connection in an interval, for those that occurred.
pub fn size_rows<'a>(of: Whose<'a>, interval: Interval, before: &Connection, after: &Connection) -> Vec<SizeRow<'a>> {
    let kinds = [
        (&after.out.sizes, &before.out.sizes),
        (&after.arrived.sizes, &before.arrived.sizes),
        (&after.writes, &before.writes),
        (&after.reads, &before.reads),
    ];
    let mut rows = Vec::new();
    for (what, (after, before)) in SizedKind::ALL.into_iter().zip(kinds) {
        for ((class, after), before) in (0u32..).zip(after).zip(before) {
            let Sized { count, bytes } = *after;
            if count == before.count {
                continue;
            }
            rows.push(SizeRow {
                host: of.host,
                connection: of.connection,
                role: of.role,
                interval: interval.index,
                phase: interval.phase,
                what,
                class_bytes: class_bytes(class),
                sizes_count: count - before.count,
                sizes_bytes: bytes.saturating_sub(before.bytes),
            });
        }
    }
    rows
}

/// Rows of the softirqs that ran in an interval, on all CPUs.
pub fn softirq_rows<'a>(host: &'a str, watch: &Watch, interval: Interval, before: &[Cpu], after: &[Cpu]) -> Vec<SoftirqRow<'a>> {
    let mut rows = Vec::new();
    for ((cpu, after), before) in (0u32..).zip(after).zip(before) {
        for ((vector, after), before) in Vector::ALL.into_iter().zip(&after.vectors).zip(&before.vectors) {
            if after.runs == before.runs {
                continue;
            }
            rows.push(SoftirqRow {
                host,
                cpu,
                own: true,
                interval: interval.index,
                phase: interval.phase,
                start_mono_ns: interval.start_mono_ns,
                end_mono_ns: interval.end_mono_ns,
                vector,
                runs_count: after.runs - before.runs,
                softirq_ns: after.ns - before.ns,
                on_load_ns: watch.on_load_ns(after).zip(watch.on_load_ns(before)).map(|(after, before)| after - before),
            });
        }
    }
    rows
}

/// As [`Counted::unseen_segments_count`], of one connection. TCP's counts have 32 bits.
pub fn unseen_of(counted: Segments, seen: &Connection) -> u64 {
    const SYN_AND_FIN: u32 = 2;
    let beyond = |counted: u32, seen: u64| {
        let difference = counted.wrapping_sub(u32::try_from(seen & u64::from(u32::MAX)).unwrap_or(0));
        // More seen than counted is less than nothing missing.
        if difference > u32::MAX / 2 { 0 } else { difference }
    };
    let data = beyond(counted.data_out, seen.out.data_segments) + beyond(counted.data_in, seen.arrived.data_segments);
    let acks = beyond(counted.all_in.wrapping_sub(counted.data_in), seen.arrived.acks).saturating_sub(SYN_AND_FIN);
    u64::from(data) + u64::from(acks)
}

/// Smallest size of a class (`size_class` in the probe's BPF programs).
fn class_bytes(class: u32) -> u32 {
    if class == 0 { 0 } else { 1 << (class - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::trial::Phase;

    #[test]
    fn packets_and_the_segments_in_them_are_counted_apart() {
        let (mut before, mut after) = (Connection::default(), Connection::default());
        (before.arrived.data_packets, before.arrived.data_segments) = (10, 100);
        (after.arrived.data_packets, after.arrived.data_segments) = (15, 190);
        (before.out.data_packets, before.out.data_segments) = (3, 30);
        (after.out.data_packets, after.out.data_segments) = (10, 101);
        let of = Whose { host: "near", connection: 0, role: Role::Receiver };
        let interval = Interval { index: 0, phase: Phase::Measure, start_mono_ns: 0, end_mono_ns: 1 };
        let row = counter_row(of, interval, &before, &after);
        assert_eq!((row.data_in_packets, row.data_in_segments), (5, 90));
        assert_eq!((row.data_out_packets, row.data_out_segments), (7, 71));
    }
}
