//! Sets in files: of a search, and as the shipped ensemble.

use crate::ensemble::Member;
use crate::family::{Family, Verdict};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;

/// Sets of the shipped ensemble at most.
const SHIPPED: usize = 24;

/// The sets of a file: one line per set, numbers separated by blanks.
pub fn read(file: &str, family: &Family) -> Result<Vec<Member>, Box<dyn Error>> {
    let Ok(text) = fs::read_to_string(file) else { return Ok(Vec::new()) };
    let mut members = Vec::new();
    for line in text.lines() {
        let numbers = line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        let [loss, mean, max, missing, values @ ..] = numbers.as_slice() else { return Err("a short line".into()) };
        if values.len() != family.names.len() {
            return Err(format!("{file}: {} numbers for {} names", values.len(), family.names.len()).into());
        }
        let verdict = Verdict { loss: *loss, mean: *mean, max: *max, missing: *missing };
        members.push(Member { values: values.to_vec(), verdict });
    }
    Ok(members)
}

/// Leaves them for the next.
pub fn keep(file: &str, family: &Family, members: &[Member]) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for Member { values, verdict } in members {
        write!(text, "{} {} {} {}", verdict.loss, verdict.mean, verdict.max, verdict.missing)?;
        for value in values {
            write!(text, " {value}")?;
        }
        text.push('\n');
    }
    fs::write(file, text)?;
    let accepted = members.iter().filter(|member| member.verdict.is_accepted(family.name)).count();
    eprintln!("{}: {accepted} of {} accepted", family.name, members.len());
    Ok(())
}

/// Joins the accepted sets of both families to the shipped ensemble, and puts the best one into the profiles.
pub fn write(sparc2: &str, sparc10: &str) -> Result<(), Box<dyn Error>> {
    let families = [Family::new("sparc2")?, Family::new("sparc10")?];
    let members = [accepted(sparc2, &families[0])?, accepted(sparc10, &families[1])?];
    // Any set of one machine is combined with any of the other: where one has fewer, they repeat.
    let count = members.iter().map(Vec::len).max().unwrap_or(0).min(SHIPPED);
    let names: Vec<&String> = families.iter().flat_map(|family| &family.names).collect();
    let hosts = concat!(env!("CARGO_MANIFEST_DIR"), "/hosts");
    let mut text = String::from(
        "about = \"Numbers with which the model does what study 1 reports; throughputs alone do not determine so many costs. Found by scripts/fit_sunos.py.\"
",
    );
    writeln!(text, "names = [")?;
    for name in &names {
        writeln!(text, "    \"{name}\",")?;
    }
    writeln!(text, "]")?;
    for (slow, fast) in members[0].iter().cycle().zip(members[1].iter().cycle()).take(count) {
        // Seven points of one machine and eight of the other.
        let mean = (7.0 * slow.verdict.mean + 8.0 * fast.verdict.mean) / 15.0;
        let values: Vec<String> = slow.values.iter().chain(&fast.values).map(ToString::to_string).collect();
        writeln!(text, "\n[[set]]\nerror_ratio_mean = {mean:.4}\nerror_ratio_max = {:.4}", slow.verdict.max.max(fast.verdict.max))?;
        writeln!(text, "values = [{}]", values.join(", "))?;
    }
    fs::write(format!("{hosts}/sunos-4.1.sets.toml"), text)?;
    for (family, members) in families.iter().zip(&members) {
        for (name, value) in family.names.iter().zip(&members[0].values) {
            put(hosts, name, *value)?;
        }
    }
    golden(&families, &members)?;
    println!("{count} sets");
    Ok(())
}

/// The golden table of the tests: what the best sets give at all seven windows.
fn golden(families: &[Family], members: &[Vec<Member>]) -> Result<(), Box<dyn Error>> {
    let mut text = String::from(
        "# Throughput for user data of 8192 bytes, mean of 25 seeds of 16 MB, with the numbers of the host profiles; written by\n\
         # examples/fit_sunos. Reported: study 1. Bound: 12 % of what is reported, and 6 % in the mean.\n\
         host,window_bytes,reported_mbps,modeled_mbps\n",
    );
    for (family, members) in families.iter().zip(members) {
        for (host, window, reported, modeled) in family.table(&members[0].values) {
            let reported = reported.map_or(String::new(), |mbps| mbps.to_string());
            writeln!(text, "{host},{window},{reported},{modeled:.2}")?;
        }
    }
    Ok(fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/study_throughputs.csv"), text)?)
}

/// The accepted sets, the best first and then those that differ most from the ones before.
fn accepted(file: &str, family: &Family) -> Result<Vec<Member>, Box<dyn Error>> {
    let mut left = read(file, family)?;
    left.retain(|member| member.verdict.is_accepted(family.name) && family.holds_in_detail(&member.values));
    if left.is_empty() {
        return Err(format!("{file}: no set is accepted").into());
    }
    let mut chosen = vec![left.remove(0)];
    while !left.is_empty() && chosen.len() < SHIPPED {
        let far = |member: &Member| chosen.iter().map(|other| distance(family, other, member)).fold(f64::INFINITY, f64::min);
        let farthest = (0..left.len()).max_by(|&a, &b| far(&left[a]).total_cmp(&far(&left[b]))).unwrap_or(0);
        chosen.push(left.remove(farthest));
    }
    Ok(chosen)
}

/// In parts of the bounds.
fn distance(family: &Family, first: &Member, other: &Member) -> f64 {
    let each = family.bounds.iter().zip(first.values.iter().zip(&other.values));
    each.map(|(&(low, high), (first, other))| ((first - other) / (high - low)).powi(2)).sum::<f64>().sqrt()
}

/// Writes a number into its profile, in the line of its key behind the header of its driver.
fn put(hosts: &str, name: &str, value: f64) -> Result<(), Box<dyn Error>> {
    let (part, key) = name.rsplit_once('/').ok_or("a name has no part")?;
    let (file, driver) = match part.split_once('@') {
        None => (part, None),
        Some((adapter, driver)) => (adapter, driver.split_once('/')),
    };
    let path = format!("{hosts}/{file}.toml");
    let text = fs::read_to_string(&path)?;
    let (mut version, mut machine) = (String::new(), String::new());
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let word = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
        if line.starts_with("version = ") {
            version = word(line);
        } else if line.starts_with("machine = ") {
            machine = word(line);
        }
        let is_here = driver.is_none_or(|(of, on)| of == version && on == machine);
        match line.strip_prefix(&format!("{key} = {{ value = ")).and_then(|rest| rest.split_once(',')) {
            Some((_, rest)) if is_here => lines.push(format!("{key} = {{ value = {value},{rest}")),
            _ => lines.push(line.to_owned()),
        }
    }
    Ok(fs::write(path, lines.join("\n") + "\n")?)
}
