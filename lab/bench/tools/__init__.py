"""The peers, one file each: how a cell is asked of it, and where its figure stands."""

from lab.bench.plan import IPERF2, IPERF3, NUTTCP, QPERF, SOCKPERF
from lab.bench.sample import Start
from lab.bench.tools import iperf2, iperf3, nuttcp, qperf, sockperf
from lab.bench.tools.process import ToolError

STARTS: dict[str, Start] = {
    IPERF3: iperf3.start,
    IPERF2: iperf2.start,
    NUTTCP: nuttcp.start,
    SOCKPERF: sockperf.start,
    QPERF: qperf.start,
}

__all__ = ["STARTS", "ToolError"]
