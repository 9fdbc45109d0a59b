"""Kills one process of a run after another with SIGKILL, at random moments, in every kind of run.

    python -m tests.endurance.kills --kills 1000 --log target/kills.jsonl

A chain is one experiment: its command is started, one of its processes is killed, and the same command is started
again, until it has been killed `CHAIN` times. Then it runs to its end, and its record must be whole. So every kill but
the last is followed by a resumed run that is killed in its turn. Each kill is one line of the log, with what went wrong
with it.

The controller is forked from a process that has loaded the libraries, so that the time goes to runs and not to imports;
one in `REAL` chains starts the command `whyperf` itself.
"""

import argparse
import dataclasses
import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lab.app import VERBS
from tests.e2e import bpf_objects, host_state, whyperf_command
from tests.e2e.contents import finished_trials, is_void, partial_trials
from tests.e2e.experiments import profile_text
from tests.e2e.host_state import Process
from tests.endurance import host_counts
from tests.endurance.forks import Forks

#: By the task of a run: how soon a lost agent is named, and nothing is left of a killed controller.
NOTICED_S = 3.0
#: Kills of one experiment, before it may end.
CHAIN = 8
#: One chain in so many starts the command itself.
REAL = 10
#: When what a killed run leaves is given up, and when a run that nobody disturbs.
GIVEN_UP_S = 120.0
LONGEST_RUN_S = 900.0
POLL_S = 0.01
#: Between two looks on a busy host there is less.
STOPPED_S = 1.0
PHASES = {"duration_s": 0.3, "warmup_s": 0.05, "cooldown_s": 0}
NAMED = re.compile(r"the (\S+) agent was killed by signal 9")


@dataclass(frozen=True)
class Kind:
    """A kind of run: its command in a folder, whom to kill, and when at the latest."""

    name: str
    command: Callable[[Path], list[str]]
    #: Folder of the record, below the chain's.
    record: str = "results"
    victims: tuple[str, ...] = ("controller", "near", "far", "testbed")
    latest_s: float = 2.0


def _profile(options: Sequence[object] = (), trials: int = 5, **levels: object) -> Callable[[Path], list[str]]:
    """A command that runs a profile with these levels."""

    def command(folder: Path) -> list[str]:
        path = folder / "killed.toml"
        path.write_text(profile_text(trials, **(PHASES | levels)))  # type: ignore[arg-type]
        return ["run", str(path), *map(str, options), "--no-report", "--out", str(folder / "results")]

    return command


def _truth(*options: str) -> Callable[[Path], list[str]]:
    return lambda folder: ["truth", *options, "--trials", "1", "--out", str(folder / "results")]


KINDS = (
    Kind("loopback", _profile(["--testbed", "loopback"]), victims=("controller", "near", "far")),
    Kind("testbed", _profile(mtu_bytes=[1500, 9188], trials=3)),
    Kind("path", _profile(path_rtt_ms=[1, 4], path_rate_bps=50_000_000, trials=3)),
    Kind("netem", _profile(path_rtt_ms=2, path_rate_bps=50_000_000, path_implementation="netem")),
    Kind("agents", _profile(["--from", "local,local,local"])),
    Kind("workload", _profile(workload="rr", connections=4)),
    Kind("open loop", _profile(workload="crr", offered_rate_per_s=200)),
    Kind("datagrams", _profile(workload="udp-stream", write_rate_bps=20_000_000)),
    Kind("unix", _profile(["--testbed", "loopback"], transport="unix"), victims=("controller", "near", "far")),
    Kind("segments", _profile(["--evidence", "segments"], trials=2, connections=[1, 3])),
    Kind("control", _profile(congestion_control=["htcp", "cubic"], trials=3)),
    Kind("truth", _truth("--short", "--only", "small-receive-buffer", "--only", "tiny-writes"), latest_s=4.0),
    Kind("quota", _truth("--catalog", "field", "--only", "quota-and-small-packets"), latest_s=6.0),
    Kind("firewall", _truth("--catalog", "further", "--only", "path-fails-often"), latest_s=5.0),
    Kind("settings", _truth("--catalog", "further", "--only", "loss-without-timestamps"), latest_s=5.0),
)  # fmt: skip


def waited_s(pid: int) -> float:
    """How long a process's threads were ready to run and had no CPU, since it began (proc(5), schedstat)."""
    waited = 0
    # The process may end while it is looked at, and its folder with it.
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError, IndexError):
                waited += int(path.read_text().split()[1])
    return waited / 1e9


@dataclass
class Controller:
    """A running command, whatever started it."""

    pid: int
    said: Path
    ended: Callable[[], int | None]

    def text(self) -> str:
        """What it has printed on standard error so far."""
        return self.said.read_text(errors="replace") if self.said.exists() else ""


@dataclass
class Kill:
    """One kill, and what came of it."""

    kind: str
    chain: int
    number: int
    victim: str
    at_s: float
    #: Until the controller named the loss; of a killed controller: until nothing of it was left.
    noticed_s: float | None = None
    #: Until the controller had ended, or as before.
    ended_s: float | None = None
    #: How long the controller meanwhile was ready to run and had no CPU.
    waited_s: float = 0.0
    #: How long nothing ran at all, because all of it was stopped: gaps between looks.
    stopped_s: float = 0.0
    named: str = ""
    #: Whether the run was over before anybody could notice.
    is_over: bool = False
    trials: int = 0
    problems: list[str] = field(default_factory=list)


class Killer:
    """Makes chains, in a folder of its own, with a mark that all its processes carry."""

    def __init__(self, folder: Path, seed: int, log: Path) -> None:
        """Nothing runs yet."""
        self.mark = secrets.token_hex(8)
        self.folder, self.seed, self.log = folder, seed, log
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        os.environ |= {
            host_state.MARK: self.mark,
            "TMPDIR": str(self.temporary),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self._forks = Forks(self.mark)
        self.whole_s: dict[str, float] = {}
        self.namespaces: set[str] = set()
        self.objects: bpf_objects.Objects = set()
        self.kills = 0

    def processes(self) -> list[Process]:
        """Living processes of the run; notes their namespaces."""
        found = [process for process in host_state.processes(self.mark) if process.pid not in self._forks.standing]
        self.namespaces |= host_state.namespaces(found)
        return found

    def start(self, arguments: list[str], folder: Path, *, real: bool) -> Controller:
        """Starts a command."""
        said = folder / "said"
        said.unlink(missing_ok=True)
        program = "whyperf-lab" if arguments[0] in VERBS else "whyperf"
        if real:
            with said.open("wb") as errors:
                process = subprocess.Popen(
                    whyperf_command.argv(*arguments, program=program),
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                )
            return Controller(process.pid, said, process.poll)
        fork = self._forks.start([program, *arguments], folder, said)
        assert fork.pid is not None
        return Controller(fork.pid, said, lambda: fork.exitcode)

    def role(self, process: Process) -> str:
        """Which agent a process is; the empty string: none."""
        with suppress(OSError):
            arguments = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
            if "serve" not in arguments:
                return ""
            if "--netns" not in arguments:
                return "testbed"
            # The holder opens the near side's namespace first.
            return "near" if arguments[arguments.index("--netns") + 1].endswith("/3") else "far"
        return ""

    def find(self, victim: str, controller: Controller, rng: random.Random, *, on_loopback: bool) -> Process | None:
        """The victim, if it is there."""
        found = self.processes()
        if victim == "controller":
            return next((process for process in found if process.pid == controller.pid), None)
        # Without namespaces all agents look alike, and the message says which one it was.
        wanted = {"testbed", "near", "far"} if on_loopback else {victim}
        agents = [process for process in found if self.role(process) in wanted]
        return rng.choice(agents) if agents else None

    def kill(self, kind: Kind, controller: Controller, rng: random.Random, made: Kill) -> None:
        """Kills a process of a running command at a moment, and watches what follows."""
        began = time.monotonic()
        while time.monotonic() - began < made.at_s and controller.ended() is None:
            time.sleep(min(POLL_S, max(0.0, made.at_s - (time.monotonic() - began))))
        killed: set[int] = set()
        is_on_loopback = "testbed" not in kind.victims

        def find() -> Process | None:
            return self.find(made.victim, controller, rng, on_loopback=is_on_loopback)

        while self._kill_once(controller, made, began, killed, find):
            # An agent that was about to end anyway is not missed; then its successor dies.
            pass
        if made.is_over:
            return
        # The kernel frees programs and maps after a grace period.
        end = time.monotonic() + 5
        while (left := bpf_objects.still_there(self.objects)) and time.monotonic() < end:
            time.sleep(0.1)
        if left:
            made.problems.append(f"BPF objects are left: {sorted(left)}")
        if holders := host_state.holders(self.namespaces, self.mark):
            made.problems.append(f"namespaces are held: {holders}")
        self.namespaces.clear()
        self.objects.clear()

    def _kill_once(
        self, controller: Controller, made: Kill, began: float, killed: set[int], find: Callable[[], Process | None]
    ) -> bool:
        """Kills the victim and waits for the end of the run; True where another took its place."""
        process = None
        while (process is None or process.pid in killed) and controller.ended() is None:
            process = find()
        if process is None or process.pid in killed:
            made.is_over = True
            return False
        waited = waited_s(controller.pid)
        self.objects = set().union(*(bpf_objects.held_by(other.pid) for other in self.processes()))
        since = time.monotonic()
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        killed.add(process.pid)
        made.at_s = since - began
        if self._await_end(controller, made, since, waited):
            return True
        self._await_none(made, since)
        return False

    def _await_end(self, controller: Controller, made: Kill, since: float, waited: float) -> bool:
        """Waits until the controller has ended of it; True where it goes on, with other agents."""
        trials = controller.text().count("trial ")
        looked = time.monotonic()
        while (code := controller.ended()) is None:
            gap_s, looked = time.monotonic() - looked, time.monotonic()
            made.stopped_s += gap_s if gap_s > STOPPED_S else 0.0
            if made.noticed_s is None:
                made.waited_s = max(made.waited_s, waited_s(controller.pid) - waited)
            said = controller.text()
            if made.noticed_s is None and made.victim != "controller" and NAMED.search(said):
                made.noticed_s = time.monotonic() - since
            # Two lines, because the first may have been under way.
            if made.noticed_s is None and said.count("trial ") > trials + 2 and "agent was" not in said:
                return True
            if time.monotonic() - since > GIVEN_UP_S:
                made.problems.append(f"the controller runs on: {said[-400:]}")
                os.kill(controller.pid, signal.SIGKILL)
                return False
            time.sleep(POLL_S)
        made.ended_s = time.monotonic() - since
        said = controller.text()
        if "Traceback" in said or "internal error" in said:
            made.problems.append(said[-2000:])
        if made.victim == "controller":
            return False
        made.is_over = code in {0, 3}
        named = NAMED.search(said)
        made.named = named.group(1) if named else ""
        if named and made.noticed_s is None:
            made.noticed_s = made.ended_s
        if not made.is_over and (code != 1 or not named):
            made.problems.append(f"ended with {code}: {said[-600:]}")
        return False

    def _await_none(self, made: Kill, since: float) -> None:
        """Waits until nothing of the run is left."""
        looked = time.monotonic()
        while left := self.processes():
            gap_s, looked = time.monotonic() - looked, time.monotonic()
            made.stopped_s += gap_s if gap_s > STOPPED_S else 0.0
            if time.monotonic() - since > GIVEN_UP_S:
                made.problems.append(f"still there: {left}")
                for process in left:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
                return
            time.sleep(POLL_S)
        if made.victim == "controller":
            made.noticed_s = made.ended_s = time.monotonic() - since

    def chain(self, kind: Kind, number: int, kills: int) -> bool:
        """One experiment, killed so often and then made whole; False where this kernel lacks what it needs."""
        rng = random.Random(f"{self.seed} {number}")
        folder = self.folder / f"{number:04}"
        folder.mkdir()
        real = number % REAL == REAL - 1
        command = kind.command(folder)
        before = host_counts.names()
        trials: dict[str, str] = {}
        for _ in range(kills):
            latest_s = max(kind.latest_s, self.whole_s.get(kind.name, 0.0))
            made = Kill(kind.name, number, self.kills + 1, rng.choice(kind.victims), rng.uniform(0, latest_s))
            controller = self.start(command, folder, real=real)
            self.kill(kind, controller, rng, made)
            if controller.ended() == 2 and "this kernel" in controller.text():
                print(f"{kind.name} is left out: {controller.text()}", flush=True)
                return False
            trials = self._compare(kind, folder, made, trials, before)
            if made.is_over:
                # A victim that died when the run was over, or a run that was over first: no kill to resume from.
                self._write({"over": kind.name, **dataclasses.asdict(made)})
                break
            self.kills += 1
            self._write({"kill": kind.name, **dataclasses.asdict(made)})
        began = time.monotonic()
        code, said = self._finish(command, folder)
        # On a busy host all of a run takes longer, and moments are drawn from all of it.
        self.whole_s[kind.name] = time.monotonic() - began
        problems = self._wrong_at_the_end(kind, folder, trials, code, said)
        problems += host_counts.differences_that_stay(before)
        self._write({"chain": kind.name, "number": number, "code": code, "problems": problems, "real": real})
        return True

    def _finish(self, command: list[str], folder: Path) -> tuple[int | None, str]:
        """Runs a command to its end."""
        controller = self.start(command, folder, real=False)
        since = time.monotonic()
        while controller.ended() is None and time.monotonic() - since < LONGEST_RUN_S:
            time.sleep(POLL_S)
        self.processes()
        return controller.ended(), controller.text()

    def _compare(
        self, kind: Kind, folder: Path, made: Kill, trials: dict[str, str], before: host_counts.Names
    ) -> dict[str, str]:
        """What was recorded is still there, and nothing else is left; returns what is recorded now."""
        made.problems += [f"temporary file left: {path.name}" for path in self.temporary.iterdir()]
        made.problems += host_counts.differences_that_stay(before)
        now = {name: text for record in folder.glob(kind.record) for name, text in finished_trials(record).items()}
        made.trials = len({name.partition("/")[0] for name in now})
        if not trials.items() <= now.items():
            made.problems.append(f"lost or changed: {sorted(trials.items() - now.items())[:4]}")
        return now

    def _wrong_at_the_end(
        self, kind: Kind, folder: Path, trials: dict[str, str], code: int | None, said: str
    ) -> list[str]:
        """What is wrong with a record that was resumed to its end."""
        from whyperf.record import Experiment  # noqa: PLC0415 - after the forks

        found = [] if code in {0, 3} else [f"ended with {code}: {said[-600:]}"]
        records = list(folder.glob(kind.record))
        if len(records) != 1:
            return [*found, f"{len(records)} records"]
        record = records[0]
        now = finished_trials(record)
        if not trials.items() <= now.items():
            found.append(f"lost or changed: {sorted(trials.items() - now.items())[:4]}")
        if partial := partial_trials(record):
            found.append(f"partial trials: {partial}")
        experiment = Experiment.open(record)
        have = experiment.trials()
        if have.damaged:
            found.append(f"damaged: {have.damaged}")
        if sorted(have.manifests) != sorted(trial.id for trial in experiment.plan.trials()):
            found.append(f"{len(have.manifests)} of {experiment.plan.trials_count} trials")
        statuses = Counter(manifest.status for manifest in have.manifests.values())
        if statuses.keys() - {"complete", "void"}:
            found.append(f"statuses: {dict(statuses)}")
        found += [
            f"set aside without being void: {path}" for path in (record / "set-aside").glob("*") if not is_void(path)
        ]
        return found

    def _write(self, line: dict[str, object]) -> None:
        with self.log.open("a") as log:
            log.write(json.dumps({"time": round(time.time()), **line}) + "\n")


def summary(log: Path) -> str:
    """Counts of a log, as text."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    kills = [line for line in lines if "kill" in line]
    chains = [line for line in lines if "chain" in line and "kill" not in line and "over" not in line]
    noticed = sorted(line["noticed_s"] for line in kills if line["noticed_s"] is not None)
    late = [line for line in kills if (line["noticed_s"] or 0) > NOTICED_S]
    text = [
        f"{len(kills)} kills in {len(chains)} chains: {sum(bool(line['problems']) for line in kills)} kills and "
        f"{sum(bool(line['problems']) for line in chains)} chains with a problem",
        f"by victim: {dict(Counter(line['victim'] for line in kills))}",
        f"by kind: {dict(Counter(line['kind'] for line in kills))}",
    ]
    if noticed:
        text.append(f"noticed after {noticed[len(noticed) // 2]:.3f} s in the median, {noticed[-1]:.3f} s at most")
    for line in late:
        waited = f"{line['waited_s']:.3f} s without a CPU and {line.get('stopped_s', 0):.3f} s stopped"
        text.append(f"late: {line['kind']}, {line['victim']}: {line['noticed_s']:.3f} s, {waited}")
    text += [f"{line.get('kind', line.get('chain'))}: {problem}" for line in lines for problem in line["problems"]]
    return "\n".join(text)


def work(given: argparse.Namespace, log: Path, kinds: Sequence[Kind]) -> None:
    """One worker's share of the kills."""
    kills = -(-given.kills // given.workers)
    possible = list(kinds)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        killer = Killer(Path(folder), given.seed, log)
        chain = given.worker
        while killer.kills < kills:
            kind = possible[chain % len(possible)]
            if not killer.chain(kind, chain, min(CHAIN, kills - killer.kills)):
                possible.remove(kind)
            chain += given.workers


def main() -> int:
    """Starts the workers and prints the summary; returns 1 where a kill had a problem."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=1000, help="kills in all")
    parser.add_argument("--seed", type=int, default=17, help="seed of victims and moments")
    parser.add_argument("--workers", type=int, default=2, help="chains at the same time")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, default=Path("target/kills.jsonl"), help="file with a line for each kill")
    parser.add_argument("--only", action="append", help="only this kind of run; repeatable")
    given = parser.parse_args()
    kinds = [kind for kind in KINDS if given.only is None or kind.name in given.only]
    log = given.log.absolute()
    # A signal ends the workers too, and what they run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if given.worker is not None:
        work(given, log, kinds)
        return 0
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.endurance.kills", *sys.argv[1:]]
    running = [subprocess.Popen([*command, "--worker", str(number)]) for number in range(given.workers)]
    try:
        codes = [process.wait() for process in running]
    finally:
        for process in running:
            process.terminate()
    print(summary(log))
    wrong = any(json.loads(line)["problems"] for line in log.read_text().splitlines())
    return 1 if wrong or any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
