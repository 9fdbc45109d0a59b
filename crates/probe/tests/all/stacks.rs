//! Stacks sampled of this process, whose threads do what the test has them do.

use crate::chosen::innermost_child;
use crate::guard;
use nix::time::{ClockId, clock_gettime};
use probe::clock::mono_ns;
use probe::stacks::{CountedStack, Profile, STACKS_MOST, SampledLoad, Sampler, SamplingRequest, Symbols};
use schema::table::{StackContext, ThreadGroup};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The child that names functions of programs.
const RESOLVER: &str = env!("CARGO_BIN_EXE_resolve-symbols");
/// A prime: no timer of the kernel beats with it.
const FREQUENCY_HZ: u32 = 997;
/// CPU time that a worker takes.
const WORK: Duration = Duration::from_millis(200);

/// Samples while a thread works until it has had its CPU time; `is_load` says whether it is the load's. Nothing where
/// this user may not sample.
fn profile(is_load: bool, window_ns: impl Fn(u64) -> (u64, u64), work: fn(Duration)) -> Option<Profile> {
    let _guard = guard();
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
    Some(Symbols::open(Vec::new(), RESOLVER.into()).resolve(&found))
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
fn a_thread_of_the_load_has_the_samples_of_its_cpu_time_and_its_functions() {
    let start = Instant::now();
    let Some(profile) = profile(true, always, spin) else { return };
    let of_load = samples_of(&profile, |stack| stack.group == ThreadGroup::Load);
    assert!(is_about_the_work(of_load), "{of_load} samples of {WORK:?}");
    assert_eq!(profile.lost_count, 0);
    assert_eq!(profile.stacks.iter().map(|stack| stack.samples_count).sum::<u64>(), profile.samples_count);
    assert!(profile.own_ns > 0);
    // What the scheduler counts, and what the hypervisor took meanwhile; the thread gives up no CPU when it ends.
    let on_cpu = Duration::from_nanos(profile.on_cpu_ns.expect("this kernel shows when threads switch"));
    assert!(WORK <= on_cpu && on_cpu <= start.elapsed(), "{on_cpu:?} of {WORK:?}");
    let is_spin =
        |stack: &CountedStack| stack.functions.iter().any(|number| profile.functions[*number as usize].name.ends_with("stacks::spin"));
    let found = samples_of(&profile, |stack| stack.context == StackContext::Process && is_spin(stack));
    let all = samples_of(&profile, |stack| stack.context == StackContext::Process && stack.group == ThreadGroup::Load);
    // The clock, which it asks now and then, hides it: the test is built without frame pointers.
    assert!(found * 10 > all * 9, "{found} of {all} samples have the function");
}

#[test]
fn a_thread_that_runs_already_has_no_time_from_before() {
    let _guard = guard();
    let (is_over, (send_id, id)) = (Arc::new(AtomicBool::new(false)), channel());
    let worker = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            send_id.send(u32::try_from(nix::unistd::gettid().as_raw()).expect("an id")).expect("the test waits");
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        }
    });
    let load = SampledLoad::Threads(vec![id.recv().expect("an id")]);
    let start = Instant::now();
    let sampler = sampler_of(&SamplingRequest { load, ..request() });
    is_over.store(true, Ordering::Relaxed);
    worker.join().expect("worker");
    let Some(sampler) = sampler else { return };
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let on_cpu = Duration::from_nanos(found.on_cpu_ns.expect("this kernel shows when threads switch"));
    assert!(on_cpu <= start.elapsed(), "{on_cpu:?} of {:?}", start.elapsed());
}

#[test]
fn other_threads_of_the_agent_are_not_the_load() {
    let Some(profile) = profile(false, always, spin) else { return };
    assert_eq!((samples_of(&profile, |stack| stack.group == ThreadGroup::Load), profile.on_cpu_ns), (0, Some(0)));
    assert!(is_about_the_work(samples_of(&profile, |stack| stack.group == ThreadGroup::Agent)));
}

#[test]
fn only_the_time_asked_for_counts() {
    let Some(before) = profile(true, |now| (now + 100_000_000_000, u64::MAX), spin) else { return };
    assert_eq!((before.samples_count, before.stacks.len(), before.on_cpu_ns), (0, 0, Some(0)));
    let Some(after) = profile(true, |now| (0, now), spin) else { return };
    assert_eq!(after.samples_count, 0);
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
fn a_frequency_that_the_kernel_refuses_is_named() {
    let _guard = guard();
    let request = SamplingRequest { cpus: vec![0], frequency_hz: u32::MAX, ..request() };
    let refused = Sampler::start(&request).err().expect("no kernel allows it");
    assert!(refused.reason.contains("perf_event_max_sample_rate") || refused.reason.contains("CAP_"), "{}", refused.reason);
}

#[test]
fn samples_of_stacks_that_find_no_room_are_lost_and_counted() {
    let _guard = guard();
    let Some(sampler) = sampler_of(&SamplingRequest { stacks_most: 4, ..request() }) else { return };
    copy(WORK);
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    assert!(found.lost_count > 0 && found.stacks.len() <= 4 + 1, "{} lost, {} stacks", found.lost_count, found.stacks.len());
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

/// A program that is in other functions all the time: 2^16 different stacks.
const WANDERS: &str = "#include <stdio.h>
    volatile unsigned long counted;
    void f(unsigned long path, int depth);
    __attribute__((noinline)) void g(unsigned long path, int depth) { f(path, depth); counted++; }
    __attribute__((noinline)) void f(unsigned long path, int depth) {
        if (depth == 0) for (int i = 0; i < 100000; i++) counted++;
        else if (path & 1) g(path >> 1, depth - 1);
        else f(path >> 1, depth - 1);
        counted++;
    }
    int main(void) {
        puts(\"it runs\"); fflush(stdout);
        for (unsigned long path = 1;; path = path * 75 % 65537) f(path, 16);
    }";

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
        let innermost = innermost_child(self.0.id());
        let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", self.0.id()));
        let _ = self.0.kill();
        let _ = self.0.wait();
        // What `unshare --kill-child` started ends a little later, and would be sampled by the next test.
        while std::fs::read(format!("/proc/{innermost}/cmdline")).is_ok_and(|line| !line.is_empty()) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Waits until the program has had its CPU time.
fn works(running: &Running) {
    let process = innermost_child(running.0.id());
    let probe = probe::threads::ThreadProbe::open_of(process, process).expect("it runs");
    while u128::from(probe.sample().expect("it runs").cpu_ns) < WORK.as_nanos() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Compiles the program with these words into a folder of its own.
fn compiled(compile_with: &[&str]) -> (PathBuf, PathBuf) {
    compiled_of(SPINS, compile_with)
}

fn compiled_of(text: &str, compile_with: &[&str]) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("whyperf-spins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, program) = (folder.join("spins.c"), folder.join("spins"));
    std::fs::write(&source, text).expect("a file");
    let status = Command::new("cc").arg("-O1").args(compile_with).arg(&source).arg("-o").arg(&program).status();
    assert!(status.expect("a compiler").success());
    (folder, program)
}

#[test]
fn a_program_of_others_takes_no_room_from_the_load() {
    let _guard = guard();
    let (folder, program) = compiled_of(WANDERS, &["-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]);
    let request = SamplingRequest { stacks_most: 2_000, frequency_hz: 10_000, ..request() };
    let Some(sampler) = sampler_of(&request) else { return };
    let running = Running::start(&mut Command::new(&program));
    works(&running);
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    drop(running);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let without_name: u64 = found.counts.iter().filter(|(key, _)| key.group == 4 && key.process == 0).map(|(_, count)| count).sum();
    assert!(without_name > 400, "{without_name} samples found no room for their stack");
    assert!(found.lost_count * 10 < without_name, "{} of {} lost", found.lost_count, found.samples_count);
    assert_eq!(found.counts.iter().map(|(_, count)| count).sum::<u64>() + found.lost_count, found.samples_count);
}

/// Names of the functions that a program of others was in: one that is compiled and started with these words, and has
/// ended before the names are looked for if `has_ended`. Nothing where this user may not sample.
fn names_of(compile_with: &[&str], start_with: &[&str], has_ended: bool) -> Option<Vec<String>> {
    let _guard = guard();
    let (folder, program) = compiled(compile_with);
    let sampler = sampler_of(&request())?;
    let mut running = Some(Running::start(Command::new(start_with[0]).args(&start_with[1..]).arg(&program)));
    works(running.as_ref().expect("it runs"));
    if has_ended {
        running = None;
    }
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let profile = Symbols::open(Vec::new(), RESOLVER.into()).resolve(&found);
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
fn a_watched_program_is_the_load_and_has_its_names() {
    let _guard = guard();
    let watches = SamplingRequest { load: SampledLoad::Processes(Vec::new()), ..request() };
    let Some(mut watching) = sampler_of(&watches) else { return };
    let (folder, program) = compiled(&[]);
    let (chosen, other) = (Running::start(&mut Command::new(&program)), Running::start(&mut Command::new(&program)));
    watching.set_load(&[1, u32::MAX]).unwrap_or_else(|refused| panic!("{}", refused.reason));
    watching.set_load(&[chosen.0.id()]).unwrap_or_else(|refused| panic!("{}", refused.reason));
    works(&chosen);
    works(&other);
    let found = watching.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let profile = Symbols::open(Vec::new(), RESOLVER.into()).resolve(&found);
    drop((chosen, other));
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let of = |group: ThreadGroup| samples_of(&profile, move |stack| stack.group == group && stack.program == "spins");
    assert!(of(ThreadGroup::Load) > 0 && of(ThreadGroup::Other) > 0);
    assert_eq!(samples_of(&profile, |stack| stack.group == ThreadGroup::Load && stack.program != "spins"), 0);
    let of_load = profile.stacks.iter().filter(|stack| stack.group == ThreadGroup::Load);
    let names: Vec<_> = of_load.flat_map(|stack| &stack.functions).map(|number| &profile.functions[*number as usize]).collect();
    assert!(names.iter().any(|function| function.object.ends_with("spins") && function.name == "spins_in_here"), "{names:?}");
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

/// A program that runs what it has compiled, at a known address: a jump to itself.
const COMPILES: &str = "#include <stdio.h>
    #include <string.h>
    #include <sys/mman.h>
    #ifdef __x86_64__
    static unsigned char code[] = {0xeb, 0xfe};
    #else
    static unsigned int code[] = {0x14000000};
    #endif
    int main(void) {
        char *at = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        memcpy(at, code, sizeof code);
        __builtin___clear_cache(at, at + sizeof code);
        puts(\"it runs\");
        fflush(stdout);
        ((void (*)(void))at)();
    }";

/// Has all sections with debugging information say that they are compressed and have 2^46 bytes: `Elf64_Shdr` and
/// `Elf64_Chdr` (`include/uapi/linux/elf.h`, gABI chapter 4).
fn make_bomb(program: &Path) {
    let mut bytes = std::fs::read(program).expect("a file");
    let number = |bytes: &[u8], at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let (headers, count, names) = (number(&bytes, 40, 8), number(&bytes, 60, 2), number(&bytes, 62, 2));
    let names = number(&bytes, headers + 64 * names + 24, 8);
    let mut made = 0;
    for header in (0..count).map(|index| headers + 64 * index) {
        let name = names + number(&bytes, header, 4);
        if bytes[name..].starts_with(b".debug_") && number(&bytes, header + 32, 8) >= 24 {
            bytes[header + 8..header + 16].copy_from_slice(&0x800_u64.to_le_bytes());
            let at = number(&bytes, header + 24, 8);
            for (place, value) in [1, 1 << 46, 1_u64].into_iter().enumerate() {
                bytes[at + 8 * place..at + 8 * place + 8].copy_from_slice(&value.to_le_bytes());
            }
            made += 1;
        }
    }
    assert!(made > 1);
    std::fs::write(program, bytes).expect("a file");
}

#[test]
fn a_hostile_program_costs_no_name_but_its_own() {
    let _guard = guard();
    let Some(sampler) = sampler_of(&request()) else { return };
    let (folder, spins) = compiled(&["-g"]);
    let compiles = folder.join("compiles");
    let source = compiles.with_extension("c");
    std::fs::write(&source, COMPILES).expect("a file");
    assert!(Command::new("cc").arg(&source).arg("-o").arg(&compiles).status().expect("a compiler").success());
    let right = "echo '10000000 2 compiled_here'";
    let programs = [
        ("good", &spins, String::new(), "spins_in_here"),
        ("bomb", &spins, String::new(), "spins_in_here"),
        ("compiled", &compiles, format!("{right} >/tmp/perf-$$.map"), "compiled_here"),
        ("fifo", &compiles, "mkfifo /tmp/perf-$$.map".to_owned(), "[unknown]"),
        ("link", &compiles, format!("{right} >$0.map && ln -s $0.map /tmp/perf-$$.map"), "[unknown]"),
        ("zeros", &compiles, "ln -s /dev/zero /tmp/perf-$$.map".to_owned(), "[unknown]"),
        ("endless", &compiles, "truncate -s 1T /tmp/perf-$$.map".to_owned(), "[unknown]"),
        ("foreign", &compiles, format!("{right} >/tmp/perf-$$.map && chown 65534 /tmp/perf-$$.map"), "[unknown]"),
    ];
    let running = programs.iter().map(|(name, program, prepare, _)| {
        let copy = folder.join(name);
        std::fs::copy(program, &copy).expect("a copy");
        if *name == "bomb" {
            make_bomb(&copy);
        }
        Running::start(Command::new("sh").args(["-c", &format!("{prepare}\nexec \"$0\"")]).arg(&copy))
    });
    let running = running.collect::<Vec<_>>();
    running.iter().for_each(works);
    let mut found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    // Only the programs that were sampled most have names, and a busy host has others.
    found.counts.retain(|(key, _)| running.iter().any(|program| program.0.id() == key.process));
    let profile = Symbols::open(Vec::new(), RESOLVER.into()).resolve(&found);
    drop(running);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    for (name, .., expected) in &programs {
        let of_it = profile.stacks.iter().filter(|stack| stack.program == *name && stack.context == StackContext::Process);
        let most = of_it.max_by_key(|stack| stack.samples_count).expect("it was sampled");
        let names: Vec<_> = most.functions.iter().map(|number| profile.functions[*number as usize].name.as_str()).collect();
        assert_eq!(names.last(), Some(expected), "{name}: {names:?}");
    }
    let failures = profile.unnamed_programs.expect("one of them ended its child");
    assert!(failures.contains("ended with signal: 6 (SIGABRT)"), "{failures}");
}

#[test]
fn what_reads_the_files_of_a_program_has_no_privileges() {
    let _guard = guard();
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("skipped: there are none to give up");
    }
    // On its own stack, which is in no file: the child reads a map that is long enough to be met at it.
    let own = std::process::id();
    let map = PathBuf::from(format!("/tmp/perf-{own}.map"));
    std::fs::write(&map, vec![b'\n'; 64 << 20]).expect("a file");
    let mut child = Command::new(RESOLVER).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let question = format!(r#"{{"process": {own}, "addresses": [{}]}}"#, (&raw const map).addr());
    child.stdin.take().expect("a pipe").write_all(question.as_bytes()).expect("it reads");
    let status = format!("/proc/{}/status", child.id());
    let (mut read, mut has_none) = (String::new(), false);
    while !has_none && child.try_wait().expect("it is ours").is_none() {
        read = std::fs::read_to_string(&status).expect("it is not reaped");
        let line =
            |key: &str| read.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        has_none = line("Uid:") == ["65534"; 4] && line("Gid:") == ["65534"; 4] && line("Groups:").is_empty();
        has_none &= ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"].iter().all(|set| line(set) == ["0000000000000000"]);
    }
    let _ = child.kill();
    let _ = child.wait();
    std::fs::remove_file(&map).expect("it is ours");
    assert!(has_none, "{read}");
}

#[test]
fn a_window_that_is_set_later_counts() {
    let _guard = guard();
    let Some(mut sampler) = sampler_of(&SamplingRequest { end_mono_ns: 0, ..request() }) else { return };
    spin(WORK / 3);
    sampler.set_window(mono_ns(), u64::MAX).unwrap_or_else(|refused| panic!("{}", refused.reason));
    spin(WORK);
    let found = sampler.finish().unwrap_or_else(|refused| panic!("{}", refused.reason));
    let own = found.counts.iter().filter(|(key, _)| key.group == 1).map(|(_, count)| count).sum();
    assert!(is_about_the_work(own), "{own} samples of this thread");
}

#[test]
fn a_child_that_stays_root_though_it_may_change_its_user_reads_nothing() {
    // Root of a user namespace in which there is no other user; and root that lacks the capability, as in a pod.
    let only_root = ["unshare", "--user", "--map-root-user", "--"];
    let lacking = ["setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-setuid,-setgid", "--"];
    for (before, answers) in [(only_root, false), (lacking, true)] {
        let may = Command::new(before[0]).args(&before[1..]).arg("true").stderr(Stdio::null()).status();
        if !nix::unistd::geteuid().is_root() || !may.is_ok_and(|status| status.success()) {
            eprintln!("skipped: {} is refused here", before[0]);
            continue;
        }
        let mut child = Command::new(before[0])
            .args(&before[1..])
            .arg(RESOLVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let question = format!(r#"{{"process":{},"addresses":[]}}"#, std::process::id());
        child.stdin.take().expect("a pipe").write_all(question.as_bytes()).expect("it reads");
        assert_eq!(child.wait().expect("a child").success(), answers, "{before:?}");
    }
}
