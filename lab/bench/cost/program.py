"""BPF programs of known cost at a tracepoint in the path of packets.

They are loaded and attached by bpf(2) itself, without bpftool or pins: the kernel removes them and stops counting run
time when the file descriptors close, also when this process is killed.
"""

import ctypes
import os
import platform
import struct
import subprocess
import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

SOURCE = Path(__file__).with_name("busy.bpf.c")
SECTION = "program"
#: Of bpf(2), by machine (asm/unistd.h).
SYSCALL = {"x86_64": 321, "aarch64": 280}
#: Commands, a program type and a kind of statistics (include/uapi/linux/bpf.h).
PROG_LOAD, RAW_TRACEPOINT_OPEN, ENABLE_STATS = 5, 17, 32
RAW_TRACEPOINT = 17
STATS_RUN_TIME = 0
ATTRIBUTE_BYTES = 128
INSTRUCTION_BYTES = 8
#: Where each packet that arrives passes once, in a softirq of the CPU that processes it.
TRACEPOINT = b"netif_receive_skb"
INTERVAL_S = 0.01
COMPILERS = ("clang", *(f"clang-{version}" for version in range(30, 17, -1)))


class ProgramError(Exception):
    """A program cannot be compiled, loaded or attached, in a sentence."""


@dataclass
class RunTimes:
    """The run time that the kernel counted for a program, at instants of CLOCK_MONOTONIC."""

    instants_ns: list[int] = field(default_factory=list)
    run_ns: list[int] = field(default_factory=list)

    def add(self, instant_ns: int, run_ns: int) -> None:
        """Notes the run time at an instant, later than those before."""
        self.instants_ns.append(instant_ns)
        self.run_ns.append(run_ns)

    def within(self, start_ns: int, end_ns: int) -> float:
        """The run time between two instants, in ns; between two notes it grows evenly.

        Raises:
            LookupError: there is no note before the start, or none after the end.
        """
        return self._at(end_ns) - self._at(start_ns)

    def _at(self, instant_ns: int) -> float:
        place = bisect_right(self.instants_ns, instant_ns)
        if place in {0, len(self.instants_ns)}:
            raise LookupError("the run time of the program was not noted during the whole trial")
        first, last = self.instants_ns[place - 1], self.instants_ns[place]
        part = (instant_ns - first) / (last - first)
        return self.run_ns[place - 1] + part * (self.run_ns[place] - self.run_ns[place - 1])


class Programs:
    """Programs of several costs, loaded; one at a time is attached, and its run time noted meanwhile."""

    def __init__(self, rounds: Sequence[int], folder: Path) -> None:
        """Compiles and loads them; run times are counted as long as this is open.

        Raises:
            ProgramError: one of them cannot be compiled or loaded.
        """
        self.times = {count: RunTimes() for count in rounds}
        self._files: list[int] = []
        self._attached: tuple[int, threading.Thread] | None = None
        self._is_over = threading.Event()
        try:
            self._files.append(_bpf(ENABLE_STATS, struct.pack("=I", STATS_RUN_TIME), "run times cannot be counted"))
            self._programs = {count: _loaded(instructions(_compiled(count, folder)), count) for count in rounds}
        except BaseException:
            self.close()
            raise
        self._files += self._programs.values()

    def attach(self, rounds: int) -> None:
        """Attaches one.

        Raises:
            ProgramError: the kernel refuses.
        """
        self.detach()
        program = self._programs[rounds]
        name = ctypes.create_string_buffer(TRACEPOINT)
        attribute = struct.pack("=QI", ctypes.addressof(name), program)
        link = _bpf(RAW_TRACEPOINT_OPEN, attribute, f"the program cannot be attached to {TRACEPOINT.decode()}")
        self._is_over.clear()
        noting = threading.Thread(target=self._note, args=(program, self.times[rounds]), daemon=True)
        self._attached = link, noting
        noting.start()

    def detach(self) -> None:
        """Detaches what is attached."""
        if self._attached is not None:
            link, noting = self._attached
            self._attached = None
            os.close(link)
            self._is_over.set()
            noting.join()

    def close(self) -> None:
        """Unloads all."""
        self.detach()
        for file in self._files:
            with suppress(OSError):
                os.close(file)
        self._files.clear()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unloads all."""
        self.close()

    def _note(self, program: int, times: RunTimes) -> None:
        while not self._is_over.wait(INTERVAL_S):
            times.add(time.monotonic_ns(), _run_ns(program))


def _run_ns(program: int) -> int:
    for line in Path(f"/proc/self/fdinfo/{program}").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "run_time_ns":
            return int(value)
    raise ProgramError("the kernel reports no run time of programs; Linux 5.1 or newer does")


def _compiled(rounds: int, folder: Path) -> bytes:
    out = folder / f"busy-{rounds}.o"
    out.parent.mkdir(parents=True, exist_ok=True)
    for compiler in (os.environ.get("CLANG"), *COMPILERS):
        if not compiler:
            continue
        command = [compiler, "-O2", "-target", "bpf", f"-DROUNDS={rounds}", "-c", str(SOURCE), "-o", str(out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            continue
        if done.returncode:
            raise ProgramError(f"{compiler} cannot compile {SOURCE.name}: {done.stderr.strip()[-300:]}")
        return out.read_bytes()
    raise ProgramError("there is no clang; scripts/prerequisites installs it")


def instructions(elf: bytes, section: str = SECTION) -> bytes:
    """The bytes of a section of a 64-bit little-endian object file (System V ABI, chapter 4).

    Raises:
        ProgramError: there is no such section.
    """
    (headers,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    # Of each header: name, offset and size.
    found = [
        (
            struct.unpack_from("<I", elf, headers + number * size)[0],
            *struct.unpack_from("<QQ", elf, headers + number * size + 0x18),
        )
        for number in range(count)
    ]
    table = found[names][1]
    for name, offset, length in found:
        end = elf.index(b"\0", table + name)
        if elf[table + name : end].decode() == section:
            return elf[offset : offset + length]
    raise ProgramError(f"the object file has no section {section}")


def _loaded(code: bytes, rounds: int) -> int:
    buffer = ctypes.create_string_buffer(code, len(code))
    license_text = ctypes.create_string_buffer(b"GPL")
    attribute = struct.pack(
        "=IIQQIIQII16s",
        *(RAW_TRACEPOINT, len(code) // INSTRUCTION_BYTES),
        *(ctypes.addressof(buffer), ctypes.addressof(license_text)),
        # No log of the verifier, no version of a kernel, no flags.
        *(0, 0, 0, 0, 0),
        b"busy",
    )
    return _bpf(PROG_LOAD, attribute, f"the program of {rounds} rounds cannot be loaded")


def _bpf(command: int, attribute: bytes, what: str) -> int:
    """Calls bpf(2); returns the file descriptor."""
    machine = platform.machine()
    if machine not in SYSCALL:
        raise ProgramError(f"{what}: the number of bpf(2) on {machine} is not known here")
    padded = ctypes.create_string_buffer(attribute, ATTRIBUTE_BYTES)
    library = ctypes.CDLL(None, use_errno=True)
    file = int(library.syscall(SYSCALL[machine], command, padded, ATTRIBUTE_BYTES))
    if file < 0:
        raise ProgramError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return file
