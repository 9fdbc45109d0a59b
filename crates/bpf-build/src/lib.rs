//! Compiles BPF programs with clang, for the build scripts of the crates that carry some. The objects
//! go into the binary, so that a measured host needs neither clang nor headers.
//!
//! Whatever goes wrong ends the build with a sentence: a build script has no other output that is read.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Older ones make programs that verifiers refuse.
const OLDEST_CLANG: u32 = 18;
/// Headers that all programs share; plain C, so that user space can compile with them, too.
pub const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// A clang that can compile the programs, and where the headers are.
pub struct Compiler {
    clang: String,
    /// Where libbpf-sys unpacked libbpf's own headers.
    libbpf_headers: PathBuf,
    folder: PathBuf,
    architecture: &'static str,
}

impl Compiler {
    /// Finds everything; prints for cargo what the objects depend on.
    ///
    /// # Panics
    /// There is no clang, the architecture is not known, or the caller is not a build script of a
    /// crate that depends on libbpf-sys.
    pub fn new() -> Self {
        println!("cargo:rerun-if-env-changed=CLANG");
        println!("cargo:rerun-if-changed={HEADERS}");
        let architecture = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
            Ok("x86_64") => "-D__TARGET_ARCH_x86",
            Ok("aarch64") => "-D__TARGET_ARCH_arm64",
            other => panic!("the BPF programs are written for x86_64 and aarch64, not {other:?}"),
        };
        Self {
            clang: clang(),
            libbpf_headers: PathBuf::from(env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are")),
            folder: PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")),
            architecture,
        }
    }

    /// Compiles `source` to `object` in the folder that cargo names in `OUT_DIR`.
    ///
    /// # Panics
    /// clang refuses the source, or cannot be started.
    pub fn compile(&self, source: &Path, object: &str, options: &[&str]) {
        // The programs' debugging information names their files: as seen from the source tree, wherever it lies.
        let moved = |from: &Path, to: &str| format!("-ffile-prefix-map={}={to}", from.display());
        let here = env::current_dir().expect("cargo runs build scripts in the crate's folder");
        let headers = Path::new(HEADERS);
        let status = Command::new(&self.clang)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", self.architecture])
            .args([moved(&self.libbpf_headers, "libbpf"), moved(headers, "include"), moved(&here, ".")])
            .args(options)
            .args(["-I", HEADERS, "-I"])
            .arg(&self.libbpf_headers)
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(self.folder.join(object))
            .status();
        let clang = &self.clang;
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} could not compile {}: {status}", source.display()),
            Err(error) => panic!("{clang} cannot be started: {error}; install clang {OLDEST_CLANG} or newer"),
        }
    }
}

/// Compresses `object` in the folder that cargo names in `OUT_DIR` (RFC 1950), to a file of the same name with `.z`: large
/// objects would make up 4 % of a binary that is pushed to hosts.
///
/// # Panics
/// The file cannot be read, or the new one cannot be written.
pub fn pack(object: &str) {
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(object);
    let read = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let packed = File::create(path.with_file_name(format!("{object}.z")))
        .and_then(|file| {
            let mut packing = ZlibEncoder::new(file, Compression::best());
            packing.write_all(&read)?;
            packing.finish()
        })
        .map(drop);
    packed.unwrap_or_else(|error| panic!("{} cannot be packed: {error}", path.display()));
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
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
