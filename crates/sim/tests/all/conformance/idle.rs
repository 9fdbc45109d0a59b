//! Slow start after idle: what a pause makes of the congestion window, on the model and in the kernel.

use super::{kernel, model};
use nix::sched::{CloneFlags, unshare};
use schema::workload::{Group, Operation, Workload};
use sim::application::{Application, Scripted};
use sim::machine;
use sim::profile::Library;
use sim::profile::profile_file::Value;
use sim::time::MS;
use sim::world::{End, WorldSpec, run};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use workload::user::Ending;

/// Enough to raise the window, and a pause of more than two timeouts of 200 ms and less than three.
const BYTES: u32 = 1 << 20;
const PAUSE: Duration = Duration::from_millis(480);

/// Around a pause.
#[derive(Debug)]
struct Paused {
    /// Congestion window before and after, in segments.
    window: [u32; 2],
    /// The pause, from the last segment before it: at least and at most, in ms.
    idle_ms: [f64; 2],
    timeout_ms: f64,
}

impl Paused {
    /// The window halved for each timeout that has passed behind the first, down to 10 (`tcp_cwnd_restart`), at the
    /// pause's least and most.
    fn expected(&self) -> [u32; 2] {
        self.idle_ms.map(|idle| {
            let mut left = idle - self.timeout_ms;
            let mut window = self.window[0];
            while left > 0.0 && window > 10 {
                window /= 2;
                left -= self.timeout_ms;
            }
            window.max(self.window[0].min(10))
        })
    }
}

/// A world in which it can be paused, with the rule or without: its name and what was seen.
type World = (&'static str, fn(bool) -> Paused);

fn worlds() -> Vec<World> {
    let mut worlds: Vec<World> = vec![("model", on_model)];
    if kernel::is_allowed() {
        worlds.push(("kernel", in_kernel));
    }
    worlds
}

fn on_model(restarts: bool) -> Paused {
    let transactions = vec![
        model::transaction("before", 1, vec![model::write(BYTES, 65_536), model::read(1)]),
        model::transaction(
            "after",
            1,
            vec![
                model::step(Operation::Think {
                    duration_ns: u64::try_from(PAUSE.as_nanos()).expect("it is short"),
                    is_busy: false,
                    is_mirrored: false,
                }),
                model::write(1, 1),
                model::read(1),
            ],
        ),
    ];
    let group = Group { name: "paused".to_owned(), strands_count: 1, is_connected: true, transactions };
    let workload = Workload { name: "paused".to_owned(), seed: 1, groups: vec![group] };
    let mut profile = Library::shipped().and_then(|library| library.resolve("linux-6.18+veth")).expect("a shipped host");
    profile.set("slow_start_after_idle", Value::Switch(restarts)).expect("the rule is there");
    profile.set("congestion_control", Value::Word("reno".to_owned())).expect("the rule is there");
    let build = |is_near, seed| {
        let process = Scripted::new(&workload, is_near, 0, Ending::default()).expect("the model has its operations");
        machine::build_with(&profile, &machine::Buffers::default(), Application::Scripted(Box::new(process)), seed).expect("it can be")
    };
    let ((near, link), (far, _)) = (build(true, 1), build(false, 2));
    let outcome = run(&WorldSpec { link, until: None, is_logged: true }, [near, far]);
    assert_eq!(outcome.end, End::Complete);
    let sent: Vec<_> = outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.segment.bytes > 0).collect();
    let [.., last, first] = sent.as_slice() else { panic!("two segments leave at least: {sent:?}") };
    // Acknowledgments of the last segments have raised the window before the pause.
    let before = outcome.log.entries.iter().filter(|entry| entry.from == 0 && entry.at < first.at).map(|entry| entry.cwnd_bytes).max();
    let ms = |time: u64| time as f64 / MS as f64;
    let segments = |bytes: u64| u32::try_from(bytes / 1448).expect("a window is small");
    Paused {
        window: [segments(before.expect("it has sent")), segments(first.cwnd_bytes)],
        idle_ms: [ms(first.at - last.at); 2],
        timeout_ms: ms(outcome.states[0].rto),
    }
}

fn in_kernel(restarts: bool) -> Paused {
    let play = move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a namespace");
        assert!(Command::new("ip").args(["link", "set", "lo", "up", "mtu", "1500"]).status().expect("ip of iproute2").success());
        let switch = if restarts { "1" } else { "0" };
        fs::write("/proc/sys/net/ipv4/tcp_slow_start_after_idle", switch).expect("the namespace has the switch");
        // Every kernel has it; BBR, which some hosts have as their default, keeps its window.
        fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").expect("the namespace has the choice");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let far = thread::spawn(move || answer(listener.accept().expect("the near side connects").0));
        let mut near = TcpStream::connect(("127.0.0.1", port)).expect("the far side listens");
        let mut reply = [0];
        near.write_all(&vec![0; BYTES as usize]).expect("a write");
        near.read_exact(&mut reply).expect("a reply");
        thread::sleep(PAUSE);
        let begun = Instant::now();
        let (before, idle_ms, timeout_ms) = reported(port);
        near.write_all(&[0]).expect("a write");
        let late = begun.elapsed();
        let (after, ..) = reported(port);
        near.read_exact(&mut reply).expect("a reply");
        far.join().expect("the far side ends");
        // It is counted in ticks of up to 10 ms.
        let idle_ms = [idle_ms - 10.0, idle_ms + 10.0 + late.as_secs_f64() * 1000.0];
        Paused { window: [before, after], idle_ms, timeout_ms }
    };
    thread::spawn(play).join().expect("the scenario ends")
}

fn answer(mut stream: TcpStream) {
    let mut payload = vec![0; BYTES as usize];
    stream.read_exact(&mut payload).expect("the payload");
    stream.write_all(&[0]).expect("a write");
    stream.read_exact(&mut payload[..1]).expect("the byte behind the pause");
    stream.write_all(&[0]).expect("a write");
}

/// Congestion window in segments, ms since data was sent, and the timeout in ms, of the connection to the port.
fn reported(port: u16) -> (u32, f64, f64) {
    let output = Command::new("ss").args(["-tinHO", "dport", &format!("= :{port}")]).output().expect("ss of iproute2");
    let line = String::from_utf8(output.stdout).expect("text");
    let word = |name| line.split_whitespace().find_map(|word| word.strip_prefix(name)).unwrap_or("0");
    let number = |name| word(name).parse().unwrap_or_else(|_| panic!("{name} of {line}"));
    (word("cwnd:").parse().expect("a window"), number("lastsnd:"), number("rto:"))
}

#[test]
fn a_window_halves_for_every_timeout_of_a_pause() {
    for (world, paused) in worlds() {
        let seen = paused(true);
        let [most, least] = seen.expected();
        assert!(seen.window[0] >= 40, "{world}: {seen:?}");
        assert!((least..=most).contains(&seen.window[1]) && seen.window[1] < seen.window[0], "{world}: {least} to {most}, {seen:?}");
    }
}

#[test]
fn without_the_rule_a_window_survives_a_pause() {
    for (world, paused) in worlds() {
        let seen = paused(false);
        assert_eq!(seen.window[1], seen.window[0], "{world}: {seen:?}");
    }
}
