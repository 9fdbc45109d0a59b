"""Programs that disturbances start. Each ends with the process that started it."""

import os
import subprocess

from whyperf.disturb.action import inside
from whyperf.own_python import own_python

END_WAIT_S = 5.0

BURN = """
import os, sys
parent = int(sys.argv[1])
os.sched_setaffinity(0, {int(cpu) for cpu in sys.argv[2:]})
while os.getppid() == parent:
    for _ in range(20000):
        pass
"""
"""Computes. The loop between two looks at its parent takes about a millisecond."""

TAKE = """
import os, selectors, socket, sys
parent, protocol, address = int(sys.argv[1]), sys.argv[2], sys.argv[3]
kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
listener = socket.socket(socket.AF_INET, kind)
listener.bind((address, 0))
if protocol == "tcp":
    listener.listen(256)
print(listener.getsockname()[1], flush=True)
chosen = selectors.DefaultSelector()
chosen.register(listener, selectors.EVENT_READ)
room = bytearray(1 << 18)
while os.getppid() == parent:
    for key, _ in chosen.select(0.2):
        if protocol == "tcp" and key.fileobj is listener:
            chosen.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        try:
            count = key.fileobj.recv_into(room)
        except OSError:
            count = 0
        if not count and key.fileobj is not listener:
            chosen.unregister(key.fileobj)
            key.fileobj.close()
"""
"""Prints its port, and reads whatever comes."""

SEND = """
import os, selectors, socket, sys, time
parent, protocol, address, port, connections, rate = int(sys.argv[1]), sys.argv[2], sys.argv[3], *map(int, sys.argv[4:])
SO_MAX_PACING_RATE = 47
if protocol == "udp":
    way = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    way.connect((address, port))
    datagram, begun, sent = bytes(1400), time.monotonic(), 0
    while os.getppid() == parent:
        due = int((time.monotonic() - begun) * rate / 8 / 1442)
        for _ in range(max(0, min(due - sent, 200))):
            try:
                way.send(datagram)
            except OSError:
                pass
            sent += 1
        sent = max(sent, due - 200)
        time.sleep(0.001)
    sys.exit()
chosen = selectors.DefaultSelector()
for _ in range(connections):
    way = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    way.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    if rate:
        way.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, max(1, rate // 8))
    way.connect((address, port))
    way.setblocking(False)
    chosen.register(way, selectors.EVENT_WRITE)
piece = bytes(1 << 17)
while os.getppid() == parent:
    for key, _ in chosen.select(0.2):
        try:
            key.fileobj.send(piece)
        except BlockingIOError:
            pass
        except OSError:
            chosen.unregister(key.fileobj)
"""
"""Sends to a port as fast as it can, or at a rate."""


class Programs:
    """Programs in Python that run until they are ended; each also ends with this process."""

    def __init__(self) -> None:
        """None yet."""
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, program: str, *arguments: object, process: int | None = None) -> "subprocess.Popen[bytes]":
        """Start one, in the namespace of `process` where that is given.

        Each is in a session of its own: the kernel shares a CPU between sessions first (sched(7), autogroup).
        """
        argv = own_python("-S", "-c", program, str(os.getpid()), *map(str, arguments))
        started = subprocess.Popen(
            argv if process is None else inside(process, *argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._running.append(started)
        return started

    def end(self) -> None:
        """End all of them."""
        for program in self._running:
            program.kill()
        for program in self._running:
            program.wait(END_WAIT_S)
            if program.stdout is not None:
                program.stdout.close()
        self._running.clear()
