"""`whyperf why` over ssh, where others use the path: it finds the limit, and leaves others their goodput."""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.far_host import CLOSED_PORT, PORT, SSH_CONFIG, SSHD, FarHost
from tests.e2e.test_why import TWO_WRITES
from whyperf.cli.exits import DONE, DOUBTFUL
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.ladder import ORIGINAL
from whyperf.explain.wording.experiments import try_words
from whyperf.plan import Cell
from whyperf.record import Experiment

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(not SSHD.exists(), reason="needs sshd"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh"),
    pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3"),
]

NEAR, FAR, OTHER, ROUTER = (f"whyperf-why-{name}" for name in ("near", "far", "other", "router"))
NETWORKS = {NEAR: "198.18.21", OTHER: "198.18.22", FAR: "198.18.23"}
SHAPED = ("root", "tbf", "rate", "200mbit", "burst", "64kb", "limit", "300kb")
LOOK_S = 0.1
LONGEST_S = 120
MIN_LEFT = 0.9
LOADS = {
    "a small window": (("-w", "16K"), {Cause.RECEIVE_BUFFER, Cause.SEND_BUFFER}),
    "small segments": (("--set", "mss_bytes=200"), {Cause.SMALL_MTU}),
    "two writes": (("two-writes.toml", "-t", "2"), {Cause.NAGLE_DELAYED_ACK, Cause.DELAYED_ACK}),
    "one request at a time": (("rr", "-t", "2"), {Cause.ROUND_TRIP}),
}
#: Loads that only an experiment would speed up which others would feel.
HELD = {
    "a pacing rate": (("--set", "pacing_rate_bps=20000000"), Cause.PACING_RATE, "no pacing rate"),
    "an asked rate": (("--set", "write_rate_bps=8000000"), Cause.ASKED_RATE, "a higher asked rate"),
}


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def network() -> Iterator[None]:
    """Three hosts around a router that shapes what goes to the far one."""
    try:
        for name in (NEAR, FAR, OTHER, ROUTER):
            ip("netns", "add", name)
        for name, prefix in NETWORKS.items():
            device = f"to-{name[-5:]}"
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", device, "netns", ROUTER)
            for where, link, last in ((name, "eth0", 2), (ROUTER, device, 1)):
                ip("-n", where, "address", "add", f"{prefix}.{last}/24", "dev", link)
                ip("-n", where, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "route", "add", "default", "via", f"{prefix}.1")
        ip("netns", "exec", ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        ip("netns", "exec", ROUTER, "tc", "qdisc", "add", "dev", f"to-{FAR[-5:]}", *SHAPED)
        yield
    finally:
        for name in (NEAR, FAR, OTHER, ROUTER):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@dataclass
class Others:
    """A connection of iperf3 over the same path, and its goodput in each tenth of a second."""

    rates: list[tuple[float, float]] = field(default_factory=list)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Sends while the block runs."""
        inside = ("ip", "netns", "exec")
        server = subprocess.Popen([*inside, FAR, "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        asked = ("iperf3", "-c", f"{NETWORKS[FAR]}.2", "-t", str(LONGEST_S), "-i", str(LOOK_S), "-f", "k")
        client = subprocess.Popen([*inside, OTHER, *asked, "--forceflush"], stdout=subprocess.PIPE, text=True)
        reader = threading.Thread(target=self._read, args=[client])
        reader.start()
        try:
            time.sleep(2)
            yield
        finally:
            for process in (client, server):
                process.terminate()
                process.wait()
            reader.join()

    def _read(self, client: subprocess.Popen[str]) -> None:
        assert client.stdout is not None
        for line in client.stdout:
            parts = line.split()
            if "Kbits/sec" in parts and "sender" not in parts and "receiver" not in parts:
                self.rates.append((time.time(), float(parts[parts.index("Kbits/sec") - 1])))

    def during(self, start: float, end: float) -> float | None:
        """The mean of a span; None where no interval lies in it."""
        found = [rate for when, rate in self.rates if start + LOOK_S <= when <= end]
        return sum(found) / len(found) if found else None


@pytest.fixture(scope="module", name="path")
def _path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FarHost, Others]]:
    folder = tmp_path_factory.mktemp("far")
    ours = Ours("whyperf-why-far")
    with network():
        address = f"{NETWORKS[FAR]}.2"
        config = SSH_CONFIG.format(address=address, port=PORT, closed_port=CLOSED_PORT, folder=folder)
        (folder / "ssh-config").write_text(config)
        host = FarHost(folder, f"/run/netns/{NEAR}", f"/run/netns/{FAR}", ours.mark, address)
        with host.serving():
            yield host, Others()


@pytest.mark.parametrize("load", LOADS)
def test_the_limit_is_found_over_ssh_and_others_keep_their_goodput(load: str, path: tuple[FarHost, Others]) -> None:
    far, others = path
    options, causes = LOADS[load]
    with others.sending():
        why, left = _why(load, options, far, others)
    assert causes & set(why["answer"]["causes"])
    assert median(left.values()) >= MIN_LEFT


@pytest.mark.parametrize("load", HELD)
def test_a_rate_that_somebody_chose_stays_on_the_path_of_others(load: str, path: tuple[FarHost, Others]) -> None:
    far, others = path
    options, cause, left_out = HELD[load]
    with others.sending():
        why, left = _why(load, options, far, others)
    assert (why["answer"]["known"], why["answer"]["causes"]) == ("likely", [cause])
    assert left_out in [try_words(name) for name in why["spared"]]
    assert min(left.values()) >= MIN_LEFT


def _why(load: str, options: Sequence[str], far: FarHost, others: Others) -> tuple[Mapping[str, Any], dict[str, float]]:
    """The answer, and for each experiment what was left to others."""
    (far.folder / "two-writes.toml").write_text(TWO_WRITES.replace("loopback", "auto"))
    folder = far.folder / load.replace(" ", "-")
    done = far.command("why", *options, "-H", "far", "--json", "--no-report", "--out", folder)
    assert done.status in {DONE, DOUBTFUL}, done.err
    why = json.loads(done.out)
    made = Experiment.open(far.folder / why["experiments"])
    left = _left_to_others(made, others)
    answer, times = why["answer"], why["seconds"] / _load_s(made)
    print(
        f"{load}: {answer['known']} {answer['causes']} in {why['seconds']:.1f} s, {times:.2f} × its load; left {left}"
    )
    return why, left


def _left_to_others(made: Experiment, others: Others) -> dict[str, float]:
    """For each experiment the goodput of others in its trials, over that in the trials of the original."""
    rates: dict[str, list[float]] = {}
    cells = {cell.id: cell for cell in made.plan.cells}
    for manifest in made.trials().manifests.values():
        cell = cells[manifest.cell]
        start = datetime.fromisoformat(manifest.started_realtime).timestamp()
        if (rate := others.during(start, start + _phases_s(cell) + LOOK_S)) is not None:
            rates.setdefault(cell.sweep, []).append(rate)
    usual = median(rates.pop(ORIGINAL))
    return {name: round(median(found) / usual, 2) for name, found in rates.items()}


def _load_s(made: Experiment) -> float:
    """The time for which the trials were under load."""
    cells = {cell.id: cell for cell in made.plan.cells}
    return sum(_phases_s(cells[manifest.cell]) for manifest in made.trials().manifests.values())


def _phases_s(cell: Cell) -> float:
    return sum(float(cell.factors[name] or 0) for name in ("warmup_s", "duration_s", "cooldown_s"))
