"""`whyperf watch` against an agent that follows a script: reports, messages, signals, exit codes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import watching_agent
from tests.e2e.whyperf_command import Done, argv, whyperf
from whyperf.cli.live.interrupts import REPEAT_S
from whyperf.run.agents.pipes import agent_binary

BULK = {"rate": 10_000_000, "unsent_bytes": 100_000}


def scripted(folder: Path, **scenario: Any) -> dict[str, str]:
    """The environment in which the agent is the scripted one."""
    agent = folder / "scripted-agent"
    command = [sys.executable, watching_agent.__file__, json.dumps(scenario), str(agent_binary())]
    agent.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    agent.chmod(0o755)
    return {**os.environ, "WHYPERF_AGENT": str(agent)}


def start(folder: Path, environment: Mapping[str, str], *arguments: str, **streams: Any) -> "subprocess.Popen[str]":
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        argv("watch", "--no-report", *arguments), cwd=folder, env=environment, text=True, **(options | streams)
    )


def watch(folder: Path, environment: Mapping[str, str], *arguments: str) -> Done:
    return whyperf("watch", "--no-report", *arguments, folder=folder, environment=environment, timeout_s=60)


def wait_for_line(running: "subprocess.Popen[str]") -> str:
    assert running.stdout is not None
    return running.stdout.readline()


def test_lines_come_while_it_goes_on_and_the_result_at_the_end(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK, {"is_whole": False}], empty_reports=2)
    done = watch(tmp_path, environment, ":5201", "--time", "1.2", "-i", "0.2", "--out", "there")
    assert done.status == 0, done.err
    waits = ["No TCP connection of :5201 yet; waiting for one (Ctrl-C ends)", "Watching 2 connections"]
    assert done.err.splitlines()[:2] == waits
    lines = [line for line in done.out.splitlines() if " s  scripted (4711) 127.0.0.1:4000" in line]
    assert len(lines) >= 4
    assert "sent 80.0 Mbit/s, network" in lines[-2]
    assert "sent 0 bit/s, idle" in lines[-1]
    assert "In full: whyperf explain there" in done.out
    assert (tmp_path / "there" / "plan.json").exists()


def test_nothing_seen_is_a_failure_and_leaves_nothing(tmp_path: Path) -> None:
    environment = scripted(tmp_path)
    done = watch(tmp_path, environment, ":5201", "-t", "0.5", "-i", "0.2")
    assert done.status == 1
    assert done.err.splitlines()[-1] == "whyperf: no TCP connection of :5201 was seen, so nothing is kept"
    assert not (tmp_path / "results").exists()


def test_a_lower_level_is_said_and_only_doubtful_where_a_level_was_named(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK], reason="BPF needs CAP_BPF")
    done = watch(tmp_path, environment, ":5201", "-t", "0.5", "-i", "0.2")
    assert (done.status, done.err.splitlines()[0]) == (0, "Evidence level user: BPF needs CAP_BPF")
    assert watch(tmp_path, environment, ":5201", "-t", "0.5", "--evidence", "counters").status == 3


@pytest.mark.parametrize(("fault", "code"), [("usage", 2), ("host", 1)])
def test_a_refusal_is_one_sentence(tmp_path: Path, fault: str, code: int) -> None:
    environment = scripted(tmp_path, refuse={"fault": fault, "text": "there is no process 99 on this host"})
    done = watch(tmp_path, environment, "99")
    assert (done.status, done.err) == (
        code,
        "whyperf: there is no process 99 on this host; for a port write :99\n",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_polite_kill_keeps_what_there_is(tmp_path: Path, number: signal.Signals) -> None:
    """A terminal that is closed sends two: one comes from the kernel, one from the shell."""
    environment = scripted(tmp_path, connections=[BULK])
    with start(tmp_path, environment, ":5201", "-i", "0.2", "--out", "there") as running:
        wait_for_line(running)
        for _ in range(2 if number == signal.SIGHUP else 1):
            running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "In full: whyperf explain there" in out
    assert (tmp_path / "there" / "plan.json").exists()


def test_a_pipe_that_nobody_reads_any_more_ends_it_with_what_there_is(tmp_path: Path) -> None:
    """As `whyperf watch | head -1`; what it found is printed on standard error."""
    environment = scripted(tmp_path, connections=[BULK])
    with start(tmp_path, environment, ":5201", "-i", "0.2", "--out", "there") as running:
        wait_for_line(running)
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        err = running.stderr.read()
        assert running.wait(60) == 0, err
    assert "In full: whyperf explain there" in err
    assert "Traceback" not in err
    assert (tmp_path / "there" / "plan.json").exists()


def test_under_nohup_a_watch_outlives_its_terminal(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK])
    command = ["nohup", *argv("watch", "--no-report", ":5201", "-i", "0.2", "-t", "1", "--out", "there")]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as running:
        first = wait_for_line(running)
        running.send_signal(signal.SIGHUP)
        rest, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    lines = [line for line in (first, *rest.splitlines()) if "scripted (4711)" in line and " s  " in line]
    assert len(lines) > 2, "it went on for its time"


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK], is_deaf=True)
    with start(tmp_path, environment, ":5201", "-i", "0.2") as running:
        wait_for_line(running)
        running.send_signal(signal.SIGINT)
        # What comes sooner is the same wish: timeout(1) sends its signal twice.
        time.sleep(REPEAT_S + 0.2)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(5) == 130
        running.communicate()


def test_a_command_starts_when_the_watch_has_begun(tmp_path: Path) -> None:
    """Its exit code and its streams are passed on; what whyperf says is on standard error."""
    mark = tmp_path / "asked.json"
    environment = scripted(tmp_path, connections=[BULK], mark=str(mark))
    done = watch(tmp_path, environment, "--out", "there", "--", "sh", "-c", f"cat {mark}; echo $$; exit 7")
    request, pid = done.out.splitlines()
    asked = json.loads(request)
    assert asked["selection"]["processes"] == [int(pid)]
    assert asked["ends_with_process"] == int(pid)
    assert done.status == 7
    assert "In full: whyperf explain there" in done.err


def test_a_command_without_connections_has_its_exit_code(tmp_path: Path) -> None:
    done = watch(tmp_path, scripted(tmp_path), "--", "sh", "-c", "exit 5")
    assert done.status == 5
    assert done.err == (
        "whyperf: no TCP connection of the command was open at one of the 20 samples a second; nothing is kept\n"
    )


def test_a_command_that_a_signal_ends_has_128_more_and_the_record_is_kept(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK])
    with start(
        tmp_path, environment, "--out", "there", "--", "sh", "-c", "echo ready; exec sleep 60", start_new_session=True
    ) as running:
        wait_for_line(running)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM, err
    assert (tmp_path / "there" / "plan.json").exists()


def test_a_refused_command_is_not_started(tmp_path: Path) -> None:
    environment = scripted(tmp_path, refuse={"fault": "host", "text": "no sockets here"})
    done = watch(tmp_path, environment, "--", "touch", "started")
    assert (done.status, done.err) == (1, "whyperf: no sockets here\n")
    assert not (tmp_path / "started").exists()


def test_an_agent_that_dies_does_not_end_the_command(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK], dies_after=2)
    done = watch(tmp_path, environment, "-i", "0.1", "--", "sh", "-c", "sleep 0.7; echo done; exit 4")
    assert (done.status, done.out) == (4, "done\n")
    assert "the near agent ended with status 3" in done.err


def test_a_command_goes_on_when_whyperf_is_killed(tmp_path: Path) -> None:
    environment = scripted(tmp_path, connections=[BULK])
    command = ("--", "sh", "-c", "echo begun; sleep 0.5; echo ended > mark")
    with start(tmp_path, environment, *command) as running:
        wait_for_line(running)
        running.kill()
        # The command holds the pipe open until it has ended.
        running.communicate(timeout=60)
    assert (tmp_path / "mark").read_text() == "ended\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--",), "there is no command behind --"),
        (("--json", "--", "true"), "--json prints on standard output, which is that of the command"),
        (("--repeat", ":80"), "--repeat runs a command again; write it behind --"),
        (("--budget", "5", "--", "true"), "--budget is for the runs of --repeat"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    done = watch(tmp_path, scripted(tmp_path), *arguments)
    assert done.status == 2
    assert problem in done.err


def test_both_sides_are_watched_and_one_that_is_lost_is_left_out(tmp_path: Path) -> None:
    """The far agent is reached by what stands for ssh."""
    environment = scripted(tmp_path, connections=[BULK])
    ssh = tmp_path / "ssh"
    ssh.write_text(
        "#!/bin/sh\n"
        "for last; do :; done\n"
        'case "$last" in\n'
        f'*"exec whyperf-agent serve"*) exec {environment["WHYPERF_AGENT"]} serve;;\n'
        '*) PATH="$AGENT_FOLDER:$PATH" exec sh -c "$last";;\n'
        "esac\n"
    )
    ssh.chmod(0o755)
    far = {**environment, "WHYPERF_SSH": str(ssh), "AGENT_FOLDER": str(agent_binary().parent)}
    done = watch(tmp_path, far, ":5201", "--far", "otherhost", "-t", "1", "-i", "0.2", "--json")
    assert done.status in {0, 3}, done.err
    intervals = [json.loads(line) for line in done.out.splitlines()][:-1]
    assert {each["host"] for each in intervals} == {"near", "far"}
