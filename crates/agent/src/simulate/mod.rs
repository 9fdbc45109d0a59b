//! `whyperf-agent simulate`: trials on the model, a line of JSON each, answered in the order of the lines.
//!
//! - [`lines`]: lines in, answers out, on all CPUs. [`trial`]: one trial.
//! - [`hosts`]: the end systems that are asked for. [`processes`]: what runs on them.

mod hosts;
mod lines;
mod processes;
mod trial;

use schema::simulation::{SimulatedEnd, SimulatedTrial, Simulation};
use std::io;
use std::num::NonZero;

/// Shown by `--help`.
pub const EXAMPLE: &str = r#"Example: echo '{"hosts": [{"host": "sparc2+sba-100@2.2.6"}, {"host": "sparc2+sba-100@2.2.6"}], "socket": {"window_bytes": 8192}, "stop": {"by": "bytes", "payload_bytes": 1048576}}' | whyperf-agent simulate"#;

/// Answers every line of standard input.
pub fn simulate_stdio(threads: Option<NonZero<usize>>) -> anyhow::Result<()> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    lines::answer_each(&mut io::stdin().lock(), &mut io::stdout(), threads, answer)
}

/// The answer to a line, as a line.
fn answer(line: &str) -> String {
    let answer = match serde_json::from_str::<Simulation>(line) {
        Ok(simulation) => match trial::run(&simulation) {
            Ok(ran) => ran.answer,
            Err(reason) => refused(simulation.trial, reason),
        },
        Err(error) => refused(String::new(), format!("this is no trial: {error}")),
    };
    serde_json::to_string(&answer).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"))
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
        ends: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(window_bytes: u32, host: &str) -> String {
        format!(
            r#"{{"trial": "w{window_bytes}", "hosts": [{{"host": "{host}"}}, {{"host": "{host}"}}], "seed": 7,
                "socket": {{"window_bytes": {window_bytes}}}, "stop": {{"by": "bytes", "payload_bytes": 1048576}}}}"#
        )
        .replace('\n', " ")
    }

    fn answered(line: &str) -> SimulatedTrial {
        serde_json::from_str(&answer(line)).expect("an answer")
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
    fn what_cannot_be_is_named() {
        for (line, named) in [
            (line(8192, "sparc3+sba-100"), "sparc3"),
            (line(0, "sparc2+sba-100@2.2.6"), "window"),
            (line(8192, "sparc2+sba-100@2.2.6").replace("\"seed\"", "\"sead\""), "sead"),
            ("{".to_owned(), "no trial"),
        ] {
            let answer = answered(&line);
            assert_eq!(answer.end, SimulatedEnd::Refused);
            assert!(answer.reason.expect("a reason").contains(named), "{named}");
        }
    }
}
