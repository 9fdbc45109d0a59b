"""Numbers and factors in words."""

import pytest

from whyperf.analyze.text import (
    bit_rate,
    factor_title,
    level_text,
    octets,
    percent,
    seconds,
    setting,
    significant,
    sweep_title,
)
from whyperf.report.assets import prose, together


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
        (octets(1), "1 byte"),
        (seconds(1.5e6), "1.50 ms"),
        (factor_title("write_size_bytes"), "Write size (bytes)"),
        (factor_title("connections"), "Connections"),
        (factor_title("firewall_rules"), "Firewall rules"),
        (setting({"firewall_rules": 1000}, ["firewall_rules"]), "firewall rules 1,000"),
        (factor_title("pacing_rate_bps"), "Pacing rate (bit/s)"),
        (level_text(True), "on"),
        (level_text(2.5), "2.50"),
        (factor_title("rtt_probe_ms"), "RTT probe (ms)"),
        (factor_title("rtt_probe"), "RTT probe's transport"),
        (
            setting({"transport": "udt", "congestion_control": None}, ["transport", "congestion_control"]),
            "transport udt",
        ),
        (sweep_title("cpu-cost"), "CPU cost"),
        (together("9.14 Gbit/s at 98 % busy"), "9.14\N{NO-BREAK SPACE}Gbit/s at 98\N{NO-BREAK SPACE}% busy"),
        (prose("`log` keeps <it>"), "<code>log</code> keeps &lt;it&gt;"),
    ],
)
def test_quantities(text: str, expected: str) -> None:
    assert text == expected
