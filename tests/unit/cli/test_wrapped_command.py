"""A command that starts when it may, and of which nothing is changed."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from whyperf.cli.live.wrapped import CommandError, WrappedCommand, refuse_missing
from whyperf.cli.workflows.watch import stored_command

#: Starts the command of its arguments, and ends as `whyperf watch` does.
RUNNER = textwrap.dedent(
    """
    import sys, time
    from whyperf.cli.live.wrapped import CommandError, WrappedCommand

    with WrappedCommand(sys.argv[2:]) as command:
        if sys.argv[1] == "hold":
            print("held", flush=True)
            time.sleep(30)
        try:
            command.release()
            code = command.wait()
        except CommandError as error:
            print(error, file=sys.stderr)
            code = error.status
    sys.exit(code)
    """
)


def runner(how: str, *command: str) -> list[str]:
    return [sys.executable, "-c", RUNNER, how, *command]


def run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(runner("go", *command), input=stdin, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("code", [0, 77])
def test_its_exit_code_is_passed_on(code: int) -> None:
    assert run("sh", "-c", f"exit {code}").returncode == code


def test_a_signal_that_ends_it_is_128_more() -> None:
    assert run("sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


def test_its_streams_are_its_own() -> None:
    done = run("sh", "-c", "cat; echo problem >&2", stdin="text\n")
    assert (done.stdout, done.stderr) == ("text\n", "problem\n")


def test_it_is_ended_by_a_pipe_that_nobody_reads() -> None:
    """Python ignores SIGPIPE, which its children inherit otherwise."""
    done = run("sh", "-c", "grep SigIgn /proc/self/status; grep SigBlk /proc/self/status")
    ignored, blocked = (int(line.split()[1], 16) for line in done.stdout.splitlines())
    assert ignored >> (signal.SIGPIPE - 1) & 1 == 0
    assert ignored >> (signal.SIGINT - 1) & 1 == 0
    assert blocked == 0


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}])
def test_its_environment_and_descriptors_are_untouched(locale: dict[str, str]) -> None:
    """Python adds to its own environment in a C locale."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    command = ["sh", "-c", "env | sort; ls /proc/self/fd | wc -l"]
    outputs = [
        subprocess.run(argv, env=kept | locale, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        for argv in (command, runner("go", *command))
    ]
    assert outputs[0].stdout == outputs[1].stdout


@pytest.mark.parametrize(
    ("name", "status", "problem"),
    [
        ("no-such-command-anywhere", 127, "no-such-command-anywhere: there is no such command"),
        ("/no/such/file", 127, "/no/such/file: there is no such command"),
        ("/etc/passwd", 126, "/etc/passwd cannot be started: permission denied"),
        ("/tmp", 126, "/tmp cannot be started: permission denied"),
    ],
)
def test_what_cannot_be_started_is_refused_before(name: str, status: int, problem: str) -> None:
    with pytest.raises(CommandError) as raised:
        refuse_missing([name])
    assert (str(raised.value), raised.value.status) == (problem, status)
    refuse_missing(["sh"])


def test_a_file_that_the_kernel_refuses_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x00nothing that can be executed")
    broken.chmod(0o755)
    done = run(str(broken))
    assert done.returncode == 126
    assert "cannot be started" in done.stderr


def test_it_never_starts_when_whyperf_is_killed_before(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    with subprocess.Popen(runner("hold", "touch", str(mark)), stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        held.stdout.readline()
        held.kill()
        # The process that waits holds the pipe open until it has ended, too.
        held.stdout.read()
    assert not mark.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_from_another_process_is_sent_on(number: int) -> None:
    script = f"trap 'echo got; exit 9' {number}; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(runner("go", "sh", "-c", script), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, number)
        assert running.stdout.readline() == "got\n"
        assert running.wait(20) == 9


def test_a_command_that_is_given_up_is_not_started(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    with WrappedCommand(["touch", str(mark)]):
        pass
    assert not mark.exists()
    # Signals are taken as before.
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_repeat_is_not_seen_and_has_no_input() -> None:
    script = textwrap.dedent(
        """
        import sys
        from whyperf.cli.live.wrapped import WrappedCommand

        with WrappedCommand(["sh", "-c", "cat; echo seen; echo seen >&2; exit 5"], is_repeat=True) as command:
            command.release()
            sys.exit(command.wait(60))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input="text", capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_one_that_takes_too_long_is_ended(trap: str) -> None:
    script = f"{trap}while :; do read -r _ < /dev/null; done"
    with WrappedCommand(["sh", "-c", script], is_repeat=True) as command:
        command.release()
        assert command.wait(0.2) == 128 + (signal.SIGKILL if trap else signal.SIGTERM)
        assert command.is_late
    with WrappedCommand(["true"], is_repeat=True) as command:
        command.release()
        assert (command.wait(60), command.is_late) == (0, False)


def test_what_a_late_one_has_started_is_ended_with_it(tmp_path: Path) -> None:
    """A shell that SIGTERM ends, and what it started does not end by that."""
    started = tmp_path / "pid"
    script = "trap '' TERM; echo $$ > $0; exec sleep 600"
    with WrappedCommand(["sh", "-c", 'sh -c "$1" "$0" & wait', str(started), script], is_repeat=True) as command:
        command.release()
        assert command.wait(1) == 128 + signal.SIGTERM
    stat = Path("/proc", started.read_text().strip(), "stat")
    # What is killed is a zombie until whoever took it over has waited for it.
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (["watch", ":80", "--time", "3"], "whyperf watch :80 --time 3"),
        (["watch", "--", "psql"], "whyperf watch -- psql"),
        (
            ["watch", "--out", "my results", "--", "mysql", "-phunter2", "--password=hunter2", "--", "hunter2"],
            "whyperf watch --out 'my results' -- mysql ARGUMENTS",
        ),
        (["watch", "--"], "whyperf watch --"),
    ],
)
def test_arguments_of_a_program_are_not_stored(given: list[str], stored: str) -> None:
    assert stored_command(given) == stored
