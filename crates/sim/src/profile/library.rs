//! The shipped machines, adapters and sets, and how an expression becomes a host.

use super::host_profile::HostProfile;
use super::profile_file::{Driver, Entries, ProfileFile};
use super::refusal::Refusal;
use super::sets::Sets;

/// The shipped parts, by file.
const PARTS: &[(&str, &str)] = &[
    ("sparc2.toml", include_str!("../../hosts/sparc2.toml")),
    ("sparc10.toml", include_str!("../../hosts/sparc10.toml")),
    ("solaris8.toml", include_str!("../../hosts/solaris8.toml")),
    ("sba-100.toml", include_str!("../../hosts/sba-100.toml")),
    ("sba-200.toml", include_str!("../../hosts/sba-200.toml")),
    ("sba-200-aal34.toml", include_str!("../../hosts/sba-200-aal34.toml")),
    ("gigabit.toml", include_str!("../../hosts/gigabit.toml")),
    ("linux-6.18.toml", include_str!("../../hosts/linux-6.18.toml")),
    ("linux-6.1.toml", include_str!("../../hosts/linux-6.1.toml")),
    ("veth.toml", include_str!("../../hosts/veth.toml")),
    ("nic.toml", include_str!("../../hosts/nic.toml")),
];

/// The ensembles, by the operating system whose numbers they are.
const SETS: &[(&str, &str)] = &[("sunos-4.1", include_str!("../../hosts/sunos-4.1.sets.toml"))];

/// Everything of which a host can be put together.
#[derive(Debug, Clone)]
pub struct Library {
    parts: Vec<ProfileFile>,
    sets: Vec<(String, Sets)>,
}

/// The names in `machine+adapter@driver`.
struct Names<'expression> {
    machine: &'expression str,
    adapter: &'expression str,
    driver: Option<&'expression str>,
}

impl Library {
    /// The library that is shipped.
    ///
    /// # Errors
    /// None as long as the tests of this crate pass: they read all of it.
    pub fn shipped() -> Result<Self, Refusal> {
        let mut parts: Vec<ProfileFile> = Vec::new();
        for (file, text) in PARTS {
            add_to(&mut parts, ProfileFile::read(file, text)?)?;
        }
        let sets = SETS
            .iter()
            .map(|(system, text)| Ok(((*system).to_owned(), Sets::read(&format!("{system}.sets.toml"), text)?)))
            .collect::<Result<_, _>>()?;
        Ok(Self { parts, sets })
    }

    /// A machine or an adapter of a user's own, in addition to the shipped ones.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] for an adapter whose base is not there.
    pub fn add(&mut self, part: ProfileFile) -> Result<(), Refusal> {
        add_to(&mut self.parts, part)
    }

    /// Expressions of all hosts that there are.
    pub fn expressions(&self) -> Vec<String> {
        let mut expressions = Vec::new();
        for machine in &self.parts {
            let ProfileFile::Machine { name: machine, system, .. } = machine else { continue };
            for adapter in &self.parts {
                let ProfileFile::Adapter { name: adapter, systems, driver, .. } = adapter else { continue };
                if !systems.contains(system) {
                    continue;
                }
                if driver.is_empty() {
                    expressions.push(format!("{machine}+{adapter}"));
                }
                let versions = driver.iter().filter(|driver| driver.machine == *machine);
                expressions.extend(versions.map(|driver| format!("{machine}+{adapter}@{}", driver.version)));
            }
        }
        expressions
    }

    /// Number of sets that there are of a host's numbers; 0 where it has the numbers of its profile alone.
    pub fn sets_count(&self, system: &str) -> usize {
        self.sets_of(system).map_or(0, |sets| sets.set.len())
    }

    fn sets_of(&self, system: &str) -> Option<&Sets> {
        self.sets.iter().find(|(of, _)| of == system).map(|(_, sets)| sets)
    }

    /// A host with the numbers of its profile.
    ///
    /// # Errors
    /// Which part is not there or does not fit, and what there is.
    pub fn resolve(&self, expression: &str) -> Result<HostProfile, Refusal> {
        let names = parse(expression)?;
        let (system, machine) = self.machine(names.machine)?;
        let (adapter, drivers) = self.adapter(&names, system)?;
        let mut values = machine.clone();
        values.extend(adapter.clone());
        if let Some(driver) = choose(drivers, &names)? {
            values.extend(driver.values.clone());
        }
        Ok(HostProfile { host: expression.to_owned(), system: system.to_owned(), values })
    }

    /// A host with the numbers of a set of the ensemble.
    ///
    /// # Errors
    /// Those of [`Library::resolve`], and [`Refusal::NoSet`].
    pub fn resolve_set(&self, expression: &str, set: usize) -> Result<HostProfile, Refusal> {
        let mut profile = self.resolve(expression)?;
        let count = self.sets_count(&profile.system);
        let Some((sets, chosen)) = self.sets_of(&profile.system).and_then(|sets| Some((sets, sets.set.get(set)?))) else {
            return Err(Refusal::NoSet { set, count });
        };
        let names = parse(expression)?;
        let (_, drivers) = self.adapter(&names, &profile.system)?;
        let adapter = self.base_of(names.adapter);
        let driver = choose(drivers, &names)?.map(|driver| format!("{adapter}@{}/{}", driver.version, names.machine));
        for (name, &value) in sets.names.iter().zip(&chosen.values) {
            let Some((part, key)) = name.rsplit_once('/') else { continue };
            if part == names.machine || part == adapter || Some(part) == driver.as_deref() {
                profile.set_number(key, value)?;
            }
        }
        Ok(profile)
    }

    /// A host of a user's own; `file` names it.
    ///
    /// # Errors
    /// Those of [`Library::resolve`] for its base, and a value that the base does not have.
    pub fn resolve_user(&self, file: &str, text: &str) -> Result<HostProfile, Refusal> {
        let ProfileFile::Host { base, values, .. } = ProfileFile::read(file, text)? else {
            return Err(Refusal::Syntax {
                file: file.to_owned(),
                reason: "this is not a host: give part = \"host\" and a base".to_owned(),
            });
        };
        let mut profile = self.resolve(&base)?;
        file.clone_into(&mut profile.host);
        profile.values.extend(values);
        Ok(profile)
    }

    fn machine(&self, wanted: &str) -> Result<(&str, &Entries), Refusal> {
        let machines = self.parts.iter().filter_map(|part| match part {
            ProfileFile::Machine { name, system, values, .. } => Some((name, system, values)),
            _ => None,
        });
        let known: Vec<_> = machines.clone().map(|(name, ..)| name.clone()).collect();
        let found = machines.clone().find(|(name, ..)| *name == wanted);
        found.map(|(_, system, values)| (system.as_str(), values)).ok_or_else(|| unknown("machine", wanted, &known))
    }

    /// The adapter whose fitted numbers it has: its own, or those of the base of its bases.
    fn base_of<'name>(&'name self, wanted: &'name str) -> &'name str {
        let mut found = wanted;
        // A base is there before what has it, so each is one of those before.
        for part in self.parts.iter().rev() {
            if let ProfileFile::Adapter { name, base: Some(base), .. } = part
                && name == found
            {
                found = base;
            }
        }
        found
    }

    fn adapter(&self, names: &Names<'_>, system: &str) -> Result<(&Entries, &[Driver]), Refusal> {
        let mut known = Vec::new();
        for part in &self.parts {
            let ProfileFile::Adapter { name, systems, values, driver, .. } = part else { continue };
            if name != names.adapter {
                known.push(name.clone());
            } else if systems.iter().any(|of| of == system) {
                return Ok((values, driver));
            } else {
                return Err(Refusal::Impossible {
                    machine: names.machine.to_owned(),
                    adapter: name.clone(),
                    systems: systems.join(", "),
                    system: system.to_owned(),
                });
            }
        }
        Err(unknown("adapter", names.adapter, &known))
    }
}

fn add_to(parts: &mut Vec<ProfileFile>, part: ProfileFile) -> Result<(), Refusal> {
    let part = with_base(part, parts)?;
    parts.push(part);
    Ok(())
}

/// An adapter with what its base has and it does not; any other part as it is.
fn with_base(part: ProfileFile, parts: &[ProfileFile]) -> Result<ProfileFile, Refusal> {
    let ProfileFile::Adapter { name, about, base: Some(base), systems, values, driver } = part else { return Ok(part) };
    let found = parts.iter().find_map(|other| match other {
        ProfileFile::Adapter { name, values, driver, .. } if *name == base => Some((values.clone(), driver.clone())),
        _ => None,
    });
    let (mut all, drivers) = found.ok_or_else(|| unknown("adapter", &base, &adapters(parts)))?;
    all.extend(values);
    let driver = if driver.is_empty() { drivers } else { driver };
    Ok(ProfileFile::Adapter { name, about, base: Some(base), systems, values: all, driver })
}

fn adapters(parts: &[ProfileFile]) -> Vec<String> {
    let names = parts.iter().filter_map(|part| match part {
        ProfileFile::Adapter { name, .. } => Some(name.clone()),
        _ => None,
    });
    names.collect()
}

fn parse(expression: &str) -> Result<Names<'_>, Refusal> {
    let Some((machine, rest)) = expression.split_once('+') else {
        return Err(Refusal::NoAdapter { expression: expression.to_owned() });
    };
    let (adapter, driver) = rest.split_once('@').map_or((rest, None), |(adapter, driver)| (adapter, Some(driver)));
    Ok(Names { machine, adapter, driver })
}

fn choose<'drivers>(drivers: &'drivers [Driver], names: &Names<'_>) -> Result<Option<&'drivers Driver>, Refusal> {
    let fitting: Vec<_> = drivers.iter().filter(|driver| driver.machine == names.machine).collect();
    let known: Vec<_> = fitting.iter().map(|driver| driver.version.clone()).collect();
    match (names.driver, fitting.as_slice()) {
        (Some(version), _) => fitting
            .iter()
            .find(|driver| driver.version == version)
            .map(|&driver| Some(driver))
            .ok_or_else(|| unknown("driver", version, &known)),
        (None, []) if drivers.is_empty() => Ok(None),
        (None, [driver]) => Ok(Some(driver)),
        (None, several) => Err(Refusal::WhichDriver {
            adapter: names.adapter.to_owned(),
            machine: names.machine.to_owned(),
            count: several.len(),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        }),
    }
}

fn unknown(kind: &'static str, name: &str, known: &[String]) -> Refusal {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Refusal::Unknown { kind, name: name.to_owned(), known }
}
