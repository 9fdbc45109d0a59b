//! Loads the BPF object into the kernel, as much of it as the kernel takes, and attaches it.

use flate2::read::ZlibDecoder;
use libbpf_rs::btf::Btf;
use libbpf_rs::{ErrorKind, Link, MapCore, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};
use libbpf_sys::bpf_prog_info;
use schema::evidence::{Evidence, Hook};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::slice;
use std::sync::Once;

use super::hooks::{Extent, PLACES, Place, refuse_calls};
use super::layout::{Call, Constants, LogHead, Record};
use crate::host::privileges::remedy;

/// Compressed (RFC 1950), as all of them.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/evidence.bpf.o.z"));
/// For kernels whose atomic additions do not return the previous value.
static OLD_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/evidence_old.bpf.o.z"));
/// Those that choose sockets.
static CHOOSING_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/evidence_chosen.bpf.o.z"));
/// The same for such kernels.
static OLD_CHOOSING_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/evidence_chosen_old.bpf.o.z"));

/// A loaded object. Dropping it removes everything from the kernel.
pub struct Programs {
    links: Vec<Link>,
    object: Object,
    missing: Vec<Hook>,
    has_calls: bool,
}

/// Why nothing could be loaded, in a sentence, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The sentence.
    pub reason: String,
}

impl From<libbpf_rs::Error> for Refused {
    fn from(error: libbpf_rs::Error) -> Self {
        if is_forbidden(&error) {
            let remedy = remedy(&["CAP_BPF", "CAP_PERFMON"]);
            return Self { reason: with_lockdown(format!("the kernel does not let this user load tracing programs; {remedy}")) };
        }
        Self { reason: format!("the kernel refuses the programs: {error}") }
    }
}

/// True if the user may not (EPERM); a verifier that dislikes a program says EACCES, which is of the
/// same kind. Only the text has the number.
pub fn is_forbidden(error: &libbpf_rs::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && format!("{error:#}").contains("(os error 1)")
}

/// A kernel locked down for confidentiality refuses even root.
fn with_lockdown(reason: String) -> String {
    let state = std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if state.contains("[confidentiality]") { format!("{reason} (the kernel is locked down: {})", state.trim()) } else { reason }
}

impl Programs {
    /// Loads and attaches. A tracepoint that the kernel lacks or a program that it refuses is left
    /// out and named, unless it is essential.
    ///
    /// # Errors
    /// Nothing worth having can be loaded.
    pub fn load(asked: &Extent) -> Result<Self, Refused> {
        silence();
        let mut refused = places_unknown()?;
        let mut extent = *asked;
        if !refuse_calls(&mut refused) {
            extent.call_slots = 0;
        }
        let object = match load_without(&extent, &refused) {
            Ok(object) => object,
            Err(error) if is_forbidden(&error) => return Err(error.into()),
            // One by one, to find out which; an essential one fails the whole.
            Err(_) => {
                try_calls(&mut extent, &mut refused)?;
                for place in PLACES.iter().filter(|place| place.is_wanted(&extent)) {
                    let is_known = !refused.contains_key(place.program);
                    if is_known && let Err(error) = open_only(&extent, &[place.program])?.load() {
                        refused.insert(place.program, refusal(&error));
                    }
                }
                load_without(&extent, &refused)?
            }
        };
        let missing: Vec<_> = PLACES
            .iter()
            .filter(|place| place.is_wanted(asked))
            .filter_map(|place| Some((place, refused.get(place.program)?)))
            .map(|(place, why)| (place, why.clone()))
            .collect();
        if let Some((place, why)) = missing.iter().find(|(place, _)| place.is_essential) {
            return Err(Refused { reason: format!("{}:{}: {why}", place.group, place.program) });
        }
        let missing = missing.iter().map(|(place, why)| place.hook(Err(why))).collect();
        Ok(Self { links: Vec::new(), object, missing, has_calls: extent.call_slots > 0 })
    }

    /// True if calls are logged.
    pub fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Attaches every program that was loaded.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(&mut self) -> Result<(), Refused> {
        let links: Result<Vec<_>, _> =
            self.object.progs_mut().filter(|program| is_loaded(program)).map(|program| program.attach()).collect();
        self.links = links?;
        Ok(())
    }

    /// Hooks that are not there, with the reason.
    pub fn missing(&self) -> &[Hook] {
        &self.missing
    }

    /// A map by the end of its name: the kernel cuts an object's own maps' names.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn map(&self, name: &str) -> Result<MapHandle, Refused> {
        let maps = self.object.maps();
        let map = maps.into_iter().find(|map| map.name().to_string_lossy().ends_with(name));
        let map = map.ok_or_else(|| Refused { reason: format!("the object has no map {name}") })?;
        Ok(MapHandle::try_from(&map)?)
    }

    /// The kernel's number for a map.
    ///
    /// # Errors
    /// There is none, or its number cannot be read.
    pub fn map_number(&self, name: &str) -> Result<u32, Refused> {
        Ok(self.map(name)?.info()?.info.id)
    }

    /// Number of times that the kernel left out a program that sees segments because it was running on that CPU
    /// already.
    pub fn missed_runs_count(&self) -> u64 {
        self.essential().map(|info| info.recursion_misses).sum()
    }

    /// The kernel's numbers of the programs that see segments.
    pub fn numbers(&self) -> Vec<u32> {
        self.essential().map(|info| info.id).collect()
    }

    /// The tags of all programs, as in their names in `/proc/kallsyms`.
    pub fn tags(&self) -> Vec<String> {
        let infos = self.object.progs().filter_map(|program| info_of(program.as_fd()));
        infos.map(|info| format!("{:016x}", u64::from_be_bytes(info.tag))).collect()
    }

    fn essential(&self) -> impl Iterator<Item = bpf_prog_info> {
        let is_essential = |name: &OsStr| PLACES.iter().any(|place| place.is_essential && OsStr::new(place.program) == name);
        self.object.progs().filter(move |program| is_essential(program.name())).filter_map(|program| info_of(program.as_fd()))
    }
}

fn is_loaded(program: &libbpf_rs::ProgramMut<'_>) -> bool {
    program.autoload()
}

/// As [`Programs::missed_runs_count`], of programs that another process holds, by their numbers. Only
/// looked at, so that they do not outlive that process.
pub fn missed_runs_count_of(numbers: &[u32]) -> u64 {
    let info = |number: &u32| {
        // SAFETY: the call takes a number, and gives a new file descriptor or a negative error.
        let program = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(*number) };
        // SAFETY: the file descriptor is new and nobody else's.
        (program >= 0).then(|| unsafe { OwnedFd::from_raw_fd(program) }).and_then(|program| info_of(program.as_fd()))
    };
    numbers.iter().filter_map(info).map(|info| info.recursion_misses).sum()
}

pub fn info_of(program: BorrowedFd<'_>) -> Option<bpf_prog_info> {
    let mut info = bpf_prog_info::default();
    let mut length = u32::try_from(size_of::<bpf_prog_info>()).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes of a structure made of integers; the file
    // descriptor is a program's and open.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut length) };
    (failed == 0).then_some(info)
}

/// Every hook, and whether it can be used; tries what can be tried without watching anything.
pub fn hooks() -> Vec<Hook> {
    // With two slots the programs are those that log.
    let extent = Extent { connections: 1, cpus: 1, log_slots: 2, call_slots: 2, ends: 1, chosen: 0 };
    let of_trials = Programs::load(&extent);
    let of_chosen = Programs::load(&Extent { chosen: 1, ..extent });
    let verdict = |place: &Place| match if place.is_for_chosen { &of_chosen } else { &of_trials } {
        Ok(programs) => {
            let missing = programs.missing.iter().find(|hook| hook.name.ends_with(&format!(":{}", place.program)));
            missing.cloned().unwrap_or_else(|| place.hook(Ok("the kernel took the program")))
        }
        Err(refused) => place.hook(Err(&refused.reason)),
    };
    PLACES.iter().map(verdict).collect()
}

/// Places without a tracepoint in this kernel, with the reason.
fn places_unknown() -> Result<BTreeMap<&'static str, String>, Refused> {
    let kernel = Btf::from_vmlinux().map_err(|_| Refused {
        reason: "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF); use a kernel that does, most distributions' do"
            .to_owned(),
    })?;
    let unknown = PLACES.iter().filter(|place| !place.is_known_to(&kernel));
    Ok(unknown.map(|place| (place.program, "this kernel has no such tracepoint".to_owned())).collect())
}

/// Gives up the log of calls where the kernel takes none of it, with the reason.
fn try_calls(extent: &mut Extent, refused: &mut BTreeMap<&'static str, String>) -> Result<(), Refused> {
    let own = PLACES.iter().filter(|place| place.level == Evidence::Segments).map(|place| place.program);
    let needed: Vec<_> = own.clone().chain(["sock_send_length", "sock_recv_length"]).collect();
    if extent.call_slots > 0
        && let Err(error) = open_only(extent, &needed)?.load()
    {
        extent.call_slots = 0;
        refused.extend(own.map(|program| (program, refusal(&error))));
    }
    Ok(())
}

pub fn refusal(error: &libbpf_rs::Error) -> String {
    format!("this kernel refuses the program: {error}")
}

/// The object with these programs alone.
fn open_only(extent: &Extent, programs: &[&str]) -> Result<OpenObject, Refused> {
    let others: Vec<_> = PLACES.iter().map(|place| place.program).filter(|program| !programs.contains(program)).collect();
    open(extent, &others)
}

fn load_without(extent: &Extent, refused: &BTreeMap<&'static str, String>) -> libbpf_rs::Result<Object> {
    let unwanted = PLACES.iter().filter(|place| !place.is_wanted(extent)).map(|place| place.program);
    let names: Vec<_> = refused.keys().copied().chain(unwanted).collect();
    open(extent, &names).map_err(|refused| libbpf_rs::Error::from(std::io::Error::other(refused.reason)))?.load()
}

/// An object that the build script has packed.
pub(crate) fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut object = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut object).expect("the build script has packed it");
    object
}

/// The object, sized, without some of its programs.
fn open(extent: &Extent, without: &[&str]) -> Result<OpenObject, Refused> {
    let object = match (has_fetch(), extent.chosen > 0) {
        (true, false) => OBJECT,
        (false, false) => OLD_OBJECT,
        (true, true) => CHOOSING_OBJECT,
        (false, true) => OLD_CHOOSING_OBJECT,
    };
    let mut object = ObjectBuilder::default().open_memory(&unpacked(object))?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "connections" => map.set_max_entries(extent.connections * extent.ends)?,
            "cpus" => map.set_max_entries(extent.cpus)?,
            "logs" => {
                map.set_max_entries(extent.cpus * extent.ends)?;
                map.set_value_size(bytes_of::<LogHead>() + extent.log_slots * bytes_of::<Record>())?;
            }
            "calls" => {
                map.set_max_entries(extent.cpus * extent.ends)?;
                map.set_value_size(bytes_of::<LogHead>() + extent.call_slots * bytes_of::<Call>())?;
            }
            "chosen_sockets" => {
                map.set_autocreate(extent.chosen > 0)?;
                map.set_max_entries(extent.chosen.max(1))?;
            }
            // What programs do with it is not there for the kernel without a log of calls.
            "threads" => map.set_autocreate(extent.call_slots > 0)?,
            _ if name.ends_with(".rodata") => {
                let constants = Constants {
                    log_mask: extent.log_slots.saturating_sub(1),
                    calls_mask: extent.call_slots.saturating_sub(1),
                    connections_most: extent.connections,
                };
                // SAFETY: the structure is three integers without padding, and lives longer than the slice.
                let bytes = unsafe { slice::from_raw_parts((&raw const constants).cast::<u8>(), size_of::<Constants>()) };
                map.set_initial_value(bytes)?;
            }
            _ => {}
        }
    }
    for mut program in object.progs_mut() {
        if without.iter().any(|name| OsStr::new(name) == program.name()) {
            program.set_autoload(false);
        }
    }
    Ok(object)
}

/// Bytes of a structure, as the kernel counts those of a map.
#[allow(clippy::cast_possible_truncation)]
pub const fn bytes_of<T>() -> u32 {
    size_of::<T>() as u32
}

/// True if atomic additions return the previous value: Linux 5.12.
fn has_fetch() -> bool {
    let release = nix::sys::utsname::uname().map(|names| names.release().to_string_lossy().into_owned()).unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (5, 12)
}

/// Silences libbpf: what it has to say is said by whoever asked, once and in a sentence.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Debug, |_, text| tracing_line(&text))));
    });
}

fn tracing_line(text: &str) {
    if std::env::var_os("WHYPERF_BPF_LOG").is_some() {
        eprint!("{text}");
    }
}
