//! Finding and ending agents whose controller is gone, with real processes: a shell under the
//! agent's name, whose script is called `serve`.

use std::fs;
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{comes_true, one_at_a_time};
use nix::fcntl::OFlag;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::pipe2;
use path::leftovers::{Leftover, Outcome, clean, leftovers};

#[test]
fn a_stopped_agent_without_controller_is_found_and_ended() {
    let (agent, controller) = Agent::start("stopped", "kill -STOP $$");
    assert!(agent.found().is_none(), "its controller lives");
    drop(controller);
    assert!(comes_true(|| agent.found().is_some_and(|found| found.state == "stopped")), "it is not found");
    let found = agent.found().expect("found");
    assert_eq!(found.binary, agent.folder.join("whyperf-agent"));
    let cleaned = clean(&[Leftover::Agent(found.clone())]);
    assert_eq!(cleaned[0].outcome, Outcome::Ended);
    assert!(agent.found().is_none(), "it is still there");
    assert_eq!(clean(&[Leftover::Agent(found)])[0].outcome, Outcome::AlreadyGone);
}

#[test]
fn an_agent_that_does_not_listen_is_killed() {
    let (agent, controller) = Agent::start("deaf", "trap '' TERM; : > ignores; read word < wait");
    drop(controller);
    assert!(comes_true(|| agent.folder.join("ignores").exists()), "it does not ignore the signal yet");
    assert!(comes_true(|| agent.found().is_some()), "it is not found");
    let cleaned = clean(&[Leftover::Agent(agent.found().expect("found"))]);
    assert_eq!(cleaned[0].outcome, Outcome::Killed);
    assert!(agent.found().is_none(), "it is still there");
}

#[test]
fn an_agent_whose_controller_lives_is_not_touched() {
    let (agent, controller) = Agent::start("led", "read word < wait");
    // What an earlier, wrong finding could have been.
    let orphan = {
        let (other, other_controller) = Agent::start("orphan", "read word < wait");
        drop(other_controller);
        assert!(comes_true(|| other.found().is_some()), "it is not found");
        other.found().expect("found")
    };
    let stat = fs::read_to_string(format!("/proc/{}/stat", agent.pid)).expect("stat");
    let start_ticks = stat.rsplit_once(") ").expect("name").1.split(' ').nth(19).expect("start").parse().expect("number");
    let claimed = path::leftovers::AgentProcess { pid: agent.pid, start_ticks, ..orphan };
    let outcome = clean(&[Leftover::Agent(claimed)]).remove(0).outcome;
    let Outcome::Refused { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains(&std::process::id().to_string()), "{reason}");
    assert!(fs::exists(format!("/proc/{}", agent.pid)).expect("proc"));
    drop(controller);
}

/// Who holds the pipe is not searched for among the files of all processes, which may be millions.
#[test]
fn an_agent_whose_pipe_is_held_where_no_process_shows_it_is_none() {
    let (agent, controller) = Agent::start("in-flight", "read word < wait");
    let (sender, receiver) = UnixDatagram::pair().expect("sockets");
    let held = [controller.as_raw_fd()];
    let message = [ControlMessage::ScmRights(&held)];
    sendmsg::<()>(sender.as_raw_fd(), &[IoSlice::new(b"a")], &message, MsgFlags::empty(), None).expect("it is sent");
    drop(controller);
    let while_held = agent.found();
    drop((sender, receiver));
    assert!(while_held.is_none(), "whoever takes it out of the socket controls the agent");
    assert!(comes_true(|| agent.found().is_some()), "it is not found");
}

#[test]
fn a_later_process_of_the_same_id_is_not_touched() {
    let (agent, controller) = Agent::start("later", "read word < wait");
    drop(controller);
    assert!(comes_true(|| agent.found().is_some()), "it is not found");
    let mut found = agent.found().expect("found");
    found.start_ticks += 1;
    assert_eq!(clean(&[Leftover::Agent(found)])[0].outcome, Outcome::AlreadyGone);
    assert!(agent.found().is_some(), "it was ended");
}

#[test]
fn a_leftover_reads_as_json() {
    let agent = path::leftovers::AgentProcess {
        pid: 7,
        start_ticks: 9,
        age_s: 60,
        binary: PathBuf::from("/x/whyperf-agent"),
        state: "stopped".to_owned(),
        network_namespaces: vec!["net:[1]".to_owned()],
    };
    let cleaned = path::leftovers::Cleaned { leftover: Leftover::Agent(agent), outcome: Outcome::Killed };
    let json = serde_json::to_value(cleaned).expect("json");
    assert_eq!(json["leftover"]["leftover"], "agent");
    assert_eq!(json["leftover"]["pid"], 7);
    assert_eq!(json["outcome"]["outcome"], "killed");
}

/// A process that looks like an agent and has lost its parent.
struct Agent {
    pid: u32,
    folder: PathBuf,
}

impl Agent {
    /// Starts an agent that runs `script`, and returns it with the end of its pipe that a
    /// controller holds.
    fn start(name: &str, script: &str) -> (Self, OwnedFd) {
        // A process started meanwhile by another test would inherit the binary open for writing,
        // and it could not be run then ("text file busy").
        let _guard = one_at_a_time();
        let folder = std::env::temp_dir().join(format!("whyperf-leftovers-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("folder");
        let shell = fs::canonicalize("/bin/sh").expect("shell");
        fs::copy(shell, folder.join("whyperf-agent")).expect("binary");
        fs::File::create(folder.join("serve")).expect("script").write_all(script.as_bytes()).expect("script");
        nix::unistd::mkfifo(&folder.join("wait"), nix::sys::stat::Mode::S_IRWXU).expect("fifo");
        let (read, write) = pipe2(OFlag::O_CLOEXEC).expect("pipe");
        let mut parent = Command::new("/bin/sh")
            .args(["-c", "exec 3<&0; ./whyperf-agent serve <&3 3<&- >/dev/null & echo $!"])
            .current_dir(&folder)
            .stdin(Stdio::from(read))
            .stdout(Stdio::piped())
            .spawn()
            .expect("start");
        let mut line = String::new();
        BufReader::new(parent.stdout.take().expect("output")).read_line(&mut line).expect("line");
        parent.wait().expect("end of the parent");
        (Self { pid: line.trim().parse().expect("process id"), folder }, write)
    }

    /// What is found of this agent.
    fn found(&self) -> Option<path::leftovers::AgentProcess> {
        leftovers().into_iter().find_map(|leftover| match leftover {
            Leftover::Agent(agent) if agent.pid == self.pid => Some(agent),
            _ => None,
        })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let is_ours = fs::read_link(format!("/proc/{}/exe", self.pid)).is_ok_and(|binary| binary.starts_with(&self.folder));
        if is_ours {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(i32::try_from(self.pid).expect("process id")),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
