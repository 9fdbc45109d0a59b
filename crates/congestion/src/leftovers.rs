//! Registrations that a killed run left.
//!
//! From Linux 6.4 on the kernel ends a registration with the process that made it. Before, a guard does
//! (see `guard`), and what stays when that is killed too is found here: one of our names that the kernel
//! offers, of whose map no process has a file descriptor.

use serde::Serialize;
use std::fs;

use crate::algorithms::{ALGORITHMS, Algorithm};
use crate::kernel;
use crate::registration::{maps_of, open_map, process_with, unregister};

/// The first process-ID namespace (`PROC_PID_INIT_INO`): from another one not every holder can be seen.
const WHOLE_MACHINE: &str = "pid:[4026531836]";

/// Something that was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "leftover", rename_all = "snake_case")]
pub enum Leftover {
    /// A congestion control of ours that no living process holds.
    CongestionControl {
        /// The name by which the kernel offers it.
        name: &'static str,
    },
}

/// The outcome of its clean-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CleanUp {
    /// The kernel offers it no more.
    Unregistered,
    /// It is still there.
    Failed {
        /// Why, and what to do.
        reason: String,
    },
}

/// A leftover and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// The leftover.
    pub leftover: Leftover,
    /// The outcome of its clean-up.
    pub outcome: CleanUp,
}

/// Unregisters what no living process holds. To a user who may not see BPF maps nothing is left.
pub fn clean() -> Vec<Cleaned> {
    let available = kernel::available();
    let registered = ALGORITHMS.iter().filter(|algorithm| available.iter().any(|name| name == algorithm.own_name));
    registered.filter_map(clean_one).collect()
}

fn clean_one(algorithm: &'static Algorithm) -> Option<Cleaned> {
    let maps = maps_of(algorithm);
    if maps.is_empty() {
        return None;
    }
    let taken = match process_with(&maps) {
        Ok(Some(_)) => return None,
        Ok(None) => take_away(algorithm, &maps),
        Err(reason) => Err(reason),
    };
    let leftover = Leftover::CongestionControl { name: algorithm.own_name };
    let outcome = match taken {
        Ok(()) => CleanUp::Unregistered,
        Err(reason) => CleanUp::Failed { reason },
    };
    Some(Cleaned { leftover, outcome })
}

fn take_away(algorithm: &Algorithm, maps: &[u32]) -> Result<(), String> {
    let name = algorithm.own_name;
    if fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() != WHOLE_MACHINE) {
        return Err(format!("{name} may be held by a process outside this container; clean up on the host"));
    }
    for map in maps {
        let refused = |error| format!("the kernel does not unregister {name}: {error}");
        match open_map(*map) {
            Ok(map) => unregister(&map).map_err(refused)?,
            // It went by itself meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    if kernel::available().iter().any(|other| other == name) { Err(format!("the kernel offers {name} still")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registered::Registered;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Command, Stdio};

    /// Which algorithm the process in `hold` registers, and how: "link", or "stays" as before Linux 6.4.
    const ASKED: &str = "WHYPERF_TEST_REGISTERS";

    fn algorithm(name: &str) -> &'static Algorithm {
        Algorithm::named(name).expect("ours")
    }

    fn is_offered(name: &str) -> bool {
        kernel::available().iter().any(|other| other == name)
    }

    /// Another process: registers what it is asked to, says so, and holds it until its standard input ends.
    #[test]
    #[ignore = "a part of the test below, in a process of its own"]
    fn hold() {
        let asked = std::env::var(ASKED).expect("an order");
        let (name, way) = asked.split_once(' ').expect("two words");
        let held = if way == "link" { Registered::new(algorithm(name)) } else { Registered::without_link(algorithm(name)) };
        let _held = held.expect("the kernel takes it");
        eprintln!("registered");
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    }

    fn holder(asked: &str) -> Child {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "leftovers::tests::hold", "--ignored", "--nocapture"])
            .env(ASKED, asked)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start");
        let said =
            BufReader::new(child.stderr.take().expect("piped")).lines().find(|line| line.as_ref().is_ok_and(|line| line == "registered"));
        assert!(said.is_some(), "{asked} was not registered");
        child
    }

    #[test]
    fn what_a_killed_process_left_is_unregistered_and_what_a_living_one_holds_is_not() {
        if let Err(reason) = crate::ability() {
            eprintln!("skipped: {reason}");
            return;
        }
        let mut killed = holder("ltcp stays");
        let mut living = [holder("hslp stays"), holder("bic link")];
        killed.kill().expect("SIGKILL");
        killed.wait().expect("gone");
        assert!(is_offered("wp_ltcp"), "the kernel forgets it by itself");
        let expected = Cleaned { leftover: Leftover::CongestionControl { name: "wp_ltcp" }, outcome: CleanUp::Unregistered };
        assert_eq!(clean(), [expected]);
        assert!(!is_offered("wp_ltcp"));
        assert!(is_offered("wp_hslp") && is_offered("wp_bic"), "a living process lost its own");
        assert_eq!(clean(), []);
        for child in &mut living {
            drop(child.stdin.take());
            child.wait().expect("gone");
        }
        assert!(!is_offered("wp_hslp") && !is_offered("wp_bic"), "the holders took theirs with them");
    }
}
