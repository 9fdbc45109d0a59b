"""The peers, one file each: how a cell is asked of it, and where its figure stands."""

from bench.plan import IPERF2, IPERF3, NUTTCP, QPERF, SOCKPERF
from bench.sample import Start
from bench.tools import iperf2, iperf3, nuttcp, qperf, sockperf
from bench.tools.process import ToolError

STARTS: dict[str, Start] = {
    IPERF3: iperf3.start,
    IPERF2: iperf2.start,
    NUTTCP: nuttcp.start,
    SOCKPERF: sockperf.start,
    QPERF: qperf.start,
}

__all__ = ["STARTS", "ToolError"]
