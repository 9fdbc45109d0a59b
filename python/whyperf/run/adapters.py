"""One host with two adapters and two far hosts, as network namespaces of this machine: `--via adapters`.

The near hosts `adapter1` and `adapter2` are one namespace with two veth pairs, each to a far host of its own (`far1`,
`far2`). A process holds each namespace. The kernel ends it when its parent ends, and removes the namespaces with it, so
nothing of them is left when a run is killed. The folder with links to them is removed by the next run.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

from whyperf.run.errors import RunError

ADAPTERS = "adapters"
"""The name for `--via`."""
NEAR_HOSTS, FAR_HOSTS = ("adapter1", "adapter2"), ("far1", "far2")
#: 198.18.0.0/15 is for benchmarks between hosts (RFC 2544, RFC 6890): no route leads to it.
ADDRESSES: Mapping[str, str] = MappingProxyType(
    {
        name: f"198.18.{number}.{side}"
        for side, hosts in ((1, NEAR_HOSTS), (2, FAR_HOSTS))
        for number, name in enumerate(hosts, start=1)
    }
)
COMMANDS = ("ip", "nsenter", "setpriv", "unshare")
_HELD_WITHIN_S = 10.0


def folder() -> Path:
    """Where this process has links to its namespaces, by the names of the hosts."""
    return Path(f"/run/whyperf-adapters-{os.getpid()}")


def _remove_stale() -> None:
    """Removes folders of processes that are gone, and one of an earlier process with this one's number."""
    own = folder()
    for left in own.parent.glob(f"{own.name.rpartition('-')[0]}-*"):
        pid = left.name.rpartition("-")[2]
        if left == own or (pid.isdecimal() and not Path(f"/proc/{pid}").exists()):
            shutil.rmtree(left, ignore_errors=True)


def refuse_other_hosts(names: Sequence[str]) -> None:
    """Refuses hosts that the namespaces do not have.

    Raises:
        RunError: which one.
    """
    for name in names:
        if name not in ADDRESSES:
            known = ", ".join(ADDRESSES)
            raise RunError(f"--via {ADAPTERS} has the hosts {known}; {name} is none of them: reach it with --via ssh")


@contextmanager
def built() -> Iterator[None]:
    """The namespaces, for as long as the context lasts.

    Raises:
        RunError: this machine does not allow them, and what is missing.
    """
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        raise RunError(f"--via {ADAPTERS} needs {', '.join(missing)} (packages iproute2 and util-linux)")
    if os.geteuid() != 0:
        raise RunError(f"--via {ADAPTERS} makes network namespaces, which needs root; name hosts with --via ssh")
    with ExitStack() as stack:
        _remove_stale()
        made = folder()
        made.mkdir(mode=0o700)
        stack.callback(shutil.rmtree, made, ignore_errors=True)
        near, *far = (_holder(stack) for _ in ("near", *FAR_HOSTS))
        for adapter, host, pid in zip(NEAR_HOSTS, FAR_HOSTS, far, strict=True):
            _ip(near, [f"link add {adapter} type veth peer name eth0 netns {pid}", *_up(adapter, ADDRESSES[adapter])])
            _ip(pid, _up("eth0", ADDRESSES[host]))
            (made / adapter).symlink_to(f"/proc/{near}/ns/net")
            (made / host).symlink_to(f"/proc/{pid}/ns/net")
        for pid in (near, *far):
            _ip(pid, ["link set lo up"])
            _steer(pid)
        yield


def _up(device: str, address: str) -> list[str]:
    return [f"link set {device} up", f"addr add {address}/24 dev {device}"]


def _holder(stack: ExitStack) -> int:
    """A process in a network namespace of its own; it is there when this returns."""
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end() -> None:
        process.kill()
        process.communicate()

    stack.callback(end)
    here, until = _namespace(os.getpid()), time.monotonic() + _HELD_WITHIN_S
    while _namespace(process.pid) == here:
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            said = process.communicate()[1].strip().splitlines()
            why = said[-1] if said else "no namespace was made"
            raise RunError(f"--via {ADAPTERS}: {why}")
        time.sleep(0.002)
    return process.pid


def _namespace(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return _namespace(os.getpid())


def _ip(pid: int, lines: Sequence[str]) -> None:
    _inside(pid, ["ip", "-batch", "-"], "\n".join(lines))


#: Without it a veth pair reorders its own flow, which looks like loss.
_STEERING = (
    'mount -t sysfs sysfs /sys && for queue in /sys/class/net/*/queues/rx-*/rps_cpus; do echo "$0" > "$queue"; done'
)


def _steer(pid: int) -> None:
    mask = sum(1 << cpu for cpu in os.sched_getaffinity(0))
    groups = [f"{mask >> shift & 0xFFFFFFFF:x}" for shift in range(0, max(1, mask.bit_length()), 32)]
    _inside(pid, ["unshare", "--mount", "sh", "-c", _STEERING, ",".join(groups[::-1])])


def _inside(pid: int, argv: Sequence[str], text: str = "") -> None:
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", *argv]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RunError(f"--via {ADAPTERS}: {argv[0]} failed: {said}")
