"""The tools: their programs and packages, what each can load with, and the commands of a run. One flat table.

A tool runs as somebody runs it who has read no more than its first page: with its own sizes of calls, its own way of
waiting, and the figure that it prints first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lab.tools.printed import iperf3_reported, netperf_reported, nuttcp_reported, uperf_reported
from lab.tools.tool_runs import Load, Reported, Workload

MAX_CONNECTIONS = 100
"""Connections at most that tools are compared with."""
OUTPUT = "printed"
"""The file that has what the client printed, in the folder of the run."""


@dataclass(frozen=True)
class Commands:
    """A run: the server, the port on which it must listen first, the client, and files that they read."""

    server: tuple[str, ...]
    listens: int
    client: tuple[str, ...]
    #: Ports of the data connections, where the tool can be given any; others are found once they are open.
    ports: tuple[int, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A tool. `programs` are those that it needs; `package` has them, and `where` says which systems package it."""

    name: str
    programs: tuple[str, ...]
    package: str
    where: str
    workloads: tuple[Workload, ...]
    commands: Callable[[Load, str, int], Commands]
    reported: Callable[[str, Load], Reported]
    #: True where it can open several connections at the same time.
    is_parallel: bool = True

    def refuses(self, load: Load) -> str:
        """Why it cannot do this, in a sentence; "" where it can."""
        if load.workload not in self.workloads:
            return f"{self.name} has no {_NAMES[load.workload]}"
        if load.connections > 1 and not self.is_parallel:
            return f"{self.name} has one connection only, and {load.connections:,} are asked for"
        return ""


_NAMES: Mapping[Workload, str] = {
    "stream": "stream over TCP",
    "rr": "request/response over TCP",
    "udp": "stream of datagrams",
}


def _seconds(load: Load) -> str:
    # Most tools take whole seconds.
    return f"{load.seconds:g}"


def _iperf3(load: Load, address: str, port: int) -> Commands:
    shape = ["-u", "-b", "0", "-l", str(load.datagram_bytes)] if load.workload == "udp" else []
    size = ["-l", str(load.write_size_bytes)] if load.write_size_bytes else []
    client = ["iperf3", "-c", address, "-p", str(port), "-t", _seconds(load), "-P", str(load.connections), "-J"]
    return Commands(
        ("iperf3", "-s", "-1", "-p", str(port)),
        port,
        (*client, *shape, *size),
        (port,),
    )


def _nuttcp(load: Load, address: str, port: int) -> Commands:
    size = [f"-l{load.write_size_bytes}"] if load.write_size_bytes else []
    shape = ["-u", "-Ru", f"-l{load.datagram_bytes}"] if load.workload == "udp" else size
    streams = [f"-N{load.connections}"] if load.connections > 1 else []
    client = ["nuttcp", "-t", f"-P{port}", f"-p{port + 1}", f"-T{_seconds(load)}", "-fparse", "-v"]
    ports = tuple(port + 1 + number for number in range(load.connections))
    return Commands(("nuttcp", "-S", "--nofork", f"-P{port}"), port, (*client, *shape, *streams, address), ports)


def _netperf(load: Load, address: str, port: int) -> Commands:
    test = {"stream": "TCP_STREAM", "rr": "TCP_RR", "udp": "UDP_STREAM"}[load.workload]
    of_test = {
        "stream": ["-m", str(load.write_size_bytes)] if load.write_size_bytes else [],
        "rr": ["-r", f"{load.request_bytes},{load.response_bytes}"],
        "udp": ["-m", str(load.datagram_bytes), "-R", "1"],
    }[load.workload]
    figures = "THROUGHPUT,ELAPSED_TIME,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,REMOTE_RECV_THROUGHPUT,NETPERF_VERSION"
    client = ["netperf", "-H", address, "-p", str(port), "-t", test, "-l", _seconds(load), "-P", "0"]
    return Commands(
        ("netserver", "-D", "-f", "-4", "-p", str(port)),
        port,
        (*client, "--", *of_test, "-P", f",{port + 1}", "-k", figures),
        (port + 1,),
    )


def _uperf(load: Load, address: str, port: int) -> Commands:
    if load.workload == "rr":
        flow = [f'type="write" options="size={load.request_bytes}"',
                f'type="read" options="size={load.response_bytes}"']  # fmt: skip
    else:
        flow = [f'type="write" options="count=10 size={load.write_size_bytes or 8192}"']
    steps = "".join(f"<flowop {each}/>" for each in flow)
    profile = (
        f'<?xml version="1.0"?><profile name="load"><group nthreads="{load.connections}">'
        f'<transaction iterations="1"><flowop type="connect" options="remotehost={address} protocol=tcp"/>'
        f'</transaction><transaction duration="{_seconds(load)}s">{steps}</transaction>'
        '<transaction iterations="1"><flowop type="disconnect"/></transaction></group></profile>\n'
    )
    return Commands(
        ("uperf", "-s", "-P", str(port)),
        port,
        ("uperf", "-P", str(port), "-m", "uperf.xml", "-R"),
        files={"uperf.xml": profile},
    )


TOOLS: tuple[Tool, ...] = (
    Tool(
        "iperf3", ("iperf3",), "iperf3", "Debian, Ubuntu and Fedora package it", ("stream", "udp"),
        _iperf3, iperf3_reported,
    ),
    Tool(
        "netperf", ("netperf", "netserver"), "netperf",
        "Debian packages it in the section non-free, Ubuntu in multiverse", ("stream", "rr", "udp"),
        _netperf, netperf_reported, is_parallel=False,
    ),
    Tool(
        "nuttcp", ("nuttcp",), "nuttcp", "Debian, Ubuntu and Fedora package it", ("stream", "udp"),
        _nuttcp, nuttcp_reported,
    ),
    Tool(
        "uperf", ("uperf",), "uperf", "Fedora packages it, Debian 12 does not", ("stream", "rr"),
        _uperf, uperf_reported,
    ),
)  # fmt: skip


def tool_named(name: str) -> Tool | None:
    """The tool of that name; None where there is none."""
    return next((tool for tool in TOOLS if tool.name == name), None)


def into_file(argv: Sequence[str]) -> tuple[str, ...]:
    """The command with its standard output in the file `OUTPUT`."""
    return ("sh", "-c", 'exec "$@" > "$0"', OUTPUT, *argv)
