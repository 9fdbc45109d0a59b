//! The algorithms: one flat table.

/// One of our congestion controls.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// Its name in a trial, and in Linux where that has its own.
    pub name: &'static str,
    /// Name of ours in the kernel: at most 15 characters (`TCP_CA_NAME_MAX`), and never a name
    /// that a module of the kernel's could want.
    pub own_name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The compiled programs.
    pub(crate) object: &'static [u8],
}

macro_rules! algorithm {
    ($name:literal, $source:literal) => {
        Algorithm {
            name: $name,
            own_name: concat!("wp_", $name),
            source: $source,
            object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")),
        }
    };
}

/// All of them, in the order of study §4.
pub const ALGORITHMS: [Algorithm; 7] = [
    algorithm!("scalable", "Kelly 2003"),
    algorithm!("highspeed", "RFC 3649"),
    algorithm!("hslp", "Kuzmanovic, Knightly, Cottrell 2004"),
    algorithm!("bic", "Xu, Harfoush, Rhee 2004"),
    algorithm!("htcp", "draft-leith-tcp-htcp"),
    algorithm!("fast", "Jin, Wei, Low 2004"),
    algorithm!("ltcp", "Bhandarkar, Jain, Reddy 2006"),
];

impl Algorithm {
    /// The algorithm of a name, common or own.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALGORITHMS.iter().find(|algorithm| algorithm.name == name || algorithm.own_name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_room_for_every_name() {
        assert!(ALGORITHMS.iter().all(|algorithm| algorithm.own_name.len() <= 15));
    }

    #[test]
    fn an_algorithm_answers_to_both_its_names() {
        assert_eq!(Algorithm::named("htcp").map(|found| found.own_name), Some("wp_htcp"));
        assert_eq!(Algorithm::named("wp_htcp").map(|found| found.name), Some("htcp"));
        assert!(Algorithm::named("cubic").is_none());
    }
}
