"""What is said of datagrams at the end of a measurement."""

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize_inputs
from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import Datagrams
from whyperf.cli.output.single import single_lines
from whyperf.profile import Level


@pytest.mark.parametrize(
    ("factors", "line"),
    [
        ({"write_rate_bps": 50_000_000}, "50.0 Mbit/s; the sender handed 40.0 Mbit/s of it to its kernel"),
        (
            {"write_rate_bps": 25_000_000, "connections": 2},
            "50.0 Mbit/s; the sender handed 40.0 Mbit/s of it to its kernel",
        ),
        # Reached, but for the last interval; and nothing was asked for.
        ({"write_rate_bps": 41_000_000}, None),
        ({"write_rate_bps": "default"}, None),
    ],
)
def test_a_rate_that_the_sender_does_not_reach_is_said(factors: dict[str, Level], line: str | None) -> None:
    datagrams = Datagrams(
        received_per_s=Spread(median=5_000.0),
        sent_per_s=5_000.0,
        lost_ratio=0.0,
        received_count=5_000,
        lost_count=0,
        late_count=0,
        duplicate_count=0,
        jitter_ns=None,
        jitter_ns_max=None,
        kernel_drops_count=0,
    )
    cell = summarize_inputs(made.inputs([made.Trial()])).cells[0]
    sizes: dict[str, Level] = {"connections": 1, "datagram_size_bytes": 1_000}
    seen = cell.model_copy(update={"datagrams": datagrams, "factors": {**cell.factors, **sizes, **factors}})
    lines = [each for each in single_lines(seen) if each.startswith("Asked")]
    assert lines == ([] if line is None else [f"Asked           {line}"])
