//! The child process that names functions of one sampled program.
//!
//! The files that it reads are of other users, who may have made them for it: a section that unpacks to terabytes, a FIFO,
//! a file without an end, whatever is a mistake of a parser. So it is a process of its own. It opens files with the
//! privileges of the agent, where only `/proc/PID/maps` is parsed. Then it gives all of them up, and only then it reads. What
//! it answers counts at once: what comes later may end it.

use blazesym::Pid;
use blazesym::symbolize::source::{Elf, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// The verb under which a binary that uses this crate calls [`resolve_stdio`].
pub const RESOLVE_VERB: &str = "resolve-symbols";

/// CPU time of the child in s: a debugging build takes 0.5 s for a C library with debugging information.
pub(super) const CPU_SECONDS_MOST: u64 = 4;
/// Bytes of a name or path that are kept (`PATH_MAX`, `include/uapi/linux/limits.h`); the record's readers take 64 KiB.
pub(super) const TEXT_BYTES_MOST: usize = 4096;
/// Functions at one address that are kept: compilers inline a few dozen levels at most.
pub(super) const INLINED_MOST: usize = 32;

/// Memory of its own in bytes: debugging information of the largest libraries takes 200 MB when it is unpacked.
const MEMORY_BYTES_MOST: u64 = 512 << 20;
/// Addresses in bytes, for the files that it maps: of programs with debugging information, few have 2 GB.
const MAPPED_BYTES_MOST: u64 = 8 << 30;
/// Files of a program that are read: its own and those of libraries. A process may have 1024 open by default, this one
/// has two for each.
const FILES_MOST: usize = 256;
/// Bytes of `/proc/PID/maps` that are read: 65,530 lines (`vm.max_map_count`) of 128 bytes.
const MAPS_BYTES_MOST: u64 = 8 << 20;
/// Bytes of a perf map that are read: a million functions in 64 bytes each.
const PERF_MAP_BYTES_MOST: u64 = 64 << 20;
/// The user that owns nothing (`overflowuid`, `include/linux/highuid.h`).
const NOBODY: u32 = 65_534;
/// `_LINUX_CAPABILITY_VERSION_3` (`include/uapi/linux/capability.h`).
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// The question to the child, as JSON on its standard input.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    /// The process.
    pub process: u32,
    /// Addresses in it, in ascending order.
    pub addresses: Vec<u64>,
}

/// The child's answers, a line of JSON each. A later answer on the same address replaces an earlier one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Named {
    /// The address.
    pub address: u64,
    /// File in which it is; empty of functions that were compiled at run time.
    pub object: String,
    /// Names of the functions there, and whether they were inlined, the outermost first.
    pub functions: Vec<(String, bool)>,
}

/// Answers one question from standard input on standard output, without privileges and within limits.
///
/// # Errors
/// The question is none, nobody reads the answer, or privileges could not be given up.
pub fn resolve_stdio() -> io::Result<()> {
    end_with_the_agent();
    limit()?;
    let question: Question = serde_json::from_reader(io::stdin().lock())?;
    let opened = Opened::of(&question);
    drop_privileges()?;
    end_with_the_agent();
    opened.resolve(&mut Answers { output: BufWriter::new(io::stdout().lock()), known: HashMap::new() })
}

/// The kernel forgets this when the process changes its user (`commit_creds`, `kernel/cred.c`).
fn end_with_the_agent() {
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
}

/// Bounds what this process takes, and has it be the first to end where the host has no memory left.
fn limit() -> io::Result<()> {
    // SAFETY: nothing else was opened in this process yet; it is about descriptors that it may have inherited.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_DATA, MEMORY_BYTES_MOST),
        (Resource::RLIMIT_AS, MAPPED_BYTES_MOST),
        (Resource::RLIMIT_NOFILE, 4 * FILES_MOST as u64),
        // It writes into a pipe only, and starts nothing.
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_NPROC, 0),
    ];
    for (resource, most) in limits {
        let most = most.min(getrlimit(resource)?.1);
        setrlimit(resource, most, most)?;
    }
    // Where both were the same, it would end with SIGKILL, as by somebody else.
    let most = CPU_SECONDS_MOST.min(getrlimit(Resource::RLIMIT_CPU)?.1);
    setrlimit(Resource::RLIMIT_CPU, most, most.saturating_add(1).min(getrlimit(Resource::RLIMIT_CPU)?.1))?;
    Ok(())
}

/// Becomes nobody, where the agent may change its user, and has no capabilities in any case.
///
/// Root without `CAP_SETUID` and `CAP_SETGID`, as in a pod, stays who it is: without capabilities it is a user of its
/// own, who may read the files of that user alone. Any other failure leaves the addresses without names. There is one
/// where a user namespace has no nobody: root there is a user outside.
fn drop_privileges() -> io::Result<()> {
    if geteuid().is_root() {
        let (nobody, nogroup) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        for changed in [setgroups(&[]), setresgid(nogroup, nogroup, nogroup), setresuid(nobody, nobody, nobody)] {
            match changed {
                Ok(()) | Err(Errno::EPERM) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let header = [CAPABILITY_VERSION, 0];
    let none = [0_u32; 6];
    // SAFETY: the kernel reads a header of two numbers, and of this version two sets of three numbers (`capset(2)`).
    if unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Writes answers.
struct Answers<W> {
    output: W,
    known: HashMap<u64, Vec<(String, bool)>>,
}

impl<W: Write> Answers<W> {
    fn write(&mut self, address: u64, object: &str, functions: Vec<(String, bool)>) -> io::Result<()> {
        if functions.is_empty() || self.known.get(&address) == Some(&functions) {
            return Ok(());
        }
        let named = Named { address, object: shortened(object), functions };
        serde_json::to_writer(&mut self.output, &named)?;
        self.output.write_all(b"\n")?;
        self.known.insert(address, named.functions);
        Ok(())
    }
}

/// A part of a process's memory, as in `/proc/PID/maps` (`proc_pid_maps(5)`).
#[derive(Debug, PartialEq, Eq)]
struct Mapping<'a> {
    start: u64,
    end: u64,
    offset: u64,
    inode: u64,
    name: &'a str,
}

impl<'a> Mapping<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let offset = number(fields.nth(1)?)?;
        let inode = fields.nth(1)?.parse().ok()?;
        let name = fields.next().unwrap_or_default().trim_start();
        Some(Self { start: number(start)?, end: number(end)?, offset, inode, name })
    }

    /// Those of the addresses, in ascending order, that are in it.
    fn addresses<'b>(&self, all: &'b [u64]) -> &'b [u64] {
        let from = all.partition_point(|address| *address < self.start);
        let until = all.partition_point(|address| *address < self.end);
        all.get(from..until).unwrap_or_default()
    }
}

fn maps_of(process: &str) -> String {
    let mut text = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{process}/maps")) {
        // What was read before the process ended counts.
        let _ = file.take(MAPS_BYTES_MOST).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A file of the program that has sampled addresses.
struct MappedFile {
    object: String,
    /// Only a place: it keeps the file's path below `/proc/self/fd`.
    file: File,
    addresses: Vec<u64>,
    offsets: Vec<u64>,
}

impl MappedFile {
    fn source(&self, has_debugging: bool) -> Source<'static> {
        Source::Elf(Elf { debug_syms: has_debugging, ..Elf::new(format!("/proc/self/fd/{}", self.file.as_raw_fd())) })
    }
}

/// Everything that can be opened with the agent's privileges only.
struct Opened {
    symbolizer: Symbolizer,
    files: Vec<MappedFile>,
    /// Addresses in the vDSO of the program, and where they are in that of this process: the kernel has one for all.
    vdso: Vec<(u64, u64)>,
    perf_map: Option<File>,
    /// Addresses outside of files.
    compiled: Vec<u64>,
}

impl Opened {
    fn of(question: &Question) -> Self {
        let symbolizer = Symbolizer::builder().enable_auto_reload(false).enable_code_info(false).enable_inlined_fns(true).build();
        let (mut files, mut vdso, mut compiled) = (BTreeMap::new(), Vec::new(), Vec::new());
        let own_maps = maps_of("self");
        let own_vdso = own_maps.lines().filter_map(Mapping::parse).find(|mapping| mapping.name == "[vdso]");
        let maps = maps_of(&question.process.to_string());
        for mapping in maps.lines().filter_map(Mapping::parse) {
            let addresses = mapping.addresses(&question.addresses);
            if addresses.is_empty() {
                continue;
            }
            if mapping.name.starts_with('/') {
                if files.len() < FILES_MOST || files.contains_key(&(mapping.name, mapping.inode)) {
                    let object = mapping.name.strip_suffix(" (deleted)").unwrap_or(mapping.name);
                    let file = files.entry((mapping.name, mapping.inode)).or_insert_with(|| {
                        let file = open_mapped(question.process, &mapping)?;
                        Some(MappedFile { object: object.to_owned(), file, addresses: Vec::new(), offsets: Vec::new() })
                    });
                    if let Some(file) = file {
                        file.addresses.extend_from_slice(addresses);
                        file.offsets.extend(addresses.iter().map(|address| address - mapping.start + mapping.offset));
                    }
                }
            } else if mapping.name == "[vdso]" {
                let own = own_vdso.as_ref().filter(|own| own.end - own.start == mapping.end - mapping.start);
                vdso.extend(own.iter().flat_map(|own| addresses.iter().map(|address| (*address, address - mapping.start + own.start))));
            } else {
                compiled.extend_from_slice(addresses);
            }
        }
        let files: Vec<_> = files.into_values().flatten().collect();
        for file in &files {
            // Opens and maps the file, and looks for nothing in it.
            let _ = symbolizer.symbolize(&file.source(false), Input::FileOffset(&[]));
        }
        let perf_map = if compiled.is_empty() { None } else { open_perf_map(question.process) };
        Self { symbolizer, files, vdso, perf_map, compiled }
    }

    /// Resolves what is found quickly first, debugging information last.
    fn resolve(self, answers: &mut Answers<impl Write>) -> io::Result<()> {
        if let Some(map) = self.perf_map {
            for (address, name) in read_perf_map(BufReader::new(map.take(PERF_MAP_BYTES_MOST)), &self.compiled) {
                answers.write(address, "", vec![(name, false)])?;
            }
        }
        if !self.vdso.is_empty() {
            let source = Source::Process(Process { perf_map: false, map_files: false, ..Process::new(Pid::Slf) });
            let (addresses, own): (Vec<_>, Vec<_>) = self.vdso.iter().copied().unzip();
            for (address, found) in addresses.iter().zip(self.symbolizer.symbolize(&source, Input::AbsAddr(&own)).unwrap_or_default()) {
                answers.write(*address, "[vdso]", functions_of(found))?;
            }
        }
        answers.output.flush()?;
        for has_debugging in [false, true] {
            for file in &self.files {
                let found = self.symbolizer.symbolize(&file.source(has_debugging), Input::FileOffset(&file.offsets));
                for (address, found) in file.addresses.iter().zip(found.unwrap_or_default()) {
                    answers.write(*address, &file.object, functions_of(found))?;
                }
                answers.output.flush()?;
            }
        }
        Ok(())
    }
}

/// A place of a regular file. Nothing is opened before it is known to be one: opening a FIFO waits, and opening a device
/// may do anything.
fn regular(path: &str, flags: i32, is_meant: impl Fn(&Metadata) -> bool) -> Option<File> {
    let place = OpenOptions::new().read(true).custom_flags(libc::O_PATH | flags).open(path).ok()?;
    let found = place.metadata().ok()?;
    (found.is_file() && is_meant(&found)).then_some(place)
}

/// The very file that is mapped; with few privileges the one at its path, where that has the same number.
fn open_mapped(process: u32, mapping: &Mapping) -> Option<File> {
    let mapped = format!("/proc/{process}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let by_path = || regular(&format!("/proc/{process}/root{}", mapping.name), 0, |found| found.ino() == mapping.inode);
    regular(&mapped, 0, |_| true).or_else(by_path)
}

/// The file in which a program names what it compiled (`tools/perf/Documentation/jit-interface.txt`), where it is its own.
fn open_perf_map(process: u32) -> Option<File> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let last = |key: &str, place: usize| status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().nth(place));
    // Effective user, and the number in the innermost namespace.
    let user: u32 = last("Uid:", 1)?.parse().ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NStgid:"));
    let number = numbers.and_then(|numbers| numbers.split_whitespace().next_back()?.parse().ok()).unwrap_or(process);
    let path = format!("/proc/{process}/root/tmp/perf-{number}.map");
    let place = regular(&path, libc::O_NOFOLLOW, |found| found.uid() == user)?;
    // Somebody may hold a lease of it.
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()
}

/// Names of addresses, in ascending order, in a perf map: lines of start and size, in hexadecimal digits, and name.
fn read_perf_map(mut map: impl BufRead, addresses: &[u64]) -> BTreeMap<u64, String> {
    let (mut names, mut line) = (BTreeMap::new(), Vec::new());
    while map.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        let mut fields = text.trim_end().splitn(3, ' ');
        let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
        if let (Some(start), Some(size), Some(name)) = (number(), number(), fields.next()) {
            let function = Mapping { start, end: start.saturating_add(size), offset: 0, inode: 0, name };
            // Where a function was compiled again at the same place, the later one counts.
            names.extend(function.addresses(addresses).iter().map(|address| (*address, shortened(name))));
        }
        line.clear();
    }
    names
}

/// The functions at an address, those put into others behind these; empty where it has none.
fn functions_of(symbolized: Symbolized<'_>) -> Vec<(String, bool)> {
    let Symbolized::Sym(symbol) = symbolized else { return Vec::new() };
    let inner = symbol.inlined.iter().map(|function| (demangled(&function.name), true));
    std::iter::once((demangled(&symbol.name), false)).chain(inner).take(INLINED_MOST).collect()
}

/// Names of Rust without what makes them unique; others as they are.
fn demangled(name: &str) -> String {
    shortened(&format!("{:#}", rustc_demangle::demangle(name)))
}

/// At most so much of a text as is kept.
pub(super) fn shortened(text: &str) -> String {
    let end = (0..=text.len().min(TEXT_BYTES_MOST)).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or_default()].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_has_its_file_and_an_odd_name_is_kept() {
        let line = "55f4a95cb000-55f4a95cf000 r-xp 00002000 00:20 41445                      /usr/bin/my cat (deleted)";
        let expected =
            Mapping { start: 0x55f4_a95c_b000, end: 0x55f4_a95c_f000, offset: 0x2000, inode: 41445, name: "/usr/bin/my cat (deleted)" };
        assert_eq!(Mapping::parse(line), Some(expected));
        assert_eq!(Mapping::parse("7f23-7f24 rw-p 00000000 00:00 0").map(|mapping| mapping.name), Some(""));
        assert_eq!(Mapping::parse("7f23-7f24 rw-p 00000000"), None);
    }

    #[test]
    fn the_last_function_of_a_perf_map_that_covers_an_address_is_its_name() {
        let map = "1000 10 first one\nnonsense\n\nffffffffffffffff ffffffffffffffff last\n1008 8 second\r\n2000 10 cut";
        let names = read_perf_map(map.as_bytes(), &[0x1007, 0x1008, 0x1010, 0x200f]);
        let expected = [(0x1007, "first one"), (0x1008, "second"), (0x200f, "cut")];
        assert_eq!(names, expected.map(|(address, name)| (address, name.to_owned())).into());
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(shortened(&"\u{e9}".repeat(3000)).len(), TEXT_BYTES_MOST);
        assert_eq!(shortened(&format!("x{}", "\u{e9}".repeat(3000))).len(), TEXT_BYTES_MOST - 1);
    }
}
