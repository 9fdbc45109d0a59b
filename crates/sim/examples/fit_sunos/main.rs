//! Finds the costs of study 1's hosts: an ensemble of sets of numbers, within the bounds of the profiles, for
//! which the model does what the study reports.
//!
//! `cargo run --release -p whyperf-sim --example fit_sunos -- search FAMILY SEED GENERATIONS FILE` evolves the sets of
//! a family (`sparc2` or `sparc10`) and puts them into FILE, going on from what is there;
//! `… -- accept FAMILY FILE ACCEPTED-FILE` judges them with the study's 25 runs of 16 MB;
//! `… -- spread FAMILY SEED TRIES ACCEPTED-FILE` then fills those up with sets between them;
//! `… -- audit FAMILY FILE` prints what each gives, point by point;
//! `… -- write SPARC2-FILE SPARC10-FILE` joins both into `hosts/sunos-4.1.sets.toml` and puts the best set's numbers
//! into the host profiles. The same seed and generations give the same sets.
//!
//! Fitted are rules' consequences and the points of the study's throughput table at windows 4096, 16384,
//! 32768 and 52428 alone (`study.rs`); of 8192, 24576 and 40960 no more than that they lie between their neighbors.

mod claims;
mod evolution;
mod family;
mod store;
mod study;
mod trial;

use family::{ACCEPT, Effort, Family};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts.as_slice() {
        ["search", family, seed, generations, file] => search(family, seed.parse()?, generations.parse()?, file),
        ["accept", family, found, file] => accept(family, found, file),
        ["spread", family, seed, tries, file] => {
            let family = Family::new(family)?;
            let members = evolution::spread(&family, store::read(file, &family)?, seed.parse()?, tries.parse()?);
            store::keep(file, &family, &members)
        }
        ["show", family, file] => show(family, file),
        ["audit", family, file] => audit(family, file),
        ["write", sparc2, sparc10] => store::write(sparc2, sparc10),
        _ => Err(
            "say search FAMILY SEED GENERATIONS FILE, accept FAMILY FILE ACCEPTED-FILE, spread FAMILY SEED TRIES FILE, show FAMILY FILE, audit FAMILY FILE, or write SPARC2-FILE SPARC10-FILE"
                .into(),
        ),
    }
}

/// Generations after which what there is is put into the file.
const SLICE: usize = 2;

/// Goes on from the sets of the file, if there are any.
fn search(family: &str, seed: u64, generations: usize, file: &str) -> Result<(), Box<dyn Error>> {
    let family = Family::new(family)?;
    let mut population = store::read(file, &family)?;
    for slice in 0..generations.div_ceil(SLICE) {
        population = evolution::evolve(&family, population, seed.wrapping_add(slice as u64), SLICE);
        store::keep(file, &family, &population)?;
    }
    Ok(())
}

/// Judges the sets of a search as strictly as the ensemble's must be.
fn accept(family: &str, found: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let family = Family::new(family)?;
    let members = evolution::accept(&family, store::read(found, &family)?);
    store::keep(file, &family, &members)
}

/// What the best set gives, point by point.
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

/// What each set gives: its errors point by point, its peaks, and what is missing to the claims.
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
