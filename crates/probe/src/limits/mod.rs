//! Limits of a load from outside its sockets: control groups, counters of TCP/IP, queueing disciplines. Evidence
//! level 0, no privilege.
//!
//! Cost: about 1 ms for a sample, a dozen files and one netlink dump; taken before the load starts and after it ended.
//! What a host does not have is absent; nothing here fails as a whole. Columns: [`schema::table::HOST_COUNTERS`].

mod control_groups;
mod network;
mod pressure;
mod queues;

use schema::table::HostCounter;
use std::collections::BTreeMap;

pub use control_groups::Groups;

/// Of what a value is: the counter, its subject and its kind.
pub type Key = (HostCounter, String, String);

/// Counters and limits at one instant. A counter that the host does not have at all has no value under an empty subject.
pub type Readings = BTreeMap<Key, Option<u64>>;

/// Reads all counters, and those of these control groups.
#[must_use]
pub fn sample(groups: &Groups) -> Readings {
    let mut readings = Readings::new();
    groups.read(&mut readings);
    network::read(&mut readings);
    queues::read(&mut readings);
    for counter in HostCounter::ALL {
        if !readings.keys().any(|(known, ..)| *known == counter) {
            readings.insert((counter, String::new(), String::new()), None);
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_own() -> Readings {
        let mut groups = Groups::open();
        groups.add(std::process::id());
        sample(&groups)
    }

    #[test]
    fn every_counter_has_a_reading_or_is_named_as_missing() {
        let readings = sample_own();
        for counter in HostCounter::ALL {
            assert!(readings.keys().any(|(known, ..)| *known == counter), "{}", counter.name());
        }
        let retransmitted = &readings[&(HostCounter::TcpRetransSegs, String::new(), "snmp".to_owned())];
        assert!(retransmitted.is_some(), "every kernel counts this");
    }

    /// Checks that what is read twice is the same thing, under the same name.
    #[test]
    fn two_samples_have_the_same_counters() {
        let (first, second) = (sample_own(), sample_own());
        let network = |readings: &Readings| readings.keys().filter(|(_, subject, _)| subject.is_empty()).cloned().collect::<Vec<_>>();
        assert_eq!(network(&first), network(&second));
    }
}
