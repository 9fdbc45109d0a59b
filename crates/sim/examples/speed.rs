//! Measures how many segments a second of one processor the engine simulates, in the best of several rounds:
//! `cargo run --release -p whyperf-sim --example speed`.

use sim::application::Application;
use sim::cost::Cost;
use sim::link::LinkSpec;
use sim::link::framing::Aal;
use sim::machine::Machine;
use sim::sunos::host::Host;
use sim::sunos::socket::Pieces;
use sim::sunos::spec::{Adapter, Costs, HostSpec, Rules};
use sim::time::{NS, US};
use sim::world::{WorldSpec, run};
use std::time::Instant;

/// An adapter that holds more than ever comes.
const NO_LOSS: Adapter = Adapter::ProgrammedIo { fifo_bytes: 1 << 30 };
const ROUNDS: usize = 5;
const BYTES: u64 = 64 << 20;

fn main() {
    let mut best: f64 = 0.0;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut segments = 0;
        for (window_bytes, call_bytes) in [(4096, 4096), (4096, 2048), (8192, 8192), (16384, 8192), (52428, 8192)] {
            segments += transfer(window_bytes, call_bytes);
        }
        let rate = segments as f64 / begun.elapsed().as_secs_f64();
        println!("{segments} segments, {:.2} million a second", rate / 1e6);
        best = best.max(rate);
    }
    println!("best: {:.2} million a second", best / 1e6);
}

/// Segments of a transfer, in both directions.
fn transfer(window_bytes: u32, call_bytes: u32) -> u64 {
    let costs = Costs {
        write_call: 60 * US,
        copy_in: Cost { fixed: 60 * US, per_byte: 45 * NS },
        output: Cost { fixed: 130 * US, per_byte: 45 * NS },
        driver_send: Cost { fixed: 100 * US, per_byte: 120 * NS },
        driver_receive: Cost { fixed: 120 * US, per_byte: 150 * NS },
        input: Cost { fixed: 130 * US, per_byte: 45 * NS },
        wake_up: 150 * US,
        read_call: 60 * US,
        copy_out: Cost { fixed: 15 * US, per_byte: 45 * NS },
        timer: 20 * US,
    };
    let pieces = Pieces { first: 44, others: 1012 };
    let spec = HostSpec { rules: Rules::SUNOS_4_1, costs, pieces, adapter: NO_LOSS, mss: 9148, window_bytes, jitter_per_mille: 20 };
    let writer = Host::new(spec, Application::Writer { call_bytes, left_bytes: BYTES }, 1);
    let reader = Host::new(spec, Application::Reader { call_bytes, left_bytes: BYTES }, 2);
    let ends = [writer, reader].map(|host| Machine::Sunos(Box::new(host)));
    let outcome = run(&WorldSpec { link: LinkSpec::study_1(Aal::Aal34), until: None, is_logged: false }, ends);
    outcome.states.iter().map(|end| end.data_segments + end.pure_acks).sum()
}
