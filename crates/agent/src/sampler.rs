//! Takes the samples of a trial: when what is looked at. The rows are made in `record::host`, a module a table.

use load::running::{Ends, Load};
use probe::clock::mono_ns;
use probe::evidence::Watch;
use probe::tcp_info::TcpInfo;
use record::Columns;
use record::host::connection::Known;
use record::host::counted::Counted;
use record::host::cpus::Cpus;
use record::host::datagrams::Datagrams;
use record::host::devices::Devices;
use record::host::executed::Executed;
use record::host::flows;
use record::host::intervals::{Interval, Intervals};
use record::host::limits::Limits;
use record::host::sctp;
use record::host::tcp::Tcp;
use record::host::threads::Threads;
use record::host::tls;
use record::host::transport_info::TransportInfo;
use schema::message::Progress;
use schema::trial::{Role, TrialSpec};
use std::sync::Arc;
use workload::phases::Phase;

/// Least time between samples of CPUs and threads, which cost more than those of connections and
/// whose ticks are no finer.
const CPU_PERIOD_NS: u64 = 50_000_000;

/// Time by which the first sample of the CPUs comes before the load's start.
pub const BEGIN_LEAD_NS: u64 = 300_000;

/// The end of an interval.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Number of the interval.
    pub index: u32,
    /// Its phase.
    pub phase: Phase,
    /// True where the phase ends with it.
    pub phase_ends: bool,
    /// When its sample should be taken, on CLOCK_MONOTONIC in ns; absent when the load ended
    /// before.
    pub due_mono_ns: Option<u64>,
}

/// Samples one end of one trial.
pub struct Sampler {
    spec: TrialSpec,
    /// The state that is kept of every connection.
    known: Vec<Known>,
    intervals: Intervals,
    tcp: Tcp,
    cpus: Cpus,
    threads: Threads,
    devices: Devices,
    limits: Limits,
    /// The counts of BPF programs, where they count.
    counted: Option<Counted>,
    /// The counts of flows of datagrams, where there are some.
    datagrams: Option<Datagrams>,
    /// A library's knowledge of the connections that it carries, where there are some.
    transport_info: Option<TransportInfo>,
    /// The executions of users, where there is a workload.
    executed: Option<Executed>,
    /// The tables of flows, of devices and of the host's counters, which are made at the end.
    at_end: Vec<Columns>,
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
        if let Some(watch) = watch
            && let Err(refused) = watch.count_on_top_of(&load.threads)
        {
            tracing::warn!("softirqs on top of the load's threads are not counted: {}", refused.reason);
        }
        Ok(Self {
            cpus: Cpus::open()?,
            threads: Threads::open(spec, load)?,
            intervals: Intervals::default(),
            tcp: Tcp::default(),
            counted: watch.map(|watch| Counted::open(watch, spec, load)),
            datagrams: Datagrams::open(spec, load),
            transport_info: TransportInfo::open(load),
            executed: match &spec.workload {
                Some(workload) => Some(Executed::open(spec, load::engine::script(spec, workload)?, &load.ledgers)),
                None => None,
            },
            known: load.flows.iter().map(|flow| Known::new(flow.socket.as_deref(), mono_ns())).collect(),
            devices: Devices::open()?,
            limits: Limits::open(),
            // Of associations that are over nothing can be asked.
            at_end: sctp::table(spec, load).into_iter().collect(),
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
            self.cpus.start()?;
        }
        Ok(())
    }

    /// Something came this much later than planned, in ns; the worst is reported.
    pub fn on_late(&mut self, late_ns: u64) {
        self.worst_late_ns = self.worst_late_ns.max(late_ns);
    }

    /// Takes the sample at the end of an interval.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn sample(&mut self, load: &Load, moment: &Moment) -> anyhow::Result<Progress> {
        let Moment { index, phase, phase_ends, due_mono_ns } = *moment;
        if let Some(due) = due_mono_ns {
            self.worst_late_ns = self.worst_late_ns.max(mono_ns().saturating_sub(due));
        }
        let start_mono_ns = self.known.first().map_or(0, |known| known.counted.0);
        let payload_bytes = self.intervals.sample(&self.spec, load, &mut self.known, index, phase);
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.sample(load, index, phase);
        }
        if let Some(executed) = &mut self.executed {
            executed.sample(index, phase);
        }
        if let Some(counted) = &mut self.counted {
            counted.sample_connections(Interval { index, phase, start_mono_ns, end_mono_ns: mono_ns() });
        }
        // A connection whose thread was preempted inside a system call is locked until that thread
        // runs again, and reading its state waits for it: the next sample must not come late for that.
        let until_mono_ns = if phase_ends { u64::MAX } else { due_mono_ns.unwrap_or(u64::MAX).saturating_add(self.spec.interval_ns / 2) };
        self.tcp.sample(&self.spec, load, &mut self.known, phase, Some(until_mono_ns));
        if let Some(info) = &mut self.transport_info {
            info.sample(&self.spec, load, phase, false);
        }
        // CPU rows never span two phases, so that a window's CPU time is the sum of its rows.
        if phase_ends || mono_ns().saturating_sub(self.cpus.looked_mono_ns()) >= CPU_PERIOD_NS {
            let looked = self.cpus.sample(&self.spec.host, &self.spec.own_cpus, index, phase)?;
            if let Some(counted) = &mut self.counted {
                counted.sample_cpus(looked);
            }
            if phase_ends || !self.threads.is_early() {
                self.threads.sample(&self.spec, index, phase);
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
        let progress = with_tcp(progress, self.tcp.first(), self.spec.role_of(0));
        with_library(progress, self.transport_info.as_ref())
    }

    /// Takes the last samples, when all threads have ended and the sockets still stand.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn finish(&mut self, load: &Load, ends: &Ends) -> anyhow::Result<()> {
        let (index, phase) = self.last;
        self.tcp.sample(&self.spec, load, &mut self.known, phase, None);
        if let Some(info) = &mut self.transport_info {
            info.sample(&self.spec, load, phase, true);
        }
        if let Some(counted) = &self.counted {
            let segments = load.flows.iter().zip(&self.known).filter_map(|(flow, known)| Some((flow.number, known.segments?)));
            self.unseen_segments_count = counted.unseen_segments_count(segments);
        }
        // What came behind the last sample.
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.sample(load, index + 1, phase);
        }
        self.threads.sample_ended(&self.spec, &ends.accounts, index, phase);
        if let (Some(executed), Some(latencies)) = (&mut self.executed, &ends.latencies) {
            executed.sample_rest(index + 1);
            executed.push_latencies(latencies);
        }
        let devices = self.devices.table(&self.spec.host)?;
        self.at_end.extend([flows::table(&self.spec, load, ends, &self.known)?, devices, self.limits.table(&self.spec.host)]);
        self.at_end.extend(tls::table(&self.spec, load));
        Ok(())
    }

    /// Lateness of the worst sample, in ns.
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
    pub fn into_tables(self) -> Vec<Columns> {
        let mut tables = self.at_end;
        let Tcp { rows: tcp, options, .. } = self.tcp;
        tables.extend([self.intervals.rows.into_columns(), tcp.into_columns(), options.into_columns()]);
        tables.extend([self.cpus.rows.into_columns(), self.threads.rows.into_columns()]);
        tables.extend(self.datagrams.map(|datagrams| datagrams.rows.into_columns()));
        tables.extend(self.transport_info.map(|info| info.table.into_columns()));
        tables.extend(self.executed.map(Executed::into_columns).into_iter().flatten());
        tables.extend(self.counted.map(Counted::into_columns).into_iter().flatten());
        tables
    }
}

/// Adds what TCP said of the first connection, if it carries any.
fn with_tcp(progress: Progress, first: Option<&TcpInfo>, role: Role) -> Progress {
    let Some(info) = first else { return progress };
    let announced = match role {
        Role::Sender => info.peer_window_bytes(),
        Role::Receiver => info.own_window_bytes(),
    };
    Progress {
        cwnd_segments: info.raw.snd_cwnd,
        srtt_ns: u64::from(info.raw.rtt) * 1_000,
        announced_window_bytes: announced.unwrap_or(0),
        ..progress
    }
}

/// Adds what a library knows, if one carries connections, in the words of TCP: packets are segments
/// there.
fn with_library(progress: Progress, info: Option<&TransportInfo>) -> Progress {
    let Some((info, first)) = info.and_then(|info| Some((info, info.first()?))) else { return progress };
    let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Progress {
        retransmitted_segments: progress.retransmitted_segments + info.again_packets(),
        cwnd_segments: bounded(first.cwnd_bytes.unwrap_or(0) / u64::from(first.packet_payload_bytes.max(1))),
        srtt_ns: first.rtt_ns,
        announced_window_bytes: bounded(first.peer_window_bytes.unwrap_or(0)),
        ..progress
    }
}
