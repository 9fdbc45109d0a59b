"""The repeating payloads on the wire, and what is none."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.flow import traces
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import PAYLOAD_COLUMNS, Payloads, find_payloads, payload_sequence, read_log, runs_of


def found(*sizes: int) -> Payloads:
    return find_payloads(runs_of(np.array(sizes, dtype=np.uint32)))


def test_super_segments_are_taken_apart_and_retransmissions_left_out(tmp_path: Path) -> None:
    log = traces.trace("""
        1 > . 1:3001    ack 1 gso=1448
        2 > . 3001:4449 ack 1
        3 > . 1:1449    ack 1 again=fast
        4 < . 1:1       ack 4449
        5 > . 4449:4549 ack 1
    """)
    read = known(read_log(traces.write(tmp_path / "log01-c0001", log), "near", columns=PAYLOAD_COLUMNS))
    runs = payload_sequence(read)
    assert list(zip(runs.size.tolist(), runs.repeats.tolist(), strict=True)) == [
        (1448, 2),
        (104, 1),
        (1448, 1),
        (100, 1),
    ]
    assert runs.segments_count == 5


@pytest.mark.parametrize(
    ("cycle", "text"),
    [
        ((100, 1400), "100, 1400"),
        ((60, 1440), "60, 1440"),
        ((1024, 6144), "1024, 6144"),
        ((4096, 4096, 512), "4096 × 2, 512"),
        ((*[1448] * 44, 1000), "1448 × 44, 1000"),
        ((1, 2, 1, 3), "1, 2, 1, 3"),
    ],
)
def test_a_cycle_is_found_whatever_its_length(cycle: tuple[int, ...], text: str) -> None:
    result = found(*cycle * 300)
    assert result.cycle is not None
    assert result.cycle.text == text
    assert result.cycle.period_segments == len(cycle)
    assert result.cycle.segments_ratio >= 0.99
    assert result.words.startswith(f"The payloads repeat as {text}: 100 % of ")


def test_one_payload_over_and_over() -> None:
    result = found(*[1460] * 999, 12)
    assert result.words == "The payload stays at 1460 bytes: 100 % of 1,000 segments."
    assert known(result.cycle).bytes_ratio == pytest.approx(999 * 1460 / (999 * 1460 + 12))


def test_foreign_segments_now_and_then_do_not_hide_the_cycle() -> None:
    rng = np.random.default_rng(1995)
    sizes = np.insert(np.array([100, 1400] * 5000), rng.integers(0, 10000, 100), 536)
    result = found(*sizes.tolist())
    assert result.cycle is not None
    assert result.cycle.text == "100, 1400"
    assert 0.97 < result.cycle.segments_ratio < 1


def test_phases_are_reported_as_parts_and_no_cycle() -> None:
    """As in the study of 1995: 4096 at first, after a timer's ACK 1016 and 3080, then 2028 and 2068."""
    result = found(*[4096] * 3000, *[1016, 3080] * 2000, *[2028, 2068] * 1000)
    assert result.cycle is None
    assert [(part.text, part.first_segment, part.last_segment) for part in result.parts] == [
        ("4096", 0, 2999),
        ("1016, 3080", 3000, 6999),
        ("2028, 2068", 7000, 8999),
    ]
    assert result.words == (
        "No repeating cycle in 9,000 segments. Most frequent: 4096 (33 %), 1016 (22 %), 3080 (22 %), 2028 (11 %), "
        "2068 (11 %). In parts it repeats: 4096 (33 %), then 1016, 3080 (44 %), then 2028, 2068 (22 %)."
    )


@pytest.mark.parametrize("sizes", [(100, 1400), (60, 1440, 536), (1, 2, 3, 4, 5, 6)])
@pytest.mark.parametrize("segments", [50, 1000, 100_000])
def test_a_random_mixture_has_no_cycle_and_no_parts(sizes: tuple[int, ...], segments: int) -> None:
    rng = np.random.default_rng(len(sizes) * segments)
    result = found(*rng.choice(sizes, segments).tolist())
    assert result.cycle is None
    assert result.words.startswith("No repeating cycle in ")
    assert result.parts == ()
    assert result.frequent[0][1] >= 1 / len(sizes)


@pytest.mark.parametrize("sizes", [(), (1448,), (1, 2, 1, 2)])
def test_a_few_segments_are_no_pattern(sizes: tuple[int, ...]) -> None:
    result = found(*sizes)
    assert result.cycle is None
    assert result.words.endswith("only, too few for a cycle.")


def test_a_long_sequence_is_searched_by_samples() -> None:
    quiet = np.tile(np.array([100, 1400]), 150_000)
    result = found(*quiet.tolist())
    assert known(result.cycle).segments_ratio == 1.0


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
    st.integers(40, 60),
    st.integers(0, 5),
    st.lists(st.integers(1, 5)),
)
def test_a_repeated_cycle_is_always_found(cycle: list[int], times: int, shift: int, tail: list[int]) -> None:
    """Whatever is repeated, wherever it begins: a cycle is found that covers it and is no longer.

    Cycles cut at the start and the end may not count, hence 40 of them.
    """
    whole = (cycle * (times + 6))[shift : shift + len(cycle) * times] + tail[: len(cycle) * times // 40]
    result = found(*whole)
    assert result.cycle is not None
    assert result.cycle.period_segments <= len(cycle)
    assert len(cycle) % result.cycle.period_segments == 0 or result.cycle.segments_ratio < 1
    sizes = [size for size, repeats in result.cycle.payloads for _ in range(repeats)]
    assert len(sizes) == result.cycle.period_segments
