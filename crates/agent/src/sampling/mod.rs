//! Takes the samples of a trial and turns them into the record's rows: when what is looked at. A
//! table each in the modules below; those that only some trials have are in `counted`, `datagrams`,
//! `executed` and `transport_info`.

mod cpus;
mod devices;
mod flows;
mod intervals;
mod progress;
mod tcp;
mod threads;

use load::running::{Ends, Load};
use probe::clock::mono_ns;
use probe::evidence::Watch;
use schema::message::Progress;
use schema::trial::TrialSpec;
use std::sync::Arc;
use workload::phases::Phase;

use crate::counted::{Counted, Interval};
use crate::datagrams::Datagrams;
use crate::executed::Executed;
use crate::known::Known;
use crate::record::TableBuilder;
use crate::transport_info::TransportInfo;
use cpus::Cpus;
use devices::Devices;
use intervals::Intervals;
use tcp::Tcp;
use threads::Threads;

/// Least time between samples of CPUs and threads, which cost more than those of connections and
/// whose ticks are no finer.
const CPU_PERIOD_NS: u64 = 50_000_000;

/// Connections that have rows of their own in every interval; of more the rows are summed by group.
const MAX_SINGLE_FLOWS: usize = 10_000;

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
    /// What is kept of every connection.
    known: Vec<Known>,
    intervals: Intervals,
    tcp: Tcp,
    cpus: Cpus,
    threads: Threads,
    devices: Devices,
    /// What BPF programs count, where they do.
    counted: Option<Counted>,
    /// What flows of datagrams count, where there are some.
    datagrams: Option<Datagrams>,
    /// What a library knows of the connections that it carries, where there are some.
    transport_info: Option<TransportInfo>,
    /// What users executed, where there is a workload.
    executed: Option<Executed>,
    /// The tables of flows and of devices, which are made at the end.
    at_end: Option<[TableBuilder; 2]>,
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
        Ok(Self {
            cpus: Cpus::open()?,
            threads: Threads::open(spec, load)?,
            intervals: Intervals::new(),
            tcp: Tcp::new(),
            counted: watch.map(|watch| Counted::open(watch, spec, load)),
            datagrams: Datagrams::open(spec, load),
            transport_info: TransportInfo::open(load),
            executed: match &spec.workload {
                Some(workload) => Some(Executed::open(spec, load::engine::script(spec, workload)?, &load.ledgers)),
                None => None,
            },
            known: load.flows.iter().map(|flow| Known::new(flow.socket.as_deref(), mono_ns())).collect(),
            devices: Devices::open()?,
            at_end: None,
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
            self.cpus.begin()?;
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
        let payload_bytes = self.intervals.sample(&self.spec, load, &mut self.known, index, phase)?;
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
        self.tcp.sample(&self.spec, load, &mut self.known, phase, Some(until_mono_ns))?;
        if let Some(info) = &mut self.transport_info {
            info.sample(&self.spec, load, phase.name(), false)?;
        }
        // CPU rows never span two phases, so that a window's CPU time is the sum of its rows.
        if phase_ends || mono_ns().saturating_sub(self.cpus.looked_mono_ns()) >= CPU_PERIOD_NS {
            let looked = self.cpus.sample(&self.spec, index, phase.name())?;
            if let Some(counted) = &mut self.counted {
                counted.sample_cpus(looked)?;
            }
            if phase_ends || !self.threads.is_early() {
                self.threads.sample(&self.spec, index, phase.name())?;
            }
        }
        self.last = (index, phase);
        Ok(self.progress(index, phase, start_mono_ns, payload_bytes))
    }

    fn progress(&mut self, index: u32, phase: Phase, start_mono_ns: u64, payload_bytes: u64) -> Progress {
        let progress = Progress {
            interval: index,
            phase: phase.name().to_owned(),
            start_mono_ns,
            end_mono_ns: self.known.first().map_or(start_mono_ns, |known| known.counted.0),
            payload_bytes,
            load_cpu_ns: self.threads.newly_cpu_ns(),
            retransmitted_segments: self.known.iter().map(Known::retransmitted_segments).sum(),
            cwnd_segments: 0,
            srtt_ns: 0,
            announced_window_bytes: 0,
        };
        let progress = progress::told_by_tcp(progress, self.tcp.first(), self.spec.role_of(0));
        progress::told_by_library(progress, self.transport_info.as_ref())
    }

    /// Takes the last samples, when all threads have ended and the sockets still stand.
    ///
    /// # Errors
    /// `/proc` cannot be read, or a row does not fit its table.
    pub fn finish(&mut self, load: &Load, ends: &Ends) -> anyhow::Result<()> {
        let (index, phase) = self.last;
        self.tcp.sample(&self.spec, load, &mut self.known, phase, None)?;
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
        self.threads.sample_ended(&self.spec, &ends.accounts, index, phase.name())?;
        if let (Some(executed), Some(latencies)) = (&mut self.executed, &ends.latencies) {
            executed.sample_rest(index + 1)?;
            executed.push_latencies(latencies)?;
        }
        let devices = self.devices.table(&self.spec)?;
        self.at_end = Some([flows::table(&self.spec, load, ends, &self.known)?, devices]);
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
        self.cpus.pmu_missing()
    }

    /// The tables.
    pub fn into_tables(self) -> Vec<TableBuilder> {
        let mut tables: Vec<_> = self.at_end.into_iter().flatten().collect();
        tables.extend([self.intervals.into_table(), self.tcp.into_table(), self.cpus.into_table(), self.threads.into_table()]);
        tables.extend(self.datagrams.map(Datagrams::into_table));
        tables.extend(self.transport_info.map(TransportInfo::into_table));
        tables.extend(self.executed.map(Executed::into_tables).into_iter().flatten());
        tables.extend(self.counted.map(Counted::into_tables).into_iter().flatten());
        tables
    }
}
