"""Actions in a side's network namespace, which is that of its agent's process."""

from contextlib import suppress
from pathlib import Path

from lab.disturb.disturbances import INSTRUCTIONS
from lab.disturb.programs import SEND, TAKE, Programs
from whyperf.disturb.action import DisturbError, Item, Places, inside, run

_LOAD_LENGTH = "128 0 0 0"
"""BPF_LD | BPF_W | BPF_LEN (include/uapi/linux/bpf_common.h)."""
_RETURN_NO_MATCH = "6 0 0 0"
"""BPF_RET | BPF_K: 0 is no match, so the next program looks (net/sched/cls_bpf.c)."""


class Discipline:
    """A queueing discipline at the device that leads to the other side."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Queue`."""
        self._process = int(places[item["host"]]["process"])
        self._words = item["discipline"].split()
        self._device = ""

    def start(self) -> None:
        """Attach it."""
        device = device_of(self._process)
        run(inside(self._process, "tc", "qdisc", "replace", "dev", device, "root", *self._words))
        self._device = device

    def stop(self) -> None:
        """Remove it; the device has its own again."""
        if self._device:
            with suppress(DisturbError):
                run(inside(self._process, "tc", "qdisc", "del", "dev", self._device, "root"))
        self._device = ""


class RouteOptions:
    """A route to the other side's address, which the options are of."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Route`."""
        self._process = int(places[item["host"]]["process"])
        self._to = places["far" if item["host"] == "near" else "near"]["address"]
        self._options = item["options"].split()
        self._is_there = False

    def start(self) -> None:
        """Add it."""
        way = ("dev", device_of(self._process))
        run(inside(self._process, "ip", "route", "add", f"{self._to}/32", *way, *self._options))
        self._is_there = True

    def stop(self) -> None:
        """Remove it; the route of the network counts again."""
        if self._is_there:
            with suppress(DisturbError):
                run(inside(self._process, "ip", "route", "del", f"{self._to}/32"))
        self._is_there = False


class PacketPrograms:
    """Programs of classic BPF that the kernel translates: each loads the packet's length again and again."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of `Classifiers`."""
        self._process = int(places[item["host"]]["process"])
        self._item = item
        self._device = ""

    def start(self) -> None:
        """Attach them."""
        device = device_of(self._process)
        run(inside(self._process, "tc", "qdisc", "add", "dev", device, "clsact"))
        self._device = device
        run(inside(self._process, "tc", "-batch", "-"), self._text(device))

    def stop(self) -> None:
        """Remove them."""
        if self._device:
            with suppress(DisturbError):
                run(inside(self._process, "tc", "qdisc", "del", "dev", self._device, "clsact"))
        self._device = ""

    def _text(self, device: str) -> str:
        program = ",".join((str(INSTRUCTIONS), *[_LOAD_LENGTH] * (INSTRUCTIONS - 1), _RETURN_NO_MATCH))
        return "".join(
            f"filter add dev {device} ingress prio {number} bpf bytecode '{program}'\n"
            for number in range(1, int(self._item["programs"]) + 1)
        )


class Settings:
    """Kernel parameters of the namespace."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Sysctl`."""
        self._process = int(places[item["host"]]["process"])
        self._settings: dict[str, str] = item["settings"]
        self._before: dict[str, str] = {}

    def start(self) -> None:
        """Set them."""
        for name, value in self._settings.items():
            self._before[name] = run(inside(self._process, "sysctl", "-n", name)).strip()
            self._write(name, value)

    def stop(self) -> None:
        """Set them to what they were."""
        for name, value in self._before.items():
            with suppress(DisturbError):
                self._write(name, value)
        self._before.clear()

    def _write(self, name: str, value: str) -> None:
        run(inside(self._process, "sysctl", "-q", "-w", f"{name}={value}"))


class OtherTraffic:
    """Another program's connections between the two sides."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Traffic`."""
        self._item = item
        self._from = places[item["host"]]
        self._to = places["far" if item["host"] == "near" else "near"]
        self._programs = Programs()

    def start(self) -> None:
        """Start the receiver, then the sender."""
        protocol, address = self._item["protocol"], self._to["address"]
        receiver = self._programs.start(TAKE, protocol, address, process=self._to["process"])
        port = b"" if receiver.stdout is None else receiver.stdout.readline().strip()
        if not port:
            raise DisturbError(f"no program can receive at {address}")
        more = (protocol, address, port.decode(), self._item["connections"], self._item["rate_bps"] or 0)
        self._programs.start(SEND, *more, process=self._from["process"])

    def stop(self) -> None:
        """End both."""
        self._programs.end()


def device_of(process: int) -> str:
    """The device of a namespace of the testbed, in addition to the loopback.

    Raises:
        DisturbError: there is none.
    """
    lines = Path(f"/proc/{process}/net/dev").read_text().splitlines()[2:]
    names = [line.partition(":")[0].strip() for line in lines]
    for name in names:
        if name != "lo":
            return name
    raise DisturbError("the namespace has no device in addition to the loopback")
