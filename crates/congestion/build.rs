//! Compiles the congestion controls, one object each, and their arithmetic once more for the tests.

use std::path::Path;

const SOURCES: &str = "src/bpf";
const ALGORITHMS: [&str; 7] = ["scalable", "highspeed", "hslp", "bic", "htcp", "fast", "ltcp"];
const ARITHMETIC: &str = "tests/arithmetic.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCES}");
    println!("cargo:rerun-if-changed={ARITHMETIC}");
    let compiler = bpf_build::Compiler::new();
    for algorithm in ALGORITHMS {
        let source = Path::new(SOURCES).join(format!("{algorithm}.bpf.c"));
        compiler.compile(&source, &format!("{algorithm}.bpf.o"), &[]);
    }
    // Only the tests name its functions, so nothing of it gets into the agent.
    cc::Build::new().file(ARITHMETIC).include(bpf_build::HEADERS).compile("arithmetic");
}
