"""A guest: one of Debian's kernels under qemu, with the agent and nothing else inside."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kernels.archive import archive
from tests.kernels.modules import modules
from whyperf.run.agents.pipes import agent_binary

QEMU = "qemu-system-x86_64"
#: Without the instruction cmpxchg16b, whose flags qemu 7.2 sets wrong at times: Linux 6.12 dies of it. With rdrand, or
#: whoever asks for random bytes waits until the guest has gathered some.
CPU = "Nehalem,-cx16,+rdrand"
#: A busy host is late with the ticks by which a kernel finds out whether its timer works.
KERNEL_OPTIONS = "console=ttyS0 panic=-1 mitigations=off no_timer_check"
HERE = Path(__file__).parent
_READY = b"guest is ready"
_BOOT_S = 300.0
_ANSWER_S = 120.0
_PIECE_BYTES = 1 << 16


@dataclass(frozen=True)
class Guest:
    """A guest that answers at a port of the loopback."""

    series: str
    port: int
    #: What it wrote to its serial line.
    log: Path
    machine: subprocess.Popen[bytes]

    def assert_alive(self) -> None:
        """Fails with the last lines of the serial console where the guest has ended, as after a panic."""
        status = self.machine.poll()
        assert status is None, f"the guest of Linux {self.series} ended with status {status}: {_last_words(self.log)}"

    def run(self, *command: str) -> str:
        """Runs a program inside and returns its standard output."""
        said = bytearray()
        with socket.create_connection(("127.0.0.1", self.port), timeout=_ANSWER_S) as connection:
            connection.sendall(" ".join(command).encode() + b"\n")
            while piece := connection.recv(_PIECE_BYTES):
                said += piece
        return said.decode()


@contextmanager
def boot(series: str, kernel: Path, busybox: Path, folder: Path) -> Iterator[Guest]:
    """Boots the kernel unpacked in a folder, and ends it again."""
    files = folder / "initramfs"
    files.write_bytes(archive(_files(kernel, busybox)))
    (image,) = kernel.glob("boot/vmlinuz-*")
    log, port = folder / "serial", _free_port()
    log.unlink(missing_ok=True)
    machine = subprocess.Popen(
        [
            # One thread for both CPUs: with two, Linux 6.12 died now and then of an int3 that the other CPU was just
            # patching away (static keys, as tracepoints are switched).
            *(QEMU, "-accel", "tcg,thread=single", "-cpu", CPU, "-smp", "2", "-m", "1G"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", f"file:{log}"),
            *("-kernel", str(image), "-initrd", str(files), "-append", KERNEL_OPTIONS),
            # Nothing but this port: the guest reaches neither the host nor the world.
            *("-netdev", f"user,id=way,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:7000"),
            *("-device", "virtio-net-pci,netdev=way,romfile="),
        ],
        stdin=subprocess.DEVNULL,
    )
    try:
        _await_ready(machine, log)
        yield Guest(series, port, log, machine)
    finally:
        machine.kill()
        machine.wait()


def _files(kernel: Path, busybox: Path) -> dict[str, bytes]:
    files = {
        "/init": (HERE / "init").read_bytes(),
        "/session": (HERE / "session").read_bytes(),
        "/bin/busybox": busybox.read_bytes(),
        "/whyperf-agent": agent_binary().read_bytes(),
    }
    # The shell takes them in the order of their names.
    ordered = enumerate(modules(kernel).items())
    return files | {f"/modules/{place:02}-{name}.ko": data for place, (name, data) in ordered}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_ready(machine: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _BOOT_S
    while not log.exists() or _READY not in log.read_bytes():
        assert machine.poll() is None, f"the guest ended: {_last_words(log)}"
        assert time.monotonic() < end, f"the guest is not up after {_BOOT_S:.0f} s: {_last_words(log)}"
        time.sleep(0.2)


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:] if log.exists() else "it said nothing"
