"""Programs of others run on both sides of a testbed, and nothing of them stays: after the run, and after kill -9."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.disturb.launcher import cpu_ticks_outside
from lab.disturb.launching import LaunchedSide
from lab.situations.programs.draw import draw_programs
from lab.truth.watched.catalog import PEER, commands_of, load_watched
from lab.truth.watched.runner import prepare
from lab.truth.watched.workflow import lacking
from tests.lab.truth.two_sides import ADDRESSES, two_sides
from whyperf.run import RunError

pytestmark = [pytest.mark.root, pytest.mark.paced]

PORT = 20_111
CATALOG = load_watched()
#: So many that each program is among them.
DRAWN = draw_programs(100, 1).watched
MOVED_BYTES = 100_000
Sides = dict[str, "subprocess.Popen[bytes]"]


@pytest.fixture
def sides() -> Iterator[Sides]:
    with two_sides() as made:
        yield made


def received_bytes(process: int) -> int:
    """What has come over the link into the namespace of a process."""
    line = next(line for line in Path(f"/proc/{process}/net/dev").read_text().splitlines() if "wp-" in line)
    return int(line.partition(":")[2].split()[0])


def until(holds: Callable[[], bool], wait_s: float = 20.0) -> bool:
    deadline_s = time.monotonic() + wait_s
    while not holds() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return holds()


def has_ended(side: LaunchedSide) -> bool:
    """False as long as all programs run; then the error that is expected."""
    side.check()
    return False


def running_in(folder: Path) -> list[str]:
    """The command lines of running processes that name a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in line and process.name != str(os.getpid()):
            found.append(line.replace("\0", " "))
    return found


@pytest.mark.parametrize("name", DRAWN.program)
def test_each_program_moves_bytes_and_ends_with_its_side(name: str, sides: Sides) -> None:
    catalog = CATALOG if name in CATALOG.program else DRAWN
    case = next(case for case in catalog.case if case.program == name)
    if reason := lacking(catalog, case):
        pytest.skip(reason)
    # Not below the folder of the tests, which another user, such as that of a database, cannot pass.
    folder = Path(tempfile.mkdtemp(prefix="whyperf-test-"))
    fill = {"address": ADDRESSES["far"], "port": str(PORT), "folder": str(folder), "python": sys.executable}
    commands = commands_of(catalog, case, 0, {**fill, "peer": str(PEER)})
    taker = sides["far" if catalog.program[name].sender == "near" else "near"].pid
    with ExitStack() as closing:
        near, far = (closing.enter_context(LaunchedSide(side, sides[side].pid, folder, ())) for side in sides)
        prepare(near, far, folder, commands)
        far.start(commands.server)
        far.wait_for_port(PORT)
        near.start(commands.client)
        before = received_bytes(taker)
        assert until(lambda: received_bytes(taker) > before + MOVED_BYTES)
        near.check()
        far.check()
    assert until(lambda: not running_in(folder))
    assert not folder.exists()


def test_a_program_that_ends_or_is_not_there_is_named_with_what_it_printed(sides: Sides, tmp_path: Path) -> None:
    with LaunchedSide("near", sides["near"].pid, tmp_path, ()) as near:
        near.start(["sh", "-c", "echo out of luck; exit 3"])
        with pytest.raises(RunError, match="near: sh ended with 3: out of luck"):
            until(lambda: has_ended(near))
        with pytest.raises(RunError, match="near: no-such-program: No such file"):
            near.start(["no-such-program"])
        with pytest.raises(RunError, match="near: false ended with 1"):
            near.run(["false"])
        # It goes on.
        near.run(["true"])


def test_the_cpu_time_of_others_is_measured_without_that_of_its_own(sides: Sides, tmp_path: Path) -> None:
    """A process that computes is another one if it is no descendant of this one."""
    compute = f"{sys.executable} -S -c 'while True: pass'"
    with LaunchedSide("near", sides["near"].pid, tmp_path, ()) as near:
        near.start(["sh", "-c", f"{compute}; true"])
        with subprocess.Popen(["sh", "-c", f"{compute} & echo $!"], stdout=subprocess.PIPE) as shell:
            assert shell.stdout is not None
            orphan = int(shell.stdout.readline())
        try:
            near.others()
            before = cpu_ticks_outside(os.getpid())
            time.sleep(1)
            after = cpu_ticks_outside(os.getpid())
            cpus, busiest = near.others()
        finally:
            os.kill(orphan, signal.SIGKILL)
    used = after[orphan][1] - before[orphan][1]
    assert used > 0
    # What the processes of two looks used, between two others.
    assert cpus * os.sysconf("SC_CLK_TCK") * 1.5 >= used
    assert busiest
    assert not {near.process, os.getpid(), 2} & set(after)


_CONTROLLER = """
import sys, time
from pathlib import Path
from lab.disturb.launching import LaunchedSide
side = LaunchedSide("near", int(sys.argv[1]), Path(sys.argv[2]), ())
side.start(["sh", "-c", "sh -c 'sleep 1000; true' %s; true" % sys.argv[2]])
print("started", flush=True)
time.sleep(1000)
"""


def test_programs_and_their_children_end_with_a_killed_controller(sides: Sides, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _CONTROLLER, str(sides["near"].pid), str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == b"started\n"
        assert until(lambda: len(running_in(tmp_path)) >= 3)
        os.kill(controller.pid, signal.SIGKILL)
    assert until(lambda: not running_in(tmp_path))
    assert until(lambda: not tmp_path.exists())
