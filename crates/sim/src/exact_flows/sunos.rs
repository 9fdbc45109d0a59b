//! Flows of the `SunOS` model.

use super::{Changed, Table, random, script, stream, users};
use crate::application::Application;
use crate::cost::Cost;
use crate::link::LinkSpec;
use crate::link::framing::Aal;
use crate::link::loss::Losses;
use crate::machine::Machine;
use crate::sunos::socket::{Pieces, SendBuffers};
use crate::sunos::tcp::{Nagle, SlowStart};
use crate::sunos::{host, spec};
use crate::time::{MS, NS, US};

fn host_spec() -> spec::HostSpec {
    spec::HostSpec {
        rules: spec::Rules { send_buffers: SendBuffers::WHOLE_PIECES, ..spec::Rules::SUNOS_4_1 },
        costs: spec::Costs {
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
        },
        pieces: Pieces { first: 44, others: 1012 },
        adapter: spec::Adapter::ProgrammedIo { fifo_bytes: 1 << 30 },
        mss: 9148,
        window_bytes: 52_428,
        jitter_per_mille: 20,
    }
}

pub(super) fn add_flows(table: &mut Table) {
    let pair = |spec, [near, far]: [Application; 2]| {
        [Machine::Sunos(Box::new(host::Host::new(spec, near, 1))), Machine::Sunos(Box::new(host::Host::new(spec, far, 2)))]
    };
    let with = |change: &dyn Fn(&mut spec::HostSpec)| {
        let mut spec = host_spec();
        change(&mut spec);
        spec
    };
    let atm = |losses| LinkSpec { losses: [losses, Losses::NONE], ..LinkSpec::study_1(Aal::Aal34) };
    for window_bytes in [4096, 8192, 16_384, 24_576, 52_428] {
        for call_bytes in [600, 4096, 8704] {
            let ends = pair(with(&|spec| spec.window_bytes = window_bytes), stream(call_bytes, 200_000));
            table.flow(&format!("sunos {window_bytes} {call_bytes}"), atm(Losses::NONE), None, ends);
        }
    }
    let about_sending: [(u32, Changed<spec::HostSpec>); 6] = [
        (3500, ("as shipped", &|_| {})),
        (3500, ("nagle off", &|spec| spec.rules.tcp.nagle = Nagle::Off)),
        (3500, ("nagle below a segment", &|spec| spec.rules.tcp.nagle = Nagle::BelowSegment)),
        (7500, ("whole pieces", &|_| {})),
        (7500, ("any room", &|spec| spec.rules.write = spec::WriteRule::AnyRoom)),
        (7500, ("update", &|spec| (spec.rules.tcp.update_percent, spec.rules.tcp.update_segments) = (10, 0))),
    ];
    for (call_bytes, (name, change)) in about_sending {
        let narrow = |spec: &mut spec::HostSpec| {
            (spec.mss, spec.window_bytes) = (4000, 6000);
            change(spec);
        };
        table.flow(&format!("sunos narrow {name}"), atm(Losses::NONE), None, pair(with(&narrow), stream(call_bytes, 100_000)));
    }
    let about_loss: [Changed<spec::HostSpec>; 6] = [
        ("as shipped", &|_| {}),
        ("slow start", &|spec| spec.rules.tcp.slow_start = SlowStart::Always),
        ("no slow start", &|spec| spec.rules.tcp.slow_start = SlowStart::Never),
        ("no duplicates", &|spec| spec.rules.tcp.duplicate_acks = 0),
        ("drops beyond a hole", &|spec| spec.rules.tcp.keeps_out_of_order = false),
        ("waits", &|spec| spec.rules.tcp.least_retransmission_ticks = 4),
    ];
    for (name, change) in about_loss {
        let small = |spec: &mut spec::HostSpec| {
            change(spec);
            spec.mss = 1024;
        };
        table.flow(&format!("sunos small {name}"), atm(script(&[60, 62, 120])), None, pair(with(&small), stream(3000, 200_000)));
        table.flow(&format!("sunos unlucky {name}"), atm(random(40_000, 2)), None, pair(with(&small), stream(3000, 100_000)));
    }
    for seed in 1..4 {
        let link = LinkSpec { propagation: 300 * MS, ..atm(random(30_000, seed)) };
        table.flow(&format!("sunos far {seed}"), link, None, pair(with(&|spec| spec.mss = 1024), stream(3000, 100_000)));
    }
    table.flow("sunos exchange", atm(Losses::NONE), None, pair(host_spec(), users(20, &[('w', 100), ('r', 3000)])));
    let mut far_sleeps = users(1, &[('r', 1), ('t', 7000), ('r', 200_000)]);
    far_sleeps.swap(0, 1);
    for (name, losses) in [("lossless", Losses::NONE), ("lossy", random(100_000, 4))] {
        table.flow(&format!("sunos window shut {name}"), atm(losses), None, pair(host_spec(), far_sleeps.clone()));
    }
}
