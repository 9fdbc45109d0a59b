//! Loads the programs for stage times, as many of them as the kernel takes, and attaches them.

use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, MapCore, MapHandle, Object, ObjectBuilder};
use schema::evidence::Hook;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;

use super::hooks::PLACES;
use super::layout::{ENDS, LEVELS, StageRecord};
use crate::evidence::hooks::Place;
use crate::evidence::object::{bytes_of, info_of, is_forbidden, refusal, unpacked};
use crate::evidence::{LogHead, Refused, silence};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stages.bpf.o.z"));

/// A loaded object. Dropping it removes everything from the kernel.
pub struct StagePrograms {
    links: Vec<Link>,
    object: Object,
    missing: Vec<Hook>,
}

impl StagePrograms {
    /// Loads programs for a machine of so many CPUs, each with logs of so many rows, a power of two. A tracepoint that the
    /// kernel lacks or a program that it refuses is left out and named, unless it is essential.
    ///
    /// # Errors
    /// Nothing worth having can be loaded.
    pub fn load(cpus: u32, log_slots: u32) -> Result<Self, Refused> {
        silence();
        let mut refused = unknown()?;
        let object = match load_without(cpus, log_slots, &refused) {
            Ok(object) => object,
            Err(error) if is_forbidden(&error) => return Err(error.into()),
            // One by one, to find out which.
            Err(_) => {
                for place in PLACES.iter().filter(|place| !refused.contains_key(place.program)).collect::<Vec<_>>() {
                    if let Err(error) = load_only(place.program) {
                        refused.insert(place.program, refusal(&error));
                    }
                }
                load_without(cpus, log_slots, &refused)?
            }
        };
        let missing = || PLACES.iter().filter_map(|place| Some((place, refused.get(place.program)?)));
        if let Some((place, why)) = missing().find(|(place, _)| place.is_essential) {
            return Err(Refused { reason: format!("{}:{}: {why}", place.group, place.program) });
        }
        let missing = missing().map(|(place, why)| place.hook(Err(why))).collect();
        Ok(Self { links: Vec::new(), object, missing })
    }

    /// Attaches every program that was loaded, unless they are.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(&mut self) -> Result<(), Refused> {
        if self.links.is_empty() {
            let loaded = self.object.progs_mut().filter(|program| program.autoload());
            self.links = loaded.map(|program| program.attach()).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    /// Detaches all; they stay loaded.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// True if programs see anything.
    pub fn is_attached(&self) -> bool {
        !self.links.is_empty()
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
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(name));
        let map = map.ok_or_else(|| Refused { reason: format!("the object has no map {name}") })?;
        Ok(MapHandle::try_from(&map)?)
    }

    /// The tags of all programs, as in their names in `/proc/kallsyms`.
    pub fn tags(&self) -> Vec<String> {
        let infos = self.object.progs().filter_map(|program| info_of(program.as_fd()));
        infos.map(|info| format!("{:016x}", u64::from_be_bytes(info.tag))).collect()
    }
}

/// Programs without a tracepoint in this kernel, with the reason.
fn unknown() -> Result<BTreeMap<&'static str, String>, Refused> {
    let kernel = Btf::from_vmlinux()
        .map_err(|_| Refused { reason: "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)".to_owned() })?;
    let lacking = PLACES.iter().filter(|place| !place.is_known_to(&kernel));
    Ok(lacking.map(|place| (place.program, "this kernel has no such tracepoint".to_owned())).collect())
}

fn load_only(program: &str) -> libbpf_rs::Result<()> {
    let others = PLACES.iter().map(|place| place.program).filter(|other| *other != program);
    load_without(1, 2, &others.map(|other| (other, String::new())).collect()).map(drop)
}

fn load_without(cpus: u32, log_slots: u32, refused: &BTreeMap<&'static str, String>) -> libbpf_rs::Result<Object> {
    let mut object = ObjectBuilder::default().open_memory(&unpacked(OBJECT))?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "stage_cpus" => map.set_max_entries(cpus)?,
            "stage_logs" => {
                map.set_max_entries(cpus * ENDS * u32::from(LEVELS))?;
                map.set_value_size(bytes_of::<LogHead>() + log_slots * bytes_of::<StageRecord>())?;
            }
            _ if name.ends_with(".rodata") => map.set_initial_value(&log_slots.saturating_sub(1).to_ne_bytes())?,
            _ => {}
        }
    }
    for mut program in object.progs_mut() {
        if refused.keys().any(|name| OsStr::new(name) == program.name()) {
            program.set_autoload(false);
        }
    }
    object.load()
}

/// Every hook, and whether it can be used; tries what can be tried without sampling anything.
pub fn hooks() -> Vec<Hook> {
    let tried = StagePrograms::load(1, 2);
    let verdict = |place: &Place| match &tried {
        Ok(programs) => {
            let name = format!("{}:{}", place.group, place.program);
            let missing = programs.missing().iter().find(|hook| hook.name == name);
            missing.cloned().unwrap_or_else(|| place.hook(Ok("the kernel took the program")))
        }
        Err(refused) => place.hook(Err(&refused.reason)),
    };
    PLACES.iter().map(verdict).collect()
}
