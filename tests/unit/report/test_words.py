"""Numbers, factors and commands in words."""

import json

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.quantity import bit_rate, octets, percent, seconds, significant
from whyperf.plan import Plan
from whyperf.plan.model import identify
from whyperf.report.assets import together
from whyperf.report.repeat import command
from whyperf.report.words import factor_title, level_text, sweep_title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (bit_rate(9.1416e9), "9.14 Gbit/s"),
        (bit_rate(999.96e6), "1.00 Gbit/s"),
        (bit_rate(0), "0 bit/s"),
        (significant(0.01234), "0.0123"),
        (significant(12345.6), "12,346"),
        (significant(9.996), "10.0"),
        (percent(0.984), "98 %"),
        (percent(0.0213), "2.1 %"),
        (octets(52428), "52,428 bytes"),
        (seconds(1.5e6), "1.50 ms"),
        (factor_title("write_size_bytes"), "Write size (bytes)"),
        (factor_title("connections"), "Connections"),
        (level_text(True), "on"),
        (level_text(2.5), "2.50"),
        (sweep_title("cpu-cost"), "CPU cost"),
        (together("9.14 Gbit/s at 98 % busy"), "9.14\N{NO-BREAK SPACE}Gbit/s at 98\N{NO-BREAK SPACE}% busy"),
    ],
)
def test_quantities(text: str, expected: str) -> None:
    assert text == expected


def test_the_command_repeats_the_plan() -> None:
    document = made.plan([made.Trial()])
    document |= {"target": "host7", "testbed": {"kind": "network"}, "only": ["window_bytes=4096,8192"]}
    document["overrides"] = {"no_delay": True, "near_cpus": "0,2-3"}
    document["id"] = identify(Plan.model_validate_json(json.dumps(document)))
    told = command(Plan.from_json(json.dumps(document), "plan.json"))
    assert told == (
        "whyperf run synthetic --seed 1995 --host host7 --trials 1 --only window_bytes=4096,8192 "
        "--set no_delay=true --set near_cpus=0,2-3 --out results/synthetic-again"
    )
