"""What the totals of `whyperf cost` are made of: softirqs on top of the load's threads count once, and are counted."""

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.conftest import Ours
from tests.e2e.whyperf_command import whyperf
from whyperf.analyze.read.record import read_inputs
from whyperf.analyze.trials import measure_trials
from whyperf.record import Experiment
from whyperf.run.agents.pipes import agent_binary

pytestmark = pytest.mark.root

TABLES = ("flows", "intervals", "cpu", "softirqs", "threads", "transactions")
#: Of the load's time, which is read a moment before or after that of softirqs.
TOLERANCE = 0.02
#: What softirqs take at least of the time of a thread that sends datagrams over the loopback; mostly 30 to 45 %.
MIN_ON_TOP = 0.1


@pytest.fixture
def folder(ours: Ours, tmp_path: Path) -> Path:
    """A folder in which nothing of ours is left on the host afterwards."""
    assert ours
    return tmp_path


def run(folder: Path, *options: object) -> Experiment:
    """Measures into `result`."""
    done = whyperf(
        "run", "-t", "0.5", "--set", "warmup_s=0.1", *options, "--no-report", "--out", "result", folder=folder
    )
    assert done.status in {0, 3}, done.err
    return Experiment.open(folder / "result")


def total(rows: pl.DataFrame, column: str) -> int:
    """The sum of a column of whole numbers."""
    return int(rows[column].sum())


def measured(folder: Path, name: str, host: str) -> pl.DataFrame:
    """A table of one side in the phase that is measured."""
    (path,) = (folder / "result" / "trials").glob(f"001-*/{name}.{host}.parquet")
    return pl.read_parquet(path).filter(pl.col("phase") == "measure")


@pytest.mark.alone
def test_softirqs_on_top_of_the_load_are_in_its_threads_time_and_nowhere_else(folder: Path) -> None:
    experiment = run(folder, "--evidence", "profile")
    found = measure_trials(read_inputs(experiment, tables=TABLES))
    (cell,) = json.loads(whyperf("cost", "result", "--json", folder=folder).out)["cells"]
    kbytes = found.trials["window_octets"].item() / 1024
    for side in cell["sides"]:
        (used,) = found.ends_cpu.filter(role=side["role"]).to_dicts()
        host, per_ns = used["host"], used["tsc_hz"] / 1e9
        softirqs = measured(folder, "softirqs", host).filter("own")
        assert (softirqs["on_load_ns"] <= softirqs["softirq_ns"]).all()
        # A sender processes ACKs on top of its calls, a receiver's interrupts come on top of its reading.
        assert 0 < total(softirqs, "on_load_ns") < total(softirqs, "softirq_ns")
        threads_ns = total(measured(folder, "threads", host), "cpu_ns")
        assert total(softirqs, "on_load_ns") <= threads_ns * (1 + TOLERANCE)
        elsewhere_ns = used["softirq_tracepoints_ns"] - used["softirq_on_load_ns"]
        assert side["in_softirqs"] * kbytes == pytest.approx(elsewhere_ns * per_ns, rel=1e-6)
        (trial,) = experiment.trials().manifests.values()
        on_cpu_ns = trial.hosts[host].evidence["profile"]["on_cpu_ns"]
        assert side["in_threads"] * kbytes == pytest.approx(on_cpu_ns * per_ns, rel=1e-6)
        # The scheduler's time of a thread lacks what the hypervisor took, and a part of each switch; samples do not.
        assert used["load_threads_ns"] * (1 - TOLERANCE) <= on_cpu_ns
        stacks = pl.read_parquet(next((folder / "result" / "trials").glob(f"001-*/stacks.{host}.parquet")))
        samples = total(stacks.filter(group="load"), "samples_count")
        expected = on_cpu_ns / 1e9 * 997
        # Four standard deviations of a count, next to what a clock that is not exact makes of it.
        assert abs(samples - expected) <= 0.25 * expected + 4 * expected**0.5
        assert side["total"]["mean"] == pytest.approx(side["in_threads"] + side["in_softirqs"], rel=1e-9)


def irq_time_accounting() -> bool | None:
    """Whether the kernel was built to keep the time of interrupts apart; None where nobody says."""
    packed, file = Path("/proc/config.gz"), Path(f"/boot/config-{os.uname().release}")
    if packed.exists():
        text = gzip.decompress(packed.read_bytes()).decode()
    elif file.exists():
        text = file.read_text()
    else:
        return None
    return "CONFIG_IRQ_TIME_ACCOUNTING=y" in text.splitlines()


@pytest.mark.alone
def test_the_time_of_a_thread_holds_softirqs_on_top_of_it_unless_the_kernel_keeps_them_apart(folder: Path) -> None:
    # Datagrams over the loopback: the sender never sleeps, and runs the receive softirq itself.
    experiment = run(folder, "udp-stream", "-t", "1", "--testbed", "loopback", "--evidence", "profile")
    (trial,) = experiment.trials().manifests.values()
    is_apart = trial.hosts["near"].evidence["profile"]["keeps_interrupts_apart"]
    assert irq_time_accounting() in {None, is_apart}
    threads = measured(folder, "threads", "near")
    start_ns, end_ns = threads.select(pl.col("start_mono_ns").min(), pl.col("end_mono_ns").max()).row(0)
    wall_ns = int(end_ns) - int(start_ns)
    on_load_ns = total(measured(folder, "softirqs", "near"), "on_load_ns")
    cpu_ns = total(threads, "cpu_ns")
    assert on_load_ns > MIN_ON_TOP * cpu_ns
    # Whichever it is, the other would be off by all of that.
    accounted_ns = cpu_ns + total(threads, "run_queue_ns") + (on_load_ns if is_apart else 0)
    assert accounted_ns < wall_ns + on_load_ns / 2
    # What a hypervisor takes is nobody's time (CONFIG_PARAVIRT_TIME_ACCOUNTING).
    stolen_ns = total(measured(folder, "cpu", "near").filter("own"), "steal_ns")
    assert accounted_ns + stolen_ns > wall_ns - on_load_ns / 2


def test_agents_in_containers_find_their_own_threads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each in a PID namespace of its own, where numbers are the same: 1 is the agent, and its threads follow.
    script = folder / "agent.sh"
    contained = "unshare --pid --fork --kill-child --mount-proc"
    script.write_text(f'#!/bin/sh\nexec {contained} {agent_binary()} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("WHYPERF_AGENT", str(script))
    run(folder, "--testbed", "loopback", "--evidence", "profile")
    for host in ("near", "far"):
        softirqs = measured(folder, "softirqs", host).filter("own")
        assert 0 < total(softirqs, "on_load_ns") < total(softirqs, "softirq_ns")
        assert total(softirqs, "on_load_ns") <= total(measured(folder, "threads", host), "cpu_ns") * (1 + TOLERANCE)
        (stacks,) = (folder / "result" / "trials").glob(f"001-*/stacks.{host}.parquet")
        groups = pl.read_parquet(stacks).group_by("group").agg(pl.col("samples_count").sum())
        assert groups.filter(group="load")["samples_count"].to_list()[0] > 0
