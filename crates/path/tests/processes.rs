//! Processes around a testbed: one holds it and is killed, others enter it. This binary has no
//! test harness, because entering takes a process without threads; it starts itself in the two
//! roles. Needs root; without it, it says so and passes.

#[path = "all/support.rs"]
mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use support::{comes_true, host_devices, inside, spec, when_privileged};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("hold") => hold(),
        Some("enter") => enter(&arguments[2]),
        _ if when_privileged().is_some() => {
            let checks: [(&str, fn()); 3] = [
                ("a_process_enters_and_sees_only_the_testbed", a_process_enters_and_sees_only_the_testbed),
                ("a_namespace_that_is_none_is_named", a_namespace_that_is_none_is_named),
                ("a_killed_holder_leaves_nothing", a_killed_holder_leaves_nothing),
            ];
            for (name, check) in checks {
                check();
                println!("test {name} ... ok");
            }
        }
        _ => {}
    }
}

/// Role: builds a testbed, says where, and holds it until it is killed.
fn hold() {
    let testbed = path::build(&spec()).expect("build");
    println!("{} {}", testbed.report().near.netns, testbed.report().far.netns);
    std::thread::sleep(std::time::Duration::from_secs(60));
}

/// Role: enters and says what it sees.
fn enter(netns: &str) {
    if let Err(error) = path::enter(Path::new(netns)) {
        println!("{error}");
        return;
    }
    let mut in_sysfs: Vec<String> = fs::read_dir("/sys/class/net")
        .expect("sysfs")
        .map(|entry| entry.expect("entry").file_name().into_string().expect("name"))
        .collect();
    in_sysfs.sort();
    let below = fs::exists("/sys/fs/cgroup/cgroup.procs").expect("sysfs") || fs::read_dir("/sys/fs/cgroup").expect("sysfs").count() > 0;
    println!("{} {} {below}", host_devices().len(), in_sysfs.join(","));
}

fn a_process_enters_and_sees_only_the_testbed() {
    let below = fs::read_dir("/sys/fs/cgroup").is_ok_and(|entries| entries.count() > 0);
    let mounts = || fs::read_to_string("/proc/self/mounts").expect("mounts");
    let before = mounts();
    let testbed = path::build(&spec()).expect("build");
    assert_eq!(said_by(&["enter", &testbed.report().near.netns]), format!("2 lo,veth-near {below}"));
    assert_eq!(said_by(&["enter", &testbed.report().far.netns]), format!("2 lo,veth-far {below}"));
    assert_eq!(mounts(), before, "a mount of an entered process shows outside");
}

fn a_namespace_that_is_none_is_named() {
    let gone = format!("/proc/{}/fd/999", std::process::id());
    for netns in [gone.as_str(), "/dev/null", "/proc/self/ns/uts"] {
        let said = said_by(&["enter", netns]);
        assert!(said.contains(netns) && said.contains("gone or never was"), "{said}");
    }
}

fn a_killed_holder_leaves_nothing() {
    let devices = host_devices();
    let mut holder = Holder::start();
    let namespaces = [&holder.near, &holder.far].map(|netns| fs::read_link(netns).expect("namespace"));
    assert!(namespaces.iter().all(|namespace| namespaces_in_use().contains(namespace)));
    // A thread in the far namespace keeps that one; the far device goes all the same when the
    // kernel has removed the near namespace.
    let far = holder.far.clone();
    inside(&far, || {
        let has_device = || fs::read_to_string("/proc/thread-self/net/dev").expect("devices").contains("veth-far");
        assert!(has_device());
        holder.kill();
        assert!(comes_true(|| !has_device()), "the far device outlives its holder");
    });
    assert!(
        comes_true(|| namespaces_in_use().iter().all(|namespace| !namespaces.contains(namespace))),
        "a namespace outlives its holder: {namespaces:?}"
    );
    assert_eq!(host_devices(), devices);
}

/// A process that holds a testbed.
struct Holder {
    child: Child,
    near: String,
    far: String,
}

impl Holder {
    fn start() -> Self {
        let mut child = myself(&["hold"]).stdout(Stdio::piped()).spawn().expect("start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("output")).read_line(&mut line).expect("line");
        let (near, far) = line.trim().split_once(' ').expect("two paths");
        let (near, far) = (near.to_owned(), far.to_owned());
        Self { child, near, far }
    }

    fn kill(&mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("end");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn myself(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("path"));
    command.args(arguments);
    command
}

fn said_by(arguments: &[&str]) -> String {
    let output = myself(arguments).output().expect("start");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// The network namespaces that any thread is in or any process holds open.
fn namespaces_in_use() -> Vec<PathBuf> {
    let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let processes = list(PathBuf::from("/proc")).filter(|path| path.join("task").exists());
    let files =
        processes.flat_map(|process| list(process.join("task")).map(|thread| thread.join("ns/net")).chain(list(process.join("fd"))));
    files.filter_map(|file| fs::read_link(file).ok()).filter(|link| link.to_string_lossy().starts_with("net:[")).collect()
}
