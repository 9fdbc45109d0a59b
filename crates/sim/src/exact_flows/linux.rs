//! Flows of the Linux model.

use super::{Table, line, random, reader, script, solaris, stream, users, writer};
use crate::application::Application;
use crate::coalescing::Coalescing;
use crate::cost::Cost;
use crate::link::LinkSpec;
use crate::link::loss::Losses;
use crate::link::path::Path;
use crate::linux::buffer::WindowShare;
use crate::linux::congestion::Algorithm;
use crate::linux::{host, spec};
use crate::machine::Machine;
use crate::time::{MS, NS, US};
use schema::path::{DirectionSpec, Discipline, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};

pub(super) fn add_flows(table: &mut Table) {
    add_streams(table);
    add_losses(table);
    add_paths(table);
    add_users(table);
}

const COSTS: spec::Costs = spec::Costs {
    write_call: 500 * NS,
    copy_in: Cost { fixed: 100 * NS, per_byte: 100 },
    new_buffer: 300 * NS,
    output: US,
    segmentation: 300 * NS,
    transmit: US,
    handover: 0,
    interrupt: US,
    softirq: Cost { fixed: 700 * NS, per_byte: 0 },
    merge: 100 * NS,
    input: 700 * NS,
    backlog: 100 * NS,
    ack_output: US,
    ack_input: 600 * NS,
    free_buffer: 200 * NS,
    wake_up: US,
    idle_exit: 5 * US,
    switch: 1500 * NS,
    read_call: 400 * NS,
    copy_out: Cost { fixed: 200 * NS, per_byte: 100 },
    poll_call: 0,
    timer: US,
};

fn host_spec() -> spec::HostSpec {
    spec::HostSpec {
        kernel: spec::Kernel::default(),
        socket: spec::Socket::default(),
        adapter: spec::Adapter {
            has_segmentation: true,
            has_gro: true,
            coalescing: Coalescing::NONE,
            completion: spec::Completion::After(5 * US),
        },
        steering: spec::Steering::SameProcessor,
        scheduling: spec::Scheduling::default(),
        costs: COSTS,
        mss: 1448,
        jitter_per_mille: 20,
    }
}

/// A name, and what it changes.
type Change = (&'static str, fn(&mut spec::HostSpec));

fn with(change: impl FnOnce(&mut spec::HostSpec)) -> spec::HostSpec {
    let mut spec = host_spec();
    change(&mut spec);
    spec
}

fn machine(spec: &spec::HostSpec, application: Application, seed: u64) -> Machine {
    Machine::Linux(Box::new(host::Host::new(*spec, application, seed)))
}

fn pair(spec: &spec::HostSpec, [near, far]: [Application; 2]) -> [Machine; 2] {
    [machine(spec, near, 1), machine(spec, far, 2)]
}

fn add_streams(table: &mut Table) {
    let near = || line("ethernet-10G", 20 * US, 52, Losses::NONE);
    let far = |losses| line("ethernet-1G", 10 * MS, 52, losses);
    for call_bytes in [100, 1000, 5000] {
        for (name, no_delay, corks) in [("nagle", false, true), ("nodelay", true, true), ("uncorked", true, false)] {
            let spec = with(|spec| (spec.socket.no_delay, spec.kernel.corks) = (no_delay, corks));
            let ends = pair(&spec, stream(call_bytes, 200 * u64::from(call_bytes)));
            table.flow(&format!("linux {name} {call_bytes}"), near(), None, ends);
        }
    }
    for window_bytes in [2000, 4608, 8192, 16_384, 65_536, 400_000] {
        let spec = with(|spec| {
            let size = Some(window_bytes);
            let socket = &mut spec.socket;
            (socket.send_buffer_bytes, socket.receive_buffer_bytes, socket.window_clamp_bytes) = (size, size, size);
        });
        table.flow(&format!("linux window {window_bytes}"), near(), None, pair(&spec, stream(8192, 400_000)));
        let unclamped = with(|spec| spec.socket.receive_buffer_bytes = Some(window_bytes));
        table.flow(&format!("linux buffer {window_bytes}"), near(), None, pair(&unclamped, stream(700, 200_000)));
    }
    let near_only: [Change; 2] =
        [("small-queue", |spec| spec.kernel.device_limit_bytes = 20_000), ("divisor", |spec| spec.kernel.burst_window_divisor = 8)];
    let changed: [Change; 7] = [
        ("stream", |_| {}),
        ("6.1", |spec| {
            spec.kernel.window_share = WindowShare::Half;
            (spec.kernel.grows_buffers, spec.kernel.defers_backlog_acks) = (false, false);
            spec.kernel.device_limit_bytes = 1 << 20;
        }),
        ("jumbo", |spec| spec.mss = 8948),
        ("unsegmented", |spec| spec.adapter.has_segmentation = false),
        ("unmerged", |spec| (spec.adapter.has_segmentation, spec.adapter.has_gro) = (false, false)),
        ("coalescing", |spec| spec.adapter.coalescing = Coalescing { frames: 16, delay: 50 * US }),
        ("other-processor", |spec| spec.steering = spec::Steering::OtherProcessor),
    ];
    for (name, change) in near_only.into_iter().chain(changed) {
        table.flow(&format!("linux {name}"), near(), None, pair(&with(change), stream(65_536, 2_000_000)));
    }
    for (name, change) in changed {
        table.flow(&format!("linux far {name}"), far(script(&[300])), None, pair(&with(change), stream(3000, 600_000)));
    }
    let quick = with(|spec| spec.socket.quick_ack = true);
    table.flow("linux quick", far(script(&[300])), None, pair(&quick, stream(3000, 600_000)));
    for rate in [500_000, 5_000_000, 50_000_000] {
        let spec = with(|spec| spec.socket.pacing_rate = Some(rate));
        table.flow(&format!("linux paced {rate}"), near(), None, pair(&spec, stream(65_536, 300_000)));
        table.flow(&format!("linux far paced {rate}"), far(random(5000, 3)), None, pair(&spec, stream(65_536, 300_000)));
    }
}

fn add_losses(table: &mut Table) {
    let far = |losses| line("ethernet-1G", 10 * MS, 52, losses);
    for (name, algorithm) in [("reno", Algorithm::Reno), ("cubic", Algorithm::Cubic)] {
        let spec = with(|spec| spec.socket.algorithm = algorithm);
        let scripts: [(&str, &[u64]); 5] = [
            ("one", &[100]),
            ("three", &[100, 103, 110]),
            ("tail", &[344, 345, 346]),
            ("again", &[100, 137, 174]),
            ("first", &[1, 2, 3, 4, 5, 6, 7, 8]),
        ];
        for (losses, numbers) in scripts {
            table.flow(&format!("linux {name} loses {losses}"), far(script(numbers)), None, pair(&spec, stream(65_536, 500_000)));
        }
        for (per_million, bytes) in [(1000, 3_000_000), (60_000, 200_000), (200_000, 60_000)] {
            for seed in 1..4 {
                let ends = pair(&spec, stream(65_536, bytes));
                table.flow(&format!("linux {name} loses {per_million} ppm {seed}"), far(random(per_million, seed)), None, ends);
            }
        }
        // To a host without SACK.
        for (losses, numbers) in scripts {
            let ends = [machine(&spec, writer(65_536, 500_000), 1), solaris::machine(&solaris::host_spec(), reader(65_536, 500_000), 2)];
            table.flow(&format!("linux {name} to solaris loses {losses}"), far(script(numbers)), None, ends);
        }
    }
    let acks_lost = LinkSpec { losses: [Losses::NONE, random(300_000, 5)], ..far(Losses::NONE) };
    table.flow("linux loses acknowledgments", acks_lost, None, pair(&host_spec(), stream(65_536, 500_000)));
}

fn add_paths(table: &mut Table) {
    let rate = |bps| DirectionSpec { rate_bps: Some(bps), delay_ns: 10_000_000, ..DirectionSpec::default() };
    let queue = |bytes, discipline| QueueSpec { limit: QueueLimit::Bytes { bytes }, discipline, ecn: false };
    let full = DirectionSpec { queue: queue(60_000, Discipline::DropTail), ..rate(50_000_000) };
    let codel = Discipline::Codel { target_ns: 5_000_000, interval_ns: 50_000_000 };
    let directions = [
        ("full", full.clone()),
        ("codel", DirectionSpec { queue: queue(400_000, codel), ..rate(50_000_000) }),
        (
            "reordering",
            DirectionSpec { reorder_per_billion: 5_000_000, queue: queue(5_000_000, Discipline::DropTail), ..rate(500_000_000) },
        ),
        ("duplicating", DirectionSpec { duplicate_per_billion: 50_000_000, ..full.clone() }),
        ("wandering", DirectionSpec { jitter_ns: 5_000_000, ..full.clone() }),
        ("losing", DirectionSpec { loss: LossSpec::Random { probability_per_billion: 20_000_000 }, ..full }),
    ];
    for (name, forward) in directions {
        let backward = DirectionSpec { delay_ns: 10_000_000, ..DirectionSpec::default() };
        let spec = PathSpec { implementation: PathImplementation::Auto, seed: 3, forward, backward, interval_ns: 100_000_000 };
        spec.validate(1500).expect("it can be");
        for stamps in [true, false] {
            if !stamps && name != "reordering" {
                continue;
            }
            let link = line("ethernet-10G", US, 52, Losses::NONE);
            let ends = pair(&with(|spec| spec.kernel.stamps = stamps), stream(65_536, 1_500_000));
            let name = format!("linux path {name}{}", if stamps { "" } else { " without stamps" });
            table.flow(&name, link, Some(Path::new(&spec, 52, 1448)), ends);
        }
    }
}

fn add_users(table: &mut Table) {
    let far = |numbers: &[u64]| line("ethernet-1G", 10 * MS, 52, script(numbers));
    let near = || line("ethernet-10G", 20 * US, 52, Losses::NONE);
    for (name, algorithm) in [("reno", Algorithm::Reno), ("cubic", Algorithm::Cubic)] {
        let spec = with(|spec| spec.socket.algorithm = algorithm);
        // Idle for longer and longer behind a window that has grown and lost.
        let pauses = users(3, &[('w', 400_000), ('r', 1), ('t', 300), ('w', 60_000), ('r', 1), ('t', 900)]);
        table.flow(&format!("linux {name} pauses"), far(&[150, 500]), None, pair(&spec, pauses));
        // Little is sent of a window that has grown.
        let little =
            users(1, &[('w', 900_000), ('r', 1), ('w', 3000), ('r', 1), ('t', 150), ('w', 3000), ('r', 1), ('t', 150), ('w', 900_000)]);
        table.flow(&format!("linux {name} little"), far(&[100]), None, pair(&spec, little));
    }
    table.flow("linux exchange", near(), None, pair(&host_spec(), users(50, &[('w', 100), ('r', 3000)])));
    table.flow("linux exchange of many", near(), None, pair(&host_spec(), users(5, &[('w', 200_000), ('r', 300_000)])));
    table.flow("linux two writes", near(), None, pair(&host_spec(), users(8, &[('w', 100), ('w', 200), ('r', 100), ('t', 30)])));
    // A reader that sleeps shuts the window, which is probed.
    let mut far_sleeps = users(1, &[('r', 1), ('t', 1500), ('r', 400_000)]);
    far_sleeps.swap(0, 1);
    for window_bytes in [None, Some(20_000)] {
        let spec = with(|spec| spec.socket.receive_buffer_bytes = window_bytes);
        table.flow(&format!("linux window shut {}", window_bytes.unwrap_or(0)), far(&[]), None, pair(&spec, far_sleeps.clone()));
    }
    for connections in [2, 5] {
        let several = |applications, seed| Machine::Linux(Box::new(host::Host::with_several(host_spec(), applications, seed)));
        let ends = [several(vec![writer(65_536, 300_000); connections], 1), several(vec![reader(65_536, 300_000); connections], 2)];
        table.flow(&format!("linux {connections} connections"), line("ethernet-1G", MS, 52, random(2000, 1)), None, ends);
    }
}
