//! Rows of what BPF programs counted: tables counters, sizes and softirqs.

use crate::known::Segments;
use load::flow::Flow;
use load::running::Load;
use probe::clock::mono_ns;
use probe::evidence::{Connection, Cpu, Sized, Watch};
use schema::table::{COUNTERS, SIZED, SIZES, SOFTIRQS, VECTORS, Value};
use schema::trial::{Opening, TrialSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::record::{RecordError, TableBuilder};

/// What is known of each connection, by the port that tells it at both ends: the connecting end's.
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

/// One interval of the sampler.
#[derive(Clone, Copy)]
pub struct Interval {
    /// Its number.
    pub index: u32,
    /// Name of its phase.
    pub phase: &'static str,
    /// When it began, on `CLOCK_MONOTONIC` in ns.
    pub start_mono_ns: u64,
    /// When it ended.
    pub end_mono_ns: u64,
}

/// Turns what programs counted since the last look into rows.
pub struct Counted {
    watch: Arc<Watch>,
    spec: TrialSpec,
    ports: BTreeMap<u16, u32>,
    before: BTreeMap<u16, Connection>,
    cpus_before: Vec<Cpu>,
    counters: TableBuilder,
    sizes: TableBuilder,
    softirqs: TableBuilder,
}

impl Counted {
    /// Counts from now.
    pub fn open(watch: &Arc<Watch>, spec: &TrialSpec, load: &Load) -> Self {
        Self {
            spec: spec.clone(),
            ports: by_port(spec, load, |flow| flow.number),
            before: watch.connections(),
            cpus_before: watch.cpus(),
            counters: TableBuilder::new(&COUNTERS),
            sizes: TableBuilder::new(&SIZES),
            softirqs: TableBuilder::new(&SOFTIRQS),
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
    ///
    /// # Errors
    /// A row does not fit its table.
    pub fn sample_connections(&mut self, interval: Interval) -> Result<(), RecordError> {
        let now = self.watch.connections();
        for (port, connection) in &now {
            // An unauthenticated peer's connection has no number.
            let Some(&number) = self.ports.get(port) else { continue };
            let before = self.before.get(port).copied().unwrap_or_default();
            self.push_counters(number, interval, &before, connection)?;
            self.push_sizes(number, interval, &before, connection)?;
        }
        self.before = now;
        Ok(())
    }

    /// Rows of the CPUs in one interval.
    ///
    /// # Errors
    /// A row does not fit its table.
    pub fn sample_cpus(&mut self, interval: Interval) -> Result<(), RecordError> {
        let now = self.watch.cpus();
        for ((cpu, after), before) in (0u32..).zip(&now).zip(&self.cpus_before) {
            for ((vector, after), before) in VECTORS.iter().zip(&after.vectors).zip(&before.vectors) {
                if after.runs == before.runs {
                    continue;
                }
                self.softirqs.push(vec![
                    self.spec.host.as_str().into(),
                    cpu.into(),
                    (self.spec.own_cpus.is_empty() || self.spec.own_cpus.contains(&cpu)).into(),
                    interval.index.into(),
                    interval.phase.into(),
                    interval.start_mono_ns.into(),
                    interval.end_mono_ns.into(),
                    (*vector).into(),
                    (after.runs - before.runs).into(),
                    (after.ns - before.ns).into(),
                ])?;
            }
        }
        self.cpus_before = now;
        Ok(())
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
    pub fn into_tables(self) -> [TableBuilder; 3] {
        [self.counters, self.sizes, self.softirqs]
    }

    fn push_counters(&mut self, number: u32, interval: Interval, before: &Connection, after: &Connection) -> Result<(), RecordError> {
        let (out, was_out, arrived, was_in) = (&after.out, &before.out, &after.arrived, &before.arrived);
        let since = |after: u64, before: u64| Value::U64(after.saturating_sub(before));
        let mut row = vec![
            self.spec.host.as_str().into(),
            number.into(),
            self.spec.role_of(number).name().into(),
            interval.index.into(),
            interval.phase.into(),
            interval.start_mono_ns.into(),
            interval.end_mono_ns.into(),
            since(out.data_packets, was_out.data_packets),
            since(out.data_segments, was_out.data_segments),
            since(out.data_bytes, was_out.data_bytes),
            since(out.retransmitted_packets, was_out.retransmitted_packets),
            since(out.by_reason.iter().sum(), was_out.by_reason.iter().sum()),
            since(arrived.data_packets, was_in.data_packets),
            since(arrived.data_segments, was_in.data_segments),
            since(arrived.data_bytes, was_in.data_bytes),
            since(arrived.acks, was_in.acks),
            since(arrived.duplicate_acks, was_in.duplicate_acks),
            since(arrived.out_of_order_packets, was_in.out_of_order_packets),
        ];
        row.extend(out.by_context.iter().zip(&was_out.by_context).map(|(after, before)| since(*after, *before)));
        row.push(since(out.ksoftirqd_packets, was_out.ksoftirqd_packets));
        row.extend(out.by_reason.iter().zip(&was_out.by_reason).map(|(after, before)| since(*after, *before)));
        self.counters.push(row)
    }

    fn push_sizes(&mut self, number: u32, interval: Interval, before: &Connection, after: &Connection) -> Result<(), RecordError> {
        let kinds = [
            (&after.out.sizes, &before.out.sizes),
            (&after.arrived.sizes, &before.arrived.sizes),
            (&after.writes, &before.writes),
            (&after.reads, &before.reads),
        ];
        for (what, (after, before)) in SIZED.iter().zip(kinds) {
            for ((class, after), before) in (0u32..).zip(after).zip(before) {
                let Sized { count, bytes } = *after;
                if count == before.count {
                    continue;
                }
                self.sizes.push(vec![
                    self.spec.host.as_str().into(),
                    number.into(),
                    self.spec.role_of(number).name().into(),
                    interval.index.into(),
                    interval.phase.into(),
                    (*what).into(),
                    class_bytes(class).into(),
                    (count - before.count).into(),
                    bytes.saturating_sub(before.bytes).into(),
                ])?;
            }
        }
        Ok(())
    }
}

/// As [`Counted::unseen_segments_count`], of one connection. TCP's counts have 32 bits.
fn unseen_of(counted: Segments, seen: &Connection) -> u64 {
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
