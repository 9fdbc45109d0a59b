//! One trial on the model, from what is asked to what is answered.

use record::model::RunOutput;
use schema::evidence::Evidence;
use schema::simulation::{ResolvedHost, SimulatedEnd, SimulatedEndSystem, SimulatedTrial, Simulation};
use schema::trial::{Role, Stop};
use sim::application::Application;
use sim::end_system::{EndState, EndSystem};
use sim::time::{NS, Ps};
use sim::world::{self, End, Outcome, Sample, WorldSpec};
use workload::phases::Intervals;

use super::{hosts, processes};

/// Checks whether a trial could be run; gives the hosts that it would run on.
///
/// # Errors
/// What cannot be asked of the model, in a sentence.
pub fn check(asked: &Simulation) -> Result<Vec<ResolvedHost>, String> {
    let (_, link, profiles) = hosts::end_systems(asked, processes::processes(asked)?)?;
    hosts::path(asked, &link, &profiles)?;
    Ok(profiles.iter().map(hosts::resolved_host).collect())
}

/// Runs a trial.
///
/// # Errors
/// What cannot be asked of the model, in a sentence.
pub fn run(asked: Simulation) -> Result<(SimulatedTrial, RunOutput), String> {
    let processes = processes::processes(&asked)?;
    let names = match processes[0].first() {
        Some(Application::Scripted(scripted)) => {
            scripted.names().into_iter().map(|(group, name)| (group.to_owned(), name.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    let (mut ends, link, profiles) = hosts::end_systems(&asked, processes)?;
    if asked.has_stages {
        ends.iter_mut().for_each(EndSystem::keep_stages);
    }
    let path = hosts::path(&asked, &link, &profiles)?;
    let phases_end = match asked.stop {
        Stop::Duration { warmup_ns, measure_ns, cooldown_ns } => Some(ps(warmup_ns.saturating_add(measure_ns).saturating_add(cooldown_ns))),
        Stop::Bytes { .. } | Stop::Workload => None,
    };
    let until = [phases_end, asked.deadline_ns.map(ps)].into_iter().flatten().min();
    let spec = WorldSpec { link, until, is_logged: asked.evidence == Evidence::Segments };
    let mut instants = Intervals::new(&asked.stop, asked.interval_ns).map(|interval| ps(interval.end_ns));
    let (outcome, samples) = world::run_sampled(&spec, path, ends, &mut instants);
    let (end, reason) = match &outcome.end {
        End::Complete => (SimulatedEnd::Complete, None),
        End::TimeUp if until == phases_end => (SimulatedEnd::Complete, None),
        End::TimeUp => (SimulatedEnd::Deadline, None),
        End::Stuck(waits) => (SimulatedEnd::Stuck, Some(format!("nothing moves any more: {waits}"))),
    };
    let window = Window::of(&asked, &outcome, &samples);
    let duration_ns = (window.end - window.start) / NS;
    let payload_bytes = window.payload_bytes(&asked);
    let answer = SimulatedTrial {
        trial: asked.trial.clone(),
        end,
        reason,
        duration_ns,
        payload_bytes,
        goodput_bps: if duration_ns == 0 { 0.0 } else { payload_bytes as f64 * 8e9 / duration_ns as f64 },
        transactions_count: window.transactions_count(&outcome),
        hosts: Vec::new(),
        ends: (0..2).map(|who| window.end_system(&outcome, who)).collect(),
    };
    Ok((answer, RunOutput { asked, profiles, names, outcome, samples, end }))
}

fn ps(ns: u64) -> Ps {
    ns.saturating_mul(NS)
}

/// The time that is measured: the phase of measurement, or from the first call to the last read.
struct Window {
    start: Ps,
    end: Ps,
    /// The end systems as it began and ended.
    states: [[EndState; 2]; 2],
}

impl Window {
    fn of(asked: &Simulation, outcome: &Outcome, samples: &[Sample]) -> Self {
        let (start, end) = match asked.stop {
            Stop::Duration { warmup_ns, measure_ns, .. } => (ps(warmup_ns), ps(warmup_ns.saturating_add(measure_ns))),
            Stop::Bytes { .. } | Stop::Workload => (0, outcome.duration),
        };
        let end = end.min(outcome.duration);
        let at = |instant: Ps| samples.iter().find(|sample| sample.at == instant).map(|sample| sample.states);
        let states = [at(start).unwrap_or_default(), at(end).unwrap_or(outcome.states)];
        Self { start: start.min(end), end, states }
    }

    /// Payload that was read: at the receiving end of a stream, at both of a workload.
    fn payload_bytes(&self, asked: &Simulation) -> u64 {
        let read = |who: usize| self.states[1][who].read_bytes - self.states[0][who].read_bytes;
        match (&asked.workload, asked.near_role) {
            (Some(_), _) => read(0) + read(1),
            (None, Role::Sender) => read(1),
            (None, Role::Receiver) => read(0),
        }
    }

    fn transactions_count(&self, outcome: &Outcome) -> u64 {
        let is_inside = |at_ns: u64| (self.start..=self.end).contains(&ps(at_ns));
        outcome.executed[0].iter().filter(|executed| is_inside(executed.execution.end_ns)).count() as u64
    }

    fn end_system(&self, outcome: &Outcome, who: usize) -> SimulatedEndSystem {
        let whole = &outcome.states[who];
        let time = (self.end - self.start).max(1) as f64;
        let mut busy_share = [0.0; 3];
        for (level, share) in busy_share.iter_mut().enumerate() {
            *share = self.states[1][who].busy[level].saturating_sub(self.states[0][who].busy[level]) as f64 / time;
        }
        SimulatedEndSystem {
            busy_share,
            written_bytes: whole.written_bytes,
            read_bytes: whole.read_bytes,
            write_calls_count: whole.write_calls,
            read_calls_count: whole.read_calls,
            wake_ups_count: whole.wake_ups,
            data_segments: whole.data_segments,
            pure_acks: whole.pure_acks,
            retransmitted_segments: whole.retransmitted_segments,
            lost_segments: whole.lost_segments,
            timeouts_count: whole.timeouts,
            logged_events_count: 0,
            stages_count: 0,
        }
    }
}
