"""Pages and a headless browser to open them with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from scripts.chromium import launch
from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import NARROW_STACKS, SENDER, STACKS, add_samples
from tests.unit.analyze.transport_samples import wan_transports
from tests.unit.analyze.workload_samples import Exchange, latency_load, rr_ack, tail
from tests.unit.analyze.workload_samples import write as write_exchanges
from whyperf.analyze import summarize
from whyperf.record import Experiment
from whyperf.report import write


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        try:
            opened = launch(playwright)
        except Error as error:
            pytest.skip(f"no Chromium that starts (apt-get install chromium): {error.message.splitlines()[0]}")
        yield opened
        opened.close()


def _experiments() -> dict[str, tuple[list[made.Trial], str]]:
    windows = [4096, 8192, 16384, 24576, 32768, 40960, 52428]
    restless = made.Trial(block=3, rate_bps=9e9, duration_s=4, course=lambda seconds: 1.0 if seconds < 3 else 0.5)
    repeated = [*made.blocks_of(made.Trial(rate_bps=9e9, duration_s=4, connections=2), [9e9, 8.8e9]), restless]
    broken = made.Trial(
        block=4, status="failed", reason="the far side closed connection 3", connections=2, duration_s=4
    )
    shared = [
        made.Trial(cell=f"c{number:04d}", duration_s=1, exclusive=False, factors={"congestion_control": name})
        for number, name in enumerate(("cubic", "reno", "bbr"), 1)
    ]
    buffers = [
        made.Trial(
            cell=f"c{number:04d}",
            rate_bps=1e9 * number,
            duration_s=1,
            window_bytes=window,
            connections=many,
            direction=way,
        )
        for number, (window, many, way) in enumerate(
            ((1 << power, many, way) for power in range(14, 18) for many in (1, 4) for way in ("send", "receive")), 1
        )
    ]
    return {
        "sweep": (made.sweep(windows, list(range(512, 8193, 512)), blocks=3), "veth"),
        "quick": ([made.Trial(rate_bps=9.3e9, notes=({"note": "no_pmu", "reason": "none here"},))], "veth"),
        "repeated": ([*repeated, broken], "veth"),
        "shared": (shared, "loopback"),
        "buffers": (buffers, "veth"),
    }


def _transports(folder: Path) -> Path:
    """The report of flows that come and go."""
    experiment = Experiment.open(made.write(folder, wan_transports(blocks=2)))
    return write(experiment, summarize(experiment))


def _cost(folder: Path) -> Path:
    """The report of two cells with stack samples."""
    trials = [
        made.Trial(cell=cell, block=block, duration_s=2, rate_bps=rate, write_size_bytes=size)
        for cell, rate, size in (("c0001", 1e9, 1024), ("c0002", 3e9, 65536))
        for block in (1, 2)
    ]
    experiment = add_samples(made.write(folder, trials), {**STACKS, "near": (*SENDER, *NARROW_STACKS)})
    return write(experiment, summarize(experiment))


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of each kind of experiment, by name."""
    results = tmp_path_factory.mktemp("results")
    written = {}
    for name, (trials, testbed) in _experiments().items():
        experiment = Experiment.open(made.write(results / name, trials, testbed=testbed))
        written[name] = write(experiment, summarize(experiment))
    written["transports"] = _transports(results / "transports")
    written["cost"] = _cost(results / "cost")
    exchanges = {
        "rr-ack": rr_ack(),
        "latency-load": latency_load(),
        "exchange": [Exchange(made.Trial(duration_s=4), latencies=tail(30_000))],
    }
    for name, several in exchanges.items():
        experiment = Experiment.open(write_exchanges(results / name, several, profile=name))
        written[name] = write(experiment, summarize(experiment))
    return written
