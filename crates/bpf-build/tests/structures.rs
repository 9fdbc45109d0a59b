//! The structures that BPF programs share with Rust are generated: each `layout.rs` of the probe from its `bpf/layout.h`.
//! Only this test needs libclang, which Debian's clang brings along; a build does not. It is no test of the probe, which
//! may not compile before the file is generated again.

use bindgen::callbacks::{DeriveTrait, ImplementsTrait, ItemInfo, ParseCallbacks};
use std::fs;

/// Folders of programs, and what of their headers the reader needs.
const SHARED: [(&str, &str, &str); 4] = [
    (
        "../probe/src/evidence",
        "record|call|log_head|connection|cpu|constants|control|end_number|load_thread|tuple|pick",
        "NONE|PORTS|PROCESS_WORDS|PICKS|SPARE_PICKS|SEVERAL_NAMESPACES",
    ),
    ("../probe/src/sockets/settings", "socket_settings", "NAGLE_OFF|.*_BUFFER_LOCK"),
    (
        "../probe/src/stages",
        "sampled_end|stage_control|stage_segment|stage_level|stage_cpu|stage_record|gap_key|end_number",
        "LEVELS|OWNERS|NO_STAGE|EMPTY_BINS|EMPTY_CALL",
    ),
    ("../probe/src/stacks", "sampled|frames|sampled_cpu|sampling_request|thread_group", "MAX_FRAMES"),
];
/// As `whyperf/types.h` names the integers.
const INTEGERS: &str = "use {u8 as __u8, u16 as __u16, u32 as __u32, u64 as __u64};";

/// Rust's names of C's structures: `log_head` is `LogHead`.
#[derive(Debug)]
struct CamelCase;

impl ParseCallbacks for CamelCase {
    fn item_name(&self, item: ItemInfo<'_>) -> Option<String> {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        let is_structure = !item.name.starts_with("__") && item.name.starts_with(char::is_lowercase);
        is_structure.then(|| item.name.split('_').map(capital).collect())
    }

    /// Those that are not generated are integers.
    fn blocklisted_type_implements_trait(&self, _: &str, _: DeriveTrait) -> Option<ImplementsTrait> {
        Some(ImplementsTrait::Yes)
    }
}

fn generated(folder: &str, types: &str, constants: &str) -> String {
    let bindings = bindgen::builder()
        .header(format!("{folder}/bpf/layout.h"))
        .clang_args(["-I", "include", "-fparse-all-comments"])
        .parse_callbacks(Box::new(CamelCase))
        .allowlist_type(types)
        .allowlist_var(constants)
        .blocklist_type("__[su](8|16|32|64)")
        .raw_line("//! Generated from `bpf/layout.h` by `make schemas`; a test compares the two.\n")
        .raw_line(INTEGERS)
        .disable_header_comment()
        .formatter(bindgen::Formatter::Prettyplease)
        .fit_macro_constants(true)
        .prepend_enum_name(false)
        .derive_default(true)
        .derive_eq(true)
        .no_default("control|stage_control|frames")
        .layout_tests(false)
        .use_core();
    bindings.generate().expect("libclang reads the header").to_string()
}

#[test]
fn the_readers_structures_are_those_of_the_programs() {
    for (folder, types, constants) in SHARED {
        let (current, generated_file) = (generated(folder, types, constants), format!("{folder}/layout.rs"));
        if std::env::var_os("WHYPERF_GENERATE").is_some() {
            fs::write(&generated_file, &current).expect("the file can be written");
        }
        let checked_in = fs::read_to_string(&generated_file).expect("it is there");
        assert!(checked_in == current, "{generated_file} is not what {folder}/bpf/layout.h says; run make schemas and commit the result");
    }
}
