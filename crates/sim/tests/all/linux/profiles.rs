//! Hosts with Linux from their profiles: each can be built, and what is asked of a host changes what it should.

use sim::application::Application;
use sim::machine::{Buffers, build_with};
use sim::profile::{HostProfile, Library};
use sim::world::{End, Outcome, WorldSpec, run};

const BYTES: u64 = 8 << 20;

fn profile(expression: &str) -> HostProfile {
    Library::shipped().expect("the shipped hosts are whole").resolve(expression).expect("shipped")
}

fn transfer(profile: &HostProfile, buffers: &Buffers, call_bytes: u32) -> Outcome {
    let writer = build_with(profile, buffers, Application::Writer { call_bytes, left_bytes: BYTES }, 1);
    let reader = build_with(profile, buffers, Application::Reader { call_bytes: 65_536, left_bytes: BYTES }, 2);
    let (writer, link) = writer.expect("it can be");
    let outcome = run(&WorldSpec { link, until: None, is_logged: false }, [writer, reader.expect("it can be").0]);
    assert_eq!((&outcome.end, outcome.states[1].read_bytes), (&End::Complete, BYTES));
    outcome
}

#[test]
fn every_kernel_runs_with_every_adapter() {
    for machine in ["linux-6.18", "linux-6.1"] {
        for adapter in ["veth", "nic"] {
            let outcome = transfer(&profile(&format!("{machine}+{adapter}")), &Buffers::default(), 65_536);
            assert!(outcome.goodput_bps(1) > 1e9, "{machine}+{adapter}: {}", outcome.goodput_bps(1));
        }
    }
}

#[test]
fn a_line_sets_the_pace_where_hosts_do_not() {
    let outcome = transfer(&profile("linux-6.18+nic"), &Buffers::all(4 << 20), 65_536);
    assert!((8.5e9..9.42e9).contains(&outcome.goodput_bps(1)), "{}", outcome.goodput_bps(1));
}

#[test]
fn a_buffer_of_nothing_is_refused() {
    let none = Buffers { receive_bytes: Some(0), ..Buffers::default() };
    let refusal = build_with(&profile("linux-6.1+veth"), &none, Application::Reader { call_bytes: 1, left_bytes: 1 }, 1);
    assert!(refusal.expect_err("it cannot be").to_string().contains("a receive buffer of 0 bytes"));
}
