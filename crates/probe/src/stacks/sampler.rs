//! Loads the program that samples, attaches it to events of each CPU, and reads what it counted.

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, ProgramMut};
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter};
use schema::evidence::SampledEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::{fs, io, slice};

use super::layout::{self, Frames};
use crate::clock::mono_ns;
use crate::evidence::Refused;
use crate::evidence::object::unpacked;
use crate::host::privileges::remedy;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stacks.bpf.o.z"));

/// Different stacks that are kept: 1 KB each, which cannot be swapped.
pub const STACKS_MOST: u32 = 16_384;
/// Different combinations of stacks and threads that are counted, for each stack that is kept.
const COUNTS_EACH: u32 = 2;
/// Programs that are not the load have maps of their own: for one stack where the load has so many.
const LESS_FOR_OTHERS: u32 = 4;
/// Processes of watched programs that are distinguished from others.
const PROCESSES_MOST: u32 = 4096;

/// Timers by which each CPU is sampled where no PMU does it.
///
/// One timer takes its samples in equal distances. A load that repeats itself in less, as transactions do, is then
/// sampled at a few of its instants only: of the same CPU time in equal trials, one had three times the samples of another.
/// Between two samples of a slower timer the load repeats itself more often, and loses its phase. Timers of different
/// periods do not fail together where a period is a multiple of the load's.
///
/// Each one's rate in thousandths of their mean: spread over ± 9 % in steps of the golden ratio, so that no period is a
/// simple multiple of another.
const TIMER_RATES: [u64; 8] = [917, 1041, 964, 1088, 1011, 935, 1059, 985];

/// The request: what is sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingRequest {
    /// The CPUs; none: all that are online.
    pub cpus: Vec<u32>,
    /// Samples of each CPU in a second.
    pub frequency_hz: u32,
    /// Whose samples are the load's.
    pub load: SampledLoad,
    /// Samples count from here on, on `CLOCK_MONOTONIC` in ns.
    pub start_mono_ns: u64,
    /// And until here.
    pub end_mono_ns: u64,
    /// Different stacks that are kept; samples of further ones are lost. [`STACKS_MOST`] unless there is a reason.
    pub stacks_most: u32,
}

/// The load, by numbers in this process's PID namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampledLoad {
    /// These threads of this process.
    Threads(Vec<u32>),
    /// Processes of watched programs, with all their threads; there may be others later.
    Processes(Vec<u32>),
}

/// The key that separates samples: the numbers of their stacks, and whose thread it was.
pub use super::layout::Sampled as Key;

/// The samples, as addresses.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Samples by what separates them.
    pub counts: Vec<(Key, u64)>,
    /// The addresses of each stack, the innermost first.
    pub stacks: BTreeMap<u64, Vec<u64>>,
    /// The event.
    pub event: SampledEvent,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// All samples within the time asked for.
    pub samples_count: u64,
    /// Of these, those whose stack found no room.
    pub lost_count: u64,
    /// Time that counting them took, on all CPUs.
    pub own_ns: u64,
    /// True if the kernel keeps the time of interrupts out of that of threads.
    pub keeps_interrupts_apart: bool,
    /// Time for which threads of the load had a CPU, in ns, whatever came on top of them; `None` where the kernel does not
    /// show when threads switch.
    pub on_cpu_ns: Option<u64>,
}

/// Samples until it is dropped, which takes everything out of the kernel.
pub struct Sampler {
    // Links first: a program is detached before its event is closed.
    links: Vec<Link>,
    events: Vec<Counter>,
    object: Object,
    event: SampledEvent,
    cpus: Vec<u32>,
    asked: layout::SamplingRequest,
    /// When the programs were about to be attached: which thread had a CPU before is not known.
    began_mono_ns: u64,
    sees_switches: bool,
    /// The content of the map of the load.
    load: BTreeSet<u32>,
}

impl Sampler {
    /// Samples what is asked for.
    ///
    /// # Errors
    /// The kernel refuses the program or the events, with the reason in a sentence.
    pub fn start(asked: &SamplingRequest) -> Result<Self, Refused> {
        crate::evidence::silence();
        let mut object = ObjectBuilder::default().open_memory(&unpacked(OBJECT))?;
        let (SampledLoad::Threads(load) | SampledLoad::Processes(load)) = &asked.load;
        let room = match &asked.load {
            SampledLoad::Threads(threads) => u32::try_from(threads.len()).unwrap_or(u32::MAX).max(1),
            SampledLoad::Processes(_) => PROCESSES_MOST,
        };
        let of_others = asked.stacks_most.div_ceil(LESS_FOR_OTHERS);
        for mut map in object.maps_mut() {
            match map.name().to_string_lossy().as_ref() {
                "counts" => map.set_max_entries(asked.stacks_most.saturating_mul(COUNTS_EACH))?,
                "stacks" => map.set_max_entries(asked.stacks_most)?,
                "counts_of_others" => map.set_max_entries(of_others.saturating_mul(COUNTS_EACH))?,
                "stacks_of_others" => map.set_max_entries(of_others)?,
                "load_threads" => map.set_max_entries(room)?,
                _ => {}
            }
        }
        let object = object.load()?;
        let began_mono_ns = mono_ns();
        let configured = configure(&object, asked, began_mono_ns)?;
        let cpus = if asked.cpus.is_empty() { crate::host::cpus::online() } else { asked.cpus.clone() };
        let (events, event) = open_events(&cpus, asked.frequency_hz).map_err(|error| Refused { reason: reason_of(&error) })?;
        let program = program_named(&object, "sample")?;
        let mut links = events.iter().map(|event| attach(&program, event)).collect::<Result<Vec<_>, _>>()?;
        let switches = ["sched_switch", "sched_process_exit"].map(|name| program_named(&object, name)?.attach().map_err(Refused::from));
        let sees_switches = switches.iter().all(Result::is_ok);
        links.extend(switches.into_iter().flatten());
        let mut sampler =
            Self { links, events, object, event, cpus, asked: configured, began_mono_ns, sees_switches, load: BTreeSet::new() };
        sampler.set_load(load)?;
        for counter in &mut sampler.events {
            counter.enable().map_err(|error| Refused { reason: reason_of(&error) })?;
        }
        Ok(sampler)
    }

    /// Samples count from here on until there, on `CLOCK_MONOTONIC` in ns, instead of what was asked for: loading the
    /// program may have taken longer than the load was to wait.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_window(&mut self, start_mono_ns: u64, end_mono_ns: u64) -> Result<(), Refused> {
        let start_ns = start_mono_ns.max(self.began_mono_ns);
        self.asked = layout::SamplingRequest { start_ns, end_ns: end_mono_ns, ..self.asked };
        write(&self.object, &self.asked)
    }

    /// Has the load be these threads or processes instead of others.
    ///
    /// # Errors
    /// The kernel has no room for them.
    pub fn set_load(&mut self, load: &[u32]) -> Result<(), Refused> {
        let (map, wanted) = (map(&self.object, "load_threads")?, load.iter().copied().collect::<BTreeSet<_>>());
        for former in self.load.difference(&wanted) {
            map.delete(&former.to_ne_bytes())?;
        }
        for new in wanted.difference(&self.load) {
            map.update(&new.to_ne_bytes(), &[1], MapFlags::ANY)?;
        }
        self.load = wanted;
        Ok(())
    }

    /// Ends sampling and reads what was counted.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn finish(self) -> Result<Sampled, Refused> {
        let Self { links, events, object, event, cpus, sees_switches, .. } = self;
        drop(links);
        drop(events);
        let mut sampled = Sampled { event, cpus, on_cpu_ns: sees_switches.then_some(0), ..Sampled::default() };
        for name in ["counts", "counts_of_others"] {
            let counts = map(&object, name)?;
            for key in counts.keys() {
                let Some(count) = counts.lookup(&key, MapFlags::ANY)? else { continue };
                sampled.counts.push((read::<Key>(&key), read::<u64>(&count)));
            }
        }
        for name in ["stacks", "stacks_of_others"] {
            let stacks = map(&object, name)?;
            for key in stacks.keys() {
                let Some(value) = stacks.lookup(&key, MapFlags::ANY)? else { continue };
                let frames = read::<Frames>(&value);
                let length = usize::try_from(frames.count).unwrap_or(0).min(frames.addresses.len());
                sampled.stacks.insert(read::<u64>(&key), frames.addresses[..length].to_vec());
            }
        }
        let of_cpus = map(&object, "cpus")?;
        let of_cpus = of_cpus.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
        for of_cpu in of_cpus.iter().map(|bytes| read::<layout::SampledCpu>(bytes)) {
            sampled.samples_count += of_cpu.samples_count;
            sampled.lost_count += of_cpu.lost_count;
            sampled.own_ns += of_cpu.own_ns;
            sampled.on_cpu_ns = sampled.on_cpu_ns.map(|sum_ns| sum_ns + of_cpu.on_cpu_ns);
            // The kernel may be able to and not do it: then the time stands still.
            sampled.keeps_interrupts_apart |= of_cpu.apart_ns > of_cpu.apart_from_ns;
        }
        // The order of a hash map is that of the run.
        sampled.counts.sort_unstable_by_key(|(key, count)| (std::cmp::Reverse(*count), key.kernel_stack, key.user_stack, key.process));
        Ok(sampled)
    }
}

/// Gives the program what is asked for.
fn configure(object: &Object, asked: &SamplingRequest, began_mono_ns: u64) -> Result<layout::SamplingRequest, Refused> {
    let namespace = fs::metadata("/proc/self/ns/pid").map_err(|error| Refused { reason: format!("reading the PID namespace: {error}") })?;
    let values = layout::SamplingRequest {
        start_ns: asked.start_mono_ns.max(began_mono_ns),
        end_ns: asked.end_mono_ns,
        namespace_device: namespace.dev(),
        namespace_inode: namespace.ino(),
        process: std::process::id(),
        watches: u32::from(matches!(asked.load, SampledLoad::Processes(_))),
    };
    write(object, &values)?;
    Ok(values)
}

fn write(object: &Object, values: &layout::SamplingRequest) -> Result<(), Refused> {
    Ok(map(object, ".bss")?.update(&0_u32.to_ne_bytes(), bytes_of(values), MapFlags::ANY)?)
}

/// A map by the end of its name: the kernel cuts the names of an object's own maps.
fn map<'a>(object: &'a Object, name: &str) -> Result<libbpf_rs::Map<'a>, Refused> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(name));
    found.ok_or_else(|| Refused { reason: format!("the object has no map {name}") })
}

fn program_named<'a>(object: &'a Object, name: &str) -> Result<ProgramMut<'a>, Refused> {
    let found = object.progs_mut().find(|program| program.name() == name);
    found.ok_or_else(|| Refused { reason: format!("the object has no program {name}") })
}

/// Has the program run at each sample of an event.
fn attach(program: &ProgramMut<'_>, event: &Counter) -> Result<Link, Refused> {
    // SAFETY: the descriptor is open while `event` lives.
    let event = unsafe { BorrowedFd::borrow_raw(event.as_raw_fd()) };
    let own = event.try_clone_to_owned().map_err(|error| Refused { reason: format!("copying a file descriptor: {error}") })?;
    // The link closes the descriptor that it is given.
    Ok(program.attach_perf_event(own.into_raw_fd())?)
}

/// The events of each CPU: cycles where the machine counts them, otherwise timers.
fn open_events(cpus: &[u32], frequency_hz: u32) -> io::Result<(Vec<Counter>, SampledEvent)> {
    // The kernel changes the distance of samples by cycles all the time, to keep the frequency.
    let by_cycles = cpus.iter().map(|cpu| open(Hardware::CPU_CYCLES, *cpu, SampledAt::Frequency(frequency_hz)));
    if let Ok(events) = by_cycles.collect() {
        return Ok((events, SampledEvent::Cycles));
    }
    // The kernel checks a frequency, and no period.
    if let Some(first) = cpus.first() {
        drop(open(Software::CPU_CLOCK, *first, SampledAt::Frequency(frequency_hz))?);
    }
    let periods = timer_periods_ns(frequency_hz);
    let timers = cpus.iter().flat_map(|cpu| periods.map(|period_ns| (*cpu, period_ns)));
    let events = timers.map(|(cpu, period_ns)| open(Software::CPU_CLOCK, cpu, SampledAt::Period(period_ns)));
    Ok((events.collect::<io::Result<_>>()?, SampledEvent::CpuClock))
}

/// The distance between the samples of an event: so many a second, or so many of what it counts.
#[derive(Clone, Copy)]
enum SampledAt {
    Frequency(u32),
    Period(u64),
}

fn open<E: Event>(event: E, cpu: u32, at: SampledAt) -> io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder.any_pid().one_cpu(usize::try_from(cpu).map_err(io::Error::other)?).include_kernel();
    match at {
        SampledAt::Frequency(hz) => builder.sample_frequency(u64::from(hz)),
        SampledAt::Period(count) => builder.sample_period(count),
    };
    builder.build()
}

/// The periods of the timers of a CPU, in ns: so many samples a second together.
fn timer_periods_ns(frequency_hz: u32) -> [u64; TIMER_RATES.len()] {
    const THOUSANDTHS_OF_NS: u64 = 1_000_000_000 * 1_000;
    TIMER_RATES.map(|rate| TIMER_RATES.len() as u64 * THOUSANDTHS_OF_NS / (u64::from(frequency_hz.max(1)) * rate))
}

fn reason_of(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("the kernel does not let this user sample CPUs; {}", remedy(&["CAP_PERFMON", "CAP_BPF"]))
        }
        Some(libc::EINVAL) => {
            "the kernel refuses this frequency of samples; ask for fewer, see kernel.perf_event_max_sample_rate".to_owned()
        }
        _ => format!("perf_event_open: {error}"),
    }
}

/// The bytes of a structure of integers.
fn bytes_of<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: the structures of `layout` are integers without padding, and live longer than the slice.
    unsafe { slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// A structure of integers from the bytes of a map.
fn read<T: Copy>(bytes: &[u8]) -> T {
    assert!(bytes.len() >= size_of::<T>(), "{} bytes of a map cannot hold {}", bytes.len(), size_of::<T>());
    // SAFETY: there are enough bytes, any of which make valid integers.
    unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_take_the_samples_asked_for_together_and_never_keep_step() {
        for frequency_hz in [1, 97, 997, 20_000] {
            let periods = timer_periods_ns(frequency_hz);
            let hour_ns = 3_600_000_000_000;
            let in_an_hour: u64 = periods.iter().map(|period_ns| hour_ns / period_ns).sum();
            let asked = 3_600 * u64::from(frequency_hz);
            assert!(in_an_hour.abs_diff(asked) <= 8 + asked / 1_000, "{in_an_hour} of {asked}");
            for (place, period_ns) in periods.iter().enumerate() {
                // Of two that differ by 1 % or more, one has passed the other within a hundred samples.
                let is_near = |other: &u64| other.abs_diff(*period_ns) * 100 < *period_ns;
                assert!(!periods[place + 1..].iter().any(is_near), "{periods:?}");
            }
        }
    }
}
