//! Compiles the evidence's BPF programs.

use std::path::Path;

const SOURCES: &str = "src/evidence/bpf";

fn main() {
    println!("cargo:rerun-if-changed={SOURCES}");
    let compiler = bpf_build::Compiler::new();
    let source = Path::new(SOURCES).join("evidence.bpf.c");
    // Linux before 5.12 refuses every program that holds an atomic addition whose result is used.
    for (object, option) in [("evidence.bpf.o", "-DHAS_FETCH"), ("evidence_old.bpf.o", "-UHAS_FETCH")] {
        compiler.compile(&source, object, &[option]);
    }
}
