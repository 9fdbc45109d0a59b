#!/usr/bin/python3
"""Process 1 of a user-mode kernel: a path by its own queueing disciplines, one flow through it, one line of JSON.

near - left - right - far, each a namespace. The bottleneck is where left sends to right, apart from the delay, which is
where right sends to far and left to near. All segmentation is off, so that a packet is a packet.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.oracle.flow import inside, tcp, udp

MODULES = ["drivers/net/veth", *(f"net/sched/sch_{name}" for name in ("netem", "tbf", "codel", "red"))]
FINIT_MODULE = 313
HOPS = (("near", "left"), ("left", "right"), ("right", "far"))
ANSWER = "ANSWER "


def main() -> None:
    asked = json.loads(bytes.fromhex(os.environ["ASKED"]))
    for point, kind in (("/proc", "proc"), ("/sys", "sysfs"), ("/run", "tmpfs"), ("/tmp", "tmpfs")):
        run(f"mount -t {kind} {kind} {point}")
    for module in MODULES:
        load(Path("/usr/lib/uml/modules") / os.uname().release / "kernel" / f"{module}.ko")
    build(asked["bottleneck"], asked["delay_ms"], ecn=asked["ecn"])
    ends = ("near", "far", "10.2.0.2")
    if "rate_bps" in asked:
        found: object = udp(*ends, asked["rate_bps"], asked["seconds"], ecn=asked["ecn"])
    else:
        found = tcp(*ends, asked["congestion_control"], asked["seconds"])
    counted = json.loads(run("ip netns exec left tc -j -s qdisc show dev to-right"))
    print(ANSWER + json.dumps({"flow": found, "qdiscs": counted}), flush=True)


def build(bottleneck: list[str], delay_ms: float, *, ecn: bool) -> None:
    for name in ("near", "left", "right", "far"):
        run(f"ip netns add {name}")
        run(f"ip -n {name} link set lo up")
    for number, (first, other) in enumerate(HOPS):
        run(f"ip link add to-{other} netns {first} type veth peer name to-{first} netns {other}")
        for name, peer, host in ((first, other, 1), (other, first, 2)):
            run(f"ip -n {name} addr add 10.{number}.0.{host}/24 dev to-{peer}")
            run(f"ip netns exec {name} ethtool -K to-{peer} tso off gso off gro off")
            run(f"ip -n {name} link set to-{peer} up")
    for name in ("left", "right"):
        with inside(name):
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    for name, gateway in (("near", "10.0.0.2"), ("left", "10.1.0.2"), ("far", "10.2.0.1")):
        run(f"ip -n {name} route add default via {gateway}")
    run("ip -n right route add 10.0.0.0/24 via 10.1.0.1")
    for name in ("near", "far"):
        with inside(name):
            Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
            Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1" if ecn else "0")
    for line in bottleneck:
        run(f"ip netns exec left tc qdisc add dev to-right {line}")
    for name, device in (("right", "to-far"), ("left", "to-near")):
        run(f"ip netns exec {name} tc qdisc add dev {device} root netem delay {delay_ms}ms limit 100000")


def load(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).syscall(FINIT_MODULE, descriptor, b"", 0) != 0:
        raise OSError(ctypes.get_errno(), f"loading {path}")
    os.close(descriptor)


def run(command: str) -> str:
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    try:
        main()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Ends the kernel, and with it everything.
        Path("/proc/sysrq-trigger").write_text("o")
        signal.pause()
