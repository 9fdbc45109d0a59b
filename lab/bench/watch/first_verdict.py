"""It answers soon: time from the start of the command to the first line that names a limit; and a short command."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from lab.bench.row import Row
from lab.bench.watch.place import LOOPBACK, QUIET, WHYPERF, Namespace, PlaceError, iperf3, own_namespace, started
from lab.bench.watch.setting import Setting
from whyperf.cli.output.explanation import explained
from whyperf.explain.causes import Cause
from whyperf.record import Experiment
from whyperf.watch.live_limits import SHORT, Limit

MAX_S = 3.0
PORT = 5201
WEB_PORT = 8080
#: curl takes a second for it: it reads the first third as fast as it comes, and then at this rate.
FILE_BYTES = 8_000_000
RATE = "5M"
LINE_S = 20
OPTIONS = ("--plain", "--json")
#: Names of states that are no verdict.
IDLE = {Limit.NOTHING_TO_SEND, Limit.NOTHING_ARRIVES}


def run(setting: Setting) -> list[Row]:
    """Starts watches of a transfer at full speed, then of a command."""
    with own_namespace() as place:
        with iperf3(place, [PORT], setting.folder / "first-verdict"):
            times = [(option, _first_s(place, option)) for _ in range(setting.of(10, 1)) for option in OPTIONS]
        rows = [_row(option, [found_s for of, found_s in times if of == option]) for option in OPTIONS]
        return [*rows, _curl(place)]


def _row(option: str, times_s: list[float]) -> Row:
    return Row(
        "first-verdict",
        f"watch {option}, {len(times_s)} starts",
        f"≤ {MAX_S:.0f} s each",
        f"{median(times_s):.2f} s (median), {max(times_s):.2f} s (longest)",
        max(times_s) <= MAX_S,
        values={"seconds": times_s},
    )


def _first_s(place: Namespace, option: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        asked = ("watch", f":{PORT}", option, "--time", str(LINE_S), "--no-report", "--out", f"{folder}/out")
        command = place.inside(*WHYPERF, *asked)
        start_s = time.monotonic()
        with started(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
        ) as watching:
            assert watching.stdout is not None
            for line in watching.stdout:
                if has_verdict(line, is_json=option == "--json"):
                    found_s = time.monotonic() - start_s
                    break
            else:
                assert watching.stderr is not None
                raise PlaceError(f"no line names a limit within {LINE_S} s: {watching.stderr.read()[-300:]}")
            # So that it takes its agent with it, and nothing is explained.
            watching.kill()
        return found_s


def has_verdict(line: str, *, is_json: bool) -> bool:
    """True where a line names what limits a direction that moves something."""
    if is_json:
        found = json.loads(line)
        return found["type"] == "interval" and Limit(found["recent_limit"]) not in IDLE
    names = [short for limit, short in SHORT.items() if limit not in IDLE]
    parts = [part.strip() for part in line.replace(";", ",").split(",")]
    return any(part in names for part in parts)


def _curl(place: Namespace) -> Row:
    """A transfer of a second is explained."""
    with tempfile.TemporaryDirectory() as name, _web_server(place, Path(name)):
        out = Path(name) / "out"
        url = f"http://{LOOPBACK}:{WEB_PORT}/file"
        curl = ("curl", "-s", "-o", "/dev/null", "-w", "%{time_total}", "--limit-rate", RATE, url)
        command = place.inside(*WHYPERF, "watch", "--no-report", "--out", str(out), "--", *curl)
        start_s = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        passed_s = time.monotonic() - start_s
        if done.returncode or not out.is_dir():
            raise PlaceError(f"whyperf watch -- curl ended with {done.returncode}: {done.stderr[-400:]}")
        with Experiment.open(out) as experiment:
            (first, *_) = explained(experiment, None, None).cells
        causes = [str(found.cause) for found in first.verdicts]
    return Row(
        "first-verdict",
        f"watch -- curl, {float(done.stdout):.1f} s of {passed_s:.1f} s",
        "explained",
        first.headline,
        causes[:1] not in ([], [Cause.NOT_KNOWN]) and first.headline in " ".join(done.stderr.split()),
        values={"causes": causes, "printed": done.stderr, "seconds": passed_s},
    )


@contextmanager
def _web_server(place: Namespace, folder: Path) -> Iterator[None]:
    with (folder / "file").open("wb") as file:
        os.truncate(file.fileno(), FILE_BYTES)
    command = [sys.executable, "-m", "http.server", "--bind", LOOPBACK, "--directory", str(folder), str(WEB_PORT)]
    with started(place.inside(*command), **QUIET):
        place.wait_for_listener(WEB_PORT)
        yield
