"""Pages and a headless browser to open them with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from scripts.chromium import launch
from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import NARROW_STACKS, SENDER, STACKS, add_samples
from tests.unit.analyze.transport_samples import wan_transports
from tests.unit.analyze.workload_samples import latency_load, rr_ack
from tests.unit.analyze.workload_samples import write as write_exchanges
from tests.unit.explain.experiment_samples import keep_next_to, why
from whyperf.analyze import summarize
from whyperf.record import Experiment
from whyperf.report import write

#: More than a chart has lines, so that the page has a choice.
WRITES = list(range(512, 8193, 512))


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
    windows = [4096, 16384, 52428]
    restless = made.Trial(block=3, rate_bps=9e9, duration_s=4, course=lambda seconds: 1.0 if seconds < 3 else 0.5)
    repeated = [*made.blocks_of(made.Trial(rate_bps=9e9, duration_s=4, connections=2), [9e9, 8.8e9]), restless]
    broken = made.Trial(
        block=4, status="failed", reason="the far side closed connection 3", connections=2, duration_s=4
    )
    return {
        "sweep": (made.sweep(windows, WRITES, blocks=1), "veth"),
        "quick": ([made.Trial(rate_bps=9.3e9, notes=({"note": "no_pmu", "reason": "none here"},))], "veth"),
        "repeated": ([*repeated, broken], "veth"),
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


class Pages(dict[str, Path]):
    """The report of each kind of experiment, by name; one is written when a test asks for it."""

    def __init__(self, results: Path) -> None:
        self._results = results

    def __missing__(self, name: str) -> Path:
        self[name] = page = self._written(name, self._results / name)
        return page

    @staticmethod
    def _written(name: str, folder: Path) -> Path:
        if name == "transports":
            return _transports(folder)
        if name == "cost":
            return _cost(folder)
        if name in ("rr-ack", "latency-load"):
            several = rr_ack() if name == "rr-ack" else latency_load()
            experiment = Experiment.open(write_exchanges(folder, several, profile=name))
        else:
            trials, testbed = _experiments()[name]
            experiment = Experiment.open(made.write(folder, trials, testbed=testbed))
        if name == "repeated":
            keep_next_to(experiment, why())
        return write(experiment, summarize(experiment))


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of each kind of experiment, by name."""
    return Pages(tmp_path_factory.mktemp("results"))
