//! Compiles the evidence's BPF programs with clang. The object goes into the binary, so that a
//! measured host needs neither clang nor headers.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "src/evidence/bpf";
/// Older ones make programs that verifiers refuse.
const OLDEST_CLANG: u32 = 18;

fn main() {
    println!("cargo:rerun-if-changed={SOURCES}");
    println!("cargo:rerun-if-env-changed=CLANG");
    // Where libbpf-sys unpacked libbpf's own headers.
    let headers = PathBuf::from(env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are"));
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = clang();
    let architecture = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "-D__TARGET_ARCH_x86",
        Ok("aarch64") => "-D__TARGET_ARCH_arm64",
        other => panic!("the BPF programs are written for x86_64 and aarch64, not {other:?}"),
    };
    // Linux before 5.12 refuses every program that holds an atomic addition whose result is used.
    for (object, option) in [("evidence.bpf.o", "-DHAS_FETCH"), ("evidence_old.bpf.o", "-UHAS_FETCH")] {
        let status = Command::new(&clang)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", architecture, option, "-c", "-I"])
            .arg(&headers)
            .arg(Path::new(SOURCES).join("evidence.bpf.c"))
            .arg("-o")
            .arg(folder.join(object))
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} could not compile {SOURCES}/evidence.bpf.c: {status}"),
            Err(error) => panic!("{clang} cannot be started: {error}; install clang {OLDEST_CLANG} or newer"),
        }
    }
}

/// The compiler that CLANG names, or the first new enough one on PATH.
fn clang() -> String {
    if let Ok(named) = env::var("CLANG") {
        return named;
    }
    let mut candidates = std::iter::once("clang".to_owned()).chain((OLDEST_CLANG..=30).rev().map(|version| format!("clang-{version}")));
    let new_enough = |name: &String| version_of(name).is_some_and(|version| version >= OLDEST_CLANG);
    candidates.find(new_enough).unwrap_or_else(|| {
        panic!(
            "no clang {OLDEST_CLANG} or newer on PATH, which the BPF programs need; install it (Debian 12: clang-19), or name it in CLANG"
        )
    })
}

/// Major version of a clang.
fn version_of(name: &str) -> Option<u32> {
    let output = Command::new(name).arg("-dumpversion").output().ok()?;
    String::from_utf8(output.stdout).ok()?.split('.').next()?.trim().parse().ok()
}
