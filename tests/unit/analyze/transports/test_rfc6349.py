"""RFC 6349 by the RFC's own examples and by hand."""

import pytest

from whyperf.analyze.transports.summary import (
    buffer_delay_ratio,
    efficiency_ratio,
    ideal_bps,
    transfer_time_ratio,
)


def test_the_ideal_rate_is_the_payloads_part_of_a_packet() -> None:
    # 1448 of 1514 bytes; 8948 of 9014.
    assert ideal_bps(100e6, 1500, 4) == pytest.approx(100e6 * 1448 / 1514)
    assert ideal_bps(100e6, 9000, 4) == pytest.approx(100e6 * 8948 / 9014)
    assert ideal_bps(100e6, 1500, 6) == pytest.approx(100e6 * 1428 / 1514)


def test_transfer_time_ratio() -> None:
    payload_bits = 8 * 100e6
    assert transfer_time_ratio(payload_bits / 9, payload_bits / 11) == pytest.approx(11 / 9)
    assert transfer_time_ratio(1e6, 0) is None


def test_efficiency() -> None:
    """Section 4.2's example: 102,000 bytes sent, 2,000 of them again."""
    assert efficiency_ratio(102_000, 2_000) == pytest.approx(0.9804, abs=5e-5)
    assert efficiency_ratio(0, 0) is None


def test_buffer_delay() -> None:
    """Section 4.3's example: 25 ms baseline, 32 ms on average: 28 %."""
    assert buffer_delay_ratio(0.032, 0.025) == pytest.approx(0.28)
    assert buffer_delay_ratio(1, 0) is None
