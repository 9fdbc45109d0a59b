"""What a longer round trip brings on a calibrated host: a window each round trip, on the model, which draws nothing."""

import pytest

from whyperf.calibrate import MEASURE_NS, MEASURE_ROUND_TRIPS, CalibratedHost, ask_what_if, model

#: A host of the model with one of its costs replaced, as calibration writes it.
PROFILE = """
part = "host"
base = "linux-6.18+veth"
about = "calibrated by hand"
[values]
write_call_us = { value = 0.4, low = 0.01, high = 10, source = "a test" }
"""
#: A quick host, and one that takes several times as long for what is done once a packet.
SETS = ({"write_call_us": 0.4}, {"write_call_us": 2.0, "output_us": 4.0, "input_us": 4.0, "wake_up_us": 5.0})
WRITE_BYTES = 131_072


@pytest.mark.parametrize("window_bytes", [65_536, 1_048_576])
def test_a_window_comes_each_round_trip(window_bytes: int) -> None:
    host = CalibratedHost("linux-6.18+veth", PROFILE, {}, SETS, {"window_bytes": [window_bytes]}, {}, 0.1)
    cell = {"window_bytes": window_bytes, "write_size_bytes": WRITE_BYTES, "congestion_control": "cubic"}
    bits = window_bytes * 8
    gains = []
    with model() as asked:
        for rtt_ms in (0.5, 2.0, 10.0):
            (found,) = ask_what_if(host, asked, [cell], {"path_rtt_ms": rtt_ms})
            trips = MEASURE_ROUND_TRIPS + MEASURE_NS / 1e6 / rtt_ms
            # What the hosts need for a window by themselves comes in addition to the round trip, or partly within it.
            slowest = bits / (rtt_ms / 1e3 + bits / found.before_bps.low)
            assert slowest * (1 - 1 / trips) <= found.after_bps.low, rtt_ms
            assert found.after_bps.high <= bits / (rtt_ms / 1e3) * (1 + 1 / trips), rtt_ms
            gains.append(found.gain.median)
    assert gains == sorted(gains, reverse=True)
    assert gains[0] < -0.5
