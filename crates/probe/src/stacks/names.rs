//! Asks for the names of functions of sampled programs: each program's by a child process of its own
//! ([`super::resolver`]), so that a program whose files end or hang it loses its own names only.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::resolver::{CPU_SECONDS_MOST, INLINED_MOST, Named, Question, RESOLVE_VERB, shortened};

/// The time that a child may take, and so all of them: the controller waits for 30 s (`python/whyperf/watch/session.py`).
const TIME_MOST: Duration = Duration::from_secs(20);
/// Bytes of an answer: 20,000 functions with names of 100 bytes, twice.
pub(super) const ANSWER_BYTES_MOST: usize = 4 << 20;
/// Time that the kernel may take to end a child: one that waits for a disk or a file server ends when that answers.
const END_GRACE: Duration = Duration::from_secs(1);

/// All that is known of a program.
#[derive(Debug, Default)]
pub(super) struct ProgramNames {
    /// The functions at its addresses; a later entry replaces an earlier one.
    pub functions: Vec<Named>,
    /// Why some are missing, if it is not the program's own.
    pub failure: Option<String>,
}

/// Asks about processes and addresses in them; the answers come in the same order.
pub(super) fn ask_all(resolver: &Path, questions: Vec<Question>) -> Vec<(u32, ProgramNames)> {
    thread::scope(|scope| {
        // At the same time: one that hangs keeps no other one waiting. The kernel ends them first where memory is short.
        let asked = |question: Question| scope.spawn(move || (question.process, ask(resolver, &question, TIME_MOST)));
        let asked: Vec<_> = questions.into_iter().map(asked).collect();
        asked.into_iter().filter_map(|answer| answer.join().ok()).collect()
    })
}

fn ask(resolver: &Path, question: &Question, time_most: Duration) -> ProgramNames {
    let until = Instant::now() + time_most;
    let mut child = match start(resolver, question) {
        Ok(child) => child,
        Err(error) => {
            return ProgramNames {
                failure: Some(format!("the process that reads its symbols did not start: {error}")),
                ..ProgramNames::default()
            };
        }
    };
    let (text, unread) = child.stdout.take().map(|mut output| read(&mut output, until)).unwrap_or_default();
    let ended = end(child, if unread.is_some() { Instant::now() } else { until });
    let failure = unread.or_else(|| match ended {
        Some(status) if status.success() => None,
        Some(status) if status.signal() == Some(libc::SIGXCPU) => {
            Some(format!("reading its symbols took more than {CPU_SECONDS_MOST} s of CPU time"))
        }
        Some(status) => Some(format!("the process that reads its symbols ended with {status}")),
        None => Some(too_slow(time_most)),
    });
    let named = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Named>(line).ok());
    let asked = named.filter(|named| question.addresses.binary_search(&named.address).is_ok());
    ProgramNames { functions: asked.map(bounded).collect(), failure }
}

fn too_slow(time_most: Duration) -> String {
    format!("reading its symbols took more than {} s", time_most.as_secs_f64())
}

/// Starts the child, without a way back to privileges.
fn start(resolver: &Path, question: &Question) -> io::Result<Child> {
    // Not through a pipe: a child that does not read must not stop us.
    let mut input = File::from(memfd_create(c"question", MFdFlags::MFD_CLOEXEC)?);
    let mut writer = BufWriter::new(&input);
    serde_json::to_writer(&mut writer, question)?;
    writer.flush()?;
    drop(writer);
    input.rewind()?;
    let mut command = Command::new(resolver);
    command.arg(RESOLVE_VERB).env_clear().stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: a system call and nothing else happens between fork and exec.
    unsafe { command.pre_exec(|| Ok(prctl::set_no_new_privs()?)) };
    command.spawn()
}

/// Reads until the end, the time or the limit; what was read, and why it is not all.
fn read(output: &mut ChildStdout, until: Instant) -> (Vec<u8>, Option<String>) {
    let (mut text, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut waits = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waits, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)) {
            Ok(0) => return (text, None),
            Err(nix::Error::EINTR) => continue,
            Ok(_) => {}
            Err(error) => return (text, Some(format!("its symbols cannot be read: {error}"))),
        }
        match output.read(&mut chunk) {
            Ok(0) => return (text, None),
            Ok(length) => text.extend_from_slice(&chunk[..length]),
            Err(error) => return (text, Some(format!("its symbols cannot be read: {error}"))),
        }
        if text.len() > ANSWER_BYTES_MOST {
            return (text, Some(format!("its symbols take more than {ANSWER_BYTES_MOST} bytes")));
        }
    }
}

/// Waits for the child's end, and ends it where its time is up; nothing where it ends later.
fn end(mut child: Child, until: Instant) -> Option<ExitStatus> {
    let mut is_killed = false;
    loop {
        if let Some(status) = child.try_wait().ok()? {
            return (!is_killed).then_some(status);
        }
        let now = Instant::now();
        if now >= until && !is_killed {
            let _ = child.kill();
            is_killed = true;
        }
        if now >= until + END_GRACE {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The child may have been taken over by what it read: nothing in its answer is longer than it should be.
fn bounded(mut named: Named) -> Named {
    named.functions.truncate(INLINED_MOST);
    for text in named.functions.iter_mut().map(|(name, _)| name).chain([&mut named.object]) {
        *text = shortened(text);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Finds what is known of addresses 1 and 2 of a process, by a script in place of the child.
    fn answer(name: &str, script: &str, time_most: Duration) -> ProgramNames {
        let file = std::env::temp_dir().join(format!("whyperf-names-{}-{name}", std::process::id()));
        // Written by another process: a file that this one has open for writing could not be started.
        let write = format!("cat >\"$0\" <<'END' && chmod +x \"$0\"\n#!/bin/sh\n{script}\nEND");
        assert!(Command::new("sh").args(["-c", &write]).arg(&file).status().expect("a shell").success());
        let answer = ask(&file, &Question { process: 1, addresses: vec![1, 2] }, time_most);
        fs::remove_file(&file).expect("it is ours");
        answer
    }

    fn names(answer: &ProgramNames) -> Vec<(u64, Vec<&str>)> {
        answer.functions.iter().map(|named| (named.address, named.functions.iter().map(|(name, _)| name.as_str()).collect())).collect()
    }

    const ONE: &str = r#"echo '{"address": 1, "object": "o", "functions": [["outer", false], ["inner", true]]}'"#;

    #[test]
    fn what_a_child_answered_before_its_end_counts() {
        let unasked = r#"echo '{"address": 3, "object": "o", "functions": [["other", false]]}'"#;
        let answer = answer("ends", &format!("{ONE}\n{unasked}\necho nonsense\nkill -ABRT $$"), TIME_MOST);
        assert_eq!(names(&answer), [(1, vec!["outer", "inner"])]);
        assert!(answer.failure.as_ref().is_some_and(|reason| reason.contains("signal: 6")), "{answer:?}");
    }

    #[test]
    fn a_child_that_hangs_is_ended() {
        let answer = answer("hangs", "exec sleep 1000", Duration::from_millis(1));
        assert_eq!((answer.functions.len(), answer.failure), (0, Some("reading its symbols took more than 0.001 s".to_owned())));
    }

    #[test]
    fn an_answer_without_end_is_cut() {
        let answer = answer("floods", "exec yes", TIME_MOST);
        assert!(answer.failure.is_some_and(|reason| reason.contains("4194304 bytes")));
    }

    #[test]
    fn a_name_is_never_longer_than_the_record_takes() {
        let long = r#"printf '{"address": 1, "object": "", "functions": [["%s", false]]}\n' "$(head -c 100000 /dev/zero | tr '\0' x)""#;
        let answer = answer("long", long, TIME_MOST);
        assert_eq!(answer.functions[0].functions[0].0.len(), 4096, "{:?}", answer.failure);
    }

    #[test]
    fn a_child_that_cannot_be_started_is_named() {
        let answer = ask(Path::new("/nonexistent"), &Question { process: 1, addresses: Vec::new() }, TIME_MOST);
        assert!(answer.failure.is_some_and(|reason| reason.contains("did not start")));
    }
}
