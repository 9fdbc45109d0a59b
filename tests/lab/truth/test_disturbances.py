"""Each disturbance has its effect while a trial runs, and leaves nothing: after the trial, and after kill -9."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from lab.disturb.disturbances import Disturbance, Orders
from lab.disturb.disturber import Disturber
from lab.disturb.tools import lacks
from tests.lab.truth.two_sides import inside, places_of, printed, two_sides
from whyperf.run.errors import KeeperLostError
from whyperf.run.observer import Observer
from whyperf.wire import ReplyProgress

pytestmark = [pytest.mark.root, pytest.mark.alone]

Sides = dict[str, "subprocess.Popen[bytes]"]
Check = Callable[[Sides], bool]

PROGRESS: ReplyProgress = Mock(spec=dict)
CELL = "c0001"


@pytest.fixture
def sides() -> Iterator[Sides]:
    with two_sides() as made:
        yield made


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def _group(process: int, controller: str) -> Path:
    lines = Path(f"/proc/{process}/cgroup").read_text().splitlines()
    path = next(line.split(":", 2)[2] for line in lines if controller in line.split(":", 2)[1].split(","))
    return Path("/sys/fs/cgroup") / controller / path.lstrip("/")


def _programs(text: str) -> list[int]:
    """The running processes whose command line has a text."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            try:
                if text.encode() in folder.joinpath("cmdline").read_bytes() and _state(int(folder.name)) != "Z":
                    found.append(int(folder.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def _is_throttled(sides: Sides) -> bool:
    group = _group(sides["far"].pid, "cpu")
    figures = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return group.name.startswith("whyperf-disturb-") and int(figures["nr_throttled"]) > 0


def _is_limited(sides: Sides) -> bool:
    group = _group(sides["far"].pid, "memory")
    if not group.name.startswith("whyperf-disturb-"):
        return False
    return int((group / "memory.kmem.tcp.limit_in_bytes").read_text()) == 1 << 20


def _clamped_mss(sides: Sides) -> int:
    """The MSS of a connection between the sides."""
    program = (
        "import socket as s; l = s.create_server(('192.0.2.2', 0)); print(l.getsockname()[1], flush=True); l.accept()"
    )
    listening = subprocess.Popen(inside(sides["far"].pid, sys.executable, "-c", program), stdout=subprocess.PIPE)
    assert listening.stdout is not None
    port = listening.stdout.readline().decode().strip()
    ask = f"import socket as s; c = s.create_connection(('192.0.2.2', {port})); print(c.getsockopt(6, s.TCP_MAXSEG))"
    found = int(printed(*inside(sides["near"].pid, sys.executable, "-c", ask)))
    listening.wait()
    listening.stdout.close()
    return found


def _discipline(sides: Sides) -> str:
    return str(
        json.loads(printed(*inside(sides["near"].pid, "tc", "-j", "qdisc", "show", "dev", "wp-near")))[0]["kind"]
    )


def _rmem(sides: Sides) -> str:
    return printed(*inside(sides["far"].pid, "sysctl", "-n", "net.ipv4.tcp_rmem")).split()[2]


def _route(sides: Sides) -> str:
    return printed(*inside(sides["near"].pid, "ip", "route", "show", "192.0.2.2"))


def _classifiers(sides: Sides) -> int:
    shown = printed(*inside(sides["far"].pid, "tc", "-j", "filter", "show", "dev", "wp-far", "ingress"))
    return sum("bytecode" in line for line in shown.split("{"))


def _received(sides: Sides) -> int:
    line = Path(f"/proc/{sides['far'].pid}/net/dev").read_text().split("wp-far:")[1]
    return int(line.split()[0])


CLAMP = "tcp flags & syn == syn tcp option maxseg size set 536"
CASES: dict[str, tuple[dict[str, object], Check]] = {
    "burn": ({"kind": "burn", "host": "far", "programs": 2}, lambda _: len(_programs("sched_setaffinity")) == 2),
    "cpu_quota": ({"kind": "cpu_quota", "host": "far", "cpus": 0.1}, _is_throttled),
    "memory_limit": ({"kind": "memory_limit", "host": "far", "tcp_bytes": 1 << 20}, _is_limited),
    "pause": (
        {"kind": "pause", "host": "far", "after_s": 0.01, "for_s": 2},
        lambda sides: _state(sides["far"].pid) == "T",
    ),
    "firewall": (
        {"kind": "firewall", "host": "near", "hook": "output", "rules": [CLAMP]},
        # The receiver's answer is not clamped; the sender keeps to the smaller of both.
        lambda sides: "maxseg size set 536" in printed(*inside(sides["near"].pid, "nft", "list", "ruleset")),
    ),
    "queue": (
        {"kind": "queue", "host": "near", "discipline": "tbf rate 10mbit burst 10kb limit 20kb"},
        lambda sides: _discipline(sides) == "tbf",
    ),
    "route": (
        {"kind": "route", "host": "near", "options": "initcwnd 2"},
        lambda sides: "initcwnd 2" in _route(sides),
    ),
    "classifiers": (
        {"kind": "classifiers", "host": "far", "programs": 3},
        lambda sides: _classifiers(sides) == 3,
    ),
    "sysctl": (
        {"kind": "sysctl", "host": "far", "settings": {"net.ipv4.tcp_rmem": "4096 16384 20000"}},
        lambda sides: _rmem(sides) == "20000",
    ),
    "traffic-tcp": (
        {"kind": "traffic", "host": "near", "connections": 2},
        lambda sides: _received(sides) > 1_000_000,
    ),
    "traffic-udp": (
        {"kind": "traffic", "host": "near", "protocol": "udp", "rate_bps": 10_000_000},
        lambda sides: _received(sides) > 100_000,
    ),
}


def _orders(item: dict[str, object], sides: Sides) -> Orders:
    return Orders.model_validate({"disturbances": [item], "places": places_of(sides)})


def _becomes(check: Callable[[], bool]) -> bool:
    """Whether it is so within a time that no machine needs."""
    for _ in range(1500):
        if check():
            return True
        time.sleep(0.02)
    return False


def _require(*disturbances: Disturbance) -> None:
    if missing := lacks(disturbances):
        pytest.skip(missing)


def _is_undone(sides: Sides, before: tuple[object, ...]) -> bool:
    return _left(sides) == before


def _left(sides: Sides) -> tuple[object, ...]:
    """All that a disturbance could leave."""
    far = sides["far"].pid
    tables = printed(*inside(sides["near"].pid, "nft", "list", "tables")) if shutil.which("nft") else ""
    return (
        _group(far, "cpu"),
        _group(far, "memory"),
        sorted(str(path) for path in Path("/sys/fs/cgroup").glob("*/**/whyperf-disturb-*")),
        _state(far) == "T",
        tables,
        _discipline(sides),
        _rmem(sides),
        _route(sides),
        _classifiers(sides),
        [
            _programs(text)
            for text in ("sched_setaffinity", "SO_MAX_PACING_RATE", "selectors, socket", "disturb.keeper")
        ],
    )


def _compute(sides: Sides) -> None:
    assert sides["far"].stdin is not None
    sides["far"].stdin.write(b"compute\n")
    sides["far"].stdin.flush()


@pytest.mark.parametrize("name", CASES)
def test_a_disturbance_acts_during_its_trial_only(name: str, sides: Sides) -> None:
    item, is_there = CASES[name]
    orders = _orders(item, sides)
    _require(*orders.disturbances)
    before = _left(sides)
    _compute(sides)
    disturber = Disturber(Mock(spec=Observer), {CELL: orders.disturbances}, lambda _: orders.places)
    with disturber.disturb(CELL):
        disturber.on_progress("near", PROGRESS)
        assert _becomes(lambda: is_there(sides))
    assert not is_there(sides) or name.startswith("traffic")
    assert _is_undone(sides, before)


_KILLED = """
import os, signal, sys
from unittest.mock import Mock
from lab.disturb.disturbances import Orders
from lab.disturb.disturber import Disturber
from whyperf.run.observer import Observer
orders = Orders.model_validate_json(sys.argv[1])
disturber = Disturber(Mock(spec=Observer), {"c0001": orders.disturbances}, lambda _: orders.places)
with disturber.disturb("c0001"):
    disturber.on_progress("near", Mock(spec=dict))
    print("there", flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_controller_leaves_no_disturbance(sides: Sides) -> None:
    """All of them at once, but for the pause, in which nothing of the far side would run."""
    chosen = [item for name, (item, _) in CASES.items() if name != "pause"]
    orders = Orders.model_validate({"disturbances": chosen, "places": places_of(sides)})
    _require(*orders.disturbances)
    before = _left(sides)
    _compute(sides)
    argv = [sys.executable, "-c", _KILLED, orders.model_dump_json()]
    controller = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert controller.stdout is not None
    assert controller.stdout.readline() == b"there\n"
    for name, (_, is_there) in CASES.items():
        assert name == "pause" or _becomes(lambda is_there=is_there: is_there(sides)), name  # type: ignore[misc]
    controller.communicate(b"\n")
    assert controller.returncode == -signal.SIGKILL
    assert _becomes(lambda: _is_undone(sides, before))


def test_a_killed_keeper_is_an_error_and_leaves_no_control_group(sides: Sides) -> None:
    """What is in namespaces goes with the testbed, which the session builds anew."""
    orders = _orders(CASES["cpu_quota"][0], sides)
    _require(*orders.disturbances)
    before = _group(sides["far"].pid, "cpu")
    disturber = Disturber(Mock(spec=Observer), {CELL: orders.disturbances}, lambda _: orders.places)
    groups = []

    def kill_keeper() -> None:
        groups.append(_group(sides["far"].pid, "cpu"))
        for keeper in _programs("disturb.keeper"):
            os.kill(keeper, signal.SIGKILL)

    with pytest.raises(KeeperLostError, match="was killed by signal 9"), disturber.disturb(CELL):
        kill_keeper()
    assert groups != [before]
    assert not groups[0].exists()
    assert _group(sides["far"].pid, "cpu") == before


def test_a_firewall_clamps_the_mss_of_connections(sides: Sides) -> None:
    rules: dict[str, object] = {"kind": "firewall", "hook": "output", "rules": [CLAMP]}
    orders = Orders.model_validate(
        {"disturbances": [{**rules, "host": "near"}, {**rules, "host": "far"}], "places": places_of(sides)}
    )
    _require(*orders.disturbances)
    disturber = Disturber(Mock(spec=Observer), {CELL: orders.disturbances}, lambda _: orders.places)
    assert _clamped_mss(sides) > 1000
    with disturber.disturb(CELL):
        assert _clamped_mss(sides) <= 536
    assert _clamped_mss(sides) > 1000
