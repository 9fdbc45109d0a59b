//! Finds the costs of study 1's hosts: an ensemble of sets of numbers, within the bounds of the profiles, for
//! which the model does what the study reports.
//!
//! `cargo run --release -p whyperf-sim --example fit_sunos -- search FAMILY SEED GENERATIONS FILE` evolves the sets of
//! a family (`sparc2` or `sparc10`) and puts what was accepted into FILE, going on from what is there;
//! `… -- spread FAMILY SEED TRIES FILE` then fills it up around those that were accepted;
//! `… -- write SPARC2-FILE SPARC10-FILE` joins both into `hosts/sunos-4.1.sets.toml` and puts the best set's numbers
//! into the host profiles. The same seed and generations give the same sets.
//!
//! Fitted are rules' consequences and the points of the study's throughput table at windows 4096, 16384,
//! 32768 and 52428 alone (`study.rs`); 8192, 24576 and 40960 are in no part of the loss.

mod claims;
mod evolution;
mod family;
mod store;
mod study;
mod trial;

use family::Family;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["search", family, seed, generations, file] => search(family, seed.parse()?, generations.parse()?, file),
        ["spread", family, seed, tries, file] => {
            let family = Family::new(family)?;
            let members = evolution::spread(&family, store::read(file, &family)?, seed.parse()?, tries.parse()?);
            store::keep(file, &family, &members)
        }
        ["show", family, file] => show(family, file),
        ["write", sparc2, sparc10] => store::write(sparc2, sparc10),
        _ => Err(
            "say search FAMILY SEED GENERATIONS FILE, spread FAMILY SEED TRIES FILE, show FAMILY FILE, or write SPARC2-FILE SPARC10-FILE"
                .into(),
        ),
    }
}

/// Generations after which what there is is put into the file.
const SLICE: usize = 10;

/// Goes on from the sets of the file, if there are any.
fn search(family: &str, seed: u64, generations: usize, file: &str) -> Result<(), Box<dyn Error>> {
    let family = Family::new(family)?;
    let mut population = store::read(file, &family)?;
    for slice in 0..generations.div_ceil(SLICE) {
        population = evolution::evolve(&family, population, seed.wrapping_add(slice as u64), SLICE);
        store::keep(file, &family, &population)?;
    }
    population = evolution::accept(&family, population);
    store::keep(file, &family, &population)
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
