//! Flows of the Solaris model.

use super::{Changed, Table, line, random, script, stream, users};
use crate::application::Application;
use crate::coalescing::Coalescing;
use crate::cost::Cost;
use crate::link::loss::Losses;
use crate::machine::Machine;
use crate::solaris::{host, spec};
use crate::time::{MS, NS, US};

pub(super) fn host_spec() -> spec::HostSpec {
    spec::HostSpec {
        rules: spec::Rules::SOLARIS_8,
        costs: spec::Costs {
            write_call: 4 * US,
            copy_in: Cost { fixed: US, per_byte: NS },
            hand_over: 2 * US,
            send: Cost { fixed: 12 * US, per_byte: NS },
            send_mapped: 10 * US,
            send_block: US,
            pull_up: Cost { fixed: 2 * US, per_byte: NS },
            send_ack: 8 * US,
            interrupt: 5 * US,
            receive: Cost { fixed: 8 * US, per_byte: NS },
            receive_page: 2 * US,
            receive_ack: 6 * US,
            wake_up: 10 * US,
            read_call: 4 * US,
            copy_out: Cost { fixed: US, per_byte: NS },
            timer: 2 * US,
        },
        coalescing: Coalescing { frames: 8, delay: 20 * US },
        dma_per_byte: 4 * NS,
        switch_per_byte: 8 * NS,
        processors: 1,
        has_interrupt_processor: true,
        mss: 1460,
        window_bytes: 65_536,
        no_delay: false,
        jitter_per_mille: 20,
    }
}

pub(super) fn machine(spec: &spec::HostSpec, application: Application, seed: u64) -> Machine {
    Machine::Solaris(Box::new(host::Host::new(*spec, application, seed)))
}

pub(super) fn add_flows(table: &mut Table) {
    let pair = |spec: spec::HostSpec, [near, far]: [Application; 2]| [machine(&spec, near, 1), machine(&spec, far, 2)];
    let with = |change: &dyn Fn(&mut spec::HostSpec)| {
        let mut spec = host_spec();
        change(&mut spec);
        spec
    };
    let near = |losses| line("ethernet-1G", US, 40, losses);
    for call_bytes in [60, 536, 1460, 8192, 40_000] {
        let ends = pair(host_spec(), stream(call_bytes, 100 * u64::from(call_bytes)));
        table.flow(&format!("solaris {call_bytes}"), near(Losses::NONE), None, ends);
    }
    for call_bytes in [60, 536] {
        let ends = pair(with(&|spec| spec.no_delay = true), stream(call_bytes, 150 * u64::from(call_bytes)));
        table.flow(&format!("solaris nodelay {call_bytes}"), near(Losses::NONE), None, ends);
    }
    for window_bytes in [1000, 4096, 8192, 24_576] {
        let ends = pair(with(&|spec| spec.window_bytes = window_bytes), stream(8192, 300_000));
        table.flow(&format!("solaris window {window_bytes}"), near(Losses::NONE), None, ends);
    }
    let short = pair(with(&|spec| spec.rules.maxpsz_multiplier = 1), stream(8192, 300_000));
    table.flow("solaris short", near(Losses::NONE), None, short);
    let changed: [Changed<spec::HostSpec>; 5] = [
        ("stream", &|spec| spec.rules.keeps_boundaries = false),
        ("undeferred", &|spec| spec.rules.deferred_acks_max = 1),
        ("two", &|spec| spec.rules.deferred_acks_max = 2),
        ("unanswered", &|spec| spec.rules.answers_small_segments = false),
        ("limit", &|spec| spec.rules.nagle_limit_bytes = 500),
    ];
    for (name, change) in changed {
        table.flow(&format!("solaris {name}"), near(script(&[40])), None, pair(with(change), stream(1000, 200_000)));
    }
    let scripts: [(&str, &[u64]); 5] =
        [("one", &[60]), ("three", &[60, 62, 70]), ("tail", &[204, 205, 206]), ("again", &[60, 90, 91]), ("first", &[1, 2, 3, 4])];
    for (name, propagation) in [("near", US), ("far", 10 * MS)] {
        for (losses, numbers) in scripts {
            let link = line("ethernet-1G", propagation, 40, script(numbers));
            table.flow(&format!("solaris {name} loses {losses}"), link, None, pair(host_spec(), stream(8192, 300_000)));
        }
        for seed in 1..4 {
            let link = line("ethernet-1G", propagation, 40, random(30_000, seed));
            table.flow(&format!("solaris {name} loses at random {seed}"), link, None, pair(host_spec(), stream(8192, 300_000)));
        }
    }
    table.flow("solaris exchange", near(Losses::NONE), None, pair(host_spec(), users(20, &[('w', 100), ('r', 3000)])));
    let mut far_sleeps = users(1, &[('r', 1), ('t', 1500), ('r', 200_000)]);
    far_sleeps.swap(0, 1);
    table.flow("solaris window shut", near(Losses::NONE), None, pair(host_spec(), far_sleeps));
}
