//! Makes the binary smaller: the linker keeps one of several functions with the same code, which generic code has many of.

use std::env;
use std::process::Command;

/// From here on rustc links for `LLD_TARGET` with LLD, which can do that.
const LLD_SINCE: u32 = 90;
const LLD_TARGET: &str = "x86_64-unknown-linux-gnu";

/// The number n of rustc 1.n.
fn rustc_minor() -> Option<u32> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    String::from_utf8(said.stdout).ok()?.split('.').nth(1)?.parse().ok()
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_lld = env::var("TARGET").is_ok_and(|target| target == LLD_TARGET) && rustc_minor() >= Some(LLD_SINCE);
    if is_lld {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}
