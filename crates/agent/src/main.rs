//! `whyperf-agent`: the measuring end. Knows all other crates and holds no domain logic.

mod commands;
mod evidence;
mod pipe;
mod profile;
mod sampler;
mod segment_log;
mod serve;
mod simulate;
mod stages;
mod transports;
mod trial;
mod watch;

use anyhow::Context;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The measuring end of whyperf: moves bytes, looks, records.
#[derive(Parser)]
#[command(version, after_help = "Example: whyperf-agent doctor")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Answer a controller on standard input and output until the pipe closes.
    Serve {
        /// Enter this network namespace first, e.g. /proc/4711/fd/5 or /run/netns/left.
        #[arg(long)]
        netns: Option<PathBuf>,
    },
    /// Print the JSON Schema of the control messages and the record's tables.
    Schema {
        /// Write one file a schema into this folder instead.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Run trials on the model of two hosts: one a line of JSON on standard input, an answer a line on standard output.
    #[command(after_help = simulate::EXAMPLE)]
    Simulate(simulate::Options),
    /// Say in JSON what connections can be carried by here: congestion controls and transports.
    Transports,
    /// Time the single steps of sending and receiving in a testbed of its own, and say in JSON what they took.
    Steps {
        /// Number of times that each step is timed.
        #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        rounds: u32,
        /// MTU of the testbed, in bytes.
        #[arg(long, default_value_t = 1_500)]
        mtu: u32,
    },
    /// Say in JSON what this host is and what it allows.
    Doctor {
        /// End what killed runs have left on this host, and say what.
        #[arg(long)]
        clean: bool,
    },
    /// Wait for standard input to end, and unregister the congestion control in this BPF map.
    #[command(hide = true, name = congestion::GUARD_VERB)]
    GuardCongestionControl {
        /// Number of the map.
        map: u32,
    },
    /// Name functions of a process that was sampled, without privileges.
    #[command(hide = true, name = probe::stacks::RESOLVE_VERB)]
    ResolveSymbols,
}

fn main() -> ExitCode {
    // Started by a number in /proc, as the controller does on a far host, it would be called by that.
    let _ = nix::sys::prctl::set_name(c"whyperf-agent");
    // With capabilities of its file, the kernel gives /proc/PID of this process to root: its user could not find and end
    // one that was left. Whoever lacks the capabilities still cannot attach to it (ptrace(2), access mode checking).
    let _ = nix::sys::prctl::set_dumpable(true);
    // Standard output belongs to the protocol. Nobody may read standard error any more: a controller that is gone is no
    // reason to panic while this agent undoes what it did.
    tracing_subscriber::fmt().with_writer(std::io::stderr).log_internal_errors(false).with_ansi(false).init();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "whyperf-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.verb {
        Verb::Serve { netns } => {
            if let Some(netns) = netns {
                path::enter(&netns)?;
            }
            serve::serve_stdio()
        }
        Verb::Schema { out: Some(folder) } => commands::write_schemas(&folder),
        Verb::Schema { out: None } => commands::print_schemas(),
        Verb::Doctor { clean: true } => commands::print_json(&commands::clean()?),
        Verb::Doctor { clean: false } => commands::print_json(&transports::describe_host(true)),
        Verb::Simulate(options) => simulate::simulate_stdio(&options),
        Verb::Steps { rounds, mtu } => commands::print_json(&commands::steps(rounds, mtu)?),
        Verb::Transports => commands::print_json(&transports::list()),
        Verb::ResolveSymbols => probe::stacks::resolve_stdio().context("naming functions"),
        Verb::GuardCongestionControl { map } => congestion::stand_guard(map).context("unregistering"),
    }
}
