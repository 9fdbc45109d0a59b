//! Turns sampled addresses into functions, on the host where they were sampled and as soon as the load is over: later, a
//! program may have ended, and other BPF programs may lie at the same addresses.

use schema::evidence::SampledEvent;
use schema::table::{FunctionKind, StackContext, ThreadGroup, Vector};
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

use super::context::of_stack;
use super::kernel_symbols::KernelSymbols;
use super::layout::{GROUP_AGENT, GROUP_IDLE, GROUP_KERNEL, GROUP_LOAD, Sampled as Key};
use super::names::{ANSWER_BYTES_MOST, ProgramNames, ask_all};
use super::resolver::Question;
use super::sampler::Sampled;

/// The stand-in for a function that has no name.
const UNKNOWN: &str = "[unknown]";
/// Other programs whose symbols are looked for: those that were sampled most often.
const PROGRAMS_MOST: usize = 16;
/// Functions on all stacks, at most: readers take twice as many of two sides (`python/whyperf/record/keys.py`). The addresses
/// of [`super::STACKS_MOST`] stacks are fewer, but any program may have 32 functions inlined at each.
const MAX_FUNCTIONS_ON_STACKS: usize = 1 << 22;
/// Inode of the initial PID namespace (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// A function, by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its name, `[unknown]` where it has none.
    pub name: String,
    /// Where it is: a module of the kernel, a program's or library's path; empty of the kernel itself.
    pub object: Rc<str>,
    /// Its kind: what runs it.
    pub kind: FunctionKind,
    /// True if a compiler put it into its caller.
    pub is_inlined: bool,
}

/// A stack, by functions, and how often it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedStack {
    /// Whose thread it was.
    pub group: ThreadGroup,
    /// Name of a thread of the kernel, of another program or one that is watched; empty of others.
    pub program: String,
    /// The context that it ran in.
    pub context: StackContext,
    /// Of a softirq, the vector.
    pub vector: Option<Vector>,
    /// Indices of its functions in [`Profile::functions`], the outermost first.
    pub functions: Vec<u32>,
    /// Samples.
    pub samples_count: u64,
}

/// The key that separates stacks: group, program, context, vector and functions.
type Separate = (ThreadGroup, String, StackContext, Option<Vector>, Vec<u32>);

/// The samples, by functions.
#[derive(Debug, Default)]
pub struct Profile {
    /// The event.
    pub event: SampledEvent,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// All functions on the stacks.
    pub functions: Vec<Function>,
    /// The stacks, most frequent first.
    pub stacks: Vec<CountedStack>,
    /// All samples within the time asked for.
    pub samples_count: u64,
    /// Of these, those whose stack found no room.
    pub lost_count: u64,
    /// Time that counting them took, on all CPUs.
    pub own_ns: u64,
    /// True if the kernel keeps the time of interrupts out of that of threads.
    pub keeps_interrupts_apart: bool,
    /// As in [`Sampled`].
    pub on_cpu_ns: Option<u64>,
    /// Why the kernel's functions have no names, when they have none.
    pub unnamed: Option<String>,
    /// Why functions of programs lack names, when reading their files failed.
    pub unnamed_programs: Option<String>,
}

/// Looks up functions.
pub struct Symbols {
    resolver: PathBuf,
    kernel: KernelSymbols,
    unnamed: Option<String>,
    /// Tags of BPF programs that belong to this measurement, as in their names in kallsyms.
    own_tags: Vec<String>,
    functions: Vec<Function>,
    numbers: HashMap<Function, u32>,
    /// By process (0: the kernel) and address; the outermost first.
    found: HashMap<(u32, u64), Vec<u32>>,
    /// Programs whose files could not be read, by the reason.
    failures: BTreeMap<String, u32>,
}

impl Symbols {
    /// Reads the kernel's names. `own_tags` are those of the BPF programs that belong to this measurement
    /// (`bpf_prog_info.tag`). `resolver` is an executable that calls [`super::resolve_stdio`] for the verb
    /// [`super::RESOLVE_VERB`]: it reads the files of programs.
    pub fn open(own_tags: Vec<String>, resolver: PathBuf) -> Self {
        let (kernel, unnamed) = match KernelSymbols::read() {
            Ok(kernel) => (kernel, None),
            Err(reason) => (KernelSymbols::default(), Some(reason)),
        };
        let (functions, numbers, found) = (Vec::new(), HashMap::new(), HashMap::new());
        Self { resolver, kernel, unnamed, own_tags, functions, numbers, found, failures: BTreeMap::new() }
    }

    /// Names what was sampled. Stacks of the same functions become one.
    pub fn resolve(mut self, sampled: &Sampled) -> Profile {
        self.find_programs(sampled);
        let mut merged: BTreeMap<Separate, CountedStack> = BTreeMap::new();
        let (mut left_count, mut lost_count) = (MAX_FUNCTIONS_ON_STACKS, sampled.lost_count);
        let mut counts: Vec<_> = sampled.counts.iter().collect();
        // Where there is no room for all, other programs lose theirs first, and then what was found least often.
        counts.sort_by_key(|(key, count)| (group_of(key.group) == ThreadGroup::Other, std::cmp::Reverse(*count)));
        for (key, count) in counts {
            let stack = self.stack(key, *count, &sampled.stacks);
            let separate = (stack.group, stack.program.clone(), stack.context, stack.vector, stack.functions.clone());
            if let Some(known) = merged.get_mut(&separate) {
                known.samples_count += count;
            } else if let Some(rest) = left_count.checked_sub(stack.functions.len()) {
                left_count = rest;
                merged.insert(separate, stack);
            } else {
                lost_count += count;
            }
        }
        let mut stacks: Vec<_> = merged.into_values().collect();
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples_count));
        Profile {
            event: sampled.event,
            cpus: sampled.cpus.clone(),
            functions: self.functions,
            stacks,
            samples_count: sampled.samples_count,
            lost_count,
            own_ns: sampled.own_ns,
            keeps_interrupts_apart: sampled.keeps_interrupts_apart,
            on_cpu_ns: sampled.on_cpu_ns,
            unnamed: self.unnamed,
            unnamed_programs: described(&self.failures),
        }
    }

    fn stack(&mut self, key: &Key, count: u64, stacks: &BTreeMap<u64, Vec<u64>>) -> CountedStack {
        let of = |number| stacks.get(&number).map_or(&[][..], Vec::as_slice);
        let (in_kernel, in_program) = (of(key.kernel_stack), of(key.user_stack));
        let group = group_of(key.group);
        let process = process_of(key);
        let mut functions = Vec::new();
        for (place, address) in in_program.iter().enumerate().rev() {
            let is_exact = place == 0 && in_kernel.is_empty();
            functions.extend_from_slice(self.of_program(process, called_from(*address, is_exact)));
        }
        let first_of_kernel = functions.len();
        for (place, address) in in_kernel.iter().enumerate().rev() {
            let function = self.of_kernel(called_from(*address, place == 0));
            functions.push(function);
        }
        let names = functions[first_of_kernel..].iter().rev().map(|number| self.functions[*number as usize].name.as_str());
        let (context, vector) = of_stack(names, group == ThreadGroup::Idle);
        let program = CStr::from_bytes_until_nul(&key.name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        CountedStack { group, program, context, vector, functions, samples_count: count }
    }

    fn of_kernel(&mut self, address: u64) -> u32 {
        if let Some(found) = self.found.get(&(0, address)).and_then(|numbers| numbers.first()) {
            return *found;
        }
        let function = match self.kernel.find(address) {
            Some(symbol) => Function {
                name: symbol.name.to_owned(),
                object: if symbol.module == "bpf" { "" } else { symbol.module }.into(),
                kind: if symbol.module == "bpf" { self.kind_of_program(symbol.name) } else { FunctionKind::Kernel },
                is_inlined: false,
            },
            None => unknown(FunctionKind::Kernel),
        };
        let number = self.number(function);
        self.found.insert((0, address), vec![number]);
        number
    }

    /// True if a BPF program, `bpf_prog_<tag>_<name>`, is one of this measurement.
    fn kind_of_program(&self, name: &str) -> FunctionKind {
        let tag = name.strip_prefix("bpf_prog_").and_then(|rest| rest.split('_').next()).unwrap_or_default();
        if self.own_tags.iter().any(|own| own == tag) { FunctionKind::OwnBpf } else { FunctionKind::Bpf }
    }

    fn of_program(&mut self, process: u32, address: u64) -> &[u32] {
        if !self.found.contains_key(&(process, address)) {
            let number = self.number(unknown(FunctionKind::Program));
            self.found.insert((process, address), vec![number]);
        }
        &self.found[&(process, address)]
    }

    /// Looks up all addresses of programs at once: a program's file is read once.
    fn find_programs(&mut self, sampled: &Sampled) {
        let mut frequency: BTreeMap<u32, u64> = BTreeMap::new();
        let mut addresses: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (key, count) in &sampled.counts {
            let Some(stack) = sampled.stacks.get(&key.user_stack) else { continue };
            let process = process_of(key);
            *frequency.entry(process).or_default() += count;
            let in_kernel = key.kernel_stack != 0;
            let called = stack.iter().enumerate().map(|(place, address)| called_from(*address, place == 0 && !in_kernel));
            addresses.entry(process).or_default().extend(called);
        }
        // The kernel's numbers are those of the initial PID namespace: in another one they are somebody else's.
        let sees_others = fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() == INITIAL_PID_NAMESPACE);
        let is_seen = |process: &u32| sees_others || *process == std::process::id();
        let mut processes: Vec<_> = frequency.into_iter().filter(|(process, _)| is_seen(process)).collect();
        processes.sort_by_key(|(process, count)| (*process != std::process::id(), std::cmp::Reverse(*count)));
        let questions = processes.into_iter().take(PROGRAMS_MOST + 1).map(|(process, _)| {
            let mut addresses = addresses.remove(&process).unwrap_or_default();
            addresses.sort_unstable();
            addresses.dedup();
            Question { process, addresses }
        });
        for (process, answer) in ask_all(&self.resolver, questions.collect()) {
            self.take_names(process, answer);
        }
    }

    /// Takes what is known of a program. What is made of an answer has a bound as the answer has: an object stands once in
    /// it for many functions, and once for each in the record.
    fn take_names(&mut self, process: u32, answer: ProgramNames) {
        let mut left_bytes = ANSWER_BYTES_MOST;
        let mut failure = answer.failure;
        for named in answer.functions {
            let object: Rc<str> = named.object.into();
            let mut numbers = Vec::with_capacity(named.functions.len());
            for (name, is_inlined) in named.functions {
                let mut function = Function { name, object: Rc::clone(&object), kind: FunctionKind::Program, is_inlined };
                if !self.numbers.contains_key(&function) {
                    let bytes = size_of::<Function>() + function.name.len() + object.len();
                    if let Some(rest) = left_bytes.checked_sub(bytes) {
                        left_bytes = rest;
                    } else {
                        failure.get_or_insert_with(|| format!("its functions take more than {ANSWER_BYTES_MOST} bytes"));
                        function = unknown(FunctionKind::Program);
                    }
                }
                numbers.push(self.number(function));
            }
            self.found.insert((process, named.address), numbers);
        }
        if let Some(reason) = failure {
            *self.failures.entry(reason).or_default() += 1;
        }
    }

    fn number(&mut self, function: Function) -> u32 {
        let next = u32::try_from(self.functions.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(function).or_insert_with_key(|function| {
            self.functions.push(function.clone());
            next
        })
    }
}

/// A function without a name.
fn unknown(kind: FunctionKind) -> Function {
    Function { name: UNKNOWN.to_owned(), object: "".into(), kind, is_inlined: false }
}

/// Describes how many programs failed, and why.
fn described(failures: &BTreeMap<String, u32>) -> Option<String> {
    let of = |(reason, count): (&String, &u32)| format!("{count} {}: {reason}", if *count == 1 { "program" } else { "programs" });
    let all: Vec<_> = failures.iter().map(of).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The address of the call: that of a caller is where it goes on afterwards, which may belong to another function.
fn called_from(address: u64, is_exact: bool) -> u64 {
    if is_exact { address } else { address.saturating_sub(1) }
}

/// The process of a sample in a program: that of the agent has no number of its own.
fn process_of(key: &Key) -> u32 {
    if key.process == 0 { std::process::id() } else { key.process }
}

fn group_of(code: u32) -> ThreadGroup {
    match code {
        GROUP_LOAD => ThreadGroup::Load,
        GROUP_AGENT => ThreadGroup::Agent,
        GROUP_KERNEL => ThreadGroup::Kernel,
        GROUP_IDLE => ThreadGroup::Idle,
        _ => ThreadGroup::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::resolver::{INLINED_MOST, Named, TEXT_BYTES_MOST};

    /// Functions `first`.. at each address, all inlined and in an object with a long path: in the answer it stands once.
    fn answer(names: impl Iterator<Item = String>, object_bytes: usize) -> ProgramNames {
        let names: Vec<_> = names.map(|name| (name, true)).collect();
        let object = "o".repeat(object_bytes);
        let chunks = names.chunks(INLINED_MOST).zip(1..);
        let functions = chunks.map(|(functions, address)| Named { address, object: object.clone(), functions: functions.to_vec() });
        ProgramNames { functions: functions.collect(), failure: None }
    }

    #[test]
    fn a_program_takes_no_more_texts_than_an_answer_may_have_and_others_keep_their_names() {
        let mut symbols = Symbols::open(Vec::new(), PathBuf::new());
        symbols.take_names(1, answer((0..32_000).map(|number| number.to_string()), TEXT_BYTES_MOST));
        let bytes: usize = symbols.functions.iter().map(|function| function.name.len() + function.object.len()).sum();
        assert!((ANSWER_BYTES_MOST / 2..=ANSWER_BYTES_MOST + UNKNOWN.len()).contains(&bytes), "{bytes} bytes");
        let last = symbols.of_program(1, 1_000)[0];
        assert_eq!(symbols.functions[last as usize].name, UNKNOWN);

        symbols.take_names(2, answer((0..20_000).map(|number| format!("{number:0>100}")), 40));
        let named = symbols.functions.iter().filter(|function| function.object.len() == 40).count();
        assert_eq!(named, 20_000);
        assert_eq!(described(&symbols.failures), Some("1 program: its functions take more than 4194304 bytes".to_owned()));
    }

    #[test]
    fn functions_share_the_path_of_their_object() {
        let mut symbols = Symbols::open(Vec::new(), PathBuf::new());
        symbols.take_names(1, answer(["outer", "inner"].map(str::to_owned).into_iter(), 10));
        assert!(Rc::ptr_eq(&symbols.functions[0].object, &symbols.functions[1].object));
    }

    #[test]
    fn very_long_stacks_of_other_programs_are_lost_before_those_of_the_load() {
        let mut symbols = Symbols::open(Vec::new(), PathBuf::new());
        symbols.take_names(1, answer((0..2 * 32).map(|number| number.to_string()), 1));
        // At each of the addresses 1 and 2, from which these go on, are 32 functions. The outermost make stacks different.
        let inner = [3; 100];
        let stack = |number: u64| inner.into_iter().chain((0..27).map(|bit| 2 + (number >> bit & 1))).collect::<Vec<_>>();
        let stacks = (1..=2_000).map(|number| (number, stack(number))).collect();
        let key = |number, group| Key { user_stack: number, process: 1, group, ..Key::default() };
        let of_others = (1..2_000).map(|number| (key(number, u32::MAX), 2));
        let counts = of_others.chain([(key(2_000, GROUP_LOAD), 1)]).collect();
        let profile = symbols.resolve(&Sampled { counts, stacks, samples_count: 3_999, ..Sampled::default() });
        let functions: usize = profile.stacks.iter().map(|stack| stack.functions.len()).sum();
        let kept: u64 = profile.stacks.iter().map(|stack| stack.samples_count).sum();
        assert!((MAX_FUNCTIONS_ON_STACKS / 2..=MAX_FUNCTIONS_ON_STACKS).contains(&functions), "{functions} functions");
        assert_eq!(kept + profile.lost_count, 3_999);
        assert!(profile.stacks.iter().any(|stack| stack.group == ThreadGroup::Load));
    }
}
