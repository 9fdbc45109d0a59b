//! Finds the UDT library and compiles the shim that gives it a C interface. Without the library the
//! crate is built all the same, and says at run time what is missing.

use std::path::PathBuf;
use std::process::Command;

const SHIM: &str = "src/shim.cpp";
/// The same interface without the library.
const ABSENT: &str = "src/absent.c";
/// What a static link takes: the library, and the C++ library that it wants.
const ARCHIVES: [&str; 2] = ["udt", "stdc++"];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(udt_present)");
    println!("cargo:rerun-if-changed={SHIM}");
    println!("cargo:rerun-if-changed=src/shim.h");
    println!("cargo:rerun-if-env-changed=CXX");
    let Some(folders) = present() else {
        println!("cargo:rerun-if-changed={ABSENT}");
        cc::Build::new().file(ABSENT).warnings(false).compile("udtshim");
        return;
    };
    println!("cargo:rustc-cfg=udt_present");
    cc::Build::new().cpp(true).std("c++11").file(SHIM).warnings(true).warnings_into_errors(true).cpp_link_stdlib(None).compile("udtshim");
    for (archive, folder) in ARCHIVES.iter().zip(folders) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle={archive}");
    }
}

/// Folders of the archives, where a C++ compiler, the headers and all of them are there.
fn present() -> Option<Vec<PathBuf>> {
    let compiler = cc::Build::new().cpp(true).cargo_warnings(false).try_get_compiler().ok()?;
    let has_headers = Command::new(compiler.path()).args(["-fsyntax-only", "-x", "c++", "-include", "udt/udt.h", "/dev/null"]).output();
    if !has_headers.ok()?.status.success() {
        return None;
    }
    ARCHIVES.iter().map(|archive| folder_of(compiler.path(), archive)).collect()
}

/// Where the compiler finds an archive; it answers with the bare name of one it does not find.
fn folder_of(compiler: &std::path::Path, archive: &str) -> Option<PathBuf> {
    let output = Command::new(compiler).arg(format!("-print-file-name=lib{archive}.a")).output().ok()?;
    let file = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    file.parent().filter(|folder| folder.is_absolute()).map(PathBuf::from)
}
