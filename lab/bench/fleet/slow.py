"""One slow host among eight: whether `explain` finds it, and names its cause first."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lab.bench.fleet.setting import Setting, hosts, named, run
from lab.bench.row import Row
from tests.fleet.rack import Rack

HOSTS = 8
MIN_FOUND = 9
LINK = "200mbit"


@dataclass(frozen=True)
class Dose:
    """A cause at one host: what is done to it, and the causes that name it."""

    name: str
    make: Callable[[Rack, str, ExitStack], None]
    causes: Sequence[str]
    #: Rate that the NIC of each host is paced to; None: as fast as its CPU. A small buffer or a busy CPU slows no host
    #: whose NIC is slower: without distance, 200 Mbit/s take 4 KiB and 5 % of a CPU.
    link: str | None = LINK


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
        # Where its packets arrive: what a host drops of its own, its TCP notices at once.
        rules = (
            "add table ip loss; add chain ip loss in { type filter hook prerouting priority 0; };"
            f" add rule ip loss in ip saddr {made.address(host)} numgen random mod 100 < {percent} drop"
        )
        made.run(made.names[-1], "nft", rules)

    return make


def _load(count: int) -> Callable[[Rack, str, ExitStack], None]:
    def make(made: Rack, host: str, stack: ExitStack) -> None:
        # Its agents run on CPU 1 with the load, all others on CPU 0.
        for name in made.names:
            made.start_with(name, "taskset", "--cpu-list", "1" if name == host else "0")
        for _ in range(count):
            line = ["taskset", "--cpu-list", "1", sys.executable, "-c", "while True: pass"]
            # Each in a session of its own: the kernel gives sessions equal shares, whatever is in them (autogroup,
            # sched(7)), and the seven others have an eighth of their CPU each.
            process = subprocess.Popen(made.inside(host, *line), start_new_session=True)
            stack.callback(process.wait)
            stack.callback(process.kill)

    return make


DOSES = (
    Dose("NIC paced to 50 Mbit/s", _paced("50mbit"), ("local_queue",)),
    Dose("NIC paced to 100 Mbit/s", _paced("100mbit"), ("local_queue",)),
    Dose("MTU of 300 bytes", _mtu(300), ("small_mtu",)),
    Dose("MTU of 576 bytes", _mtu(576), ("small_mtu",)),
    Dose("send buffer of 4 KiB", _buffer(4096), ("send_buffer",), link=None),
    Dose("send buffer of 8 KiB", _buffer(8192), ("send_buffer",), link=None),
    # 2 % cost CUBIC 2 % of this link: nothing is slow.
    Dose("5 % of packets lost", _loss(5), ("random_loss", "path_loss", "burst_loss")),
    Dose("8 % of packets lost", _loss(8), ("random_loss", "path_loss", "burst_loss")),
    Dose("40 busy programs", _load(40), ("other_load",), link=None),
    Dose("80 busy programs", _load(80), ("other_load",), link=None),
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
            if dose.link is not None:
                for name in made.names[:-1]:
                    made.run(name, "tc", "qdisc", "add", "dev", "eth0", "root", *_tbf(dose.link))
            dose.make(made, host, stack)
            ends = ("--from", f"node[1-{HOSTS}]", "--to", f"node{HOSTS + 1}", "-C", "cubic")
            done = run(made, *ends, "-t", "2", "--trials", setting.of(3, 1), "--json", out=out)
        rows.append(_judged(dose, host, out, done.stderr))
    found = sum(row.is_ok for row in rows)
    needed = MIN_FOUND if len(rows) == len(DOSES) else len(rows)
    bar = Row("slow", "slow host found and its cause first", f"≥ {needed} of {len(rows)}", f"{found}", found >= needed)
    return [*rows, bar]


def _judged(dose: Dose, host: str, out: Path, said: str) -> Row:
    """Judges whether `explain` names the host, and what differs there first."""
    argv = [str(Path(sys.executable).parent / "whyperf"), "explain", str(out), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    asked = f"{host}: {' or '.join(dose.causes)}"
    if not done.stdout:
        return Row("slow", dose.name, asked, (done.stderr or said)[-120:], is_ok=False, is_bar=False)
    diagnoses = json.loads(done.stdout).get("fleet") or []
    # The first diagnosis of a cell; `cause` is a code, and so is each of what differs.
    slow = [entry for diagnosis in diagnoses for entry in diagnosis["slow"]]
    reached = "; ".join(f"{entry['host']}: {entry.get('cause')}" for entry in slow) or "no slow host"
    is_ok = bool(slow) and slow[0]["host"] == host and slow[0].get("cause") in dose.causes
    ratio = _rate_ratio(argv[0], out, host)
    return Row("slow", dose.name, asked, f"{reached} ({ratio:.0%} of the median)", is_ok, is_bar=False)


def _rate_ratio(whyperf: str, out: Path, host: str) -> float:
    """The goodput of the host over the median of all senders: a dose that slows nothing shows."""
    done = subprocess.run([whyperf, "show", str(out), "--json"], capture_output=True, text=True, check=False)
    hosts_found = json.loads(done.stdout)["cells"][0]["fleet"]["hosts"]
    sent: dict[str, float] = {found["host"]: found["sent_bps"]["median"] for found in hosts_found}
    return sent[host] / statistics.median(rate for rate in sent.values() if rate > 0)
