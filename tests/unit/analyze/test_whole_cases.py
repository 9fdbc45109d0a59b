"""One small experiment of each kind. Every figure of its result follows from what is put in, and stands in a text file.

A line of the file has the name of the figure, its value and, after `#`, where the value comes from.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.workload_samples import OPEN, Exchange
from tests.unit.analyze.workload_samples import inputs as exchanged
from whyperf.analyze import summarize_inputs
from whyperf.analyze.read.inputs import Inputs

BUSY = {"sender": 0.8, "receiver": 0.5}
#: 0.75 and 0.25 of 8.192 Gbit/s, which is 1,000,000 KByte/s, for 1 s of warm-up, 10 s that count and 0.2 s.
STREAM = made.Trial(
    rate_bps=8.192e9,
    connections=2,
    shares=(0.75, 0.25),
    window_bytes=16384,
    announced_bytes=16000,
    far_offset_ns=-40 * made.MS,
    retransmitted=1120,
    busy=BUSY,
    load_share=0.75,
    ksoftirqd_share=0.1,
)
#: 99 of 100 requests take 10 µs and one takes 90 µs; each should have started 9.2 µs earlier on average.
LATENCIES = (
    ("service", 10_000, 10_000, 99),
    ("service", 90_000, 90_000, 1),
    ("intended", 20_000, 20_000, 100),
    ("wire", 4_000, 4_000, 100),
    ("host", 6_000, 6_000, 100),
    ("connect", 2_000, 2_000, 5),
)
REQUESTS = Exchange(made.Trial(busy=BUSY), failed_per_s=20, latencies=LATENCIES, workload=OPEN)
CASES: Mapping[str, Inputs] = {"stream": made.inputs([STREAM]), "requests": exchanged(REQUESTS)}


def figures(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """All figures of a result by name; what is unknown or a setting is none."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in {"factors", "warnings", "cpus", "id", "sweep"}:
                yield from figures(part, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from figures(part, f"{name}.{number}")
    elif value is not None:
        yield name, value


@pytest.mark.parametrize("kind", CASES)
def test_every_figure_by_hand(kind: str) -> None:
    lines = Path(__file__).with_name(f"whole_{kind}.txt").read_text().splitlines()
    expected = dict(line.partition("#")[0].split(maxsplit=1) for line in lines)
    (cell,) = summarize_inputs(CASES[kind]).cells
    found = dict(figures(cell.model_dump(mode="json")))
    assert found.keys() == expected.keys()
    for name, value in found.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        wanted = expected[name].strip()
        assert value == pytest.approx(float(wanted), rel=1e-4) if is_number else str(value) == wanted, name
