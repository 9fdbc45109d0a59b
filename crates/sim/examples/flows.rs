//! The segment flows of a host: `cargo run --release -p whyperf-sim --example flows -- HOST WINDOW CALL [KEY=NUMBER…]`
//! prints, for several seeds, throughput, shares of the processors, and the payloads between acknowledgments.

use sim::application::Application;
use sim::machine;
use sim::profile::Library;
use sim::world::{Outcome, WorldSpec, run};
use std::collections::BTreeMap;
use std::error::Error;

const SEEDS: u64 = 6;
const BYTES: u64 = 16 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [host, window, call, changes @ ..] = arguments.as_slice() else {
        return Err("say HOST WINDOW CALL, e.g. sparc10+sba-200 16384 8192".into());
    };
    let mut profile = Library::shipped()?.resolve(host)?;
    for change in changes {
        let (key, number) = change.split_once('=').ok_or("a change is KEY=NUMBER")?;
        profile.set_number(key, number.parse()?)?;
    }
    let (window, call_bytes) = (window.parse()?, call.parse()?);
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        let (writer, link) = machine::build(&profile, window, Application::Writer { call_bytes, left_bytes: BYTES }, seed ^ 0x57)?;
        let (reader, _) = machine::build(&profile, window, Application::Reader { call_bytes, left_bytes: BYTES }, seed ^ 0x52)?;
        let outcome = run(&WorldSpec { link, until: None, is_logged: true }, [writer, reader]);
        sum += outcome.goodput_bps(1) / 1e6;
        println!(
            "seed {seed}: {:.1} Mbit/s, busy {:.0} and {:.0} %, lost {}",
            outcome.goodput_bps(1) / 1e6,
            100.0 * outcome.busy_share(0),
            100.0 * outcome.busy_share(1),
            outcome.states[1].lost_segments
        );
        for (cycle, share) in cycles(&outcome) {
            println!("    {:4.1} % {cycle:?}", 100.0 * share);
        }
    }
    println!("mean {:.1} Mbit/s", sum / SEEDS as f64);
    Ok(())
}

/// The four most frequent cycles between acknowledgments, and their share of the bytes.
fn cycles(outcome: &Outcome) -> Vec<(Vec<u32>, f64)> {
    let mut shares = BTreeMap::<Vec<u32>, f64>::new();
    for cycle in outcome.log.cycles() {
        let bytes: u32 = cycle.iter().sum();
        *shares.entry(cycle).or_default() += f64::from(bytes) / BYTES as f64;
    }
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by(|first, second| second.1.total_cmp(&first.1));
    shares.truncate(4);
    shares
}
