//! Takes the samples of a trial and turns them into the record's rows.

use anyhow::Context;
use load::counter::Counts;
use load::flow::Flow;
use load::life::{Cut, Ended, Life};
use load::options::{self, Requested};
use load::running::{Ends, Load};
use probe::clock::mono_ns;
use probe::cpu::{CpuProbe, CpuSample};
use probe::devices::{self, DeviceCounters};
use probe::evidence::Watch;
use probe::tcp_info::{self, Sample, TcpInfo};
use probe::threads::{ThreadProbe, ThreadSample};
use schema::message::Progress;
use schema::table::{CPU, DEVICES, FLOWS, INTERVALS, TCP_INFO, THREADS, Value};
use schema::trial::{Role, TrialSpec};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use workload::phases::Phase;

use crate::counted::{Counted, Interval};
use crate::datagrams::Datagrams;
use crate::executed::Executed;
use crate::known::{Known, MOST_SAMPLED};
use crate::record::TableBuilder;
use crate::transport_info::TransportInfo;

/// Least time between samples of CPUs and threads, which cost more than those of connections and
/// whose ticks are no finer.
const CPU_PERIOD_NS: u64 = 50_000_000;

/// Connections that have rows of their own in every interval; of more the rows are summed by group.
const MOST_SINGLE_FLOWS: usize = 10_000;

/// How long before the load's start the first sample of the CPUs is taken.
pub const BEGIN_LEAD_NS: u64 = 300_000;

/// The end of an interval.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Number of the interval.
    pub index: u32,
    /// Its phase.
    pub phase: Phase,
    /// Whether the phase ends with it.
    pub phase_ends: bool,
    /// When its sample should be taken, on CLOCK_MONOTONIC in ns; absent when the load ended
    /// before.
    pub due_mono_ns: Option<u64>,
}

/// Samples one end of one trial.
pub struct Sampler {
    spec: TrialSpec,
    requested: Requested,
    flows: TableBuilder,
    intervals: TableBuilder,
    tcp_info: TableBuilder,
    cpu: TableBuilder,
    threads: TableBuilder,
    devices: TableBuilder,
    /// What BPF programs count, where they do.
    counted: Option<Counted>,
    /// What flows of datagrams count, where there are some.
    datagrams: Option<Datagrams>,
    /// What a library knows of the connections that it carries, where there are some.
    transport_info: Option<TransportInfo>,
    /// What strands executed, where there is a workload.
    executed: Option<Executed>,
    /// What is kept of every connection.
    known: Vec<Known>,
    cpu_probe: CpuProbe,
    thread_probes: Vec<ThreadProbe>,
    thread_roles: Vec<Role>,
    cpus_before: (u64, BTreeMap<u32, CpuSample>),
    threads_before: Vec<(u64, ThreadSample)>,
    devices_before: (u64, BTreeMap<String, DeviceCounters>),
    load_cpu_before_ns: u64,
    /// What was last seen of the first connection.
    first_info: Option<TcpInfo>,
    /// Position of the connection that is sampled next.
    next_info: usize,
    last: (u32, Phase),
    worst_late_ns: u64,
    unseen_segments_count: u64,
}

impl Sampler {
    /// Opens the probes and takes the sample before the first interval.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn open(spec: &TrialSpec, load: &Load, watch: Option<&Arc<Watch>>) -> anyhow::Result<Self> {
        let mut cpu_probe = CpuProbe::open()?;
        let thread_probes = load.threads.iter().map(|thread| ThreadProbe::open(*thread)).collect::<Result<Vec<_>, _>>();
        let thread_probes = thread_probes
            .context("watching the load's threads takes two open files each; with many connections raise the host's limit (ulimit -Hn)")?;
        let cpus_before = (mono_ns(), cpu_probe.sample()?);
        let threads_before: Vec<_> = thread_probes.iter().map(|probe| (mono_ns(), probe.sample().unwrap_or_default())).collect();
        Ok(Self {
            requested: Requested::new(&spec.socket, spec.role),
            flows: TableBuilder::new(&FLOWS),
            intervals: TableBuilder::new(&INTERVALS),
            tcp_info: TableBuilder::new(&TCP_INFO),
            cpu: TableBuilder::new(&CPU),
            threads: TableBuilder::new(&THREADS),
            devices: TableBuilder::new(&DEVICES),
            counted: watch.map(|watch| Counted::open(watch, spec, load)),
            datagrams: Datagrams::open(spec, load),
            transport_info: TransportInfo::open(load),
            executed: match &spec.workload {
                Some(workload) => Some(Executed::open(spec, load::engine::script(spec, workload)?, &load.ledgers)),
                None => None,
            },
            known: load.flows.iter().map(|flow| Known::new(flow.socket.as_deref(), mono_ns())).collect(),
            cpu_probe,
            cpus_before,
            load_cpu_before_ns: threads_before.iter().map(|(_, sample)| sample.cpu_ns).sum(),
            threads_before,
            thread_roles: thread_roles(spec, load),
            thread_probes,
            devices_before: (mono_ns(), devices::sample()?),
            first_info: None,
            next_info: 0,
            last: (0, Phase::WarmUp),
            worst_late_ns: 0,
            unseen_segments_count: 0,
            spec: spec.clone(),
        })
    }

    /// Notes when the load begins: the first interval starts there. To be called just before, for
    /// CPU time is counted from now: a transfer of a few milliseconds is not diluted by the wait.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn on_begin(&mut self, start_mono_ns: u64) -> anyhow::Result<()> {
        for known in &mut self.known {
            known.counted.0 = start_mono_ns;
        }
        if let Some(counted) = &mut self.counted {
            counted.on_begin(start_mono_ns);
        }
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.on_begin(start_mono_ns);
        }
        if let Some(executed) = &mut self.executed {
            executed.on_begin(start_mono_ns);
        }
        if mono_ns() < start_mono_ns {
            self.cpus_before = (mono_ns(), self.cpu_probe.sample()?);
        }
        Ok(())
    }

    /// Something came this much later than planned, in ns; the worst is told.
    pub fn on_late(&mut self, late_ns: u64) {
        self.worst_late_ns = self.worst_late_ns.max(late_ns);
    }

    /// Takes the sample at the end of an interval.
    ///
    /// # Errors
    /// `/proc` cannot be read, or a row does not fit its table.
    pub fn sample(&mut self, load: &Load, moment: &Moment) -> anyhow::Result<Progress> {
        let Moment { index, phase, phase_ends, due_mono_ns } = *moment;
        if let Some(due) = due_mono_ns {
            self.worst_late_ns = self.worst_late_ns.max(mono_ns().saturating_sub(due));
        }
        let start_mono_ns = self.known.first().map_or(0, |known| known.counted.0);
        let payload_bytes = self.sample_counts(load, index, phase)?;
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.sample(load, index, phase.name())?;
        }
        if let Some(executed) = &mut self.executed {
            executed.sample(index, phase.name())?;
        }
        if let Some(counted) = &mut self.counted {
            counted.sample_connections(Interval { index, phase: phase.name(), start_mono_ns, end_mono_ns: mono_ns() })?;
        }
        // A connection whose thread was preempted inside a system call is locked until that thread
        // runs again, and reading its state waits for it: the next sample must not come late for that.
        let until_mono_ns = if phase_ends { u64::MAX } else { due_mono_ns.unwrap_or(u64::MAX).saturating_add(self.spec.interval_ns / 2) };
        self.sample_tcp_info(load, phase, false, until_mono_ns)?;
        if let Some(info) = &mut self.transport_info {
            info.sample(&self.spec, load, phase.name(), false)?;
        }
        // CPU rows never span two phases, so that a window's CPU time is the sum of its rows.
        if phase_ends || mono_ns().saturating_sub(self.cpus_before.0) >= CPU_PERIOD_NS {
            self.sample_cpus(index, phase)?;
            self.sample_threads(index, phase)?;
        }
        self.last = (index, phase);
        Ok(self.progress(index, phase, start_mono_ns, payload_bytes))
    }

    /// Rows of the intervals: one a connection, or of a multitude one a group, under the number of its
    /// first connection.
    fn sample_counts(&mut self, load: &Load, index: u32, phase: Phase) -> anyhow::Result<u64> {
        let mut sum_bytes = 0;
        let is_multitude = load.flows.len() > MOST_SINGLE_FLOWS;
        let mut sums: BTreeMap<u32, (u64, u64, Counts)> = BTreeMap::new();
        for (flow, known) in load.flows.iter().zip(&mut self.known) {
            let before = &mut known.counted;
            let now = (mono_ns(), flow.counter.read());
            // A sample may come before the load's start when the load is aborted there.
            let start_mono_ns = before.0.min(now.0);
            let payload_bytes = now.1.payload_bytes - before.1.payload_bytes;
            let calls_count = now.1.calls_count - before.1.calls_count;
            sum_bytes += payload_bytes;
            *before = now;
            if is_multitude {
                let (_, end, sum) = sums.entry(load.group_of(flow.number)).or_insert((start_mono_ns, now.0, Counts::default()));
                *end = now.0;
                sum.payload_bytes += payload_bytes;
                sum.calls_count += calls_count;
                continue;
            }
            self.intervals.push(vec![
                self.spec.host.as_str().into(),
                flow.number.into(),
                self.spec.role_of(flow.number).name().into(),
                index.into(),
                phase.name().into(),
                start_mono_ns.into(),
                now.0.into(),
                payload_bytes.into(),
                calls_count.into(),
            ])?;
        }
        for (first, (start_mono_ns, end_mono_ns, sum)) in sums {
            self.intervals.push(vec![
                self.spec.host.as_str().into(),
                first.into(),
                self.spec.role_of(first).name().into(),
                index.into(),
                phase.name().into(),
                start_mono_ns.into(),
                end_mono_ns.into(),
                sum.payload_bytes.into(),
                sum.calls_count.into(),
            ])?;
        }
        Ok(sum_bytes)
    }

    /// Samples the connections in turn, beginning behind the last one sampled, until all are done or
    /// it is `until_mono_ns`. Of a multitude only some have rows before the last sample: 15,000 rows ten
    /// times a second would be 40 MB/s of memory.
    fn sample_tcp_info(&mut self, load: &Load, phase: Phase, is_final: bool, until_mono_ns: u64) -> anyhow::Result<()> {
        let count = load.flows.len();
        let step = if count > MOST_SINGLE_FLOWS && !is_final { count.div_ceil(MOST_SAMPLED) } else { 1 };
        for _ in 0..count {
            let position = self.next_info;
            let flow = &load.flows[position];
            self.next_info = (position + 1) % count;
            if let Some(info) = flow.socket.as_ref().and_then(|socket| TcpInfo::read(socket.as_fd()).ok()) {
                if position.is_multiple_of(step) {
                    let sample = Sample {
                        host: &self.spec.host,
                        connection: flow.number,
                        role: self.spec.role_of(flow.number).name(),
                        phase: phase.name(),
                        sample_mono_ns: mono_ns(),
                        is_final,
                    };
                    self.tcp_info.push(tcp_info::row(&sample, &info))?;
                }
                self.known[position].on_info(&info);
                if position == 0 {
                    self.first_info = Some(info);
                }
            }
            if mono_ns() > until_mono_ns {
                break;
            }
        }
        Ok(())
    }

    fn sample_cpus(&mut self, index: u32, phase: Phase) -> anyhow::Result<()> {
        let now = (mono_ns(), self.cpu_probe.sample()?);
        let start_mono_ns = self.cpus_before.0;
        for (cpu, sample) in &now.1 {
            let Some(before) = self.cpus_before.1.get(cpu) else { continue };
            let times = sample.times.since(&before.times);
            let difference = |after: Option<u64>, before: Option<u64>| {
                Value::from(after.zip(before).map(|(after, before)| after.saturating_sub(before)))
            };
            self.cpu.push(vec![
                self.spec.host.as_str().into(),
                (*cpu).into(),
                (self.spec.own_cpus.is_empty() || self.spec.own_cpus.contains(cpu)).into(),
                index.into(),
                phase.name().into(),
                start_mono_ns.into(),
                now.0.into(),
                times.user_ns.into(),
                times.system_ns.into(),
                times.irq_ns.into(),
                times.softirq_ns.into(),
                times.steal_ns.into(),
                times.idle_ns.into(),
                difference(sample.ksoftirqd_ns, before.ksoftirqd_ns),
                difference(sample.pmu_cycles_count, before.pmu_cycles_count),
            ])?;
        }
        if let Some(counted) = &mut self.counted {
            counted.sample_cpus(Interval { index, phase: phase.name(), start_mono_ns, end_mono_ns: now.0 })?;
        }
        self.cpus_before = now;
        Ok(())
    }

    fn sample_threads(&mut self, index: u32, phase: Phase) -> anyhow::Result<()> {
        for position in 0..self.thread_probes.len() {
            // A thread that has ended left its own account, which finish() takes.
            if let Some(sample) = self.thread_probes[position].sample() {
                self.push_thread(position, (mono_ns(), sample), index, phase)?;
            }
        }
        Ok(())
    }

    fn push_thread(&mut self, position: usize, now: (u64, ThreadSample), index: u32, phase: Phase) -> anyhow::Result<()> {
        let before = std::mem::replace(&mut self.threads_before[position], now);
        self.threads.push(vec![
            self.spec.host.as_str().into(),
            self.thread_probes[position].thread.into(),
            self.thread_roles[position].name().into(),
            index.into(),
            phase.name().into(),
            before.0.min(now.0).into(),
            now.0.into(),
            now.1.cpu.into(),
            now.1.cpu_ns.saturating_sub(before.1.cpu_ns).into(),
            now.1.run_queue_ns.saturating_sub(before.1.run_queue_ns).into(),
        ])?;
        Ok(())
    }

    fn progress(&mut self, index: u32, phase: Phase, start_mono_ns: u64, payload_bytes: u64) -> Progress {
        let load_cpu_ns: u64 = self.threads_before.iter().map(|(_, sample)| sample.cpu_ns).sum();
        let first = self.first_info.as_ref();
        let announced = first.and_then(|info| match self.spec.role_of(0) {
            Role::Sender => info.peer_window_bytes(),
            Role::Receiver => info.own_window_bytes(),
        });
        let progress = Progress {
            interval: index,
            phase: phase.name().to_owned(),
            start_mono_ns,
            end_mono_ns: self.known.first().map_or(start_mono_ns, |known| known.counted.0),
            payload_bytes,
            load_cpu_ns: load_cpu_ns.saturating_sub(self.load_cpu_before_ns),
            retransmitted_segments: self.known.iter().map(Known::retransmitted_segments).sum(),
            cwnd_segments: first.map_or(0, |info| info.raw.snd_cwnd),
            srtt_ns: first.map_or(0, |info| u64::from(info.raw.rtt) * 1_000),
            announced_window_bytes: announced.unwrap_or(0),
        };
        let progress = match &self.transport_info {
            Some(info) => told_by_library(progress, info),
            None => progress,
        };
        self.load_cpu_before_ns = load_cpu_ns;
        progress
    }

    /// Takes the last samples, when all threads have ended and the sockets still stand.
    ///
    /// # Errors
    /// `/proc` cannot be read, or a row does not fit its table.
    pub fn finish(&mut self, load: &Load, ends: &Ends) -> anyhow::Result<()> {
        let (index, phase) = self.last;
        self.sample_tcp_info(load, phase, true, u64::MAX)?;
        if let Some(info) = &mut self.transport_info {
            info.sample(&self.spec, load, phase.name(), true)?;
        }
        if let Some(counted) = &self.counted {
            let segments = load.flows.iter().zip(&self.known).filter_map(|(flow, known)| Some((flow.number, known.segments?)));
            self.unseen_segments_count = counted.unseen_segments_count(segments);
        }
        // What came behind the last sample.
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.sample(load, index + 1, phase.name())?;
        }
        for (position, account) in ends.accounts.iter().enumerate() {
            if let Some(end) = *account {
                self.push_thread(position, end, index, phase)?;
            }
        }
        if let (Some(executed), Some(latencies)) = (&mut self.executed, &ends.latencies) {
            executed.sample_rest(index + 1)?;
            executed.push_latencies(latencies)?;
        }
        self.sample_devices()?;
        for ((life, flow), known) in ends.lives.iter().zip(&load.flows).zip(std::mem::take(&mut self.known)) {
            self.push_flow(life, flow, load, &known)?;
        }
        Ok(())
    }

    fn sample_devices(&mut self) -> anyhow::Result<()> {
        let now = (mono_ns(), devices::sample()?);
        let (start_mono_ns, before) = &self.devices_before;
        for (device, counters) in &now.1 {
            let counted = counters.since(&before.get(device).copied().unwrap_or_default());
            self.devices.push(vec![
                self.spec.host.as_str().into(),
                device.as_str().into(),
                (*start_mono_ns).into(),
                now.0.into(),
                counted.tx_bytes.into(),
                counted.tx_packets.into(),
                counted.tx_dropped_packets.into(),
                counted.tx_errors_count.into(),
                counted.rx_bytes.into(),
                counted.rx_packets.into(),
                counted.rx_dropped_packets.into(),
                counted.rx_errors_count.into(),
            ])?;
        }
        Ok(())
    }

    fn push_flow(&mut self, life: &Life, flow: &Flow, load: &Load, known: &Known) -> anyhow::Result<()> {
        let ([local_address, remote_address], granted) = match (load.watched.get(&flow.number), flow.socket.as_deref()) {
            (Some(watched), _) => {
                let addresses = watched.addresses().map(|address| address.map_or_else(String::new, |address| address.to_string()));
                (addresses, watched.granted())
            }
            (None, socket) => {
                let granted = socket.map(|socket| options::granted(socket, self.spec.transport)).transpose()?;
                (known.addresses(socket), granted.unwrap_or_default())
            }
        };
        let ended = match &life.ended {
            Ended::Complete => "complete",
            Ended::Cut(Cut::Deadline) => "deadline",
            Ended::Cut(Cut::Aborted) => "aborted",
            Ended::Failed(reason) => reason,
        };
        self.flows.push(vec![
            self.spec.host.as_str().into(),
            life.number.into(),
            self.spec.role_of(life.number).name().into(),
            granted.transport.name().into(),
            local_address.into(),
            remote_address.into(),
            if_known(flow.times.opening_mono_ns).into(),
            if_known(flow.times.opened_mono_ns).into(),
            self.spec.socket.window_bytes.into(),
            self.requested.send_buffer_bytes.into(),
            granted.send_buffer_bytes.into(),
            self.requested.receive_buffer_bytes.into(),
            granted.receive_buffer_bytes.into(),
            granted.window_clamp_bytes.into(),
            granted.mss_bytes.into(),
            granted.congestion_control.into(),
            granted.no_delay.into(),
            self.spec.socket.quick_ack.into(),
            load.threads.get(flow.thread as usize).copied().unwrap_or(0).into(),
            life.first_call_mono_ns.into(),
            life.last_call_mono_ns.into(),
            life.payload_bytes.into(),
            life.calls_count.into(),
            life.short_calls_count.into(),
            life.other_calls_count.into(),
            ended.into(),
        ])?;
        Ok(())
    }

    /// How much too late the worst sample was, in ns.
    pub fn worst_late_ns(&self) -> u64 {
        self.worst_late_ns
    }

    /// Segments that TCP counted and the evidence lacks, at least.
    pub fn unseen_segments_count(&self) -> u64 {
        self.unseen_segments_count
    }

    /// Why there are no PMU cycles, if there are none.
    pub fn pmu_missing(&self) -> Option<&str> {
        self.cpu_probe.pmu_missing()
    }

    /// The tables.
    pub fn into_tables(self) -> Vec<TableBuilder> {
        let mut tables = vec![self.flows, self.intervals, self.tcp_info, self.cpu, self.threads, self.devices];
        tables.extend(self.datagrams.map(Datagrams::into_table));
        tables.extend(self.transport_info.map(TransportInfo::into_table));
        tables.extend(self.executed.map(Executed::into_tables).into_iter().flatten());
        tables.extend(self.counted.map(Counted::into_tables).into_iter().flatten());
        tables
    }
}

/// The role of each thread: that of the connections it carries.
fn thread_roles(spec: &TrialSpec, load: &Load) -> Vec<Role> {
    let mut roles = vec![spec.role; load.threads.len()];
    for flow in &load.flows {
        if let Some(role) = roles.get_mut(flow.thread as usize) {
            *role = spec.role_of(flow.number);
        }
    }
    roles
}

/// Adds what a library knows, in the words of TCP: packets are segments there.
fn told_by_library(progress: Progress, info: &TransportInfo) -> Progress {
    let Some(first) = info.first() else { return progress };
    let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Progress {
        retransmitted_segments: progress.retransmitted_segments + info.again_packets(),
        cwnd_segments: bounded(first.cwnd_bytes.unwrap_or(0) / u64::from(first.packet_payload_bytes.max(1))),
        srtt_ns: first.rtt_ns,
        announced_window_bytes: bounded(first.peer_window_bytes.unwrap_or(0)),
        ..progress
    }
}

fn if_known(mono_ns: u64) -> Option<u64> {
    (mono_ns > 0).then_some(mono_ns)
}
