//! What packets take of a line is what `whyperf overhead` says: both are held to `frames.csv`.

use sim::link::framing::{Aal, Framing};
use sim::link::media::{self, Clock};

#[test]
fn packets_take_what_overhead_says() {
    let mut count = 0;
    for row in include_str!("../frames.csv").lines().filter(|row| !row.starts_with('#')).skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let named = media::named(fields[0]).expect("the line is known");
        let aal = if fields[2] == "5" { Aal::Aal5 } else { Aal::Aal34 };
        let small = |index: usize| u32::try_from(number(index)).expect("a small number");
        let framing = Framing { medium: named.medium, aal, llc_bytes: small(1), vlan_tags: small(3) };
        let units = framing.units(small(4));
        assert_eq!(units, number(5), "{row}");
        assert_eq!(Clock::new(named.unit_time()).of(units), number(6), "{row}");
        count += 1;
    }
    assert!(count > 80, "{count} rows");
}
