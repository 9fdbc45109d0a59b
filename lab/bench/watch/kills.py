"""A killed watch leaves nothing and disturbs nothing: the controller, the agent or both die at random moments.

Each kill has a transfer of its own, which both sides sum up. Its rate after the kill is compared with its rate before
the watch. What is left is looked for on the whole host: BPF programs, maps and links by their numbers, processes by a
mark in their environment, and files in the folders that the watch may use.
"""

import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from lab.bench.ratio import ratio_of_pairs, text_of
from lab.bench.row import Row
from lab.bench.watch.place import PATIENCE_S, WHYPERF, Namespace, PlaceError, own_namespace, started
from lab.bench.watch.setting import Setting
from tests.e2e import bpf_objects, host_state
from whyperf.plan import Level

Victim = Literal["controller", "agent", "both"]
VICTIMS: Sequence[Victim] = ("controller", "agent", "both")
LATEST_S = 3.0
"""Kills come up to so long after the start: attaching takes a part of it."""
SETTLE_S = 0.3
WINDOW_S = 0.7
GONE_S = 30.0
"""The time that what a killed watch leaves may take to go: the kernel frees programs after a grace period."""
MIN_RATIO = 0.98
"""Of the rates after and before: noise of single windows is far larger, and the median of many is compared."""
TRANSFER = Path(__file__).with_name("transfer.py")
POLL_S = 0.01


@dataclass
class Kill:
    """One kill, and what came of it."""

    number: int
    victim: Victim
    level: Level
    at_s: float
    #: BPF objects of the agent at that moment.
    objects_count: int = 0
    #: Until no process and no BPF object was left.
    gone_s: float = 0.0
    before_bps: float = 0.0
    after_bps: float = 0.0
    problems: list[str] = field(default_factory=list)


def run(setting: Setting) -> list[Row]:
    """Kills so many watches."""
    rng = random.Random(setting.seed)
    mark = secrets.token_hex(8)
    os.environ[host_state.MARK] = mark
    kills = []
    try:
        with own_namespace() as place:
            standing = {process.pid for process in host_state.processes(mark)}
            for number in range(setting.kills):
                level = setting.levels[number % len(setting.levels)]
                kill = Kill(number + 1, rng.choice(VICTIMS), level, rng.uniform(0, LATEST_S))
                _killed(place, kill, mark, standing)
                kills.append(kill)
                if kill.problems:
                    print(f"kill {kill.number}, {kill.victim}, {kill.level}, {kill.at_s:.2f} s: {kill.problems}")
    finally:
        del os.environ[host_state.MARK]
    return rows_of(kills, setting.seed)


def rows_of(kills: Sequence[Kill], seed: int) -> list[Row]:
    """The rows of what was left, and of the rates."""
    problems = [f"{kill.number}: {problem}" for kill in kills for problem in kill.problems]
    ratio = ratio_of_pairs([kill.after_bps for kill in kills], [kill.before_bps for kill in kills], seed)
    by_victim = Counter(kill.victim for kill in kills)
    attached = sum(kill.objects_count > 0 for kill in kills)
    victims = ", ".join(f"{count} × {victim}" for victim, count in by_victim.items())
    rate = median(kill.before_bps for kill in kills)
    gone_s = [kill.gone_s for kill in kills]
    return [
        Row(
            "kills",
            f"{len(kills)} kills ({victims}): objects, processes, files, bytes",
            "0 left or wrong",
            f"{len(problems)}: {'; '.join(problems)[:200]}" if problems else "0",
            not problems,
            values={"kills": [asdict(kill) for kill in kills]},
        ),
        Row(
            "kills",
            f"rate after the kill, {rate / 1e9:.1f} Gbit/s before",
            f"≥ -{1 - MIN_RATIO:.0%} (median)",
            text_of(ratio),
            ratio.median >= MIN_RATIO,
        ),
        Row("kills", "killed with BPF attached", "", f"{attached} of {len(kills)}", is_ok=True, is_bar=False),
        Row(
            "kills",
            "nothing left after",
            "",
            f"{median(gone_s):.2f} s (median), {max(gone_s):.2f} s (longest)",
            is_ok=True,
            is_bar=False,
        ),
    ]


@dataclass(frozen=True)
class _Transfer:
    """A transfer under way."""

    sender: "subprocess.Popen[str]"
    receiver: "subprocess.Popen[str]"
    port: int

    def totals(self) -> tuple[str, str]:
        """Ends it in good order; bytes and sum of both sides."""
        assert self.sender.stdin is not None
        self.sender.stdin.close()
        assert self.sender.stdout is not None
        assert self.receiver.stdout is not None
        return self.sender.stdout.readline().strip(), self.receiver.stdout.readline().strip()


@contextmanager
def _transfer(place: Namespace) -> Iterator[_Transfer]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # They are no part of the watch, and carry no mark of it.
    environment = {name: value for name, value in os.environ.items() if name != host_state.MARK}
    with started(place.inside(sys.executable, str(TRANSFER), "send"), env=environment, **pipes) as sender:
        assert sender.stdout is not None
        port = sender.stdout.readline().strip()
        if not port:
            raise PlaceError("the transfer does not begin")
        command = place.inside(sys.executable, str(TRANSFER), "receive", port)
        with started(command, env=environment, **pipes) as receiver:
            yield _Transfer(sender, receiver, int(port))


def _killed(place: Namespace, kill: Kill, mark: str, standing: set[int]) -> None:
    """Makes one kill."""
    objects = bpf_objects.on_this_host()
    with _transfer(place) as transfer, tempfile.TemporaryDirectory(prefix="whyperf-kill-") as name:
        folder = Path(name)
        kill.before_bps = _rate_bps(place)
        with _watch(place, kill, transfer.port, folder) as watching:
            since_s = time.monotonic()
            _wait_and_kill(watching, kill, mark, standing, since_s)
            killed_s = time.monotonic()
            _await_end(watching, kill, folder)
        _await_none(kill, mark, standing, objects)
        kill.gone_s = time.monotonic() - killed_s
        kill.after_bps = _rate_bps(place)
        sent, received = transfer.totals()
        if sent != received or not sent:
            kill.problems.append(f"sent {sent}, received {received}")
        found = [path.name for path in (folder / "work", folder / "tmp") for path in path.iterdir()]
        if found:
            kill.problems.append(f"files left: {found}")


@contextmanager
def _watch(place: Namespace, kill: Kill, port: int, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    (folder / "work").mkdir()
    (folder / "tmp").mkdir()
    asked = ("watch", f":{port}", "--evidence", kill.level, "-i", "0.2", "--plain", "--no-report", "--out", "there")
    with (
        (folder / "said").open("w", encoding="utf-8") as said,
        started(
            place.inside(*WHYPERF, *asked),
            cwd=folder / "work",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, "TMPDIR": str(folder / "tmp")},
        ) as watching,
    ):
        yield watching


def _wait_and_kill(
    watching: "subprocess.Popen[str]", kill: Kill, mark: str, standing: set[int], since_s: float
) -> None:
    time.sleep(max(0.0, since_s + kill.at_s - time.monotonic()))
    agents = _agents(mark, standing)
    # An agent that is to be killed is waited for.
    while not agents and kill.victim == "agent" and time.monotonic() - since_s < PATIENCE_S:
        time.sleep(POLL_S)
        agents = _agents(mark, standing)
    kill.at_s = time.monotonic() - since_s
    kill.objects_count = sum(len(bpf_objects.held_by(agent)) for agent in agents)
    if watching.poll() is not None:
        kill.problems.append("the watch had ended before")
    if kill.victim != "agent":
        watching.send_signal(signal.SIGKILL)
    if kill.victim != "controller":
        for agent in agents:
            with suppress(ProcessLookupError):
                os.kill(agent, signal.SIGKILL)


def _agents(mark: str, standing: set[int]) -> list[int]:
    return [
        process.pid for process in host_state.processes(mark) if process.pid not in standing and "agent" in process.name
    ]


def _await_end(watching: "subprocess.Popen[str]", kill: Kill, folder: Path) -> None:
    """The controller whose agent was killed ends by itself, with a sentence."""
    try:
        status = watching.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        kill.problems.append("the controller runs on without its agent")
        return
    if kill.victim != "agent":
        return
    said = (folder / "said").read_text(encoding="utf-8")
    if status != 1 or "Traceback" in said or "internal error" in said:
        kill.problems.append(f"the controller ended with {status}: {said[-300:]}")


def _await_none(kill: Kill, mark: str, standing: set[int], before: bpf_objects.Objects) -> None:
    end = time.monotonic() + GONE_S
    while True:
        left = [process for process in host_state.processes(mark) if process.pid not in standing]
        objects = bpf_objects.on_this_host() - before
        if not left and not objects:
            return
        if time.monotonic() > end:
            break
        time.sleep(POLL_S)
    if left:
        kill.problems.append(f"processes left: {left}")
    if objects:
        kill.problems.append(f"BPF objects left: {sorted(objects)}")
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def _rate_bps(place: Namespace) -> float:
    time.sleep(SETTLE_S)
    before, start_s = place.loopback_bytes(), time.monotonic()
    time.sleep(WINDOW_S)
    return (place.loopback_bytes() - before) * 8 / (time.monotonic() - start_s)
