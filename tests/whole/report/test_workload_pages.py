"""Pages of workloads: transactions, latency in full, the study's table next to ours."""

from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.workload_samples import RR, Exchange, latency_load, rr_ack, workload, write
from tests.whole.report.test_page import checked, page, plain_text
from whyperf.analyze import summarize
from whyperf.profile import shipped_names
from whyperf.record import Experiment
from whyperf.report.studies.published import COMPARISONS, read, study_section


def test_a_sweep_of_exchanges_is_reported_in_transactions(tmp_path: Path) -> None:
    text = page(write(tmp_path / "rr", rr_ack()))
    parser = checked(text)
    shown = plain_text(text)
    assert "The rate reached 30,480 transactions/s" in shown
    assert "Latency is from a closed loop" in shown
    charts = ("goodput", "latency-p50_ns", "latency-p99_ns", "curves", "transaction-sender")
    assert {f"chart-sweep-main-{name}" for name in charts} <= set(parser.ids)


def test_an_open_loop_says_where_it_was_overloaded(tmp_path: Path) -> None:
    text = page(write(tmp_path / "load", latency_load()))
    assert "chart-sweep-main-latency" in checked(text).ids
    shown = plain_text(text)
    assert "The hosts sustained loads up to offered rate 64,000 transactions/s; 99 % took at most" in shown
    assert "Latency is measured from the intended start of a transaction." in shown
    assert "90,000 transactions/s ended instead of the intended 128,000: the backlog" in shown
    assert "the backlog grew by 38,000 a second" in shown


def test_the_studys_table_stands_next_to_ours(tmp_path: Path) -> None:
    folder = write(tmp_path / "rr-ack", rr_ack(blocks=1), profile="rr-ack")
    shown = plain_text(page(folder))
    assert "Comparison with the study" in shown
    assert "Understanding Gigabit Ethernet Performance on Sun Fire Systems" in shown
    summary = summarize(Experiment.open(folder))
    section = study_section("rr-ack", summary, {})
    assert section is not None
    (table,) = section.tables
    first = [entry.text for entry in table.table.rows[0]]
    # 30,000 / 1.004 with its block's 1 %, times 0.97 where ACKs are quick; one way is half of its time.
    assert first == ["4", "6,972", "29,270", "6,978", "30,180", "17.1", "16.6"]


@pytest.mark.parametrize("profile", sorted(COMPARISONS))
def test_every_table_of_a_study_has_its_source_and_only_numbers_or_lists(profile: str) -> None:
    assert profile in shipped_names()
    for comparison in COMPARISONS[profile]:
        source, rows = read(comparison.file)
        assert source.startswith("Source: ")
        assert len(rows) >= 6
        # What a row compares with are levels of the profile.
        levels = [pair for row in rows for pair in comparison.match(row).items()]
        assert all(isinstance(level, bool | int) or name == "io_model" for name, level in levels)


MESSAGES = {
    **RR,
    "name": "small-messages",
    "metric": "goodput",
    "workload": workload({"by": "closed"}, "message"),
}


def _messages() -> list[Exchange]:
    """Nagle on and off, each for three sizes; with 1448 bytes of payload a packet."""
    return [
        Exchange(
            made.Trial(
                cell=f"c{number:04d}",
                duration_s=2,
                write_size_bytes=size,
                rate_bps=8e6 * size,
                factors={"no_delay": no_delay, "quick_ack": False},
            ),
            per_s=1e6 / size,
            workload=MESSAGES,
        )
        for number, (size, no_delay) in enumerate(((s, n) for s in (60, 250, 1460) for n in (False, True)), 1)
    ]


def test_the_study_of_nagle_says_which_payloads_waited_for_an_ack(tmp_path: Path) -> None:
    summary = summarize(Experiment.open(write(tmp_path / "nagle", _messages(), profile="small-nagle")))
    section = study_section("small-nagle", summary, {"c0001": "1460 (70 %)"}, {"c0001": "1460 (0.1 %); 1120 (39 %)"})
    assert section is not None
    with_nagle = section.tables[0]
    first = [entry.text for entry in with_nagle.table.rows[0]]
    assert first[:4] == ["60", "60, 1440", "1460 (70 %)", "1460 (0.1 %); 1120 (39 %)"]
    assert "Minshall" in with_nagle.note


def test_the_study_of_solaris_has_the_models_errors(tmp_path: Path) -> None:
    summary = summarize(Experiment.open(write(tmp_path / "rr", rr_ack(blocks=1), profile="solaris-rr")))
    section = study_section("solaris-rr", summary, {})
    assert section is not None
    first = [entry.text for entry in section.tables[0].table.rows[0]]
    assert first == ["4", "6,972", "29,270", "+319.8 %", "6,978", "30,180", "+332.5 %"]


def test_a_gain_by_copy_steps_is_against_the_smallest_of_the_same_connections(tmp_path: Path) -> None:
    levels = [(connections, multiplier) for connections in (1, 10) for multiplier in (1, 8)]
    trials = [
        Exchange(
            made.Trial(
                cell=f"c{number:04d}",
                duration_s=2,
                factors={"connections": connections, "maxpsz_multiplier": multiplier},
            ),
            per_s=1250 if (connections, multiplier) == (1, 8) else 1000,
        )
        for number, (connections, multiplier) in enumerate(levels, 1)
    ]
    summary = summarize(Experiment.open(write(tmp_path / "steps", trials, profile="copy-steps")))
    section = study_section("copy-steps", summary, {})
    assert section is not None
    gains = {tuple(entry.text for entry in row[:2]): row[-1].text for row in section.tables[0].table.rows}
    assert (gains["1", "8"], gains["10", "8"], gains["1", "44"]) == ("+25.0 %", "+0.0 %", "")
