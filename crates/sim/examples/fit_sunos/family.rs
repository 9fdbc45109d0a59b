//! The hosts of a machine: their free numbers, and how well a set of them does.

use crate::claims;
use crate::study::{self, Configuration};
use crate::trial::Kind;
use sim::profile::{HostProfile, Library};
use std::collections::BTreeMap;
use std::error::Error;

/// The effort with which a set is tried.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Runs of a point, of which the mean is taken.
    pub seeds: u64,
    /// Bytes of a run.
    pub bytes: u64,
}

/// While searching: the study's 16 MB, for flows change late in a transfer, but fewer runs.
pub const SEARCH: Effort = Effort { seeds: 3, bytes: 16 << 20 };
/// Before a set is accepted: the study's 25 runs.
pub const ACCEPT: Effort = Effort { seeds: 25, bytes: 16 << 20 };

/// Mean error that a set of each machine must not exceed to be accepted, so that any two are below 6 % over all
/// 15 points, and the largest error.
const ACCEPTED: [(&str, f64); 2] = [("sparc2", 0.035), ("sparc10", 0.078)];
const LARGEST: f64 = 0.112;
/// The claims are asked for with more margin than the tests ask; so much of it may be missing.
const MARGIN: f64 = 0.004;

/// So much above what is asked is hopeless, judged by a single run.
const HOPELESS_RATIO: f64 = 1.4;

/// The hosts of a machine.
pub struct Family {
    /// `sparc2` or `sparc10`.
    pub name: &'static str,
    /// Names of the free numbers: `PART/KEY`.
    pub names: Vec<String>,
    /// Between what they are plausible.
    pub bounds: Vec<(f64, f64)>,
    /// Those of the profiles.
    pub start: Vec<f64>,
    hosts: Vec<Free>,
    /// Windows of the table that are fitted; the others are left out to be judged on. Empty: all.
    fitted: Vec<u32>,
}

/// A configuration, its profile, and which number of a set stands under which key.
type Free = (&'static Configuration, HostProfile, Vec<(String, usize)>);

/// The quality of a set.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// The value that is made small.
    pub loss: f64,
    /// Mean and largest error of the points.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The shortfall from the claims, 0 where they hold.
    pub missing: f64,
}

impl Verdict {
    /// A set that cannot be.
    const IMPOSSIBLE: Self = Self { loss: 1e9, mean: 1.0, max: 1.0, missing: 1e9 };

    /// True if the set belongs to the ensemble of a family.
    pub fn is_accepted(&self, family: &str) -> bool {
        let is_near = ACCEPTED.iter().any(|&(of, mean)| of == family && self.mean <= mean);
        is_near && self.max <= LARGEST && self.missing <= MARGIN
    }
}

impl Family {
    /// With the free numbers of the shipped profiles: those with bounds. `sparc10:4096,32768` fits these windows alone.
    pub fn new(name: &str) -> Result<Self, Box<dyn Error>> {
        let (name, windows) = name.split_once(':').unwrap_or((name, ""));
        let fitted = windows.split(',').filter(|text| !text.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
        let (name, configurations) = match name {
            "sparc2" => ("sparc2", study::SPARC2),
            "sparc10" => ("sparc10", study::SPARC10),
            _ => return Err("a family is sparc2 or sparc10".into()),
        };
        let library = Library::shipped()?;
        let mut free = BTreeMap::new();
        let mut hosts = Vec::new();
        for configuration in configurations {
            let profile = library.resolve(configuration.host)?;
            let mut keys = Vec::new();
            for (key, entry) in &profile.values {
                if let (Some(low), Some(high), sim::profile::profile_file::Value::Number(value)) = (entry.low, entry.high, &entry.value) {
                    let name = format!("{}/{key}", part_of(configuration.host, key));
                    free.insert(name.clone(), (low, high, *value));
                    keys.push((key.clone(), name));
                }
            }
            hosts.push((configuration, profile, keys));
        }
        let names: Vec<String> = free.keys().cloned().collect();
        let place = |name: &String| names.iter().position(|known| known == name).unwrap_or(0);
        let hosts = hosts
            .into_iter()
            .map(|(configuration, profile, keys)| {
                let places = keys.into_iter().map(|(key, name)| (key, place(&name))).collect();
                (configuration, profile, places)
            })
            .collect();
        let bounds = free.values().map(|&(low, high, _)| (low, high)).collect();
        let start = free.values().map(|&(_, _, value)| value).collect();
        Ok(Self { name, names, bounds, start, hosts, fitted })
    }

    fn kinds(&self, values: &[f64]) -> Option<Vec<(&'static Configuration, Kind)>> {
        self.hosts
            .iter()
            .map(|(configuration, profile, places)| {
                let mut profile = profile.clone();
                for (key, place) in places {
                    profile.set_number(key, values[*place]).ok()?;
                }
                Some((*configuration, Kind::new(&profile)?))
            })
            .collect()
    }

    /// Prints the lowest, the highest and the present value of each number.
    pub fn print_bounds(&self) {
        for ((low, high), start) in self.bounds.iter().zip(&self.start) {
            println!("{low} {high} {start}");
        }
    }

    /// Judges a set, with no more runs than are needed to see that its loss is above `limit`.
    pub fn judge_below(&self, limit: f64, values: &[f64], effort: Effort) -> Verdict {
        let Some(kinds) = self.kinds(values) else { return Verdict::IMPOSSIBLE };
        let missing = claims::of_costs(&kinds);
        if missing > 1.0 {
            // Not worth a run, but in flight.
            return Verdict { loss: 1e3 + missing, missing, ..Verdict::IMPOSSIBLE };
        }
        // One run rules out most of the sets that will not do.
        if self.of_points(&kinds, Effort { seeds: 1, ..effort }).loss > HOPELESS_RATIO * limit {
            return Verdict { loss: f64::INFINITY, ..Verdict::IMPOSSIBLE };
        }
        let of_points = self.of_points(&kinds, effort);
        let loss = of_points.loss + 20.0 * missing;
        if loss > limit {
            return Verdict { loss, ..Verdict::IMPOSSIBLE };
        }
        let of_runs = claims::of_runs(self.name, &kinds, effort);
        Verdict { loss: loss + 20.0 * of_runs, missing: missing + of_points.missing + of_runs, ..of_points }
    }

    /// The verdict of the throughputs: their errors, and what is missing between the windows of the table.
    fn of_points(&self, kinds: &[(&'static Configuration, Kind)], effort: Effort) -> Verdict {
        let is_fitted = |window| self.fitted.is_empty() || self.fitted.contains(&window);
        let points = kinds.iter().flat_map(|(configuration, _)| configuration.points);
        let count = points.filter(|(window, _)| is_fitted(*window)).count() as f64;
        let mut found = Verdict { loss: 0.0, mean: 0.0, max: 0.0, missing: 0.0 };
        for (configuration, kind) in kinds {
            let mut rates = Vec::new();
            for &(window, mbps) in configuration.points.iter().filter(|(window, _)| is_fitted(*window)) {
                let rate = kind.rate(window, 8192, effort.bytes, effort.seeds);
                rates.push((window, rate));
                let error = (rate / mbps - 1.0).abs();
                found.mean += error / count;
                found.max = found.max.max(error);
                found.loss += ((error / 0.05).powi(2) + (error - 0.095).max(0.0) * 200.0) / count;
            }
            found.missing += claims::of_windows(kind, &rates, effort);
        }
        found.loss += 20.0 * found.missing;
        found
    }

    /// For each host, the highest throughput over all windows and sizes of user data, in Mbit/s, and where it is.
    pub fn peaks(&self, values: &[f64], effort: Effort) -> Vec<(&'static Configuration, (f64, u32, u32))> {
        let kinds = self.kinds(values).unwrap_or_default();
        kinds.into_iter().map(|(configuration, kind)| (configuration, claims::peak_of(&kind, effort))).collect()
    }

    /// True if a set shows in detail what the study saw.
    pub fn holds_in_detail(&self, values: &[f64]) -> bool {
        self.kinds(values).is_some_and(|kinds| claims::hold_in_detail(self.name, &kinds))
    }

    /// Host, window, reported and modeled throughput, those windows that were left out of the fit too.
    pub fn table(&self, values: &[f64]) -> Vec<(&'static str, u32, Option<f64>, f64)> {
        let mut rows = Vec::new();
        for (configuration, kind) in self.kinds(values).unwrap_or_default() {
            for window in claims::WINDOWS {
                let reported = configuration.points.iter().find(|(of, _)| *of == window).map(|&(_, mbps)| mbps);
                rows.push((configuration.host, window, reported, kind.rate(window, 8192, ACCEPT.bytes, ACCEPT.seeds)));
            }
        }
        rows
    }

    /// Prints what a set gives, for the eye.
    pub fn print(&self, values: &[f64]) {
        let Some(kinds) = self.kinds(values) else { return };
        for (host, window, reported, modeled) in self.table(values) {
            let compared = reported.map_or(String::new(), |mbps| format!("{mbps:6.1} {:+6.1} %", 100.0 * (modeled / mbps - 1.0)));
            println!("{host:24} {window:6} {modeled:6.1} {compared}");
        }
        claims::print(self.name, &kinds);
        println!("{:?}", self.judge_below(f64::INFINITY, values, ACCEPT));
    }
}

/// The part of a host that holds a key.
fn part_of(host: &str, key: &str) -> String {
    let (machine, rest) = host.split_once('+').unwrap_or((host, ""));
    if key.starts_with("driver_") {
        format!("{rest}/{machine}")
    } else if key.starts_with("board_") || key == "sent_interrupt_us" {
        rest.split('@').next().unwrap_or(rest).to_owned()
    } else {
        machine.to_owned()
    }
}
