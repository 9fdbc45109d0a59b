//! The kernel takes every algorithm, and forgets it.

use congestion::{ALGORITHMS, Holder};
use std::fs;

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("sysctl")
}

/// One test: what is registered is the whole machine's.
#[test]
fn the_kernel_takes_every_algorithm_and_forgets_it_with_its_holder() {
    if let Err(reason) = congestion::ability() {
        eprintln!("skipped: {reason}");
        return;
    }
    let mut holder = Holder::default();
    let others: Vec<String> = available().split_whitespace().map(str::to_owned).collect();
    for algorithm in &ALGORITHMS {
        let name = holder.name_for(algorithm.own_name).expect("the kernel takes it");
        assert_eq!(name, algorithm.own_name);
        assert!(available().split_whitespace().any(|other| other == name), "{name} is not there");
        // A second trial, and another agent, use what is registered.
        assert_eq!(holder.name_for(&name), Ok(name.clone()));
        assert_eq!(Holder::default().name_for(&name), Ok(name.clone()));
    }
    assert_eq!(holder.name_for("reno"), Ok("reno".to_owned()));
    drop(holder);
    // An agent on the same machine may have had some before us.
    let left = available();
    let ours = |name: &&str| ALGORITHMS.iter().any(|algorithm| algorithm.own_name == *name);
    assert!(left.split_whitespace().filter(ours).all(|name| others.iter().any(|other| other == name)), "{left}");
}
