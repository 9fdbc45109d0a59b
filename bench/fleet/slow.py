"""One slow host among eight: whether `explain` finds it, and names its cause first."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.fleet.setting import Setting, hosts, named, run
from bench.row import Row
from tests.fleet.rack import Rack

HOSTS = 8
MIN_FOUND = 9
LINK = "200mbit"


@dataclass(frozen=True)
class Dose:
    """A cause at one host: what is done to it, and the codes of differences that name it."""

    name: str
    make: Callable[[Rack, str, ExitStack], None]
    codes: Sequence[str]


def _paced(rate: str) -> Callable[[Rack, str, ExitStack], None]:
    def make(made: Rack, host: str, _: ExitStack) -> None:
        made.run(host, "tc", "qdisc", "replace", "dev", "eth0", "root", *_tbf(rate))

    return make


def _mtu(size: int) -> Callable[[Rack, str, ExitStack], None]:
    def make(made: Rack, host: str, _: ExitStack) -> None:
        # What its NIC does with each packet costs time: at the usual rate small packets are hardly slower.
        made.run(host, "ip", "link", "set", "eth0", "mtu", str(size), "gso_max_size", str(size), "gso_max_segs", "1")

    return make


def _buffer(size: int) -> Callable[[Rack, str, ExitStack], None]:
    def make(made: Rack, host: str, _: ExitStack) -> None:
        made.run(host, "sysctl", "-qw", f"net.ipv4.tcp_wmem={min(4096, size)} {size} {size}")

    return make


def _loss(percent: int) -> Callable[[Rack, str, ExitStack], None]:
    def make(made: Rack, host: str, _: ExitStack) -> None:
        rules = (
            "add table inet loss; add chain inet loss out { type filter hook output priority 0; };"
            f" add rule inet loss out oifname eth0 numgen random mod 100 < {percent} drop"
        )
        made.run(host, "nft", rules)

    return make


def _load(count: int) -> Callable[[Rack, str, ExitStack], None]:
    def make(made: Rack, host: str, stack: ExitStack) -> None:
        # Its agents run on CPU 1 with the load, all others on CPU 0.
        for name in made.names:
            made.start_with(name, "taskset", "--cpu-list", "1" if name == host else "0")
        for _ in range(count):
            line = ["taskset", "--cpu-list", "1", sys.executable, "-c", "while True: pass"]
            process = subprocess.Popen(made.inside(host, *line))
            stack.callback(process.wait)
            stack.callback(process.kill)

    return make


DOSES = (
    Dose("NIC paced to 50 Mbit/s", _paced("50mbit"), ("qdisc_rate",)),
    Dose("NIC paced to 100 Mbit/s", _paced("100mbit"), ("qdisc_rate",)),
    Dose("MTU of 300 bytes", _mtu(300), ("mtu", "segment_size")),
    Dose("MTU of 576 bytes", _mtu(576), ("mtu", "segment_size")),
    Dose("send buffer of 4 KiB", _buffer(4096), ("sysctl",)),
    Dose("send buffer of 8 KiB", _buffer(8192), ("sysctl",)),
    Dose("2 % of packets lost", _loss(2), ("retransmitted_ratio",)),
    Dose("8 % of packets lost", _loss(8), ("retransmitted_ratio",)),
    Dose("6 busy programs", _load(6), ("other_programs", "waits")),
    Dose("12 busy programs", _load(12), ("other_programs", "waits")),
)


def _tbf(rate: str) -> tuple[str, ...]:
    return ("tbf", "rate", rate, "burst", "128kb", "latency", "20ms")


def measure(setting: Setting) -> list[Row]:
    """Each dose at a host of its own, in a fan-in of eight."""
    rows = []
    for number, dose in enumerate(DOSES[: setting.of(len(DOSES), 1)]):
        host = f"node{number % HOSTS + 1}"
        out = setting.folder / f"slow-{number}"
        with hosts(named(HOSTS + 1)) as made, ExitStack() as stack:
            for name in made.names[:-1]:
                made.run(name, "tc", "qdisc", "add", "dev", "eth0", "root", *_tbf(LINK))
            dose.make(made, host, stack)
            ends = ("--from", f"node[1-{HOSTS}]", "--to", f"node{HOSTS + 1}", "-C", "cubic")
            done = run(made, *ends, "-t", "2", "--trials", setting.of(3, 1), "--json", out=out)
        rows.append(_judged(dose, host, out, done.stderr))
    found = sum(row.is_ok for row in rows)
    needed = MIN_FOUND if len(rows) == len(DOSES) else len(rows)
    bar = Row("slow", "slow host found and its cause first", f"≥ {needed} of {len(rows)}", f"{found}", found >= needed)
    return [*rows, bar]


def _judged(dose: Dose, host: str, out: Path, said: str) -> Row:
    """Whether `explain` names the host, and what differs there first."""
    argv = [str(Path(sys.executable).parent / "whyperf"), "explain", str(out), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    asked = f"{host}: {' or '.join(dose.codes)}"
    if not done.stdout:
        return Row("slow", dose.name, asked, (done.stderr or said)[-120:], is_ok=False, is_bar=False)
    diagnoses = json.loads(done.stdout).get("fleet") or []
    slow = [entry for diagnosis in diagnoses for entry in diagnosis.get("slow", ())]
    reached = "; ".join(
        f"{entry['host']}: {(entry['differences'] or [{'code': 'nothing'}])[0]['code']}" for entry in slow
    )
    first = slow[0] if slow else {"host": None, "differences": []}
    is_ok = first["host"] == host and bool(first["differences"]) and first["differences"][0]["code"] in dose.codes
    return Row("slow", dose.name, asked, reached or "no slow host", is_ok, is_bar=False)
