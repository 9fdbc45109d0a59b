"""The options that set the format of a result."""

import pytest

from whyperf.cli.exits import UsageError
from whyperf.cli.output.formats import Format, OutputFormat, RateUnit, output_format


@pytest.mark.parametrize(
    ("json", "format_", "interval", "expected"),
    [
        (False, None, None, OutputFormat(Format.TEXT)),
        (True, None, None, OutputFormat(Format.JSON)),
        (False, Format.UPERF, None, OutputFormat(Format.UPERF, 1.0)),
        (False, Format.UPERF, "500ms", OutputFormat(Format.UPERF, 0.5)),
    ],
)
def test_formats(json: bool, format_: Format | None, interval: str | None, expected: OutputFormat) -> None:
    found = output_format(json=json, format_=format_, interval=interval)
    assert found == expected
    assert found.is_for_programs == (expected.format is not Format.TEXT)


@pytest.mark.parametrize(
    ("json", "format_", "interval", "says"),
    [
        (True, Format.UPERF, None, "two formats; drop one"),
        (False, None, "1", "--interval is the distance of lines with --format uperf"),
        (False, Format.UPERF, "0", "--interval 0 is not from 0.01 to 86400 seconds"),
        (False, Format.UPERF, "5MB", "--interval 5MB is no time; give seconds such as 0.5, or 500ms"),
    ],
)
def test_refusals(json: bool, format_: Format | None, interval: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        output_format(json=json, format_=format_, interval=interval)


def test_a_measurement_has_lines_in_any_format() -> None:
    found = output_format(json=False, format_=None, interval="0", rate_unit=RateUnit.MBIT, has_lines=True)
    assert found.interval_s == 0
    assert found.rate(9.1416e9) == "9,142 Mbit/s"
    assert output_format(json=True, format_=None, interval=None).rate(9.1416e9) == "9.14 Gbit/s"
    with pytest.raises(UsageError, match="--interval 0 is not from"):
        output_format(json=False, format_=Format.UPERF, interval="0", has_lines=True)


@pytest.mark.parametrize(
    ("unit", "text"), [("k", "1,000 kbit/s"), ("m", "1.00 Mbit/s"), ("K", "122 KiB/s"), ("M", "0.119 MiB/s")]
)
def test_units_of_rates_are_those_of_iperf3(unit: str, text: str) -> None:
    assert OutputFormat(rate_unit=RateUnit(unit)).rate(1e6) == text
