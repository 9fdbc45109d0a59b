//! What the rules of Linux make of a stream between two hosts joined by a veth pair, segment by segment.

use sim::application::Application;
use sim::link::{LinkSpec, media};
use sim::linux::host::Host;
use sim::linux::profile;
use sim::linux::spec::{Adapter, Costs, HostSpec, Kernel, Socket};
use sim::machine::{Buffers, Machine};
use sim::profile::Library;
use sim::time::US;
use sim::world::{End, Outcome, WorldSpec, run};

const MEGABYTES: u64 = 1 << 20;

fn spec(window: Option<u32>) -> HostSpec {
    let profile = Library::shipped().and_then(|library| library.resolve("linux-6.18+veth")).expect("shipped");
    let buffers = Buffers { send_bytes: window, receive_bytes: window, window_bytes: window, ..Buffers::default() };
    profile::read(&profile, &buffers).expect("it can be read").0
}

fn transfer(spec: &HostSpec, write: u32, read: u32, bytes: u64) -> Outcome {
    let link = LinkSpec { headers_bytes: 52, ..LinkSpec::usual(media::VETH, US) };
    let writer = Host::new(*spec, Application::Writer { call_bytes: write, left_bytes: bytes }, 1);
    let reader = Host::new(*spec, Application::Reader { call_bytes: read, left_bytes: bytes }, 2);
    let ends = [writer, reader].map(|host| Machine::Linux(Box::new(host)));
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, ends);
    assert_eq!(outcome.end, End::Complete);
    assert_eq!(outcome.states[1].read_bytes, bytes);
    outcome
}

/// Payloads that the writer sent, and how many acknowledgments the reader did.
fn sent(outcome: &Outcome) -> Vec<u32> {
    outcome.log.entries.iter().filter(|entry| entry.from == 0).map(|entry| entry.segment.bytes).collect()
}

/// Share of the payload in super-segments of that size.
fn share(sizes: &[u32], size: u32) -> f64 {
    let bytes = |sizes: &mut dyn Iterator<Item = &u32>| sizes.map(|&bytes| f64::from(bytes)).sum::<f64>();
    bytes(&mut sizes.iter().filter(|&&bytes| bytes == size)) / bytes(&mut sizes.iter())
}

#[test]
fn a_large_window_fills_super_segments_of_45_segments() {
    let outcome = transfer(&spec(Some(1 << 20)), 262_144, 262_144, 16 * MEGABYTES);
    assert!(share(&sent(&outcome), 65_160) > 0.9);
}

#[test]
fn an_unscaled_window_is_announced_in_whole_segments_and_sent_in_halves() {
    let outcome = transfer(&spec(Some(8192)), 65_536, 262_144, MEGABYTES);
    // Five segments of 1448, of which two fit into half of the first window.
    let announced = outcome.log.entries.iter().filter(|entry| entry.from == 1).map(|entry| entry.segment.window);
    assert!(announced.skip(20).all(|window| window <= 7240));
    assert!(sent(&outcome).iter().all(|&bytes| bytes <= 2896 || bytes.is_multiple_of(1448)));
}

#[test]
fn small_writes_are_gathered_while_the_device_is_busy() {
    let corked = transfer(&spec(None), 64, 262_144, MEGABYTES);
    let kernel = Kernel { corks: false, ..Kernel::default() };
    let uncorked = transfer(&HostSpec { kernel, ..spec(None) }, 64, 262_144, MEGABYTES);
    let no_delay = Socket { no_delay: true, ..Socket::default() };
    let at_once = transfer(&HostSpec { kernel, socket: no_delay, ..spec(None) }, 64, 262_144, MEGABYTES);
    // Nagle's rule alone waits for acknowledgments; without it every write is a segment of its own.
    assert!(sent(&corked).len() * 5 < sent(&at_once).len());
    assert!(sent(&uncorked).len() < sent(&at_once).len());
    assert!(share(&sent(&at_once), 64) > 0.9);
}

#[test]
fn without_segmentation_every_frame_is_a_segment_and_gro_merges_them_again() {
    let cut = Adapter { has_segmentation: false, has_gro: false, ..spec(None).adapter };
    let frames = transfer(&HostSpec { adapter: cut, ..spec(None) }, 65_536, 262_144, 16 * MEGABYTES);
    assert!(sent(&frames).iter().all(|&bytes| bytes <= 1448));
    let merging = Adapter { has_gro: true, ..cut };
    let merged = transfer(&HostSpec { adapter: merging, ..spec(None) }, 65_536, 262_144, 16 * MEGABYTES);
    let [few, many] = [&merged, &frames].map(|outcome| outcome.states[1].segments_in);
    assert!(few * 3 < many, "{few} of {many}");
}

#[test]
fn handing_over_costs_the_sender_where_the_other_processor_is_not_at_it() {
    let busy = |handover, bytes| {
        let costs = Costs { handover, ..spec(None).costs };
        let mut quiet = HostSpec { costs, jitter_per_mille: 0, ..spec(Some(1 << 20)) };
        quiet.adapter.has_segmentation = false;
        let outcome = transfer(&quiet, 1 << 20, 1 << 20, bytes);
        (outcome.states[0].busy.iter().sum::<u64>(), sent(&outcome).len())
    };
    // Two frames that leave together interrupt the other processor once.
    for frames in [1, 2] {
        let [(plain, count), (dear, _)] = [0, US].map(|handover| busy(handover, frames * 1448));
        assert_eq!((dear - plain, count as u64), (US, frames));
    }
}

#[test]
fn more_window_never_moves_less_and_little_moves_little() {
    let rates = [8192, 65_536, 1 << 20].map(|window| transfer(&spec(Some(window)), 65_536, 262_144, 16 * MEGABYTES).goodput_bps(1));
    assert!(rates[0] < rates[1] && rates[1] < rates[2], "{rates:?}");
}

#[test]
fn autotuning_ends_where_a_large_window_is() {
    let tuned = transfer(&spec(None), 262_144, 262_144, 64 * MEGABYTES);
    let set = transfer(&spec(Some(4 << 20)), 262_144, 262_144, 64 * MEGABYTES);
    assert!(tuned.goodput_bps(1) > 0.85 * set.goodput_bps(1));
}

#[test]
fn a_run_that_cannot_go_on_says_in_what_state() {
    let link = LinkSpec::usual(media::VETH, US);
    let writer = |seed| Host::new(spec(Some(8192)), Application::Writer { call_bytes: 4096, left_bytes: MEGABYTES }, seed);
    let ends = [writer(1), writer(2)].map(|host| Machine::Linux(Box::new(host)));
    let outcome = run(&WorldSpec { link, until: None, is_logged: false }, ends);
    let End::Stuck(state) = outcome.end else { panic!("nobody read") };
    assert!(state.contains("the writer waits for memory"), "{state}");
}
