//! Finds the costs of study 1's hosts: an ensemble of sets of numbers, within the bounds of the profiles, for
//! which the model does what the study reports.
//!
//! `scripts/fit_sunos.py FAMILY SEED GENERATIONS FILE` searches the sets of a family (`sparc2` or `sparc10`): it gets
//! their bounds and losses from `cargo run --release -p whyperf-sim --example fit_sunos -- bounds` and `… -- judge`;
//! `… -- accept FAMILY FILE ACCEPTED-FILE` judges the sets in FILE with the study's 25 runs of 16 MB;
//! `… -- spread FAMILY SEED TRIES ACCEPTED-FILE` then fills those up with sets between them;
//! `… -- audit FAMILY FILE` prints what each gives, point by point;
//! `… -- write SPARC2-FILE SPARC10-FILE` joins both into `hosts/sunos-4.1.sets.toml` and puts the best set's numbers
//! into the host profiles. The same seed and generations give the same sets.
//!
//! Fitted are rules' consequences and the points of the study's throughput table at windows 4096, 16384,
//! 32768 and 52428 alone (`study.rs`); of 8192, 24576 and 40960 no more than that they lie between their neighbors.

mod claims;
mod ensemble;
mod family;
mod store;
mod study;
mod trial;

use ensemble::Member;
use family::{ACCEPT, Effort, Family, SEARCH};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts.as_slice() {
        ["bounds", family] => Family::new(family).map(|family| family.print_bounds()),
        ["judge", family] => judge(&Family::new(family)?),
        ["accept", family, found, file] => {
            let family = Family::new(family)?;
            store::keep(file, &family, &ensemble::accept(&family, store::read(found, &family)?))
        }
        ["spread", family, seed, tries, file] => {
            let family = Family::new(family)?;
            let members = ensemble::spread(&family, store::read(file, &family)?, seed.parse()?, tries.parse()?);
            store::keep(file, &family, &members)
        }
        ["show", family, file] => show(family, file),
        ["audit", family, file] => audit(family, file),
        ["write", sparc2, sparc10] => store::write(sparc2, sparc10),
        _ => Err(
            "say bounds FAMILY, judge FAMILY, accept FAMILY FILE ACCEPTED-FILE, spread FAMILY SEED TRIES FILE, show FAMILY FILE, audit FAMILY FILE, or write SPARC2-FILE SPARC10-FILE"
                .into(),
        ),
    }
}

/// Prints the loss of each set on standard input, which has a limit in place of each loss.
fn judge(family: &Family) -> Result<(), Box<dyn Error>> {
    for Member { values, verdict } in store::read("/dev/stdin", family)? {
        println!("{}", family.judge_below(verdict.loss, &values, SEARCH).loss);
    }
    Ok(())
}

/// Shows what the best set gives, point by point.
fn show(family: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let family = Family::new(family)?;
    let population = store::read(file, &family)?;
    if let Some(best) = population.first() {
        for (name, value) in family.names.iter().zip(&best.values) {
            println!("{name:40} {value:8.1}");
        }
        family.print(&best.values);
    }
    Ok(())
}

/// Shows what each set gives: its errors point by point, its peaks, and what is missing to the claims.
fn audit(family: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let family = Family::new(family)?;
    for (index, member) in store::read(file, &family)?.iter().enumerate() {
        let rows = family.table(&member.values);
        let points: Vec<String> = rows
            .iter()
            .map(|&(_, window, reported, modeled)| {
                let compared = reported.map_or(String::new(), |mbps| format!(" ({:+.1} %)", 100.0 * (modeled / mbps - 1.0)));
                format!("{window} {modeled:.1}{compared}")
            })
            .collect();
        let few = Effort { seeds: 2, ..ACCEPT };
        let peaks: Vec<String> = family
            .peaks(&member.values, few)
            .iter()
            .map(|(of, (mbps, window, call))| format!("{mbps:.1} ({:+.1} %) at w{window}-u{call}", 100.0 * (mbps / of.peak - 1.0)))
            .collect();
        println!("set {index}: {} | {}", points.join(", "), peaks.join(", "));
        println!("    in detail {}", family.holds_in_detail(&member.values));
    }
    Ok(())
}
