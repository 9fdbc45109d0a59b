"""The segment log of a watched transfer is what tcpdump captures, row by row, on both sides.

On the embedded testbed, with offloads and without. A transfer of iperf3 is watched in mid-life: the log is a part of
the capture without gaps. A download of curl is watched from its first SYN (`whyperf watch -- curl …`) to its end.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from lab.bench.row import Row
from lab.bench.watch.place import PATIENCE_S, QUIET, WHYPERF, PlaceError, started
from lab.bench.watch.setting import Setting
from tests.e2e import pcap, wire
from tests.e2e.hidden import is_any_hidden
from whyperf.plan import Cell, build
from whyperf.profile import parse
from whyperf.run import Kind, Session, Target
from whyperf.watch.record import keep_watched
from whyperf.watch.request import WatchQuestion
from whyperf.watch.session import WatchedPlace, WatchOrder, WatchSession

PORT, WEB_PORT = 5201, 8080
RATE_BPS = "400M"
WATCH_S = 2.0
FILE_BYTES = 20_000_000
#: As tests/e2e/test_log_truth.py: what a header holds of a segment.
COMPARED = ("sequence", "acknowledgment", "payload_bytes", "flags", "window_field")
SYN = 2
#: The log begins this much after a connection was chosen, at the latest.
BEGIN_NS = 50_000_000
#: Number of times that a transfer is tried again on a host that hides processes from BPF programs.
ATTEMPTS = 8
PROFILE = """
about = "Proof of the log of a watch."
[testbed]
kind = "veth"
[fixed]
congestion_control = "cubic"
[[sweep]]
name = "offloads"
[sweep.fixed]
gso = true
tso = true
gro = true
[[sweep]]
name = "segments"
[sweep.fixed]
gso = false
tso = false
gro = false
"""


@dataclass(frozen=True)
class Difference:
    """The log of a direction against the capture."""

    what: str
    rows: int
    #: Empty where they are equal.
    problem: str


@dataclass(frozen=True)
class Ends:
    """Namespaces, devices and the far address of the testbed."""

    netns: dict[str, str]
    devices: dict[str, str]
    address: str

    def inside(self, host: str, *command: str) -> list[str]:
        """A command line in a side's namespace."""
        return ["nsenter", f"--net={self.netns[host]}", "--", *command]


def run(setting: Setting) -> list[Row]:
    """Watches and compares."""
    plan = build(parse(PROFILE, name="watch-log", where="watch-log"), trials=1)
    rows = []
    with Session(plan, Target(Kind.VETH)) as session:
        for cell in plan.cells:
            ends = _ends(session, cell)
            rows += [_row(setting, ends, kind, cell.sweep) for kind in ("iperf3", "curl")]
    return rows


def _ends(session: Session, cell: Cell) -> Ends:
    session.ends_for(cell)
    built = session.testbed
    assert built is not None
    near, far = built["near"], built["far"]
    return Ends(
        {"near": near["netns"], "far": far["netns"]}, {"near": near["device"], "far": far["device"]}, far["ipv4"]
    )


def _row(setting: Setting, ends: Ends, kind: str, sweep: str) -> Row:
    """Tries again where processes are hidden: segments on top of these are in no log (tests/e2e/hidden.py)."""
    found: list[Difference] = []
    attempts = ATTEMPTS if is_any_hidden() else 1
    for attempt in range(1, attempts + 1):
        folder = setting.folder / f"log-{kind}-{sweep}-{attempt}"
        folder.mkdir(parents=True)
        found = _in_mid_life(ends, folder) if kind == "iperf3" else _command(ends, folder)
        if not any(each.problem for each in found):
            break
    problems = [f"{each.what}: {each.problem}" for each in found if each.problem]
    rows = sum(each.rows for each in found)
    return Row(
        "log",
        f"{kind}, {sweep}, {len(found)} directions",
        "every row as captured",
        "; ".join(problems)[:300] or f"{rows:,} rows equal (attempt {attempt})",
        bool(found) and rows > 0 and not problems,
        values={"rows": rows, "attempts": attempt, "problems": problems},
    )


@contextmanager
def _captured(ends: Ends, folder: Path) -> Iterator[None]:
    with ExitStack() as captures:
        for host, netns in ends.netns.items():
            captures.enter_context(wire.capture(netns, ends.devices[host], folder / f"{host}.pcap"))
        yield


def _in_mid_life(ends: Ends, folder: Path) -> list[Difference]:
    """Both sides of iperf3's connections, a second after they opened and until before they close."""
    places = (WatchedPlace(netns=ends.netns["near"]), WatchedPlace(netns=ends.netns["far"]))
    client = ("iperf3", "-c", ends.address, "-p", str(PORT), "-t", "600", "-b", RATE_BPS)
    with WatchSession(*places, folder) as session:
        # The transfer ends before the capture does, which waits until nothing comes any more.
        with _captured(ends, folder), started(ends.inside("far", "iperf3", "-s", "-p", str(PORT)), **QUIET):
            time.sleep(0.5)
            with started(ends.inside("near", *client), **QUIET):
                time.sleep(1.0)
                session.watch(WatchOrder({"ports": [PORT]}, "segments", duration_s=WATCH_S), lambda *_: None)
        sides = session.results()
        if len(sides) < 2:
            raise PlaceError(session.far_lost or "a side was not watched")
        question = WatchQuestion("bench.watch", {}, "segments", datetime.now(UTC).isoformat(), "iperf3")
        keep_watched(folder / "result", question, sides).close()
    return list(_differences(folder, is_whole=False))


def _command(ends: Ends, folder: Path) -> list[Difference]:
    """The near side of a download, all of it."""
    with (folder / "file").open("wb") as file:
        os.truncate(file.fileno(), FILE_BYTES)
    server = (sys.executable, "-m", "http.server", "--directory", str(folder), str(WEB_PORT))
    with started(ends.inside("far", *server), **QUIET):
        _await_server(ends)
        curl = ("curl", "-s", "-o", "/dev/null", f"http://{ends.address}:{WEB_PORT}/file")
        asked = ("--evidence", "segments", "--no-report", "--out", str(folder / "result"))
        with _captured(ends, folder):
            done = subprocess.run(
                ends.inside("near", *WHYPERF, "watch", *asked, "--", *curl),
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        if done.returncode or not (folder / "result").is_dir():
            raise PlaceError(f"whyperf watch -- curl ended with {done.returncode}: {done.stderr[-300:]}")
    return list(_differences(folder, is_whole=True))


def _await_server(ends: Ends) -> None:
    end = time.monotonic() + PATIENCE_S
    url = f"http://{ends.address}:{WEB_PORT}/"
    while subprocess.run(ends.inside("near", "curl", "-s", "-o", "/dev/null", url), check=False).returncode:
        if time.monotonic() > end:
            raise PlaceError("the web server does not answer")
        time.sleep(0.1)


def _differences(folder: Path, *, is_whole: bool) -> Iterator[Difference]:
    shift_ns = time.time_ns() - time.monotonic_ns()
    for trial in sorted((folder / "result" / "trials").iterdir()):
        for path in sorted(trial.glob("segments.*.parquet")):
            host = path.suffixes[0].removeprefix(".")
            captured = pcap.read(folder / f"{host}.pcap")
            log = pl.read_parquet(path).sort("segment_mono_ns", maintain_order=True)
            (watched,) = pl.read_parquet(trial / f"watched.{host}.parquet").iter_rows(named=True)
            own, peer = (int(watched[f"{end}_address"].rpartition(":")[2]) for end in ("local", "remote"))
            for direction, (source, target) in {"out": (own, peer), "in": (peer, own)}.items():
                seen = captured.filter(from_port=source, to_port=target)
                logged = log.filter(direction=direction)
                begin_ns = 0 if is_whole else watched["first_mono_ns"] + shift_ns + BEGIN_NS
                problem = differs(logged, seen, (begin_ns, watched["last_mono_ns"] + shift_ns))
                yield Difference(f"{trial.name} {host} {direction}", logged.height, problem)


def differs(logged: pl.DataFrame, seen: pl.DataFrame, span: tuple[int, int]) -> str:
    """Why the log of a direction is not what was captured; empty where it is.

    It is a part of the capture without gaps, and has everything within the times `span` (realtime, ns). Windows are
    scaled by what the SYN of the direction offers, except in the SYN (RFC 7323 2.2).
    """
    scale = seen["scale_offered"].drop_nulls()
    if scale.len() != 1:
        return f"the capture has {scale.len()} SYNs"
    factor = 2 ** int(scale[0])
    scaled = pl.when(pl.col("flags") & SYN == 0).then(pl.col("window_field") * factor).otherwise("window_field")
    wanted = [*COMPARED, "window_bytes"]
    ours = logged.select(wanted).rows()
    theirs = seen.with_columns(window_bytes=scaled).select(wanted).rows()
    within = seen.with_row_index("row").filter(pl.col("realtime_ns").is_between(*span))["row"]
    if not ours:
        return f"nothing is logged of {within.len():,} segments" if within.len() else ""
    starts = [row for row, each in enumerate(theirs) if each == ours[0]]
    if not starts:
        return f"the first row {ours[0]} was not captured"
    found = [_first_difference(ours, theirs[start : start + len(ours)], start) for start in starts]
    for start, problem in zip(starts, found, strict=True):
        if not problem:
            if within.len() and (int(within[0]) < start or int(within[-1]) >= start + len(ours)):
                logs = f"rows {start} to {start + len(ours)} are logged"
                return f"{logs}, {within[0]} to {within[-1]} lie within the watch"
            return ""
    return found[0]


def _first_difference(ours: Sequence[tuple[object, ...]], theirs: Sequence[tuple[object, ...]], start: int) -> str:
    for row, (own, other) in enumerate(zip(ours, theirs, strict=False)):
        if own != other:
            return f"row {start + row} of {wanted_text()}: logged {own}, captured {other}"
    return "" if len(ours) == len(theirs) else f"{len(ours):,} rows are logged, {len(theirs):,} captured"


def wanted_text() -> str:
    """The names of the compared columns."""
    return ", ".join((*COMPARED, "window_bytes"))
