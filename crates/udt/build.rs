//! Finds the libraries UDT and SRT and compiles the shims that give them one C interface. Without a
//! library the crate is built all the same, and says at run time what is missing.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library, and what a static link takes in addition to its shim.
struct Library {
    name: &'static str,
    shim: &'static str,
    is_shim_cpp: bool,
    header: &'static str,
    /// Its own archive first, then those that it requires.
    archives: &'static [&'static str],
}

const LIBRARIES: [Library; 2] = [
    Library { name: "udt", shim: "src/shim_udt.cpp", is_shim_cpp: true, header: "udt/udt.h", archives: &["udt"] },
    Library { name: "srt", shim: "src/shim_srt.c", is_shim_cpp: false, header: "srt/srt.h", archives: &["srt"] },
];
/// In place of the library of ciphers that SRT wants.
const NO_CIPHER: &str = "src/no_cipher.c";
/// The library that both want, behind them.
const OF_BOTH: &str = "stdc++";
/// The same interface without the library.
const ABSENT: &str = "src/absent.c";
/// In front of SRT's symbols: it still carries the interface of the library that it grew out of, under UDT's names.
const PREFIX: &str = "whyperf_";
/// The prefix of the functions that construct the static objects of a file.
const CONSTRUCTS: &str = "_GLOBAL__sub_I_";
/// The prefixes of the C++ symbols that keep their names, being the language's own library's.
const KEPT: [&str; 5] = ["_ZSt", "_ZNSt", "_ZNKSt", "_ZTISt", "_ZTVSt"];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(udt_present)");
    println!("cargo:rustc-check-cfg=cfg(srt_present)");
    println!("cargo:rerun-if-env-changed=CXX");
    for file in ["src/shim.h", ABSENT, NO_CIPHER] {
        println!("cargo:rerun-if-changed={file}");
    }
    let mut archives = Vec::new();
    for library in LIBRARIES {
        println!("cargo:rerun-if-changed={}", library.shim);
        if library.build(&mut archives).is_none() {
            let table = format!("{}_shim", library.name);
            cc::Build::new().file(ABSENT).define("ABSENT", table.as_str()).warnings(false).compile(&format!("{}shim", library.name));
        }
    }
    if let (false, Some(file)) = (archives.is_empty(), cpp().and_then(|compiler| file_of(&compiler, OF_BOTH))) {
        archives.push((OF_BOTH, file));
    }
    for (name, file) in archives {
        if let Some(folder) = file.parent() {
            println!("cargo:rustc-link-search=native={}", folder.display());
        }
        println!("cargo:rustc-link-lib=static:-bundle={name}");
    }
}

/// The C++ compiler.
fn cpp() -> Option<PathBuf> {
    Some(cc::Build::new().cpp(true).cargo_warnings(false).try_get_compiler().ok()?.path().to_owned())
}

impl Library {
    /// Builds against it, and adds the archives to be linked; none where it is missing.
    fn build(&self, to_link: &mut Vec<(&'static str, PathBuf)>) -> Option<()> {
        let compiler = cpp()?;
        file_of(&compiler, OF_BOTH)?;
        let has_header =
            Command::new(&compiler).args(["-fsyntax-only", "-x", "c++", "-include", self.header, "/dev/null"]).output().ok()?;
        if !has_header.status.success() {
            return None;
        }
        let mut archives = Vec::new();
        for name in self.archives {
            archives.push((*name, file_of(&compiler, name)?));
        }
        match self.name {
            "srt" => {
                archives[0] = ("whyperf_srt", renamed(&archives[0].1)?);
                // Linked behind the library, so cargo hears of it with the archives.
                cc::Build::new().file(NO_CIPHER).warnings_into_errors(true).cargo_metadata(false).compile("no_cipher");
                archives.push(("no_cipher", PathBuf::from(env::var_os("OUT_DIR")?).join("libno_cipher.a")));
            }
            _ => archives[0] = ("whyperf_udt", with_late_constructors(&archives[0].1)?),
        }
        println!("cargo:rustc-cfg={}_present", self.name);
        let mut build = cc::Build::new();
        if self.is_shim_cpp {
            build.cpp(true).std("c++11").cpp_link_stdlib(None);
        }
        build.file(self.shim).warnings(true).warnings_into_errors(true).compile(&format!("{}shim", self.name));
        to_link.extend(archives);
        Some(())
    }
}

/// Where the compiler finds an archive; it answers with the bare name of one it does not find.
fn file_of(compiler: &Path, archive: &str) -> Option<PathBuf> {
    let output = Command::new(compiler).arg(format!("-print-file-name=lib{archive}.a")).output().ok()?;
    let file = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (file.is_absolute() && is_for_target(compiler, &file)).then_some(file)
}

/// True where the linker takes an archive: a compiler for another machine also finds those of this one.
fn is_for_target(compiler: &Path, archive: &Path) -> bool {
    let Some(folder) = env::var_os("OUT_DIR") else { return false };
    let whole = format!("-Wl,--whole-archive,{}", archive.display());
    let linked = Path::new(&folder).join("whole.o");
    let output = Command::new(compiler).args(["-r", "-nostdlib", &whole, "-o"]).arg(&linked).output();
    let _ = fs::remove_file(&linked);
    output.is_ok_and(|output| output.status.success())
}

/// The program for the target's archives: as `NM_<target>` names it when building for another machine.
fn tool(name: &str) -> String {
    let target = env::var("TARGET").unwrap_or_default().replace('-', "_");
    let variable = format!("{}_{target}", name.to_uppercase());
    println!("cargo:rerun-if-env-changed={variable}");
    env::var(variable).unwrap_or_else(|_| name.to_owned())
}

/// A copy of UDT's archive whose static objects are not constructed before `main`: that sleeps 0.1 s in every agent, to
/// measure the CPU's clock. The shim constructs them when the library is used first, in the order of the archive.
fn with_late_constructors(archive: &Path) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("OUT_DIR")?);
    let listed = Command::new(tool("nm")).args(["-P", "--defined-only"]).arg(archive).output().ok()?;
    let symbols = String::from_utf8(listed.stdout).ok()?;
    let constructors: Vec<&str> =
        symbols.lines().filter_map(|line| line.split(' ').next()).filter(|symbol| symbol.starts_with(CONSTRUCTS)).collect();
    // Their names have dots, which C does not allow.
    let declare = |(number, symbol)| format!("void construct_{number}(void) __asm__(\"{symbol}\");\n");
    let declared: Vec<String> = constructors.iter().enumerate().map(declare).collect();
    let calls: Vec<String> = (0..constructors.len()).map(|number| format!("    construct_{number}();\n")).collect();
    let source = folder.join("udt_constructors.c");
    fs::write(&source, format!("{}void whyperf_construct_udt(void) {{\n{}}}\n", declared.concat(), calls.concat())).ok()?;
    cc::Build::new().file(&source).warnings(true).compile("udtconstructors");
    let copy = folder.join("libwhyperf_udt.a");
    let globalized = constructors.iter().map(|symbol| format!("--globalize-symbol={symbol}"));
    let done = Command::new(tool("objcopy")).args(globalized).arg("--remove-section=.init_array").arg(archive).arg(&copy).status().ok()?;
    done.success().then_some(copy)
}

/// A copy of SRT's archive whose names clash with nobody's.
fn renamed(archive: &Path) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("OUT_DIR")?);
    let listed = Command::new(tool("nm")).args(["-P", "--defined-only"]).arg(archive).output().ok()?;
    let symbols = String::from_utf8(listed.stdout).ok()?;
    // What several of its objects define, being inline, is listed by each of them.
    let defined: BTreeSet<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    let clashing = |symbol: &&&str| symbol.starts_with("_Z") && !KEPT.iter().any(|kept| symbol.starts_with(kept));
    let renames: Vec<String> = defined.iter().filter(clashing).map(|symbol| format!("{symbol} {PREFIX}{symbol}\n")).collect();
    let list = folder.join("srt-renames");
    fs::write(&list, renames.concat()).ok()?;
    let copy = folder.join("libwhyperf_srt.a");
    let done = Command::new(tool("objcopy")).arg(format!("--redefine-syms={}", list.display())).arg(archive).arg(&copy).status().ok()?;
    done.success().then_some(copy)
}
