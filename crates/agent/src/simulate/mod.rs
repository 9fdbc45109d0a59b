//! `whyperf-agent simulate`: trials on the model, a line of JSON each, answered in the order of the lines.
//!
//! - [`lines`]: lines in, answers out, on all CPUs. [`trial`]: one trial.
//! - [`hosts`]: the end systems that are asked for. [`processes`]: what runs on them.
//!
//! The record's tables are written by `record::model`.

mod hosts;
mod lines;
mod processes;
mod trial;

use anyhow::Context;
use record::model::{Folder, RunOutput};
use schema::evidence::Evidence;
use schema::simulation::{SimulatedEnd, SimulatedTrial, Simulation};
use std::io::{self, Write};
use std::num::NonZero;
use std::path::PathBuf;

/// Shown by `--help`.
pub const EXAMPLE: &str = r#"Example: echo '{"hosts": [{"host": "sparc2+sba-100@2.2.6"}, {"host": "sparc2+sba-100@2.2.6"}], "socket": {"window_bytes": 8192}, "stop": {"by": "bytes", "payload_bytes": 1048576}}' | whyperf-agent simulate"#;

/// Says what to do with the lines.
#[derive(clap::Args)]
pub struct Options {
    /// Trials at the same time; as many as there are CPUs unless given.
    #[arg(long)]
    threads: Option<NonZero<usize>>,
    /// Say which trials the model cannot run, and run none.
    #[arg(long, conflicts_with = "tables")]
    check: bool,
    /// Write the record's tables into this folder.
    #[arg(long)]
    tables: Option<PathBuf>,
    /// The tables are of several trials, which have a column of their own.
    #[arg(long, requires = "tables")]
    several: bool,
}

/// A line that was answered, and what came out where the record has rows of it.
struct Answered {
    answer: SimulatedTrial,
    run: Option<RunOutput>,
}

/// Answers every line of standard input.
pub fn simulate_stdio(options: &Options) -> anyhow::Result<()> {
    let threads = options.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let mut folder = options.tables.as_deref().map(|path| Folder::new(path, options.several));
    let has_tables = folder.is_some();
    let mut output = io::stdout();
    let mut take = |mut answered: Answered| -> anyhow::Result<()> {
        if let (Some(folder), Some(run)) = (&mut folder, &answered.run) {
            folder.push(run);
            if run.asked.evidence == Evidence::Segments {
                for (end, count) in answered.answer.ends.iter_mut().zip(folder.push_logs(run)?) {
                    end.logged_events_count = count;
                }
            }
            for (end, count) in answered.answer.ends.iter_mut().zip(folder.push_stages(run)) {
                end.stages_count = count;
            }
        }
        writeln!(output, "{}", serde_json::to_string(&answered.answer)?).context("writing the answer")?;
        output.flush().context("writing the answer")
    };
    lines::answer_each(&mut io::stdin().lock(), threads, |line| answer(line, options.check, has_tables), &mut take)?;
    folder.map_or(Ok(()), Folder::finish)
}

/// The answer to a line.
fn answer(line: &str, is_check: bool, has_tables: bool) -> Answered {
    let asked = match serde_json::from_str::<Simulation>(line) {
        Ok(asked) => asked,
        Err(error) => return Answered::without_rows(refused(String::new(), format!("this is no trial: {error}"))),
    };
    if is_check {
        let answer = match trial::check(&asked) {
            Ok(hosts) => SimulatedTrial { end: SimulatedEnd::Complete, reason: None, hosts, ..refused(asked.trial, String::new()) },
            Err(reason) => refused(asked.trial, reason),
        };
        return Answered::without_rows(answer);
    }
    let trial = asked.trial.clone();
    match trial::run(asked) {
        Ok((answer, run)) => Answered { answer, run: has_tables.then_some(run) },
        Err(reason) => Answered::without_rows(refused(trial, reason)),
    }
}

impl Answered {
    fn without_rows(answer: SimulatedTrial) -> Self {
        Self { answer, run: None }
    }
}

fn refused(trial: String, reason: String) -> SimulatedTrial {
    SimulatedTrial {
        trial,
        end: SimulatedEnd::Refused,
        reason: Some(reason),
        duration_ns: 0,
        payload_bytes: 0,
        goodput_bps: 0.0,
        transactions_count: 0,
        hosts: Vec::new(),
        ends: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::path::{DirectionSpec, PathImplementation, PathSpec};

    fn line(window_bytes: u32, host: &str) -> String {
        format!(
            r#"{{"trial": "w{window_bytes}", "hosts": [{{"host": "{host}"}}, {{"host": "{host}"}}], "seed": 7,
                "socket": {{"window_bytes": {window_bytes}}}, "stop": {{"by": "bytes", "payload_bytes": 1048576}}}}"#
        )
        .replace('\n', " ")
    }

    fn several(connections: u32, host: &str) -> String {
        line(8192, host).replacen("\"seed\"", &format!(r#""connections_count": {connections}, "seed""#), 1)
    }

    fn on_path(adapters_count: u16) -> String {
        let direction = DirectionSpec { delay_ns: 1_000_000, ..DirectionSpec::default() };
        let (forward, backward) = (direction.clone(), direction);
        let path = PathSpec { implementation: PathImplementation::Auto, seed: 1, forward, backward, interval_ns: 10_000_000 };
        let path = serde_json::to_string(&path).expect("it can be written");
        let with = format!(r#""adapters_count": {adapters_count}, "path": {path}, "seed""#);
        line(8192, "linux-6.18+nic").replacen("\"seed\"", &with, 1)
    }

    #[test]
    fn a_path_joins_one_adapter_of_each_host() {
        assert_eq!(answered(&on_path(1)).end, SimulatedEnd::Complete);
    }

    #[test]
    fn each_of_several_connections_moves_what_was_asked() {
        let answered = answer(&several(3, "linux-6.18+veth"), false, true);
        assert_eq!((answered.answer.end, answered.answer.payload_bytes), (SimulatedEnd::Complete, 3 << 20));
        let outcome = answered.run.expect("the tables are asked for").outcome;
        assert!(outcome.connections.iter().all(|end| end.len() == 3));
        assert_eq!(outcome.connections[1].iter().map(|end| end.read_bytes).collect::<Vec<_>>(), [1 << 20; 3]);
    }

    fn answered(line: &str) -> SimulatedTrial {
        answer(line, false, false).answer
    }

    #[test]
    fn a_trial_moves_what_was_asked_and_the_same_line_has_the_same_answer() {
        let first = answered(&line(8192, "sparc2+sba-100@2.2.6"));
        assert_eq!((first.end, first.payload_bytes), (SimulatedEnd::Complete, 1 << 20));
        assert_eq!(first.ends[1].read_bytes, 1 << 20);
        assert_eq!(first, answered(&line(8192, "sparc2+sba-100@2.2.6")));
        assert!(answered(&line(32768, "sparc2+sba-100@2.2.6")).goodput_bps > first.goodput_bps);
    }

    #[test]
    fn a_check_returns_the_rules_and_numbers_of_both_hosts() {
        let checked = answer(&line(8192, "sparc2+sba-100@2.2.6"), true, false).answer;
        assert_eq!((checked.end, checked.hosts.len()), (SimulatedEnd::Complete, 2));
        let mss_bytes = &checked.hosts[1].values["mss_bytes"];
        assert_eq!((checked.hosts[1].system.as_str(), mss_bytes.value.as_f64()), ("sunos-4.1", Some(9148.0)));
        assert!(mss_bytes.source.contains("study 1"));
    }

    /// Request and response of 100 bytes, with ACKs deferred and not.
    fn exchange(host: &str, quick_ack: bool) -> SimulatedTrial {
        let step = |kind: &str| {
            format!(
                r#"{{"operation": {{"operation": "{kind}", "connection": 0, "size": {{"by": "fixed", "bytes": 100}},
                    "call_bytes": null{}}}, "count": 1, "can_fail": false}}"#,
                if kind == "read" { r#", "timeout_ns": null"# } else { "" }
            )
        };
        let (write, read) = (step("write"), step("read"));
        let asked = format!(
            r#"{{"trial": "rr", "hosts": [{{"host": "{host}"}}, {{"host": "{host}"}}], "socket": {{"quick_ack": {quick_ack}}},
                "stop": {{"by": "workload"}}, "workload": {{"name": "rr", "seed": 1, "groups": [{{"name": "all",
                "strands_count": 1, "is_connected": true, "transactions": [{{"name": "rr", "repeat": {{"by": "iterations",
                "count": 200}}, "arrivals": {{"by": "closed"}}, "outstanding_count": 1, "steps": [{write}, {read}]}}]}}]}}}}"#
        );
        answered(&asked.replace('\n', " "))
    }

    #[test]
    fn solaris_defers_no_acks_where_quick_ones_are_asked_for() {
        let pure_acks = |quick_ack| {
            let trial = exchange("solaris8+gigabit", quick_ack);
            assert_eq!((trial.end, trial.reason), (SimulatedEnd::Complete, None));
            trial.ends[1].pure_acks
        };
        // Table 1 of study 2 has 6,714 a second.
        let undeferred = exchange("solaris8+gigabit", true);
        let per_s = undeferred.transactions_count as f64 * 1e9 / undeferred.duration_ns as f64;
        assert!((per_s / 6_714.0 - 1.0).abs() < 0.15, "{per_s}");
        // A reply carries the ACK of its request; without deferring, each request has an ACK of its own before it.
        assert_eq!((pure_acks(false), pure_acks(true)), (0, 200));
    }

    #[test]
    fn a_system_that_always_delays_its_acks_refuses_quick_ones() {
        let reason = exchange("sparc2+sba-100@2.2.6", true).reason.expect("a refusal");
        assert!(reason.contains("cannot switch delayed ACKs off; set quick_ack=false"), "{reason}");
    }

    #[test]
    fn a_socket_whose_buffer_nobody_sets_has_its_systems_default() {
        for (host, default_bytes) in [("solaris8+gigabit", 24_576), ("sparc2+sba-100@2.2.6", 4096)] {
            let left_out = answered(&line(default_bytes, host).replace(&format!(r#""window_bytes": {default_bytes}"#), ""));
            let given = answered(&line(default_bytes, host));
            assert_eq!((left_out.duration_ns, left_out.ends), (given.duration_ns, given.ends));
        }
    }

    #[test]
    fn lines_that_an_adapter_cannot_be_on_are_named() {
        let on = |near: &str, far: &str, link: &str| {
            let asked = line(8192, near).replacen(
                &format!(r#"{{"host": "{near}"}}, {{"host": "{near}"}}"#),
                &format!(r#"{{"host": "{near}"}}, {{"host": "{far}"}}"#),
                1,
            );
            let asked = if link.is_empty() { asked } else { asked.replacen("\"seed\"", &format!(r#""link": "{link}", "seed""#), 1) };
            answered(&asked).reason
        };
        let (cells, frames) = ("sparc2+sba-100@2.2.6", "solaris8+gigabit");
        assert_eq!(on(cells, cells, "atm-oc3"), None);
        for (near, far, link, expected) in [
            (
                cells,
                cells,
                "ethernet-1G",
                "the adapter of sparc2+sba-100@2.2.6 is for atm-taxi-140 and cannot be on ethernet-1G; it can be on atm-25",
            ),
            (frames, frames, "veth", "cannot be on veth"),
            (cells, frames, "", "no line joins them"),
            (cells, frames, "atm-oc3", "the adapter of solaris8+gigabit"),
            (frames, "linux-6.18+nic", "", "--link"),
        ] {
            let reason = on(near, far, link).expect(expected);
            assert!(reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (line, named) in [
            (line(8192, "sparc3+sba-100"), "sparc3"),
            (line(0, "sparc2+sba-100@2.2.6"), "window"),
            (line(8192, "sparc2+sba-100@2.2.6").replace("\"seed\"", "\"sead\""), "sead"),
            ("{".to_owned(), "no trial"),
            (several(0, "linux-6.18+veth"), "connections: a host of the model has 1 to"),
            (several(2, "sparc2+sba-100@2.2.6"), "one connection"),
            (on_path(2), "a path joins one adapter of each host, not 2"),
        ] {
            let answer = answered(&line);
            assert_eq!(answer.end, SimulatedEnd::Refused);
            assert!(answer.reason.expect("a reason").contains(named), "{named}");
        }
    }
}
