"""User time and copies by message size, by stack samples, next to the Gigabit Ethernet study."""

from tests.whole.report.test_stack_overheads import cell
from whyperf.plan import build
from whyperf.profile import find
from whyperf.report.charts.blocks import Section
from whyperf.report.studies.user_copy import section_of
from whyperf.report.table import Table

PLAN = build(find("user-copy-share"))
SIZES = {planned.factors["write_size_bytes"]: int(planned.id[1:]) for planned in PLAN.cells}
SMALL = {"application": 0.09, "copy": 0.02, "transmit": 0.6, "acks": 0.285, "ip": 0.005}
LARGE = {"application": 0.01, "copy": 0.5, "transmit": 0.44, "acks": 0.046, "ip": 0.004}


def section() -> Section:
    found = section_of(PLAN, [], [cell(SIZES[100], SMALL), cell(SIZES[65_536], LARGE)])
    assert found is not None
    return found


def columns(table: Table) -> dict[str, list[str]]:
    """The texts of each column by its heading."""
    return {column.heading: [row[number].text for row in table.rows] for number, column in enumerate(table.columns)}


def test_samples_stand_next_to_the_shares_of_the_study() -> None:
    shares = columns(section().tables[0].table)
    assert shares["Message (bytes)"] == ["100", "180", "250", "536", "1,024", "1,460", "65,536"]
    assert shares["User, study"] == ["9 %", "9 %", "9 %", "8 %", "6 %", "6 %", ""]
    assert shares["User, here, samples"] == ["9.0 %", "", "", "", "", "", "1.0 %"]
    assert shares["Copy, study"] == ["1 %", "2 %", "3 %", "5 %", "5 %", "7 %", ""]
    assert shares["Copy, here, samples"] == ["2.0 %", "", "", "", "", "", "50 %"]
    assert shares["Copy, here, stages"] == [""] * 7


def test_classes_are_in_the_order_of_their_largest_share_and_add_up() -> None:
    table = section().tables[1].table
    names = [column.heading for column in table.columns]
    assert names == ["Message (bytes)", "Cycles/KB", "transmit", "copy", "acks", "application", "Other classes"]
    assert columns(table)["Other classes"] == ["0.5 %", "0.4 %"]
    for row in table.rows:
        assert abs(sum(float(entry.sort) for entry in row[2:]) - 1) < 1e-5


def test_without_samples_and_stage_times_there_is_no_section() -> None:
    assert section_of(PLAN, [], []) is None
