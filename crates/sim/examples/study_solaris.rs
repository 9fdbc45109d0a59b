//! Study 2's tables next to the model's: `cargo run --release -p whyperf-sim --example study_solaris -- [KEY=NUMBER…]`
//! prints table, row, reported and modeled figure, and the error in percent. A change is a key of the host's profile.
//! Then it prints Mbit/s by `maxpsz_multiplier` with 1 and 10 connections.

#[path = "../tests/all/study/tables.rs"]
mod solaris;

use sim::profile::Library;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut profile = Library::shipped()?.resolve(solaris::HOST)?;
    for change in std::env::args().skip(1) {
        let (key, number) = change.split_once('=').ok_or("a change is KEY=NUMBER")?;
        profile.set_number(key, number.parse()?)?;
    }
    for row in solaris::rows(&profile) {
        let error = 100.0 * row.error();
        println!("{} {} {:.1} {:.1} {error:+.1}", row.table, row.payload_bytes, row.reported, row.modeled);
    }
    for connections in [1, 10] {
        for multiplier in [1, 2, 4, 8, 16, 44] {
            println!("maxpsz {connections} {multiplier} {:.1}", solaris::copy_steps_mbps(&profile, connections, multiplier));
        }
    }
    Ok(())
}
