//! Compiles the BPF programs: those of the evidence, those for stage times, the one that samples stacks, and the one that
//! lists settings of sockets.

use std::path::Path;

const EVIDENCE: &str = "src/evidence/bpf";
const STAGES: &str = "src/stages/bpf";
const STACKS: &str = "src/stacks/bpf";
const SETTINGS: &str = "src/sockets/settings/bpf";

fn main() {
    println!("cargo:rerun-if-changed={EVIDENCE}");
    println!("cargo:rerun-if-changed={STAGES}");
    println!("cargo:rerun-if-changed={STACKS}");
    println!("cargo:rerun-if-changed={SETTINGS}");
    let compiler = bpf_build::Compiler::new();
    let source = Path::new(EVIDENCE).join("evidence.bpf.c");
    // Linux before 5.12 refuses every program that holds an atomic addition whose result is used.
    for (suffix, fetch) in [("", "-DHAS_FETCH"), ("_old", "-UHAS_FETCH")] {
        for (which, chooses) in [("", "-DCHOOSES=0"), ("_chosen", "-DCHOOSES=1")] {
            let object = format!("evidence{which}{suffix}.bpf.o");
            compiler.compile(&source, &object, &[fetch, chooses]);
            bpf_build::pack(&object);
        }
    }
    for (folder, name) in [(STAGES, "stages"), (STACKS, "stacks"), (SETTINGS, "settings")] {
        let object = format!("{name}.bpf.o");
        compiler.compile(&Path::new(folder).join(format!("{name}.bpf.c")), &object, &[]);
        bpf_build::pack(&object);
    }
}
