//! The agent's privileges, those it could be given, and what stands in the way: for `whyperf doctor --grant`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;

use nix::sys::statvfs::{FsFlags, statvfs};
use schema::host::Privileges;

use super::system;

/// A yes or a no, and why.
pub(super) type Verdict = Result<String, String>;

/// Runs `work` on a thread that ends with it, so that whatever it got ends too.
pub(super) fn on_own_thread(work: impl FnOnce() -> Verdict + Send) -> Verdict {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|_| Err("the attempt ended unexpectedly".to_owned())))
}

/// True if the process has the capability of this number (capabilities(7)) in effect.
pub(super) fn has_capability(number: u32) -> bool {
    let status = system::read("/proc/self/status");
    let effective = system::field(&status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    effective.is_some_and(|mask| mask >> number & 1 == 1)
}

/// The capabilities that some part of whyperf uses, by their numbers (linux/capability.h).
const CAPABILITIES: [(&str, u32); 7] = [
    ("cap_net_admin", 12),
    ("cap_net_raw", 13),
    ("cap_sys_admin", 21),
    ("cap_sys_nice", 23),
    ("cap_sys_resource", 24),
    ("cap_perfmon", 38),
    ("cap_bpf", 39),
];
/// Says what lets a process do what was refused, in a clause. Root need not become root: it lacks capabilities, as in a
/// container, or the kernel refuses it to everybody.
pub fn remedy(capabilities: &[&str]) -> String {
    let status = system::read("/proc/self/status");
    let mask = system::field(&status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    remedy_of(nix::unistd::geteuid().is_root(), &named(mask), capabilities)
}

fn remedy_of(is_root: bool, held: &[String], wanted: &[&str]) -> String {
    if !is_root {
        return format!("run as root, or with {}", wanted.join(" and "));
    }
    let lacking: Vec<&str> = wanted.iter().copied().filter(|name| !held.contains(&name.to_lowercase())).collect();
    if lacking.is_empty() {
        return format!("root has {} here, so a security module, seccomp or the settings of the kernel forbid it", wanted.join(" and "));
    }
    format!("root lacks {} here, as in a container; give it that", lacking.join(" and "))
}

/// Others than the owner may write.
const WRITABLE: u32 = 0o022;

pub(super) fn describe() -> Privileges {
    let status = system::read("/proc/self/status");
    let held = |field: &str| named(system::field(&status, field).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0));
    let binary = fs::read_link("/proc/self/exe").unwrap_or_default();
    Privileges {
        effective: held("CapEff"),
        bounding: held("CapBnd"),
        no_new_privileges: system::field(&status, "NoNewPrivs") == Some("1"),
        is_nosuid: statvfs(&binary).is_ok_and(|found| found.flags().contains(FsFlags::ST_NOSUID)),
        is_binary_safe: binary.ancestors().all(is_roots),
        binary: binary.display().to_string(),
    }
}

/// True if only root can change what has this name.
fn is_roots(path: &Path) -> bool {
    // Others may not remove another's file from a folder with the sticky bit, so that one is as safe.
    const STICKY: u32 = 0o1000;
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.uid() == 0 && (found.mode() & WRITABLE == 0 || found.is_dir() && found.mode() & STICKY != 0))
}

fn named(mask: u64) -> Vec<String> {
    CAPABILITIES.iter().filter(|(_, number)| mask >> number & 1 == 1).map(|(name, _)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_read_by_the_kernels_numbers() {
        assert_eq!(named(1 << 39 | 1 << 38 | 1), ["cap_perfmon", "cap_bpf"]);
    }

    #[test]
    fn root_reads_what_it_lacks_and_not_to_be_root() {
        let wanted = ["CAP_BPF", "CAP_PERFMON"];
        let all = ["cap_bpf".to_owned(), "cap_perfmon".to_owned()];
        assert_eq!(remedy_of(false, &[], &wanted), "run as root, or with CAP_BPF and CAP_PERFMON");
        assert_eq!(remedy_of(true, &all[..1], &wanted), "root lacks CAP_PERFMON here, as in a container; give it that");
        assert!(remedy_of(true, &all, &wanted).starts_with("root has CAP_BPF and CAP_PERFMON here, so "));
    }

    #[test]
    fn what_others_may_write_is_not_safe() {
        assert!(is_roots(Path::new("/")));
        let folder = std::env::temp_dir();
        assert!(is_roots(&folder), "root's, with the sticky bit");
        let file = folder.join(format!("whyperf-privileges-{}", std::process::id()));
        fs::write(&file, "").expect("write");
        let mut mode = fs::metadata(&file).expect("there").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o666);
        fs::set_permissions(&file, mode).expect("mode");
        let is_safe = is_roots(&file);
        fs::remove_file(&file).expect("remove");
        assert!(!is_safe);
    }
}
