//! Hosts that cost nothing reach what `whyperf overhead` computes for their link: both are held to `link_rates.csv`.

use sim::application::Application;
use sim::coalescing::Coalescing;
use sim::cost::Cost;
use sim::link::{HEADERS, LinkSpec, media};
use sim::solaris::host::Host;
use sim::solaris::spec::{Costs, HostSpec, Rules};
use sim::time::US;
use sim::world::{End, WorldSpec, run};

const NOTHING: Cost = Cost { fixed: 0, per_byte: 0 };
const FREE: Costs = Costs {
    write_call: 0,
    copy_in: NOTHING,
    hand_over: 0,
    send: NOTHING,
    send_mapped: 0,
    send_block: 0,
    pull_up: NOTHING,
    send_ack: 0,
    interrupt: 0,
    receive: NOTHING,
    receive_page: 0,
    receive_ack: 0,
    wake_up: 0,
    read_call: 0,
    copy_out: NOTHING,
    timer: 0,
};
/// More than any line here has under way.
const NO_WINDOW: u32 = 4 << 20;

/// Bits a second of the second half, when every window has opened.
fn rate(row: &[&str]) -> f64 {
    let number = |index: usize| row[index].parse::<u32>().expect("a number");
    let named = media::named(row[0]).expect("the line is known");
    let window_bytes = if number(2) == 0 { NO_WINDOW } else { number(2) };
    let rules = Rules { deferred_acks_max: number(4), answers_small_segments: false, ..Rules::SOLARIS_8 };
    let spec = HostSpec {
        rules,
        costs: FREE,
        coalescing: Coalescing::NONE,
        dma_per_byte: 0,
        switch_per_byte: 0,
        processors: 1,
        has_interrupt_processor: true,
        mss: named.mtu_bytes - HEADERS,
        window_bytes,
        no_delay: true,
        jitter_per_mille: 0,
    };
    let call_bytes = number(1);
    let left_bytes = (12_000_000 / u64::from(call_bytes)).min(3000) * u64::from(call_bytes);
    let writer = Host::new(spec, Application::Writer { call_bytes, left_bytes }, 1);
    let reader = Host::new(spec, Application::Reader { call_bytes: 65_536, left_bytes }, 2);
    let link = LinkSpec::usual(named, u64::from(number(3)) * US);
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, [writer, reader]);
    assert_eq!(outcome.end, End::Complete, "{row:?}");
    let arrivals: Vec<_> = outcome.log.entries.iter().filter(|entry| entry.from == 0).collect();
    let (from, to) = (arrivals[arrivals.len() / 2], arrivals[arrivals.len() - 1]);
    (to.segment.end() - from.segment.end()) as f64 * 8e12 / (to.arrives - from.arrives) as f64
}

#[test]
fn hosts_that_cost_nothing_reach_the_computed_rate() {
    let rows = include_str!("../link_rates.csv").lines().filter(|row| !row.starts_with('#')).skip(1);
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        let computed: f64 = fields[5].parse().expect("a number");
        let modeled = rate(&fields);
        println!("{row} {modeled:.0} {:+.3} %", 100.0 * (modeled / computed - 1.0));
        assert!((modeled / computed - 1.0).abs() < 0.01, "{row}: the model reaches {modeled:.0}");
        count += 1;
    }
    assert!(count > 15);
}
