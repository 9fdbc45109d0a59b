//! Stacks sampled of this process, whose threads do what the test has them do.

use nix::time::{ClockId, clock_gettime};
use probe::clock::mono_ns;
use probe::stacks::{CountedStack, Profile, STACKS_MOST, SampledLoad, Sampler, SamplingRequest, Symbols};
use schema::table::{StackContext, ThreadGroup};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// A prime: no timer of the kernel beats with it.
const FREQUENCY_HZ: u32 = 997;
/// CPU time that a worker takes.
const WORK: Duration = Duration::from_millis(600);

/// One test at a time: each one looks for its own threads among all that run.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Samples while a thread works until it has had its CPU time; `is_load` says whether it is the load's. Nothing where
/// this user may not sample.
fn profile(is_load: bool, window_ns: impl Fn(u64) -> (u64, u64), work: fn(Duration)) -> Option<Profile> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (send_id, id) = channel();
    let (start, started) = channel::<()>();
    let worker = thread::spawn(move || {
        send_id.send(u32::try_from(nix::unistd::gettid().as_raw()).expect("an id")).expect("the test waits");
        started.recv().expect("the test starts it");
        work(WORK);
    });
    let thread = id.recv().expect("an id");
    let (start_mono_ns, end_mono_ns) = window_ns(mono_ns());
    let load = SampledLoad::Threads(if is_load { vec![thread] } else { Vec::new() });
    let request = SamplingRequest { load, start_mono_ns, end_mono_ns, ..request() };
    let sampler = sampler_of(&request)?;
    start.send(()).expect("it waits");
    worker.join().expect("worker");
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    Some(Symbols::open(Vec::new()).resolve(&found))
}

/// Of all CPUs, always, of no load.
fn request() -> SamplingRequest {
    SamplingRequest {
        cpus: Vec::new(),
        frequency_hz: FREQUENCY_HZ,
        load: SampledLoad::Threads(Vec::new()),
        start_mono_ns: 0,
        end_mono_ns: u64::MAX,
        stacks_most: STACKS_MOST,
    }
}

fn always(_: u64) -> (u64, u64) {
    (0, u64::MAX)
}

fn own_time() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("clock"))
}

/// Works in the program itself, in no function that this one calls.
fn spin(time: Duration) {
    let end = own_time() + time;
    let (mut number, mut left) = (1_u64, 0_u32);
    while own_time() < end {
        left += 500_000;
        while left > 0 {
            // Xorshift (G. Marsaglia, 2003): no compiler knows where it ends.
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            left -= 1;
        }
    }
    std::hint::black_box(number);
}

/// Works in system calls that copy.
fn copy(time: Duration) {
    let end = own_time() + time;
    let (from, to) = (std::fs::File::open("/dev/zero").expect("a device"), &mut vec![0_u8; 1 << 20]);
    while own_time() < end {
        std::io::Read::read_exact(&mut &from, to).expect("zeros");
    }
}

fn samples_of<'a>(profile: &'a Profile, is_meant: impl Fn(&CountedStack) -> bool + 'a) -> u64 {
    profile.stacks.iter().filter(|stack| is_meant(stack)).map(|stack| stack.samples_count).sum()
}

/// Whether a count is that of the work, give or take what a busy host and a random phase may change.
fn is_about_the_work(samples: u64) -> bool {
    let expected = WORK.as_secs_f64() * f64::from(FREQUENCY_HZ);
    (expected * 0.7..expected * 1.3).contains(&(samples as f64))
}

#[test]
fn a_thread_of_the_load_has_the_samples_of_its_cpu_time() {
    let Some(profile) = profile(true, always, spin) else { return };
    let of_load = samples_of(&profile, |stack| stack.group == ThreadGroup::Load);
    assert!(is_about_the_work(of_load), "{of_load} samples of {WORK:?}");
    assert_eq!(profile.lost_count, 0);
    assert_eq!(profile.stacks.iter().map(|stack| stack.samples_count).sum::<u64>(), profile.samples_count);
    assert!(profile.own_ns > 0);
}

#[test]
fn threads_of_the_load_have_a_cpu_for_as_long_as_they_work() {
    let start = Instant::now();
    let Some(profile) = profile(true, always, spin) else { return };
    let Some(on_cpu_ns) = profile.on_cpu_ns else { panic!("this kernel does not show when threads switch") };
    let on_cpu = Duration::from_nanos(on_cpu_ns);
    // What the scheduler counts, and what the hypervisor took meanwhile; the thread gives up no CPU when it ends.
    assert!(WORK <= on_cpu && on_cpu <= start.elapsed(), "{on_cpu:?} of {WORK:?}");
    let Some(other) = self::profile(false, always, spin) else { return };
    assert_eq!(other.on_cpu_ns, Some(0));
    let Some(before) = self::profile(true, |now| (now + 100_000_000_000, u64::MAX), spin) else { return };
    assert_eq!(before.on_cpu_ns, Some(0));
}

#[test]
fn other_threads_of_the_agent_are_not_the_load() {
    let Some(profile) = profile(false, always, spin) else { return };
    assert_eq!(samples_of(&profile, |stack| stack.group == ThreadGroup::Load), 0);
    assert!(is_about_the_work(samples_of(&profile, |stack| stack.group == ThreadGroup::Agent)));
}

#[test]
fn functions_of_the_kernel_have_their_names_and_the_caller_comes_first() {
    let Some(profile) = profile(true, always, copy) else { return };
    let place =
        |stack: &CountedStack, name: &str| stack.functions.iter().position(|number| profile.functions[*number as usize].name == name);
    let (call, copying) = ("vfs_read", "read_zero");
    let in_call = samples_of(&profile, |stack| stack.group == ThreadGroup::Load && place(stack, call).is_some());
    assert!(is_about_the_work(in_call), "{in_call} samples in {call}");
    let nested: Vec<_> = profile.stacks.iter().filter_map(|stack| place(stack, call).zip(place(stack, copying))).collect();
    assert!(!nested.is_empty() && nested.iter().all(|(outer, inner)| outer < inner), "{nested:?}");
}

#[test]
fn functions_of_the_program_have_their_names() {
    let Some(profile) = profile(true, always, spin) else { return };
    let is_spin =
        |stack: &CountedStack| stack.functions.iter().any(|number| profile.functions[*number as usize].name.ends_with("stacks::spin"));
    let found = samples_of(&profile, |stack| stack.context == StackContext::Process && is_spin(stack));
    let all = samples_of(&profile, |stack| stack.context == StackContext::Process && stack.group == ThreadGroup::Load);
    // The clock, which it asks now and then, hides it: the test is built without frame pointers.
    assert!(found * 10 > all * 9, "{found} of {all} samples have the function");
}

#[test]
fn only_the_time_asked_for_counts() {
    let Some(profile) = profile(true, |now| (now + 100_000_000_000, u64::MAX), spin) else { return };
    assert_eq!((profile.samples_count, profile.stacks.len()), (0, 0));
    let Some(profile) = self::profile(true, |now| (0, now), spin) else { return };
    assert_eq!(profile.samples_count, 0);
}

#[test]
fn a_frequency_that_the_kernel_refuses_is_named() {
    let request = SamplingRequest { cpus: vec![0], frequency_hz: u32::MAX, ..request() };
    let refused = Sampler::start(&request).err().expect("no kernel allows it");
    assert!(refused.reason.contains("perf_event_max_sample_rate") || refused.reason.contains("CAP_"), "{}", refused.reason);
}

#[test]
fn samples_of_stacks_that_find_no_room_are_lost_and_counted() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(sampler) = sampler_of(&SamplingRequest { stacks_most: 4, ..request() }) else { return };
    copy(WORK);
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    assert!(found.lost_count > 0 && found.stacks.len() <= 4, "{} lost, {} stacks", found.lost_count, found.stacks.len());
    let counted: u64 = found.counts.iter().map(|(_, count)| count).sum();
    assert_eq!(counted + found.lost_count, found.samples_count);
}

/// Samples, or says why this user may not.
fn sampler_of(request: &SamplingRequest) -> Option<Sampler> {
    match Sampler::start(request) {
        Ok(sampler) => Some(sampler),
        Err(refused) if nix::unistd::geteuid().is_root() => panic!("{}", refused.reason),
        Err(refused) => {
            eprintln!("skipped: {}", refused.reason);
            None
        }
    }
}

/// A program that prints a line, and then does nothing but count, in a function of this name.
const SPINS: &str = "#include <stdio.h>
    volatile unsigned long counted;
    __attribute__((noinline)) void spins_in_here(void) { for (;;) counted++; }
    int main(void) { puts(\"it runs\"); fflush(stdout); spins_in_here(); }";

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// Starts a program that prints a line when it begins its work, and waits for that line.
    fn start(command: &mut Command) -> Self {
        let mut running = Self(command.stdout(Stdio::piped()).spawn().expect("it starts"));
        let mut line = String::new();
        BufReader::new(running.0.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Names of the functions that a program of others was in: one that is compiled and started with these words, and has
/// ended before the names are looked for if `has_ended`. Nothing where this user may not sample.
fn names_of(compile_with: &[&str], start_with: &[&str], has_ended: bool) -> Option<Vec<String>> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = std::env::temp_dir().join(format!("whyperf-spins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("spins.c"), folder.join("spins"));
    std::fs::write(&source, SPINS).expect("a file");
    let status = Command::new("cc").arg("-O1").args(compile_with).arg(&source).arg("-o").arg(&program).status();
    assert!(status.expect("a compiler").success());
    let sampler = sampler_of(&request())?;
    let mut running = Some(Running::start(Command::new(start_with[0]).args(&start_with[1..]).arg(&program)));
    thread::sleep(WORK);
    if has_ended {
        running = None;
    }
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let profile = Symbols::open(Vec::new()).resolve(&found);
    drop(running);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let of_it = profile.stacks.iter().filter(|stack| stack.group == ThreadGroup::Other && stack.program == "spins");
    let innermost = of_it.filter(|stack| stack.context == StackContext::Process).filter_map(|stack| stack.functions.last());
    let mut names: Vec<_> = innermost.map(|number| profile.functions[*number as usize].name.clone()).collect();
    names.dedup();
    assert!(!names.is_empty(), "it was not sampled");
    Some(names)
}

#[test]
fn another_program_has_its_names() {
    let Some(names) = names_of(&[], &["env"], false) else { return };
    assert!(names.contains(&"spins_in_here".to_owned()), "{names:?}");
}

#[test]
fn a_program_in_other_namespaces_has_its_names() {
    // As in a container: its number and its path mean something else there.
    let hides = "mount -t tmpfs none /mnt && cp \"$0\" /mnt/spins && exec /mnt/spins";
    let start = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", hides];
    let Some(names) = names_of(&[], &start, false) else { return };
    assert!(names.contains(&"spins_in_here".to_owned()), "{names:?}");
}

#[test]
fn a_program_without_symbols_is_sampled_without_names() {
    let Some(names) = names_of(&["-s"], &["env"], false) else { return };
    assert!(!names.contains(&"spins_in_here".to_owned()) && names.contains(&"[unknown]".to_owned()), "{names:?}");
}

#[test]
fn a_program_that_has_ended_is_sampled_without_names() {
    let Some(names) = names_of(&[], &["env"], true) else { return };
    assert!(!names.contains(&"spins_in_here".to_owned()) && names.contains(&"[unknown]".to_owned()), "{names:?}");
}

#[test]
fn a_window_that_is_set_later_counts() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(mut sampler) = sampler_of(&SamplingRequest { end_mono_ns: 0, ..request() }) else { return };
    spin(WORK / 3);
    sampler.set_window(mono_ns(), u64::MAX).unwrap_or_else(|refused| panic!("{}", refused.reason));
    spin(WORK);
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let own = found.counts.iter().filter(|(key, _)| key.group == 1).map(|(_, count)| count).sum();
    assert!(is_about_the_work(own), "{own} samples of this thread");
}

#[test]
fn a_watched_program_is_the_load_and_has_its_names() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let watches = SamplingRequest { load: SampledLoad::Processes(Vec::new()), ..request() };
    let Some(mut watching) = sampler_of(&watches) else { return };
    let counts = "print('it runs', flush=True)\nwhile True: sum(range(1000))";
    let spins = || Running::start(Command::new("python3").args(["-c", counts]));
    // What starts it has another name.
    let (chosen, other) = (spins(), spins());
    watching.set_load(&[1, u32::MAX]).unwrap_or_else(|refused| panic!("{}", refused.reason));
    watching.set_load(&[chosen.0.id()]).unwrap_or_else(|refused| panic!("{}", refused.reason));
    thread::sleep(WORK);
    let found = watching.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let profile = Symbols::open(Vec::new()).resolve(&found);
    drop((chosen, other));
    let of = |group: ThreadGroup| samples_of(&profile, move |stack| stack.group == group && stack.program.starts_with("python3"));
    assert!(of(ThreadGroup::Load) > 0 && of(ThreadGroup::Other) > 0);
    assert_eq!(samples_of(&profile, |stack| stack.group == ThreadGroup::Load && !stack.program.starts_with("python3")), 0);
    let of_load = profile.stacks.iter().filter(|stack| stack.group == ThreadGroup::Load);
    let names: Vec<_> = of_load.flat_map(|stack| &stack.functions).map(|number| &profile.functions[*number as usize]).collect();
    assert!(names.iter().any(|function| function.object.contains("python3") && function.name != "[unknown]"), "{names:?}");
}
