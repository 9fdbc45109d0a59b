"""Every factor with levels of every form, as an option or a profile has them: what it makes of them, or says."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.snapshots import Snapshots, outcome
from whyperf.profile import ProfileError
from whyperf.profile.errors import suggestion
from whyperf.profile.factor import Factor, cpus_of_list
from whyperf.profile.factors import BY_NAME, FACTORS
from whyperf.profile.levels import all_levels, as_set, levels_of_text, one_level
from whyperf.profile.path_levels import loss_of, queue_of
from whyperf.profile.units import UNITS, hint_for, with_unit

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
TEXTS = (
    *(
        "",
        "auto",
        "any",
        "none",
        "default",
        "half",
        "same",
        "bdp",
        "true",
        "on",
        "yes",
        "false",
        "off",
        "no",
        "receive",
    ),
    *(
        "0",
        "1",
        "2",
        "-1",
        "1.5",
        "1e3",
        "inf",
        "nan",
        "064",
        "64K",
        "64k",
        "64KiB",
        "64kb",
        "1.5M",
        "1.3K",
        "3G",
        "1T",
    ),
    *("200M", "1Gbit", "1.5Gbit/s", "10mbps", "10 Mb/s", "20K/s", "20ns", "20us", "20µs", "20ms", "20 ms", "20  ms"),
    *("3s", "2min", "1h", "0.1%", "50%", "100%", "101%", "20parsecs", "20Mi", "1.5ms", "0.0005ms"),
    *(
        "0-3",
        "0,2-3",
        "3-",
        "0,any",
        "any,auto",
        "cubic",
        "cubic,bbr",
        "a b",
        "a-name-of-sixteen",
        "Rr",
        "rr",
        "-rr",
        "rr-",
    ),
    *("=write_size_bytes", "=write_size", " 8K ", "4096, 8192", "4096,4096", "true,false"),
    *("165p", "0p", "1p", "0.5bdp", "0bdp", "2bdp", "bursts:0.01/0.25", "bursts:0.01/0.25/0.5/0.001", "bursts:2/1"),
    *("segments:5+7", "segments:7+5", "segments:5+5", "segments:0", "segments:5", "1e-5", "0.5", "1.0"),
    *("10.0.0.1", "fe80::1%eth0", "::1", "fe80::1", "10.0.0", "sparc2", "sparc2,alpha", "a,b,c", "a=b"),
)
LEVELS = (True, False, None, 0, 1, 2, -1, 0.0, 0.5, 1.0, 1.5, -0.5, math.inf, math.nan, 10**12, 2**70, [1], {"from": 1})


def bounds(factor: Factor) -> list[float]:
    """Just inside and just outside of what it takes."""
    found: list[float] = []
    for bound in (factor.low, factor.high):
        if math.isfinite(bound):
            step = 1 if factor.kind == "int" else abs(bound) * 1e-9 or 1e-9
            found += [bound - step, bound, bound + step]
    return [int(level) if factor.kind == "int" else level for level in found]


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_levels(factor: Factor) -> None:
    refused = f" is not a level; it takes {factor.allowed()}"
    found: dict[str, object] = {"allowed": factor.allowed()}
    for text in TEXTS:
        found[f"option {text}"] = outcome(partial(levels_of_text, factor, text), ProfileError)
        found[f'written "{text}"'] = outcome(partial(one_level, factor, text), ProfileError)
    for level in (*LEVELS, *bounds(factor)):
        found[f"written {level}"] = outcome(partial(one_level, factor, level), ProfileError)
    # What it refuses as most is not there, and what is accepted as written is together.
    kept = {what: made for what, made in found.items() if not str(made).endswith(refused)}
    same = [what for what, made in kept.items() if what in {f'written "{made}"', f"written {made}"}]
    other = {what: _brief(str(made), factor) for what, made in kept.items() if what not in same}
    twice = [
        what for what, made in other.items() if made == other.get(what.replace('written "', "option ").rstrip('"'))
    ]
    differ = {what: made for what, made in other.items() if what.startswith("option ") or what not in twice}
    SNAPSHOTS.check(factor.name, {"accepted": " ".join(same), "alike": " ".join(twice), **differ})


def _brief(made: str, factor: Factor) -> str:
    """A refusal without the factor and what it takes."""
    return made.replace(f" is not a level; it takes {factor.allowed()}", " …").replace(
        f"ProfileError: {factor.name}: ", "! "
    )


RANGES: tuple[Any, ...] = (
    {"from": 1, "to": 5, "step": 2},
    {"from": 1, "to": 6, "step": 2},
    {"from": 5, "to": 5, "step": 1},
    {"from": 5, "to": 4, "step": 1},
    {"from": 1, "to": 5, "step": 0},
    {"from": 1, "to": 5, "step": -1},
    {"from": 1, "to": 10_000, "step": 1},
    {"from": 1, "to": 10_001, "step": 1},
    {"from": 0.1, "to": 0.3, "step": 0.1},
    {"from": 1, "to": 2, "step": 0.25},
    {"from": 1, "to": 64, "times": 2},
    {"from": 1, "to": 63, "times": 2},
    {"from": 10, "to": 20, "times": 1.5},
    {"from": 1, "to": 2, "times": 1},
    {"from": 0, "to": 2, "times": 2},
    {"from": 1, "to": 3, "times": 1.1},
    {"from": 1, "to": 1e9, "times": 1.0001},
    {"from": "1K", "to": "4K", "step": "1K"},
    {"from": "1K", "to": "4K", "times": "2"},
    {"from": "10ms", "to": "30ms", "step": "10ms"},
    {"from": True, "to": 3, "step": 1},
    {"from": 1, "to": math.inf, "step": 1},
    {"from": 1, "to": 3},
    {"from": 1, "to": 3, "step": 1, "times": 2},
    [],
    [4, 8],
    [4, "4"],
    [4, 4],
    [1, True],
    [[1]],
    ["=connections", 3],
    ["=window_bytes"],
)


@pytest.mark.parametrize("name", ["window_bytes", "duration_s", "no_delay", "congestion_control", "path_rtt_ms"])
def test_several_levels(name: str) -> None:
    found = {str(written): outcome(partial(all_levels, BY_NAME[name], written), ProfileError) for written in RANGES}
    SNAPSHOTS.check(f"several of {name}", found)


def test_forms() -> None:
    found: dict[str, object] = {}
    for text in TEXTS:
        found[f"cpus {text}"] = outcome(partial(cpus_of_list, text), ValueError)
        found[f"loss {text}"] = loss_of(text)
        found[f"queue {text}"] = queue_of(text)
        found[f"numbers {text}"] = {
            unit: str(number) for unit in UNITS if (number := with_unit(text, unit)) is not None
        }
        found[f"hint {text}"] = hint_for(text, "ms")
    for level in LEVELS:
        found[f"loss {level}"], found[f"queue {level}"] = loss_of(level), queue_of(level)
    found["hints"] = [hint_for("5 parsecs", unit) for unit in (*UNITS, "segments", "")]
    assert with_unit("5K", "segments") is None
    SNAPSHOTS.check("forms", {what: made for what, made in found.items() if made not in ("", "ValueError")})


def test_suggestions() -> None:
    known = ("size", "write_size", "write_size_bytes", "read_size", "request_size", "response_size", "count", "window")
    asked = (
        "size",
        "siz",
        "s",
        "si",
        "write",
        "writesize",
        "wind",
        "windw",
        "cuont",
        "zzzz",
        "",
        "bytes",
        "re",
        "write_size_bytes_2",
    )
    found = {word: suggestion(word, known) for word in asked}
    found |= {f"{word} listed": suggestion(word, known, listed_by="whyperf list") for word in asked}
    found["nothing known"] = suggestion("size", ())
    SNAPSHOTS.check("suggestions", found)


def test_levels_as_options() -> None:
    assert as_set({"no_delay": True, "window_bytes": 8192}) == ["no_delay=true", "window_bytes=8192"]
