"""Thirty thousand connections into one host: from fifteen clients, and from one."""

import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from lab.bench.fleet.setting import Setting, command, hosts, named
from lab.bench.row import Row
from whyperf.record import Experiment, read_table

CLIENTS = 15
CONNECTIONS = 30_000
MAX_UP_S = 30.0
MIN_RATIO, MAX_RATIO = 0.9, 1.1


def run(setting: Setting) -> list[Row]:
    """Both, one after the other, several times in turn."""
    total = setting.of(CONNECTIONS, 300)
    # A single agent holds all connections of one client, and needs a file for each.
    comparable = min(total, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 200) // CLIENTS * CLIENTS)
    rows: list[Row] = []
    rates: dict[int, list[float]] = {1: [], CLIENTS: []}
    _, up_s, failed, used = _measured(setting, CLIENTS, total // CLIENTS, setting.folder / "all")
    rows.append(
        Row("connections", f"{CLIENTS} × {total // CLIENTS:,} up", f"≤ {MAX_UP_S:.0f} s, 0 failed",
            f"{up_s:.1f} s, {failed} failed; controller {used}", up_s <= MAX_UP_S and not failed)
    )  # fmt: skip
    for number in range(setting.of(5, 1)):
        for clients in (CLIENTS, 1):
            out = setting.folder / f"{clients}-{number}"
            rate, *_ = _measured(setting, clients, comparable // clients, out)
            rates[clients].append(rate)
    ratio = sum(rates[CLIENTS]) / sum(rates[1])
    name = f"rate of {comparable:,} from {CLIENTS} clients over that from one"
    return [
        *rows,
        Row("connections", name, f"{MIN_RATIO} to {MAX_RATIO}",
            f"{ratio:.2f} ({sum(rates[CLIENTS]) / len(rates[CLIENTS]) / 1e9:.2f} Gbit/s)",
            MIN_RATIO <= ratio <= MAX_RATIO, values={"rates_bps": {str(key): found for key, found in rates.items()}}),
    ]  # fmt: skip


def _measured(setting: Setting, clients: int, each: int, out: Path) -> tuple[float, float, int, str]:
    """The rate, the time until all connections were up, those that failed, and what the controller used."""
    with hosts(named(clients + 1)) as made:
        ends = ("--from", f"node[1-{clients}]" if clients > 1 else "node1", "--to", f"node{clients + 1}")
        argv = command(
            made, *ends, "--connections", each, "-t", setting.of(5, 1), "--set", "io_model=epoll",
            "--set", "window_bytes=16384", "--evidence", "user", out=out,
        )  # fmt: skip
        start = time.monotonic()
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            used = _used_by(process)
            output.seek(0)
            said = output.read()
        took_s = time.monotonic() - start
    experiment = Experiment.open(out)
    (manifest,) = experiment.trials().manifests.values()
    assert manifest.status == "complete", said
    flows = read_table(experiment, "flows", trials={manifest.trial: manifest}).frame
    near = flows.filter(flows["host"].str.starts_with("near"))
    opened = near.drop_nulls(["opening_mono_ns", "opened_mono_ns"])
    up_s = (max(opened["opened_mono_ns"].to_list()) - min(opened["opening_mono_ns"].to_list())) / 1e9
    failed = each * clients - len(opened) + int((near["ended"] != "complete").sum())
    found = re.search(r"Goodput\s+([\d.]+) (\w)bit/s", said)
    assert found is not None, said
    rate = float(found[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[found[2]]
    return rate, up_s, failed, f"{used}, {took_s:.0f} s in all"


def _used_by(process: "subprocess.Popen[bytes]") -> str:
    """Memory and CPU time of a process, when it has ended."""
    memory_mb, cpu_s = 0.0, 0.0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            break
        if (found := re.search(r"VmHWM:\s+(\d+)", status)) is not None:
            memory_mb, cpu_s = int(found[1]) / 1024, (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.1)
    process.wait()
    return f"{memory_mb:.0f} MB, {cpu_s:.1f} s of CPU"
