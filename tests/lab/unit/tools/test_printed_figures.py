"""The figures that tools print, as these versions print them."""

import json

import pytest

from lab.tools.printed import (
    PrintedError,
    iperf3_reported,
    netperf_reported,
    nuttcp_reported,
    uperf_reported,
)
from lab.tools.tool_runs import Load

STREAM = Load(workload="stream", connections=1, warmup_s=1, duration_s=1)
UDP = STREAM.model_copy(update={"workload": "udp"})
RR = STREAM.model_copy(update={"workload": "rr"})

IPERF3 = {
    "start": {"version": "iperf 3.12"},
    "end": {
        "sum_sent": {"seconds": 1.22, "bytes": 156499968, "bits_per_second": 1023330421.4},
        "sum_received": {"seconds": 1.413158, "bytes": 155189248, "bits_per_second": 878538694.2},
    },
}
NUTTCP = """nuttcp-t: v6.1.2: socket
nuttcp-t: connect=10.99.0.2 mss=1448 rtt_ms=0.123
nuttcp-t: megabytes=554.1250 real_seconds=1.00 rate_KBps=566979.49 rate_Mbps=4644.6960

nuttcp-r: v6.1.2: socket
nuttcp-r: megabytes=554.0000 real_seconds=1.01 rate_KBps=569179.35 rate_Mbps=4662.7172
nuttcp-r: megabytes=554.0000 cpu_seconds=0.23 KB_per_cpu_second=2462179.33
"""
NETPERF = "THROUGHPUT=885.16\nELAPSED_TIME=1.01\nLOCAL_BYTES_SENT=111460352\nREMOTE_BYTES_RECVD=111460000\n"
UPERF = "Total          1.17GB /  10.00(s) =     1.01Gb/s       15428op/s \n"


def test_iperf3_prints_what_the_receiver_had_over_the_whole_test() -> None:
    found = iperf3_reported(json.dumps(IPERF3), STREAM)
    assert (found.rate, found.payload_bytes, found.counted_by, found.version) == (
        878538694.2,
        155189248,
        "receiver",
        "3.12",
    )


def test_iperf3s_sum_of_datagrams_is_what_was_sent() -> None:
    document = {"start": {"version": "iperf 3.12"}, "end": {"sum": {
        "seconds": 2.0, "bytes": 4000, "bits_per_second": 16000.0, "lost_packets": 1, "packets": 4}}}  # fmt: skip
    found = iperf3_reported(json.dumps(document), UDP)
    assert (found.rate, found.payload_bytes) == (12000.0, 3000)


def test_nuttcps_figure_is_the_receivers() -> None:
    found = nuttcp_reported(NUTTCP, STREAM)
    assert found.rate == pytest.approx(4662.7172e6)
    assert (found.payload_bytes, found.seconds, found.counted_by, found.version) == (
        554 << 20,
        1.01,
        "receiver",
        "6.1.2",
    )


def test_netperf_counts_a_stream_at_the_sender_and_transactions_by_number() -> None:
    stream = netperf_reported(NETPERF, STREAM)
    assert (stream.rate, stream.payload_bytes, stream.counted_by) == (885.16e6, 111460352, "sender")
    assert netperf_reported("THROUGHPUT=20099.23\nELAPSED_TIME=1.00\n", RR).rate == 20099.23
    of_datagrams = netperf_reported(f"{NETPERF}REMOTE_RECV_THROUGHPUT=253.80\n", UDP)
    assert (of_datagrams.rate, of_datagrams.payload_bytes) == (253.8e6, 111460000)


def test_uperf_counts_operations_of_which_two_are_a_transaction() -> None:
    assert uperf_reported(UPERF, STREAM).rate == pytest.approx(1.01e9)
    assert uperf_reported(UPERF, RR).rate == 7714


@pytest.mark.parametrize("read", [iperf3_reported, nuttcp_reported, netperf_reported, uperf_reported])
@pytest.mark.parametrize("text", ["", "connection refused", '{"end": {}}', "[1]"])
def test_without_a_figure_what_was_printed_is_quoted(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(PrintedError, match=r"printed no figure: "):
        read(text, STREAM)


def test_an_error_of_iperf3_is_its_own_sentence() -> None:
    with pytest.raises(PrintedError, match="iperf3 failed: the server is busy"):
        iperf3_reported('{"error": "the server is busy"}', STREAM)
